"""Messages of the honest side: each bears its run, its number and when it left."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from typing import Any

from rumormill.core.percentiles import percentile

_STAMP = struct.Struct(">8sIIQ")
_MARK = b"honest!\n"
STAMP_SIZE = _STAMP.size

SHARES = {"p50_ms": 0.50, "p95_ms": 0.95, "max_ms": 1.0}


def stamped(run: int, number: int, size: int) -> bytes:
    """A message that says when it was made, by the clock that all processes of a machine share.

    >>> read_stamp(stamped(1, 7, 100))[:2], len(stamped(1, 7, 100)), read_stamp(b"flood" * 10)
    ((1, 7), 100, None)
    """
    return _STAMP.pack(_MARK, run, number, time.monotonic_ns()).ljust(size, b".")


def read_stamp(data: bytes) -> tuple[int, int, float] | None:
    """Run, number and milliseconds under way; None if the message is somebody else's."""
    if len(data) < _STAMP.size or not data.startswith(_MARK):
        return None
    _, run, number, then = _STAMP.unpack_from(data)
    return run, number, (time.monotonic_ns() - then) / 1e6


def summary(latencies: Mapping[int, float], sent: int) -> dict[str, Any]:
    """Of all that were sent: what never came is later than anything.

    >>> summary({0: 1.0, 1: 3.0, 2: 2.0}, 4)
    {'sent': 4, 'delivered': 3, 'p50_ms': 2.0, 'p95_ms': None, 'max_ms': None}
    """
    ordered: list[float] = sorted(latencies.values())
    everything = [*ordered, *[float("inf")] * (sent - len(ordered))]
    found = {name: percentile(everything, share) for name, share in SHARES.items()}
    known = {
        name: None if value is None or value == float("inf") else round(value, 3)
        for name, value in found.items()
    }
    return {"sent": sent, "delivered": len(ordered), **known}
