"""Attacks a libp2p node with as many identities as wanted, all in this process.

python -m bench.siege.attackers.gossipsub ATTACK --target MULTIADDR --seconds S [--attackers N]

It speaks TCP, Noise, yamux and gossipsub with any node: ours, rust, js, go. Says when it begins,
and at its end one line of JSON: see :class:`~bench.siege.attackers.report.Report`. Who is dropped
comes back under a new name, a few times a second (``--reconnects``), as a real one would. On
loopback its connections come from several addresses of 127.0.0.0/8, as a real one's would.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Coroutine
from typing import Any

import rumormill
from bench.siege.attackers.arsenal import WEAPONS, Choice, Weapon, weapon
from bench.siege.attackers.link import Link
from bench.siege.attackers.report import Report, announce
from rumormill.libp2p.pubsub.topics.message_id import PROFILES
from rumormill.libp2p.stack.multiaddr import Multiaddr
from tests.helpers.libp2p.siege_payloads import TOPIC, Payload

DIALS = 32
"""At once."""
PER_ADDRESS = 16
"""Connections that come from one address."""
PATIENCE = 10.0
"""Seconds until the first connection must stand."""
NAMED = 64
"""Identities that are told at the end, at most."""


class Siege:
    """All connections of one attack."""

    def __init__(self, arguments: argparse.Namespace, weapon: Weapon) -> None:
        self.report = Report(arguments.attack, arguments.attackers)
        self._arguments = arguments
        self._weapon = weapon
        self._host, self._port = host_and_port(arguments.target)
        self._links: set[Link] = set()
        self._first_left = 0
        self._last_drop: float | None = None
        self._dials = asyncio.Semaphore(DIALS)
        self._begun = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._number = 0

    async def run(self) -> Report:
        """Attack for as long as was said."""
        accomplice = self._weapon.accomplice
        if accomplice is not None:
            self._start(self._open(Link(_Accomplice(), accomplice), counted=False))
        for _ in range(self._weapon.connections * self._arguments.attackers):
            self._start(self._open(self._weapon.make(self)))
        try:
            await asyncio.wait_for(self._begun.wait(), PATIENCE)
        except TimeoutError:
            self.report.ended("never_connected")
        else:
            await asyncio.sleep(self._arguments.seconds)
        return await self._stop()

    async def _stop(self) -> Report:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in list(self._links):
            link.close()
            self._count(link)
        report, begun = self.report, self.report.began
        if begun is not None and not self._first_left and self._last_drop is not None:
            report.dropped_after = round(self._last_drop - begun, 3)
        return report

    # ---- connections

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self, link: Link, *, counted: bool = True) -> None:
        if counted:
            self._links.add(link)
        async with self._dials:
            try:
                await asyncio.get_running_loop().create_connection(
                    lambda: link, self._host, self._port, local_addr=self._source()
                )
            except OSError as error:
                self.ended(link, type(error).__name__)

    def _source(self) -> tuple[str, int] | None:
        if not self._host.startswith("127."):
            return None
        number, self._number = self._number, self._number + 1
        return f"127.0.{number // PER_ADDRESS // 250}.{2 + number // PER_ADDRESS % 250}", 0

    async def _come_again(self) -> None:
        await asyncio.sleep(1 / self._arguments.reconnects)
        self.report.reconnects += 1
        link = self._weapon.make(self)
        link.first = False
        await self._open(link)

    def _count(self, link: Link) -> None:
        self._links.discard(link)
        self.report.sent_bytes += link.sent_bytes
        self.report.received_bytes += link.received_bytes

    # ---- what becomes of them

    def started(self, link: Link) -> None:
        """Its first byte of attack leaves."""
        link.started = True
        if link.first:
            self._first_left += 1
            if len(self.report.peers) < NAMED:
                self.report.peers.append(link.name)
        if not self._begun.is_set():
            self._begun.set()
            self.report.begin()
            announce(self.report.attack)
        if self._weapon.flood is None:
            self.report.units += 1

    def sent(self, payload: Payload) -> None:
        """A payload is on its way."""
        self.report.units += payload.units

    def ended(self, link: Link, reason: str) -> None:
        """The node closed it, or did not take it."""
        self.report.ended(reason)
        self._count(link)
        if not link.started:
            self.report.refused += 1
        elif link.first:
            self._first_left -= 1
            self._last_drop = time.monotonic()
        if self._arguments.reconnects:
            self._start(self._come_again())


class _Accomplice:
    """Nothing of it counts."""

    def started(self, link: Link) -> None:
        """Nor this."""

    def sent(self, payload: Payload) -> None:
        """Nor this."""

    def ended(self, link: Link, reason: str) -> None:
        """It was dropped: then there is nothing more to ask for."""


def host_and_port(target: str) -> tuple[str, int]:
    """Of a multiaddr.

    >>> host_and_port("/ip4/127.0.0.1/tcp/4001")
    ('127.0.0.1', 4001)
    """
    found = Multiaddr.parse(target)
    return found.host, found.port


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m bench.siege.attackers.gossipsub")
    parser.add_argument("attack", choices=list(WEAPONS))
    parser.add_argument("--target", required=True, help="the multiaddr of the node")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--attackers", type=int, default=1)
    parser.add_argument("--topic", default=TOPIC)
    parser.add_argument("--large", type=int, default=200_000, help="bytes, for iwant-large")
    parser.add_argument(
        "--message-id", choices=list(PROFILES), default="origin_bytes", help="for iwant-large"
    )
    parser.add_argument(
        "--wait", action="store_true", help="say when all is prepared, begin with a line of stdin"
    )
    parser.add_argument(
        "--reconnects", type=float, default=2.0, help="a second, of each; 0: never come again"
    )
    arguments = parser.parse_args()
    choice = Choice(arguments.topic, arguments.seconds, arguments.large, arguments.message_id)
    prepared = weapon(arguments.attack, choice)
    if arguments.wait:
        announce(arguments.attack, "prepared")
        sys.stdin.readline()
    # With the loop that the node has, too.
    report = rumormill.run(Siege(arguments, prepared).run())
    print(report.line(), flush=True)


if __name__ == "__main__":
    main()
