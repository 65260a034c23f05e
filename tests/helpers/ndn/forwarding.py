"""A forwarder in virtual time, between faces that only write down what they are given to send."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

from rumormill.core.errors import LocalProtocolError
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.trace import TraceEvent
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import NO_TOKEN, Face
from rumormill.ndn.forwarder.forwarder import Forwarder
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.tables.fib import CHILD_INHERIT, Origin
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import (
    ControlParameters,
    ControlResponse,
    Form,
    decode_response,
    encode_command,
)
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri

START = 1_000_000.0


class Sent(NamedTuple):
    """A packet that went out; of a Nack it is the Interest, with the reason."""

    packet: Interest | Data
    token: bytes
    reason: int | None = None

    @property
    def uri(self) -> str:
        return name_to_uri(self.packet.name)


class NotedFace(Face):
    """A face that notes what it is given to send."""

    __slots__ = ("sent",)

    def __init__(self, id: int, uri: str, *, local: bool) -> None:
        super().__init__(id, uri, local=local)
        self.sent: list[Sent] = []

    def send_interest(self, interest: Interest, token: bytes = NO_TOKEN) -> None:
        self.sent.append(Sent(interest, token))

    def send_data(self, data: Data, token: bytes = NO_TOKEN) -> None:
        self.sent.append(Sent(data, token))

    def send_nack(self, interest: Interest, reason: int, token: bytes = NO_TOKEN) -> None:
        self.sent.append(Sent(interest, token, reason))

    def take(self) -> list[Sent]:
        """What was sent since the last time."""
        taken, self.sent = self.sent, []
        return taken

    # What was sent, by kind; only names matter for most tests.

    @property
    def interests(self) -> list[str]:
        return [s.uri for s in self.sent if isinstance(s.packet, Interest) and s.reason is None]

    @property
    def data(self) -> list[str]:
        return [s.uri for s in self.sent if isinstance(s.packet, Data)]

    @property
    def nacks(self) -> list[tuple[str, int]]:
        return [(s.uri, s.reason) for s in self.sent if s.reason is not None]


class Directory:
    """Faces that management can make: those to ``slow`` addresses are reached later."""

    def __init__(self) -> None:
        self.faces: dict[int, NotedFace] = {}
        self.slow: set[str] = set()
        self.closed: list[tuple[int, str]] = []
        self.world: World
        self._last = 500

    def create(self, uri: str, keep: bool = True) -> Face:
        if not uri.startswith(("tcp://", "udp://", "unix://")):
            raise LocalProtocolError(f"{uri} is no address")
        self._last += 1
        face = self.faces[self._last] = NotedFace(self._last, uri, local=False)
        if uri not in self.slow:
            self.world.forwarder.face_up(face)
        return face

    def close(self, face: Face, reason: str) -> None:
        self.closed.append((face.id, reason))
        del self.faces[face.id]
        self.world.forwarder.face_down(face, reason)

    def by_id(self, id: int) -> Face | None:
        return self.faces.get(id)

    def all(self) -> Iterable[Face]:
        return list(self.faces.values())


class World:
    """A forwarder, its faces, and the time."""

    def __init__(self, seed: int = 1, **parameters: Any) -> None:
        self.turn = Turn("node")
        self.alarm = Alarm()
        self.random = Random(seed)
        self.directory = Directory()
        self.directory.world = self
        self.forwarder = Forwarder(
            self.turn,
            ForwarderParameters(**parameters),
            Random(seed),
            self.alarm,
            self.directory,
        )
        self.now = START
        self.turn.begin(self.now)
        self.events: list[TraceEvent] = []
        self._last_id = 255

    # ---- faces and routes

    def face(self, *routes: str, local: bool = True, cost: int = 0) -> NotedFace:
        """A face that is up, with routes."""
        self._last_id += 1
        face = NotedFace(self._last_id, f"test://{self._last_id}", local=local)
        self.forwarder.face_up(face)
        for route in routes:
            self.route(route, face, cost)
        return face

    def route(
        self,
        uri: str,
        face: Face,
        cost: int = 0,
        *,
        origin: int = Origin.STATIC,
        flags: int = CHILD_INHERIT,
        expires: float | None = None,
    ) -> bool:
        return self.forwarder.fib.add(name_from_uri(uri), face, cost, origin, expires, flags)

    def down(self, face: Face) -> None:
        self.forwarder.face_down(face, "closed")
        self.collect()

    # ---- packets

    def ask(self, face: Face, uri: str | Name, token: bytes = b"", **fields: Any) -> Interest:
        """An Interest comes in; it has a nonce of its own unless one is given."""
        name = name_from_uri(uri) if isinstance(uri, str) else uri
        fields.setdefault("nonce", self.random.randbytes(4))
        fields["forwarding_hint"] = tuple(map(name_from_uri, fields.pop("hint", ())))
        interest = encode_interest(name, **fields)
        return self.bring(face, interest, token)

    def bring(self, face: Face, interest: Interest, token: bytes = b"") -> Interest:
        self.forwarder.interest(face, interest, token)
        self.collect()
        return interest

    def answer(
        self, face: Face, uri: str | Name, token: bytes = b"", content: bytes = b"", **fields: Any
    ) -> Data:
        """A Data comes in."""
        name = name_from_uri(uri) if isinstance(uri, str) else uri
        data = encode_data(name, content, DigestSigner(), **fields)
        self.forwarder.data(face, data, token)
        self.collect()
        return data

    def refuse(self, face: NotedFace, reason: int, token: bytes = b"") -> None:
        """A face says that it cannot answer the last Interest that was sent to it."""
        interest = next(
            s.packet
            for s in reversed(face.sent)
            if s.reason is None and isinstance(s.packet, Interest)
        )
        self.forwarder.nack(face, interest, reason, token)
        self.collect()

    # ---- commands

    def command(
        self,
        face: NotedFace,
        verb: str,
        form: Form = "v0.3",
        prefix: str = "/localhost/nfd",
        **parameters: Any,
    ) -> ControlResponse | None:
        """Give a command and return what is answered, if it is."""
        for key in ("name", "strategy"):
            if key in parameters:
                parameters[key] = name_from_uri(parameters[key])
        interest = encode_command(
            name_from_uri(f"{prefix}/{verb}"),
            ControlParameters(**parameters),
            form=form,
            nonce=self.random.randbytes(4),
            timestamp_ms=int(self.now * 1000),
            random_bytes=self.random.randbytes(8),
            signer=DigestSigner(),
        )
        face.take()
        self.bring(face, interest, b"tok")
        return response(face)

    # ---- time

    def collect(self) -> None:
        """Effects of this turn; there are only trace events."""
        for effect in self.turn.take():
            assert isinstance(effect, TraceEvent)
            self.events.append(effect)

    def advance(self, seconds: float) -> None:
        """Let time pass; the forwarder is woken whenever it wants to be."""
        end = self.now + seconds
        while self.alarm.soonest <= end:
            self.now = max(self.now, self.alarm.soonest)
            self._wake()
        self.now = end
        self.turn.begin(end)

    def _wake(self) -> None:
        self.turn.begin(self.now)
        waiting = self.sizes["pit"]
        self.forwarder.wake(self.now)
        soonest = self.forwarder.next_wake()
        assert soonest is None or soonest > self.now or self.sizes["pit"] < waiting
        self.alarm.soonest = NEVER if soonest is None else soonest
        self.collect()

    # ---- what can be asked

    def counted(self, *, dropped: bool = False) -> dict[tuple[str, str], int]:
        """What was not passed on so far, by kind and reason."""
        self.forwarder.shutdown()
        self.collect()
        found: dict[tuple[str, str], int] = {}
        for event in self.events:
            if event.event == ("dropped" if dropped else "ignored"):
                fields = event.fields
                key = (str(fields["what"]), str(fields["reason"]))
                count = fields["count"]
                assert isinstance(count, int)
                found[key] = found.get(key, 0) + count
        return found

    @property
    def sizes(self) -> dict[str, int]:
        return self.forwarder.sizes()


def response(face: NotedFace) -> ControlResponse | None:
    """What a face was told last of a command."""
    if not face.sent:
        return None
    packet = face.sent[-1].packet
    return decode_response(packet.content or b"") if isinstance(packet, Data) else None
