"""What comes in by faces: packets are read, and handed to whom they are for.

A packet that cannot be read costs who sent it, and nothing else happens: the next one may be good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces import prices
from rumormill.ndn.faces.face import NO_TOKEN, PacketSink
from rumormill.ndn.faces.fragments import Reassembly
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.faces.transport_face import TransportFace
from rumormill.ndn.wire.data import DATA, decode_data
from rumormill.ndn.wire.interest import INTEREST, decode_interest
from rumormill.ndn.wire.link import LINK_PACKET, decode_link

Admit = Callable[[TransportFace], bool]
Charge = Callable[[TransportFace, str, float, bool], None]

EMPTY_LINK_PACKET: Final = "empty_link_packets"
INCOMPLETE: Final = "incomplete_packets"


class Intake:
    """Reads the packets of all faces.

    ``sink`` gets them; a :class:`RemoteProtocolError` that it raises is charged to the face, as if
    the packet could not be read. ``admit`` is asked about a face that is not up, when its first
    packet can be read; ``charge`` hears what a face made us do for nothing, and whether it is to
    blame.
    """

    def __init__(
        self,
        turn: Turn,
        sink: PacketSink,
        parameters: FaceParameters,
        alarm: Alarm,
        admit: Admit,
        charge: Charge,
    ) -> None:
        self._turn = turn
        self._sink = sink
        self._admit = admit
        self._charge = charge
        self.reassembly = Reassembly(parameters, alarm, self._incomplete)

    def packet(self, face: TransportFace, raw: bytes) -> None:
        """Read one packet."""
        try:
            kind = raw[0] if raw else 0
            if kind == INTEREST:
                interest = decode_interest(raw)
                if face.up or self._admit(face):
                    face.in_interests += 1
                    self._sink.interest(face, interest, NO_TOKEN)
            elif kind == LINK_PACKET:
                self._link_packet(face, raw)
            elif kind == DATA:
                data = decode_data(raw)
                if face.up or self._admit(face):
                    face.in_data += 1
                    self._sink.data(face, data, NO_TOKEN)
            else:
                raise RemoteProtocolError("bad_packet", f"no packet begins with {kind}")
        except RemoteProtocolError as error:
            self.unreadable(face, error, len(raw))

    def _link_packet(self, face: TransportFace, raw: bytes) -> None:
        link = decode_link(raw)
        packet, token, nack = link.fragment, link.token, link.nack
        if link.count > 1:
            whole = self.reassembly.add(face, link, self._turn.now)
            if whole is None:
                return
            packet, token, nack = whole
        kind = packet[0] if packet else 0
        if kind == INTEREST:
            interest = decode_interest(packet)
            if not face.up and not self._admit(face):
                return
            if nack is None:
                face.in_interests += 1
                self._sink.interest(face, interest, token)
            else:
                face.in_nacks += 1
                self._sink.nack(face, interest, nack, token)
        elif kind == DATA and nack is None:
            data = decode_data(packet)
            if face.up or self._admit(face):
                face.in_data += 1
                self._sink.data(face, data, token)
        elif packet:
            raise RemoteProtocolError("bad_packet", f"a link packet with the type {kind} in it")
        else:
            self._charge(face, EMPTY_LINK_PACKET, prices.EMPTY, False)

    def unreadable(self, face: TransportFace, error: RemoteProtocolError, size: int) -> None:
        """A face has sent what cannot be read: tell of it, and charge it."""
        self._turn.trace(
            trace.PROTOCOL_ERROR,
            peer=face.node,
            address=face.uri,
            reason=error.reason,
            detail=error.detail,
        )
        self._charge(face, error.reason, prices.junk(size), True)

    def _incomplete(self, face: TransportFace, reason: str, count: int) -> None:
        face.lose("fragments", reason, count)
        self._charge(face, INCOMPLETE, prices.FRAGMENT * count, False)
