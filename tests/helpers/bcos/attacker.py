"""Somebody who speaks TLS to a node, and whatever else it likes."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from rumormill.bcos.live.tls_contexts import CIPHERS, CURVE
from rumormill.bcos.wire.channel_packet import (
    ChannelPacket,
    ChannelType,
    decode_channel,
    encode_channel,
)
from rumormill.bcos.wire.p2p_packet import P2PPacket, decode_p2p, encode_p2p
from rumormill.bcos.wire.topic_body import encode_body
from tests.helpers.live.siege import PATIENCE

LENGTH_SIZE = 4


def context_of(folder: Path | None, unit: str = "sdk") -> ssl.SSLContext:
    """That of a client with ``unit``.crt of a folder, or with none; it trusts everybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers(f"{CIPHERS['ec']}:{CIPHERS['rsa']}")
    context.set_ecdh_curve(CURVE)
    if folder is not None:
        context.load_cert_chain(folder / f"{unit}.crt", folder / f"{unit}.key")
    return context


class Attacker:
    """One connection, raw."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.address = "{}:{}".format(*writer.get_extra_info("sockname"))
        """What the node knows it by."""
        self._seqs = itertools.count(1)

    @classmethod
    async def connect(cls, address: str, context: ssl.SSLContext | None) -> Self:
        """Connect, and have the handshake done; without a context there is none."""
        host, _, port = address.rpartition(":")
        name = None if context is None else ""
        async with asyncio.timeout(PATIENCE):
            # A large limit: whether something is read is up to the test.
            return cls(
                *await asyncio.open_connection(
                    host, int(port), ssl=context, server_hostname=name, limit=1 << 20
                )
            )

    def write(self, *packets: bytes | ChannelPacket | P2PPacket) -> None:
        """Send bytes or packets, each in a write of its own; nobody waits until they have left."""
        for packet in packets:
            if isinstance(packet, ChannelPacket):
                packet = encode_channel(packet)
            elif isinstance(packet, P2PPacket):
                packet = encode_p2p(packet)
            self.writer.write(packet)

    def flood(self, packets: Iterable[bytes | ChannelPacket | P2PPacket]) -> None:
        """Send many packets at once."""
        self.writer.write(
            b"".join(
                encode_channel(packet)
                if isinstance(packet, ChannelPacket)
                else encode_p2p(packet)
                if isinstance(packet, P2PPacket)
                else packet
                for packet in packets
            )
        )

    async def left(self) -> None:
        """Wait until all that was written has left."""
        async with asyncio.timeout(PATIENCE):
            await self.writer.drain()

    async def channel_packet(self) -> ChannelPacket:
        """The next packet of a node's channel."""
        return decode_channel(await self._packet())

    async def p2p_packet(self) -> P2PPacket:
        """The next packet of a node to a node."""
        return decode_p2p(await self._packet())

    async def _packet(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            length = await self.reader.readexactly(LENGTH_SIZE)
            rest = int.from_bytes(length, "big") - LENGTH_SIZE
            return length + await self.reader.readexactly(rest)

    async def is_served(self) -> bool:
        """Whether a packet is answered, and nothing came before that answer."""
        body, number = encode_body("is anybody there", b""), next(self._seqs)
        self.write(ChannelPacket(ChannelType.MULTICAST, b"?%031d" % number, 0, body))
        answer = await self.channel_packet()
        return answer == ChannelPacket(ChannelType.RESPONSE, b"?%031d" % number, 0, body)

    async def is_closed(self) -> bool:
        """Wait until the other end has closed; what still comes is thrown away."""
        async with asyncio.timeout(PATIENCE):
            try:
                while await self.reader.read(1 << 16):
                    pass
            except (ConnectionError, ssl.SSLError):
                pass
        return True

    def cut(self) -> None:
        """Be gone at once."""
        self.writer.transport.abort()
