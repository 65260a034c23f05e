"""Addresses of faces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.addresses import Endpoint
from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.faces.addresses import (
    TCP,
    UDP,
    canonical,
    is_local,
    read_address,
    source_of,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("tcp://127.0.0.1:6363", ("tcp", "127.0.0.1", 6363, 4)),
        ("tcp://[::1]:1", ("tcp", "::1", 1, 6)),
        ("tcp4://10.0.0.1:7000", ("tcp", "10.0.0.1", 7000, 4)),
        ("udp6://[2001:db8::1]:7000", ("udp", "2001:db8::1", 7000, 6)),
        ("udp://[::1]", ("udp", "::1", 6363, 6)),
        ("tcp://Forwarder.example:6363", ("tcp", "forwarder.example", 6363, None)),
        ("tcp6://forwarder.example", ("tcp", "forwarder.example", 6363, 6)),
        ("unix:///run/nfd/nfd.sock", ("unix", "/run/nfd/nfd.sock", 0, None)),
    ],
)
def test_addresses_are_read(text: str, place: tuple[str, str, int, int | None]) -> None:
    assert tuple(read_address(text)) == place


@pytest.mark.parametrize(
    "text",
    [
        "", "127.0.0.1:6363", "tcp:/127.0.0.1:6363", "tcp://", "tcp://:6363", "tcp://a:b",
        "tcp://a:65536", "tcp://::1:6363", "tcp://[::1:6363", "tcp4://[::1]:6363",
        "tcp6://127.0.0.1:6363", "tcp://[127.0.0.1]:6363x", "tcp://a b:1", "tcp://a/b:1",
        "tcp://user@host:1", "tcp://300.1.1.1:1", "unix://relative", "unix:///folder/",
        "unix:/run/x", "ws://a:1", "udp4+dev://eth0", "tcp://a\x00:1", "tcp://" + "a" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(LocalProtocolError, match="cannot use the address"):
        read_address(text)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for candidate in (text, f"tcp://{text}", f"udp4://{text}", f"unix://{text}"):
        try:
            assert read_address(canonical(candidate)) is not None
            is_local(candidate), source_of(candidate)
        except LocalProtocolError:
            pass


@given(st.ip_addresses(), st.integers(0, 65535))
def test_what_a_transport_writes_it_can_read_and_is_canonical(host: object, port: int) -> None:
    for addresses in (TCP, UDP):
        text = addresses.text(str(host), port)
        assert addresses.parse(text)[:2] == (str(host), port)
        assert canonical(text) == text


def test_a_transport_refuses_addresses_of_other_kinds() -> None:
    with pytest.raises(LocalProtocolError, match="it must be tcp://HOST:PORT"):
        TCP.parse("udp://127.0.0.1:6363")
    with pytest.raises(LocalProtocolError, match="it must be udp://HOST:PORT"):
        UDP.parse("unix:///run/nfd.sock")
    assert UDP.parse("udp4://localhost") == Endpoint("localhost", 6363, 4)


def test_several_ways_to_write_an_address_are_one() -> None:
    for text in ("tcp://127.0.0.1:6363", "tcp4://127.0.0.1:6363", "tcp://127.0.0.1"):
        assert canonical(text) == "tcp://127.0.0.1:6363"
    assert canonical("udp6://[::0001]:80") == "udp://[::1]:80"
    assert canonical("tcp4://LOCALHOST") == "tcp4://localhost:6363"
    assert canonical("unix:///run/a.sock#3") == "unix:///run/a.sock#3"


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("unix:///a", True), ("unix:///a#7", True), ("tcp://127.8.8.8:1", True),
        ("udp://[::1]:1", True), ("tcp://[::ffff:127.0.0.1]:1", True), ("tcp://10.0.0.1:1", False),
        ("udp://[fe80::1]:1", False), ("tcp://localhost:1", False),
    ],
)  # fmt: skip
def test_only_what_is_surely_on_this_machine_is_local(text: str, local: bool) -> None:
    assert is_local(text) is local


def test_ports_and_the_lower_half_of_ipv6_make_no_other_source() -> None:
    assert source_of("udp://192.0.2.1:1") == source_of("tcp://192.0.2.1:2")
    assert source_of("udp://[2001:db8::1]:1") == source_of("udp://[2001:db8::ffff:1]:9")
    assert source_of("udp://127.0.0.1:1") != source_of("udp://127.0.0.1:2")
    assert source_of("unix:///a#1") != source_of("unix:///a#2")
