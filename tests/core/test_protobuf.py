"""The protobuf wire format, held against google's own library."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import unknown_fields
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.core import protobuf as wire
from rumormill.core.errors import RemoteProtocolError
from tests.helpers.core.protobuf_classes import message_classes

NUMBERS = st.integers(0, wire.LARGEST_UINT64)
FIELD_NUMBERS = st.integers(1, 0x1FFFFFFF)


Empty: Any = message_classes("empty_oracle", {"Empty": []})["Empty"]
"""A message type without fields: to google's parser every field is unknown, and kept."""

Field = tuple[int, int, int | bytes]


def ours(raw: bytes) -> list[Field]:
    return [
        (number, kind, a if kind == wire.VARINT else raw[a:b])
        for number, kind, a, b in wire.fields(raw, 0, len(raw))
    ]


def theirs(raw: bytes) -> list[Field]:
    found: list[Field] = []
    unknown: Any = unknown_fields.UnknownFieldSet(Empty.FromString(raw))
    for field in unknown:
        data = field.data
        if field.wire_type == wire.FIXED64:
            data = data.to_bytes(8, "little")
        elif field.wire_type == wire.FIXED32:
            data = data.to_bytes(4, "little")
        found.append((field.field_number, field.wire_type, data))
    return found


def encode(field: Field) -> bytes:
    number, kind, value = field
    if isinstance(value, int):
        return wire.varint_field(number, value)
    if kind == wire.LENGTH_DELIMITED:
        return wire.bytes_field(number, value)
    return wire.encode_varint(number << 3 | kind) + value


FIELDS: st.SearchStrategy[Field] = st.one_of(
    st.tuples(FIELD_NUMBERS, st.just(wire.VARINT), NUMBERS),
    st.tuples(FIELD_NUMBERS, st.just(wire.LENGTH_DELIMITED), st.binary(max_size=300)),
    st.tuples(FIELD_NUMBERS, st.just(wire.FIXED64), st.binary(min_size=8, max_size=8)),
    st.tuples(FIELD_NUMBERS, st.just(wire.FIXED32), st.binary(min_size=4, max_size=4)),
)


# ---- varints


@given(NUMBERS, st.binary(max_size=3))
@example(0, b"")
@example(127, b"")
@example(128, b"")
@example(wire.LARGEST_UINT64, b"\xff")
def test_a_varint_comes_back_and_what_follows_is_left_alone(value: int, rest: bytes) -> None:
    encoded = wire.encode_varint(value)
    assert wire.decode_varint(encoded + rest, 0, len(encoded + rest)) == (value, len(encoded))


@pytest.mark.parametrize(
    "text", ["", "80", "ff" * 9, "ff" * 10, "80" * 10 + "00", "ff" * 9 + "02", "ff" * 9 + "7f"]
)
def test_a_varint_that_is_cut_short_or_too_long_is_refused(text: str) -> None:
    raw = bytes.fromhex(text)
    with pytest.raises(RemoteProtocolError) as caught:
        wire.decode_varint(raw, 0, len(raw))
    assert caught.value.reason == "bad_protobuf"


def test_a_varint_is_not_read_past_its_end() -> None:
    with pytest.raises(RemoteProtocolError):
        wire.decode_varint(b"\x80\x01", 0, 1)


# ---- fields


@given(st.lists(FIELDS, max_size=8))
def test_fields_are_what_google_reads_in_what_we_write(expected: list[Field]) -> None:
    raw = b"".join(map(encode, expected))
    assert ours(raw) == theirs(raw) == expected


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_fields_or_a_remote_protocol_error(raw: bytes) -> None:
    try:
        found = ours(raw)
    except RemoteProtocolError:
        return
    # What we take, google takes and understands the same; it is stricter about long tags only.
    try:
        assert found == theirs(raw)
    except DecodeError:
        assert len(b"".join(map(encode, found))) < len(raw)


