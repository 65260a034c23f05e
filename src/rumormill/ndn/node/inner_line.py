"""The line of a node's own pubsub: to the forwarder in the same process."""

from __future__ import annotations

from collections import deque

from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.internal import InternalFace, internal_faces
from rumormill.ndn.forwarder.forwarder import Forwarder
from rumormill.ndn.forwarder.tables.fib import Origin
from rumormill.ndn.pubsub.line import LineUser
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name

FORWARDER_END = 1
PUBSUB_END = 2
"""Numbers of the two ends of the face; those of other faces are larger."""

URI = "internal://pubsub"


class InnerLine:
    """A :class:`~rumormill.ndn.pubsub.line.Line`; it is what pubsub's end of the face belongs to.

    Nobody is called while it is at work itself: what there is to tell waits for :meth:`pump`.
    """

    user: LineUser
    """Pubsub, which is made after its line."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder
        self._registered: deque[tuple[Name, str]] = deque()
        self.up = False
        """Whether the face is open."""
        self.face: InternalFace
        """The forwarder's end: what comes by it comes from pubsub."""
        self.face, self._end = internal_faces(
            FORWARDER_END, PUBSUB_END, forwarder, self, URI
        )  # fmt: skip

    def open(self) -> None:
        """Let packets go in and out."""
        self.face.open()

    def close(self, reason: str) -> None:
        """Let none."""
        self.face.close(reason)

    def pump(self) -> None:
        """Pass on what waits, until nothing does."""
        face, registered = self.face, self._registered
        face.pump()
        while registered:
            self.user.registered(*registered.popleft())
            face.pump()

    # ---- what pubsub wants: see Line

    def send_interest(self, interest: Interest) -> None:
        """Send an Interest."""
        self._end.send_interest(interest)

    def send_data(self, data: Data, token: bytes) -> None:
        """Answer an Interest."""
        self._end.send_data(data, token)

    def send_nack(self, interest: Interest, reason: int, token: bytes) -> None:
        """Say that an Interest is not answered."""
        self._end.send_nack(interest, reason, token)

    def register(self, prefix: Name) -> None:
        """Want all Interests below a prefix."""
        stands = self._forwarder.fib.add(prefix, self.face, 0, Origin.APPLICATION)
        self._registered.append((prefix, "" if stands else "there is no room for more routes"))

    def unregister(self, prefix: Name) -> None:
        """Want them no more."""
        self._forwarder.fib.remove(prefix, self.face, Origin.APPLICATION)

    # ---- what comes by the face: see PacketSink

    def face_up(self, face: Face) -> None:
        """The face is open."""
        self.up = True
        self.user.line_up()

    def face_down(self, face: Face, reason: str) -> None:
        """It is closed."""
        self.up = False
        self.user.line_down(reason)

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest came in."""
        self.user.interest(interest, token)

    def data(self, face: Face, data: Data, token: bytes) -> None:
        """A Data came in."""
        self.user.data(data)

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        """A Nack came in."""
        self.user.nack(interest, reason)
