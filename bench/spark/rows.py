"""The rows that Spark is given: the same for everybody, whatever carries them.

Nothing but the standard library: producers run in environments of their own.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator

TOPIC = "bench"
POOL = 997
"""Different contents; a prime, so that they do not keep step with any batch."""

_STAMP = struct.Struct(">QQ")


class Rows:
    """Values of ``size`` bytes: 16 that differ in each, and random ones that do not compress.

    >>> rows = Rows(64, seed=1)
    >>> rows.value(7) == Rows(64, seed=1).value(7) != rows.value(8)
    True
    >>> len(rows.value(7)), stamp_of(rows.value(7, time_us=1234))
    (64, (1234, 7))
    """

    def __init__(self, size: int, seed: int = 1) -> None:
        chance = random.Random(seed)
        self._pool = [chance.randbytes(size - _STAMP.size) for _ in range(POOL)]

    def value(self, number: int, time_us: int = 0) -> bytes:
        """The value of a row, with the time when it was made."""
        return _STAMP.pack(time_us, number) + self._pool[number % POOL]


def stamp_of(value: bytes) -> tuple[int, int]:
    """The time in microseconds, and the number of the row."""
    time_us, number = _STAMP.unpack_from(value)
    return time_us, number


STAMP_SIZE = _STAMP.size


def due(rate: float, count: int, began: float, clock: float, sent: int) -> int:
    """How many of ``count`` rows must follow those that were sent, to keep the rate.

    >>> due(1000, 50_000, began=0.0, clock=1.5, sent=1490)
    11
    """
    return max(0, min(count, int((clock - began) * rate) + 1) - sent)


def steadily(rate: float, count: int) -> Iterator[int]:
    """The numbers of ``count`` rows, each when it is due; sleeps in between."""
    began, sent = time.monotonic(), 0
    while sent < count:
        for _ in range(due(rate, count, began, time.monotonic(), sent)):
            yield sent
            sent += 1
        time.sleep(max(0.0, began + sent / rate - time.monotonic()))
