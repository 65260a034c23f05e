"""Scores and causes: what nodes think of their peers, and why they refuse and spare."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.gold import causes, links, scores
from tests.helpers.spark.hand_made import HandMade, Row, at, rows


def told(seconds: float, score: float, level: str = "trusted", **other: Any) -> Row:
    return {
        "time": at(seconds), "node": "a", "peer": "b", "score": score, "level": level, **other
    }  # fmt: skip


def caused(event: str, reason: str, count: int, **other: Any) -> Row:
    return {
        "minute": at(0), "node": "a", "peer": "b", "event": event, "reason": reason,
        "count": count, **other,
    }  # fmt: skip


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> HandMade:
    return HandMade(
        spark,
        {
            "scored": [
                told(10, 5.0, first_deliveries=5.0),
                told(20, -90.0, "graylisted", behaviour=-95.0, first_deliveries=5.0),
                told(50, -12.0, "no_gossip", behaviour=-17.0),
                told(70, -4.0, "no_mesh", behaviour=-4.0),
                {**told(30, 1.0), "peer": "c"},
                {**told(40, 2.0), "node": "c"},
                {**told(40, 3.0), "node": "c"},
            ],
            "reasons": [
                caused("spared", "not_queued", 3, topic="news"),
                caused("spared", "not_queued", 4, topic="news", node="c"),
                caused("spared", "removed_from_queue", 1, topic="news"),
                caused("spared", "not_queued", 9, topic="other"),
                caused("rejected", "broken_promise", 2),
                caused("ignored", "gate_control_only", 40),
                caused("spared", "not_queued", 5, topic="news", minute=at(60)),
            ],
            "counters": [
                {"minute": at(0), "node": "a", "peer": "b", "event": "spared", "count": 4},
                {"minute": at(0), "node": "a", "peer": "b", "event": "exchange_sent", "count": 2,
                 "exchanged": 16},
            ],
        },
    )  # fmt: skip


def test_a_minute_has_the_last_score_and_how_far_it_went_down_and_up(tables: HandMade) -> None:
    columns = "minute node peer told score lowest highest level"
    assert rows(scores(tables), columns) == [
        (0.0, "a", "b", 3, -12.0, -90.0, 5.0, "no_gossip"),
        (0.0, "a", "c", 1, 1.0, 1.0, 1.0, "trusted"),
        (0.0, "c", "b", 2, 3.0, 2.0, 3.0, "trusted"),
        (60.0, "a", "b", 1, -4.0, -4.0, -4.0, "no_mesh"),
    ]


def test_what_a_score_is_made_of_is_told_of_the_last_one(tables: HandMade) -> None:
    found = rows(scores(tables), "minute node peer behaviour first_deliveries")
    assert found[0] == (0.0, "a", "b", -17.0, None)


def test_reasons_are_counted_by_topic_and_minute_over_all_nodes(tables: HandMade) -> None:
    columns = "minute topic event reason count"
    assert rows(causes(tables), columns) == [
        (0.0, None, "ignored", "gate_control_only", 40),
        (0.0, None, "rejected", "broken_promise", 2),
        (0.0, "news", "spared", "not_queued", 7),
        (0.0, "news", "spared", "removed_from_queue", 1),
        (0.0, "other", "spared", "not_queued", 9),
        (60.0, "news", "spared", "not_queued", 5),
    ]


def test_a_link_has_the_copies_that_were_spared_and_the_peers_that_were_named(
    tables: HandMade,
) -> None:
    assert rows(links(tables), "minute node peer spared exchanged") == [(0.0, "a", "b", 4, 16)]
