"""Connections to an HTTP side, byte by byte: for what no HTTP client would send."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

PATIENCE = 30.0


class Answer(NamedTuple):
    status: int
    body: dict[str, Any]


class RawClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, address: str, source: str = "127.0.0.1") -> RawClient:
        """From this address, of those of loopback."""
        host, _, port = address.removeprefix("http://").rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port), local_addr=(source, 0)))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> Answer:
        """The next answer."""
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.lower().split("\r\n")
            lengths = [line.split(":")[1] for line in lines if line.startswith("content-length")]
            body = await self.reader.readexactly(int(lengths[0]))
        return Answer(int(head.split()[1]), json.loads(body))

    async def closed(self) -> bytes:
        """Wait until the node closes it; what it said before."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    def close(self) -> None:
        self.writer.transport.abort()


def header(method: str, path: str, **fields: str) -> bytes:
    """A header, whole."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
