"""What the fuzz targets share: instrumentation, seeds, and how bytes become decisions.

A target is a script of its own (``python tests/fuzz/fuzz_yamux.py -max_total_time=15``; every
option of libFuzzer works, and a file name replays that input). ``tests/fuzz/run_all.py`` runs all.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

REQUIRED = "RUMORMILL_REQUIRE_PEERS"
"""Where this is "1", a tool that is missing is a failure and not a skip."""

SKIPPED = "skipped: atheris is not installed, and fuzzing needs it (pip install atheris)"

PROPERTY = "fuzzing"
"""Under this name the report of the test that fuzzes holds a line for each target."""


SLOW, SLOW_BYTE, SLOW_PIECE = 0.1, 1e-6, 2e-5
"""Seconds of processor time that an input may take; and beside that for each of its bytes, and for
each piece in which a target feeds them. Several times of what the dearest took when this was
written, on a machine that needs :data:`USUAL_PACE` for :func:`pace`."""

USUAL_PACE = 0.002

TRIES = 3
"""An input is slow if it is so each time: now and then, something else takes a while."""


def atheris_is_missing() -> bool:
    return importlib.util.find_spec("atheris") is None


def exit_code_without_atheris() -> int:
    """Say that fuzzing is skipped; the exit code tells whether that is all right here."""
    print(SKIPPED)
    return 1 if os.environ.get(REQUIRED) == "1" else 0


@contextlib.contextmanager
def instrumented(name: str) -> Iterator[None]:
    """Import inside of this what is to be watched; ``name`` is the ``__name__`` of the target."""
    if name != "__main__":  # someone only looks at the module
        yield
        return
    if atheris_is_missing():
        sys.exit(exit_code_without_atheris())
    import atheris

    with atheris.instrument_imports(include=["rumormill"]):
        yield


class SlowInputError(Exception):
    """An input costs far more than its length lets expect."""


def pace() -> float:
    """Seconds of processor time for some work that is always the same."""
    begin = time.thread_time()
    for number in range(100_000):
        number & 7
    return time.thread_time() - begin


def watched(
    target: Callable[[bytes], None],
    slow: float = SLOW,
    clock: Callable[[], float] = time.thread_time,
    patience: float = 1.0,
) -> Callable[[bytes], None]:
    """The target with an alarm: :class:`SlowInputError` for an input that takes too long.

    ``patience`` is how much longer than usual everything takes on this machine.
    """

    def run(data: bytes) -> None:
        for _ in range(TRIES):
            fed.clear()
            begin = clock()
            target(data)
            spent = clock() - begin
            allowed = slow + SLOW_BYTE * (len(data) + fed["bytes"]) + SLOW_PIECE * fed["pieces"]
            if spent <= allowed * patience:
                return
        raise SlowInputError(
            f"{len(data)} bytes take {spent * 1000:.1f} ms,"
            f" {allowed * patience * 1000:.1f} ms are allowed"
        )

    return run


fed: Counter[str] = Counter()
"""What :func:`pieces` has handed out since the input was begun: short inputs may stand for much."""


def fuzz(target: Callable[[bytes], None], seeds: Sequence[bytes], slow: float = SLOW) -> None:
    """Fuzz for as long as the command line says, beginning with ``seeds``; then exit.

    An input that takes ``slow`` seconds, and what :func:`watched` adds for its length, is a find
    like any other.
    """
    import atheris

    patience = max(1.0, min(pace() for _ in range(5)) / USUAL_PACE)

    replay = any(Path(argument).is_file() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="fuzz-seeds-") as folder:
        for number, seed in enumerate(seeds):
            Path(folder, f"seed-{number}").write_bytes(seed)
        # libFuzzer ends its process without a word to Python: a child, so that we can clean up.
        child = os.fork()
        if child == 0:
            atheris.Setup(
                [*sys.argv, *([] if replay else [folder])], watched(target, slow, patience=patience)
            )
            atheris.Fuzz()
        _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


class Choices:
    """Reads an input as a series of small decisions; zero when it is used up."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0

    def __bool__(self) -> bool:
        return self._offset < len(self._data)

    def number(self, below: int) -> int:
        """A number from 0 to ``below`` - 1, one byte of input."""
        return self.take(1)[0] % below if self else 0

    def take(self, size: int) -> bytes:
        """The next bytes, fewer at the end."""
        start = self._offset
        self._offset = min(len(self._data), start + size)
        return self._data[start : self._offset]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """``data`` in pieces of ``size`` bytes; in one piece if that is 0."""
    for start in range(0, len(data), size or len(data) or 1):
        piece = data[start : start + (size or len(data))]
        fed["pieces"] += 1
        fed["bytes"] += len(piece)
        yield piece
