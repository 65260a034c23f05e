"""Attacks the HTTP side of a node, with many connections and without a token.

python -m bench.siege.attackers.http ATTACK --target http://HOST:PORT --seconds S [--attackers N]

Says when it begins, and at its end one line of JSON: see
:class:`~bench.siege.attackers.report.Report`. Who is closed, refused or answered comes back, a few
times a second (``--reconnects``), as a real one would. On loopback its connections come from
several addresses of 127.0.0.0/8, as a real one's would.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import pyarrow as pa

import rumormill
from bench.siege.attackers.report import Report, announce
from rumormill.node.rows import BATCH_SCHEMA

DIALS = 32
"""At once."""
PER_ADDRESS = 50
"""Connections that come from one address."""
PATIENCE = 10.0
"""Seconds until the first connection must stand."""

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"


@dataclass(frozen=True)
class Weapon:
    """What each connection sends, once; then it waits for what the node does."""

    data: bytes
    connections: int
    """For each attacker."""


def request(host: str, path: str, content_type: str, length: int) -> bytes:
    """The header of a POST."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def _silent(host: str) -> Weapon:
    return Weapon(b"", 1000)


def _half_header(host: str) -> Weapon:
    return Weapon(request(host, "/v1/publish", JSON, 100)[:-2], 1000)


def _half_body(host: str) -> Weapon:
    """Most of a megabyte: what is kept of it is the node's memory."""
    body = b'{"topic": "siege", "data": "'.ljust(900_000, b"x")
    return Weapon(request(host, "/v1/publish", JSON, 1_000_000) + body, 300)


def _nested_json(host: str) -> Weapon:
    body = b'{"topic": ' + b'{"a": [' * 100_000
    return Weapon(request(host, "/v1/publish", JSON, len(body)) + body, 20)


def _compressed_batch(host: str) -> Weapon:
    """Half a megabyte that would be four thousand times as much."""
    rows = [{"topic": "siege", "value": bytes(1 << 20)}] * 64
    batch = pa.RecordBatch.from_pylist(rows, BATCH_SCHEMA)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, BATCH_SCHEMA, options=options) as writer:
        for _ in range(32):
            writer.write_batch(batch)
    body = bytes(sink.getvalue())
    return Weapon(request(host, "/v1/publish/batch?key=siege", ARROW, len(body)) + body, 20)


WEAPONS: dict[str, Callable[[str], Weapon]] = {
    "silent": _silent,
    "half-header": _half_header,
    "half-body": _half_body,
    "nested-json": _nested_json,
    "compressed-batch": _compressed_batch,
}
"""By the names that the command line knows."""


class Link(asyncio.Protocol):
    """One connection: it sends what it has, and sees what becomes of it."""

    def __init__(self, siege: Siege, data: bytes, first: bool) -> None:
        self.transport: asyncio.Transport | None = None
        self.first = first
        self.received_bytes = 0
        self._siege = siege
        self._data = data
        self._status = ""
        self._over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send everything at once."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._data)
        self._siege.started(self, len(self._data))

    def data_received(self, data: bytes) -> None:
        """It was answered: that is all that there is to get."""
        self.received_bytes += len(data)
        if not self._status:
            self._status = data[:16].split()[1].decode()
        if b'{"error"' in data:
            self.end(self._status)

    def connection_lost(self, error: Exception | None) -> None:
        """The node closed it."""
        self.end(self._status or ("reset" if error else "closed"))

    def end(self, reason: str) -> None:
        """It is over."""
        if not self._over:
            self._over = True
            self.close()
            self._siege.ended(self, reason)

    def close(self) -> None:
        """Let go of the socket."""
        self._over = True
        if self.transport is not None:
            self.transport.abort()


class Siege:
    """All connections of one attack."""

    def __init__(self, arguments: argparse.Namespace, weapon: Weapon) -> None:
        self.report = Report(arguments.attack, arguments.attackers)
        self._arguments = arguments
        self._weapon = weapon
        target = urlsplit(arguments.target)
        assert target.hostname is not None and target.port is not None
        self._host, self._port = target.hostname, target.port
        self._links: set[Link] = set()
        self._first_left = 0
        self._last_drop: float | None = None
        self._dials = asyncio.Semaphore(DIALS)
        self._begun = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._number = 0

    async def run(self) -> Report:
        """Attack for as long as was said."""
        for _ in range(self._weapon.connections * self._arguments.attackers):
            self._start(self._open(first=True))
        try:
            await asyncio.wait_for(self._begun.wait(), PATIENCE)
        except TimeoutError:
            self.report.ended("never_connected")
        else:
            await asyncio.sleep(self._arguments.seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in list(self._links):
            link.close()
            self._count(link)
        report = self.report
        if report.began is not None and not self._first_left and self._last_drop is not None:
            report.dropped_after = round(self._last_drop - report.began, 3)
        return report

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self, *, first: bool) -> None:
        link = Link(self, self._weapon.data, first)
        async with self._dials:
            try:
                await asyncio.get_running_loop().create_connection(
                    lambda: link, self._host, self._port, local_addr=self._source()
                )
            except OSError as error:
                self.report.refused += 1
                self.report.ended(type(error).__name__)
                self._come_again()

    def _source(self) -> tuple[str, int] | None:
        if not self._host.startswith("127."):
            return None
        number, self._number = self._number, self._number + 1
        return f"127.0.{number // PER_ADDRESS // 250 % 250}.{2 + number // PER_ADDRESS % 250}", 0

    def _come_again(self) -> None:
        async def later() -> None:
            await asyncio.sleep(1 / self._arguments.reconnects)
            self.report.reconnects += 1
            await self._open(first=False)

        if self._arguments.reconnects:
            self._start(later())

    def _count(self, link: Link) -> None:
        self._links.discard(link)
        self.report.received_bytes += link.received_bytes

    # ---- what becomes of them

    def started(self, link: Link, size: int) -> None:
        """It stands, and has sent."""
        self._links.add(link)
        self.report.units += 1
        self.report.sent_bytes += size
        self._first_left += link.first
        if not self._begun.is_set():
            self._begun.set()
            self.report.begin()
            announce(self.report.attack)

    def ended(self, link: Link, reason: str) -> None:
        """The node closed it, or answered."""
        self.report.ended(reason)
        self._count(link)
        if link.first:
            self._first_left -= 1
            self._last_drop = time.monotonic()
        self._come_again()


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m bench.siege.attackers.http")
    parser.add_argument("attack", choices=list(WEAPONS))
    parser.add_argument("--target", required=True, help="as http://127.0.0.1:7700")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--attackers", type=int, default=1)
    parser.add_argument(
        "--reconnects", type=float, default=2.0, help="a second, of each; 0: never come again"
    )
    arguments = parser.parse_args()
    prepared = WEAPONS[arguments.attack](urlsplit(arguments.target).netloc)
    report = rumormill.run(Siege(arguments, prepared).run())
    print(report.line(), flush=True)


if __name__ == "__main__":
    main()
