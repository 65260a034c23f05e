"""Connections of the bare path: packets over TLS, in two ways.

``LoopLine`` has the event loop's own TLS and a write for each packet, as one would write it first.
``OwnLine`` drives the TLS library itself and sends what was encrypted in one turn at once, which is
several times as cheap: less can hardly be done in Python. In both a packet is a TLS record.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from typing import cast

RECORD = 1 << 14
"""Bytes that are read at once: more than a record never comes."""

HOST = "127.0.0.1"

Packets = Callable[[bytes], None]


class Turn:
    """What is written while something is served leaves at the end of it."""

    def __init__(self) -> None:
        self._unsent: list[OwnLine] = []

    def add(self, line: OwnLine) -> None:
        """The line has something to send."""
        self._unsent.append(line)

    def end(self) -> None:
        """Send."""
        unsent, self._unsent = self._unsent, []
        for line in unsent:
            line.flush()


class Line(asyncio.Protocol):
    """One connection: hands out each packet as it is whole."""

    _transport: asyncio.Transport

    def __init__(self, turn: Turn, on_packet: Packets) -> None:
        self._turn = turn
        self._on_packet = on_packet
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Never more than a window is under way, so nobody has to be told to wait.
        self._transport = cast(asyncio.Transport, transport)

    def write(self, packet: bytes) -> None:
        """Write a packet, as a record of its own."""
        self._transport.write(packet)

    def take(self, data: bytes) -> None:
        """Bytes of the other end, decrypted."""
        for packet in self._packets(self._rest + data if self._rest else data):
            self._on_packet(packet)

    def _packets(self, data: bytes) -> Iterator[bytes]:
        start, size = 0, len(data)
        while size - start >= 4:
            length = int.from_bytes(data[start : start + 4], "big")
            if size - start < length:
                break
            yield data[start : start + length] if length != size else data
            start += length
        self._rest = data[start:]

    async def listen(self, context: ssl.SSLContext) -> str:
        """Wait for one connection; returns where."""
        raise NotImplementedError

    async def dial(self, address: str, context: ssl.SSLContext) -> None:
        """Connect."""
        raise NotImplementedError


class LoopLine(Line):
    """With the event loop's TLS."""

    def data_received(self, data: bytes) -> None:
        self.take(data)

    async def listen(self, context: ssl.SSLContext) -> str:
        """See :class:`Line`."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: self, HOST, 0, ssl=context)
        return "{}:{}".format(*server.sockets[0].getsockname()[:2])

    async def dial(self, address: str, context: ssl.SSLContext) -> None:
        """See :class:`Line`."""
        host, port = address.rsplit(":", 1)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, host, int(port), ssl=context)


class OwnLine(Line):
    """With TLS between two queues of bytes."""

    _ssl: ssl.SSLObject

    def __init__(self, turn: Turn, on_packet: Packets) -> None:
        super().__init__(turn, on_packet)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._up = asyncio.get_running_loop().create_future()
        self._waits = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._shake()

    def data_received(self, data: bytes) -> None:
        incoming, read = self._incoming, self._ssl.read
        incoming.write(data)
        if not self._up.done():
            self._shake()
            return
        pieces = []
        while incoming.pending:
            try:
                pieces.append(read(RECORD))
            except ssl.SSLWantReadError:
                break
        self.take(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        self._turn.end()

    def write(self, packet: bytes) -> None:
        """See :class:`Line`; it leaves at the end of the turn."""
        self._ssl.write(packet)
        if not self._waits:
            self._waits = True
            self._turn.add(self)

    def flush(self) -> None:
        """Send what was encrypted."""
        self._waits = False
        self._transport.write(self._outgoing.read())

    def _shake(self) -> None:
        try:
            self._ssl.do_handshake()
            self._up.set_result(None)
        except ssl.SSLWantReadError:
            pass
        if self._outgoing.pending:
            self.flush()

    async def listen(self, context: ssl.SSLContext) -> str:
        """See :class:`Line`."""
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        server = await asyncio.get_running_loop().create_server(lambda: self, HOST, 0)
        return "{}:{}".format(*server.sockets[0].getsockname()[:2])

    async def dial(self, address: str, context: ssl.SSLContext) -> None:
        """See :class:`Line`."""
        self._ssl = context.wrap_bio(self._incoming, self._outgoing)
        host, port = address.rsplit(":", 1)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, host, int(port))
        await self._up


LINES: dict[str, type[Line]] = {"loop": LoopLine, "own": OwnLine}
