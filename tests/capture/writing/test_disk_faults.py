"""A disk that is full or fails costs records, never the node; what it costs is counted and told."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rumormill.capture.files.folder import Identity, list_segments, write_identity
from rumormill.capture.log import SpoolError
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.appender import Appender
from rumormill.capture.writing.lane import Lane
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import NODE, append, message, numbered
from tests.helpers.capture.told import Told

FEW = SpoolParameters(buffer_records=20, batch_records=10, linger=0.001, fsync="never")


class Disk:
    """The system's calls, some of which can be made to fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: int | None = None
        self.call = "pwrite"
        self.half = False
        """Whether half of what is written gets through before the error."""
        for name in ("pwrite", "fdatasync", "ftruncate", "rename"):
            monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name)))

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self.error is None or self.call != name:
                return real(*arguments)
            if self.half and name == "pwrite" and len(arguments[1]) > 1:
                return real(arguments[0], arguments[1][: len(arguments[1]) // 2], arguments[2])
            raise OSError(self.error, os.strerror(self.error))

        return call


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def writer(tmp_path: Path, told: Told, disk: Disk) -> Iterator[SpoolWriter]:
    """A spool with one message in it."""
    with SpoolWriter(tmp_path, FEW, listener=told) as writer:
        writer.message(message(0), NODE)
        assert writer.flush()
        yield writer
        disk.error = None


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EIO, "disk_error"),
    ],
)
def test_a_full_or_failing_disk_is_told_counted_and_got_over(
    writer: SpoolWriter, disk: Disk, told: Told, tmp_path: Path, error: int, reason: str, half: bool
) -> None:
    disk.error, disk.half = error, half
    for number in range(1, 101):
        writer.message(message(number), NODE)
        if number == 10:
            assert told.wait_for("spool_failed")["reason"] == reason
    lost = writer.lost["messages"]
    assert 60 <= lost < 100  # at most the batch at hand and a full buffer wait
    assert not writer.flush()
    disk.error = None
    assert told.wait_for("spool_resumed")["kind"] == "messages"
    assert told.wait_for("dropped") == {
        "what": "captured_message", "reason": reason, "count": lost,
    }  # fmt: skip
    assert writer.flush()  # only then is there room for one more, surely
    writer.message(message(1000), NODE)
    assert writer.flush()
    assert told.names == ["spool_failed", "dropped", "spool_resumed"]
    rows = numbered(LocalLog(tmp_path, "messages"))
    assert list(rows) == list(range(len(rows)))
    assert list(rows.values()) == [*range(101 - lost), 1000]
    assert writer.written["messages"] + lost == 102


def test_what_was_half_written_is_cut_off(
    writer: SpoolWriter, disk: Disk, tmp_path: Path, told: Told
) -> None:
    (segment,) = list_segments(tmp_path / "messages")
    sizes = segment.data.stat().st_size, segment.index.stat().st_size
    disk.error, disk.half = errno.ENOSPC, True
    writer.message(message(1), NODE)
    told.wait_for("spool_failed")
    assert (segment.data.stat().st_size, segment.index.stat().st_size) == sizes
    disk.error = None
    told.wait_for("spool_resumed")
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0, 1: 1}
    assert list_segments(tmp_path / "messages") == [segment]


def test_where_even_cutting_off_fails_a_new_segment_is_begun(
    tmp_path: Path, disk: Disk, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SpoolWriter(tmp_path, FEW, listener=told) as writer:
        writer.message(message(0), NODE)
        assert writer.flush()

        def no_truncate(descriptor: int, size: int) -> None:
            raise OSError(errno.EIO, "no")

        monkeypatch.setattr(os, "ftruncate", no_truncate)
        disk.error, disk.half = errno.EIO, True
        writer.message(message(1), NODE)
        told.wait_for("spool_failed")
        disk.error = None
        told.wait_for("spool_resumed")
        assert [each.first for each in list_segments(tmp_path / "messages")] == [0, 1]
        assert numbered(LocalLog(tmp_path, "messages")) == {0: 0, 1: 1}
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0, 1: 1}


