"""A face between two parts of one process, such as a forwarder and the application on it.

Packets wait until somebody passes them on, so that no part is called while it is at work itself:

    here, there = internal_faces(1, 2, forwarder, application, "internal://pubsub")
    here.open()                # the forwarder hears of its end, the application of its own
    here.send_interest(...)    # the forwarder sends to the application
    here.pump()                # at the end of the turn: everything is passed on, until all is quiet
"""

from __future__ import annotations

from collections import deque

from rumormill.ndn.faces.face import NO_TOKEN, Face, PacketSink
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest


class _Passage:
    """What both ends share: packets on their way, in the order in which they were sent."""

    __slots__ = ("open", "queue")

    def __init__(self) -> None:
        self.open = False
        self.queue: deque[tuple[InternalFace, Interest | Data, int | None, bytes]] = deque()


class InternalFace(Face):
    """One end; ``sink`` is who has this face, and hears what the other end sends."""

    __slots__ = ("_other", "_passage", "_sink")

    def __init__(self, id: int, uri: str, sink: PacketSink, passage: _Passage) -> None:
        super().__init__(id, uri, local=True)
        self._sink = sink
        self._passage = passage
        self._other: InternalFace

    def connect(self, other: InternalFace) -> None:
        """Say what the other end is."""
        self._other = other

    # ---- packets

    def send_interest(self, interest: Interest, token: bytes = NO_TOKEN) -> None:
        """Send an Interest to the other end."""
        if self._passage.open:
            self._passage.queue.append((self._other, interest, None, token))

    def send_data(self, data: Data, token: bytes = NO_TOKEN) -> None:
        """Send a Data to the other end."""
        if self._passage.open:
            self._passage.queue.append((self._other, data, None, token))

    def send_nack(self, interest: Interest, reason: int, token: bytes = NO_TOKEN) -> None:
        """Tell the other end that an Interest cannot be answered."""
        if self._passage.open:
            self._passage.queue.append((self._other, interest, reason, token))

    def pump(self) -> None:
        """Pass on what waits in both directions, and what comes of it."""
        queue = self._passage.queue
        while queue:
            face, packet, reason, token = queue.popleft()
            if isinstance(packet, Data):
                face._sink.data(face, packet, token)
            elif reason is None:
                face._sink.interest(face, packet, token)
            else:
                face._sink.nack(face, packet, reason, token)

    # ---- come and go

    def open(self) -> None:
        """Both ends are up from now on."""
        if not self._passage.open:
            self._passage.open = True
            for face in (self, self._other):
                face._sink.face_up(face)

    def close(self, reason: str) -> None:
        """Both ends are down from now on, and what waits is gone."""
        if self._passage.open:
            self._passage.open = False
            self._passage.queue.clear()
            for face in (self, self._other):
                face._sink.face_down(face, reason)

    def __len__(self) -> int:
        """How many packets wait."""
        return len(self._passage.queue)

    def __bool__(self) -> bool:
        """A face is one, whatever waits."""
        return True


def internal_faces(
    first_id: int, second_id: int, first: PacketSink, second: PacketSink, uri: str
) -> tuple[InternalFace, InternalFace]:
    """The two ends: the first is the face that ``first`` has, the second that of ``second``."""
    passage = _Passage()
    here = InternalFace(first_id, uri, first, passage)
    there = InternalFace(second_id, uri, second, passage)
    here.connect(there)
    there.connect(here)
    return here, there
