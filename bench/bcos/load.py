"""What both paths carry, how it is timed, and how their programs are told what to do.

A publisher and a subscriber, of whichever path, are programs that take commands as JSON lines on
stdin and answer each with one line on stdout. The two have a pipe between them besides: by it the
subscriber says how many multicast messages it has, since nothing in the protocol would.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from rumormill.core.percentiles import percentile

UNICAST_TOPIC, MULTICAST_TOPIC = "ucast", "mcast"
"""Equally long."""
SIZE = 1024
"""Bytes of a message, and of its answer."""

WINDOW = 256
"""Multicast messages that may be on their way to the subscriber."""
STEP = 16
"""The subscriber says that it has so many more; counts are multiples of it."""

_STAMP = struct.Struct("!Q")
_FILLING = random.Random(13).randbytes(SIZE - _STAMP.size)
"""Does not compress: what is counted is what travels."""


def message() -> bytes:
    """A message that says when it was made, by the clock that all processes of a machine share.

    >>> len(message()), age_us(message()) >= 0
    (1024, True)
    """
    return _STAMP.pack(time.monotonic_ns()) + _FILLING


def age_us(data: bytes, at: int = 0) -> float:
    """Microseconds since the message that begins there was made."""
    (then,) = _STAMP.unpack_from(data, at)
    return (time.monotonic_ns() - int(then)) / 1e3


def summary(latencies: Sequence[float]) -> dict[str, float]:
    """Of latencies in microseconds.

    >>> summary([3.0, 1.0, 2.0])
    {'p50_us': 2.0, 'p99_us': 3.0}
    """
    ordered = sorted(latencies)
    shares = {"p50_us": 0.5, "p99_us": 0.99}
    return {name: percentile(ordered, share) or 0.0 for name, share in shares.items()}


# ---- the pipe between the two ends


class Arrivals:
    """The publisher's end: how many multicast messages have arrived."""

    def __init__(self, pipe: Path) -> None:
        # Also for writing, so that it never ends while nobody has the other end.
        self._file = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.count = 0
        self.on_arrival: Callable[[], None] | None = None
        asyncio.get_running_loop().add_reader(self._file, self._read)

    def _read(self) -> None:
        self.count += STEP * len(os.read(self._file, 4096))
        if self.on_arrival is not None:
            self.on_arrival()


class Arrived:
    """The subscriber's end: counts, and remembers how long each was under way."""

    def __init__(self, pipe: Path) -> None:
        self._file = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.ages: list[float] = []

    def add(self, age: float) -> None:
        """One more is here."""
        self.ages.append(age)
        if len(self.ages) % STEP == 0:
            os.write(self._file, b".")

    def take(self) -> dict[str, Any]:
        """What came since the last time."""
        ages, self.ages = self.ages, []
        return {"count": len(ages), **summary(ages)}


# ---- commands


class Publisher(Protocol):
    """The end that is timed."""

    async def unicast(self, in_flight: int, count: int) -> list[float]:
        """So many round trips; how long each took, in microseconds."""

    async def multicast(self, in_flight: int, count: int) -> None:
        """So many messages, until the subscriber has them all.

        ``in_flight`` may wait for the word of the publisher's node, :data:`WINDOW` for the
        subscriber's.
        """


def say(**line: Any) -> None:
    """One line to who started this program."""
    print(json.dumps(line), flush=True)


async def commands() -> AsyncIterator[dict[str, Any]]:
    """Lines of stdin, until it ends."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield json.loads(line)


async def publish_as_told(publisher: Publisher) -> None:
    """Serve as the program of a publisher."""
    say(event="ready")
    async for command in commands():
        in_flight, count = command["in_flight"], command["count"]
        began = time.monotonic()
        if command["kind"] == "unicast":
            latencies = await publisher.unicast(in_flight, count)
            seconds = time.monotonic() - began
            say(event="done", seconds=seconds, count=len(latencies), **summary(latencies))
        else:
            await publisher.multicast(in_flight, count)
            say(event="done", seconds=time.monotonic() - began)


async def report_as_told(arrived: Arrived) -> None:
    """Serve as the program of a subscriber."""
    say(event="ready")
    async for _ in commands():
        say(event="report", **arrived.take())
