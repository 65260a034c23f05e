"""What a peer and a topic take of a node's memory, and whether it stays flat for an hour of churn.

Bytes of Python objects, as tracemalloc counts them; virtual time. Counted, not timed: nearly equal
on every machine.
"""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any, NamedTuple

from bench.gossip.crowd import Crowd, padded
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.gossip import GRAFT, Graft
from rumormill.libp2p.wire.rpc import message_frame
from rumormill.libp2p.wire.signing import signed_message
from tests.helpers.libp2p.pubsub_network import Unsigned

Row = dict[str, Any]

MINUTE = 60


class Churn(NamedTuple):
    """A node whose peers come and go."""

    peers: int = 100
    topics: int = 10
    topics_of_each: int = 5
    messages_per_second: int = 2
    left_per_minute: float = 0.1
    """Share of the peers; as many come, half of them for the first time."""
    minutes: int = 60
    settling: int = 10
    """Minutes after which nothing should grow any more."""


# ---- a peer and a topic


def shares(peers: int, topics: int) -> list[Row]:
    """Bytes of one peer, of one topic of a peer, and of one topic of ours."""
    few = max(1, topics // 10)
    alone, crowd = _bytes(1, topics, 0), _bytes(peers, topics, 0)
    listening = _bytes(peers, topics, few)
    no_topics, own_topics = _bytes(1, 1, 1), _bytes(1, topics, topics)
    return [
        _share("a peer that listens to nothing", crowd - alone, peers - 1),
        _share("one topic of one peer", listening - crowd, peers * few),
        _share("one topic of ours, with one peer", own_topics - no_topics, max(1, topics - 1)),
    ]


def _share(what: str, total: int, count: int) -> Row:
    return {"what": what, "count": count, "bytes": total / count}


def _bytes(peers: int, topics: int, topics_of_each: int) -> int:
    """Bytes of a node with so many, after a few heartbeats."""
    with _Counted() as counted:
        crowd = Crowd(peers, topics, topics_of_each)
        for _ in range(5):
            crowd.next_beat()
            crowd.flush()
        return counted.bytes()


class _Counted:
    """Counts the bytes of what is made inside."""

    def __enter__(self) -> _Counted:
        gc.collect()
        tracemalloc.start()
        return self

    def __exit__(self, *_: object) -> None:
        tracemalloc.stop()

    def bytes(self) -> int:
        """Of what is there now."""
        gc.collect()
        return tracemalloc.get_traced_memory()[0]


# ---- an hour


class Town(Crowd):
    """Peers move out and in, return or not, and talk all the time."""

    def __init__(self, churn: Churn) -> None:
        super().__init__(churn.peers, churn.topics, churn.topics_of_each)
        self._churn = churn
        self._author = Unsigned(padded("author"))
        self._away: list[str] = []
        self._newcomers = self._sequence = self._seconds = 0
        self.moved = 0

    def second(self) -> None:
        """One second with what belongs to it."""
        self._seconds += 1
        due = self._seconds * self._churn.peers * self._churn.left_per_minute / MINUTE
        while self.moved + 1 <= due:
            self._move()
        for _ in range(self._churn.messages_per_second):
            self._talk()
        self.next_beat()
        self.flush()

    def _move(self) -> None:
        self.moved += 1
        leaving = self.peers.pop(self.random.randrange(len(self.peers)))
        self.leave(leaving)
        coming = self._coming()
        self._away.append(leaving)
        del self._away[: -self._churn.peers]  # or else we would measure our own list
        self.peers.append(coming)
        topics = self.random.sample(self.topics, self._churn.topics_of_each)
        self.join(coming, topics)
        # It wants to be in every mesh, and is told where there is no room.
        grafts = b"".join([GRAFT.piece(Graft(topic)) for topic in topics])
        self.receive(coming, length_prefixed(bytes_field(3, grafts)))

    def _coming(self) -> str:
        if self._away and self.moved % 2:
            return self._away.pop(self.random.randrange(len(self._away)))
        self._newcomers += 1
        return padded(f"newcomer-{self._newcomers:05}")

    def _talk(self) -> None:
        self._sequence += 1
        topic = self.random.choice(self.topics)
        data = b"%d" % self._sequence
        frame = message_frame(signed_message(self._author, data, (topic,), self._sequence))
        for peer in self.pubsub.mesh(topic)[:2]:
            self.receive(peer, frame)


def hour(churn: Churn) -> Row:
    """Memory and the size of all tables, minute by minute."""
    minutes: list[int] = []
    with _Counted() as counted:
        town = Town(churn)
        for _ in range(churn.minutes):
            for _ in range(MINUTE):
                town.second()
            minutes.append(counted.bytes())
        sizes = town.sizes()
    early = max(minutes[churn.settling : 2 * churn.settling])
    late = max(minutes[-churn.settling :])
    return {
        **churn._asdict(),
        "moved": town.moved,
        "delivered": town.delivered,
        "bytes": minutes,
        "early_bytes": early,
        "late_bytes": late,
        "sizes": {name: size for name, size in sizes.items() if size},
    }
