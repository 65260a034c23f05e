"""The demo's own count, for machines without Spark, is the count of the tables: to the message."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rumormill.cli.demo.ledger import DOUBT, Figures, Ledger
from rumormill.cli.demo.spark import differing, figures_of
from rumormill.pipeline.tables import gold, silver
from rumormill.pipeline.tables.subscriptions import GRACE_SECONDS
from tests.helpers.spark.trace_lines import held, trace_of

KILLED, LEFT, SUBSCRIBED, KNOWN = 20.0, 20.0, 40.0, 40.25
DELAY = {"a": 0.002, "b": 0.005, "c": 0.009}
"""Seconds that messages take to the subscribers; c is killed and comes back."""


def messages() -> list[tuple[str, float]]:
    """One each half of a second, at no boundary."""
    return [(f"m{number:03}", 1.1 + number / 2) for number in range(120)]


def came(name: str, node: str, published: float) -> float | None:
    """When a message came to a node, if it did."""
    if name == "m030" and node == "b":
        return None  # lost
    if node != "c" or published + DELAY[node] < KILLED or published > SUBSCRIBED:
        return published + DELAY[node]
    return 41.0 if published > 38 else None  # gossip brings what is not too old


def trace() -> str:
    lines = [f"0.0 {node} subscribed @news" for node in "abc"]
    for node in "abc":
        others = [other for other in "abc" if other != node]
        lines += [f"0.2 {node} peer_joined <{other}" for other in others]
        lines += [f"0.2 {node} peer_subscribed @news <{other}" for other in others]
    lines += [f"{LEFT} {node} peer_left <c" for node in "ab"]
    lines.append(f"{SUBSCRIBED} c subscribed @news")
    lines += [f"{KNOWN} {node} peer_subscribed @news <c" for node in "ab"]
    for name, published in messages():
        lines.append(f"{published:.3f} p published @news #{name}")
        for node in "abc":
            time = came(name, node, published)
            if time is not None:
                lines.append(f"{time:.3f} {node} delivered @news #{name} <p")
    lines += [f"90.0 {node} unsubscribed @news" for node in "abc"]
    return "\n".join(lines)


def told() -> Figures:
    ledger = Ledger(4, (1, 2, 3))
    for name, published in messages():
        ledger.published(0, {"id": name, "published_at": round(published, 3)})
        for number, node in enumerate("abc", 1):
            time = came(name, node, published)
            if time is not None:
                ledger.arrived(number, {"id": name, "received_at": round(time, 3)})
    ledger.killed(3, KILLED)
    ledger.returned(3, KNOWN)
    return ledger.figures()


@pytest.fixture(scope="module")
def kept(spark: SparkSession) -> Figures:
    made = gold(silver(trace_of(spark, trace()), keep=held))
    (topic,) = [row.asDict() for row in made["topics"].collect()]
    arrived = topic["delivered"] - topic["unexpected"]
    latency = {name: topic[f"latency_{name}"] for name in ("p50", "p99")}
    topic |= {"missing": topic["expected"] - arrived, "latency_ms": latency}
    peers = {row.node: row.asDict() for row in made["peers"].collect()}
    return figures_of({"peers": peers, "topics": {"news": topic}}, "news", "pabc")


def test_both_count_the_same_of_every_node(kept: Figures) -> None:
    mine = told()
    assert [row._replace(newest=None) for row in mine.rows] == list(kept.rows)
    assert (mine.published, mine.missing, mine.late) == (120, 1, kept.late)
    assert 0 < mine.rows[3].expected < 120 and mine.rows[3].missing == 0
    assert mine.p50 == pytest.approx(kept.p50)
    assert mine.p99 == pytest.approx(kept.p99)
    assert mine.p99 is not None and mine.p99 < 10  # what gossip brought late is in neither
    assert differing(mine, kept, killed=3) == []


def test_a_node_that_told_of_fewer_than_it_kept_is_found(kept: Figures) -> None:
    mine = told()
    rows = (*mine.rows[:1], mine.rows[1]._replace(missing=1), *mine.rows[2:])
    assert differing(mine._replace(rows=rows), kept, killed=3) == [1]
    assert differing(mine._replace(rows=rows), kept, killed=1) == []


def test_both_leave_out_as_much_before_a_silent_end() -> None:
    assert DOUBT == GRACE_SECONDS
