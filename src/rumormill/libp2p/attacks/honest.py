"""Honest nodes: the machines of the live node, with the score that a user would give them."""

from __future__ import annotations

import random
from typing import Any

from rumormill.core.machine import Peer, Verdict
from rumormill.libp2p.attacks.spam import UNWELCOME
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.score import ScoreParameters
from rumormill.libp2p.gossipsub.score.parameters import Colocation
from rumormill.libp2p.gossipsub.score.topic_parameters import TopicScoreParameters
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.wire.message import WireMessage

TOPIC = "weather"
RATE = 20.0
"""Messages a second on the topic, all publishers together."""
SIGNATURE = bytes(64)
"""What every honest message bears: here signatures cost nothing, and every other one is forged."""
NEIGHBOURS = Colocation(weight=-5.0, threshold=3)
"""What peers on one address cost: the user knows that his are not behind one router."""


class Writer:
    """An author whose id is its name."""

    def __init__(self, name: Peer) -> None:
        self.peer_id = name.encode()

    def sign(self, payload: bytes) -> bytes:
        """The one signature that passes."""
        return SIGNATURE


def usual_score(rate: float = RATE) -> ScoreParameters:
    """What ``rumormill score explain --steady`` proposes, and a price on shared addresses."""
    topic = TopicScoreParameters.for_rate(rate, steady=True).parameters
    return ScoreParameters(topics={TOPIC: topic}, colocation=NEIGHBOURS)


def honest_node(
    name: Peer,
    entropy: random.Random,
    score: ScoreParameters | None,
    gossipsub: dict[str, Any],
    pubsub: dict[str, Any],
) -> Pubsub:
    """A node as it stands, but for the parameters that are given."""
    return Pubsub(
        node=name,
        author=Writer(name),
        router=GossipsubRouter(GossipsubParameters(**gossipsub), score),
        random=entropy,
        parameters=PubsubParameters(**pubsub),
        network="attacks",
        name_of=lambda peer_id: peer_id.decode(errors="replace"),
        id_of=str.encode,
        first_sequence=1,
    )


def verdict(node: Peer, message: WireMessage) -> str:
    """What the signature and the validator of every honest node say."""
    if message.signature != SIGNATURE or message.key is not None:
        return Verdict.FORGED
    return Verdict.REJECT if message.data == UNWELCOME else Verdict.ACCEPT