@pytest.mark.parametrize("call", ["pwrite", "rename"])
def test_a_new_segment_that_finds_no_room_leaves_nothing_behind(
    tmp_path: Path, disk: Disk, call: str
) -> None:
    appender = Appender(tmp_path, "messages", SpoolParameters(segment_bytes=4096, fsync="never"))
    append(appender, range(5), size=2000)
    names = sorted((tmp_path / "messages").iterdir())
    disk.error, disk.call, disk.half = errno.ENOSPC, call, True
    with pytest.raises(OSError, match="No space left"):
        append(appender, range(5, 10), size=2000)
    assert sorted((tmp_path / "messages").iterdir()) == names
    disk.error = None
    append(appender, range(5, 10), size=2000)
    appender.close()
    assert [each.first for each in list_segments(tmp_path / "messages")] == [0, 5]


def test_a_sync_that_fails_is_told_and_writes_no_batch_twice(
    tmp_path: Path, disk: Disk, told: Told
) -> None:
    with SpoolWriter(tmp_path, SpoolParameters(fsync=0.001), listener=told) as writer:
        writer.message(message(0), NODE)
        assert writer.flush()
        disk.error, disk.call = errno.EIO, "fdatasync"
        writer.message(message(1), NODE)
        assert told.wait_for("spool_failed")["reason"] == "disk_error"
        disk.error = None
        told.wait_for("spool_resumed")
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0, 1: 1}
    assert "dropped" not in told.names


def test_a_batch_whose_sync_fails_is_not_there_before_it_is_on_the_disk(
    tmp_path: Path, disk: Disk, told: Told
) -> None:
    with SpoolWriter(tmp_path, SpoolParameters(fsync="batch"), listener=told) as writer:
        writer.message(message(0), NODE)
        assert writer.flush()
        disk.error, disk.call = errno.EIO, "fdatasync"
        writer.message(message(1), NODE)
        told.wait_for("spool_failed")
        assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}
        disk.error = None
        told.wait_for("spool_resumed")
        assert numbered(LocalLog(tmp_path, "messages")) == {0: 0, 1: 1}


@pytest.mark.parametrize("fsync", [0.001, "batch"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_segment_whose_sync_failed_is_left_for_a_new_one(
    tmp_path: Path,
    disk: Disk,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    fsync: Any,
    error: int,
) -> None:
    # Linux forgets what it could not write, and says of the next sync that all is well.
    synced: list[str] = []
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        real(descriptor)
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    with SpoolWriter(tmp_path, SpoolParameters(fsync=fsync), listener=told) as writer:
        writer.message(message(0), NODE)
        assert writer.flush()
        disk.error, disk.call = error, "fdatasync"
        writer.message(message(1), NODE)
        told.wait_for("spool_failed")
        (doubtful,) = list_segments(tmp_path / "messages")
        monkeypatch.setattr(os, "fdatasync", fdatasync)
        disk.error = None
        told.wait_for("spool_resumed")
        writer.message(message(2), NODE)
        assert writer.flush()
    assert synced and str(doubtful.data) not in synced
    segments = list_segments(tmp_path / "messages")
    assert segments[0] == doubtful and len(segments) == 2
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0, 1: 1, 2: 2}


def test_a_sync_that_fails_at_the_end_is_not_taken_for_done_by_the_next_writer(
    tmp_path: Path, disk: Disk
) -> None:
    appender = Appender(tmp_path, "messages", SpoolParameters())
    append(appender, range(3))
    (doubtful,) = list_segments(tmp_path / "messages")
    disk.error, disk.call = errno.EIO, "fdatasync"
    with pytest.raises(OSError, match="Input/output error"):
        appender.close()
    disk.error = None
    again = Appender(tmp_path, "messages", SpoolParameters())
    assert again.first != doubtful.first
    again.close()


def test_closing_on_a_full_disk_counts_what_could_not_be_written(
    tmp_path: Path, disk: Disk, told: Told
) -> None:
    writer = SpoolWriter(tmp_path, FEW, listener=told)
    writer.message(message(0), NODE)
    assert writer.flush()
    disk.error = errno.ENOSPC
    for number in range(1, 6):
        writer.message(message(number), NODE)
    writer.close()
    assert writer.lost == {"messages": 5, "trace": 0}
    assert told.wait_for("dropped")["count"] == 5
    disk.error = None
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}
    with SpoolWriter(tmp_path, FEW) as again:
        again.message(message(6), NODE)
    assert list(numbered(LocalLog(tmp_path, "messages")).values()) == [0, 6]


