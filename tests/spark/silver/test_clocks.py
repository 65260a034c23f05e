"""Clocks that are off are corrected where that is beyond doubt."""

from __future__ import annotations

import pytest

from tests.helpers.second_opinion.by_hand import Opinion, listed, trace_of
from tests.helpers.second_opinion.oracle import Row

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
    52.00  b  published   @news  #m4
    42.04  a  delivered   @news  #m4  <b
"""
# Only one way between two clocks: nobody can tell delay and difference apart.
ONE_WAY = """
    1.00  a  published   @news  #m1
    0.99  c  delivered   @news  #m1  <a
"""


@pytest.fixture(scope="module")
def tables(opinion: Opinion) -> dict[str, list[Row]]:
    return opinion(trace_of(ahead=AHEAD, one_way=ONE_WAY))


def test_the_least_difference_of_two_clocks_is_kept_by_way(tables: dict[str, list[Row]]) -> None:
    assert listed(tables["ways"], "minute node peer least_us")["ahead"] == [
        (0.0, "a", "b", -9_960_000),
        (0.0, "b", "a", 10_040_000),
        (0.0, "b", "c", 10_040_000),
        (0.0, "c", "b", -9_960_000),
    ]


def test_latencies_are_those_of_one_clock(tables: dict[str, list[Row]]) -> None:
    arrived = [row for row in tables["deliveries"] if row["first"]]
    found = listed(arrived, "message_id node latency_ms")["ahead"]
    assert {(message, node): latency for message, node, latency in found} == {
        ("m1", "b"): pytest.approx(40.0),
        ("m1", "c"): pytest.approx(80.0),
        ("m2", "a"): pytest.approx(40.0),
        ("m2", "c"): pytest.approx(40.0),
        ("m3", "a"): pytest.approx(80.0),
        ("m3", "b"): pytest.approx(40.0),
        ("m4", "a"): pytest.approx(40.0),
    }


def test_who_is_a_member_is_told_by_one_clock(tables: dict[str, list[Row]]) -> None:
    # b had subscribed before m1 was published, c had not.
    found = listed(tables["deliveries"], "message_id node expected")["ahead"]
    assert [row for row in found if row[0] == "m1"] == [("m1", "b", True), ("m1", "c", False)]


def test_times_stay_as_they_were_written(tables: dict[str, list[Row]]) -> None:
    assert listed(tables["publications"], "message_id time")["ahead"][1] == ("m2", 30.0)


def test_a_difference_that_nothing_explains_stays(tables: dict[str, list[Row]]) -> None:
    found = listed(tables["deliveries"], "message_id node latency_ms")
    assert found["one_way"] == [("m1", "c", pytest.approx(-10.0))]
