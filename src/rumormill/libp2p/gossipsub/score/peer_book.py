"""Who is known: the records of peers that are there, and of those that left in debt."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rumormill.core import trace
from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.score.neighbours import Neighbours
from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.peer_record import PeerRecord
from rumormill.libp2p.gossipsub.score.retained import Retained
from rumormill.libp2p.gossipsub.score.topic_parameters import MOST
from rumormill.libp2p.pubsub.router import PubsubServices


class PeerBook:
    """Begins, keeps and ends the records of peers."""

    def __init__(self, pubsub: PubsubServices, parameters: ScoreParameters) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self.connected: dict[Peer, PeerRecord] = {}
        """To look up in the midst of much work; not to be changed from outside."""
        self.retained = Retained(parameters.retain_score, parameters.max_retained)
        colocation = parameters.colocation
        self._neighbours = None if colocation is None else Neighbours(colocation)
        self.crowded_out = 0
        """Kept records that had to go before their time since this was last set to 0."""

    def __iter__(self) -> Iterator[PeerRecord]:
        yield from self.connected.values()
        yield from self.retained.all()

    def find(self, peer: Peer) -> PeerRecord | None:
        """What is known of a peer, whether or not it is there."""
        return self.connected.get(peer) or self.retained.get(peer)

    def sizes(self) -> dict[str, int]:
        """How many peers, topics of peers and addresses are known."""
        return {
            "scores": len(self.connected),
            "retained_scores": len(self.retained),
            "topic_scores": sum(len(each.topics) for each in self),
            "score_addresses": 0 if self._neighbours is None else len(self._neighbours),
        }

    # ---- coming and going

    def open(self, joined: PeerJoined, now: float) -> None:
        """A peer is there; if it was here before, with what it left behind."""
        peer = joined.peer
        record = self.retained.take(peer, now) or PeerRecord(peer)
        self.connected[peer] = record
        if self._neighbours is not None:
            self._neighbours.remove(peer, record.groups)
            record.groups = self._neighbours.add(peer, joined.address)
        self._renew(record)

    def close(self, peer: Peer, now: float) -> None:
        """A peer is gone. What it has earned is gone, too; what it owes is kept for a while."""
        record = self.connected.pop(peer, None)
        if record is None:
            return
        good = record.total > 0
        record.leave(now)
        record.settle(self._parameters)
        if good or not record.owes:
            self._forget(record)
        else:
            self._retain(record)

    def open_absent(self, peer: Peer, now: float) -> PeerRecord:
        """Something bad turned up of a peer that left with a clean record."""
        record = PeerRecord(peer)
        record.left_at = now
        self._retain(record)
        return record

    def _retain(self, record: PeerRecord) -> None:
        crowded_out = self.retained.keep(record)
        if crowded_out is not None:
            self.crowded_out += 1
            self._forget(crowded_out)

    def _forget(self, record: PeerRecord) -> None:
        if self._neighbours is not None:
            self._neighbours.remove(record.peer, record.groups)

    # ---- time

    def decay(self, steps: int, now: float) -> None:
        """So many decays are due. Nothing is forgotten of who is not there, or all of it."""
        for record in self.connected.values():
            record.decay(steps, self._parameters, now)
            self._renew(record)
        for record in self.retained.expire(now):
            self._forget(record)

    def _renew(self, record: PeerRecord) -> None:
        if self._neighbours is not None:
            record.shared = self._neighbours.surplus(record.groups)
        if self._parameters.application is not None:
            self._ask_application(record)
        record.settle(self._parameters)

    def _ask_application(self, record: PeerRecord) -> None:
        assert self._parameters.application is not None
        try:
            record.application = bounded(self._parameters.application(record.peer))
        except Exception as error:  # the user's own function: what it said before holds
            self._pubsub.emit(
                trace.DROPPED, peer=record.peer, what="application_score",
                reason="application_failed", detail=repr(error)[:200], count=1,
            )  # fmt: skip


def bounded(points: float) -> float:
    """What the application says, as a number that can be added up.

    >>> bounded(-math.inf)
    -1000000000.0
    """
    points = float(points)
    if math.isnan(points):
        raise ValueError("not a number")
    return max(-MOST, min(MOST, points))
