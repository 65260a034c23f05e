"""Nodes, values, problems, and the slowest message of a topic."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rumormill.core.errors import ConfigError
from rumormill.pipeline.gold import AlertParameters, nodes, problems, slowest, values
from tests.helpers.spark.hand_made import HandMade, Row, at, rows


def copy(message: str, node: str, latency: float | None, **other: Any) -> Row:
    return {
        "topic": "news", "message_id": message.encode(), "publisher": "a", "published_at": at(3),
        "node": node, "expected": True, "first": latency is not None, "latency_ms": latency,
        **other,
    }  # fmt: skip


def test_a_node_is_what_it_says_of_itself_else_what_others_say(spark: SparkSession) -> None:
    runs = [
        {"node": "a", "since": at(0), "last_at": at(9), "agent": "old/1", "ended": True},
        {"node": "a", "since": at(20), "last_at": at(30), "agent": "new/2", "promise": "one"},
        {"node": "b", "since": at(1), "last_at": at(2), "promise": "every", "ended": True},
    ]
    seen: list[Row] = [
        {"witness": "a", "node": "b", "present": False, "at": at(8), "agent": "x/1",
         "agent_at": at(3)},
        {"witness": "c", "node": "b", "present": False, "at": at(7), "agent": "x/2",
         "agent_at": at(6)},
        {"witness": "a", "node": "z", "present": True, "at": at(5)},
    ]  # fmt: skip
    tables = HandMade(spark, {"runs": runs, "sightings": seen})
    assert rows(nodes(tables), "node agent promise runs first_at last_at present") == [
        ("a", "new/2", "one", 2, 0.0, 30.0, True),
        ("b", "x/2", "one", 1, 1.0, 2.0, False),
        ("z", None, "one", 0, None, 5.0, True),
    ]


def test_the_slowest_message_is_told_with_its_way(spark: SparkSession) -> None:
    deliveries = [
        copy("quick", "b", 10.0, peer="a", hop=1),
        copy("slow", "b", 9.0, peer="a", hop=1),
        copy("slow", "c", 90.0, peer="b", hop=2),
        copy("slow", "d", None),
        copy("slow", "e", 5000.0, peer="c", hop=3, expected=False),
    ]
    (found,) = slowest(HandMade(spark, {"deliveries": deliveries})).collect()
    assert (bytes(found.message_id), found.slowest_ms) == (b"slow", 90.0)
    assert (found.publisher, found.reached, found.expected) == ("a", 3, 3)
    assert [tuple(each) for each in found.tree] == [
        ("b", "a", 1, 9.0),
        ("c", "b", 2, 90.0),
        ("e", "c", 3, 5000.0),
    ]


def test_of_a_long_way_the_beginning_and_the_end_are_told(spark: SparkSession) -> None:
    deliveries = [copy("m", f"n{number:03}", float(number)) for number in range(300)]
    (found,) = slowest(HandMade(spark, {"deliveries": deliveries})).collect()
    assert (len(found.tree), found.reached) == (200, 300)
    assert [each.node for each in found.tree][-2:] == ["n198", "n299"]


def test_values_are_those_of_before_and_what_is_new(spark: SparkSession) -> None:
    newest = {"promise": "newest", "topic": "temperature", "publisher": "a"}
    before = {"topic": "temperature", "value_at": at(1), "had_at": at(1.5), "newest_at": at(1)}
    given: dict[str, list[Row]] = {
        "values": [{**before, "node": "b"}, {**before, "node": "c"}, {**before, "node": "gone"}],
        "publications": [{**newest, "message_id": b"v2", "time": at(3)}],
        "deliveries": [
            {**copy("v2", "b", 10.0), **newest, "time": at(3.01)},
            {**copy("v2", "c", None), **newest},
            {**copy("v2", "d", None), **newest},
            copy("other promise", "b", 10.0),
        ],
        "subscriptions": [
            *[{"topic": "temperature", "node": node, "since": at(0)} for node in "bcd"],
            {"topic": "temperature", "node": "gone", "since": at(0), "until": at(2)},
        ],
    }
    columns = "topic node value_at had_at newest_at behind"
    assert rows(values(HandMade(spark, given)), columns) == [
        # Who is not subscribed at the end is neither behind nor not.
        ("temperature", "a", 3.0, 3.0, 3.0, None),
        ("temperature", "b", 3.0, 3.01, 3.0, False),
        ("temperature", "c", 1.0, 1.5, 3.0, True),
        ("temperature", "d", None, None, 3.0, True),
        ("temperature", "gone", 1.0, 1.5, 3.0, None),
    ]


def test_problems_are_counted_by_kind(spark: SparkSession) -> None:
    given: dict[str, list[Row]] = {
        "deliveries": [
            copy("m", "b", -5.0, hop=1),
            copy("m", "c", 5.0),
            {**copy("m", "d", None), "published_at": None, "expected": False, "first": True},
        ],
        "counters": [{"node": "b", "event": "dropped", "lost": 9, "uncaptured": 7}],
        "clocks": [{"node": "b", "estimated": False}, {"node": "c", "estimated": True}],
    }
    assert rows(problems(HandMade(spark, given)), "topic kind count") == [
        (None, "captured_lost", 7),
        (None, "clock_unknown", 1),
        ("news", "hop_unknown", 1),
        ("news", "negative_latency", 1),
        ("news", "publication_unknown", 1),
    ]


def test_a_threshold_that_makes_no_sense_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match="spam_share: must not be below 0"):
        AlertParameters(spam_share=-0.1)
    with pytest.raises(ConfigError, match="eclipse_share: is a share"):
        AlertParameters(eclipse_share=95)
