"""Faces in datagrams: addresses that we dial, and those of strangers that speak to us.

A stranger's face appears with its first packet that can be read, and goes when it has been silent
for long. Nobody proves an address here: what a datagram says of where it comes from is all that
there is.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from random import Random
from typing import Final

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.faces import prices
from rumormill.ndn.faces.addresses import canonical, read_address, source_of
from rumormill.ndn.faces.datagram_face import DatagramFace
from rumormill.ndn.faces.intake import Intake
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.faces.register import Register
from rumormill.ndn.faces.toll import Toll
from rumormill.ndn.faces.traffic import TrafficReports
from rumormill.ndn.faces.transport_face import TransportFace

GIVES_WAY_AFTER: Final = 10.0
"""Seconds of silence after which a stranger's face may have to make room for another."""

_IDLE: Final = "idle"


class Datagrams:
    """All faces in datagrams; it knows who is known, for the gate."""

    intake: Intake
    toll: Toll

    def __init__(
        self,
        turn: Turn,
        parameters: FaceParameters,
        random: Random,
        alarm: Alarm,
        register: Register,
        reports: TrafficReports,
        *,
        strangers: bool,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._random = random
        self._register = register
        self._reports = reports
        self._strangers = strangers
        """Whether we listen to those that we did not dial."""
        self._by_address: dict[str, DatagramFace] = {}
        self._idle: OrderedDict[str, DatagramFace] = OrderedDict()
        """Those that go when they are silent; who spoke longest ago comes first."""
        self._count_of: Counter[str] = Counter()
        """How many of those there are, by source."""
        self._timers: Timers[str] = Timers(alarm)

    # ---- what the gate asks: see Acquaintances

    def source_of(self, peer: Peer) -> str:
        """What an address shares with others of the same owner."""
        return source_of(peer)

    def is_neighbour(self, peer: Peer) -> bool:
        """Whether we have dialed the address."""
        face = self._by_address.get(peer)
        return face is not None and bool(face.dialed)

    def is_known(self, peer: Peer, now: float) -> bool:
        """Whether there is a face."""
        return peer in self._by_address

    def vouched(self, peer: Peer, packet: bytes, now: float) -> bool:
        """Nothing in a packet of NDN shows who sent it."""
        return False

    # ---- come and go

    def dial(self, address: str, keep: bool) -> DatagramFace:
        """Speak to an address; nobody knows whether anybody is there.

        Raises :class:`LocalProtocolError` for a host's name: datagrams say where they come from by
        numbers, so a name must have been looked up.
        """
        peer = canonical(address)
        if read_address(peer).version is None or peer.startswith(("udp4:", "udp6:")):
            raise LocalProtocolError(
                f"cannot use the address {address!r}: its host must be looked up before"
            )
        face = self._by_address.get(peer)
        if face is None:
            face = self._new_face(peer)
            face.dialed = address
            self._appear(face)
        face.dialed = face.dialed or address
        if keep and not face.keep:
            face.keep = True
            self._idle.pop(peer)
            self._count_less(face)
        return face

    def _new_face(self, peer: Peer) -> DatagramFace:
        to_flush = self._register.to_flush
        return DatagramFace(self._turn, self._random, 0, peer, to_flush, self._parameters.mtu)

    def _appear(self, face: DatagramFace) -> None:
        face.id = self._register.new_id()
        face.up = True
        self._by_address[face.uri] = face
        self._idle[face.uri] = face
        self._count_of[face.source] += 1
        self._timers.at_latest(_IDLE, self._turn.now + self._parameters.udp_idle)
        self._register.add(face)
        self._register.came_up(face)

    def admit(self, face: TransportFace) -> bool:
        """A packet of a stranger can be read: whether there is room for its face."""
        if not isinstance(face, DatagramFace):
            return False
        reason = self._refuses(face)
        if reason:
            self._turn.trace(trace.CONNECTION_REFUSED, address=face.uri, reason=reason)
            self.toll.charge(face, reason, prices.REFUSED, False)
            return False
        self._appear(face)
        return True

    def _refuses(self, face: DatagramFace) -> str:
        if not self._strangers:
            return "not_dialed"
        if self._count_of[face.source] >= self._parameters.max_faces_of_owner:
            return "too_many_faces_of_owner"
        if len(self._idle) < self._parameters.max_udp_faces:
            return ""
        silent = next(iter(self._idle.values()))
        if self._turn.now - silent.heard_at < GIVES_WAY_AFTER:
            return "too_many_faces"
        self.close(silent, "gave_way")
        return ""

    def close(self, face: DatagramFace, reason: str) -> None:
        """Forget a face; if it speaks again, it is a new one."""
        if not face.up:
            return
        face.up = False
        del self._by_address[face.uri]
        if self._idle.pop(face.uri, None) is not None:
            self._count_less(face)
            if not self._idle:
                self._timers.cancel(_IDLE)
        self._register.went_down(face, reason)
        self._register.remove(face)

    def _count_less(self, face: DatagramFace) -> None:
        self._count_of[face.source] -= 1
        if not self._count_of[face.source]:
            del self._count_of[face.source]

    def stop(self) -> None:
        """Forget all, and listen to nobody any more."""
        self._strangers = False
        for face in list(self._by_address.values()):
            self.close(face, "shutdown")

    # ---- datagrams

    def received(self, peer: Peer, packet: bytes) -> None:
        """A datagram came."""
        gate = self.toll.gate
        if gate.alert and not gate.admits(peer, packet, self._turn.now):
            return
        face = self._by_address.get(peer)
        if face is None:
            if not self._strangers:
                self._turn.trace(trace.IGNORED, address=peer, reason="not_dialed")
                return
            face = self._new_face(peer)
        elif not face.keep:
            self._idle.move_to_end(peer)
        face.heard_at = self._turn.now
        face.in_bytes += len(packet)
        self.intake.packet(face, packet)
        if face.up:
            self._reports.busy(face)

    # ---- time

    def wake(self, now: float) -> None:
        """Forget who has been silent for too long."""
        if not self._timers.due(now):
            return
        limit = self._parameters.udp_idle
        while self._idle:
            oldest = next(iter(self._idle.values()))
            # Reckoned as the timer is: a difference of times may be a little less than the limit.
            if now < (until := oldest.heard_at + limit):
                self._timers.set(_IDLE, until)
                return
            self.close(oldest, "idle")

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "udp_faces": len(self._by_address),
            "udp_idle": len(self._idle),
            "udp_sources": len(self._count_of),
        }
