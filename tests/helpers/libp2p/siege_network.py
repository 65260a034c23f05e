"""A node under siege in virtual time: an honest pair, and attackers who flood as fast as they may.

What the node does for each of them is counted from outside, by what it takes and what it gives;
its own accounts of it are not asked.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rumormill.core import trace
from rumormill.core.machine import (
    Check,
    Drop,
    PeerJoined,
    PeerLeft,
    Publish,
    Received,
    Send,
    Subscribe,
    Verdict,
    Writable,
)
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.effects import PubsubEffect, PubsubInput
from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.message import WireMessage
from rumormill.simulate import Link, Simulation
from tests.helpers.core.machines import AnyEffect
from tests.helpers.libp2p.siege_payloads import TOPIC, Payload

NODE, PUBLISHER, SUBSCRIBER = "node", "publisher", "subscriber"

FORGED = b"forged"
"""The data of messages whose signature is none."""

HONEST_LINK = Link(latency=0.002)
HOSTILE_LINK = Link(latency=0.002, bandwidth=2_000_000, high_water=256 * 1024)
"""Two megabytes a second: many times what a node could deal with. As much may be under way as a
window of yamux has."""

LOOK_AGAIN = 0.05
"""Seconds after which an attacker that had nothing to send looks again."""

Flood = Iterator[Payload | None]
"""What an attacker sends, one packet after the other; None: nothing right now."""


class Attacker:
    """Sends its flood whenever there is room, and never stops by itself."""

    protocols = (MESHSUB_1_0,)

    def __init__(self, flood: Flood) -> None:
        self.sent = 0
        self._flood = flood
        self._peer = ""
        self._ready = False
        self._looks_at = 0.0

    def handle(self, input: Any, now: float) -> list[AnyEffect]:
        if isinstance(input, PeerJoined):
            self._peer, self._ready = input.peer, True
        elif isinstance(input, Writable):
            self._ready = input.ready
        elif isinstance(input, PeerLeft):
            self._peer = ""
        return []

    def wake(self, now: float) -> list[AnyEffect]:
        payload = next(self._flood)
        if payload is None:
            self._looks_at = now + LOOK_AGAIN
            return []
        self.sent += payload.units
        return [Send(self._peer, payload.data)]

    def next_wake(self) -> float | None:
        return self._looks_at if self._peer and self._ready else None


class Besieged(Pubsub):
    """The node; it notes what it takes of whom."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.taken: Counter[str] = Counter()
        """Bytes, by peer."""

    def handle(self, input: PubsubInput, now: float) -> list[PubsubEffect]:
        if isinstance(input, Received):
            self.taken[input.peer] += len(input.packet)
        return super().handle(input, now)


class SiegeNetwork:
    """The node in the middle, whom everybody knows and who alone knows everybody."""

    def __init__(self, floods: list[Flood], *, score: bool = True, **parameters: Any) -> None:
        """Without ``score``, only what peers pay for work stands between them and the node."""
        self._score = DEFAULT_SCORE if score else None
        self.simulation = Simulation(7, link=HONEST_LINK, check=self._check)
        self.parameters = PubsubParameters(**parameters)
        self.attackers = [f"attacker{number}" for number in range(len(floods))]
        self.checks: dict[str, list[float]] = defaultdict(list)
        """What the signatures cost that were looked at for each peer."""
        self.answered: Counter[str] = Counter()
        """Bytes that were sent to each peer."""
        self.drops: dict[str, str] = {}
        """The reasons for which peers were dropped."""
        self.node = self._pubsub(NODE, Besieged)
        self.simulation.add_node(NODE, self.node)
        for name in (PUBLISHER, SUBSCRIBER):
            self.simulation.add_node(name, self._pubsub(name))
            self.simulation.connect(name, NODE)
        for name, flood in zip(self.attackers, floods, strict=True):
            self.simulation.add_node(name, Attacker(flood))
        self.simulation.on_effect(Check, self._on_check)
        self.simulation.on_effect(Send, self._on_send)
        self.simulation.on_effect(Drop, self._on_drop)
        for name in (NODE, SUBSCRIBER):
            self.simulation.command(name, Subscribe(TOPIC))
        self.simulation.run_for(2.0)

    def _pubsub(self, name: str, kind: type[Pubsub] = Pubsub) -> Any:
        return kind(
            node=name,
            author=PrivateKey.from_seed(hashlib.sha256(name.encode()).digest()),
            router=GossipsubRouter(score=self._score),
            random=random.Random(name),
            parameters=self.parameters,
            first_sequence=1,
        )

    # ---- what happens

    def besiege(self, seconds: float, messages: int) -> None:
        """Let the attackers come, and the publisher send its messages meanwhile."""
        for name in self.attackers:
            self.simulation.connect(name, NODE, HOSTILE_LINK, HONEST_LINK)
        began = self.simulation.now
        for number in range(messages):
            due = began + (number + 0.5) * seconds / messages
            self.simulation.at(due, partial(self.publish, b"honest %d" % number))
        self.simulation.run_until(began + seconds + 0.5)

    def publish(self, data: bytes, name: str = PUBLISHER) -> None:
        """Let one of the honest nodes publish."""
        self.simulation.command(name, Publish((TOPIC,), data))

    def _check(self, node: str, message: WireMessage) -> str:
        return Verdict.FORGED if message.data == FORGED else Verdict.ACCEPT

    def _on_check(self, node: str, check: Check) -> None:
        if node == NODE:
            self.checks[check.peer or ""].append(check.cost)

    def _on_send(self, node: str, send: Send) -> None:
        if node == NODE:
            self.answered[send.peer] += len(send.packet)

    def _on_drop(self, node: str, drop: Drop) -> None:
        if node == NODE:
            self.drops[drop.peer] = drop.reason

    # ---- what came of it

    def heard(self) -> list[bytes]:
        """What the subscriber got of the publisher."""
        data = (message.data for message in self.simulation.deliveries[SUBSCRIBER])
        return [each for each in data if each.startswith(b"honest ")]

    def events(self, kind: str, peer: str | None = None) -> list[TraceEvent]:
        """What the node's trace says."""
        return [
            event
            for event in self.simulation.trace
            if event.node == NODE and event.event == kind and peer in (None, event.peer)
        ]

    def held_back(self) -> dict[str, list[str]]:
        """For whom it says that they were held back, and the reasons."""
        found: dict[str, list[str]] = {}
        for event in self.events(trace.HELD_BACK):
            found.setdefault(event.peer or "", []).append(str(event.fields["reason"]))
        return found


def again_and_again(payload: Payload) -> Flood:
    """The same without end."""
    while True:
        yield payload


def one_by_one(make: Callable[[int], list[Payload]]) -> Flood:
    """What ``make`` brings when asked for the first, the second... lot."""
    lot = 0
    while True:
        yield from make(lot)
        lot += 1
