"""Honest peers of the attacked node, in a process of their own: one publishes or one listens.

python -m bench.siege.honest_gossipsub publisher|subscriber ADDRESS TOPIC

They know the attacked node and nobody else, so whatever arrives went through it. Says when it is
ready, and takes commands as JSON lines:

publisher    {"do": "publish", "run", "count", "rate", "size"}     answered by ``sent``
             {"do": "newcomer", "timeout"}                         answered by ``newcomer``
subscriber   {"do": "report", "run", "count", "patience"}          answered by ``received``

A newcomer is one more honest peer, who did not know the node before the attack: it is measured how
long it takes until it has got its first message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import rumormill
from bench.siege.stamps import read_stamp, stamped, summary

PATIENCE = 20.0
"""Seconds until the attacked node must have taken us in."""
BUFFER = 100_000
"""Messages that may wait to be read: a flood must not push out what is measured."""

Command = dict[str, Any]


def say(event: str, **fields: Any) -> None:
    """One line."""
    print(json.dumps({"event": event, **fields}), flush=True)


async def commands(obey: Callable[[Command], Awaitable[None]]) -> None:
    """Obey one line after the other, each without waiting for the one before, until stdin ends."""
    running: set[asyncio.Task[None]] = set()

    async def run(command: Command) -> None:
        try:
            await obey(command)
        except Exception as error:
            say("error", problem=f"{type(error).__name__}: {error}")

    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(run(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()


# ---- who publishes


class Publisher:
    """It does not listen itself, so nobody sends it anything."""

    def __init__(self, network: rumormill.Network, address: str, topic: str) -> None:
        self._network, self._address, self._topic = network, address, topic

    async def obey(self, command: Command) -> None:
        """What it is told."""
        if command["do"] == "newcomer":
            await self._newcomer(command["timeout"])
        else:
            await self._publish(
                **{name: command[name] for name in ("run", "count", "rate", "size")}
            )

    async def _publish(self, run: int, count: int, rate: float, size: int) -> None:
        began, failed, latest = time.monotonic(), 0, 0.0
        for number in range(count):
            due = began + number / rate
            while (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            latest = max(latest, -early)
            receipt = await self._network.publish(self._topic, stamped(run, number, size))
            failed += not receipt.peers
        say("sent", run=run, count=count, failed=failed, latest_ms=latest * 1e3)

    async def _newcomer(self, timeout: float) -> None:
        began = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(timeout),
                rumormill.open("gossipsub", bootstrap=[self._address]) as network,
                network.subscribe(self._topic, buffer=BUFFER) as messages,
            ):
                async for message in messages:
                    if read_stamp(message.data) is not None:
                        say("newcomer", seconds=round(time.monotonic() - began, 3))
                        return
        say("newcomer", seconds=None)


async def publish(address: str, topic: str) -> None:
    """Be a publisher until stdin ends."""
    async with rumormill.open("gossipsub", bootstrap=[address]) as network:
        await network.wait_for_peers(topic, timeout=PATIENCE)
        say("ready", id=network.id)
        await commands(Publisher(network, address, topic).obey)


# ---- who listens


class Arrivals:
    """How late each message of each run was."""

    def __init__(self) -> None:
        self._runs: dict[int, dict[int, float]] = {}
        self._others = 0

    async def read(self, messages: rumormill.Subscription) -> None:
        """Note what comes."""
        async for message in messages:
            stamp = read_stamp(message.data)
            if stamp is None:
                self._others += 1
            else:
                run, number, late = stamp
                self._runs.setdefault(run, {}).setdefault(number, late)

    async def obey(self, command: Command) -> None:
        """Say what came, once everything has, or nothing more is waited for."""
        run, count = command["run"], command["count"]
        found = self._runs.setdefault(run, {})
        deadline = time.monotonic() + command["patience"]
        while len(found) < count and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        say("received", run=run, others=self._others, **summary(found, count))


async def subscribe(address: str, topic: str) -> None:
    """Be a subscriber until stdin ends."""
    arrivals = Arrivals()
    async with (
        rumormill.open("gossipsub", bootstrap=[address]) as network,
        network.subscribe(topic, buffer=BUFFER) as messages,
    ):
        reading = asyncio.create_task(arrivals.read(messages))
        await network.wait_for_peers(topic, timeout=PATIENCE)
        say("ready", id=network.id)
        await commands(arrivals.obey)
        reading.cancel()


def main() -> None:
    """Do what the command line says."""
    role, address, topic = sys.argv[1:]
    rumormill.run({"publisher": publish, "subscriber": subscribe}[role](address, topic))


if __name__ == "__main__":
    main()
