"""A13: whatever becomes of an index, its closed segment is not shortened and all of it is read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rumormill.capture.files.folder import Segment, list_segments
from rumormill.capture.files.index import HEADER_SIZE, RECORD_SIZE
from rumormill.capture.log import CorruptSegmentError, UnreadableError, read_what_is_left
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.recovery import MADE_ANEW
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import (
    BEGIN,
    NODE,
    event,
    kill,
    message,
    numbered,
    offsets_and_numbers,
    write_batches,
)

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
PARAMETERS = SpoolParameters(fsync="never", segment_bytes=4096)


def make(folder: Path) -> dict[int, int]:
    """Several segments of some batches, with a gap between two of them; closed in the end."""
    writer = SpoolWriter(folder, PARAMETERS)
    for start in (0, 5, 10, 15):
        for number in range(start, start + 5):
            writer.message(message(number, 300), NODE)
        writer.flush()
    kill(writer)
    batches = [range(start, start + 4) for start in (20, 24, 28, 32)]
    write_batches(folder, batches, size=300, segment_bytes=4096)
    assert len(list_segments(folder / "messages")) >= 4
    return numbered(LocalLog(folder, "messages"))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, int]]:
    folder = tmp_path_factory.mktemp("sample")
    rows = make(folder)
    assert list(rows.values()) == list(range(36))
    return folder, rows


def flipped(content: bytes, bits: set[int]) -> bytes:
    changed = bytearray(content)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def written_over(content: bytes, rubbish: bytes, place: int) -> bytes:
    return content[:place] + rubbish + content[place + len(rubbish) :]


def with_a_hole(content: bytes, first: int, last: int) -> bytes:
    """As of a writer that goes on behind what was cut away under it."""
    return content[:first] + bytes(max(0, last - first)) + content[max(first, last) :]


@st.composite
def damages(draw: st.DrawFn, content: bytes) -> bytes | None:
    """The index after any accident; None: it is gone."""
    size = len(content)
    accident = draw(st.sampled_from(["gone", "cut", "flipped", "rubbish", "written over", "hole"]))
    if accident == "gone":
        return None
    if accident == "cut":
        return content[: draw(st.integers(0, size - 1))]
    if accident == "flipped":
        return flipped(content, draw(st.sets(st.integers(0, 8 * size - 1), min_size=1)))
    if accident == "rubbish":
        return draw(st.binary(max_size=300))
    place = draw(st.integers(0, size - 1))
    if accident == "written over":
        return written_over(content, draw(st.binary(min_size=1, max_size=100)), place)
    return with_a_hole(content, place, draw(st.integers(place, size)))


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a13_any_damage_to_indexes_costs_no_record_and_no_byte_of_a_closed_segment(
    sample: tuple[Path, dict[int, int]], data: st.DataObject
) -> None:
    folder, rows = sample
    with tempfile.TemporaryDirectory(dir=MEMORY) as target:
        here = Path(shutil.copytree(folder, target, dirs_exist_ok=True))
        segments = list_segments(here / "messages")
        contents = [segment.data.read_bytes() for segment in segments]
        chosen = data.draw(st.sets(st.integers(0, len(segments) - 1), min_size=1))
        for segment in [segments[number] for number in sorted(chosen)]:
            damaged = data.draw(damages(segment.index.read_bytes()))
            if damaged is None:
                segment.index.unlink()
            else:
                segment.index.write_bytes(damaged)
        with SpoolWriter(here, PARAMETERS) as writer:
            found = writer.recovered["messages"]
            assert all((cut.bytes, cut.rows, cut.reason) == (0, 0, MADE_ANEW) for cut in found.cuts)
            writer.message(message(99, 300), NODE)
        log = LocalLog(here, "messages")
        after = numbered(log)
        assert list(after.values()) == [*rows.values(), 99]
        assert after.items() >= rows.items()
        for segment, content in zip(segments, contents, strict=True):
            assert segment.data.read_bytes()[: len(content)] == content
        for number in (0, 13, 22, 35):  # searches by time never come too late
            assert rows[min(numbered(log, log.offset_at(int((BEGIN + number) * 1e6))))] <= number


def cut_to_nothing(segment: Segment) -> None:
    os.truncate(segment.index, 0)


def cut_within_a_record(segment: Segment) -> None:
    os.truncate(segment.index, HEADER_SIZE + RECORD_SIZE + 7)


def cut_behind_a_record(segment: Segment) -> None:
    os.truncate(segment.index, HEADER_SIZE + RECORD_SIZE)


def removed(segment: Segment) -> None:
    segment.index.unlink()


def rubbish(segment: Segment) -> None:
    segment.index.write_bytes(b"rubbish" * 100)


accidents = pytest.mark.parametrize(
    "accident", [cut_to_nothing, cut_within_a_record, cut_behind_a_record, removed, rubbish]
)


@accidents
@pytest.mark.parametrize("kind", ["messages", "trace"])
def test_a13_an_index_damaged_after_the_end_is_made_anew_and_told(
    tmp_path: Path, accident: Callable[[Segment], None], kind: str
) -> None:
    with SpoolWriter(tmp_path) as writer:
        for number in range(50):
            writer.message(message(number), NODE)
            writer.trace(event(number), "gossipsub")
            if number % 10 == 9:
                writer.flush()
    (segment,) = list_segments(tmp_path / kind)
    whole, data = segment.index.read_bytes(), segment.data.read_bytes()
    accident(segment)
    with SpoolWriter(tmp_path) as writer:
        (told,) = writer.recovered[kind].cuts
    assert (told.file, told.bytes, told.rows, told.reason) == (str(segment.index), 0, 0, MADE_ANEW)
    assert segment.data.read_bytes() == data
    # But for what only the header knew, it is what it was.
    assert segment.index.read_bytes()[HEADER_SIZE:] == whole[HEADER_SIZE:]
    log = LocalLog(tmp_path, kind)
    assert sum(batch.num_rows for _, batch in log.read(*log.bounds())) == 50
    with SpoolWriter(tmp_path) as writer:
        assert writer.recovered[kind].cuts == ()


def test_an_index_of_a_segment_that_is_not_the_last_is_mended_after_a_kill_too(
    tmp_path: Path,
) -> None:
    writer = SpoolWriter(tmp_path, PARAMETERS)
    for start in range(0, 30, 5):
        for number in range(start, start + 5):
            writer.message(message(number, 300), NODE)
        writer.flush()
    kill(writer)
    first, *_, last = list_segments(tmp_path / "messages")
    first.index.unlink()
    with SpoolWriter(tmp_path, PARAMETERS) as writer:
        (told,) = writer.recovered["messages"].cuts
    assert told.file == str(first.index) and first != last
    assert list(numbered(LocalLog(tmp_path, "messages")).values()) == list(range(30))


def test_where_the_segment_is_damaged_too_only_that_batch_is_lost_and_named(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10), range(10, 20), range(20, 30)])
    (segment,) = list_segments(tmp_path / "messages")
    index, data = bytearray(segment.index.read_bytes()), bytearray(segment.data.read_bytes())
    second = HEADER_SIZE + RECORD_SIZE
    begin = int.from_bytes(index[HEADER_SIZE + 8 : HEADER_SIZE + 16], "little")
    index[second : second + RECORD_SIZE] = b"x" * RECORD_SIZE
    data[begin : begin + 400] = b"x" * 400
    segment.index.write_bytes(index)
    segment.data.write_bytes(data)
    for _ in range(2):
        with SpoolWriter(tmp_path, PARAMETERS):
            pass
        log = LocalLog(tmp_path, "messages")
        errors: list[UnreadableError] = []
        rows = dict(offsets_and_numbers(read_what_is_left(log, *log.bounds(), errors.append)))
        assert list(rows) == [*range(10), *range(20, 30)] == list(rows.values())
        assert [(each.start, each.end) for each in errors] == [(10, 20)]
        assert segment.data.read_bytes() == data


def test_a_batch_that_was_changed_is_not_taken_for_true_because_its_index_is_mended(
    tmp_path: Path,
) -> None:
    write_batches(tmp_path, [range(10), range(10, 20), range(20, 30)], size=100)
    (segment,) = list_segments(tmp_path / "messages")
    data = segment.data.read_bytes()
    segment.data.write_bytes(data[:-200] + b"forged" + data[-194:])
    index = segment.index.read_bytes()
    segment.index.write_bytes(written_over(index, b"rubbish", HEADER_SIZE))
    with SpoolWriter(tmp_path, PARAMETERS) as writer:
        assert [each.reason for each in writer.recovered["messages"].cuts] == [MADE_ANEW]
    assert segment.index.read_bytes() == index
    with pytest.raises(CorruptSegmentError, match="batch 2 has another checksum"):
        numbered(LocalLog(tmp_path, "messages"))


def test_a_length_that_was_damaged_asks_for_no_memory(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(10)])
    (segment,) = list_segments(tmp_path / "messages")
    size = int.from_bytes(segment.index.read_bytes()[48:56], "little")
    data = segment.data.read_bytes()
    segment.data.write_bytes(data[:size] + b"\xff\xff\xff\xff\xff\xff\xff\x7f" + data[size + 8 :])
    segment.index.unlink()
    with SpoolWriter(tmp_path, PARAMETERS) as writer:
        assert sum(each.rows for each in writer.recovered["messages"].cuts) == 10
    assert pa.default_memory_pool().max_memory() < 1 << 30
