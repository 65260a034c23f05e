"""Random traces: networks as in ``scenery.py``, and messages that go through them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from tests.helpers.second_opinion import collisions
from tests.helpers.second_opinion.oracle import Row
from tests.helpers.second_opinion.scenery import SECOND, Scenery
from tests.helpers.second_opinion.shape import Shape

MARGIN = 120 * SECOND
STRANGE_PEER = "somebody-untraced"


def random_trace(shape: Shape) -> list[Row]:
    """The events in the order of their times; each has a place in the spool of its node."""
    random = Random(shape.seed)
    rows: list[Row] = []
    for number, promise in enumerate(shape.promises):
        network = f"net{number}-{promise or 'untold'}"
        nodes = [f"n{place}" for place in range(shape.nodes)]
        topics = [f"t{place}" for place in range(shape.topics)]
        rows += _network(random, shape, network, promise, nodes, topics, None)
    if shape.collisions:
        nodes = [*collisions.NODES, "n0", "n1"]
        ids = list(collisions.MESSAGES)
        topics = list(collisions.TOPICS)
        rows += _network(random, shape, collisions.NETWORK, "every", nodes, topics, ids)
    rows.sort(key=lambda row: (row["time"], row["network"], row["node"]))
    offsets: dict[str, int] = {}
    for row in rows:
        spool = f"{row['network']}/{row['node']}"
        row.update(spool=spool, partition=0, offset=offsets.get(spool, 0))
        offsets[spool] = offsets.get(spool, 0) + 1
    return rows


def random_batches(trace: Sequence[Row], parts: int, seed: int) -> list[list[Row]]:
    """The same events as they might arrive: roughly in order, some late, a few very late."""
    random = Random(seed)

    def arrival(row: Row) -> float:
        late = random.choice((0, 0, 0, 2, 2, 40, 600))
        return float(row["time"].timestamp() + random.random() * late)

    arrived = sorted(trace, key=arrival)
    cuts = sorted(random.randint(0, len(arrived)) for _ in range(parts - 1))
    bounds = [0, *cuts, len(arrived)]
    batches = [arrived[a:b] for a, b in pairwise(bounds)]
    return [batch for batch in batches if batch]


def _network(
    random: Random,
    shape: Shape,
    network: str,
    promise: str | None,
    nodes: list[str],
    topics: list[str],
    ids: list[bytes] | None,
) -> list[Row]:
    scenery = Scenery(random, shape, network, promise, nodes, topics)
    scenery.build()
    for number in range(shape.messages):
        message_id = ids[number] if ids and number < len(ids) else f"m{number}".encode()
        for topic in random.sample(topics, 2 if len(topics) > 1 and scenery.chance(0.1) else 1):
            _Message(scenery, topic, message_id).publish()
    if shape.noise:
        _tell_noise(scenery)
        _tell_standing(scenery)
    return scenery.rows


class _Message:
    """One message: its publication, and the copies of it."""

    def __init__(self, scenery: Scenery, topic: str, message_id: bytes) -> None:
        random = scenery.random
        self.scenery = scenery
        self.random = random
        self.time = random.randint(SECOND, scenery.horizon)
        running = [node for node in scenery.nodes if scenery.running(node, self.time)]
        self.publisher = random.choice(running or scenery.nodes)
        self.unicast = scenery.shape.unicast and scenery.chance(0.3)
        self.common = {
            "topic": topic,
            "message_id": message_id,
            "size": random.choice((None, random.randint(1, 2000))),
        }
        self.sender = {"sender": self.publisher} if scenery.chance(0.5) else {}
        self.topic = topic

    def publish(self) -> None:
        """Tell all of it."""
        mode = {"mode": "unicast"} if self.unicast else {}
        at = self.time
        if self.scenery.shape.strangers:
            kind = self.random.choice(("", "", "", "none", "late", "early", "twice", "again"))
            if kind == "late":
                at += MARGIN + self.random.choice((-2 * SECOND, 2 * SECOND))
            if kind == "early":
                at -= MARGIN + self.random.choice((-2 * SECOND, 2 * SECOND))
            if kind == "twice":
                other = self.random.choice(self.scenery.nodes)
                self._tell(at + self.random.randint(0, MARGIN), other, "published", **mode)
            if kind == "again":
                self._tell(at + 2 * MARGIN - 60 * SECOND, self.publisher, "published", **mode)
            if kind != "none":
                self._tell(at, self.publisher, "published", **mode)
        else:
            self._tell(at, self.publisher, "published", **mode)
        if self.scenery.chance(0.6):
            self._tell(self.time, self.publisher, "delivered", **self.sender)
        self._spread()

    def _tell(self, time: int, node: str, event: str, **columns: object) -> None:
        self.scenery.tell(max(0, time), node, event, **(self.common | columns))

    def _receivers(self) -> list[str]:
        members = self.scenery.subscribed(self.topic, self.time)
        strangers = [node for node in self.scenery.nodes if self.scenery.chance(0.05)]
        found = list(dict.fromkeys(node for node in members + strangers if node != self.publisher))
        self.random.shuffle(found)
        if self.scenery.promise == "one" or self.unicast:
            return found[: self.random.choice((0, 1, 1, 1, 2))]
        share = {"newest": 0.6}.get(str(self.scenery.promise), 0.85)
        share = share if self.scenery.shape.losses or share < 0.8 else 1.0
        return [node for node in found if self.scenery.chance(share)]

    def _spread(self) -> None:
        """First copies along a random tree, and further ones across it."""
        had = {self.publisher: self.time}
        for node in self._receivers():
            source = self.publisher if self.scenery.shape.direct else self.random.choice([*had])
            time = had[source] + self._delay()
            had[node] = time
            peer = self._peer(source)
            if self.scenery.shape.strangers and self.scenery.chance(0.05):
                # Later than the margin, and so from somebody of whom no clock is known.
                time, peer = time + MARGIN + self.random.randint(-SECOND, SECOND), STRANGE_PEER
            if self.scenery.chance(0.1):
                asked = time + self.random.choice((-1, 0, 1)) * self.random.randint(2, SECOND)
                self._ask(asked, node, peer)
            if self.scenery.chance(0.06):
                self._tell(time, node, "duplicate", peer=peer, **self.sender)
                continue
            self._tell(time, node, "delivered", peer=peer, **self.sender)
            if self.scenery.chance(0.05):
                again = time + self.random.randint(0, 3 * SECOND)
                self._tell(again, node, "delivered", peer=STRANGE_PEER, **self.sender)
        for node, time in had.items():
            others = [each for each in had if each != node]
            for peer in self.random.sample(others, min(len(others), self.random.choice((0, 1, 2)))):
                came = max(time, had[peer]) + self._delay()
                count = {"count": self.random.randint(2, 9)} if self.scenery.chance(0.1) else {}
                self._tell(came, node, "duplicate", peer=peer, **self.sender, **count)

    def _peer(self, source: str) -> str | None:
        if self.scenery.chance(0.05):
            return self.random.choice((None, STRANGE_PEER))
        return source

    def _delay(self) -> int:
        """Mostly a link's; sometimes over the end of a minute."""
        slow = self.random.choice((1, 1, 1, 1, 1, 100))
        return self.random.randint(1000, 200_000) * slow

    def _ask(self, time: int, node: str, peer: str | None) -> None:
        other = self.random.choice(self.scenery.nodes)
        asked = peer if self.scenery.chance(0.8) else other
        if asked is not None and asked != node:
            message_id = self.common["message_id"]
            self.scenery.tell(max(0, time), node, "asked", message_id=message_id, peer=asked)


