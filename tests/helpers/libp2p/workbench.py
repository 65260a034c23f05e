"""One pubsub machine on the bench, with peers that say exactly what a test wants them to say."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any, TypeVar

from rumormill.core.machine import (
    Check,
    Checked,
    Deliver,
    PeerJoined,
    PeerLeft,
    Publish,
    Published,
    PublishedMany,
    PublishMany,
    Received,
    Send,
    Subscribe,
    Unsubscribe,
    Verdict,
    Writable,
)
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import RestPeer
from rumormill.libp2p.effects import BeginRelay, EndRelay
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE, ScoreParameters
from rumormill.libp2p.pubsub.floodsub import FLOODSUB, FloodsubRouter
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.pubsub.randomsub import RANDOMSUB, RandomsubParameters, RandomsubRouter
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire import (
    GOSSIP_KINDS,
    Control,
    ControlKinds,
    Graft,
    IHave,
    IWant,
    Prune,
    Rpc,
    Subscription,
    decode_rpc,
)
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import signed_message, verify
from tests.helpers.core.machines import AnyEffect
from tests.helpers.libp2p.rpc_encoding import encode_rpc

EffectType = TypeVar("EffectType")


def identity(name: str) -> PrivateKey:
    """A key of its own for every name."""
    return PrivateKey.from_seed(hashlib.sha256(name.encode()).digest())


class Workbench:
    """Drives one machine by hand, in virtual time; answers checks at once unless told not to."""

    def __init__(
        self,
        router: Router | None = None,
        *,
        seed: int = 1,
        key: PrivateKey | None = None,
        answer_checks: bool = True,
        first_sequence: int | None = 1,
        kinds: ControlKinds = GOSSIP_KINDS,
        author_store: AuthorStore | None = None,
        **parameters: Any,
    ) -> None:
        """``kinds`` are those of control that what the node says is read with."""
        self.kinds = kinds
        self.key = key or identity("the node on the bench")
        self.router = router or GossipsubRouter()
        self.now = 0.0
        self.answer_checks = answer_checks
        self.verdicts: dict[bytes, str] = {}
        self.open_checks: list[Check] = []
        self.effects: list[AnyEffect] = []
        self.sent: dict[str, list[Rpc]] = {}
        self.pubsub = Pubsub(
            node=self.key.peer,
            author=self.key,
            router=self.router,
            random=random.Random(seed),
            parameters=PubsubParameters(**parameters),
            network="bench",
            first_sequence=first_sequence,
            author_store=author_store,
        )

    # ---- driving

    def feed(self, input: Any) -> list[AnyEffect]:
        """Give an input, carry the effects out, then let everything that waits be sent."""
        effects = self.hand_over(input)
        return effects + self.flush()

    def hand_over(self, input: Any) -> list[AnyEffect]:
        """Give an input and carry the effects out; a peer that let others pass goes on at once."""
        effects = self._carry_out(self.pubsub.handle(input, self.now))
        last = effects
        while (rest := next((each for each in last if isinstance(each, RestPeer)), None)) and (
            not rest.seconds
        ):
            last = self._carry_out(self.pubsub.handle(Received(rest.peer, b""), self.now))
            effects = effects + last
        return effects

    def flush(self) -> list[AnyEffect]:
        """Wake the machine as long as it wants it at once."""
        effects: list[AnyEffect] = []
        for _ in range(1000):
            due = self.pubsub.next_wake()
            if due is None or due > self.now:
                return effects
            effects += self._carry_out(self.pubsub.wake(self.now))
        raise AssertionError("the machine wants to be woken for ever without time passing")

    def run_until(self, time: float) -> None:
        """Let time pass, with a stop at every wake-up."""
        while (due := self.pubsub.next_wake()) is not None and due <= time:
            self.now = max(self.now, due)
            self.flush()
        self.now = time

    def heartbeat(self) -> None:
        """Let one heartbeat pass."""
        due = self.router.next_wake()
        assert due is not None
        self.run_until(due)

    def _carry_out(self, effects: list[AnyEffect]) -> list[AnyEffect]:
        self.effects += effects
        followers: list[AnyEffect] = []
        for effect in effects:
            if isinstance(effect, Send):
                reader = FrameReader(largest=1 << 24)
                for frame in reader.feed(effect.packet):
                    rpc = decode_rpc(frame, kinds=self.kinds)
                    self.sent.setdefault(effect.peer, []).append(rpc)
                assert reader.pending == 0, "a packet holds whole frames only"
            elif isinstance(effect, Check):
                if self.answer_checks:
                    followers += self.answer(effect)
                else:
                    self.open_checks.append(effect)
        return effects + followers

    def answer(self, check: Check, verdict: str | None = None) -> list[AnyEffect]:
        """Answer a check: by the signature, unless the test says otherwise."""
        if verdict is None:
            message: WireMessage = check.subject
            genuine = message.signature is None or verify(message)
            verdict = self.verdicts.get(message.data, Verdict.ACCEPT) if genuine else Verdict.FORGED
        return self._carry_out(self.pubsub.handle(Checked(check.token, verdict), self.now))

    # ---- the application

    def subscribe(self, *topics: str) -> None:
        for topic in topics:
            self.feed(Subscribe(topic))

    def unsubscribe(self, topic: str) -> None:
        self.feed(Unsubscribe(topic))

    def relay(self, topic: str) -> None:
        self.feed(BeginRelay(topic))

    def end_relay(self, topic: str) -> None:
        self.feed(EndRelay(topic))

    def publish_many(self, topic: str, several: Sequence[bytes]) -> tuple[Receipt, ...]:
        effects = self.feed(PublishMany((topic,), several))
        (published,) = [effect for effect in effects if isinstance(effect, PublishedMany)]
        return published.receipts

    def publish(self, topic: str | tuple[str, ...], data: bytes = b"data") -> Receipt:
        topics = (topic,) if isinstance(topic, str) else topic
        effects = self.feed(Publish(topics, data))
        (published,) = [effect for effect in effects if isinstance(effect, Published)]
        return published.receipt

    # ---- peers

    def join(
        self,
        peer: str,
        *topics: str,
        protocol: str = MESHSUB_1_0,
        outbound: bool = False,
        address: str = "",
    ) -> str:
        """A peer connects and says which topics it listens to; ``outbound`` if we dialed it."""
        self.feed(PeerJoined(peer, protocol, outbound, address))
        if topics:
            self.say(peer, Rpc(subscriptions=tuple(Subscription(True, each) for each in topics)))
        return peer

    def join_many(self, count: int, *topics: str, **how: Any) -> list[str]:
        return [self.join(f"peer{index}", *topics, **how) for index in range(count)]

    def leave(self, peer: str) -> None:
        self.feed(PeerLeft(peer))

    def say(self, peer: str, rpc: Rpc) -> list[AnyEffect]:
        """A peer sends an RPC."""
        return self.say_bytes(peer, length_prefixed(encode_rpc(rpc)))

    def say_bytes(self, peer: str, data: bytes) -> list[AnyEffect]:
        return self.feed(Received(peer, data))

    def send_message(self, peer: str, message: WireMessage) -> list[AnyEffect]:
        return self.say(peer, Rpc(messages=(message,)))

    def graft(self, peer: str, topic: str) -> list[AnyEffect]:
        return self.say(peer, Rpc(control=Control((Graft(topic),))))

    def prune(self, peer: str, topic: str, backoff: int | None = None) -> list[AnyEffect]:
        return self.say(peer, Rpc(control=Control((Prune(topic, backoff),))))

    def ihave(self, peer: str, topic: str, *ids: bytes) -> list[AnyEffect]:
        return self.say(peer, Rpc(control=Control((IHave(topic, ids),))))

    def iwant(self, peer: str, *ids: bytes) -> list[AnyEffect]:
        return self.say(peer, Rpc(control=Control((IWant(ids),))))

    def writable(self, peer: str, ready: bool) -> None:
        self.feed(Writable(peer, ready))

    # ---- looking

    def of(self, kind: type[EffectType]) -> list[EffectType]:
        """All effects of one type so far."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def delivered(self) -> list[Message]:
        return [effect.message for effect in self.of(Deliver)]

    def events(self, kind: str, **match: Any) -> list[TraceEvent]:
        """Trace events of a kind, with these columns or fields."""
        return [
            event
            for event in self.of(TraceEvent)
            if event.event == kind
            and all(column(event, key) == value for key, value in match.items())
        ]

    def took(self, peer: str) -> list[Rpc]:
        """What was sent to the peer since this was last asked."""
        return self.sent.pop(peer, [])

    def took_items(self, peer: str) -> list[tuple[Any, ...]]:
        """The same, cut into single statements: see :func:`items`."""
        return [item for rpc in self.took(peer) for item in items(rpc)]

    def forget(self) -> None:
        """Forget what was sent and what happened so far."""
        self.sent.clear()
        self.effects.clear()