@given(st.lists(FIELDS, min_size=1, max_size=4), st.data())
def test_a_message_cut_anywhere_inside_a_field_is_refused(
    whole: list[Field], data: st.DataObject
) -> None:
    raw = b"".join(map(encode, whole))
    ends = {len(b"".join(map(encode, whole[:count]))) for count in range(len(whole) + 1)}
    cut = data.draw(st.integers(0, len(raw)).filter(lambda at: at not in ends))
    with pytest.raises(RemoteProtocolError):
        ours(raw[:cut])


@pytest.mark.parametrize("kind", [3, 4, 6, 7])
def test_groups_and_unknown_wire_types_are_refused(kind: int) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        ours(bytes([1 << 3 | kind]))
    assert caught.value.reason == "bad_protobuf"


@pytest.mark.parametrize("number", [0, 0x20000000])
def test_a_field_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(RemoteProtocolError):
        ours(wire.varint_field(number, 1))


def test_a_length_that_reaches_past_the_message_is_refused_inside_a_larger_buffer() -> None:
    raw = wire.bytes_field(1, b"abcd")
    with pytest.raises(RemoteProtocolError):
        list(wire.fields(raw + b"more", 0, len(raw) - 1))


def test_a_length_of_64_bits_allocates_nothing() -> None:
    with pytest.raises(RemoteProtocolError):
        ours(b"\x0a" + wire.encode_varint(wire.LARGEST_UINT64) + b"x")


def test_a_message_of_too_many_fields_is_refused() -> None:
    raw = b"\x08\x01" * 5
    assert len(list(wire.fields(raw, 0, len(raw), most=5))) == 5
    with pytest.raises(RemoteProtocolError) as caught:
        list(wire.fields(raw, 0, len(raw), most=4))
    assert caught.value.reason == "too_many_fields"


@given(st.lists(FIELDS, max_size=4))
def test_a_field_that_was_read_can_be_written_again(expected: list[Field]) -> None:
    raw = b"".join(map(encode, expected))
    again = [wire.raw_field(raw, *field) for field in wire.fields(raw, 0, len(raw))]
    assert b"".join(again) == raw


# ---- whole messages


@given(st.lists(FIELDS, max_size=8) | st.binary(max_size=120))
@example(bytes.fromhex("0801120161"))
def test_a_message_by_number_has_the_last_of_its_fields_or_both_readers_refuse_it(
    content: list[Field] | bytes,
) -> None:
    raw = content if isinstance(content, bytes) else b"".join(map(encode, content))
    try:
        walked = ours(raw)
    except RemoteProtocolError:
        with pytest.raises(RemoteProtocolError):
            wire.read_message(raw, 0, len(raw))
        return
    assert wire.read_message(raw, 0, len(raw)) == {number: value for number, _, value in walked}


@given(st.binary(max_size=50), st.binary(max_size=300), st.binary(max_size=50))
def test_a_message_is_read_where_it_is_and_no_further(
    before: bytes, text: bytes, behind: bytes
) -> None:
    raw = wire.bytes_field(2, text) + wire.varint_field(3, 7)
    found = wire.read_message(before + raw + behind, len(before), len(before) + len(raw))
    assert found == {2: text, 3: 7}


@pytest.mark.parametrize(
    "raw",
    [b"\x12", b"\x12\x05abcd", b"\x08", b"\x0b\x00", b"\x00\x01", b"\x09abcdefg", b"\x0d123",
     b"\x18\xff", b"\x12\x80\x80\x80\x10"],
)  # fmt: skip
def test_a_message_that_is_cut_short_or_has_wrong_tags_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        wire.read_message(raw, 0, len(raw))
    assert caught.value.reason == "bad_protobuf"


def test_whoever_knows_its_numbers_may_bring_a_reader_of_them() -> None:
    raw = wire.varint_field(1, 5) + wire.varint_field(3, 300)
    asked = []

    def number_at(buffer: bytes, offset: int, end: int) -> tuple[int, int]:
        asked.append(offset)
        return wire.decode_varint(buffer, offset, end)

    assert wire.read_message(raw, 0, len(raw), number_at) == {1: 5, 3: 300}
    assert asked == [1, 3]
