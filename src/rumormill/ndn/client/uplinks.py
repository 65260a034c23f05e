"""Which forwarder is used, of those that were dialed: one at a time, and another when it is lost.

All of them are connected; the first that is up is used, in the order in which they were named, and
the others stand by. It is kept as long as it is up: routes are there, and nothing is gained by
going back. A forwarder that leaves our commands unanswered gives way to another that is up.
"""

from __future__ import annotations

from typing import Final

from rumormill.core import trace
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.core.words import in_words
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.client.registration import Registration
from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.faces import Faces
from rumormill.ndn.faces.transport_face import TransportFace
from rumormill.ndn.pubsub.line import LineUser
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name

UPLINK_USED: Final = "uplink_used"
"""A trace event: packets go by this forwarder from now on. Fields: none beside the peer."""

UNANSWERED: Final = "it does not answer"

_PATIENCE: Final = "patience"


class Uplinks:
    """The line to a forwarder (:class:`~rumormill.ndn.pubsub.line.Line`), over the faces that it is
    the sink of.
    """

    faces: Faces
    registration: Registration
    user: LineUser

    def __init__(self, turn: Turn, parameters: ClientParameters, alarm: Alarm) -> None:
        self._turn = turn
        self._patience = parameters.forwarder_patience
        self._order: dict[str, int] = {}
        """Which place each address has among those that were dialed."""
        self._faces: dict[int, Face] = {}
        """Faces that are up, by their numbers."""
        self._current: Face | None = None
        self._silent: set[int] = set()
        """Numbers of faces that have left commands unanswered, and said nothing since."""
        self._unreachable = ""
        """What was told, since there is no forwarder."""
        self._stopped = False
        self._timers: Timers[str] = Timers(alarm)

    # ---- what the user says

    def dial(self, address: str, keep: bool) -> None:
        """Use a forwarder at an address."""
        self._order.setdefault(address, len(self._order))
        if self._current is None:
            self._timers.at_latest(_PATIENCE, self._turn.now + self._patience)
        self.faces.dial(address, keep)

    @property
    def peers(self) -> tuple[str, ...]:
        """The forwarders that are up: the one that is used comes first."""
        faces = sorted(self._faces.values(), key=self._rank)
        return tuple(dict.fromkeys(face.peer for face in faces))

    # ---- the line

    @property
    def up(self) -> bool:
        """Whether there is a forwarder now."""
        return self._current is not None

    def send_interest(self, interest: Interest) -> None:
        """Send an Interest to the forwarder."""
        if self._current is not None:
            self._current.send_interest(interest)
        else:
            self._lose("interest")

    def send_data(self, data: Data, token: bytes) -> None:
        """Answer an Interest of the forwarder."""
        if self._current is not None:
            self._current.send_data(data, token)
        else:
            self._lose("data")

    def send_nack(self, interest: Interest, reason: int, token: bytes) -> None:
        """Say that an Interest of the forwarder is not answered."""
        if self._current is not None:
            self._current.send_nack(interest, reason, token)
        else:
            self._lose("nack")

    def _lose(self, what: str) -> None:
        self._turn.trace(trace.DROPPED, what=what, reason="no_forwarder", count=1)

    def register(self, prefix: Name) -> None:
        """Want all Interests below a prefix."""
        self.registration.register(prefix)
        if self._unreachable:
            self._timers.at_latest(_PATIENCE, self._turn.now)

    def unregister(self, prefix: Name) -> None:
        """Want them no more."""
        self.registration.unregister(prefix)

    # ---- what faces bring: see PacketSink

    def face_up(self, face: Face) -> None:
        """A forwarder is there."""
        self._faces[face.id] = face
        if self._current is None or self._current.id in self._silent:
            self._choose(UNANSWERED)

    def face_down(self, face: Face, reason: str) -> None:
        """A forwarder is gone."""
        del self._faces[face.id]
        self._silent.discard(face.id)
        if face is self._current:
            self._choose(in_words(reason))

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest came."""
        self._silent.discard(face.id)
        if face is self._current:
            self.user.interest(interest, token)
        else:
            self._turn.trace(trace.IGNORED, peer=face.node, address=face.uri, reason="not_in_use")

    def data(self, face: Face, data: Data, token: bytes) -> None:
        """A Data came."""
        self._silent.discard(face.id)
        if face is not self._current:
            self._turn.trace(trace.IGNORED, peer=face.node, address=face.uri, reason="not_in_use")
        elif not self.registration.data(data):
            self.user.data(data)

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        """A Nack came."""
        self._silent.discard(face.id)
        if face is not self._current:
            self._turn.trace(trace.IGNORED, peer=face.node, address=face.uri, reason="not_in_use")
        elif not self.registration.nack(interest, reason):
            self.user.nack(interest, reason)

    # ---- which is used

    def silent(self) -> None:
        """The forwarder that is used leaves our commands unanswered."""
        if self._current is not None:
            self._silent.add(self._current.id)
            self._choose(UNANSWERED)

    def _choose(self, reason: str) -> None:
        """Use the best that there is; ``reason`` is why the present one is not good enough."""
        best = min(self._faces.values(), key=self._rank, default=None)
        if best is self._current and best is not None:
            return
        if self._current is not None:
            self._current = None
            self.registration.line_down()
            self.user.line_down(reason)
        if best is None and not self._stopped:
            self._timers.at_latest(_PATIENCE, self._turn.now + self._patience)
        if best is None or self._stopped:
            return
        self._current = best
        self._unreachable = ""
        self._timers.cancel(_PATIENCE)
        self._turn.trace(UPLINK_USED, peer=best.peer)
        self.registration.line_up(best)
        self.user.line_up()

    def _rank(self, face: Face) -> tuple[bool, bool, int]:
        """The smallest is the best: it answers, it is used already, it was named first."""
        dialed = face.dialed if isinstance(face, TransportFace) else face.uri
        place = self._order.get(dialed, len(self._order))
        return face.id in self._silent, face is not self._current, place

    def stop(self) -> None:
        """We are about to leave, and wait for no forwarder any more."""
        self._stopped = True
        self._timers.cancel(_PATIENCE)

    # ---- time

    def wake(self, now: float) -> None:
        """If there has been no forwarder for too long, whoever waits for one is told."""
        if self._timers.due(now) and self._current is None:
            problem = self.faces.dial_problem or "no connection stands yet"
            self._unreachable = f"there is no forwarder: {problem}"
            self.registration.unreachable(self._unreachable)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {"uplinks": len(self._faces), "silent_uplinks": len(self._silent)}
