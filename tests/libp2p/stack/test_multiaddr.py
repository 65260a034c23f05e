"""Addresses as text and as bytes."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import peer_id_of, to_text

PEER = "12D3KooWPVYKwhPsyD1kpaaVNvJoqd4tdZR4VgxVmo9NSzWVQjCj"
PEER_AS_CID = "k51qzi5uqu5dl8wlbw09j1cpr1i456yb3mv0r5wnpx3wz6qq8pnppkvgqdepc8"

HOST_NAMES = st.from_regex(r"[a-z0-9_.-]{1,60}", fullmatch=True)
HOSTS = st.one_of(
    st.tuples(st.just("ip4"), st.ip_addresses(v=4).map(str)),
    st.tuples(st.just("ip6"), st.ip_addresses(v=6).map(str)),
    st.tuples(st.sampled_from(["dns", "dns4", "dns6"]), HOST_NAMES),
)
PEERS = st.none() | st.binary(min_size=1, max_size=60).map(peer_id_of).map(to_text)
ADDRESSES = st.builds(
    lambda host, port, peer: Multiaddr(host[0], host[1], port, peer),
    HOSTS,
    st.integers(0, 0xFFFF),
    PEERS,
)


@given(ADDRESSES)
def test_an_address_comes_back_from_its_text_and_from_its_bytes(address: Multiaddr) -> None:
    assert Multiaddr.parse(str(address)) == address
    assert Multiaddr.from_bytes(address.to_bytes()) == address
    assert hash(Multiaddr.parse(str(address))) == hash(address)


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("/ip4/127.0.0.1/tcp/4001", "047f000001060fa1"),
        ("/ip4/0.0.0.0/tcp/0", "0400000000060000"),
        ("/ip6/::1/tcp/65535", "290000000000000000000000000000000106ffff"),
        ("/ip6/::ffff:1.2.3.4/tcp/80", "2900000000000000000000ffff01020304060050"),
        ("/dns/example.org/tcp/1", "350b6578616d706c652e6f7267060001"),
        ("/dns4/a/tcp/1", "360161060001"),
        ("/dns6/a/tcp/1", "370161060001"),
        (
            "/ip4/1.2.3.4/tcp/80/p2p/QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N",
            "0401020304060050a5032212209dff3b17d74cf4d38a50d8b6383e92d181a10395a5e73a726dcccbd21bf6f0b9",
        ),
    ],
)
def test_known_addresses(text: str, raw: str) -> None:
    address = Multiaddr.parse(text)
    assert address.to_bytes().hex() == raw
    assert str(Multiaddr.from_bytes(bytes.fromhex(raw))) == text


def test_the_parts_of_an_address() -> None:
    address = Multiaddr.parse(f"/dns4/example.org/tcp/4001/p2p/{PEER}")
    assert (address.family, address.host, address.port) == ("dns4", "example.org", 4001)
    assert address.peer == PEER


def test_a_peer_can_be_put_on_and_taken_off() -> None:
    bare = Multiaddr.parse("/ip4/1.2.3.4/tcp/4001")
    assert bare.peer is None
    assert str(bare.with_peer(PEER)) == f"/ip4/1.2.3.4/tcp/4001/p2p/{PEER}"
    assert bare.with_peer(PEER).without_peer() == bare
    with pytest.raises(LocalProtocolError, match="is not a peer id"):
        bare.with_peer("nobody")


@pytest.mark.parametrize(
    ("written", "usual"),
    [
        (f"/ip4/1.2.3.4/tcp/1/ipfs/{PEER}", f"/ip4/1.2.3.4/tcp/1/p2p/{PEER}"),
        (f"/ip4/1.2.3.4/tcp/1/p2p/{PEER_AS_CID}", f"/ip4/1.2.3.4/tcp/1/p2p/{PEER}"),
        ("/ip6/2001:DB8:0:0::0001/tcp/1", "/ip6/2001:db8::1/tcp/1"),
        ("/ip6/::ffff:102:304/tcp/1", "/ip6/::ffff:1.2.3.4/tcp/1"),
        ("/ip4/1.2.3.4/tcp/0080", "/ip4/1.2.3.4/tcp/80"),
    ],
)
def test_each_address_has_one_usual_spelling(written: str, usual: str) -> None:
    assert str(Multiaddr.parse(written)) == usual
    assert Multiaddr.parse(written) == Multiaddr.parse(usual)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "begin with a slash"),
        ("127.0.0.1:4001", "begin with a slash"),
        ("/", "none of the protocols"),
        ("/ip4/127.0.0.1", "a tcp port must follow"),
        ("/ip4/127.0.0.1/", "'' is none of the protocols"),
        ("/ip4/127.0.0.1/tcp", "nothing stands behind 'tcp'"),
        ("/ip4/127.0.0.1/tcp/", "nothing stands behind 'tcp'"),
        ("/ip4/127.0.0.1/udp/4001/quic-v1", "'udp' is none of the protocols"),
        ("/ip4/127.0.0.1/tcp/4001/ws", "'ws' is none of the protocols"),
        ("/ip4/127.0.0.1/tcp/4001/tcp/4001", "only a p2p peer id may follow"),
        (f"/ip4/127.0.0.1/tcp/4001/p2p/{PEER}/p2p/{PEER}", "only a p2p peer id may follow"),
        ("/tcp/4001", "must begin with one of"),
        (f"/p2p/{PEER}", "must begin with one of"),
        ("/ip4/127.0.0.1/tcp/65536", "65536 is not between 0 and 65535"),
        ("/ip4/127.0.0.1/tcp/-1", "'-1' is not a port"),
        ("/ip4/127.0.0.1/tcp/٤", "is not a port"),
        ("/ip4/127.0.0.1/tcp/" + "9" * 300, "is not a port"),
        ("/ip4/127.0.0.256/tcp/1", "127.0.0.256"),
        ("/ip4/127.0.0.01/tcp/1", "127.0.0.01"),
        ("/ip4/::1/tcp/1", "::1"),
        ("/ip6/127.0.0.1/tcp/1", "127.0.0.1"),
        ("/ip6/fe80::1%eth0/tcp/1", "zone"),
        ("/ip6zone/eth0/ip6/fe80::1/tcp/1", "zone"),
        ("/dns4/exa mple.org/tcp/1", "is not a host name"),
        ("/dns4/exämple.org/tcp/1", "is not a host name"),
        ("/dns4/" + "a" * 254 + "/tcp/1", "is not a host name"),
        ("/ip4/127.0.0.1/tcp/1/p2p/nobody", "is not a peer id"),
        ("/dns4/" + "a" * 100_000, "100006 characters"),
    ],
)
def test_text_that_is_no_address_is_refused_with_a_sentence_that_quotes_it(
    text: str, problem: str
) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        Multiaddr.parse(text)
    assert repr(text[:200])[:-1] in str(caught.value)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1000


@given(st.text(max_size=60) | st.text(alphabet="/ip46dns2tc:.%ax0159", max_size=60))
def test_arbitrary_text_is_an_address_or_a_local_protocol_error(text: str) -> None:
    try:
        address = Multiaddr.parse(text)
    except LocalProtocolError:
        return
    assert Multiaddr.parse(str(address)) == address


@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_an_address_or_a_remote_protocol_error(raw: bytes) -> None:
    try:
        assert Multiaddr.from_bytes(raw).to_bytes() == raw
    except RemoteProtocolError as error:
        assert error.reason == "bad_address"


@given(ADDRESSES, st.data())
def test_a_damaged_address_is_another_one_or_a_remote_protocol_error(
    address: Multiaddr, data: st.DataObject
) -> None:
    raw = bytearray(address.to_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        assert Multiaddr.from_bytes(bytes(raw)).to_bytes() == raw
    except RemoteProtocolError as error:
        assert error.reason == "bad_address"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "047f000001",  # no port
        "047f0000",  # cut short
        "047f00000106",
        "047f0000019102" + "0fa1",  # udp
        "84007f000001060fa1",  # a code in two bytes where one is enough
        "3501ff060001",  # a host name that is not ASCII
        "3500060001",  # an empty one
        "35" + "ff" * 9 + "01" + "060001",  # one of 2^64 bytes
        "0401020304060050a50300",  # an empty peer id
        "0401020304060050a503031201ff",  # no peer id
        "0401020304060050dd03",  # something behind the port
        "060001",
    ],
)
def test_bytes_that_are_no_address_are_refused(raw: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        Multiaddr.from_bytes(bytes.fromhex(raw))
    assert caught.value.reason == "bad_address"


def test_bytes_far_too_long_for_an_address_are_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        Multiaddr.from_bytes(Multiaddr.parse("/dns/a/tcp/1").to_bytes() * 1000)


def test_an_address_cannot_be_changed_or_made_of_wrong_parts() -> None:
    address = Multiaddr("ip4", "1.2.3.4", 80)
    with pytest.raises(AttributeError):
        address.port = 81  # type: ignore[misc]
    with pytest.raises(LocalProtocolError, match="'udp' is none of"):
        Multiaddr("udp", "1.2.3.4", 80)
    with pytest.raises(LocalProtocolError, match="70000"):
        Multiaddr("ip4", "1.2.3.4", 70_000)


@given(st.ip_addresses())
def test_a_host_is_the_same_in_text_and_in_bytes(
    host: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    address = Multiaddr(f"ip{host.version}", str(host), 1)
    assert ipaddress.ip_address(address.host) == host
    assert address.to_bytes()[1:-3] == host.packed
