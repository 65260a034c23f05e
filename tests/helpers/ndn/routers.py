"""Distance vectors on a network of faces in virtual time, without a forwarder around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.trace import TraceEvent
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import NO_TOKEN, Face
from rumormill.ndn.routing.distance_vector import DistanceVector
from rumormill.ndn.routing.mail import Mail
from rumormill.ndn.routing.messages import RoutingMessage
from rumormill.ndn.routing.parameters import UNREACHABLE, RoutingParameters
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri


class WireFace(Face):
    """One end of a line between two routers; what is sent arrives later, or not at all."""

    def __init__(self, net: Routers, owner: Router, id: int, uri: str) -> None:
        super().__init__(id, uri, local=False)
        self.net = net
        self.owner = owner
        self.up = True
        self.mute = False
        """What is sent gets lost; what comes, comes."""
        self.other: WireFace
        self.sent: list[Interest | Data] = []

    def send_interest(self, interest: Interest, token: bytes = NO_TOKEN) -> None:
        self.sent.append(interest)
        self.net.carry(self, lambda other: other.owner.interest(other, interest, token))

    def send_data(self, data: Data, token: bytes = NO_TOKEN) -> None:
        self.sent.append(data)
        self.net.carry(self, lambda other: other.owner.vector.data(other, data))

    def send_nack(self, interest: Interest, reason: int, token: bytes = NO_TOKEN) -> None:
        self.net.carry(self, lambda other: other.owner.vector.nack(other, interest, reason))

    def messages(self) -> list[RoutingMessage]:
        """What was told by it, again included."""
        return [Mail.read(each) for each in self.sent if isinstance(each, Interest)]


class Router:
    """A distance vector, and the FIB that it fills."""

    def __init__(self, net: Routers, name: str, life: int, **parameters: Any) -> None:
        self.net = net
        self.name = name
        self.turn = Turn(name)
        self.turn.begin(net.now)
        self.alarm = Alarm()
        self.fib: dict[tuple[Name, Face], int] = {}
        self.room = 1_000_000
        self.reachable: Counter[Destination] = Counter()
        self.events: list[TraceEvent] = []
        self.faces: list[WireFace] = []
        self.vector = DistanceVector(
            self.turn, name_from_uri(f"/{name}"), self, self, RoutingParameters(**parameters),
            Random(f"{name} {life}"), self.alarm,
        )  # fmt: skip

    # ---- the sink of routes, and the user

    def add_route(self, prefix: Name, face: Face, cost: int) -> bool:
        if len(self.fib) >= self.room and (prefix, face) not in self.fib:
            return False
        self.fib[prefix, face] = cost
        return True

    def remove_route(self, prefix: Name, face: Face) -> None:
        del self.fib[prefix, face]

    def reached(self, destination: Destination, reachable: bool) -> None:
        self.reachable[destination] += 1 if reachable else -1
        assert self.reachable[destination] in (0, 1)

    # ---- what the network does

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        try:
            self.vector.interest(face, interest, token)
        except RemoteProtocolError as error:
            self.turn.trace("protocol_error", peer=face.peer, reason=error.reason)

    def do(self, action: Callable[[], object]) -> None:
        """One turn."""
        self.turn.begin(self.net.now)
        action()
        self.events += [each for each in self.turn.take() if isinstance(each, TraceEvent)]
        self.net.arm(self)

    def wake(self) -> None:
        if self.net.now < self.alarm.soonest:
            return
        self.do(lambda: self.vector.wake(self.net.now))
        self.alarm.soonest = self.vector.next_wake() or NEVER
        self.net.arm(self)

    # ---- questions of tests

    def hops(self, prefix: str) -> dict[str, int]:
        """By which neighbours a prefix is reached, at which cost."""
        name = name_from_uri(prefix)
        return {
            face.other.owner.name: cost
            for (known, face), cost in self.fib.items()
            if known == name and isinstance(face, WireFace)
        }

    def cost(self, prefix: str) -> int:
        """The cost of the best way."""
        return min(self.hops(prefix).values(), default=UNREACHABLE)

    def nodes(self, prefix: str) -> str:
        """The names of the nodes at which a prefix can be reached, as one word."""
        nodes = self.vector.table.nodes(name_from_uri(prefix))
        return "".join(sorted(name_to_uri(node).split("/")[1] for node in nodes))

    def told(self, event: str, **fields: Any) -> int:
        """How many events there were of a kind, with these fields."""
        return sum(
            each.event == event
            and all(each.fields.get(key) == value for key, value in fields.items())
            for each in self.events
        )


class Routers:
    """Routers by name, the lines between them, and the time."""

    def __init__(self, loss: float = 0.0, latency: float = 0.01, seed: int = 1) -> None:
        self.now = 0.0
        self.loss = loss
        self.latency = latency
        self.random = Random(seed)
        self.packets = 0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._ids = count(1)
        self._lives: Counter[str] = Counter()
        self.routers: dict[str, Router] = {}

    def __getitem__(self, name: str) -> Router:
        return self.routers[name]

    def add(self, names: Iterable[str], **parameters: Any) -> None:
        """Start routers."""
        for name in names:
            self._lives[name] += 1
            self.routers[name] = Router(self, name, self._lives[name], **parameters)

    def join(self, *pairs: str, uri: str = "tcp", dialed_by_both: bool = False) -> None:
        """Lines between pairs of letters; the first of each dials."""
        for a, b in map(tuple, pairs):
            near = WireFace(self, self[a], next(self._ids), f"{uri}://{b}:6363")
            far = WireFace(self, self[b], next(self._ids), f"{uri}://{a}:49152")
            near.other, far.other = far, near
            for face, dialed in ((near, True), (far, dialed_by_both)):
                face.owner.faces.append(face)
                self._up(face, dialed)

    def _up(self, face: WireFace, dialed: bool) -> None:
        face.owner.do(lambda: face.owner.vector.face_up(face, dialed))

    def part(self, *pairs: str, silently: bool = False) -> None:
        """End the lines between pairs of letters; silently: nobody hears of it."""
        for a, b in map(tuple, pairs):
            for face in self.faces(a, b) + self.faces(b, a):
                face.up = False
                if not silently:
                    face.owner.faces.remove(face)
                    self._down(face)

    def _down(self, face: WireFace) -> None:
        face.owner.do(lambda: face.owner.vector.face_down(face, "closed"))

    def mend(self, *pairs: str) -> None:
        """What was parted silently carries packets again."""
        for a, b in map(tuple, pairs):
            for face in self.faces(a, b) + self.faces(b, a):
                face.up = True

    def faces(self, a: str, b: str) -> list[WireFace]:
        """The ends at ``a`` of lines to ``b``."""
        return [face for face in self[a].faces if face.other.owner.name == b]

    def announce(self, name: str, *prefixes: str) -> None:
        """Something is registered at a router."""
        vector = self[name].vector
        for prefix in prefixes:
            self[name].do(partial(vector.announce, name_from_uri(prefix)))

    def withdraw(self, name: str, *prefixes: str) -> None:
        """It is no more."""
        vector = self[name].vector
        for prefix in prefixes:
            self[name].do(partial(vector.withdraw, name_from_uri(prefix)))

    def say(self, face: WireFace, message: RoutingMessage) -> None:
        """Somebody at the end of a face says what the test wants."""
        Mail(self.random).send(face, message)

    # ---- time

    def carry(self, face: WireFace, arrive: Callable[[WireFace], object]) -> None:
        """A packet leaves by a face."""
        self.packets += 1
        if face.up and not face.mute and self.random.random() >= self.loss:
            self._at(self.now + self.latency, lambda: self._arrive(face.other, arrive))

    def _arrive(self, face: WireFace, arrive: Callable[[WireFace], object]) -> None:
        if face.up:
            face.owner.do(lambda: arrive(face))

    def arm(self, router: Router) -> None:
        """A router wants to be woken."""
        if router.alarm.soonest < NEVER:
            self._at(max(self.now, router.alarm.soonest), router.wake)

    def _at(self, when: float, action: Callable[[], None]) -> None:
        heappush(self._queue, (when, next(self._order), action))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heappop(self._queue)
            action()
        self.now = until
