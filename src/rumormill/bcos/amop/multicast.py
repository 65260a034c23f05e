"""A multicast: every node that has the topic gets it once, and every subscriber of this node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rumormill.bcos.amop.delivery import Delivery
from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import Kind, Nodes, Subscriber
from rumormill.bcos.amop.verification import Verification
from rumormill.bcos.links.turn import Turn
from rumormill.core import trace


class Spread(NamedTuple):
    """Where a multicast went."""

    reached: tuple[str, ...]
    """Nodes that it leaves for at once; this one, too, if somebody listens here."""
    queued: tuple[str, ...]
    dropped: dict[str, str]
    here: int
    """Subscribers of this node that have it."""


class Multicasts:
    """Sends the multicasts of this node's publishers, and passes those of others on."""

    def __init__(
        self, turn: Turn, nodes: Nodes, delivery: Delivery, verification: Verification
    ) -> None:
        self._turn = turn
        self._nodes = nodes
        self._delivery = delivery
        self._verification = verification

    def send(self, parcel: Parcel, sender: Subscriber, everywhere: bool = False) -> Spread:
        """A publisher of this node has something to say; ``everywhere``: to every node."""
        self._nodes.first_time(parcel.id)  # it may come back from those who relay
        nodes = self._nodes
        targets = nodes.connected() if everywhere else self._verification.routable(parcel.topic)
        kind = Kind.BROADCAST if everywhere else Kind.MULTICAST
        here = self._delivery.to_all(parcel, None, sender)
        reached, queued, dropped = self._push(targets, kind, parcel)
        return Spread((*reached, *([self._turn.name] if here else [])), queued, dropped, here)

    def received(self, node: str, kind: int, parcel: Parcel) -> bool:
        """Another node has sent a multicast; False if it was of no use."""
        if not self._nodes.first_time(parcel.id):
            self._turn.trace(trace.DUPLICATE, parcel.topic, parcel.id, node)
            return True  # those who relay cannot know that we have it
        here = self._delivery.to_all(parcel, node, None)
        everywhere = kind == Kind.BROADCAST
        targets = self._nodes.relay_targets(parcel.topic, node, everywhere)
        reached, queued, _ = self._push(targets, kind, parcel)
        if not here and not reached and not queued:
            self._turn.trace(
                trace.IGNORED, parcel.topic, parcel.id, node,
                reason="broadcast" if everywhere else "not_subscribed",
            )  # fmt: skip
            return everywhere
        return True

    def _push(
        self, targets: Sequence[str], kind: int, parcel: Parcel
    ) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
        reached: list[str] = []
        queued: list[str] = []
        dropped: dict[str, str] = {}
        for node in targets:
            line = reached if self._nodes.free(node) else queued
            if self._nodes.push(node, kind, parcel.raw):
                line.append(node)
                continue
            dropped[node] = "queue_full"
            self._turn.trace(
                trace.DROPPED, parcel.topic, parcel.id, node,
                what="message", reason="queue_full", count=1,
            )  # fmt: skip
        return tuple(reached), tuple(queued), dropped
