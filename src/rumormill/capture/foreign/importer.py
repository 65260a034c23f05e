"""Foreign traces into a spool: examined first, then read and merged, and written down as done."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from rumormill.capture.foreign.detect import TraceFile, examine
from rumormill.capture.foreign.errors import TraceImportError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.ledger import Ledger
from rumormill.capture.foreign.merge import Merger, Stream, window_of
from rumormill.capture.foreign.rows import joined, to_trace
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.schema import KINDS, TRACE
from rumormill.capture.writing.writer import SpoolWriter

BATCH_ROWS = 16_384
"""Rows of a batch in the spool, at most."""

DEFAULT_NETWORK = "gossipsub"


class Progress(NamedTuple):
    """How far an import is."""

    done: int
    """Bytes of the files that have been read..."""
    total: int
    """... of so many."""
    events: int
    """Foreign events that were read."""


@dataclass
class SpoolImport:
    """What was imported into one spool."""

    spool: str
    files: list[Findings] = field(default_factory=list)
    already_there: list[str] = field(default_factory=list)
    """Files that had been imported before, and were left alone."""
    rows: int = 0
    """Trace events that were written."""
    late_rows: int = 0
    """Those of them that came so late that they stand behind later ones."""

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "spool": self.spool,
            "rows": self.rows,
            "late_rows": self.late_rows,
            "already_there": self.already_there,
            "files": [findings.to_json() for findings in self.files],
        }


def import_traces(
    files: Iterable[str | Path],
    spool: str | Path,
    *,
    network: str = DEFAULT_NETWORK,
    each: bool = False,
    append: bool = False,
    tell: Callable[[Progress], object] = lambda progress: None,
) -> list[SpoolImport]:
    """Import foreign traces into ``spool``, or with ``each`` into a spool per file below it.

    All files are examined before anything is written. A spool that holds records is refused; with
    ``append`` they are added to it, without the files that are in it already. ``network`` is what
    the trace events say they belong to. Raises :class:`TraceImportError`, or :class:`OSError`.
    """
    examined = [examine(Path(file)) for file in files]
    _refuse_doubles(examined)
    folder = Path(spool)
    targets = [(folder, examined)]
    if each:
        targets = [(folder / name, [file]) for name, file in _names(examined).items()]
    plans = [_Plan(target, found, append) for target, found in targets]
    meter = _Meter(sum(file.path.stat().st_size for plan in plans for file in plan.files), tell)
    with _few_collections():
        return [_import(plan, network, meter) for plan in plans]


@contextmanager
def _few_collections() -> Iterator[None]:
    """Rows are many objects and no cycles: looking for some would take a sixth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 200_000) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _refuse_doubles(files: Sequence[TraceFile]) -> None:
    """Two files that begin with the same event are two copies of one trace, and count twice."""
    begun: dict[Any, TraceFile] = {}
    for file in files:
        other = begun.setdefault(file.first, file)
        if file.first is not None and other is not file:
            raise TraceImportError(
                f"{file.path}: begins with the same event as {other.path}; give one of them"
            )


def _names(files: Sequence[TraceFile]) -> dict[str, TraceFile]:
    """A folder's name for each file."""
    names: dict[str, TraceFile] = {}
    for file in files:
        name = file.path.name.split(".")[0] or file.path.name
        if name in names:
            raise TraceImportError(
                f"{file.path}: its spool would be that of {names[name].path}, as the names of both"
                f" begin with {name}"
            )
        names[name] = file
    return names


class _Plan:
    """What goes into one spool; refuses if that cannot be."""

    def __init__(self, folder: Path, files: Sequence[TraceFile], append: bool) -> None:
        self.folder = folder
        self.ledger = Ledger(folder)
        self.ledger.check_whole()
        if not append and (self.ledger or _has_records(folder)):
            raise TraceImportError(
                f"{folder}: this spool holds records already; --append adds to them"
            )
        known = self.ledger.digests()
        self.files = [file for file in files if file.digest not in known]
        self.already_there = [str(file.path) for file in files if file.digest in known]


def _has_records(folder: Path) -> bool:
    if not (folder / "spool.json").exists():
        return False
    return any(LocalLog(folder, kind).bounds().latest > 0 for kind in KINDS)


class _Meter:
    """Adds up how far the files of all spools are."""

    def __init__(self, total: int, tell: Callable[[Progress], object]) -> None:
        self._total = total
        self._tell = tell
        self._before = Progress(0, total, 0)

    def show(self, streams: Sequence[Stream]) -> Progress:
        """How far it is with these streams."""
        now = Progress(
            self._before.done + sum(stream.source.consumed for stream in streams),
            self._total,
            self._before.events + sum(stream.findings.events for stream in streams),
        )
        self._tell(now)
        return now

    def finish(self, streams: Sequence[Stream]) -> None:
        """These streams are done."""
        self._before = self.show(streams)


def _import(plan: _Plan, network: str, meter: _Meter) -> SpoolImport:
    result = SpoolImport(str(plan.folder), already_there=plan.already_there)
    if not plan.files:
        return result
    with SpoolWriter(plan.folder, live=False) as writer:
        plan.ledger.begin([(file.path, file.digest) for file in plan.files])
        window = window_of(len(plan.files))
        streams = [Stream(file, window) for file in plan.files]
        merger = Merger(streams)
        for batch in _batches(merger):
            writer.batch(TRACE, to_trace(batch, network))
            result.rows += batch.num_rows
            meter.show(streams)
    plan.ledger.end(result.rows)
    meter.finish(streams)
    result.late_rows = merger.late_rows
    result.files = [stream.findings for stream in streams]
    return result


def _batches(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of one size."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for part in parts:
        held.append(part)
        rows += part.num_rows
        if rows >= BATCH_ROWS:
            whole = joined(held)
            while rows >= BATCH_ROWS:
                yield whole.slice(whole.num_rows - rows, BATCH_ROWS)
                rows -= BATCH_ROWS
            held = [whole.slice(whole.num_rows - rows)]
    if rows:
        yield joined(held)
