"""Any bit flipped, any file cut anywhere: exact rows or an error that names the file, never others.

And a writer opens every such spool, goes on, and contradicts nothing that a reader saw.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rumormill.capture.log import UnreadableError, read_what_is_left
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import kill, message, offsets_and_numbers, write_batches

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where there is a disk in memory, hundreds of spools need not wait for a real one."""

PARAMETERS = SpoolParameters(fsync="never", segment_bytes=4096)


def make(folder: Path, *, clean: bool) -> dict[int, int]:
    """Some segments with some batches, perhaps with a gap; returns what is in them."""
    write_batches(folder, [range(0, 7), range(7, 9)], size=300, segment_bytes=4096)
    writer = SpoolWriter(folder, PARAMETERS)
    for start in (9, 14, 19, 24):
        for number in range(start, start + 5):
            writer.message(message(number, 300), "node")
        writer.flush()
    if clean:
        writer.close()
    else:
        kill(writer)
        second = SpoolWriter(folder, PARAMETERS)
        for number in range(29, 34):
            second.message(message(number, 300), "node")
        kill(second)
    rows = dict(offsets_and_numbers(read_all(folder, [])))
    assert list(rows.values()) == list(range(29 if clean else 34))
    return rows


def read_all(folder: Path, errors: list[UnreadableError]) -> Iterator[tuple[int, pa.RecordBatch]]:
    log = LocalLog(folder, "messages")
    return read_what_is_left(log, *log.bounds(), errors.append)


class Sample:
    """A spool to be copied and damaged."""

    def __init__(self, folder: Path, clean: bool) -> None:
        self.folder = folder
        self.rows = make(folder, clean=clean)
        self.files = sorted((folder / "messages").glob("0*"))
        assert len(self.files) >= 6

    def copy(self, target: str) -> Path:
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return Path(target)


@pytest.fixture(scope="module", params=["clean", "unclean"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return Sample(tmp_path_factory.mktemp("sample"), request.param == "clean")


def check(sample: Sample, folder: Path, damaged: Path) -> None:
    """Read, write, read: nothing but exact rows, and errors with names."""
    errors: list[UnreadableError] = []
    before = dict(offsets_and_numbers(read_all(folder, errors)))
    assert before.items() <= sample.rows.items()
    lost = {offset for error in errors for offset in range(error.start, error.end)}
    assert not lost & before.keys()
    for error in errors:
        assert error.start < error.end
        if error.file is not None:  # it is the one, or the one next to it which misses it
            assert Path(error.file).parent == damaged.parent
    with SpoolWriter(folder, PARAMETERS) as writer:
        writer.message(message(1000, 300), "node")
        assert writer.flush()
    after = dict(offsets_and_numbers(read_all(folder, [])))
    new = max(after)
    assert after.pop(new) == 1000
    # Behind everything that anybody can have seen, before the damage or after it.
    assert new > max(sample.rows)
    assert after.items() <= sample.rows.items()
    # Recovery may cut off what no reader could read, and nothing else.
    assert before.keys() <= after.keys()


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_flipped_bit_never_gives_wrong_rows(sample: Sample, data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(sample.files))
    bit = data.draw(st.integers(0, 8 * file.stat().st_size - 1))
    with tempfile.TemporaryDirectory(dir=MEMORY) as target:
        folder = sample.copy(target)
        damaged = folder / "messages" / file.name
        content = bytearray(damaged.read_bytes())
        content[bit // 8] ^= 1 << bit % 8
        damaged.write_bytes(content)
        check(sample, folder, damaged)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_cut_anywhere_never_gives_wrong_rows(sample: Sample, data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(sample.files))
    size = data.draw(st.integers(0, file.stat().st_size - 1))
    with tempfile.TemporaryDirectory(dir=MEMORY) as target:
        folder = sample.copy(target)
        damaged = folder / "messages" / file.name
        damaged.write_bytes(damaged.read_bytes()[:size])
        check(sample, folder, damaged)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_that_is_gone_or_holds_rubbish_never_gives_wrong_rows(
    sample: Sample, data: st.DataObject
) -> None:
    file = data.draw(st.sampled_from(sample.files))
    rubbish = data.draw(st.none() | st.binary(max_size=200))
    with tempfile.TemporaryDirectory(dir=MEMORY) as target:
        folder = sample.copy(target)
        damaged = folder / "messages" / file.name
        if rubbish is None:
            damaged.unlink()
        else:
            damaged.write_bytes(rubbish)
        check(sample, folder, damaged)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_marks_cost_no_rows_and_no_offset_twice(
    sample: Sample, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as target:
        folder = sample.copy(target)
        marks = folder / "messages" / "marks"
        content = bytearray(marks.read_bytes())
        bit = data.draw(st.integers(0, 8 * len(content) - 1))
        content[bit // 8] ^= 1 << bit % 8
        marks.write_bytes(content[: data.draw(st.integers(1, len(content)))])
        assert dict(offsets_and_numbers(read_all(folder, []))) == sample.rows
        check(sample, folder, marks)
