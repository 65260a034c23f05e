"""A13: files of a spool that are removed, moved or cut while it is written: told, and gone on."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.capture.files.folder import list_segments, read_identity
from rumormill.capture.files.index import HEADER_SIZE, RECORD_SIZE
from rumormill.capture.log import DataLostError, SpoolError, SpoolLockedError
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import NODE, event, kill, message, numbered
from tests.helpers.capture.told import Told

PARAMETERS = SpoolParameters(linger=0.001, fsync="never")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def writer(folder: Path, told: Told) -> Iterator[SpoolWriter]:
    """A spool with ten messages in it."""
    with SpoolWriter(folder, PARAMETERS, listener=told) as writer:
        keep(writer, range(10))
        yield writer


def keep(writer: SpoolWriter, numbers: range) -> None:
    for number in numbers:
        writer.message(message(number), NODE)
        if number % 5 == 4:
            assert writer.flush()


def test_a13_a_folder_that_is_removed_is_told_counted_and_made_anew(
    writer: SpoolWriter, folder: Path, told: Told
) -> None:
    shutil.rmtree(folder)
    writer.message(message(10), NODE)
    failed = told.wait_for("spool_failed", kind="messages")
    segment = folder / "messages" / "00000000000000000000.arrow"
    assert failed == {
        "kind": "messages", "reason": "spool_removed",
        "detail": f"{segment} was removed while it was being written",
    }  # fmt: skip
    assert told.wait_for("dropped") == {
        "what": "captured_message", "reason": "spool_removed", "count": 10,
    }  # fmt: skip
    told.wait_for("spool_resumed", kind="messages")
    keep(writer, range(11, 15))
    assert told.names_of("messages") == ["spool_failed", "dropped", "spool_resumed"]
    # The same spool: its name, and offsets that go on; what was removed is an error to readers.
    log = LocalLog(folder, "messages")
    assert log.spool_id == writer.spool_id
    assert list(numbered(log).values()) == list(range(10, 15))
    assert log.bounds().earliest >= 10
    with pytest.raises(DataLostError):
        list(log.read(0, 5))
    with pytest.raises(SpoolLockedError):
        SpoolWriter(folder)
    writer.close()
    with SpoolWriter(folder, PARAMETERS) as again:
        assert again.recovered["messages"].cuts == ()
        again.message(message(15), NODE)
    assert list(numbered(log).values()) == list(range(10, 16))
    assert read_identity(folder).id == writer.spool_id


def test_a_folder_that_is_moved_away_keeps_what_is_in_it(
    writer: SpoolWriter, folder: Path, told: Told
) -> None:
    folder.rename(folder.with_name("old"))
    writer.message(message(10), NODE)
    told.wait_for("spool_failed", kind="messages", reason="spool_removed")
    told.wait_for("spool_resumed", kind="messages")
    assert "dropped" not in told.names
    assert numbered(LocalLog(folder.with_name("old"), "messages")) == {n: n for n in range(10)}
    assert list(numbered(LocalLog(folder, "messages")).values()) == [10]


def test_a_folder_that_is_removed_is_noticed_though_nothing_is_written(
    writer: SpoolWriter, folder: Path, told: Told
) -> None:
    lane = writer._lanes["trace"]
    shutil.rmtree(folder)
    lane.tidy()  # as the thread does it every ten seconds
    told.wait_for("spool_failed", kind="trace", reason="spool_removed")
    told.wait_for("spool_resumed", kind="trace")
    assert list_segments(folder / "trace")


def test_what_waits_at_the_end_is_kept_in_a_folder_made_anew(folder: Path, told: Told) -> None:
    slow = SpoolParameters(linger=60)
    with SpoolWriter(folder, slow, listener=told) as writer:
        writer.message(message(0), NODE)
        shutil.rmtree(folder)
    assert writer.lost == {"messages": 0, "trace": 0}
    assert list(numbered(LocalLog(folder, "messages")).values()) == [0]


def test_another_spool_in_its_place_is_left_alone(
    writer: SpoolWriter, folder: Path, told: Told
) -> None:
    shutil.rmtree(folder)
    with SpoolWriter(folder, PARAMETERS) as other:
        other.message(message(99), NODE)
        assert other.flush()
        writer.message(message(10), NODE)
        told.wait_for("spool_failed", kind="messages")
        assert not writer.flush()
    assert not writer.flush()  # the lock is free now, but it is another spool
    writer.close()
    assert writer.lost["messages"] == 1
    assert list(numbered(LocalLog(folder, "messages")).values()) == [99]


def test_a_program_that_is_not_live_gets_an_error(folder: Path) -> None:
    writer = SpoolWriter(folder, PARAMETERS, live=False)
    keep(writer, range(5))
    shutil.rmtree(folder)
    with pytest.raises(SpoolError, match="was removed while it was being written"):
        for number in range(5, 100_000):
            writer.message(message(number), NODE)
            writer.flush()
    writer.close()


def cut_to_nothing(index: Path) -> None:
    os.truncate(index, 0)


def cut_behind_a_record(index: Path) -> None:
    os.truncate(index, HEADER_SIZE + RECORD_SIZE)


@pytest.mark.parametrize("accident", [cut_to_nothing, cut_behind_a_record, os.unlink])
@pytest.mark.parametrize("more", [range(0), range(10, 20)])
def test_a13_an_index_damaged_while_it_is_written_costs_nothing_after_a_clean_stop(
    writer: SpoolWriter, folder: Path, told: Told, accident: Callable[[Path], None], more: range
) -> None:
    (segment,) = list_segments(folder / "messages")
    data = segment.data.read_bytes()
    accident(segment.index)
    keep(writer, more)
    writer.close()
    assert told.events == [("spool_mended", {"kind": "messages"})]
    with SpoolWriter(folder, PARAMETERS) as again:
        assert again.recovered["messages"].cuts == ()
    expected = {number: number for number in [*range(10), *more]}
    assert numbered(LocalLog(folder, "messages")) == expected
    assert segment.data.read_bytes()[: len(data)] == data


def test_the_gap_before_a_segment_is_known_after_its_index_was_mended(
    folder: Path, told: Told
) -> None:
    writer = SpoolWriter(folder, PARAMETERS)
    keep(writer, range(10))
    kill(writer)
    with SpoolWriter(folder, PARAMETERS, listener=told) as writer:
        keep(writer, range(10, 20))
        os.truncate(list_segments(folder / "messages")[-1].index, 0)
    assert told.names == ["spool_mended"]
    assert list(numbered(LocalLog(folder, "messages")).values()) == list(range(20))


def test_a_segment_that_is_cut_while_it_is_written_is_told_and_left(
    writer: SpoolWriter, folder: Path, told: Told
) -> None:
    (segment,) = list_segments(folder / "messages")
    os.truncate(segment.data, segment.data.stat().st_size - 1)
    writer.message(message(10), NODE)
    assert told.wait_for("spool_failed")["detail"] == (
        f"{segment.data} was cut while it was being written"
    )
    told.wait_for("spool_resumed")
    log = LocalLog(folder, "messages")
    assert list(numbered(log, 10).values()) == [10]
    assert list(numbered(log, 0, 5).values()) == list(range(5))


async def test_a13_a_node_goes_on_and_its_counters_say_that_the_spool_was_removed(
    folder: Path,
) -> None:
    resumed = asyncio.Event()

    def watch(seen: Any) -> None:
        if seen.event == "spool_resumed" and seen.fields["kind"] == "messages":
            resumed.set()

    async with rumormill.open("gossipsub", spool=folder) as network:
        network.on_trace(watch)
        async with network.subscribe("weather") as messages:
            await network.publish("weather", b"before")
            async with asyncio.timeout(60):
                assert (await anext(messages)).data == b"before"
                while not list(folder.glob("messages/*.index")) or not kept(folder):
                    await asyncio.sleep(0.01)
                # The writer may be making files in it while it is emptied.
                shutil.rmtree(folder, ignore_errors=True)
                await network.publish("weather", b"after")
                assert (await anext(messages)).data == b"after"
                await resumed.wait()
        assert network.counters["dropped.spool_removed"] >= 1
        assert network.counters["spool_failed.spool_removed"] >= 1
    assert kept(folder) == [b"after"]


def kept(folder: Path) -> list[bytes]:
    log = LocalLog(folder, "messages")
    return [value for _, rows in log.read(*log.bounds()) for value in rows["value"].to_pylist()]


def test_a_trace_that_is_removed_is_told_by_its_kind(
    writer: SpoolWriter, folder: Path, told: Told
) -> None:
    writer.trace(event(0), "gossipsub")
    assert writer.flush()
    shutil.rmtree(folder / "trace")
    writer.trace(event(1), "gossipsub")
    assert told.wait_for("dropped")["what"] == "captured_event"
    told.wait_for("spool_resumed")
    assert {fields.get("kind", "trace") for _, fields in told.events} == {"trace"}
    assert numbered(LocalLog(folder, "messages")) == {number: number for number in range(10)}