def _tell_noise(scenery: Scenery) -> None:
    """Events of other kinds, and copies that belong to no message."""
    random = scenery.random
    for _ in range(scenery.shape.noise):
        node, peer = random.choice(scenery.nodes), random.choice(scenery.nodes)
        time = random.randint(0, scenery.horizon)
        count = {"count": random.randint(2, 500)} if scenery.chance(0.3) else {}
        size = {"size": random.randint(1, 5000)} if scenery.chance(0.7) else {}
        control = {
            name: random.randint(1, 9)
            for name in ("messages", "ihave", "iwant", "idontwant", "graft", "prune")
            if scenery.chance(0.3)
        }
        topic = random.choice(scenery.topics)
        kind = random.randrange(8)
        if kind < 2:
            event = ("packet_sent", "packet_received")[kind]
            scenery.tell(time, node, event, peer=peer, **size, **count, **control)
        elif kind == 2:
            what = random.choice(("packet", "captured_trace", "captured_messages", "delivery"))
            scenery.tell(time, node, "dropped", what=what, reason="queue_full", **count)
        elif kind == 3:
            scenery.tell(time, node, "rejected", peer=peer, topic=topic, reason="bad", **count)
        elif kind == 4:
            scenery.tell(time, node, "ignored", peer=peer, topic=topic, **count)
        elif kind == 5:
            scenery.tell(time, node, "duplicate", peer=peer, **count)
        elif kind == 6:
            scenery.tell(time, node, "asked", peer=peer, **count)
        else:
            scenery.tell(time, node, "delivered", message_id=b"m0", peer=peer)


