"""What a topic's descriptor costs a message of 1 KiB, beside the same topic without one.

A node with a peer, without sockets: it publishes, and it receives and delivers. Signatures are real
and made by whichever library is at work, since what a guard may cost is held against a signed
message. What encryption costs is the difference to the same guard without it and with the bare
cipher called once for each message; to see that, signatures are left out. Variants take turns.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from bench.formatting import number
from bench.goals import SUMMARIES, Figure, Goal, fixed
from bench.progress import Progress
from bench.tables import Table
from rumormill.core.machine import (
    Check,
    Checked,
    Deliver,
    PeerJoined,
    Publish,
    Received,
    Send,
    Subscribe,
    Verdict,
)
from rumormill.libp2p.descriptor import TopicDescriptor
from rumormill.libp2p.descriptor.commands import KnowTopic
from rumormill.libp2p.descriptor.private_topics import PrivateTopics
from rumormill.libp2p.descriptor.shared_keys import new_keys
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.rpc import Subscription, subscription_field
from rumormill.libp2p.wire.signing import verify

Row = dict[str, Any]
Calls = dict[str, Callable[[], object]]

SIZE = 1024
DATA = bytes(range(256)) * (SIZE // 256)
BATCH = 16
NOW = 1_800_000_000.0
OURS, THEIRS = PrivateKey.from_seed(b"o" * 32), PrivateKey.from_seed(b"t" * 32)
KEYS, HASHES = new_keys(1, random.Random(1))

PLAIN, LISTED, WEB, SHARED, SEALED = (
    "no descriptor", "auth key", "auth wot", "auth key, enc shared-key", "auth wot, enc wot",
)  # fmt: skip
AUTHENTICATED = (LISTED, WEB)
CIPHER = " and the bare cipher"
ENCRYPTED = {SHARED: LISTED + CIPHER, SEALED: WEB + CIPHER}
"""With the same without encryption, but for a call of the cipher that nobody needs."""

MOST_MORE = 1.1
"""What authentication may make of the cost of a signed message."""
MOST_FOR_SEALING = 5.0
"""Microseconds beside the cipher itself."""


@dataclass(frozen=True)
class PrivatePlan:
    """How much is measured."""

    passes: int = 40
    batches: int = 20


QUICK = PrivatePlan(passes=3, batches=3)


def descriptor(name: str) -> TopicDescriptor:
    """The descriptor of a variant."""
    who, name = (OURS.peer, THEIRS.peer), name.removesuffix(CIPHER)
    if name == PLAIN:
        return TopicDescriptor("weather")
    auth = "wot" if name in (WEB, SEALED) else "key"
    if name == SHARED:
        return TopicDescriptor.make(
            "weather", auth=auth, publishers=who, encryption="shared-key", key_hashes=HASHES
        )
    encryption = "wot" if name == SEALED else "none"
    return TopicDescriptor.make("weather", auth=auth, publishers=who, encryption=encryption)


class FreeKey:
    """A key whose signatures cost nothing, and that opens what is sealed to it."""

    def __init__(self, key: PrivateKey) -> None:
        self.peer_id, self.peer, self.unseal = key.peer_id, key.peer, key.unseal

    def sign(self, payload: bytes) -> bytes:
        return bytes(64)


class Side:
    """One of two nodes: writes messages of a variant, or reads those of the other."""

    def __init__(
        self, topic: TopicDescriptor, key: PrivateKey, signed: bool, calls: Calls | None
    ) -> None:
        self.signed, self.calls = signed, calls
        self.topic = topic.topic_id
        self.delivered = 0
        self.sent: list[bytes] = []
        self.pubsub = Pubsub(
            node=key.peer,
            author=key if signed else FreeKey(key),
            router=GossipsubRouter(GossipsubParameters(), DEFAULT_SCORE),
            random=random.Random(1),
            network="bench",
            guard=PrivateTopics(random.Random(2)),
        )
        self.pubsub.handle(KnowTopic(topic, KEYS if topic.encryption.key_hashes else ()), NOW)
        self.pubsub.handle(Subscribe(self.topic), NOW)
        self.pubsub.handle(PeerJoined("peer", MESHSUB_1_0), NOW)
        topics = (self.topic, self.topic + "/trust")
        words = b"".join([subscription_field(Subscription(True, each)) for each in topics])
        self.pubsub.handle(Received("peer", length_prefixed(words)), NOW)
        self.pubsub.wake(NOW)

    def publish(self) -> list[bytes]:
        """A batch of messages, written; the packets that leave."""
        for _ in range(BATCH):
            self.pubsub.handle(Publish((self.topic,), DATA), NOW)
            if self.calls is not None:
                self.calls["publish"]()
        return [effect.packet for effect in self.pubsub.wake(NOW) if isinstance(effect, Send)]

    def receive(self, packets: list[bytes]) -> None:
        """A batch of the other's, read and delivered."""
        for packet in packets:
            for effect in self.pubsub.handle(Received("peer", packet), NOW):
                if isinstance(effect, Check):
                    genuine = not self.signed or verify(effect.subject)
                    verdict = Verdict.ACCEPT if genuine else Verdict.FORGED
                    if self.calls is not None:
                        self.calls["receive"]()
                    effects = self.pubsub.handle(Checked(effect.token, verdict), NOW)
                    self.delivered += sum(isinstance(each, Deliver) for each in effects)
        self.pubsub.wake(NOW)


