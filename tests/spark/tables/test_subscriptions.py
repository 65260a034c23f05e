"""From when to when a node was subscribed, also where it does not say when it ends."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.tables.columns import history
from rumormill.pipeline.tables.subscriptions import subscriptions
from rumormill.pipeline.tables.traffic import activity, counters, counts, names
from tests.helpers.spark.trace_lines import by_network, held, seconds, trace_of

Intervals = dict[str, list[tuple[str, str, float, float | None]]]
"""Topic, node, since, until."""

LEAVES = """
    0.0   a  subscribed    @news
    0.5   a  subscribed    @weather
    1.0   b  subscribed    @weather
    5.0   a  unsubscribed  @weather
    6.0   b  unsubscribed  @weather
    6.0   b  subscribed    @weather
    9.0   a  subscribed    @weather
"""
CRASHES = """
    0.0   a  subscribed      @news
    0.0   a  subscribed      @weather
    0.0   b  subscribed      @news
    4.0   a  node_crashed
    7.0   a  node_restarted
    7.5   a  subscribed      @news
"""
SILENT = """
    0.0   a  subscribed   @news
    0.0   b  subscribed   @news
    0.0   c  subscribed   @news
    0.1   a  peer_joined  <c
    0.1   b  peer_joined  <c
    0.1   c  peer_joined  <a
    0.1   c  peer_joined  <b
    5.0   c  delivered    @news  #m1  <a
    35.0  a  peer_left    <c
    50.0  a  published    @news  #m2
    50.1  b  delivered    @news  #m2  <a
"""
SEEN_BY_ALL = SILENT + "40.0  b  peer_left  <c"
GOES_ON = SEEN_BY_ALL + "\n60.0  c  packet_sent  <d"
# b has c to its own end, and that came before the end of c.
DEAD_WITNESS = """
    0.0   a  subscribed   @news
    0.0   c  subscribed   @news
    0.1   a  peer_joined  <c
    0.1   b  peer_joined  <c
    5.0   c  delivered    @news  #m1  <a
    6.0   a  peer_left    <c
    50.0  a  published    @news  #m2
"""
RETURNS = """
    0.0    a  subscribed   @news
    0.0    c  subscribed   @news
    0.1    a  peer_joined  <c
    5.0    c  delivered    @news  #m1  <a
    30.0   a  peer_left    <c
    130.0  a  peer_joined  <c
    130.2  c  subscribed   @news
    140.0  c  delivered    @news  #m2  <a
"""
RETURNS_SOON = """
    0.0    a  subscribed   @news
    0.0    c  subscribed   @news
    0.1    a  peer_joined  <c
    5.0    c  delivered    @news  #m1  <a
    6.0    a  peer_left    <c
    8.0    c  subscribed   @news
    9.0    c  delivered    @news  #m2  <a
"""
# c tells of its end; d is killed, comes back, and its peers learn of it a moment later.
KNOWN = """
    0.0    a  subscribed       @news
    0.0    c  subscribed       @news
    0.0    d  subscribed       @news
    0.2    a  peer_subscribed  @news  <c
    0.3    d  peer_subscribed  @news  <c
    0.4    a  peer_subscribed  @news  <d
    0.5    a  peer_joined      <d
    0.5    a  peer_subscribed  @other  <a
    5.0    c  unsubscribed     @news
    10.0   d  delivered        @news  #m1  <a
    10.1   a  peer_left        <d
    20.0   d  subscribed       @news
    20.4   a  peer_subscribed  @news  <d
"""

# What is published goes to those that its publisher knows, and no further.
DIRECT = """
    0.0    c  subscribed       @news
    0.2    a  peer_subscribed  @news  <c  direct=true
    3.0    a  peer_subscribed  @news  <c  direct=true
    3.0    b  peer_subscribed  @news  <c  direct=true
