"""What the benchmarks count: time, CPU, arrivals. The words are explained in ../README.md."""

from __future__ import annotations

import math
import resource
import time
from dataclasses import dataclass, field
from typing import Any


class Stopwatch:
    """Wall-clock time and CPU time of the whole process from here on."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self._cpu_at_start = _cpu_seconds()

    def read(self) -> dict[str, float]:
        return {
            "seconds": time.monotonic() - self.started,
            "cpu_seconds": _cpu_seconds() - self._cpu_at_start,
        }


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def stamped(index: int, size: int) -> bytes:
    """A message of a benchmark: wall clock in nanoseconds, index, filling."""
    header = time.time_ns().to_bytes(8, "big") + index.to_bytes(8, "big")
    return header.ljust(size, b".")


@dataclass
class Receiving:
    """The subscriber's side of ``bench_publish``."""

    topic: str
    count: int
    window: int
    received: int = 0
    watch: Stopwatch | None = None

    def add(self) -> bytes | None:
        """Count a message; returns the acknowledgement if one is due."""
        self.watch = self.watch or Stopwatch()
        self.received += 1
        if self.received % max(self.window // 2, 1) and not self.complete:
            return None
        return self.received.to_bytes(8, "big") + time.time_ns().to_bytes(8, "big")

    @property
    def complete(self) -> bool:
        return self.received >= self.count

    def report(self) -> dict[str, Any]:
        times = self.watch.read() if self.watch else {}
        return {"role": "subscriber", "topic": self.topic, "count": self.received, **times}


@dataclass
class Collecting:
    """What arrives of ``bench_rate``, between ``bench_reset`` and ``bench_report``."""

    topic: str
    copies: int
    watch: Stopwatch = field(default_factory=Stopwatch)
    arrivals: list[tuple[bytes, int]] = field(default_factory=list)

    def add(self, data: bytes) -> None:
        self.arrivals.append((data[:16], time.time_ns()))

    def report(self, copies: int) -> dict[str, Any]:
        times = self.watch.read()
        latencies = sorted(
            (arrived - int.from_bytes(header[:8], "big")) / 1e6 for header, arrived in self.arrivals
        )
        return {
            "topic": self.topic,
            "received": len(self.arrivals),
            "distinct": len({header for header, _ in self.arrivals}),
            "p50_ms": _percentile(latencies, 0.50),
            "p99_ms": _percentile(latencies, 0.99),
            "max_ms": latencies[-1] if latencies else None,
            "copies": copies - self.copies,
            **times,
        }


def _percentile(ordered: list[float], share: float) -> float | None:
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
