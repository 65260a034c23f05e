"""Somebody who reaches a forwarder, and sends it whatever it likes."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections import deque
from collections.abc import Iterable
from typing import Self

from rumormill.ndn.faces.addresses import read_address
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import ControlParameters, encode_command
from rumormill.ndn.wire.data import DATA, Data, decode_data, encode_data
from rumormill.ndn.wire.interest import Interest, decode_interest, encode_interest
from rumormill.ndn.wire.link import LINK_PACKET, LinkPacket, decode_link, encode_link
from rumormill.ndn.wire.name import Name, name_from_uri
from rumormill.ndn.wire.notify import NotifyParameters, encode_notify, notify_name
from rumormill.ndn.wire.stream import Packets
from tests.helpers.live.siege import PATIENCE

SIGNER = DigestSigner()

_numbers = itertools.count(1)


def fresh() -> bytes:
    """Four bytes that were not used before."""
    return next(_numbers).to_bytes(4, "big")


# ---- packets


def interest(name: str | Name, *, nonce: bytes = b"", lifetime: int = 4000) -> bytes:
    """An Interest, of a nonce of its own if none is given."""
    name = name_from_uri(name) if isinstance(name, str) else name
    return encode_interest(name, nonce=nonce or fresh(), lifetime=lifetime).raw


def data(name: str | Name, content: bytes | None = b"a lie") -> bytes:
    """A Data with a good digest."""
    name = name_from_uri(name) if isinstance(name, str) else name
    return encode_data(name, content, SIGNER).raw


def nack(name: str, reason: int = 150) -> bytes:
    """A Nack for an Interest."""
    return encode_link(interest(name), nack=reason)


def notify(topic: str, publisher: str, nonce: bytes = b"", hint: str = "") -> bytes:
    """A notification of a message that may not exist."""
    parameters = NotifyParameters(
        name_from_uri(publisher), nonce or fresh(), name_from_uri(hint) if hint else None
    )
    return encode_interest(
        notify_name(name_from_uri(topic)), nonce=fresh(), lifetime=1000,
        parameters=encode_notify(parameters), signer=SIGNER,
    ).raw  # fmt: skip


def command(verb: str, parameters: ControlParameters, scope: str = "localhost") -> bytes:
    """A command to the forwarder, such as ``rib/register``."""
    return encode_command(
        name_from_uri(f"/{scope}/nfd/{verb}"), parameters, form="v0.3", nonce=fresh(),
        timestamp_ms=next(_numbers), random_bytes=fresh() * 2, signer=SIGNER,
    ).raw  # fmt: skip


def registration(prefix: str, cost: int = 0, scope: str = "localhost") -> bytes:
    """A command that wants a route."""
    return command("rib/register", ControlParameters(name_from_uri(prefix), cost=cost), scope)


Packet = Interest | Data | LinkPacket


def read(raw: bytes) -> Packet:
    """A packet that the forwarder has sent; of a Nack, the link packet."""
    if raw[0] == LINK_PACKET:
        link = decode_link(raw)
        return link if link.nack is not None else read(link.fragment)
    return decode_data(raw) if raw[0] == DATA else decode_interest(raw)


# ---- connections


class Attacker:
    """One connection over TCP or a Unix socket, raw."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.called = ""
        """What the node calls it."""
        self._packets = Packets()
        self._found: deque[bytes] = deque()

    @classmethod
    async def connect(cls, address: str, host: str | None = None) -> Self:
        """Connect, over TCP from ``host``, if one is given."""
        place = read_address(address)
        async with asyncio.timeout(PATIENCE):
            if place.scheme == "unix":
                return cls(*await asyncio.open_unix_connection(place.host))
            local = (host, 0) if host else None
            self = cls(*await asyncio.open_connection(place.host, place.port, local_addr=local))
        self.called = "tcp://{}:{}".format(*self.writer.get_extra_info("sockname"))
        return self

    def write(self, *packets: bytes) -> None:
        """Send bytes, each in a write of its own; nobody waits until they have left."""
        for packet in packets:
            self.writer.write(packet)

    def flood(self, packets: Iterable[bytes]) -> None:
        """Send many packets at once."""
        self.writer.write(b"".join(packets))

    async def left(self) -> None:
        """Wait until all that was written has left, or nobody wants it."""
        async with asyncio.timeout(PATIENCE):
            try:
                await self.writer.drain()
            except ConnectionError:
                self.cut()

    async def packet(self) -> Packet:
        """The next packet of the forwarder."""
        async with asyncio.timeout(PATIENCE):
            while not self._found:
                raw = await self.reader.read(1 << 16)
                if not raw:
                    raise ConnectionError("it was closed")
                self._found.extend(self._packets.feed(raw))
        return read(self._found.popleft())

    async def answered(self, question: bytes) -> Data:
        """Send an Interest, and wait for its Data; what else comes is thrown away."""
        name = decode_interest(question).name
        self.write(question)
        while True:
            packet = await self.packet()
            if isinstance(packet, Data) and packet.name.startswith(name):
                return packet

    async def is_served(self) -> bool:
        """Whether a command is answered."""
        return bool(await self.answered(registration("/is/anybody/there")))

    async def is_closed(self) -> bool:
        """Wait until the other end has closed; what still comes is thrown away."""
        async with asyncio.timeout(PATIENCE):
            try:
                while await self.reader.read(1 << 16):
                    pass
            except ConnectionError:
                pass
        return True

    def cut(self) -> None:
        """Be gone at once."""
        self.writer.transport.abort()


class DatagramAttacker:
    """One UDP socket, raw."""

    def __init__(self, address: str, host: str = "127.0.0.1") -> None:
        place = read_address(address)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._socket.connect((place.host, place.port))
        self._socket.setblocking(False)
        self.called = "udp://{}:{}".format(*self._socket.getsockname())
        """What the node calls it."""

    def write(self, *packets: bytes) -> None:
        """Send datagrams; those that the system does not take are lost."""
        for packet in packets:
            try:
                self._socket.send(packet)
            except (BlockingIOError, ConnectionError):
                return

    async def flood(self, packets: Iterable[bytes], at_once: int = 50) -> None:
        """Send many, so many between two turns of the others."""
        coming = iter(packets)
        while batch := list(itertools.islice(coming, at_once)):
            self.write(*batch)
            await asyncio.sleep(0)

    def cut(self) -> None:
        """Be gone at once."""
        self._socket.close()
