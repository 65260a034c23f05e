"""A face: whatever packets come in by and go out by, be it a connection or somebody in here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest

NO_TOKEN = b""


class Face(ABC):
    """One way in and out. ``peer`` is what users know the other end by: where it is."""

    __slots__ = ("id", "local", "node", "peer", "uri")

    def __init__(self, id: int, uri: str, *, local: bool) -> None:
        self.id = id
        """A number that is never used again."""
        self.uri = uri
        """Where the other end is, such as ``tcp://127.0.0.1:6363``."""
        self.local = local
        """Whether the other end is on this machine: what is below /localhost is for such only."""
        self.peer = uri
        self.node: str | None = None
        """The node at the other end by its own name, once it has said it: in trace events a peer is
        a node, and where only the face is known that is their ``address``."""

    @abstractmethod
    def send_interest(self, interest: Interest, token: bytes = NO_TOKEN) -> None:
        """Send an Interest; ``token`` comes back with what answers it."""

    @abstractmethod
    def send_data(self, data: Data, token: bytes = NO_TOKEN) -> None:
        """Send a Data; ``token`` is that of the Interest that it answers."""

    @abstractmethod
    def send_nack(self, interest: Interest, reason: int, token: bytes = NO_TOKEN) -> None:
        """Say that an Interest cannot be answered."""


class PacketSink(Protocol):
    """Whoever gets what comes in by faces: a forwarder, or a client's pubsub."""

    def face_up(self, face: Face) -> None:
        """A face is there."""
        ...

    def face_down(self, face: Face, reason: str) -> None:
        """A face is gone; nothing can be sent by it any more."""
        ...

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest came in."""
        ...

    def data(self, face: Face, data: Data, token: bytes) -> None:
        """A Data came in."""
        ...

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        """An Interest of ours cannot be answered."""
        ...
