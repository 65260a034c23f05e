"""The ready-made message: a list of parts with a bitmap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.libp2p.gossipsub.partial import PartialMessage, PartList, Taken
from tests.helpers.libp2p.partial_bench import ALL, CELLS, EVEN, ODD, bits, packed, some, whole

PARTS = st.lists(st.binary(max_size=30), min_size=1, max_size=20)


def test_it_is_what_the_machine_asks_for() -> None:
    message: PartialMessage = whole()
    assert message.group_id == b"g"


def test_bits_are_numbered_as_in_gos_bitmap() -> None:
    assert some([0]).metadata() == b"\x01"
    assert some([7]).metadata() == b"\x80"
    long = PartList(b"g", 10)
    long.add(8, b"part")
    assert long.metadata() == b"\x00\x01"


def test_a_peer_gets_what_it_lacks_and_nothing_else() -> None:
    parts = whole().parts_for(EVEN, most_bytes=1000)
    assert parts is not None
    assert parts.metadata == ODD
    assert parts.data == packed(1, 3, 5, 7)
    assert some([0, 2]).parts_for(EVEN, most_bytes=1000) is None


def test_who_said_nothing_gets_parts_only_eagerly() -> None:
    assert whole().parts_for(None, 1000) is None
    eager = whole(eager=True).parts_for(None, 1000)
    assert eager is not None and eager.metadata == ALL


def test_no_more_is_sent_at_once_than_asked_for_but_one_part_at_least() -> None:
    first = whole().parts_for(b"", most_bytes=len(CELLS[0]) * 2)
    assert first is not None and first.metadata == bits(0, 1)
    one = whole().parts_for(b"", most_bytes=1)
    assert one is not None and one.metadata == bits(0)


def test_parts_that_we_have_are_no_news() -> None:
    message = some([0, 2])
    assert message.take(packed(0, 2)) == Taken(False, bits(0, 2))
    assert message.take(packed(0, 1)) == Taken(True, bits(0, 1))
    assert message.missing == (3, 4, 5, 6, 7)


def test_what_came_first_is_not_replaced() -> None:
    message = some([0])
    other = PartList.whole(b"g", [b"forged"] * 8)
    parts = other.parts_for(bits(*range(1, 8)), 1000)
    assert parts is not None
    message.take(parts.data)
    assert message.parts[0] == CELLS[0]
    assert not message.add(0, b"another")


def test_a_part_that_fails_its_check_is_an_error_and_nothing_of_it_stays() -> None:
    message = PartList(b"g", 8, check=lambda index, part: part == CELLS[index])
    forged = PartList.whole(b"g", [CELLS[0], b"forged", *CELLS[2:]])
    parts = forged.parts_for(b"", 1000)
    assert parts is not None
    with pytest.raises(ValueError, match="not the true one"):
        message.take(parts.data)
    assert message.missing == tuple(range(8))
    assert message.take(packed(*range(8))).new
    assert message.complete


def test_the_data_of_a_message_with_holes_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="6 of 8 parts are missing"):
        _ = some([1, 2]).data
    assert whole().data == b"".join(CELLS)


def test_a_message_without_parts_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least one"):
        PartList(b"g", 0)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x00", b"\x00\x01a", b"\x01", b"\x01\x05abc", b"\x03\x01a", b"\x01\x01ab",
        b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x01\x80",
    ],
)  # fmt: skip
def test_bytes_that_make_no_sense_are_an_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        PartList(b"g", 8).take(data)


def test_a_part_that_is_too_large_is_an_error() -> None:
    parts = PartList.whole(b"g", [bytes(101)]).parts_for(b"", 1000)
    assert parts is not None
    with pytest.raises(ValueError, match="too large"):
        PartList(b"g", 1, largest_part=100).take(parts.data)


def test_a_bitmap_of_more_parts_than_there_are_is_an_error() -> None:
    message = PartList(b"g", 3)
    assert message.join(b"\x07", b"") == message.join(None, b"\x07\x00") == b"\x07"
    with pytest.raises(ValueError, match="more than 3 parts"):
        message.join(None, b"\x08")


@given(st.binary(max_size=100), st.integers(1, 20))
def test_any_bytes_are_parts_or_an_error(data: bytes, count: int) -> None:
    message = PartList(b"g", count)
    try:
        taken = message.take(data)
    except ValueError:
        assert message.metadata() == bytes((count + 7) // 8)
        return
    assert taken == Taken(True, message.metadata())


@given(PARTS, st.data(), st.integers(1, 100))
def test_two_halves_make_a_whole_however_they_are_cut(
    parts: list[bytes], data: st.DataObject, most_bytes: int
) -> None:
    full = PartList.whole(b"g", parts)
    other = PartList(b"g", len(parts))
    for index in data.draw(st.sets(st.integers(0, len(parts) - 1))):
        other.add(index, parts[index])
    known = other.metadata()
    for _ in range(len(parts)):
        found = full.parts_for(known, most_bytes)
        if found is None:
            break
        assert int.from_bytes(found.metadata) & int.from_bytes(known) == 0
        known = full.join(known, found.metadata)
        assert other.take(found.data) == Taken(True, found.metadata)
    assert other.complete and other.data == b"".join(parts)
    assert known == other.metadata() == full.metadata()
