"""Importing the traces of a go network into a spool, and the least that its formats cost.

The traces of the whole network are measured where they are; elsewhere the part in
``tests/vectors``, which is too short to be more than a hint.
"""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.progress import Progress
from rumormill.capture.foreign import import_traces
from rumormill.capture.foreign.protobuf import read_frames
from tests.helpers.capture import trace_oracle as oracle
from tests.helpers.capture.foreign_traces import SHARED, VECTORS


@dataclass(frozen=True)
class ImportPlan:
    """How much is measured."""

    rounds: int = 5
    whole: bool = True


QUICK = ImportPlan(rounds=1, whole=False)


class Case(NamedTuple):
    """Something whose cost is measured."""

    name: str
    work: Callable[[], int]
    """Does it, and returns the number of events."""
    size: int
    """Bytes that are read, unpacked."""


async def run(plan: ImportPlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``import`` of the results."""
    whole = plan.whole and SHARED.is_dir()
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        cases = _cases(SHARED if whole else VECTORS, Path(scratch))
        samples: dict[str, list[tuple[float, float]]] = {case.name: [] for case in cases}
        events: dict[str, int] = {}
        progress.begin("import", plan.rounds)
        for number in range(plan.rounds):
            progress.step(f"import: round {number + 1} of {plan.rounds}")
            for case in cases:
                wall, processor = time.perf_counter(), time.process_time()
                events[case.name] = case.work()
                samples[case.name].append(
                    (time.perf_counter() - wall, time.process_time() - processor)
                )
    rows = [_row(case, events[case.name], samples[case.name]) for case in cases]
    return {"whole": whole, "rounds": plan.rounds, "rows": rows}


def _row(case: Case, events: int, samples: list[tuple[float, float]]) -> dict[str, Any]:
    rates = [events / wall for wall, _ in samples]
    costs = [processor / events * 1e6 for _, processor in samples]
    return {
        "name": case.name,
        "events": events,
        "megabytes": case.size / 1e6,
        "events_per_second": {"best": max(rates), "median": statistics.median(rates)},
        "us_per_event": {"best": min(costs), "median": statistics.median(costs)},
    }


def _cases(folder: Path, scratch: Path) -> list[Case]:
    """Both formats, packed and not; and what reading alone costs with the usual libraries."""
    cases: list[Case] = []
    for suffix, name in (("json", "JSON lines"), ("pb", "protobuf")):
        packed = sorted(folder.glob(f"node*.{suffix}.gz"))
        plain = [_unpacked(file, scratch) for file in packed]
        size = sum(file.stat().st_size for file in plain)
        for files, words in ((plain, ""), (packed, ", gzip")):
            work = _importing(files, scratch / "spool")
            cases.append(Case(f"import of {name}{words}", work, size))
        reading = _json_alone if suffix == "json" else _protobuf_alone
        library = "json.loads" if suffix == "json" else "protobuf (upb)"
        content = [file.read_bytes() for file in plain]
        cases.append(Case(f"{library} of each event, no more", reading(content), size))
    return cases


def _unpacked(file: Path, scratch: Path) -> Path:
    plain = scratch / file.name.removesuffix(".gz")
    plain.write_bytes(gzip.decompress(file.read_bytes()))
    return plain


def _importing(files: list[Path], spool: Path) -> Callable[[], int]:
    def work() -> int:
        with tempfile.TemporaryDirectory(dir=spool.parent) as folder:
            (result,) = import_traces(files, folder)
        return sum(findings.events for findings in result.files)

    return work


def _json_alone(contents: list[bytes]) -> Callable[[], int]:
    def work() -> int:
        events = 0
        for content in contents:
            for line in content.splitlines():
                json.loads(line)
                events += 1
        return events

    return work


def _protobuf_alone(contents: list[bytes]) -> Callable[[], int]:
    frames = [
        [content[start:end] for start, end in read_frames(content)[0]] for content in contents
    ]

    def work() -> int:
        parse = oracle.TraceEvent.FromString
        for each in frames:
            for frame in each:
                parse(frame)
        return sum(map(len, frames))

    return work
