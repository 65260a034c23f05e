"""The two SDKs of ``bench bcos``, on the public API and nothing else.

python -m bench.bcos.ours publisher CERTIFICATES CHANNEL PIPE
python -m bench.bcos.ours subscriber CERTIFICATES CHANNEL PIPE
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import rumormill
from bench.bcos.load import (
    MULTICAST_TOPIC,
    UNICAST_TOPIC,
    WINDOW,
    Arrivals,
    Arrived,
    age_us,
    message,
    publish_as_told,
    report_as_told,
)

STARTING = 30.0
"""Seconds until the subscriber must be known."""


class OurPublisher:
    """As many tasks as may be in flight, each of which waits for its answer."""

    def __init__(self, network: Any, arrivals: Arrivals) -> None:
        self._network = network
        self._arrivals = arrivals
        arrivals.on_arrival = self._arrived
        self._arrival = asyncio.Event()
        self._left = 0

    async def unicast(self, in_flight: int, count: int) -> list[float]:
        """So many round trips."""
        self._left = count
        latencies: list[float] = []

        async def one_after_the_other() -> None:
            while self._left:
                self._left -= 1
                began = time.monotonic()
                await self._network.unicast(UNICAST_TOPIC, message())
                latencies.append((time.monotonic() - began) * 1e6)

        await _together(one_after_the_other, in_flight)
        return latencies

    async def multicast(self, in_flight: int, count: int) -> None:
        """So many messages."""
        self._left = count
        until = self._arrivals.count + count

        async def one_after_the_other() -> None:
            while self._left:
                if until - self._left - self._arrivals.count >= WINDOW:
                    await self._next_arrival()
                    continue
                self._left -= 1
                await self._network.publish(MULTICAST_TOPIC, message())

        await _together(one_after_the_other, in_flight)
        while self._arrivals.count < until:
            await self._next_arrival()

    async def _next_arrival(self) -> None:
        self._arrival.clear()
        await self._arrival.wait()

    def _arrived(self) -> None:
        self._arrival.set()


async def _together(work: Any, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(work())


async def publish(network: Any, pipe: Path) -> None:
    """Send what we are told to."""
    publisher = OurPublisher(network, Arrivals(pipe))
    await network.unicast(UNICAST_TOPIC, message(), ready=STARTING)
    await network.wait_for_peers(MULTICAST_TOPIC, timeout=STARTING)
    await publish_as_told(publisher)


async def subscribe(network: Any, pipe: Path) -> None:
    """Send back what is unicast, count what is multicast."""
    arrived = Arrived(pipe)
    network.respond(UNICAST_TOPIC, lambda message: message.data)
    async with network.subscribe(MULTICAST_TOPIC) as messages:

        async def read() -> None:
            async for each in messages:
                arrived.add(age_us(each.data))

        reading = asyncio.create_task(read())
        await report_as_told(arrived)
        reading.cancel()


async def serve(role: str, certificates: str, channel: str, pipe: Path) -> None:
    """Connect, and be what the command line says."""
    async with rumormill.open("bcos", certificates=certificates, bootstrap=[channel]) as network:
        await (publish if role == "publisher" else subscribe)(network, pipe)


def main() -> None:
    """Do what the command line says."""
    role, certificates, channel, pipe = sys.argv[1:]
    rumormill.run(serve(role, certificates, channel, Path(pipe)))


if __name__ == "__main__":
    main()
