"""Topics: what was published, expected, delivered and missing; latencies, hops, copies."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rumormill.core.percentiles import percentile
from rumormill.pipeline.gold import HOUSE, topics
from rumormill.pipeline.gold.measures.bins import bin_of, lower_end, middle, upper_end
from tests.helpers.spark.hand_made import HandMade, Row, at, rows

NEWS = {"topic": "news", "message_id": b"m1", "publisher": "a", "published_at": at(3), "size": 100}


def copy(node: str, latency: float, **other: Any) -> Row:
    """A first copy that was expected."""
    return {
        **NEWS,
        "node": node,
        "first": True,
        "expected": True,
        "latency_ms": latency,
        "hop": 1,
        "peer": "a",
        **other,
    }


def published(time: float = 3, **other: Any) -> Row:
    return {"topic": "news", "message_id": b"m1", "publisher": "a", "time": at(time), **other}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> HandMade:
    deliveries: list[Row] = [
        copy("b", 10.0, duplicates=2),
        copy("c", 20.0, hop=2, peer="b", recovered=True),
        copy("d", 40.0, hop=None, peer="x"),
        {**NEWS, "node": "e", "expected": True},
        {**NEWS, "node": "f", "expected": True, "duplicates": 3},
        copy("g", 5000.0, expected=False, hop=2),
        # Nobody saw its publication.
        {"topic": "news", "message_id": b"m9", "node": "b", "first": True, "time": at(20),
         "size": 10},
        # In the next minute: one with a clock that is wrong.
        {**copy("b", -1.5), "published_at": at(70), "size": None},
        # Any one of the members, and none of them.
        {**copy("b", 8.0), "topic": "any", "promise": "one"},
        {**copy("c", 9.0), "topic": "any", "promise": "one", "expected": False},
        {**NEWS, "topic": "any", "promise": "one", "node": None, "expected": True,
         "message_id": b"m2"},
        # Values: c had the first for 3 s, d missed it and had the next after 2 s, e nothing.
        {**copy("c", 7.0), "topic": "value", "promise": "newest", "stale_ms": 7.0},
        {**NEWS, "topic": "value", "promise": "newest", "node": "d", "expected": True,
         "superseded_at": at(5), "stale_ms": 2000.0},
        {**NEWS, "topic": "value", "promise": "newest", "node": "e", "expected": True},
    ]  # fmt: skip
    publications: list[Row] = [
        published(),
        published(message_id=b"quiet", topic="alone"),
        published(70),
        published(topic="any", promise="one"),
        published(topic="any", promise="one", message_id=b"m2"),
        published(topic="value", promise="newest"),
    ]
    packets = [{"node": "a", "peer": "b", "event": "packet_sent", "bytes": 4680, "first_at": at(3)}]
    return HandMade(
        spark, {"deliveries": deliveries, "publications": publications, "counters": packets}
    )


@pytest.fixture(scope="module")
def found(tables: HandMade) -> dict[tuple[str, float | None], dict[str, Any]]:
    names = HOUSE.tables["topics"].keys
    made = rows(topics(tables), " ".join(("minute", *names)))
    each = [dict(zip(("minute", *names), row, strict=True)) for row in made]
    return {(row["topic"], row["minute"]): row for row in each}


Found = dict[tuple[str, float | None], dict[str, Any]]


def test_a_topic_has_a_row_for_each_minute_and_one_for_all_time(found: Found) -> None:
    assert {minute for topic, minute in found if topic == "news"} == {0.0, 60.0, None}


def test_what_became_of_messages_is_counted(found: Found) -> None:
    names = ("published", "expected", "delivered", "missing", "unexpected", "skipped", "duplicates")
    assert [found["news", 0.0][name] for name in names] == [1, 5, 5, 2, 2, 0, 5]
    assert [found["news", None][name] for name in names] == [2, 6, 6, 2, 2, 0, 5]
    assert found["news", 0.0]["ratio"] == pytest.approx(3 / 5)
    assert found["news", 0.0]["recoveries"] == 1
    assert found["news", 0.0]["duplicates_per_delivery"] == pytest.approx(1.0)


def test_latencies_are_those_of_what_was_expected(found: Found) -> None:
    minute = found["news", 0.0]
    assert minute["latency_p50"] == pytest.approx(20.0, rel=0.006)
    assert minute["latency_p90"] == pytest.approx(40.0, rel=0.006)
    assert 40.0 <= minute["latency_max"] <= 40.0 * 1.012
    assert found["news", 60.0]["latency_p50"] == pytest.approx(-1.5, rel=0.006)
    assert found["news", None]["latency_p50"] == pytest.approx(10.0, rel=0.006)


def test_hops_are_those_of_copies_whose_way_is_known(found: Found) -> None:
    assert found["news", 0.0]["hops_mean"] == pytest.approx((1 + 2 + 2) / 3)
    assert found["news", 0.0]["hops_max"] == 2


def test_bytes_count_packets_where_they_were_traced(found: Found) -> None:
    # Payload of this minute: news 9 x 100 + 10, any 2 x 100, value 100; packets 4680.
    payload = (3 + 1 + 1 + 3 + 1) * 100 + 10
    overhead = 4680 / (payload + 300)
    assert found["news", 0.0]["bytes_per_delivery"] == pytest.approx(payload * overhead / 5)
    assert found["news", 60.0]["bytes_per_delivery"] is None


def test_a_message_to_any_one_of_many_is_expected_once(found: Found) -> None:
    names = ("published", "expected", "delivered", "missing", "unexpected")
    assert [found["any", 0.0][name] for name in names] == [2, 2, 2, 1, 1]
    assert found["any", 0.0]["promise"] == "one"
    assert found["any", 0.0]["ratio"] == 0.5


def test_a_value_that_a_newer_one_replaced_is_skipped_and_not_missing(found: Found) -> None:
    value = found["value", 0.0]
    assert [value[name] for name in ("expected", "delivered", "missing", "skipped")] == [3, 1, 1, 1]
    assert value["ratio"] == pytest.approx(2 / 3)
    assert value["latency_max"] == pytest.approx(2000.0, rel=0.012)


def test_a_message_that_nobody_should_get_has_no_ratio(found: Found) -> None:
    alone = found["alone", 0.0]
    assert (alone["published"], alone["expected"], alone["ratio"]) == (1, 0, None)
    assert alone["latency_p50"] is None and alone["hops_max"] is None


def test_what_cannot_be_right_is_counted(tables: HandMade) -> None:
    sums = tables.totals("latencies").groupBy("topic").sum("negative", "unpublished", "strayed")
    columns = "topic sum(negative) sum(unpublished) sum(strayed)"
    assert ("news", 1, 1, 1) in rows(sums, columns)


def test_minutes_add_up_to_what_all_of_them_give_together(tables: HandMade) -> None:
    minutes = tables["latencies"].where("topic = 'news'").groupBy().sum("delivered", "missing")
    total = tables.totals("latencies").where("topic = 'news'").groupBy().sum("delivered", "missing")
    columns = "sum(delivered) sum(missing)"
    assert rows(minutes, columns) == rows(total, columns) == [(6, 2)]


def test_each_group_has_one_row(tables: HandMade) -> None:
    keys = ("minute", *HOUSE.tables["latencies"].keys)
    assert tables["latencies"].groupBy(*keys).count().where("count > 1").count() == 0


def test_a_bin_holds_its_values_and_is_about_one_percent_wide(spark: SparkSession) -> None:
    chance = random.Random(3)
    values = [0.0, 0.001, -0.001, 0.002, 1.0, -1.0, 1000.0]
    values += [chance.uniform(-1, 1) * 10 ** chance.randrange(-2, 7) for _ in range(500)]
    whole = [round(value, 3) for value in values]
    frame = spark.createDataFrame([(value,) for value in whole], "value double")
    number = bin_of(F.col("value"))
    ends = frame.select("value", lower_end(number), upper_end(number), middle(number))
    for value, lower, upper, mean in ends.collect():
        assert lower - 1e-9 <= value <= upper + 1e-9
        assert abs(mean - value) <= abs(value) * 0.0055 + 6e-6


def test_percentiles_are_by_the_rule_of_the_house(spark: SparkSession) -> None:
    chance = random.Random(5)
    sizes = {"t1": 1, "t2": 2, "t100": 100, "t101": 101}
    values = {
        topic: sorted(math.exp(chance.gauss(3, 1)) for _ in range(n)) for topic, n in sizes.items()
    }
    deliveries = [
        {**copy(f"n{place}", value), "topic": topic}
        for topic, each in values.items()
        for place, value in enumerate(each)
    ]
    made = topics(HandMade(spark, {"deliveries": deliveries})).where("minute is null")
    for topic, *got in rows(made, "topic latency_p50 latency_p90 latency_p99"):
        wanted = [percentile(values[topic], share) for share in (0.5, 0.9, 0.99)]
        assert got == [pytest.approx(value, rel=0.006) for value in wanted]
