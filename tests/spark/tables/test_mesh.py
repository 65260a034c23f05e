"""From when to when a peer was in a node's mesh."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.tables.columns import history
from rumormill.pipeline.tables.mesh import NODE_LEFT, PEER_LEFT, mesh
from tests.helpers.spark.trace_lines import at, by_network, trace_of

Links = dict[str, list[tuple[object, ...]]]

PRUNED = """
    1.0   a  grafted  @news  <b  by=us
    2.0   a  grafted  @news  <b  by=peer
    5.0   a  pruned   @news  <b  reason=backoff
    6.0   a  pruned   @news  <b  reason=again
    9.0   a  grafted  @news  <b  by=peer
    3.0   a  grafted  @news  <c  by=us
    4.0   b  grafted  @news  <a  by=us
"""
LEFT = """
    1.0   a  grafted    @news     <b
    2.0   a  grafted    @weather  <b
    2.0   a  grafted    @weather  <c
    5.0   a  peer_left  <b
    6.0   c  peer_left  <b
"""
ENDED = """
    1.0   a  grafted  @news     <b
    1.0   a  grafted  @weather  <b
    2.0   a  grafted  @news     <c
    3.0   a  pruned   @news     <c  reason=excess
    9.0   a  grafted  @news     <b
"""
MEMBERS = "network string, topic string, node string, since timestamp, until timestamp"


@pytest.fixture(scope="module")
def links(spark: SparkSession) -> Links:
    trace = trace_of(spark, PRUNED, left=LEFT, ended=ENDED)
    members = spark.createDataFrame(
        [("ended", "news", "a", at(1), at(7)), ("ended", "news", "a", at(8), None)], MEMBERS
    )
    found = mesh(history(trace), members)
    return by_network(found, "topic node peer since until by reason")


def test_a_link_lasts_from_graft_to_prune(links: Links) -> None:
    assert links["net"] == [
        ("news", "a", "b", 1.0, 5.0, "us", "backoff"),
        ("news", "a", "b", 9.0, None, "peer", None),
        ("news", "a", "c", 3.0, None, "us", None),
        ("news", "b", "a", 4.0, None, "us", None),
    ]


def test_a_peer_that_leaves_leaves_all_meshes_of_the_node(links: Links) -> None:
    assert links["left"] == [
        ("news", "a", "b", 1.0, 5.0, None, PEER_LEFT),
        ("weather", "a", "b", 2.0, 5.0, None, PEER_LEFT),
        ("weather", "a", "c", 2.0, None, None, None),
    ]


def test_a_link_ends_with_the_subscription_of_its_node(links: Links) -> None:
    assert links["ended"] == [
        ("news", "a", "b", 1.0, 7.0, None, NODE_LEFT),
        ("news", "a", "b", 9.0, None, None, None),
        ("news", "a", "c", 2.0, 3.0, None, "excess"),
        ("weather", "a", "b", 1.0, None, None, None),  # a fanout needs no subscription
    ]
