"""Faces on byte streams: connections that we dial, and those of others that come in."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.targets import Targets
from rumormill.core.timers import Alarm, Timers
from rumormill.core.transport import CloseTransport, TransportOpened
from rumormill.core.turn import Turn
from rumormill.core.words import in_words
from rumormill.ndn.faces import prices
from rumormill.ndn.faces.addresses import canonical, source_of
from rumormill.ndn.faces.intake import Intake
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.faces.register import Register
from rumormill.ndn.faces.stream_face import StreamFace
from rumormill.ndn.faces.toll import Toll
from rumormill.ndn.faces.traffic import TrafficReports

PIECES: Final = "pieces"

TOO_SLOW: Final = "too_slow"
SILENT: Final = "silent"

CLOSED_BY_US: Final = "it was closed by us"


class Streams:
    """All connections. Timers have the number of a connection as their key."""

    def __init__(
        self,
        turn: Turn,
        parameters: FaceParameters,
        random: Random,
        alarm: Alarm,
        register: Register,
        intake: Intake,
        toll: Toll,
        reports: TrafficReports,
        *,
        strangers: bool,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._random = random
        self._register = register
        self._intake = intake
        self._toll = toll
        self._reports = reports
        self._strangers = strangers
        """Whether others may connect to us."""
        self._by_connection: dict[int, StreamFace] = {}
        self._dialed: dict[str, StreamFace] = {}
        """By the address as it was dialed; not all of them are up."""
        self._accepted = 0
        self._accepted_of: Counter[str] = Counter()
        """Connections that others have opened: in all, and by source."""
        self._stopped = False
        self._slow_bytes = 0
        """Bytes that wait for connections that are slow."""
        self._timers: Timers[int] = Timers(alarm)
        self.targets = Targets(turn, parameters, random, alarm)

    # ---- dialing

    def dial(self, address: str, keep: bool) -> StreamFace:
        """Connect to an address; the face may be up already, or when it is reached."""
        face = self._face_to(address)
        self.targets.want(address, keep, face.peer if face.up else None)
        return face

    def _face_to(self, address: str) -> StreamFace:
        """The face of an address that is dialed; of one that was lost, a new one."""
        face = self._dialed.get(address)
        if face is None:
            face = self._dialed[address] = self._new_face(canonical(address))
            face.dialed = address
            self._register.add(face)
        return face

    def failed(self, dial: int, reason: str) -> None:
        """A connection came to nothing."""
        self.targets.transport_failed(dial, reason)
        self._forget_unwanted()

    def _forget_unwanted(self) -> None:
        """Forget faces that never came up, and that nobody tries to reach any more."""
        for address, face in list(self._dialed.items()):
            if not face.up and address not in self.targets:
                del self._dialed[address]
                self._register.remove(face)

    # ---- opening

    def opened(self, event: TransportOpened) -> None:
        """A connection stands."""
        if event.dial is None:
            self._accept(event)
            return
        address = self.targets.opened(event.dial)
        if address is None:
            self._turn.add(CloseTransport(event.connection, "not_wanted"))
            return
        face = self._face_to(address)
        self._open(face, event)
        self.targets.reached(address, face.peer)

    def _accept(self, event: TransportOpened) -> None:
        source = source_of(event.address)
        parameters = self._parameters
        reason = ""
        if not self._strangers or self._stopped:
            reason = "not_wanted"
        elif self._accepted >= parameters.max_faces:
            reason = "too_many_faces"
        elif self._accepted_of[source] >= parameters.max_faces_of_owner:
            reason = "too_many_faces_of_owner"
        if reason:
            self._turn.trace(trace.CONNECTION_REFUSED, address=event.address, reason=reason)
            self._turn.add(CloseTransport(event.connection, reason))
            return
        face = self._new_face(event.address)
        self._accepted += 1
        self._accepted_of[source] += 1
        self._register.add(face)
        self._open(face, event)
        self._timers.set(event.connection, self._turn.now + parameters.silent_timeout)

    def _new_face(self, uri: str) -> StreamFace:
        return StreamFace(
            self._turn, self._random, self._register.new_id(), uri, self._register.to_flush,
            self._parameters.face_queue_bytes,
        )  # fmt: skip

    def _open(self, face: StreamFace, event: TransportOpened) -> None:
        work = self._toll.account_of(source_of(event.address))
        face.open(event.connection, event.address, work)
        self._by_connection[event.connection] = face
        self._register.came_up(face)

    # ---- bytes

    def received(self, connection: int, data: bytes) -> None:
        """Bytes came; none at all when a rest is over."""
        face = self._by_connection.get(connection)
        if face is None or not data:
            return
        face.in_bytes += len(data)
        self._reports.busy(face)
        packet = self._intake.packet
        try:
            found = face.packets.feed(data)
            for raw in found:
                packet(face, raw)
                if not face.up:
                    return
            face.packets.feed(b"")  # raises what is wrong behind those packets
        except RemoteProtocolError as error:
            self._intake.unreadable(face, error, len(data))
            self.close(face, error.reason)
            return
        if not found and len(data) < prices.SMALL_READ_BYTES:
            self._toll.charge(face, PIECES, prices.SMALL_READ, True)
        if face.charged:
            self._toll.collect(face)

    def write_ready(self, connection: int, ready: bool) -> None:
        """A connection is full, or has room again."""
        face = self._by_connection.get(connection)
        if face is None:
            return
        face.set_ready(ready)
        if not ready:
            self._timers.at_latest(connection, self._turn.now + self._parameters.stall_timeout)
        self.count_slow(face)

    def count_slow(self, face: StreamFace) -> None:
        """Something waits for a connection, or does not wait any more."""
        slow = face.waiting if face.full_since is not None else 0
        self._slow_bytes += slow - face.slow_bytes
        face.slow_bytes = slow

    def bound_slow(self) -> None:
        """If too much waits in all, close who has most of it."""
        while self._slow_bytes > self._parameters.max_queue_bytes:
            slowest = max(self._by_connection.values(), key=lambda each: each.slow_bytes)
            self.close(slowest, TOO_SLOW)

    # ---- ending

    def closed(self, connection: int, reason: str) -> None:
        """The transport says that a connection is gone."""
        face = self._by_connection.get(connection)
        if face is not None:
            face.gone()
            self._end(face, reason, in_words(reason))

    def close(self, face: StreamFace, reason: str) -> None:
        """Close a connection. One to be kept is dialed again."""
        if face.up:
            face.close(reason)
            self._end(face, reason, CLOSED_BY_US)

    def give_up(self, face: StreamFace, reason: str) -> None:
        """Close a connection, and do not dial it again."""
        address = face.dialed
        if address:
            self.targets.forget(address, in_words(reason))
        self.close(face, reason)
        self._forget_unwanted()

    def stop(self) -> None:
        """Close all, and dial none any more."""
        self._stopped = True
        self.targets.stop()
        for face in list(self._by_connection.values()):
            self.close(face, "shutdown")
        self._forget_unwanted()

    def _end(self, face: StreamFace, reason: str, problem: str) -> None:
        del self._by_connection[face.connection]
        self._timers.cancel(face.connection)
        self._slow_bytes -= face.slow_bytes
        face.slow_bytes = 0
        address = face.dialed
        if address:
            del self._dialed[address]
        else:
            self._accepted -= 1
            self._accepted_of[face.source] -= 1
            if not self._accepted_of[face.source]:
                del self._accepted_of[face.source]
        self._register.went_down(face, reason)
        self._register.remove(face)
        if address:
            self.targets.failed(address, reason, problem, self._turn.now - face.opened_at)

    # ---- time

    def wake(self, now: float) -> None:
        """Dial what is due, and close who says nothing, or takes nothing."""
        self.targets.wake()
        self._forget_unwanted()
        for connection in self._timers.due(now):
            face = self._by_connection.get(connection)
            if face is not None:
                self._look_at(face, now)

    def _look_at(self, face: StreamFace, now: float) -> None:
        times = []
        if face.full_since is not None:
            times.append((face.full_since + self._parameters.stall_timeout, TOO_SLOW))
        if not face.dialed and not face.has_spoken:
            times.append((face.opened_at + self._parameters.silent_timeout, SILENT))
        if not times:
            return
        when, reason = min(times)
        if when <= now:
            self.close(face, reason)
        else:
            self._timers.set(face.connection, when)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        times = (self.targets.next_wake(), self._timers.next_wake())
        return min((when for when in times if when is not None), default=None)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        faces = self._by_connection.values()
        return {
            "connections": len(self._by_connection),
            "targets": len(self.targets),
            "dialed_faces": len(self._dialed),
            "accepted_sources": len(self._accepted_of),
            "connection_timers": len(self._timers),
            "bytes_waiting": sum(face.waiting for face in faces),
            "bytes_unfinished": sum(face.packets.buffered for face in faces),
        }
