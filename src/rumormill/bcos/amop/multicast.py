"""A multicast: every node that has the topic gets it once, and every subscriber of this node."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from rumormill.bcos.amop.delivery import Delivery
from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import Kind, Nodes, Subscriber
from rumormill.bcos.amop.verification import Verification
from rumormill.core import trace
from rumormill.core.turn import Turn

FORWARDED = "forwarded"  # a message of others went on; fields: mode, size, peers, here, dropped


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
        nodes = self._nodes
        self._first_time(parcel)  # it may come back
        targets = nodes.connected() if everywhere else self._verification.routable(parcel.topic)
        kind = Kind.BROADCAST if everywhere else Kind.MULTICAST
        here = self._delivery.to_all(parcel, None, sender)
        reached, queued, dropped = self._push(targets, kind, parcel)
        return Spread((*reached, *([self._turn.name] if here else [])), queued, dropped, here)

    def received(self, node: str, kind: int, parcel: Parcel) -> bool:
        """Another node has sent a multicast; False if it was of no use to anybody."""
        nodes = self._nodes
        if not self._first_time(parcel):
            # Nobody is to blame: those who relay cannot know that we have it.
            self._turn.trace(trace.DUPLICATE, parcel.topic, parcel.id, node)
            return True
        here = self._delivery.to_all(parcel, node, None)
        everywhere = kind == Kind.BROADCAST
        targets = nodes.relay_targets(parcel.topic, node, everywhere)
        reached, queued, dropped = self._push(targets, kind, parcel)
        if here or targets:
            self._turn.trace(
                FORWARDED, parcel.topic, parcel.id, node, mode="multicast",
                size=len(parcel.payload), peers=len(reached) + len(queued), here=here,
                dropped=len(dropped),
            )  # fmt: skip
            return True
        self._turn.trace(trace.IGNORED, parcel.topic, parcel.id, node, reason="not_subscribed")
        return everywhere

    def _first_time(self, parcel: Parcel) -> bool:
        """Whether a message has not been here; its seq alone may be another's, too."""
        if not self._nodes.relays:
            return True
        return self._nodes.first_time(sha256(parcel.raw).digest())

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
