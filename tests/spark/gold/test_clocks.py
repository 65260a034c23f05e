"""Clocks: compared where copies went both ways, along the surest way."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from rumormill.pipeline.clock_offsets import Clock, Way
from rumormill.pipeline.clock_offsets import clocks as compared
from rumormill.pipeline.gold import clocks
from tests.helpers.spark.hand_made import HandMade, Row, at, rows

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
    found = compared(links(("a", "b", 1040, -960)), ["a", "b"])
    assert found == {"a": Clock(0.0, 0.0, 1), "b": Clock(1000.0 * MS, 80.0 * MS, 1)}
    assert found["b"].applied and not found["a"].applied


def test_what_could_be_an_uneven_link_is_not_corrected() -> None:
    found = compared(links(("a", "b", 90, 10)), ["a", "b"])
    assert found["b"].offset_us == pytest.approx(40 * MS)
    assert found["b"].estimated and not found["b"].applied


def test_the_clock_in_the_middle_is_the_reference() -> None:
    # a is 500 ms behind everybody else.
    ways = links(("a", "b", 510, -490), ("b", "c", 10, 10), ("c", "d", 10, 10))
    found = compared(ways, ["a", "b", "c", "d"])
    assert {node for node, clock in found.items() if clock.applied} == {"a"}
    assert found["a"].offset_us == pytest.approx(-500 * MS)


def test_the_surest_way_counts_not_the_shortest() -> None:
    # From a to c straight in 400 ms there and back, uneven; over b in 40 ms.
    ways = links(("a", "c", 390, 10), ("a", "b", 10, 10), ("b", "c", 10, 10))
    found = compared(ways, [])
    assert {clock.offset_us for clock in found.values()} == {0.0}
    assert max(clock.uncertainty_us or 0 for clock in found.values()) <= 40 * MS


def test_a_clock_without_both_ways_is_not_estimated() -> None:
    ways = [Way("a", "b", 10 * MS), Way("b", "c", 10 * MS), Way("c", "b", 10 * MS)]
    found = compared(ways, ["a", "b", "c", "d"])
    estimated = {node: clock.estimated for node, clock in found.items()}
    assert estimated == {"a": False, "b": True, "c": True, "d": False}
    assert found["a"] == Clock(0.0, None, 0)


def test_a_round_trip_of_less_than_nothing_tells_nothing() -> None:
    found = compared(links(("a", "b", 10, -20)), ["a", "b"])
    assert not found["a"].estimated and not found["b"].estimated


def test_parts_that_no_link_joins_have_each_a_reference_of_their_own() -> None:
    ways = links(("a", "b", 1010, -990), ("x", "y", 5010, -4990))
    found = compared(ways, ["a", "b", "x", "y"])
    assert [round(found[node].offset_us / MS) for node in "abxy"] == [0, 1000, 0, 5000]


@given(seed=st.integers(0, 10_000), count=st.integers(2, 8), skewed=st.booleans())
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
    found = compared(ways, names)
    reference = next(name for name in names if found[name].uncertainty_us == 0)
    for name in names:
        clock, wrong = found[name], truth[name] - truth[reference]
        assert clock.uncertainty_us is not None
        assert abs(clock.offset_us - wrong) <= clock.uncertainty_us + 1
        if not skewed:
            assert not clock.applied


CLOCK = "network node offset_ms uncertainty_ms links estimated applied linked_at"


def way(node: str, peer: str, least: int, minute: float = 120) -> Row:
    return {"minute": at(60 * minute), "node": node, "peer": peer, "least_us": least}


def test_each_network_has_its_clocks_from_its_own_last_hour(spark: SparkSession) -> None:
    ways = [
        way("b", "a", 1_040_000),
        way("b", "a", 1_060_000, 61),
        way("a", "b", -960_000, 61),
        way("c", "a", 10, 60),  # more than an hour before
        way("a", "c", 10, 60),
        {**way("y", "x", 5), "network": "other"},
        {**way("b", "a", 10, 3), "network": "quiet"},
        {**way("a", "b", 30, 5), "network": "quiet"},
    ]
    runs = [{"node": node} for node in "abc"] + [{"node": "y", "network": "other"}]
    runs += [{"node": node, "network": "quiet"} for node in "ab"]
    tables = HandMade(spark, {"ways": ways, "runs": runs})
    assert rows(clocks(tables), CLOCK) == [
        ("net", "a", 0.0, 0.0, 1, True, False, 61 * 60),
        ("net", "b", 1000.0, 80.0, 1, True, True, 61 * 60),
        ("net", "c", None, None, 0, False, False, None),
        ("other", "y", None, None, 0, False, False, None),
        ("quiet", "a", 10.0 / 1000, 40.0 / 1000, 1, True, False, 180),
        ("quiet", "b", 0.0, 0.0, 1, True, False, 180),
    ]


def test_a_node_that_is_quiet_for_an_hour_keeps_what_was_known_of_its_clock(
    spark: SparkSession,
) -> None:
    ways = [way("b", "a", 20), way("a", "b", 20)]
    clock = {"offset_ms": 7.0, "uncertainty_ms": 2.0, "links": 3, "applied": True}
    earlier = [
        {"node": "b", **clock, "estimated": True, "linked_at": at(60 * 60)},
        {"node": "quiet", **clock, "estimated": True, "linked_at": at(60 * 60)},
        {"node": "changed", **clock, "estimated": True, "linked_at": at(60 * 61)},
        {"node": "never", "links": 0, "estimated": False, "applied": False},
        {"node": "n", "network": "quiet", **clock, "estimated": True, "linked_at": at(60)},
    ]
    nodes = [("net", node) for node in ("a", "b", "quiet", "changed", "never")] + [("quiet", "n")]
    runs = [{"network": network, "node": node} for network, node in nodes]
    tables = HandMade(spark, {"ways": ways, "runs": runs, "clocks": earlier})
    assert rows(clocks(tables), CLOCK) == [
        ("net", "a", 0.0, 0.0, 1, True, False, 120 * 60),
        ("net", "b", 0.0, 40.0 / 1000, 1, True, False, 120 * 60),
        ("net", "changed", None, None, 0, False, False, None),
        ("net", "never", None, None, 0, False, False, None),
        ("net", "quiet", 7.0, 2.0, 3, True, True, 60 * 60),
        ("quiet", "n", 7.0, 2.0, 3, True, True, 60),
    ]