POINTS = ("time_in_mesh", "first_deliveries", "mesh_deliveries", "mesh_failures",
          "invalid_messages", "application", "colocation", "behaviour", "slow")  # fmt: skip


MISDEEDS = (
    ("rejected", "graft_in_backoff"), ("rejected", "broken_promise"), ("rejected", "replay"),
    ("ignored", "too_many_topics"), ("ignored", "graft_mesh_full"), ("ignored", "broken_promise"),
    ("protocol_error", "too_many_topics"), ("protocol_error", "bad_length"),
)  # fmt: skip
"""Kinds of events and the reasons that they name; some of the pairs are no cause for an alert."""


def _tell_standing(scenery: Scenery) -> None:
    """What nodes think of each other, and what that and IDONTWANT made them do."""
    random = scenery.random
    for number in range(scenery.shape.noise):
        node, peer = random.choice(scenery.nodes), random.choice(scenery.nodes)
        time = random.randint(0, scenery.horizon)
        topic = {"topic": random.choice(scenery.topics)} if scenery.chance(0.8) else {}
        count = {"count": random.randint(2, 90)} if scenery.chance(0.3) else {}
        kind = random.randrange(6)
        if kind < 2:
            # No two are equal: of two at one time it is known which is the last.
            score = {"score": round(random.uniform(-90, 20)) + number / 1024}
            points = {name: random.uniform(-9, 9) for name in POINTS if scenery.chance(0.9)}
            level = {"level": random.choice(("trusted", "no_gossip", "graylisted"))}
            said = {} if scenery.chance(0.05) else score
            scenery.tell(time, node, "scored", peer=peer, **said, **level, **points)
        elif kind == 2:
            reason = random.choice(("not_queued", "removed_from_queue"))
            scenery.tell(time, node, "spared", peer=peer, reason=reason, **topic, **count)
        elif kind == 3:
            named = {"peers": random.randint(1, 16)} if scenery.chance(0.9) else {}
            scenery.tell(time, node, "exchange_sent", peer=peer, **topic, **named)
        elif kind == 4:
            shut = random.choice(("gate_closed", "gate_control_only", None))
            scenery.tell(time, node, "ignored", peer=peer, reason=shut, **count)
        else:
            event, reason = random.choice(MISDEEDS)
            often = {"count": random.choice((1, 12, 700))}
            scenery.tell(time, node, event, peer=peer, reason=reason, **topic, **often)
