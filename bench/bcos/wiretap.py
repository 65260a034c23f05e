"""Counts what two nodes say to each other, from outside: between their sockets, in TLS records.

A node writes each packet into a record of its own, so records are packets (a packet of more than
16 KiB is several), and TLS 1.2 with AES-GCM adds the same number of bytes to each.
"""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

RECORD_HEADER = 5
APPLICATION_DATA = 23
OVERHEAD = 8 + 16
"""The nonce and the tag of AES-GCM."""

PIECE = 1 << 16


class Traffic(NamedTuple):
    """Packets and their bytes, without what TLS adds."""

    packets: int = 0
    bytes: int = 0

    def since(self, earlier: Traffic) -> Traffic:
        """What was added.

        >>> Traffic(5, 100).since(Traffic(2, 60))
        Traffic(packets=3, bytes=40)
        """
        return Traffic(self.packets - earlier.packets, self.bytes - earlier.bytes)


class RecordCounter:
    """Finds the records in one direction of a connection.

    >>> counter = RecordCounter()
    >>> counter.feed(bytes.fromhex("16 0303 0001 00 17 0303 001d") + bytes(20))
    >>> counter.traffic
    Traffic(packets=0, bytes=0)
    >>> counter.feed(bytes(9))
    >>> counter.traffic
    Traffic(packets=1, bytes=5)
    """

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """More bytes went by."""
        data = self._rest + data
        start = 0
        while len(data) - start >= RECORD_HEADER:
            size = int.from_bytes(data[start + 3 : start + 5], "big")
            if len(data) - start < RECORD_HEADER + size:
                break
            if data[start] == APPLICATION_DATA:
                packets, total = self.traffic
                self.traffic = Traffic(packets + 1, total + size - OVERHEAD)
            start += RECORD_HEADER + size
        self._rest = data[start:]


class Wiretap:
    """Stands between two nodes: one dials it, and it dials the other."""

    def __init__(self, target: str) -> None:
        self._target = target.rsplit(":", 1)
        self._counters: list[RecordCounter] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._last = 0.0
        self._server: asyncio.Server | None = None
        self.address = ""
        """Where the one dials, once it was started."""

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = "{}:{}".format(*self._server.sockets[0].getsockname()[:2])

    async def close(self) -> None:
        """Hang up."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def traffic(self) -> Traffic:
        """All that went by so far, in both directions."""
        found = [counter.traffic for counter in self._counters]
        return Traffic(sum(each.packets for each in found), sum(each.bytes for each in found))

    async def quiet(self, seconds: float, after: Traffic, timeout: float) -> Traffic:
        """Wait until something more than ``after`` went by, and then nothing for a while."""
        async with asyncio.timeout(timeout):
            while self.traffic() == after or time.monotonic() - self._last < seconds:
                await asyncio.sleep(seconds / 4)
        return self.traffic()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        for source, target in ((reader, far_writer), (far_reader, writer)):
            counter = RecordCounter()
            self._counters.append(counter)
            self._tasks.append(asyncio.create_task(self._pass_on(source, target, counter)))

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, counter: RecordCounter
    ) -> None:
        while data := await source.read(PIECE):
            counter.feed(data)
            self._last = time.monotonic()
            target.write(data)
        target.close()
