"""What gossipsub 1.3 adds to the wire: byte for byte as go writes it, and read under limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import bytes_field, encode_varint, varint_field
from rumormill.libp2p.wire import ControlKinds, Rpc, decode_rpc
from rumormill.libp2p.wire.extensions import (
    EXTENSIONS,
    PARTIAL_MESSAGES,
    TEST_EXTENSION,
    Extensions,
    PartialRpc,
    SubscriptionOptions,
    decode_options,
    decode_partial,
    encode_options,
    encode_partial,
)
from rumormill.libp2p.wire.rpc import lone_message

KINDS = ControlKinds(EXTENSIONS)
FIELDS = frozenset((PARTIAL_MESSAGES, TEST_EXTENSION))


def announced(control: bytes) -> tuple[Extensions, ...]:
    rpc = decode_rpc(bytes_field(3, control), kinds=KINDS)
    assert rpc.control is not None
    return rpc.control.of(Extensions)


# ---- which extensions a peer has


def test_flags_are_read_as_go_writes_them() -> None:
    assert announced(bytes.fromhex("32025001")) == (Extensions((PARTIAL_MESSAGES,)),)
    assert announced(bytes.fromhex("32059091e21801")) == (Extensions((TEST_EXTENSION,)),)


def test_flags_are_written_as_go_writes_them() -> None:
    both = Extensions((PARTIAL_MESSAGES, TEST_EXTENSION))
    assert EXTENSIONS.piece(both).hex() == "320750019091e21801"


def test_a_flag_that_is_not_set_announces_nothing_and_is_kept() -> None:
    off, text = varint_field(10, 0), bytes_field(11, b"text")
    (entry,) = announced(bytes_field(6, off + text))
    assert entry == Extensions((), off + text)
    assert EXTENSIONS.encode(entry) == off + text


def test_flags_without_end_are_refused() -> None:
    many = b"".join([varint_field(number, 1) for number in range(1, 1027)])
    with pytest.raises(RemoteProtocolError, match="too many fields"):
        announced(bytes_field(6, many))


@given(st.binary(max_size=200))
def test_any_bytes_are_flags_or_an_error_of_the_peer(raw: bytes) -> None:
    try:
        (entry,) = announced(bytes_field(6, raw))
    except RemoteProtocolError:
        return
    again = announced(bytes_field(6, EXTENSIONS.encode(entry)))
    assert again == (entry,)


# ---- options of a subscription


@pytest.mark.parametrize(
    ("raw", "options"),
    [
        ("", SubscriptionOptions()),
        ("18002000", SubscriptionOptions()),
        ("18012001", SubscriptionOptions(requests=True, supports=True)),
        ("1801", SubscriptionOptions(requests=True, supports=True)),
        ("2001", SubscriptionOptions(requests=False, supports=True)),
        ("180120012a0161", SubscriptionOptions(requests=True, supports=True)),
    ],
)
def test_who_wants_parts_sends_them_too(raw: str, options: SubscriptionOptions) -> None:
    assert decode_options(bytes.fromhex(raw)) == options


def test_options_are_written_out_even_when_false() -> None:
    assert encode_options(SubscriptionOptions()).hex() == "18002000"


@given(st.binary(max_size=200))
def test_any_bytes_are_options_or_an_error_of_the_peer(raw: bytes) -> None:
    try:
        options = decode_options(raw)
    except RemoteProtocolError:
        return
    assert decode_options(encode_options(options)) == options


# ---- what is said of parts

PARTIAL = st.builds(
    PartialRpc,
    st.text(max_size=20),
    st.binary(max_size=40),
    st.none() | st.binary(max_size=100),
    st.none() | st.binary(max_size=100),
)


@given(PARTIAL)
def test_what_is_written_is_read_again(partial: PartialRpc) -> None:
    assert decode_partial(encode_partial(partial)) == partial


@given(st.binary(max_size=300))
def test_any_bytes_are_about_parts_or_an_error_of_the_peer(raw: bytes) -> None:
    try:
        partial = decode_partial(raw)
    except RemoteProtocolError:
        return
    assert decode_partial(encode_partial(partial)) == partial


def test_parts_are_written_in_the_fields_of_the_specification() -> None:
    partial = PartialRpc("t", b"g", b"data", b"\x07")
    assert encode_partial(partial).hex() == "0a01741201671a0464617461220107"


# ---- fields of the RPC


@given(st.lists(PARTIAL, min_size=1, max_size=3), st.binary(max_size=5))
def test_a_field_that_comes_in_pieces_is_one(pieces: list[PartialRpc], tail: bytes) -> None:
    frame = b"".join([bytes_field(PARTIAL_MESSAGES, encode_partial(each)) for each in pieces])
    frame += bytes_field(77, tail)
    rpc = decode_rpc(frame, extensions=FIELDS)
    ((number, inside),) = rpc.extensions
    assert number == PARTIAL_MESSAGES
    assert decode_partial(inside)[:2] == pieces[-1][:2]
    assert rpc.other == bytes_field(77, tail)


def test_fields_that_the_reader_does_not_speak_stay_as_they_came() -> None:
    field = bytes_field(PARTIAL_MESSAGES, b"inside")
    number = varint_field(PARTIAL_MESSAGES, 3)
    assert decode_rpc(field) == Rpc(other=field)
    assert decode_rpc(number, extensions=FIELDS) == Rpc(other=number)
    assert decode_rpc(field, extensions=FIELDS).extensions == ((PARTIAL_MESSAGES, b"inside"),)


@given(st.binary(max_size=400))
def test_speaking_more_fields_changes_nothing_else(frame: bytes) -> None:
    if lone_message(frame, 0, len(frame)):
        return
    try:
        plain, speaking = decode_rpc(frame), decode_rpc(frame, extensions=FIELDS)
    except RemoteProtocolError:
        return
    assert (plain.subscriptions, plain.messages) == (speaking.subscriptions, speaking.messages)
    assert sum(len(inside) for _, inside in speaking.extensions) <= len(plain.other)


def test_a_length_that_claims_too_much_is_refused_before_anything_is_made() -> None:
    frame = encode_varint(PARTIAL_MESSAGES << 3 | 2) + encode_varint(1 << 40)
    with pytest.raises(RemoteProtocolError, match="cut short"):
        decode_rpc(frame, extensions=FIELDS)
