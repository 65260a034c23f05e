"""A node that scores its peers, on the bench: every deed and every second is the test's."""

from __future__ import annotations

from typing import Any

from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.gossipsub.score import PeerScore, Score, ScoreParameters, TopicScoreParameters
from rumormill.libp2p.wire.message import WireMessage
from tests.helpers.libp2p.workbench import Workbench, gossipsub, signed

TOPIC = "t"
FOREVER = 1 - 1e-12
"""A decay that a test does not live long enough to see."""


NO_THRESHOLDS = {"gossip": -1e9, "publish": -1e9, "graylist": -1e9}
"""However bad a peer is, it is heard."""


def only(**groups: Any) -> TopicScoreParameters:
    """A topic on which nothing counts but what is given."""
    off = dict.fromkeys(("time_in_mesh", "first_deliveries", "invalid_messages"))
    return TopicScoreParameters(**{**off, **groups})


def score_of(bench: Workbench) -> Score:
    assert isinstance(bench.router, GossipsubRouter)
    assert isinstance(bench.router.standing, Score)
    return bench.router.standing


class ScoreBench:
    """A bench whose node listens to ``t`` and scores; its peers are in no mesh but by the test."""

    def __init__(
        self,
        *peers: str,
        topic: TopicScoreParameters | None = None,
        pubsub: Any = None,
        **score: Any,
    ) -> None:
        """``topic`` is what conduct on ``t`` is worth; without it, nothing."""
        parameters = ScoreParameters(
            **{
                "topics": {TOPIC: topic or only()},
                "topic_score_cap": 0,
                "thresholds": NO_THRESHOLDS,
                **score,
            }
        )
        self.bench = gossipsub(score=parameters, graft_on_subscribe=False, **(pubsub or {}))
        self.score = score_of(self.bench)
        self.bench.subscribe(TOPIC)
        self._next = 0
        for peer in peers:
            self.bench.join(peer)
        self.bench.heartbeat()

    @property
    def now(self) -> float:
        return self.bench.now

    def pass_time(self, seconds: float) -> None:
        self.bench.run_until(self.now + seconds)

    def heartbeats(self, count: int = 1) -> None:
        for _ in range(count):
            self.bench.heartbeat()

    def graft(self, *peers: str) -> None:
        for peer in peers:
            self.score.grafted(peer, TOPIC, self.now)

    def prune(self, *peers: str) -> None:
        for peer in peers:
            self.score.pruned(peer, TOPIC, self.now)

    def message(self, data: bytes = b"data", author: str = "author") -> WireMessage:
        self._next += 1
        return signed(author, TOPIC, data, self._next)

    def send(self, peer: str, count: int = 1) -> WireMessage:
        """The peer brings new messages; returns the last."""
        for _ in range(count):
            message = self.message()
            self.bench.send_message(peer, message)
        return message

    def copy(self, peer: str, message: WireMessage) -> None:
        self.bench.send_message(peer, message)

    def of(self, peer: str) -> float:
        return self.score.of(peer)

    def parts(self, peer: str) -> PeerScore:
        return self.score.snapshot()[peer]


def forged(message: WireMessage) -> WireMessage:
    """The message with a bit of its signature turned."""
    message.raw = message.raw[:-1] + bytes([message.raw[-1] ^ 1])
    return message
