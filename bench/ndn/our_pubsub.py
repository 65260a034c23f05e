"""A publisher or subscriber of ours, on the public API and nothing else.

python -m bench.ndn.our_pubsub PREFIX [--forwarder ADDRESS | --listen ADDRESS] [--key-file FILE]
                               [--trust RULE]

It takes commands as JSON lines on stdin and answers each with a line on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import time
from typing import Any

import rumormill
from bench.bcos.load import commands, say

_NUMBER = struct.Struct(">Q")


class OurEnd:
    """One program on a forwarder."""

    def __init__(self, network: Any) -> None:
        self._network = network
        self._numbers: list[int] = []
        self._reading: list[asyncio.Task[None]] = []

    async def receive(self, topic: str) -> dict[str, Any]:
        """Subscribe, and remember the number of every message."""
        subscription = await self._network.subscribe(topic).__aenter__()

        async def read() -> None:
            async for message in subscription:
                self._numbers.append(_NUMBER.unpack_from(message.data)[0])

        self._reading.append(asyncio.create_task(read()))
        return {}

    async def report(self) -> dict[str, Any]:
        """The numbers that came since the last time."""
        numbers, self._numbers = self._numbers, []
        return {"numbers": numbers}

    async def publish(self, topic: str, count: int, size: int, window: int) -> dict[str, Any]:
        """So many messages, ``window`` of them under way at once."""
        publish, filling = self._network.publish, bytes(size - _NUMBER.size)
        times: list[float] = []
        outcomes: dict[int, str] = {}
        left = count

        async def publish_some() -> None:
            nonlocal left
            while left:
                left -= 1
                number, began = left, time.monotonic()
                receipt = await publish(topic, _NUMBER.pack(number) + filling)
                times.append(1000 * (time.monotonic() - began))
                outcomes[number] = receipt.outcome

        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(window):
                group.create_task(publish_some())
        seconds = time.monotonic() - began
        return {
            "seconds": seconds,
            "times_ms": times,
            "outcomes": [outcomes[number] for number in range(count)],
        }


async def serve(arguments: argparse.Namespace) -> None:
    """Connect, and do what we are told."""
    given = {
        "bootstrap": arguments.forwarder,
        "listen": arguments.listen,
        "key_file": arguments.key_file,
        "trust": arguments.trust,
    }
    settings = {name: value for name, value in given.items() if value}
    async with rumormill.open("ndn", prefix=arguments.prefix, **settings) as network:
        say(event="ready", addresses=list(network.addresses))
        end = OurEnd(network)
        async for command in commands():
            do = command.pop("do")
            say(event=do, **await getattr(end, do)(**command))


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix")
    parser.add_argument("--forwarder")
    parser.add_argument("--listen")
    parser.add_argument("--key-file")
    parser.add_argument("--trust", action="append")
    rumormill.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
