"""What goes over a link: packets in and out, and what those that come cost us."""

from __future__ import annotations

from collections.abc import Callable

from rumormill.bcos.node.link import Link
from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.wire.p2p_packet import (
    COMPRESSED,
    HEADER_SIZE,
    Module,
    P2PPacket,
    decode_p2p,
    encode_p2p,
)
from rumormill.bcos.wire.routed import ROUTED_MODULE
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import WORN_OUT
from rumormill.core.transport import RestTransport
from rumormill.core.turn import Turn

VERSION_AT = 4
"""Where the version begins, whose first bit says that the payload is compressed."""

KINDS = {Module.AMOP: "amop", Module.TOPIC: "topics", ROUTED_MODULE: "routed"}
"""What the modules of packets are called in trace events."""

UNREAD = 6.0
"""Microseconds that a packet of no use costs."""

UNREAD_BYTE = 0.002

SMALL_READ = 10.0
"""Microseconds for a few bytes of a packet that they do not finish."""

SMALL_READ_BYTES = 1024

LARGEST_KEPT = 1024 * 1024
"""Bytes of a payload that is kept for the next node that it may go to."""


class Traffic:
    """Reads and writes the packets of all links.

    ``take`` hears each packet; a :class:`RemoteProtocolError` of it is charged to the node.
    ``close`` ends a link.
    """

    def __init__(
        self,
        turn: Turn,
        parameters: NodeParameters,
        take: Callable[[Link, P2PPacket], None],
        close: Callable[[Link, str], None],
    ) -> None:
        self._turn = turn
        self._compress = parameters.compress
        self._largest = parameters.largest_packet
        self._take = take
        self._close = close
        self._last_packed: tuple[bytes | None, bytes] = (None, b"")
        """The last payload that was compressed, before and after."""
        self.unfinished = 0
        """Bytes of packets that are not whole yet, of all links."""

    # ---- in

    def read(self, link: Link, data: bytes) -> None:
        """Bytes came."""
        link.read_at = self._turn.now
        whole = False
        try:
            for raw in link.reader.feed(data):
                whole = True
                if not link.closing:
                    self._packet(link, raw)
        except RemoteProtocolError as error:
            self._broken(link, error)
            self._close(link, error.reason)
        if link.closing:
            return
        if not whole and len(data) < SMALL_READ_BYTES:
            self.charge(link, "pieces", SMALL_READ)
        self.unfinished += link.reader.buffered - link.unfinished
        link.unfinished = link.reader.buffered
        self._hold_back(link)

    def forget(self, link: Link) -> None:
        """A link is gone, and what was unfinished with it."""
        self.unfinished -= link.unfinished
        link.unfinished = 0

    def _packet(self, link: Link, raw: bytes) -> None:
        if not self._compress and raw[VERSION_AT] & COMPRESSED >> 8:
            self.useless(link, "compressed", len(raw))
            self._turn.trace(trace.IGNORED, peer=link.node, reason="compressed")
            return
        packet = decode_p2p(raw, self._largest)
        self._trace(trace.PACKET_RECEIVED, link, packet, len(raw))
        try:
            self._take(link, packet)
        except RemoteProtocolError as error:
            self.useless(link, error.reason, len(raw))
            self._broken(link, error)

    def _broken(self, link: Link, error: RemoteProtocolError) -> None:
        self._turn.trace(
            trace.PROTOCOL_ERROR, peer=link.node, reason=error.reason, detail=error.detail
        )

    # ---- what it costs

    def useless(self, link: Link, what: str, size: int) -> None:
        """A packet of ``size`` bytes was of no use to anybody."""
        self.charge(link, what, UNREAD + UNREAD_BYTE * size)

    def charge(self, link: Link, what: str, cost: float, *, blame: bool = True) -> None:
        """The node has made us do so many microseconds of work."""
        link.work.spend(what, cost, blame=blame)

    def _hold_back(self, link: Link) -> None:
        seconds = link.work.rest(self._turn.now)
        if seconds == WORN_OUT:
            detail = f"held back too long, mostly for {link.work.reason}"
            self._broken(link, RemoteProtocolError("too_much_work", detail))
            self._close(link, "too_much_work")
        elif seconds:
            self._turn.trace(
                trace.HELD_BACK, peer=link.node, reason=link.work.reason, seconds=seconds
            )
            self._turn.add(RestTransport(link.connection, seconds))

    # ---- out

    def write(self, link: Link, packet: P2PPacket) -> bool:
        """Send a packet; False, and a trace, if there is no room for it."""
        if HEADER_SIZE + len(packet.payload) > self._largest:
            reason = "too_large"
        elif link.outlet.write(raw := self._encoded(packet)):
            self._trace(trace.PACKET_SENT, link, packet, len(raw))
            return True
        else:
            reason = "closing" if link.closing else "queue_full"
        self._turn.trace(trace.DROPPED, peer=link.node, what="packet", reason=reason, count=1)
        return False

    def _trace(self, event: str, link: Link, packet: P2PPacket, size: int) -> None:
        self._turn.trace(
            event, peer=link.node, size=size, kind=KINDS.get(abs(packet.protocol), "other"),
            messages=int(packet.protocol == Module.AMOP),
        )  # fmt: skip

    def _encoded(self, packet: P2PPacket) -> bytes:
        """The packet as it travels; a payload that goes to many nodes is compressed once."""
        plain, packed = self._last_packed
        if plain is packet.payload:
            packet = packet._replace(payload=packed, version=packet.version | COMPRESSED)
            return encode_p2p(packet, compress=False)
        raw = encode_p2p(packet, self._compress)
        if raw[VERSION_AT] & COMPRESSED >> 8 and len(packet.payload) <= LARGEST_KEPT:
            self._last_packed = (packet.payload, raw[HEADER_SIZE:])
        return raw