def column(event: TraceEvent, key: str) -> Any:
    """A column or a field of an event; a tuple's own methods (count, index) are neither."""
    return getattr(event, key) if key in event._fields else event.fields.get(key)


def items(rpc: Rpc) -> list[tuple[Any, ...]]:
    """An RPC as single statements, so that it does not matter how they were packed together."""
    found: list[tuple[Any, ...]] = [
        ("subscribe" if each.subscribe else "unsubscribe", each.topic) for each in rpc.subscriptions
    ]
    found += [("message", message.raw) for message in rpc.messages]
    control = rpc.control or Control()
    found += [("graft", each.topic) for each in control.of(Graft)]
    found += [("prune", each.topic) for each in control.of(Prune)]
    found += [("iwant", frozenset(each.message_ids)) for each in control.of(IWant)]
    found += [("ihave", each.topic, frozenset(each.message_ids)) for each in control.of(IHave)]
    return found


def signed(author: str, topic: str | tuple[str, ...], data: bytes, sequence: int) -> WireMessage:
    """A message by another author."""
    topics = (topic,) if isinstance(topic, str) else topic
    return signed_message(identity(author), data, topics, sequence)


def origin_id(message: WireMessage) -> bytes:
    """The message's id in the default profile."""
    return (message.sender_id or b"") + (message.sequence or b"")