def test_a_full_buffer_is_told_once_it_is_over(tmp_path: Path, told: Told) -> None:
    slow = SpoolParameters(buffer_records=20, linger=60)
    with SpoolWriter(tmp_path, slow, listener=told) as writer:
        for number in range(50):
            writer.message(message(number)._replace(received_from=None), NODE)
        assert writer.lost["messages"] == 30
    assert told.events == [
        ("dropped", {"what": "captured_message", "reason": "spool_buffer_full", "count": 30})
    ]
    assert list(numbered(LocalLog(tmp_path, "messages")).values()) == list(range(20))


def test_what_cannot_be_stored_is_told(tmp_path: Path, told: Told) -> None:
    with SpoolWriter(tmp_path, listener=told) as writer:
        writer.message(message(0), NODE)
        writer.message(message(1)._replace(received_at="noon"), NODE)  # type: ignore[arg-type]
        assert writer.flush()
        assert writer.lost["messages"] == 1
    assert told.events == [
        ("dropped", {"what": "captured_message", "reason": "not_storable", "count": 1})
    ]
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}


def test_a_listener_that_fails_does_not_end_the_thread(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    resumed = threading.Event()

    def fail(event: str, fields: Mapping[str, Any]) -> None:
        if event == "spool_resumed":
            resumed.set()
        raise RuntimeError("not today")

    with SpoolWriter(tmp_path, FEW, listener=fail) as writer:
        disk.error = errno.ENOSPC
        writer.message(message(0), NODE)
        assert not writer.flush()
        disk.error = None
        assert resumed.wait(60)
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 0}
    assert "the listener of the spool" in caplog.text


def test_without_a_listener_failures_are_logged(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    with SpoolWriter(tmp_path, FEW) as writer:
        disk.error = errno.ENOSPC
        writer.message(message(0), NODE)
        assert not writer.flush()
        disk.error = None
    assert "spool_failed: kind messages, reason disk_full, detail No space left" in caplog.text


def test_a_program_that_is_not_live_gets_an_error(tmp_path: Path, disk: Disk) -> None:
    writer = SpoolWriter(tmp_path, FEW, live=False)
    writer.message(message(0), NODE)
    assert writer.flush()
    disk.error = errno.ENOSPC
    problem = f"{tmp_path}: cannot be written: No space left on device"
    with pytest.raises(SpoolError, match=problem):
        for number in range(1, 1000):
            writer.message(message(number), NODE)
    with pytest.raises(SpoolError, match=problem):
        writer.flush()
    with pytest.raises(SpoolError, match="records were not written: No space left on device"):
        writer.close()


def test_a_batch_that_cannot_be_written_for_no_known_reason_does_not_end_the_thread(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with SpoolWriter(tmp_path, FEW, listener=told) as writer:
        appender = writer._lanes["messages"].appender

        def fail(made: pa.RecordBatch) -> memoryview:
            raise pa.ArrowInvalid("not today")

        with monkeypatch.context() as changes:
            changes.setattr(appender, "_encoded", fail)
            writer.message(message(0), NODE)
            assert writer.flush()
        writer.message(message(1), NODE)
        assert writer.flush()
        assert writer.lost["messages"] == 1
    assert told.names == ["dropped"]
    assert numbered(LocalLog(tmp_path, "messages")) == {0: 1}
    assert "a batch of messages could not be written" in caplog.text


def test_closing_goes_on_behind_a_batch_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = SpoolParameters(batch_records=1)
    write_identity(tmp_path, Identity("a", 0.0))
    lane = Lane(
        tmp_path, "messages", single, threading.Event(), threading.Event(), lambda *_, **__: None
    )
    encoded = lane.appender._encoded

    def fail_for_the_second(made: pa.RecordBatch) -> memoryview:
        if made.column("value")[0].as_py() == b"1":
            raise pa.ArrowInvalid("not today")
        return encoded(made)

    monkeypatch.setattr(lane.appender, "_encoded", fail_for_the_second)
    for number in range(4):
        lane.buffer.add((message(number), NODE), 1)
    lane.close()
    assert lane.lost == 1
    assert list(numbered(LocalLog(tmp_path, "messages")).values()) == [0, 2, 3]
