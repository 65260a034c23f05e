"""The writer: batches, segments, the lock, retention, and what it does when it is ended."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from rumormill.capture.files.folder import list_segments, read_identity
from rumormill.capture.log import Bounds, SpoolError, SpoolLockedError
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing import retention
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.errors import ClosedError, ConfigError
from tests.helpers.capture.spool_records import NODE, batch, event, message, numbered, write_batches


def batches_of(folder: Path, kind: str = "messages") -> list[int]:
    """How many rows each batch has."""
    log = LocalLog(folder, kind)
    return [found.num_rows for _, found in log.read(*log.bounds())]


def test_messages_and_events_are_there_after_flush(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        for number in range(100):
            writer.message(message(number), NODE)
            writer.trace(event(number), "gossipsub")
        assert writer.flush()
        assert numbered(LocalLog(tmp_path, "messages")) == {n: n for n in range(100)}
        assert LocalLog(tmp_path, "trace").bounds() == Bounds(0, 100)
        assert writer.written == {"messages": 100, "trace": 100}
        assert writer.lost == {"messages": 0, "trace": 0}


def test_what_waits_is_written_when_the_spool_is_closed(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, SpoolParameters(linger=60)) as writer:
        for number in range(5000):
            writer.message(message(number), NODE)
    assert numbered(LocalLog(tmp_path, "messages")) == {n: n for n in range(5000)}


def test_a_record_is_there_after_the_linger_without_a_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = threading.Event()
    with SpoolWriter(tmp_path, SpoolParameters(linger=0.01)) as writer:
        lane = writer._lanes["messages"]
        write = lane.appender.append

        def append(made: pa.RecordBatch, times: tuple[int, int]) -> None:
            write(made, times)
            written.set()

        monkeypatch.setattr(lane.appender, "append", append)
        writer.message(message(0), NODE)
        assert written.wait(30)
        assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}


@pytest.mark.parametrize("ask", [SpoolWriter.flush, SpoolWriter.close])
def test_flush_and_close_do_not_wait_for_the_linger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[SpoolWriter], object]
) -> None:
    lingering = threading.Event()
    with SpoolWriter(tmp_path, SpoolParameters(linger=3600)) as writer:
        wait = writer._full.wait

        def linger(timeout: float | None = None) -> bool:
            lingering.set()
            return wait(timeout)

        monkeypatch.setattr(writer._full, "wait", linger)
        writer.message(message(0), NODE)
        assert lingering.wait(30)
        ask(writer)
        assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}


def test_a_batch_has_no_more_records_and_bytes_than_the_settings_say(tmp_path: Path) -> None:
    small = SpoolParameters(linger=60, batch_records=10, batch_bytes=20_000)
    with SpoolWriter(tmp_path, small) as writer:
        for number in range(35):
            writer.message(message(number), NODE)
        for number in range(35, 44):
            writer.message(message(number, size=5000), NODE)
    rows = batches_of(tmp_path)
    assert max(rows) == 10
    assert rows[-1] <= 3
    assert sum(rows) == 44


def test_a_new_segment_begins_after_so_many_bytes(tmp_path: Path) -> None:
    write_batches(tmp_path, [range(n, n + 10) for n in range(0, 100, 10)], 500, segment_bytes=16384)
    segments = list_segments(tmp_path / "messages")
    assert [segment.first for segment in segments] == [0, 30, 60, 90]
    assert all(segment.data.stat().st_size < 3 * 16384 for segment in segments)


def test_a_new_segment_begins_after_so_many_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.time()
    monkeypatch.setattr(time, "time", lambda: clock)
    with SpoolWriter(tmp_path, SpoolParameters(segment_age=100)) as writer:
        writer.batch("messages", batch([0]))
        writer.flush()
        clock += 99
        writer.batch("messages", batch([1]))
        writer.flush()
        clock += 2
        writer.batch("messages", batch([2]))
        writer.flush()
    assert [each.first for each in list_segments(tmp_path / "messages")] == [0, 2]


def test_a_segment_that_gets_old_is_finished_though_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.time()
    monkeypatch.setattr(time, "time", lambda: clock)
    with SpoolWriter(tmp_path, SpoolParameters(segment_age=100)) as writer:
        writer.batch("messages", batch([0]))
        writer.flush()
        clock += 101
    assert [each.first for each in list_segments(tmp_path / "messages")] == [0, 1]
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}


# ---- retention


def test_the_oldest_segments_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    write_batches(
        tmp_path, [range(n, n + 10) for n in range(0, 300, 10)], 500,
        segment_bytes=16384, retention_bytes=65536,
    )  # fmt: skip
    files = list((tmp_path / "messages").glob("0*"))
    assert 32768 < sum(file.stat().st_size for file in files) <= 65536
    log = LocalLog(tmp_path, "messages")
    bounds = log.bounds()
    assert bounds.latest == 300 and bounds.earliest > 0
    assert numbered(log) == {n: n for n in range(bounds.earliest, 300)}


def test_segments_go_when_they_are_too_old_but_never_the_one_that_is_written(
    tmp_path: Path,
) -> None:
    write_batches(tmp_path, [range(n, n + 10) for n in range(0, 100, 10)], 500, segment_bytes=16384)
    segments = list_segments(tmp_path / "messages")
    for segment in segments[:2]:
        os.utime(segment.data, (0, time.time() - 100))
    with SpoolWriter(tmp_path, SpoolParameters(retention_age=50, segment_bytes=16384)):
        pass
    assert list_segments(tmp_path / "messages") == segments[2:]
    for segment in segments[2:]:
        os.utime(segment.data, (0, time.time() - 100))
    with SpoolWriter(tmp_path, SpoolParameters(retention_age=50)):
        pass
    assert list_segments(tmp_path / "messages") == segments[-1:]
    assert LocalLog(tmp_path, "messages").bounds() == Bounds(segments[-1].first, 100)


def test_what_is_removed_leaves_no_files_behind(tmp_path: Path) -> None:
    write_batches(
        tmp_path, [range(n, n + 10) for n in range(0, 300, 10)], 500,
        segment_bytes=16384, retention_bytes=65536,
    )  # fmt: skip
    names = {path.name for path in (tmp_path / "messages").iterdir()}
    segments = list_segments(tmp_path / "messages")
    files = [file for each in segments for file in (each.data, each.index, each.topics)]
    assert names == {"marks"} | {file.name for file in files}


def test_what_is_removed_is_counted_and_told(tmp_path: Path) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    parameters = SpoolParameters(segment_bytes=16384, retention_bytes=65536)

    def listen(event: str, fields: Mapping[str, Any]) -> None:
        told.append((event, dict(fields)))

    with SpoolWriter(tmp_path, parameters, listener=listen) as writer:
        for begin in range(0, 300, 10):
            writer.batch("messages", batch(range(begin, begin + 10), 500))
    earliest = LocalLog(tmp_path, "messages").bounds().earliest
    assert {event for event, _ in told} == {"spool_trimmed"}
    assert {(each["kind"], each["reason"]) for _, each in told} == {("messages", "retention_bytes")}
    assert sum(each["count"] for _, each in told) == earliest > 0
    assert all(each["bytes"] > 0 for _, each in told)
    assert writer.removed == {"messages": earliest, "trace": 0}


def test_a_nodes_spool_is_bounded_though_nobody_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_of(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    disk_of(10**15)
    with SpoolWriter(tmp_path) as writer:
        assert writer.parameters.retention_bytes == retention.MOST_BYTES
    disk_of(4_000_000_000)
    with SpoolWriter(tmp_path) as writer:
        kept = writer.parameters.retention_bytes
        assert isinstance(kept, int) and 0 < kept - 1_000_000_000 < 10_000  # what it holds is room
    with SpoolWriter(tmp_path, SpoolParameters(retention_bytes="all")) as writer:
        assert writer.parameters.most_bytes is None
    with SpoolWriter(tmp_path, live=False) as writer:
        assert writer.parameters.most_bytes is None
    disk_of(0)
    with SpoolWriter(tmp_path / "on a full disk") as writer:
        assert writer.parameters.retention_bytes == retention.LEAST_BYTES


def test_under_overload_what_a_peer_repeats_costs_no_deliveries(tmp_path: Path) -> None:
    few = SpoolParameters(buffer_records=100, linger=60, batch_records=1000)
    flood = [event(n)._replace(event="rejected", peer="mallory") for n in range(1000)]
    honest = [event(n)._replace(peer="alice") for n in range(20)]
    with SpoolWriter(tmp_path, few) as writer:
        for each in (*flood, *honest):
            writer.trace(each, "gossipsub")
        assert writer.lost["trace"] == 950
    log = LocalLog(tmp_path, "trace")
    rows = [row for _, found in log.read(*log.bounds()) for row in found.to_pylist()]
    assert [row["event"] for row in rows].count("delivered") == 20


# ---- the lock


def test_a_second_writer_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        with pytest.raises(SpoolLockedError, match=f"{tmp_path}: process {os.getpid()} writes"):
            SpoolWriter(tmp_path)
        writer.message(message(0), NODE)
    with SpoolWriter(tmp_path):
        pass
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}


def test_another_process_is_refused_too(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from rumormill.capture.writing.writer import SpoolWriter\n"
        "SpoolWriter(sys.argv[1])\n"
    )
    with SpoolWriter(tmp_path):
        found = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
        )
    assert f"process {os.getpid()} writes to this spool" in found.stderr
    assert found.returncode == 1


def test_a_spool_keeps_its_id(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as first:
        assert len(first.spool_id) == 32
    with SpoolWriter(tmp_path) as second:
        assert second.spool_id == first.spool_id == read_identity(tmp_path).id
        assert LocalLog(tmp_path, "trace").spool_id == first.spool_id


# ---- the disk


class Synced:
    """Counts what is forced to the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.happened = threading.Event()
        monkeypatch.setattr(os, "fdatasync", self._fdatasync)

    def _fdatasync(self, descriptor: int) -> None:
        self.count += 1
        self.happened.set()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Synced:
    return Synced(monkeypatch)


