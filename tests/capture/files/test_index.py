"""The sidecar index: what was encoded decodes to the same, anything else is seen to be damaged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.files.index import (
    HEADER_SIZE,
    NO_TIME,
    RECORD_SIZE,
    Header,
    IndexView,
    Record,
    decode_header,
    decode_record,
    encode_header,
    encode_record,
)

times = st.integers(NO_TIME, 2**63 - 1)
u32 = st.integers(0, 2**32 - 1)
offsets = st.integers(0, 2**62)


@st.composite
def headers(draw: st.DrawFn) -> Header:
    previous = draw(offsets)
    first = previous + draw(st.integers(0, 2**40))
    return Header(first, previous, draw(times), draw(times), draw(offsets), draw(u32))


@st.composite
def records(draw: st.DrawFn) -> Record:
    rows, size = draw(st.integers(1, 2**32 - 1)), draw(st.integers(1, 2**32 - 1))
    row_end, byte_end = rows + draw(offsets), size + draw(offsets)
    return Record(row_end, byte_end, draw(times), draw(times), rows, size, draw(u32))


@given(headers())
def test_a_header_decodes_to_what_was_encoded(header: Header) -> None:
    encoded = encode_header(header)
    assert len(encoded) == HEADER_SIZE
    assert decode_header(encoded) == header


@given(records())
def test_a_record_decodes_to_what_was_encoded(record: Record) -> None:
    encoded = encode_record(record)
    assert len(encoded) == RECORD_SIZE
    assert decode_record(encoded) == record


@given(headers(), records(), st.data())
def test_a_flipped_bit_is_seen(header: Header, record: Record, data: st.DataObject) -> None:
    def damaged(encoded: bytes) -> bytes:
        bit = data.draw(st.integers(0, 8 * len(encoded) - 1))
        found = bytearray(encoded)
        found[bit // 8] ^= 1 << bit % 8
        return bytes(found)

    assert decode_header(damaged(encode_header(header))) is None
    assert decode_record(damaged(encode_record(record))) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_an_index_of_whole_records_or_none(data: bytes) -> None:
    view = IndexView(data)
    assert view.header is None
    assert view.count == max(0, len(data) - HEADER_SIZE) // RECORD_SIZE
    assert [view[number] for number in range(view.count)] == [None] * view.count
    assert view.last() is None
    assert 0 <= view.find(5) <= view.count


def index_of(count: int, damaged: frozenset[int] = frozenset()) -> IndexView:
    """An index of batches of ten rows each, some of its records damaged."""
    data = bytearray(encode_header(Header(0, 0, NO_TIME, 0, 100, 0)))
    for number in range(count):
        row_end = 10 * number + 10
        data += encode_record(Record(row_end, 100 * row_end, row_end, row_end, 10, 50, 7))
        if number in damaged:
            data[-20] ^= 1
    return IndexView(bytes(data))


@given(st.integers(0, 30), st.integers(0, 320))
def test_the_batch_of_an_offset_is_found(count: int, offset: int) -> None:
    assert index_of(count).find(offset) == min(count, offset // 10)


@given(st.sets(st.integers(0, 9)), st.integers(0, 120))
def test_among_damaged_records_none_that_may_hold_the_offset_is_passed_over(
    damaged: set[int], offset: int
) -> None:
    found = index_of(10, frozenset(damaged)).find(offset)
    place = min(10, offset // 10)
    assert found <= place
    # What is passed over before it was damaged: only then it may come too early.
    assert all(number in damaged for number in range(found, place))


def test_half_a_record_at_the_end_does_not_count() -> None:
    whole = index_of(3)
    assert IndexView(whole._data + whole._data[-RECORD_SIZE:-1]).count == 3
