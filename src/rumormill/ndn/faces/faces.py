"""All faces of one machine: connections and datagrams on one side, packets on the other.

faces = Faces(turn, sink, FaceParameters(), random, alarm)
faces.handle(Dial("tcp://127.0.0.1:6363", keep=True))
...
faces.flush()           # at the end of every turn, before its effects are taken
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final, Protocol, TypeAlias

from rumormill.core import trace
from rumormill.core.gate import Gate
from rumormill.core.machine import Received
from rumormill.core.timers import Alarm
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    DialEnded,
    Listening,
    TransportClosed,
    TransportFailed,
    TransportInput,
    TransportOpened,
    WriteReady,
)
from rumormill.core.turn import Turn
from rumormill.ndn.faces.addresses import read_address
from rumormill.ndn.faces.datagram_face import DatagramFace
from rumormill.ndn.faces.datagrams import Datagrams
from rumormill.ndn.faces.face import Face, PacketSink
from rumormill.ndn.faces.intake import Intake
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.faces.stream_face import StreamFace
from rumormill.ndn.faces.streams import Streams
from rumormill.ndn.faces.toll import Toll
from rumormill.ndn.faces.traffic import TrafficReports
from rumormill.ndn.faces.transport_face import TransportFace

FIRST_ID: Final = 256
"""Smaller numbers are for faces inside a forwarder, as with others."""

PROTOCOL: Final = "ndn"
"""What is spoken, in trace events."""

FaceInput: TypeAlias = TransportInput | Received | Dial


class Part(Protocol):
    """Whatever has something to do at some time."""

    def wake(self, now: float) -> None:
        """Do what is due."""
        ...

    def next_wake(self) -> float | None:
        """When there is something to do."""
        ...


class Faces:
    """Makes faces, reads their packets for ``sink``, and writes what is sent by them.

    Without ``strangers`` only those are listened to that were dialed.
    """

    def __init__(
        self,
        turn: Turn,
        sink: PacketSink,
        parameters: FaceParameters,
        random: Random,
        alarm: Alarm,
        *,
        strangers: bool = True,
    ) -> None:
        self._turn = turn
        self._sink = sink
        self._faces: dict[int, TransportFace] = {}
        self._last_id = FIRST_ID - 1
        self.to_flush: list[TransportFace] = []
        """Those that have sent something in this turn."""
        self._reports = TrafficReports(turn, alarm)
        self._datagrams = Datagrams(
            turn, parameters, random, alarm, self, self._reports, strangers=strangers
        )
        self._toll = Toll(turn, parameters, self._datagrams, alarm, self._close_stream)
        self._intake = Intake(
            turn, sink, parameters, alarm, self._datagrams.admit, self._toll.charge
        )
        self._datagrams.intake, self._datagrams.toll = self._intake, self._toll
        self._streams = Streams(
            turn, parameters, random, alarm, self, self._intake, self._toll, self._reports,
            strangers=strangers,
        )  # fmt: skip
        self.received = self._streams.received
        """Bytes of a connection came: what :meth:`handle` does with them, without the detour."""

    @property
    def gate(self) -> Gate:
        """Who may send us datagrams: for the transport, to ask before it hands one on."""
        return self._toll.gate

    # ---- what the transport and the user say

    def handle(self, input: FaceInput) -> None:
        """Take one input."""
        match input:
            case BytesReceived(connection, data):
                self._streams.received(connection, data)
            case Received(peer, packet):
                self._datagrams.received(peer, packet)
            case WriteReady(connection, ready):
                self._streams.write_ready(connection, ready)
            case TransportOpened():
                self._streams.opened(input)
            case TransportClosed(connection, reason):
                self._streams.closed(connection, reason)
            case TransportFailed(dial, reason):
                self._streams.failed(dial, reason)
            case Dial(address, keep):
                self.dial(address, keep)
            case Listening():
                pass

    def dial(self, address: str, keep: bool) -> Face:
        """Connect to an address. How it went is a :class:`DialEnded`; of datagrams, nobody knows
        whether there is anybody, and it is told at once.

        Raises :class:`LocalProtocolError` for what is no address.
        """
        face = self.create(address, keep)
        if isinstance(face, DatagramFace):
            self._turn.add(DialEnded(address, face.peer))
        return face

    # ---- what a forwarder wants

    def create(self, uri: str, keep: bool = True) -> Face:
        """A face to an address. It is up, or will be when the address is reached: then the sink
        hears of it. With ``keep`` it is reached again when it was lost, as a new face.

        Raises :class:`LocalProtocolError` for what is no address.
        """
        if read_address(uri).scheme == "udp":
            return self._datagrams.dial(uri, keep)
        return self._streams.dial(uri, keep)

    def close(self, face: Face, reason: str) -> None:
        """End a face; it is not reached again."""
        if isinstance(face, StreamFace):
            self._streams.give_up(face, reason)
        elif isinstance(face, DatagramFace):
            self._datagrams.close(face, reason)

    def by_id(self, id: int) -> Face | None:
        """The face of a number."""
        return self._faces.get(id)

    def all(self) -> Iterable[Face]:
        """Every face, in the order of their numbers; some may have to be reached first."""
        return list(self._faces.values())

    def charge(self, face: Face, kind: str, cost: float, blame: bool = True) -> None:
        """A face made us do so many microseconds of work for nothing. Who has used up its
        allowance is held back; with ``blame`` it is dropped, in the end.
        """
        if isinstance(face, TransportFace):
            self._toll.charge(face, kind, cost, blame)

    # ---- turns

    def flush(self) -> None:
        """Write what the turn has brought, all of a face at once."""
        to_flush = self.to_flush
        streams = self._streams
        while to_flush:
            for face in to_flush:
                face.flush()
                if not face.up:
                    continue  # it was closed in this very turn
                self._reports.busy(face)
                if isinstance(face, StreamFace) and (face.waiting or face.slow_bytes):
                    streams.count_slow(face)
            to_flush.clear()
            # When one is closed, others may have something to send.
            streams.bound_slow()

    def wake(self, now: float) -> None:
        """Do what is due."""
        for part in self._parts():
            part.wake(now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        times = [part.next_wake() for part in self._parts()]
        return min((when for when in times if when is not None), default=None)

    def _parts(self) -> tuple[Part, ...]:
        return self._streams, self._datagrams, self._intake.reassembly, self._toll, self._reports

    def shutdown(self) -> None:
        """Close all faces, once what was sent has left, and dial none any more."""
        self._streams.stop()
        self._datagrams.stop()

    # ---- faces come and go: see Register

    def new_id(self) -> int:
        """A number that no face had before."""
        self._last_id += 1
        return self._last_id

    def add(self, face: TransportFace) -> None:
        """A face is known, though it may not be up yet."""
        self._faces[face.id] = face

    def remove(self, face: TransportFace) -> None:
        """A face is not known any more."""
        del self._faces[face.id]

    def came_up(self, face: TransportFace) -> None:
        """A face is up."""
        outbound = bool(face.dialed)
        self._turn.trace(
            trace.CONNECTION_OPENED, peer=face.node, address=face.uri, outbound=outbound
        )
        self._sink.face_up(face)

    def went_down(self, face: TransportFace, reason: str) -> None:
        """A face that was up is gone."""
        self._reports.gone(face)
        self._intake.reassembly.forget(face)
        self._turn.trace(trace.CONNECTION_CLOSED, peer=face.node, address=face.uri, reason=reason)
        self._sink.face_down(face, reason)

    def _close_stream(self, face: StreamFace, reason: str) -> None:
        self._streams.close(face, reason)

    # ---- what can be asked of it

    @property
    def dialing(self) -> bool:
        """Whether a connection is being opened."""
        return self._streams.targets.opening > 0

    @property
    def dial_problem(self) -> str:
        """What came of the last dial that failed, in a sentence."""
        return self._streams.targets.problem

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "faces": len(self._faces),
            "faces_to_flush": len(self.to_flush),
            "faces_in_reports": len(self._reports),
            "reassemblies": len(self._intake.reassembly),
            "reassembly_bytes": self._intake.reassembly.bytes,
            **self._streams.sizes(),
            **self._datagrams.sizes(),
            **self._toll.sizes(),
        }
