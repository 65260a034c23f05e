"""The graph of a minute: nodes, degrees, components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from rumormill.pipeline.tables.mesh_health import components, measure, mesh_minutes
from rumormill.pipeline.tables.schema import SILVER
from tests.helpers.spark.trace_lines import at, rows_of


def graph(topic: str, nodes: str, *links: str) -> list[dict[str, Any]]:
    """Nodes as letters, links as two of them."""
    common = {"network": "net", "topic": topic, "minute": 0}
    return [{**common, "node": node, "peer": None} for node in nodes] + [
        {**common, "node": link[0], "peer": link[1]} for link in links
    ]


def figures(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    names = ("nodes", "degree_mean", "degree_min", "degree_max", "components", "largest")
    found = measure(pa.Table.from_pylist(rows)).to_pylist()
    return {row["topic"]: tuple(row[name] for name in names) for row in found}


def test_a_graph_is_measured() -> None:
    whole = graph("whole", "abcd", "ab", "ba", "bc", "cb", "cd")
    apart = graph("apart", "abcde", "ab", "ba", "cd")
    alone = graph("alone", "ab")
    assert figures([*whole, *apart, *alone]) == {
        "whole": (4, 5 / 4, 0, 2, 1, 4),
        "apart": (5, 3 / 5, 0, 1, 3, 2),  # ab, cd, e
        "alone": (2, 0.0, 0, 0, 2, 1),
    }


def test_a_link_to_somebody_who_tells_nothing_counts_as_a_degree_only() -> None:
    # x is no member: it does not join a and b; nor does x's own list count.
    assert figures(graph("t", "ab", "ax", "bx", "xa")) == {"t": (2, 1.0, 1, 1, 2, 1)}


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(
    st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20)
)))  # fmt: skip
def test_components_are_those_of_a_plain_search(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, links = case
    label = list(range(count))
    for _ in range(count):
        for near, far in links:
            label[near] = label[far] = min(label[near], label[far])
    ends = np.array(links, np.int64).reshape(-1, 2)
    assert components(count, ends[:, 0], ends[:, 1]).tolist() == label


@pytest.fixture(scope="module")
def minutes(spark: SparkSession) -> list[tuple[Any, ...]]:
    """A trace from 0:30 to 3:20: c is there for a short while, and a and b part in minute 2."""
    members: list[Any] = [("net", "news", node, at(0), None) for node in "ab"]
    members += [("net", "news", "c", at(30), at(100)), ("net", "quiet", "a", at(0), None)]
    mesh = [
        ("net", "news", "a", "b", at(30), at(121), "us", "pruned"),
        ("net", "news", "b", "a", at(30), at(140), "us", "pruned"),
        ("net", "news", "b", "c", at(80), at(100), "us", "peer left"),
        # Parted and joined within one minute: half of it, in sum.
        ("net", "news", "b", "a", at(182), at(186), "us", "pruned"),
        ("net", "news", "b", "a", at(190), None, "us", None),
    ]
    told = {"network": "net", "node": "a", "first_at": at(30), "last_at": at(200)}
    span = tuple(told.get(name) for name in SILVER["counters"].names)
    found = mesh_minutes(
        spark.createDataFrame(mesh, SILVER["mesh"]),
        spark.createDataFrame([(*row, *row[3:], None) for row in members], SILVER["subscriptions"]),
        spark.createDataFrame([span], SILVER["counters"]),
    )
    return rows_of(found, "topic minute nodes degree_mean components largest grafts prunes")


def test_what_was_there_for_half_of_a_minute_is_in_its_graph(minutes: list[Any]) -> None:
    assert minutes == [
        # 30 s of this minute are covered: all three nodes, a and b linked.
        ("news", 0.0, 3, 2 / 3, 2, 2, 2, 0),
        # c until 1:40, its link with b for 20 s only.
        ("news", 60.0, 3, 2 / 3, 2, 2, 1, 1),
        # c has left; b has a for 20 s of 60.
        ("news", 120.0, 2, 0.0, 2, 1, 0, 2),
        # 20 s are covered; 4 and 10 of them.
        ("news", 180.0, 2, 1 / 2, 1, 2, 2, 1),
    ]


def test_a_topic_without_a_mesh_has_no_row(minutes: list[Any]) -> None:
    assert {row[0] for row in minutes} == {"news"}
