"""A writer that is killed in the midst of it, again and again, while somebody reads."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest

from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.writing.writer import SpoolWriter
from tests.helpers.capture.spool_records import NODE, message, numbered
from tests.helpers.places import environment, program

HELPER = "tests.helpers.capture.killed_writer"
KILLS = 6


class Reader:
    """Reads what is new, and remembers all that it ever saw."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._position = 0
        self.seen: dict[int, int] = {}

    def read(self) -> None:
        log = LocalLog(self._folder, "messages")
        bounds = log.bounds()
        assert bounds.latest >= self._position, "the latest offset went back"
        self.seen |= numbered(log, self._position, bounds.latest)
        self._position = bounds.latest


@pytest.mark.parametrize("fsync", ["never", "batch", "0.01"])
def test_what_a_reader_saw_is_never_contradicted_and_what_was_flushed_is_kept(
    tmp_path: Path, fsync: str
) -> None:
    chance = random.Random(fsync)
    reader, flushed, first = Reader(tmp_path), -1, 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            program(HELPER, tmp_path, first, fsync),
            stdout=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            for _ in range(chance.randrange(1, 12)):
                flushed = int(process.stdout.readline())
                reader.read()
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:  # told before it was killed
                flushed = int(line) if line.endswith("\n") else flushed
        first += 1_000_000
        reader.read()
        now = numbered(LocalLog(tmp_path, "messages"))
        assert now == reader.seen
        assert flushed in now.values()
    with SpoolWriter(tmp_path, SpoolParameters()) as writer:
        writer.message(message(first), NODE)
    reader.read()
    found = numbered(LocalLog(tmp_path, "messages"))
    assert found == reader.seen
    # Each life in its order, without holes, and nothing twice.
    numbers = list(found.values())
    assert numbers == sorted(set(numbers))
    for life in range(KILLS):
        mine = [each for each in numbers if each // 1_000_000 == life]
        assert mine == list(range(life * 1_000_000, life * 1_000_000 + len(mine)))