def test_fsync_never_forces_no_record_to_the_disk(tmp_path: Path, synced: Synced) -> None:
    write_batches(tmp_path, [range(10), range(10, 20)], fsync="never")
    assert synced.count == 0


def test_fsync_batch_forces_every_batch_before_it_is_there_for_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_write, real_sync = os.pwrite, os.fdatasync

    def name_of(descriptor: int) -> str:
        return os.readlink(f"/proc/self/fd/{descriptor}").rpartition(".")[2]

    def pwrite(descriptor: int, content: bytes, position: int) -> int:
        order.append(f"write {name_of(descriptor)}")
        return real_write(descriptor, content, position)

    def fdatasync(descriptor: int) -> None:
        order.append(f"sync {name_of(descriptor)}")
        real_sync(descriptor)

    with SpoolWriter(tmp_path, SpoolParameters(fsync="batch")) as writer:
        writer.batch("messages", batch([0]))
        assert writer.flush()
        monkeypatch.setattr(os, "pwrite", pwrite)
        monkeypatch.setattr(os, "fdatasync", fdatasync)
        writer.batch("messages", batch([1]))
        assert writer.flush()
        written = list(order)
        monkeypatch.undo()
    assert written[:3] == ["write arrow", "sync arrow", "write index"]
    assert "sync index" in written


