"""The graph of a minute: nodes, degrees, parts; how long links and subscriptions lasted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.gold import lifetimes, mesh_minutes
from rumormill.pipeline.gold.measures.graphs import measure
from tests.helpers.spark.hand_made import HandMade, Row, at, rows

FIGURES = ("nodes", "degree_mean", "degree_min", "degree_max", "components", "largest", "cut_off")


def figures(nodes: str, *links: str) -> tuple[Any, ...]:
    """Nodes as letters, links as two of them; all there for the whole minute."""
    ends = [(node, None) for node in nodes] + [(link[0], link[1]) for link in links]
    common = {"network": "net", "topic": "t", "minute": 0, "usual": True, "whole": True}
    found = measure(pa.Table.from_pylist([{**common, "node": a, "peer": b} for a, b in ends]))
    (row,) = found.to_pylist()
    return tuple(row[name] for name in FIGURES)


def test_a_graph_is_measured() -> None:
    assert figures("abcd", "ab", "ba", "bc", "cb", "cd") == (4, 5 / 4, 0, 2, 1, 4, 0)
    assert figures("abcde", "ab", "ba", "cd") == (5, 3 / 5, 0, 1, 3, 2, 3)


def test_peers_that_tell_nothing_may_join_whoever_has_them() -> None:
    # x and y are not traced: a and b may be joined through them, c is alone.
    assert figures("abc", "ax", "by", "xa") == (3, 2 / 3, 0, 1, 2, 2, 1)


def link(node: str, peer: str, since: float, until: float | None) -> Row:
    ends = None if until is None else at(until)
    return {"topic": "news", "node": node, "peer": peer, "since": at(since), "until": ends}


def given() -> dict[str, list[Row]]:
    """A trace from 0:30 to 3:20: c is there for a short while, and a and b part in minute 2."""
    members: list[Row] = [{"topic": "news", "node": node, "since": at(0)} for node in "ab"]
    members += [
        {"topic": "news", "node": "c", "since": at(30), "until": at(100)},
        {"topic": "quiet", "node": "a", "since": at(0)},
    ]
    mesh = [
        link("a", "b", 30, 121),
        link("b", "a", 30, 140),
        link("b", "c", 80, 100),
        # Parted and joined within one minute: half of it, in sum.
        link("b", "a", 182, 186),
        link("b", "a", 190, None),
    ]
    return {
        "subscriptions": members,
        "mesh": mesh,
        "counters": [covered(minute, 30, 200) for minute in range(4)],
    }


def covered(minute: int, begin: float, end: float) -> Row:
    """Events from the first to the last instant of a minute that are within the trace."""
    first, last = max(begin, 60 * minute), min(end, 60 * minute + 59.999)
    return {"minute": at(60 * minute), "node": "a", "event": "packet_sent",
            "first_at": at(first), "last_at": at(last)}  # fmt: skip


COLUMNS = "topic minute nodes degree_mean components largest grafts prunes"


@pytest.fixture(scope="module")
def together(spark: SparkSession) -> list[tuple[Any, ...]]:
    tables = HandMade(spark, given(), [at(60 * minute) for minute in range(4)])
    return rows(mesh_minutes(tables), COLUMNS)


def test_what_was_there_for_half_of_a_minute_is_in_its_graph(together: list[Any]) -> None:
    assert together == [
        # 30 s of this minute are covered: all three nodes, a and b linked.
        ("news", 0.0, 3, pytest.approx(2 / 3), 2, 2, 2, 0),
        # c until 1:40, its link with b for 20 s only.
        ("news", 60.0, 3, pytest.approx(2 / 3), 2, 2, 1, 1),
        # c has left; b has a for 20 s of 60.
        ("news", 120.0, 2, 0.0, 2, 1, 0, 2),
        # 20 s are covered; 4 and 10 of them.
        ("news", 180.0, 2, 1 / 2, 1, 2, 2, 1),
    ]


def test_minutes_are_the_same_made_one_by_one(spark: SparkSession, together: list[Any]) -> None:
    apart = [
        row
        for minute in (1, 3)
        for row in rows(mesh_minutes(HandMade(spark, given(), [at(60 * minute)])), COLUMNS)
    ]
    assert apart == [together[1], together[3]]


def test_ends_are_counted_by_how_long_it_had_lasted(spark: SparkSession) -> None:
    tables = HandMade(spark, given(), [at(60), at(120)])
    # 91 s: log2(365) = 8.5; 110 s: log2(441) = 8.8; 20 s: log2(81) = 6.3; 70 s: log2(281) = 8.1.
    assert rows(lifetimes(tables), "minute topic kind bin ended") == [
        (60.0, "news", "mesh", 6, 1),
        (60.0, "news", "subscription", 8, 1),
        (120.0, "news", "mesh", 8, 2),
    ]