def gossipsub(
    seed: int = 1, score: ScoreParameters | None = DEFAULT_SCORE, **parameters: Any
) -> Workbench:
    """A bench with a gossipsub router; gossipsub's own parameters are told from pubsub's."""
    own = {key: parameters.pop(key) for key in list(parameters) if key in _GOSSIPSUB_KEYS}
    return Workbench(GossipsubRouter(GossipsubParameters(**own), score), seed=seed, **parameters)


def floodsub(**parameters: Any) -> Workbench:
    """A bench with a floodsub router."""
    return Workbench(FloodsubRouter(), **parameters)


def randomsub(seed: int = 1, **parameters: Any) -> Workbench:
    """A bench with a randomsub router; its own parameters are told from pubsub's."""
    own = {key: parameters.pop(key) for key in list(parameters) if key in _RANDOMSUB_KEYS}
    return Workbench(RandomsubRouter(RandomsubParameters(**own)), seed=seed, **parameters)


_RANDOMSUB_KEYS = set(RandomsubParameters.model_fields)
_GOSSIPSUB_KEYS = set(GossipsubParameters.model_fields)

__all__ = [
    "FLOODSUB", "MESHSUB_1_0", "RANDOMSUB", "Workbench", "floodsub", "gossipsub", "identity",
    "items", "origin_id", "randomsub", "signed",
]  # fmt: skip
