"""The part ``gossip``: heartbeats, messages and memory of one gossipsub machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.gossip import heartbeats, memory, messages
from bench.gossip.heartbeats import Size
from bench.gossip.memory import Churn
from bench.progress import Progress

WHOLE = Size(peers=1000, topics=100)
AN_HOUR = Churn()


@dataclass(frozen=True)
class GossipPlan:
    """How much is measured."""

    size: Size = WHOLE
    beats: int = 50
    """Heartbeats of each case that count."""
    passes: int = 40
    batches: int = 50
    """Of messages, in each pass."""
    churn: Churn = AN_HOUR


QUICK = GossipPlan(
    size=Size(peers=40, topics=10),
    beats=3,
    passes=2,
    batches=4,
    churn=Churn(peers=10, topics=2, topics_of_each=2, minutes=6, settling=2),
)


async def run(plan: GossipPlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``gossip`` of the results."""
    cases = heartbeats.cases(plan.size)
    progress.begin("gossip", len(cases) + 3)
    beats = []
    for case in cases:
        progress.step(f"gossip: heartbeat, {case.name}")
        beats.append(heartbeats.measure(plan.size, case, plan.beats))
    progress.step("gossip: messages")
    rows = messages.measure(plan.passes, plan.batches)
    progress.step("gossip: memory of peers and topics")
    shares = memory.shares(*plan.size)
    progress.step("gossip: an hour of churn")
    return {
        "heartbeats": beats,
        "messages": rows,
        "message_size": messages.SIZE,
        "batch": messages.BATCH,
        "memory": shares,
        "hour": memory.hour(plan.churn),
    }
