"""One connection to a node: handshake, heartbeat, and packets in and out."""

from __future__ import annotations

from typing import Final

from rumormill.bcos.links.outlet import Outlet
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.wire.channel_packet import (
    HEADER_SIZE,
    KINDS,
    MESSAGES,
    ChannelPacket,
    ChannelType,
    encode_channel,
)
from rumormill.bcos.wire.frames import FrameReader
from rumormill.bcos.wire.json_text import number_of, read_object, write_json
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Work
from rumormill.core.trace import DROPPED, PACKET_SENT
from rumormill.core.turn import Turn

LOWEST_PROTOCOL: Final = 1
HIGHEST_PROTOCOL: Final = 3
CLIENT_TYPE: Final = "rumormill"

HEARTBEAT: Final = b'{"heartBeat":0}'
HEARTBEAT_OF_PROTOCOL_1: Final = b"0"


class Connection:
    """A connection that stands. It can be used from the answer to its handshake on."""

    __slots__ = (
        "_beats", "_handshake", "_turn", "address", "asks_peers", "gone", "number", "opened_at",
        "outlet", "peer", "protocol", "read_at", "reader", "uuid", "work",
    )  # fmt: skip

    def __init__(
        self, turn: Turn, number: int, address: str, peer: str, parameters: SdkParameters
    ) -> None:
        self._turn = turn
        self._handshake = b""
        self._beats = 0
        """Heartbeats without an answer."""
        self.number = number
        self.address = address
        """What was dialed."""
        self.peer = peer
        """The node's id; its address, if it has none."""
        self.protocol = 0
        """What was agreed on; 0 before that."""
        self.outlet = Outlet(turn, number, parameters.sdk_queue_bytes)
        self.reader = FrameReader(HEADER_SIZE, parameters.largest_sdk_packet)
        self.work = Work(parameters.work_limits, turn.now)
        """What it made us do for nothing."""
        self.opened_at = self.read_at = turn.now
        self.gone = False
        self.uuid = ""
        """What makes the names of our VerifyChannels on it unlike all others."""
        self.asks_peers: bool | None = False
        """How it tells who listens to a topic: by our own question, by its list of peers (True),
        or not at all (None)."""

    @property
    def up(self) -> bool:
        """Whether the node has answered the handshake."""
        return self.protocol > 0 and not self.gone

    def send(self, kind: int, seq: bytes, data: bytes, result: int = 0) -> bool:
        """Write a packet; False if there is no room for it, which is counted."""
        raw = encode_channel(ChannelPacket(kind, seq, result, data))
        if self.outlet.write(raw):
            self.trace_packet(PACKET_SENT, kind, len(raw))
            return True
        self._turn.trace(DROPPED, peer=self.peer, what="packet", reason="queue_full", count=1)
        return False

    def trace_packet(self, event: str, kind: int, size: int) -> None:
        """A packet came, or has left."""
        self._turn.trace(
            event, peer=self.peer, size=size, kind=KINDS.get(kind, "other"),
            messages=int(kind in MESSAGES),
        )  # fmt: skip

    def begin(self, seq: bytes) -> None:
        """Ask for the handshake; the answer has this seq."""
        self._handshake = seq
        proposal = {
            "minimumSupport": LOWEST_PROTOCOL,
            "maximumSupport": HIGHEST_PROTOCOL,
            "clientType": CLIENT_TYPE,
        }
        self.send(ChannelType.HANDSHAKE, seq, write_json(proposal))

    def take_handshake(self, packet: ChannelPacket) -> bool:
        """Whether the packet is the answer to the handshake; then the connection is up."""
        if packet.type != ChannelType.HANDSHAKE or packet.seq != self._handshake:
            return False
        protocol = number_of(read_object(packet.data), "protocol")
        if not LOWEST_PROTOCOL <= protocol <= HIGHEST_PROTOCOL:
            raise RemoteProtocolError("unknown_protocol", f"the node wants protocol {protocol}")
        self.protocol = protocol
        return True

    def beat(self, seq: bytes) -> None:
        """Send a heartbeat, unless much waits to be written, which says as much."""
        if self.outlet.free:
            body = HEARTBEAT if self.protocol > 1 else HEARTBEAT_OF_PROTOCOL_1
            self._beats += self.send(ChannelType.HEARTBEAT, seq, body)

    def take_beat(self) -> bool:
        """The node has answered a heartbeat; False if there was none."""
        if self._beats == 0:
            return False
        self._beats -= 1
        return True
