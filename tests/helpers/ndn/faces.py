"""Faces by hand: the other ends are what a test writes, the time is what a test says."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple, TypeVar

from rumormill.core.machine import Received, Send
from rumormill.core.timers import Alarm
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    OpenTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.faces import FaceInput, Faces
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.stream import Packets

Kind = TypeVar("Kind")

STREAM = "tcp://192.0.2.1:40000"
DATAGRAM = "udp://192.0.2.1:40000"


def interest(uri: str = "/a/b", nonce: bytes = b"1234", **fields: Any) -> Interest:
    return encode_interest(name_from_uri(uri), nonce=nonce, **fields)


def data(uri: str = "/a/b", content: bytes = b"content") -> Data:
    return encode_data(name_from_uri(uri), content, DigestSigner())


class Came(NamedTuple):
    """A packet that a sink has got."""

    kind: str
    face: Face
    packet: Interest | Data
    token: bytes = b""
    reason: int = 0


class RecordingSink:
    """Remembers what faces bring."""

    def __init__(self) -> None:
        self.up: list[Face] = []
        self.down: list[tuple[Face, str]] = []
        self.came: list[Came] = []

    def face_up(self, face: Face) -> None:
        self.up.append(face)

    def face_down(self, face: Face, reason: str) -> None:
        self.down.append((face, reason))

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        self.came.append(Came("interest", face, interest, token))

    def data(self, face: Face, data: Data, token: bytes) -> None:
        self.came.append(Came("data", face, data, token))

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        self.came.append(Came("nack", face, interest, token, reason))

    def take(self) -> list[Came]:
        """What came since the last look."""
        came, self.came = self.came, []
        return came


class FaceBench:
    """Faces, what they brought, and all that they wanted."""

    def __init__(self, *, strangers: bool = True, seed: int = 1, **parameters: Any) -> None:
        self.turn = Turn("us")
        self.alarm = Alarm()
        self.sink = RecordingSink()
        self.faces = Faces(
            self.turn, self.sink, FaceParameters(**parameters), Random(seed), self.alarm,
            strangers=strangers,
        )  # fmt: skip
        self.now = 1000.0
        self.effects: list[object] = []
        self._connections = 0

    # ---- driving

    def feed(self, input: FaceInput) -> None:
        """One turn."""
        self.turn.begin(self.now)
        self.faces.handle(input)
        self.end_turn()

    def end_turn(self) -> None:
        """What was sent leaves."""
        self.faces.flush()
        self.effects += self.turn.take()

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake them whenever they want."""
        end = self.now + seconds
        for _ in range(100_000):
            due = self.faces.next_wake()
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self.turn.begin(self.now)
            self.faces.wake(self.now)
            self.end_turn()
        else:
            raise AssertionError("they want to be woken for ever")
        self.now = end
        self.turn.begin(self.now)

    # ---- looking

    def take(self, kind: type[Kind]) -> list[Kind]:
        """All effects of a type since the last look; they are gone then."""
        found = [each for each in self.effects if isinstance(each, kind)]
        self.effects = [each for each in self.effects if not isinstance(each, kind)]
        return found

    def events(self, name: str, **fields: object) -> list[TraceEvent]:
        """The trace events of a kind so far, with such fields."""
        return [
            each
            for each in self.effects
            if isinstance(each, TraceEvent)
            and each.event == name
            and all(each.fields.get(key) == value for key, value in fields.items())
        ]

    def sizes(self) -> dict[str, int]:
        return self.faces.sizes()

    # ---- the other ends

    def stream(self, address: str = STREAM, dial: int | None = None) -> Other:
        """Somebody has connected to us, or was reached."""
        self._connections += 1
        before = len(self.sink.up)
        self.feed(TransportOpened(self._connections, address, dial))
        up = self.sink.up[before:]
        return Other(self, self._connections, up[0] if up else None)

    def dial(self, address: str, keep: bool = True) -> int:
        """Ask for an address of a stream: the number of the dial."""
        self.feed(Dial(address, keep))
        return self.take(OpenTransport)[-1].dial

    def datagram(self, packet: bytes, peer: str = DATAGRAM) -> None:
        """A datagram came."""
        self.feed(Received(peer, packet))

    def sent(self) -> list[bytes]:
        """The datagrams that left since the last look."""
        return [effect.packet for effect in self.take(Send)]


class Other:
    """The other end of a connection."""

    def __init__(self, bench: FaceBench, connection: int, face: Face | None) -> None:
        self.bench = bench
        self.connection = connection
        self._face = face
        self._packets = Packets()

    @property
    def face(self) -> Face:
        assert self._face is not None
        return self._face

    def write(self, raw: bytes) -> None:
        """It sends some bytes."""
        self.bench.feed(BytesReceived(self.connection, raw))

    def full(self, full: bool = True) -> None:
        """It does not read, or reads again."""
        self.bench.feed(WriteReady(self.connection, not full))

    def leave(self, reason: str = "closed") -> None:
        """It hangs up."""
        self.bench.feed(TransportClosed(self.connection, reason))

    def writes(self) -> list[bytes]:
        """What was written to it since the last look."""
        found = [each for each in self.bench.take(WriteBytes) if each[0] == self.connection]
        return [each.data for each in found]

    def packets(self) -> list[bytes]:
        """The packets that were sent to it since the last look."""
        return [raw for piece in self.writes() for raw in self._packets.feed(piece)]
