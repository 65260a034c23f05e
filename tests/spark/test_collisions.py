"""Messages, topics and nodes that share a number under a hash without a secret stay apart."""

from __future__ import annotations

import pytest
from xxhash import xxh64_intdigest

from tests.helpers.second_opinion import collisions
from tests.helpers.second_opinion.comparison import assert_same_tables
from tests.helpers.second_opinion.oracle import SILVER, Row, second_opinion
from tests.helpers.second_opinion.pipeline import silver_of
from tests.helpers.spark.trace_lines import event_of

LAST_31_BITS = 0x7FFFFFFF


def number(*parts: str | bytes) -> int:
    """As Spark's ``xxhash64`` of these columns."""
    seed = collisions.SEED
    for part in parts:
        seed = xxh64_intdigest(part.encode() if isinstance(part, str) else part, seed)
    return seed


def test_the_names_do_collide() -> None:
    first, second = (number(topic) & LAST_31_BITS for topic in collisions.TOPICS)
    assert first == second
    for names in (collisions.NODES, collisions.MESSAGES):
        one, other = (number(collisions.NETWORK, name) for name in names)
        assert one == other


def events() -> list[Row]:
    """Each of two nodes has one of two topics; two messages of equal numbers go to each."""
    rows = []
    for topic, node in zip(collisions.TOPICS, collisions.NODES, strict=True):
        rows.append(event_of(f"0 {node} subscribed @{topic}", collisions.NETWORK))
        for second, message_id in enumerate(collisions.MESSAGES, 1):
            told = [
                event_of(f"{second} a published @{topic}", collisions.NETWORK),
                event_of(f"{second}.1 {node} delivered @{topic} <a", collisions.NETWORK),
                event_of(f"{second}.2 {node} duplicate @{topic} <a", collisions.NETWORK),
            ]
            rows += [{**row, "message_id": message_id} for row in told]
    return rows


@pytest.mark.usefixtures("java")
def test_what_collides_is_told_apart_in_every_table(request: pytest.FixtureRequest) -> None:
    trace = events()
    wanted = second_opinion(trace)
    assert len(wanted["publications"]) == len(wanted["deliveries"]) == 4
    assert all(row["first"] and row["expected"] for row in wanted["deliveries"])
    found = silver_of(request.getfixturevalue("spark"), trace)
    assert_same_tables(found, wanted, SILVER)
