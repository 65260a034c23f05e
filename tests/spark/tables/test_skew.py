"""Clocks: compared where copies went both ways, corrected where that is beyond doubt."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from rumormill.pipeline.tables import silver
from rumormill.pipeline.tables.problems import problems
from rumormill.pipeline.tables.skew import Clock, Way, clocks
from rumormill.pipeline.tables.sums import sums, sums_in
from tests.helpers.spark.trace_lines import by_network, held, trace_of

MS = 1000


def links(*pairs: tuple[str, str, int, int]) -> list[Way]:
    """Source, target, and the smallest difference there and back, in milliseconds."""
    return [
        way
        for source, target, there, back in pairs
        for way in (Way(source, target, there * MS), Way(target, source, back * MS))
    ]


def test_two_clocks_are_half_the_difference_of_the_two_ways_apart() -> None:
    # 40 ms each way; b is 1000 ms ahead.
    found = clocks(links(("a", "b", 1040, -960)), ["a", "b"])
    assert found["a"] == Clock(0.0, 0.0, 1)
    assert found["b"].offset_us == pytest.approx(1000 * MS)
    assert found["b"].uncertainty_us == pytest.approx(80 * MS)
    assert found["b"].applied and not found["a"].applied


def test_what_could_be_an_uneven_link_is_not_corrected() -> None:
    found = clocks(links(("a", "b", 90, 10)), ["a", "b"])
    assert found["b"].offset_us == pytest.approx(40 * MS)
    assert found["b"].estimated and not found["b"].applied


def test_the_clock_in_the_middle_is_the_reference() -> None:
    # a is 500 ms behind everybody else.
    ways = links(("a", "b", 510, -490), ("b", "c", 10, 10), ("c", "d", 10, 10))
    found = clocks(ways, ["a", "b", "c", "d"])
    assert {node for node, clock in found.items() if clock.applied} == {"a"}
    assert found["a"].offset_us == pytest.approx(-500 * MS)


def test_a_clock_without_both_ways_is_not_estimated() -> None:
    ways = [Way("a", "b", 10 * MS), Way("b", "c", 10 * MS), Way("c", "b", 10 * MS)]
    found = clocks(ways, ["a", "b", "c", "d"])
    assert {node: clock.estimated for node, clock in found.items()} == {
        "a": False,
        "b": True,
        "c": True,
        "d": False,
    }
    assert found["a"] == Clock(0.0, None, 0)


def test_a_round_trip_of_less_than_nothing_tells_nothing() -> None:
    found = clocks(links(("a", "b", 10, -20)), ["a", "b"])
    assert not found["a"].estimated and not found["b"].estimated


def test_parts_that_no_link_joins_have_each_a_reference_of_their_own() -> None:
    ways = links(("a", "b", 1010, -990), ("x", "y", 5010, -4990))
    found = clocks(ways, ["a", "b", "x", "y"])
    assert [round(found[node].offset_us / MS) for node in "abxy"] == [0, 1000, 0, 5000]


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 8),
    skewed=st.booleans(),
)
def test_clocks_are_found_within_what_the_links_allow(seed: int, count: int, skewed: bool) -> None:
    """Any delays on any connected network: an error never exceeds the doubt that is stated."""
    chance = random.Random(seed)
    names = [f"n{number}" for number in range(count)]
    truth = {name: chance.randrange(-(10**7), 10**7) if skewed else 0 for name in names}
    pairs = {(names[chance.randrange(number)], names[number]) for number in range(1, count)}
    pairs |= {(a, b) for a in names for b in names if a < b and chance.random() < 0.3}
    ways = [
        Way(source, target, chance.randrange(1, 50 * MS) + truth[target] - truth[source])
        for pair in sorted(pairs)
        for source, target in (pair, pair[::-1])
    ]
    found = clocks(ways, names)
    reference = next(name for name in names if found[name].uncertainty_us == 0)
    for name in names:
        clock, wrong = found[name], truth[name] - truth[reference]
        assert clock.uncertainty_us is not None
        assert abs(clock.offset_us - wrong) <= clock.uncertainty_us + 1
        if not skewed:
            assert not clock.applied


# b is 10 s ahead: its message of second 30 was published at second 20. Copies take 40 ms.
AHEAD = """
    0.00   a  subscribed  @news
    10.50  b  subscribed  @news
    10.60  c  subscribed  @news
    10.00  a  published   @news  #m1
    20.04  b  delivered   @news  #m1  <a
    10.08  c  delivered   @news  #m1  <b
    30.00  b  published   @news  #m2
    20.04  a  delivered   @news  #m2  <b
    20.04  c  delivered   @news  #m2  <b
    25.00  c  published   @news  #m3
    35.04  b  delivered   @news  #m3  <c
    25.08  a  delivered   @news  #m3  <b
    62.00  b  published   @news  #m4
    52.04  a  delivered   @news  #m4  <b
"""
# The same network as seen by a and c, b tells nothing. c's clock is 50 ms behind that of a.
ONE_WAY = """
    1.00  a  published   @news  #m1
    0.99  c  delivered   @news  #m1  <a
"""


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, dict[str, list[tuple[object, ...]]]]:
    made = silver(trace_of(spark, AHEAD, one_way=ONE_WAY), keep=held)
    return {
        "skew": by_network(made.skew, "node offset_ms estimated applied"),
        "deliveries": by_network(made.deliveries, "message_id node latency_ms expected"),
        "publications": by_network(made.publications, "message_id time minute expected"),
        "subscriptions": by_network(made.subscriptions, "node since"),
        "problems": by_network(
            problems(sums_in(sums(made.deliveries)), made.skew, made.counters), "kind count"
        ),
    }


Found = dict[str, dict[str, list[tuple[object, ...]]]]


def test_a_wrong_clock_is_told(found: Found) -> None:
    assert found["skew"]["net"] == [
        ("a", pytest.approx(0.0), True, False),
        ("b", pytest.approx(10_000.0), True, True),
        ("c", pytest.approx(0.0), True, False),
    ]


def test_latencies_are_those_of_one_clock(found: Found) -> None:
    latencies = {row[:2]: row[2] for row in found["deliveries"]["net"]}
    assert latencies == {
        ("m1", "b"): pytest.approx(40.0),
        ("m1", "c"): pytest.approx(80.0),
        ("m2", "a"): pytest.approx(40.0),
        ("m2", "c"): pytest.approx(40.0),
        ("m3", "a"): pytest.approx(80.0),
        ("m3", "b"): pytest.approx(40.0),
        ("m4", "a"): pytest.approx(40.0),
    }


def test_all_times_are_those_of_one_clock(found: Found) -> None:
    # b had subscribed before m1 was published, c had not.
    assert found["publications"]["net"] == [
        ("m1", 10.0, 0.0, 1),
        ("m2", pytest.approx(20.0), 0.0, 2),
        ("m3", 25.0, 0.0, 2),
        ("m4", pytest.approx(52.0), 0.0, 2),
    ]
    assert ("b", pytest.approx(0.5)) in found["subscriptions"]["net"]


def test_a_negative_latency_that_nothing_explains_is_a_problem(found: Found) -> None:
    assert found["skew"]["one_way"] == [("a", None, False, False)]  # c has no history of its own
    assert found["deliveries"]["one_way"] == [("m1", "c", pytest.approx(-10.0), False)]
    assert ("negative_latency", 1) in found["problems"]["one_way"]
    assert ("clock_unknown", 1) in found["problems"]["one_way"]