"""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> tuple[Intervals, Intervals]:
    trace = trace_of(
        spark,
        LEAVES,
        crashes=CRASHES,
        unseen=SILENT,
        seen=SEEN_BY_ALL,
        goes_on=GOES_ON,
        dead_witness=DEAD_WITNESS,
        returns=RETURNS,
        returns_soon=RETURNS_SOON,
        known=KNOWN,
    )
    active = held("activity", activity(counters(counts(trace), names(trace))))
    found = held("subscriptions", subscriptions(history(trace), active))
    return (
        by_network(found, "topic node since until"),
        by_network(found, "topic node expected_since expected_until"),
    )


@pytest.fixture(scope="module")
def intervals(tables: tuple[Intervals, Intervals]) -> Intervals:
    return tables[0]


@pytest.fixture(scope="module")
def expected(tables: tuple[Intervals, Intervals]) -> Intervals:
    """When messages must have been published to be expected of the node."""
    return tables[1]


def test_a_subscription_lasts_until_the_node_leaves_the_topic_or_to_the_end(
    intervals: Intervals,
) -> None:
    assert intervals["net"] == [
        ("news", "a", 0.0, None),
        ("weather", "a", 0.5, 5.0),
        ("weather", "a", 9.0, None),
        ("weather", "b", 1.0, 6.0),
        ("weather", "b", 6.0, None),
    ]


def test_a_crash_that_is_told_ends_all_subscriptions_of_the_node(intervals: Intervals) -> None:
    assert intervals["crashes"] == [
        ("news", "a", 0.0, 4.0),
        ("news", "a", 7.5, None),
        ("news", "b", 0.0, None),
        ("weather", "a", 0.0, 4.0),
    ]


def test_a_node_that_all_its_peers_saw_leave_ended_with_its_last_own_event(
    intervals: Intervals,
) -> None:
    assert intervals["seen"] == [
        ("news", "a", 0.0, None),
        ("news", "b", 0.0, None),
        ("news", "c", 0.0, 5.0),
    ]


def test_a_node_is_not_gone_as_long_as_an_active_peer_has_it(intervals: Intervals) -> None:
    assert intervals["unseen"][-1] == ("news", "c", 0.0, None)


def test_a_node_that_goes_on_after_its_peers_left_is_not_gone(intervals: Intervals) -> None:
    assert intervals["goes_on"][-1] == ("news", "c", 0.0, None)


def test_a_peer_that_is_gone_itself_cannot_vouch_for_a_node(intervals: Intervals) -> None:
    assert intervals["dead_witness"] == [("news", "a", 0.0, None), ("news", "c", 0.0, 5.0)]


def test_a_node_that_subscribes_anew_had_ended_when_it_was_last_heard_of(
    intervals: Intervals,
) -> None:
    assert intervals["returns"] == [
        ("news", "a", 0.0, None),
        ("news", "c", 0.0, 5.0),
        ("news", "c", 130.2, None),
    ]


def test_a_node_that_is_back_within_the_minute_had_ended_when_its_peer_saw_it_leave(
    intervals: Intervals,
) -> None:
    assert intervals["returns_soon"] == [
        ("news", "a", 0.0, None),
        ("news", "c", 0.0, 6.0),
        ("news", "c", 8.0, None),
    ]


def test_messages_are_expected_as_long_as_a_node_is_subscribed_where_peers_tell_nothing(
    intervals: Intervals, expected: Intervals
) -> None:
    assert expected["net"] == intervals["net"]
    assert expected["crashes"] == intervals["crashes"]  # the end is known to the moment
    assert expected["unseen"] == intervals["unseen"]


def test_nothing_is_expected_of_the_last_second_of_a_node_that_ended_without_a_word(
    expected: Intervals,
) -> None:
    assert expected["seen"][-1] == ("news", "c", 0.0, 4.0)
    assert expected["returns"][1:] == [("news", "c", 0.0, 4.0), ("news", "c", 130.2, None)]
    assert expected["returns_soon"][1:] == [("news", "c", 0.0, 5.0), ("news", "c", 8.0, None)]


def test_nothing_is_expected_of_a_node_before_the_first_of_its_peers_knows_of_it(
    intervals: Intervals, expected: Intervals
) -> None:
    assert intervals["known"] == [
        ("news", "a", 0.0, None),
        ("news", "c", 0.0, 5.0),
        ("news", "d", 0.0, 10.1),
        ("news", "d", 20.0, None),
    ]
    assert expected["known"] == [
        ("news", "a", 0.0, None),  # nobody tells of it and this topic
        ("news", "c", 0.2, 5.0),
        ("news", "d", 0.4, 9.1),
        ("news", "d", 20.4, None),
    ]


def test_where_nobody_passes_messages_on_it_is_kept_since_when_each_peer_knows(
    spark: SparkSession,
) -> None:
    trace = trace_of(spark, DIRECT, known=KNOWN)
    active = activity(counters(counts(trace), names(trace)))
    found = subscriptions(history(trace), active).where("node = 'c'").collect()
    told = {row.network: row.known_to for row in found}
    assert told["known"] is None
    assert {peer: seconds(time) for peer, time in told["net"].items()} == {"a": 0.2, "b": 3.0}
