"""Addresses as text and in their compact form."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.wire.addresses import (
    NodeInfo,
    compact,
    compact_nodes,
    from_compact,
    is_ipv6,
    is_usable,
    parse_address,
    parse_peer,
    peer_text,
    read_nodes,
)
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

PORTS = st.integers(0, 65535)
COMPACT4 = st.binary(min_size=6, max_size=6)
COMPACT6 = st.binary(min_size=18, max_size=18)
MAPPED = bytes(10) + b"\xff\xff"


@given(st.ip_addresses(), PORTS)
def test_a_peer_reads_back_as_its_address(address: IPv4Address | IPv6Address, port: int) -> None:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    expected = str(mapped or address)
    peer = peer_text(str(address), port)
    assert parse_peer(peer) == parse_address(peer) == (expected, port)
    assert peer_text(*parse_peer(peer)) == peer
    assert is_ipv6(peer) == (":" in expected)


@given(COMPACT4 | COMPACT6.filter(lambda raw: not raw.startswith(MAPPED)))
def test_a_compact_address_is_the_same_after_a_detour_as_text(raw: bytes) -> None:
    assert compact(from_compact(raw)) == raw


@given(st.binary(max_size=40).filter(lambda raw: len(raw) not in (6, 18)))
def test_a_compact_address_of_another_length_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_address"):
        from_compact(raw)


@pytest.mark.parametrize(
    ("host", "peer"),
    [
        ("127.0.0.1", "127.0.0.1:6881"),
        ("::1", "[::1]:6881"),
        ("2001:DB8:0:0:0:0:0:1", "[2001:db8::1]:6881"),
        ("::ffff:10.0.0.1", "10.0.0.1:6881"),
        ("::ffff:a00:1", "10.0.0.1:6881"),
        ("fe80::1%lo", "[fe80::1%lo]:6881"),
    ],
)
def test_one_address_is_one_peer_however_it_was_spelled(host: str, peer: str) -> None:
    assert peer_text(host, 6881) == peer


def test_host_names_are_addresses_but_no_peers() -> None:
    assert parse_address("router.example.org:6881") == ("router.example.org", 6881)
    with pytest.raises(LocalProtocolError, match=r"'router.example.org' is not an IP address"):
        parse_peer("router.example.org:6881")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        ":6881",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:+1",
        "127.0.0.1:\uff16\uff18",
        "127.0.0.1:6881 ",
        "127.0.0.1:6881\n",
        "127.0.0.256:6881",
        "127.1:6881",
        "010.0.0.1:6881",
        "::1:6881",
        "[::1]",
        "[::1]6881",
        "[127.0.0.1]:6881",
        "[localhost]:6881",
        "[]:6881",
        "[::g]:6881",
        "a b:6881",
        "/ip4/127.0.0.1/udp/6881",
        "x" * 1000 + ":6881",
    ],
)
def test_what_is_no_address_is_refused_in_a_sentence_that_shows_it(text: str) -> None:
    for parse in (parse_address, parse_peer):
        with pytest.raises(LocalProtocolError, match="cannot use the address '") as refusal:
            parse(text)
        assert len(str(refusal.value)) < 700


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    try:
        host, port = parse_address(text)
    except LocalProtocolError:
        return
    assert host and 0 <= port <= 65535


@pytest.mark.parametrize(
    ("host", "port"), [("localhost", 1), ("", 1), ("::1", 70_000), ("::1", -1)]
)
def test_only_an_ip_address_with_a_port_makes_a_peer(host: str, port: int) -> None:
    with pytest.raises(LocalProtocolError, match="cannot use the address"):
        peer_text(host, port)


# ---- nodes

USABLE = ["1.2.3.4:1", "127.0.0.1:6881", "223.255.255.255:65535", "10.0.0.1:80"]
USABLE6 = ["[::1]:6881", "[2001:db8::1]:1", "[fd00::1]:6881"]
UNUSABLE = ["1.2.3.4:0", "0.0.0.0:6881", "0.1.2.3:6881", "224.0.0.1:6881", "239.255.255.250:1900"]
UNUSABLE += ["255.255.255.255:6881", "240.0.0.1:6881"]
UNUSABLE6 = ["[::]:6881", "[::1]:0", "[ff02::1]:6881", "[fe80::1]:6881", "[::102:304]:6881"]


def node(number: int, peer: str) -> NodeInfo:
    return NodeInfo(bytes([number]) * 20, peer)


@pytest.mark.parametrize(("peers", "size"), [(USABLE, 26), (USABLE6, 38)])
def test_nodes_read_back_as_they_were_written(peers: list[str], size: int) -> None:
    nodes = [node(number, peer) for number, peer in enumerate(peers)]
    raw = compact_nodes(nodes)
    assert len(raw) == size * len(nodes)
    assert read_nodes(raw, ipv6=size == 38) == nodes


@pytest.mark.parametrize("peer", UNUSABLE + UNUSABLE6)
def test_an_address_that_is_not_one_machines_is_left_out(peer: str) -> None:
    assert not is_usable(compact(peer))
    good = node(1, "[::1]:1" if is_ipv6(peer) else "10.0.0.1:1")
    assert read_nodes(compact_nodes([node(0, peer), good]), is_ipv6(peer)) == [good]


def test_ipv4_inside_ipv6_is_left_out_of_nodes6() -> None:
    raw = b"n" * 20 + MAPPED + bytes([10, 0, 0, 1]) + b"\x1a\xe1"
    assert read_nodes(raw, ipv6=True) == []


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_some_nodes_that_can_be_sent_to(raw: bytes, ipv6: bool) -> None:
    size = 38 if ipv6 else 26
    nodes = read_nodes(raw, ipv6)
    assert len(nodes) <= len(raw) // size
    for each in nodes:
        assert len(each.id) == 20
        assert is_ipv6(each.peer) == ipv6
        address = parse_peer(each.peer)
        assert address[1] > 0
    assert compact_nodes(nodes) in raw or len(nodes) < len(raw) // size


@pytest.mark.parametrize("tail", [1, 25])
def test_a_broken_tail_is_left_out(tail: int) -> None:
    raw = compact_nodes([node(1, "10.0.0.1:1"), node(2, "10.0.0.2:1")])
    assert len(read_nodes(raw[:-tail], ipv6=False)) == 1
    assert len(read_nodes(raw + bytes(tail), ipv6=False)) == 2