class Variant:
    """Two nodes with the same topic: one writes to the other."""

    def __init__(self, name: str, signed: bool) -> None:
        topic, calls = descriptor(name), cipher_calls() if name.endswith(CIPHER) else None
        self.writer, self.reader = (Side(topic, key, signed, calls) for key in (THEIRS, OURS))
        self.costs: dict[str, list[float]] = {"publish": [], "receive": []}
        self.run(1, keep=False)

    def run(self, batches: int, keep: bool = True) -> None:
        """One pass; microseconds per message of each side."""
        totals = dict.fromkeys(self.costs, 0)
        for _ in range(batches):
            begin = time.thread_time_ns()
            packets = self.writer.publish()
            middle = time.thread_time_ns()
            self.reader.receive(packets)
            totals["publish"] += middle - begin
            totals["receive"] += time.thread_time_ns() - middle
        if keep:
            for what, total in totals.items():
                self.costs[what].append(total / batches / BATCH / 1000)


async def run(plan: PrivatePlan, progress: Progress) -> Row:
    """Measure; returns the part ``private`` of the results."""
    progress.begin("private", plan.passes)
    names = (PLAIN, LISTED, WEB, SHARED, SEALED)
    chosen = [(name, signed) for signed in (True, False) for name in names]
    chosen += [(name, False) for name in ENCRYPTED.values()]
    variants = {(name, signed): Variant(name, signed) for name, signed in chosen}
    ciphers: dict[str, list[float]] = {"publish": [], "receive": []}
    for at in range(plan.passes):
        progress.step(f"private: pass {at + 1}")
        for variant in variants.values():
            variant.run(plan.batches)
        for what, call in cipher_calls().items():
            ciphers[what].append(_cost(call))
    rows = [
        {
            "name": name,
            "signed": signed,
            "delivered": variant.reader.delivered,
            **{what: summary(costs) for what, costs in variant.costs.items()},
        }
        for (name, signed), variant in variants.items()
    ]
    cipher = {what: summary(costs) for what, costs in ciphers.items()}
    return {"size": SIZE, "rows": rows, "cipher": cipher}


def cipher_calls() -> Calls:
    """The bare cipher, with a key that is kept."""
    cipher, nonce, about = ChaCha20Poly1305(KEYS[0]), bytes(12), bytes(100)
    sealed = cipher.encrypt(nonce, DATA, about)
    return {
        "publish": lambda: cipher.encrypt(nonce, DATA, about),
        "receive": lambda: cipher.decrypt(nonce, sealed, about),
    }


def _cost(call: Callable[[], object], calls: int = 100) -> float:
    begin = time.thread_time_ns()
    for _ in range(calls):
        call()
    return (time.thread_time_ns() - begin) / calls / 1000


def summary(costs: list[float]) -> dict[str, float]:
    """By the best pass, and by the median."""
    return {"best": min(costs), "median": statistics.median(costs)}


# ---- what is shown and wanted


def private_tables(part: Row) -> list[Table]:
    """Each variant, signed and not."""
    lines = [
        [row["name"], "yes" if row["signed"] else "no"]
        + [number(row[what][each]) for what in ("publish", "receive") for each in SUMMARIES]
        for row in part["rows"]
    ]
    cipher = [number(part["cipher"][what][each]) for what in part["cipher"] for each in SUMMARIES]
    lines.append(["the cipher alone", "-", *cipher])
    return [
        Table(
            f"A message of {part['size']} B on topics with descriptors",
            ["topic", "signatures", "publish, CPU us", "median", "receive, CPU us", "median"],
            lines,
            ["One machine on each side, no sockets. Signatures are signed and verified in turn."],
        )
    ]


def private_goals(part: Row) -> list[Goal]:
    """What descriptors may cost at most."""
    rows = {(row["name"], row["signed"]): row for row in part["rows"]}
    goals = []
    for what in ("publish", "receive"):
        plain = Figure("the same without descriptor", rows[PLAIN, True][what])
        for name in AUTHENTICATED:
            figure = Figure(name, rows[name, True][what])
            goals.append(Goal(f"{what}, {name}", figure, False, plain.times(MOST_MORE), " us"))
        for name, base in ENCRYPTED.items():
            cost = {
                each: rows[name, False][what][each] - rows[base, False][what][each]
                for each in SUMMARIES
            }
            limit = fixed("5 us beside the cipher", MOST_FOR_SEALING)
            goals.append(Goal(f"{what}, {name}", Figure(name, cost), False, limit, " us"))
    return goals
