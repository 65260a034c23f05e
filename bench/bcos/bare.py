"""The bare path: the packets of two nodes and two SDKs over the same TLS, and nothing else.

python -m bench.bcos.bare TLS relay CERTIFICATES [NEXT]
python -m bench.bcos.bare TLS publisher CERTIFICATES RELAY PIPE
python -m bench.bcos.bare TLS subscriber CERTIFICATES RELAY PIPE

TLS is ``own`` or ``loop`` (:mod:`bench.bcos.bare_lines`). A relay cuts what it reads into packets
by their length and writes each to the other side. With NEXT it is the publisher's node: it dials
the next relay, and answers a multicast packet as a node does, with its copy.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import rumormill
from bench.bcos.bare_lines import LINES, Line, Packets, Turn
from bench.bcos.load import (
    SIZE,
    UNICAST_TOPIC,
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

HEAD = struct.Struct(f"!IH{36 + 1 + len(UNICAST_TOPIC)}x")
"""As long as the header of a channel packet with its topic: length, type, and what nobody reads."""
LENGTH = HEAD.size + SIZE
UNICAST, MULTICAST = 0x30, 0x35

MakeLine = Callable[[Packets], Line]


async def relay(line: MakeLine, folder: Path, following: str | None) -> None:
    """Pass packets on, from either side to the other."""

    def from_publisher(packet: bytes) -> None:
        if following is not None and packet[5] == MULTICAST:
            left.write(packet)
        right.write(packet)

    left = line(from_publisher)
    right = line(left.write)
    certificates = load_certificates(folder)
    server = tls_contexts.channel_server(certificates)
    addresses = [await left.listen(server)]
    if following is None:
        addresses.append(await right.listen(server))
    else:
        await right.dial(following, tls_contexts.p2p_client(certificates))
    say(event="ready", addresses=addresses)
    await asyncio.get_running_loop().create_future()


class BarePublisher:
    """Sends the next packet when an answer comes."""

    def __init__(self, line: MakeLine, turn: Turn, arrivals: Arrivals) -> None:
        self.line = line(self._answered)
        self._turn = turn
        self._arrivals = arrivals
        arrivals.on_arrival = self._arrived
        self._kind, self._left, self._free = UNICAST, 0, 0
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
        self._arrived()
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
        return self._kind == UNICAST or self._until - self._left - self._arrivals.count < WINDOW

    def _has_ended(self) -> bool:
        if self._kind == UNICAST:
            return not self._sent_at
        return not self._sent_at and self._arrivals.count == self._until

    def _arrived(self) -> None:
        self._send()
        self._turn.end()

    def _answered(self, packet: bytes) -> None:
        # In the order in which they were sent, as all have the same way.
        self._latencies.append((time.monotonic() - self._sent_at.popleft()) * 1e6)
        self._free += 1
        self._send()


async def publisher(line: MakeLine, turn: Turn, folder: Path, address: str, pipe: Path) -> None:
    """Send."""
    sender = BarePublisher(line, turn, Arrivals(pipe))
    await sender.line.dial(address, tls_contexts.sdk_client(load_certificates(folder)))
    await publish_as_told(sender)


async def subscriber(line: MakeLine, folder: Path, address: str, pipe: Path) -> None:
    """Send back what is unicast, count what is multicast."""
    arrived = Arrived(pipe)

    def on_packet(packet: bytes) -> None:
        if packet[5] == UNICAST:
            end.write(packet)
        else:
            arrived.add(age_us(packet, HEAD.size))

    end = line(on_packet)
    await end.dial(address, tls_contexts.sdk_client(load_certificates(folder)))
    await report_as_told(arrived)


async def serve(given: argparse.Namespace) -> None:
    """Be what the command line says."""
    turn = Turn()

    def line(on_packet: Packets) -> Line:
        return LINES[given.tls](turn, on_packet)

    if given.role == "relay":
        await relay(line, given.certificates, given.address)
    elif given.role == "publisher":
        await publisher(line, turn, given.certificates, given.address, given.pipe)
    else:
        await subscriber(line, given.certificates, given.address, given.pipe)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tls", choices=LINES)
    parser.add_argument("role", choices=["relay", "publisher", "subscriber"])
    parser.add_argument("certificates", type=Path)
    parser.add_argument("address", nargs="?")
    parser.add_argument("pipe", nargs="?", type=Path)
    rumormill.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
