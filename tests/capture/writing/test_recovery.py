"""What a writer finds and cuts off after an unclean end, and which offsets it goes on with."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rumormill.capture.files.folder import Marks, Segment, list_segments, read_marks, write_marks
from rumormill.capture.files.index import HEADER_SIZE, RECORD_SIZE
from rumormill.capture.log import CorruptSegmentError
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.appender import RESERVED_AHEAD, Appender
from rumormill.capture.writing.recovery import UNKNOWN_STEP
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import (
    append,
    batch,
    kill,
    message,
    number_of,
    numbered,
    write_batches,
)

PARAMETERS = SpoolParameters(fsync="never")


@pytest.fixture
def torn(tmp_path: Path) -> Segment:
    """Three batches of ten messages, by a writer that was killed."""
    writer = SpoolWriter(tmp_path, PARAMETERS)
    for start in (0, 10, 20):
        for number in range(start, start + 10):
            writer.message(message(number, 100), "node")
        writer.flush()
    kill(writer)
    (segment,) = list_segments(tmp_path / "messages")
    assert numbered(LocalLog(tmp_path, "messages")) == {n: n for n in range(30)}
    return segment


def data_beyond_the_index(segment: Segment) -> None:
    with segment.data.open("ab") as file:
        file.write(b"half a batch")


def index_beyond_the_data(segment: Segment) -> None:
    os.truncate(segment.data, segment.data.stat().st_size - 1)


def half_an_index_record(segment: Segment) -> None:
    os.truncate(segment.index, segment.index.stat().st_size - RECORD_SIZE // 2)


def a_wrong_checksum(segment: Segment) -> None:
    with segment.data.open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"flipped")


def zeros_for_the_index_record(segment: Segment) -> None:
    with segment.index.open("r+b") as file:
        file.seek(-RECORD_SIZE, os.SEEK_END)
        file.write(bytes(RECORD_SIZE))


def zeros_for_the_data(segment: Segment) -> None:
    size = segment.data.stat().st_size
    os.truncate(segment.data, size - 1500)
    os.truncate(segment.data, size)


@pytest.mark.parametrize(
    ("tear", "left", "rows"),
    [
        (data_beyond_the_index, 30, 0),
        (index_beyond_the_data, 20, 10),
        (half_an_index_record, 20, 0),
        (a_wrong_checksum, 20, 10),
        (zeros_for_the_index_record, 20, 0),
        (zeros_for_the_data, 20, 10),
    ],
)
def test_a_torn_tail_is_cut_off_at_the_last_whole_batch_and_reported(
    torn: Segment, tear: Callable[[Segment], None], left: int, rows: int
) -> None:
    tear(torn)
    size = torn.data.stat().st_size + torn.index.stat().st_size
    folder = torn.folder.parent
    with SpoolWriter(folder, PARAMETERS) as writer:
        (cut,) = writer.recovered["messages"].cuts
        assert writer.recovered["trace"].cuts == ()
        writer.message(message(99), "node")
    assert cut.file == str(torn.data)
    assert (cut.rows, cut.reason) == (rows, "the tail is torn")
    assert cut.bytes == size - torn.data.stat().st_size - torn.index.stat().st_size
    assert torn.index.stat().st_size == HEADER_SIZE + RECORD_SIZE * left // 10
    # Nothing was given out twice: the new record is behind all that may have been seen.
    after = 10 + RESERVED_AHEAD
    expected = {number: number for number in range(left)} | {after: 99}
    assert numbered(LocalLog(folder, "messages")) == expected


def test_after_kill_nothing_that_was_written_is_lost_and_offsets_go_on_behind_a_gap(
    torn: Segment,
) -> None:
    folder = torn.folder.parent
    with SpoolWriter(folder, PARAMETERS) as writer:
        found = writer.recovered["messages"]
        assert found.cuts == ()
        assert (found.previous_end, found.next) == (30, 10 + RESERVED_AHEAD)


def test_a_clean_end_leaves_no_gap(tmp_path: Path) -> None:
    for start in (0, 10, 20):
        write_batches(tmp_path, [range(start, start + 10)])
    log = LocalLog(tmp_path, "messages")
    assert numbered(log) == {number: number for number in range(30)}
    assert len(list_segments(tmp_path / "messages")) == 1
    marks = read_marks(tmp_path / "messages")
    assert marks is not None and marks == (30, 30)


def test_a_writer_that_is_killed_before_it_wrote_leaves_no_gap(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10)])
    for _ in range(3):
        kill(SpoolWriter(tmp_path, PARAMETERS))
    write_batches(tmp_path, [range(10, 20)])
    assert numbered(LocalLog(tmp_path, "messages")) == {number: number for number in range(20)}


def test_writers_that_are_killed_again_and_again_leave_no_empty_segments(tmp_path: Path) -> None:
    for number in range(5):
        writer = SpoolWriter(tmp_path, PARAMETERS)
        writer.batch("messages", batch([number]))
        kill(writer)
    for _ in range(5):
        kill(SpoolWriter(tmp_path, PARAMETERS))
    rows = numbered(LocalLog(tmp_path, "messages"))
    assert list(rows.values()) == [0, 1, 2, 3, 4]
    assert len(list_segments(tmp_path / "messages")) <= 6


def test_an_empty_segment_is_replaced_when_offsets_behind_it_may_have_been_given_out(
    torn: Segment,
) -> None:
    folder = torn.folder.parent
    kill(SpoolWriter(folder, PARAMETERS))  # it made a segment behind the gap
    empty = list_segments(torn.folder)[-1]
    assert empty.first == 10 + RESERVED_AHEAD
    write_marks(torn.folder, Marks(empty.first + 500, None))  # killed when it had just reserved
    write_batches(folder, [[99]])
    assert [each.first for each in list_segments(torn.folder)] == [0, empty.first + 500]
    assert numbered(LocalLog(folder, "messages"), 30) == {empty.first + 500: 99}


def test_records_that_were_seen_and_lost_with_the_power_are_never_contradicted(
    torn: Segment,
) -> None:
    folder = torn.folder.parent
    seen = numbered(LocalLog(folder, "messages"))
    # The disk never got the last two batches, nor their records in the index.
    os.truncate(torn.index, HEADER_SIZE + RECORD_SIZE)
    write_batches(folder, [range(100, 110)])
    log = LocalLog(folder, "messages")
    now = numbered(log)
    assert all(seen.get(offset, number) == number for offset, number in now.items())
    assert list(now.values()) == [*range(10), *range(100, 110)]
    # Who had read up to 30 goes on from there, and misses nothing that is there.
    assert list(numbered(log, 30).values()) == list(range(100, 110))


def test_without_marks_offsets_go_on_far_behind_everything(torn: Segment) -> None:
    (torn.folder / "marks").write_bytes(b"{}")
    folder = torn.folder.parent
    write_batches(folder, [[99]])
    assert numbered(LocalLog(folder, "messages"), 30) == {30 + UNKNOWN_STEP: 99}


def test_a_segment_with_a_torn_index_is_cut_off_whole(tmp_path: Path) -> None:
    appender = Appender(tmp_path, "messages", SpoolParameters(segment_bytes=4096, fsync="never"))
    (tmp_path / "spool.json").write_text('{"format": 1, "id": "a", "created": 0}')
    append(appender, range(10), size=500)
    append(appender, range(10, 20), size=500)
    appender._segment.close()
    first, second = list_segments(tmp_path / "messages")
    os.truncate(second.index, HEADER_SIZE - 1)
    size = sum(file.stat().st_size for file in (second.index, second.data, second.topics))
    again = Appender(tmp_path, "messages", SpoolParameters(fsync="never"))
    (cut,) = again.recovered.cuts
    assert (cut.file, cut.bytes, cut.reason) == (str(second.data), size, "the index is torn")
    assert again.recovered.previous_end == 10
    again.close()
    assert not second.data.exists() and first.data.exists()
    assert numbered(LocalLog(tmp_path, "messages")) == {number: number for number in range(10)}


def test_a_segment_that_never_got_an_index_is_removed_and_reported(torn: Segment) -> None:
    orphan = Segment(torn.folder, 30)
    orphan.data.write_bytes(b"a beginning")
    orphan.index.with_suffix(".new").write_bytes(b"a beginning")
    (orphan.folder / ".marks.only.new").write_bytes(b"a beginning")
    with SpoolWriter(torn.folder.parent, PARAMETERS) as writer:
        (cut,) = writer.recovered["messages"].cuts
    assert (cut.file, cut.bytes, cut.reason) == (str(orphan.data), 11, "there is no index")
    assert not orphan.data.exists() and not list(torn.folder.glob("*.new"))


def test_what_retention_left_half_removed_is_removed(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10), range(10, 20)], size=500, segment_bytes=4096)
    first, *others = list_segments(tmp_path / "messages")
    first.index.rename(first.index.with_suffix(".removed"))  # killed when it had just begun
    with SpoolWriter(tmp_path, PARAMETERS) as writer:
        assert writer.recovered["messages"].cuts == ()
    assert list_segments(tmp_path / "messages") == others != []
    assert not first.data.exists() and not list(first.folder.glob("*.removed"))


def test_a_batch_that_was_damaged_after_a_clean_end_stays_named(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10), range(10, 20)])
    (segment,) = list_segments(tmp_path / "messages")
    a_wrong_checksum(segment)
    write_batches(tmp_path, [range(20, 30)])
    log = LocalLog(tmp_path, "messages")
    with pytest.raises(CorruptSegmentError, match="batch 1 has another checksum") as caught:
        numbered(log)
    assert (caught.value.start, caught.value.end, caught.value.file) == (10, 20, str(segment.data))
    assert list(numbered(log, 20)) == list(range(20, 30))


def test_recovery_keeps_times_in_order_for_searches(torn: Segment) -> None:
    a_wrong_checksum(torn)
    folder = torn.folder.parent
    write_batches(folder, [[25, 26]])
    log = LocalLog(folder, "messages")
    rows = [row for _, found in log.read(*log.bounds()) for row in found.to_pylist()]
    for row in rows:
        micros = int(row["timestamp"].timestamp() * 1e6)
        found = log.offset_at(micros)
        first = next(iter(numbered(log, found).values()))
        assert first <= number_of(row)
