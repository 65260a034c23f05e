"""Whatever comes, in whatever order: each who waits is answered once, and nothing is left over.

The machine below knows what each face waits for, by the token of its Interest, and checks every
packet that the forwarder sends against it.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rumormill.ndn.forwarder.parameters import StrategyName
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, name_from_uri
from tests.helpers.ndn.forwarding import NotedFace, World

URIS = ("/a", "/a/b", "/a/b/c", "/b", "/b/c")
NAMES = st.sampled_from(URIS)
FACES = st.integers(0, 5)
REASONS = st.sampled_from((NackReason.NO_ROUTE, NackReason.CONGESTION, NackReason.DUPLICATE, 0))
STRATEGIES: st.SearchStrategy[StrategyName] = st.sampled_from(("best-route", "multicast"))

MOST, MOST_OF_FACE = 12, 6


class Key(NamedTuple):
    """What tells Interests apart."""

    name: Name
    can_be_prefix: bool
    must_be_fresh: bool

    def takes(self, name: Name) -> bool:
        return name == self.name or (self.can_be_prefix and name.startswith(self.name))


def key_of(interest: Interest) -> Key:
    return Key(interest.name, interest.can_be_prefix, interest.must_be_fresh)


class Waiting(NamedTuple):
    face: NotedFace
    key: Key
    expires: float


class AnyTraffic(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(
            max_pit=MOST, max_face_pit=MOST_OF_FACE, max_cs=4000, max_cs_packets=3,
            max_dead_nonces=16, max_fib=8, max_face_routes=3, max_strategies=3,
        )  # fmt: skip
        self.faces = [self.world.face("/", local=number % 2 == 0) for number in range(6)]
        self.waiting: dict[bytes, Waiting] = {}
        """By token."""
        self.asked: dict[Key, set[int]] = {}
        """Whom the forwarder has asked for what waits."""
        self.earlier: list[Interest] = []
        self.tokens = 0
        self.replaced: dict[bytes, tuple[bytes, Waiting]] = {}
        """By the token of an Interest: the one before it of the same face for the same."""

    # ---- what happens

    @rule(
        face=FACES, uri=NAMES, can_be_prefix=st.booleans(), must_be_fresh=st.booleans(),
        lifetime=st.sampled_from((100, 1000, 4000)),
    )  # fmt: skip
    def ask(
        self, face: int, uri: str, can_be_prefix: bool, must_be_fresh: bool, lifetime: int
    ) -> None:
        key = Key(name_from_uri(uri), can_be_prefix, must_be_fresh)
        token = self.wait(self.faces[face], key, lifetime)
        asked = self.world.ask(
            self.faces[face], uri, token, can_be_prefix=can_be_prefix,
            must_be_fresh=must_be_fresh, lifetime=lifetime,
        )  # fmt: skip
        self.earlier.append(asked)
        self.look()

    @rule(face=FACES, which=st.integers(0, 1000))
    def repeat(self, face: int, which: int) -> None:
        """The same packet again, perhaps by another face."""
        if self.earlier:
            interest = self.earlier[which % len(self.earlier)]
            token = self.wait(self.faces[face], key_of(interest), interest.lifetime)
            self.world.bring(self.faces[face], interest, token)
            self.look()

    @rule(face=FACES, uri=NAMES, freshness=st.sampled_from((None, 1000)))
    def answer(self, face: int, uri: str, freshness: int | None) -> None:
        name, now, producer = name_from_uri(uri), self.world.now, self.faces[face]
        fitting = [key for key in self.asked if key.takes(name)]
        solicited = any(producer.id in self.asked[key] for key in fitting)
        expected = {
            token
            for token, waiting in self.waiting.items()
            if solicited
            and waiting.key in fitting
            and waiting.face is not producer
            and waiting.expires > now
        }
        self.world.answer(producer, uri, freshness=freshness)
        served = self.look()
        assert expected <= served
        if solicited:
            for token, waiting in list(self.waiting.items()):
                if waiting.key in fitting:
                    assert waiting.face is producer or waiting.expires <= now
                    del self.waiting[token]
            self.forget_asked()

    @rule(face=FACES, reason=REASONS, which=st.integers(0, 1000))
    def refuse(self, face: int, reason: int, which: int) -> None:
        if self.earlier:
            interest = self.earlier[which % len(self.earlier)]
            self.world.forwarder.nack(self.faces[face], interest, reason, b"")
            self.look()

    @rule(seconds=st.sampled_from((0.001, 0.02, 0.3, 2.0, 10.0)))
    def pass_time(self, seconds: float) -> None:
        self.world.advance(seconds)
        assert not self.look()
        for token, waiting in list(self.waiting.items()):
            if waiting.expires <= self.world.now:
                del self.waiting[token]
        self.forget_asked()

    @rule(face=FACES, uri=NAMES, cost=st.integers(0, 2), expires=st.sampled_from((None, 1.0)))
    def route(self, face: int, uri: str, cost: int, expires: float | None) -> None:
        when = None if expires is None else self.world.now + expires
        self.world.route(uri, self.faces[face], cost, expires=when)

    @rule(uri=NAMES, strategy=STRATEGIES)
    def choose(self, uri: str, strategy: StrategyName) -> None:
        self.world.forwarder.strategies.set(name_from_uri(uri), strategy)

    @rule(face=FACES)
    def replace_face(self, face: int) -> None:
        gone = self.faces[face]
        for token, waiting in list(self.waiting.items()):
            if waiting.face is gone:
                del self.waiting[token]
        self.world.down(gone)
        for asked in self.asked.values():
            asked.discard(gone.id)
        assert not gone.sent
        self.faces[face] = self.world.face("/", local=face % 2 == 0)
        assert not self.look()

    # ---- what follows

    def wait(self, face: NotedFace, key: Key, lifetime: int) -> bytes:
        """A face is about to wait; an earlier token of the same is not used any more."""
        self.tokens += 1
        token = self.tokens.to_bytes(4, "big")
        expires = self.world.now + lifetime / 1000
        for earlier, waiting in list(self.waiting.items()):
            if (waiting.face, waiting.key) == (face, key):
                expires = max(expires, waiting.expires)
                self.replaced[token] = (earlier, waiting)
                del self.waiting[earlier]
        self.waiting[token] = Waiting(face, key, expires)
        return token

    def look(self) -> set[bytes]:
        """Check all that was sent; the tokens that were answered by Data."""
        served: set[bytes] = set()
        for face in self.faces:
            for packet, token, reason in face.take():
                if isinstance(packet, Data):
                    waiting = self.waiting.pop(token)
                    assert waiting.face is face
                    assert waiting.key.takes(packet.name)
                    served.add(token)
                elif reason is None:
                    self.asked.setdefault(key_of(packet), set()).add(face.id)
                else:
                    waiting = self.waiting.pop(token)
                    assert waiting.face is face
                    assert waiting.key.name == packet.name
                    if token in self.replaced and reason == NackReason.DUPLICATE:
                        # It went round: what waited before it still does.
                        earlier, waiting = self.replaced[token]
                        self.waiting[earlier] = waiting
        self.replaced.clear()
        self.forget_asked()
        return served

    def forget_asked(self) -> None:
        """What nobody waits for nobody was asked for."""
        alive = {waiting.key for waiting in self.waiting.values()}
        self.asked = {key: asked for key, asked in self.asked.items() if key in alive}

    @invariant()
    def everything_keeps_to_its_bound(self) -> None:
        sizes = self.world.sizes
        assert sizes["pit"] <= sizes["pit_waiting"] <= MOST
        assert sizes["pit_names"] <= sizes["pit"]
        assert sizes["cs"] <= 3 and sizes["cs_bytes"] <= 4000
        assert sizes["dead_nonces"] <= 16
        assert sizes["routes"] <= 8
        assert sizes["strategies"] <= 4
        assert len(self.waiting) <= sizes["pit_waiting"]

    def teardown(self) -> None:
        self.world.advance(100)
        for face in self.faces:
            self.world.down(face)
        self.world.advance(100)
        sizes = self.world.sizes
        left = {name for name, size in sizes.items() if size}
        assert left <= {"cs", "cs_bytes", "cs_names", "strategies"}, sizes
        assert self.world.alarm.soonest == float("inf")


AnyTraffic.TestCase.settings = settings(max_examples=80, stateful_step_count=50)
TestAnyTraffic = AnyTraffic.TestCase


# ---- equal seeds


def run(seed: int) -> tuple[list[str], list[bytes]]:
    """Much random traffic; what was told and what was sent."""
    world = World(seed, max_pit=30, max_face_pit=12, max_cs_packets=10)
    random = Random(seed)
    faces = [world.face("/a", local=random.random() < 0.5) for _ in range(6)]
    sent: list[bytes] = []
    for _ in range(800):
        face = random.choice(faces)
        uri = random.choice(URIS) + random.choice(("", "/1", "/2", "/3"))
        match random.randrange(6):
            case 0 | 1 | 2:
                world.ask(face, uri, can_be_prefix=random.random() < 0.3)
            case 3:
                world.answer(face, uri)
            case 4:
                world.advance(random.random() / 5)
            case 5:
                world.command(face, "rib/register", name=uri, cost=random.randrange(3))
        for each in faces:
            sent.extend(packet.raw + token for packet, token, _ in each.take())
    world.advance(100)
    return [event.to_json_line() for event in world.events], sent


def test_equal_seeds_give_equal_traces_and_packets() -> None:
    events, sent = run(7)
    assert (events, sent) == run(7)
    assert len(events) > 10 and len(sent) > 300
    assert sent != run(8)[1]
