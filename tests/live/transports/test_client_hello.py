"""What a client offers, read from the bytes that real clients send, and from any others."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.live.transports.client_hello import SECP256K1, UNKNOWN, Offer, read_client_hello

X25519, SECP256R1 = 29, 23
ECDSA_SHA256, RSA_SHA256 = 0x0403, 0x0401


def real_hello(group: str | None = None) -> bytes:
    """What OpenSSL sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if group is not None:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ecdh_curve(group)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


REAL = real_hello()


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def sized(data: bytes, size: int) -> bytes:
    return number(len(data), size) + data


def numbers(values: tuple[int, ...]) -> bytes:
    return sized(b"".join(number(value, 2) for value in values), 2)


def made_up(extensions: list[tuple[int, bytes]] | None, session: bytes = b"") -> bytes:
    body = b"\x03\x03" + bytes(32) + sized(session, 1) + numbers((0xC02C,)) + sized(b"\x00", 1)
    if extensions is not None:
        body += sized(b"".join(number(kind, 2) + sized(data, 2) for kind, data in extensions), 2)
    return b"\x16\x03\x01" + sized(b"\x01" + sized(body, 3), 2)


def test_the_group_that_a_client_is_pinned_to_is_read() -> None:
    offer = read_client_hello(real_hello("secp256k1"))
    assert offer is not None
    assert offer.groups == (SECP256K1,)


def test_a_client_that_is_not_pinned_offers_others() -> None:
    offer = read_client_hello(REAL)
    assert offer is not None
    assert {X25519, SECP256R1} <= set(offer.groups)
    assert SECP256K1 not in offer.groups
    assert {ECDSA_SHA256, RSA_SHA256} <= set(offer.signature_algorithms)


def test_what_comes_after_the_hello_does_not_matter() -> None:
    assert read_client_hello(REAL + b"more") == read_client_hello(REAL)


@given(st.integers(0, len(REAL) - 1))
def test_as_long_as_a_hello_is_not_all_there_more_is_wanted(size: int) -> None:
    assert read_client_hello(REAL[:size]) is None


lists = st.lists(st.integers(0, 0xFFFF), max_size=20).map(tuple)


@given(lists, lists, st.binary(max_size=32), st.binary(max_size=50))
def test_what_is_offered_is_read(
    groups: tuple[int, ...], algorithms: tuple[int, ...], session: bytes, other: bytes
) -> None:
    extensions = [(0, other), (10, numbers(groups)), (43, other), (13, numbers(algorithms))]
    assert read_client_hello(made_up(extensions, session)) == Offer(groups, algorithms)


def test_a_hello_without_extensions_offers_nothing() -> None:
    assert read_client_hello(made_up(None)) == read_client_hello(made_up([])) == UNKNOWN


@pytest.mark.parametrize(
    "odd",
    [
        b"GET / HTTP/1.1",
        b"\x80\x2e\x01\x03\x01",  # the hello of SSL 2
        b"\x16\x02\x00\x00\x05",
        b"\x16\x03\x01\x40\x01",  # a record that is too long
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\x00\x00\xff",  # spread over several records
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",  # of a server
        made_up([(10, b"\x00\x09\x00\x16")]),
        made_up([(10, b"")]),
        made_up([(10, numbers((22,)))])[:-1].replace(b"\x00\x0a\x00\x04", b"\x00\x0a\x00\x05")
        + b"0",
    ],
)
def test_of_what_is_odd_nothing_is_known(odd: bytes) -> None:
    assert read_client_hello(odd) == UNKNOWN


@given(st.binary(max_size=300))
def test_no_bytes_do_harm(data: bytes) -> None:
    read_client_hello(data)
    read_client_hello(b"\x16\x03\x01" + sized(data, 2))
    read_client_hello(b"\x16\x03\x01" + sized(b"\x01" + sized(data, 3), 2))


@given(st.integers(0, len(REAL) - 1), st.integers(0, 255))
def test_a_hello_with_one_byte_changed_does_no_harm(place: int, byte: int) -> None:
    changed = bytearray(REAL)
    changed[place] = byte
    read_client_hello(changed)


@given(st.integers(5, 1 << 15))
def test_never_more_than_one_record_is_waited_for(size: int) -> None:
    if read_client_hello(b"\x16\x03\x01" + b"\x40\x00" + bytes(size)) is None:
        assert size < 1 << 14
