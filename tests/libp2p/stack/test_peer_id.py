"""Peer ids as bytes and as text."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack import peer_id
from rumormill.libp2p.stack.peer_id import PeerNames

PEER_IDS = st.one_of(
    st.binary(min_size=1, max_size=42).map(peer_id.peer_id_of),
    st.binary(min_size=43, max_size=60).map(peer_id.peer_id_of),
)

# A hashed id from the peer id specification, and an Ed25519 one as kubo prints it.
HASHED = "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N"
HASHED_BASE32 = "bafzbeie5745rpv2m6tjyuugywy4d5ewrqgqqhfnf445he3omzpjbx5xqxe"
INLINE = "12D3KooWPVYKwhPsyD1kpaaVNvJoqd4tdZR4VgxVmo9NSzWVQjCj"
INLINE_BASE32 = "bafzaajaiaejcbszrcftl53w5t63k6tgiyk7uvrdr3to6pjy76azeib2h4ccm6dgi"
INLINE_BASE36 = "k51qzi5uqu5dl8wlbw09j1cpr1i456yb3mv0r5wnpx3wz6qq8pnppkvgqdepc8"


def as_base32(cid: bytes) -> str:
    return "b" + base64.b32encode(cid).decode("ascii").lower().rstrip("=")


def as_base36(cid: bytes) -> str:
    number, digits = int.from_bytes(cid, "big"), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return "k" + digits


def test_the_text_forms_of_the_specification_and_of_kubo_name_the_same_peers() -> None:
    assert peer_id.from_text(HASHED_BASE32) == peer_id.from_text(HASHED)
    assert peer_id.from_text(INLINE_BASE32) == peer_id.from_text(INLINE)
    assert peer_id.from_text(INLINE_BASE36) == peer_id.from_text(INLINE)
    assert peer_id.to_text(peer_id.from_text(HASHED)) == HASHED
    assert peer_id.to_text(peer_id.from_text(INLINE)) == INLINE


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (
            "00240801122027fd2bf66b5fbaeebdae9abaf5619ea70fb0b1d4e7698c061983170eedc089ed",
            "12D3KooWCWTyXSfg3Ly6MntmGTHxsyqVUpV2RLQvgBVrkDoGh3rU",
        ),
        (
            "0024080112201cfda833e000e539604786f19770c57702ee1163864f99fc4aa171152663e169",
            "12D3KooWBmXvJsJTZjM1kWP3aXcGhfTPbniiJq1bfJg7QTh2pdgU",
        ),
    ],
)
def test_texts_are_those_that_go_writes(raw: str, text: str) -> None:
    assert peer_id.to_text(bytes.fromhex(raw)) == text
    assert peer_id.from_text(text).hex() == raw


def test_a_key_of_up_to_42_bytes_stands_in_its_id_and_a_longer_one_is_hashed() -> None:
    assert peer_id.peer_id_of(b"k" * 42) == b"\x00\x2a" + b"k" * 42
    hashed = peer_id.peer_id_of(b"k" * 43)
    assert hashed[:2] == b"\x12\x20"
    assert len(hashed) == 34


@given(PEER_IDS)
def test_a_peer_id_comes_back_from_each_of_its_texts(raw: bytes) -> None:
    assert peer_id.check_peer_id(raw) == raw
    assert peer_id.from_text(peer_id.to_text(raw)) == raw
    assert peer_id.from_text(as_base32(b"\x01\x72" + raw)) == raw
    assert peer_id.from_text(as_base36(b"\x01\x72" + raw)) == raw


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_a_peer_id_or_a_remote_protocol_error(raw: bytes) -> None:
    try:
        assert peer_id.from_text(peer_id.to_text(peer_id.check_peer_id(raw))) == raw
    except RemoteProtocolError as error:
        assert error.reason == "bad_peer_id"


@given(st.text(max_size=100))
def test_arbitrary_text_is_a_peer_id_or_a_local_protocol_error(text: str) -> None:
    try:
        peer_id.check_peer_id(peer_id.from_text(text))
    except LocalProtocolError as error:
        assert "is not a peer id" in str(error)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00",
        b"\x00\x00",
        b"\x00\x02k",
        b"\x00\x01kk",
        b"\x00\x2b" + b"k" * 43,
        b"\x12\x20" + b"h" * 31,
        b"\x12\x20" + b"h" * 33,
        b"\x12\x1f" + b"h" * 31,
        b"\x13\x40" + b"h" * 64,
        b"\x80\x00\x01k",
    ],
)
def test_a_multihash_that_no_peer_id_can_be_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        peer_id.check_peer_id(raw)
    assert caught.value.reason == "bad_peer_id"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "bad_peer_id"),
        ("12D3KooW", "bad_peer_id"),
        ("0" + INLINE, "no character of base58"),
        (INLINE[:-1], "bad_peer_id"),
        ("1" * 100_000, "100000 characters"),
        ("k" + "1" * 100_000, "it has 100001 characters"),
        ("b" + "a" * 100_000, "it has 100001 characters"),
        ("bafy" + INLINE_BASE32[4:], "not one of a libp2p key"),
        (INLINE_BASE32.upper(), "is not a peer id"),
        ("b" + INLINE_BASE32[1:].upper(), "lower case"),
        (INLINE_BASE32 + "=", "base32"),
        (INLINE_BASE32 + "0", "base32"),
        ("bé", "base32"),
        ("k" + INLINE_BASE36[1:].upper(), "base36"),
        ("k5_1", "base36"),
        ("k", "not one of a libp2p key"),
        ("b", "not one of a libp2p key"),
    ],
)
def test_text_that_is_no_peer_id_is_refused_with_a_sentence(text: str, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match="is not a peer id") as caught:
        peer_id.from_text(text)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 300


def test_spare_bits_of_base32_must_be_zero() -> None:
    raw = b"\x01\x72" + b"\x00\x01k"  # 40 bits: none to spare
    assert peer_id.from_text(as_base32(raw)) == raw[2:]
    raw = b"\x01\x72" + b"\x00\x02kk"  # 48 bits in 10 digits: 2 to spare
    text = as_base32(raw)
    assert peer_id.from_text(text) == raw[2:]
    with pytest.raises(LocalProtocolError):
        peer_id.from_text(text[:-1] + chr(ord(text[-1]) + 1))


def test_bytes_far_too_long_for_an_id_have_no_text() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        peer_id.to_text(bytes(1_000_000))
    assert caught.value.reason == "bad_peer_id"


def test_names_are_worked_out_once() -> None:
    names = PeerNames()
    raw = peer_id.from_text(INLINE)
    assert names.name(raw) == INLINE
    assert names.name(bytes(bytearray(raw))) is names.name(raw)
    assert len(names) == 1


def test_names_are_bounded_and_the_oldest_is_forgotten_first() -> None:
    names = PeerNames(most=3)
    ids = [peer_id.peer_id_of(bytes((number,))) for number in range(5)]
    texts = [names.name(raw) for raw in ids]
    assert len(names) == 3
    assert all(names.name(raw) is text for raw, text in zip(ids[2:], texts[2:], strict=True))
    assert names.name(ids[0]) == texts[0]
    assert len(names) == 3


def test_names_of_what_is_no_peer_id_are_refused_and_not_kept() -> None:
    names = PeerNames()
    with pytest.raises(RemoteProtocolError):
        names.name(bytes(1_000_000))
    assert len(names) == 0