def test_fsync_seconds_forces_after_that_time_though_nothing_more_comes(
    tmp_path: Path, synced: Synced
) -> None:
    with SpoolWriter(tmp_path, SpoolParameters(fsync=0.05)) as writer:
        assert writer.flush()
        synced.happened.clear()
        writer.message(message(0), NODE)
        assert synced.happened.wait(30)


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SpoolError, match=r"file/spool: Not a directory|file: File exists"):
        SpoolWriter(tmp_path / "file" / "spool")


# ---- programs that are not live


def test_a_program_waits_when_it_is_faster_than_the_disk_and_loses_nothing(tmp_path: Path) -> None:
    few = SpoolParameters(buffer_records=50, batch_records=20)
    with SpoolWriter(tmp_path, few, live=False) as writer:
        for number in range(3000):
            writer.message(message(number), NODE)
            writer.trace(event(number), "gossipsub")
    assert numbered(LocalLog(tmp_path, "messages")) == {n: n for n in range(3000)}
    assert LocalLog(tmp_path, "trace").bounds() == Bounds(0, 3000)


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path, live=False)
    writer.close()
    writer.close()
    with pytest.raises(ClosedError, match="is closed"):
        writer.message(message(0), NODE)
    with pytest.raises(ClosedError, match="is closed"):
        writer.batch("messages", batch([0]))


def test_a_batch_with_other_columns_is_refused(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer, pytest.raises(ValueError, match="has other columns"):
        writer.batch("trace", batch([0]))


def test_a_program_that_forgets_to_close_loses_nothing_at_its_end(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from tests.helpers.capture.spool_records import *\n"
        "writer = SpoolWriter(sys.argv[1], SpoolParameters(linger=60))\n"
        "writer.message(message(0), NODE)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=environment)
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}
    with SpoolWriter(tmp_path) as writer:
        assert writer.recovered["messages"].next == 1


# ---- settings


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("fsync", "always", r"must be never, batch, or seconds \(got 'always'\)"),
        ("fsync", 0, "must be never, batch, or seconds"),
        ("fsync", True, "must be never, batch, or seconds"),
        ("fsync", "nan", "must be never, batch, or seconds"),
        ("retention_bytes", 100, "must be all, or bytes: a whole number, at least 16384"),
        ("retention_bytes", "much", "must be all, or bytes"),
        ("retention_age", 0, "greater than 0"),
        ("records", ["everything"], "messages"),
        ("retention", 5, r"there is no such key \(did you mean retention_age\?\)"),
    ],
)
def test_a_wrong_setting_is_named(key: str, value: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{key}.*{problem}"):
        SpoolParameters(**{key: value})


@pytest.mark.parametrize("value", ["never", "batch", 2.5, 3, "0.5"])
def test_every_policy_of_fsync_can_be_said(value: Any) -> None:
    expected = value if value in ("never", "batch") else float(str(value))
    assert SpoolParameters(fsync=value).fsync == expected


def test_rumormill_and_its_command_line_do_not_import_pyarrow() -> None:
    modules = "rumormill, rumormill.cli.app, rumormill.cli.networks.session"
    program = f"import sys, {modules}; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
