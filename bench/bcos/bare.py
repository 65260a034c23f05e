"""The bare path: the packets of two nodes and two SDKs over the same TLS, and nothing else.

python -m bench.bcos.bare relay CERTIFICATES [NEXT]
python -m bench.bcos.bare publisher CERTIFICATES RELAY PIPE
python -m bench.bcos.bare subscriber CERTIFICATES RELAY PIPE

A relay cuts what it reads into packets by their length and writes each to the other side, in a
write and so in a TLS record of its own. With NEXT it is the publisher's node: it dials the next
relay, and answers a multicast packet as a node does, with its copy. All on the event loop's own
TLS, with callbacks: less cannot be done in Python.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import rumormill
from bench.bcos.load import (
    SIZE,
    TOPIC,
    WINDOW,
    Arrivals,
    Arrived,
    age_us,
    message,
    publish_as_told,
    report_as_told,
    say,
)
from rumormill.bcos.live import tls_contexts
from rumormill.bcos.live.certificate_folder import load_certificates

HEAD = struct.Struct(f"!IH{36 + 1 + len(TOPIC)}x")
"""As long as the header of a channel packet with its topic: length, type, and what nobody reads."""
LENGTH = HEAD.size + SIZE
UNICAST, MULTICAST = 0x30, 0x35

HOST = "127.0.0.1"


class Line(asyncio.Protocol):
    """One connection: hands out each packet as it is whole."""

    def __init__(self, on_packet: Callable[[bytes], None]) -> None:
        self._on_packet = on_packet
        self._rest = b""
        self.write: Callable[[bytes], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Never more than a window is under way, so nobody has to be told to wait.
        self.write = cast(asyncio.Transport, transport).write

    def data_received(self, data: bytes) -> None:
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


async def listen(line: Line, folder: Path) -> str:
    """Wait for one connection; returns where."""
    loop = asyncio.get_running_loop()
    context = tls_contexts.channel_server(load_certificates(folder))
    server = await loop.create_server(lambda: line, HOST, 0, ssl=context, backlog=1)
    return "{}:{}".format(*server.sockets[0].getsockname()[:2])


async def dial(line: Line, folder: Path, address: str) -> None:
    """Connect."""
    certificates = load_certificates(folder)
    client = tls_contexts.sdk_client if certificates.role == "sdk" else tls_contexts.p2p_client
    host, port = address.rsplit(":", 1)
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: line, host, int(port), ssl=client(certificates))


# ---- the four


async def relay(folder: Path, following: str | None) -> None:
    """Pass packets on, from either side to the other."""

    def from_publisher(packet: bytes) -> None:
        if following is not None and packet[5] == MULTICAST:
            left.write(packet)
        right.write(packet)

    left = Line(from_publisher)
    right = Line(lambda packet: left.write(packet))
    addresses = [await listen(left, folder)]
    if following is None:
        addresses.append(await listen(right, folder))
    else:
        await dial(right, folder, following)
    say(event="ready", addresses=addresses)
    await asyncio.get_running_loop().create_future()


class BarePublisher:
    """Sends the next packet when an answer comes."""

    def __init__(self, arrivals: Arrivals) -> None:
        self.line = Line(self._answered)
        self._arrivals = arrivals
        arrivals.on_arrival = self._send
        self._kind, self._left, self._free, self._unarrived = UNICAST, 0, 0, 0
        self._until = 0
        self._sent_at: deque[float] = deque()
        self._latencies: list[float] = []
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def unicast(self, in_flight: int, count: int) -> list[float]:
        """So many round trips."""
        await self._run(UNICAST, in_flight, count)
        return self._latencies

    async def multicast(self, in_flight: int, count: int) -> None:
        """So many messages."""
        await self._run(MULTICAST, in_flight, count)

    async def _run(self, kind: int, in_flight: int, count: int) -> None:
        self._kind, self._left, self._free = kind, count, in_flight
        self._latencies = []
        self._until = self._arrivals.count + count
        self._done = asyncio.get_running_loop().create_future()
        self._send()
        await self._done

    def _send(self) -> None:
        while self._left and self._free and self._has_room():
            self._left -= 1
            self._free -= 1
            self._sent_at.append(time.monotonic())
            self.line.write(HEAD.pack(LENGTH, self._kind) + message())
        if not self._left and self._has_ended() and not self._done.done():
            self._done.set_result(None)

    def _has_room(self) -> bool:
        return self._kind == UNICAST or (self._until - self._left - self._arrivals.count < WINDOW)

    def _has_ended(self) -> bool:
        if self._kind == UNICAST:
            return not self._sent_at
        return not self._sent_at and self._arrivals.count == self._until

    def _answered(self, packet: bytes) -> None:
        # In the order in which they were sent, as all have the same way.
        self._latencies.append((time.monotonic() - self._sent_at.popleft()) * 1e6)
        self._free += 1
        self._send()


async def publisher(folder: Path, address: str, pipe: Path) -> None:
    """Send."""
    sender = BarePublisher(Arrivals(pipe))
    await dial(sender.line, folder, address)
    await publish_as_told(sender)


async def subscriber(folder: Path, address: str, pipe: Path) -> None:
    """Send back what is unicast, count what is multicast."""
    arrived = Arrived(pipe)

    def on_packet(packet: bytes) -> None:
        if packet[5] == UNICAST:
            line.write(packet)
        else:
            arrived.add(age_us(packet, HEAD.size))

    line = Line(on_packet)
    await dial(line, folder, address)
    await report_as_told(arrived)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=["relay", "publisher", "subscriber"])
    parser.add_argument("certificates", type=Path)
    parser.add_argument("address", nargs="?")
    parser.add_argument("pipe", nargs="?", type=Path)
    given = parser.parse_args()
    if given.role == "relay":
        rumormill.run(relay(given.certificates, given.address))
        return
    role = publisher if given.role == "publisher" else subscriber
    rumormill.run(role(given.certificates, given.address, given.pipe))


if __name__ == "__main__":
    main()
