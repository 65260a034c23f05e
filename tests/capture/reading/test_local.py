"""Reading a spool in a folder."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.capture.files.folder import Marks, list_segments, write_marks
from rumormill.capture.files.index import HEADER_SIZE, RECORD_SIZE
from rumormill.capture.log import (
    Bounds,
    CorruptSegmentError,
    DataLostError,
    SpoolError,
    UnreadableError,
    read_what_is_left,
)
from rumormill.capture.open import open_log
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.appender import RESERVED_AHEAD, Appender
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.errors import ConfigError
from tests.helpers.capture.spool_records import (
    BEGIN,
    append,
    kill,
    message,
    numbered,
    offsets_and_numbers,
    write_batches,
)

TENS = [range(start, start + 10) for start in range(0, 100, 10)]
"""A hundred messages in ten batches."""


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> LocalLog:
    """A hundred messages in ten batches and some segments; not to be changed."""
    folder = tmp_path_factory.mktemp("spool") / "spool"
    write_batches(folder, TENS, size=500, segment_bytes=16_384, fsync="never")
    assert len(list_segments(folder / "messages")) > 2
    return LocalLog(folder, "messages")


@settings(max_examples=60)
@given(st.integers(0, 100), st.integers(0, 100))
def test_any_range_is_read_exactly(hundred: LocalLog, start: int, end: int) -> None:
    expected = {offset: offset for offset in range(start, end)}
    assert numbered(hundred, start, end) == expected


def test_a_batch_is_cut_to_the_range_and_says_its_first_offset(hundred: LocalLog) -> None:
    found = [(offset, batch.num_rows) for offset, batch in hundred.read(15, 33)]
    assert found == [(15, 5), (20, 10), (30, 3)]


def test_stored_batches_with_a_schema_before_them_are_a_stream(hundred: LocalLog) -> None:
    stored = list(hundred.stored(15, 33))
    assert [(each.first, each.end) for each in stored] == [(10, 20), (20, 30), (30, 40)]
    content = hundred.schema.serialize().to_pybytes() + b"".join(each.data for each in stored)
    table = pa.ipc.open_stream(content).read_all()
    assert table.column("value").to_pylist() == [message(n, 500).data for n in range(10, 40)]


def test_a_segment_is_an_arrow_stream_that_others_can_read(hundred: LocalLog) -> None:
    first = list_segments(Path(hundred.source) / "messages")[0]
    with pa.OSFile(str(first.data)) as file:
        table = pa.ipc.open_stream(file).read_all()
    assert table.column("value").to_pylist()[:2] == [message(n, 500).data for n in (0, 1)]


def test_a_log_can_be_sent_to_another_process(hundred: LocalLog) -> None:
    assert numbered(pickle.loads(pickle.dumps(hundred)), 5, 7) == {5: 5, 6: 6}


def test_records_that_are_not_there_yet_are_an_error(hundred: LocalLog) -> None:
    with pytest.raises(DataLostError, match="messages 100 to 104: there are none yet") as caught:
        list(hundred.read(90, 105))
    assert (caught.value.start, caught.value.end) == (100, 105)


# ---- times


def test_an_offset_is_found_by_time_and_never_too_late(hundred: LocalLog) -> None:
    begin = int(BEGIN * 1e6)
    for number in range(100):
        offset = hundred.offset_at(begin + 1_000_000 * number)
        assert offset == 10 * (number // 10)
    assert hundred.offset_at(0) == 0
    assert hundred.offset_at(begin + 99_000_001) == 100


def test_times_that_go_back_are_found_too(tmp_path: Path) -> None:
    write_batches(tmp_path, [[50, 51], [3, 4], [60, 61], [7, 8]], segment_bytes=4096)
    log = LocalLog(tmp_path, "messages")
    found = [log.offset_at(int((BEGIN + second) * 1e6)) for second in (0, 5, 51, 52, 61, 62)]
    assert found == [0, 0, 0, 4, 4, 8]


# ---- what is gone


def test_what_retention_removed_is_an_error_that_says_where_to_go_on(tmp_path: Path) -> None:
    few = SpoolParameters(segment_bytes=4096, retention_bytes=20_000)
    write_batches(tmp_path, TENS, size=500, segment_bytes=4096)
    with SpoolWriter(tmp_path, few):
        pass  # it looks for what is too much
    log = LocalLog(tmp_path, "messages")
    earliest = log.bounds().earliest
    assert 0 < earliest < 100 and earliest % 10 == 0
    with pytest.raises(DataLostError, match=f"0 to {earliest - 1}: removed by retention") as caught:
        list(log.read(0, 100))
    assert (caught.value.start, caught.value.end) == (0, earliest)
    assert str(tmp_path) in str(caught.value)
    lost: list[UnreadableError] = []
    left = dict(offsets_and_numbers(read_what_is_left(log, 0, 100, lost.append)))
    assert left == {offset: offset for offset in range(earliest, 100)}
    assert [(each.start, each.end) for each in lost] == [(0, earliest)]


def test_a_segment_that_is_removed_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    write_batches(tmp_path, TENS, size=500, segment_bytes=16_384)
    log = LocalLog(tmp_path, "messages")
    batches = log.read(0, 100)
    next(batches)
    first, second, *_ = list_segments(tmp_path / "messages")
    first.index.unlink()
    first.data.unlink()
    assert len(dict(offsets_and_numbers(batches))) == 90
    with pytest.raises(DataLostError, match=f"the first that is left is {second.first}"):
        list(log.read(0, 100))


def test_a_segment_that_is_removed_between_looking_and_reading_is_lost_not_corrupt(
    tmp_path: Path,
) -> None:
    write_batches(tmp_path, TENS, size=500, segment_bytes=16_384)
    first, second, third, *_ = list_segments(tmp_path / "messages")
    batches = LocalLog(tmp_path, "messages").read(0, 100)
    for _ in range(first.first, second.first, 10):
        next(batches)
    for segment in (first, second):
        segment.index.unlink()
        segment.data.unlink()
    with pytest.raises(DataLostError) as caught:
        next(batches)
    assert (caught.value.start, caught.value.end) == (second.first, third.first)


def test_a_lost_segment_in_the_middle_is_corrupt_and_named(tmp_path: Path) -> None:
    write_batches(tmp_path, TENS, size=500, segment_bytes=16_384)
    first, second, third, *_ = list_segments(tmp_path / "messages")
    second.index.unlink()
    log = LocalLog(tmp_path, "messages")
    with pytest.raises(CorruptSegmentError) as caught:
        list(log.read(0, 100))
    assert (caught.value.start, caught.value.end) == (second.first, third.first)
    assert caught.value.file == str(first.index)


def test_a_missing_data_file_is_corrupt_and_named(tmp_path: Path) -> None:
    write_batches(tmp_path, TENS, size=500, segment_bytes=16_384)
    _, second, third, *_ = list_segments(tmp_path / "messages")
    second.data.unlink()
    with pytest.raises(CorruptSegmentError, match="cannot be opened: No such file") as caught:
        list(LocalLog(tmp_path, "messages").read(0, 100))
    assert (caught.value.start, caught.value.end) == (second.first, third.first)
    assert caught.value.file == str(second.data)


# ---- gaps


def test_a_gap_after_an_unclean_end_is_passed_over_without_an_error(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    writer.message(message(0), "node")
    kill(writer)
    write_batches(tmp_path, [[1, 2]])
    log = LocalLog(tmp_path, "messages")
    after = 1 + RESERVED_AHEAD
    assert log.bounds() == Bounds(0, after + 2)
    assert numbered(log) == {0: 0, after: 1, after + 1: 2}
    assert numbered(log, 1, after) == {}
    assert numbered(log, 500, after + 1) == {after: 1}


# ---- a spool that is being written


def test_only_whole_batches_of_a_writer_at_work_are_there(tmp_path: Path) -> None:
    appender = Appender(tmp_path, "messages", SpoolParameters())
    (tmp_path / "spool.json").write_text('{"format": 1, "id": "a", "created": 0}')
    append(appender, range(5))
    append(appender, range(5, 10))
    (segment,) = list_segments(tmp_path / "messages")
    log = LocalLog(tmp_path, "messages")
    whole = segment.index.read_bytes()
    os.truncate(segment.index, len(whole) - 1)  # as if its last byte were still to come
    assert log.bounds() == Bounds(0, 5)
    assert numbered(log) == {number: number for number in range(5)}
    segment.index.write_bytes(whole)
    assert log.bounds() == Bounds(0, 10)
    appender.close()


def test_a_new_spool_is_empty(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path):
        for kind in ("messages", "trace"):
            log = LocalLog(tmp_path, kind)
            assert log.bounds() == Bounds(0, 0)
            assert list(log.read(0, 0)) == []
            assert log.offset_at(0) == 0


# ---- damage


def test_an_index_that_was_cut_after_a_clean_end_hides_nothing(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10), range(10, 20)])
    (segment,) = list_segments(tmp_path / "messages")
    os.truncate(segment.index, segment.index.stat().st_size - RECORD_SIZE)
    log = LocalLog(tmp_path, "messages")
    assert log.bounds() == Bounds(0, 20)
    with pytest.raises(CorruptSegmentError, match="it ends at 10, though more was") as caught:
        numbered(log)
    assert (caught.value.start, caught.value.end, caught.value.file) == (10, 20, str(segment.index))


def test_a_damaged_record_costs_its_own_batch_only(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10), range(10, 20), range(20, 30)])
    (segment,) = list_segments(tmp_path / "messages")
    with segment.index.open("r+b") as file:
        file.seek(HEADER_SIZE + RECORD_SIZE + 5)
        file.write(b"?")
    log = LocalLog(tmp_path, "messages")
    lost: list[UnreadableError] = []
    left = dict(offsets_and_numbers(read_what_is_left(log, 0, 30, lost.append)))
    assert left == {number: number for number in [*range(10), *range(20, 30)]}
    (error,) = lost
    assert isinstance(error, CorruptSegmentError)
    assert (error.start, error.end, error.file) == (10, 20, str(segment.index))
    assert numbered(log, 25) == {number: number for number in range(25, 30)}
    assert log.offset_at(int((BEGIN + 25) * 1e6)) <= 20


# ---- what is no spool


def test_a_folder_without_a_spool_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match=f"{tmp_path}: there is no spool in this folder"):
        open_log(tmp_path, "messages")


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format": 1}', '{"format": "x", "id": "", "created": 0}']
)
def test_a_broken_identity_is_told_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "spool.json").write_text(content)
    with pytest.raises(SpoolError, match=r"spool.json: this is not what"):
        open_log(tmp_path, "messages")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spool.json").write_text(json.dumps({"format": 2, "id": "a", "created": 0}))
    with pytest.raises(SpoolError, match="a spool of format 2, this rumormill knows 1"):
        open_log(tmp_path, "messages")


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="kind: must be one of messages, trace, not 'events'"):
        open_log(tmp_path, "events")


def test_marks_that_are_behind_do_not_hide_records(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10)])
    write_marks(tmp_path / "messages", Marks(5, 5))
    assert LocalLog(tmp_path, "messages").bounds() == Bounds(0, 10)
