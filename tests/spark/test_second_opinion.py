"""Random traces give the same tables by the pipeline and by plain SQL in DuckDB.

And they give the same tables however they arrive: at once, or in parts and out of order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.second_opinion.comparison import assert_same_tables
from tests.helpers.second_opinion.generator import random_batches, random_trace
from tests.helpers.second_opinion.oracle import GOLD, SILVER, Row, second_opinion
from tests.helpers.second_opinion.pipeline import rows_of, tables_in_batches, tables_in_one
from tests.helpers.second_opinion.shape import EVERYTHING, LARGE, Shape, shapes
from tests.helpers.second_opinion.troubles import RAISED, troubled_trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXAMPLES = 4

pytestmark = pytest.mark.timeout(1200)

few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    # An example takes seconds: making one that fails smaller is left to whoever looks into it.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

RICH = {
    "everything": EVERYTHING,
    "many things at once": replace(EVERYTHING, seed=1, coarse=True, wrong_clocks=False),
    "messages that nobody passes on": replace(EVERYTHING, seed=2, direct=True),
    "right clocks": replace(EVERYTHING, seed=3, wrong_clocks=False, strangers=False),
}


def rows(tables: Mapping[str, DataFrame]) -> dict[str, list[Row]]:
    return {name: rows_of(tables[name]) for name in (*SILVER, *GOLD)}


@pytest.mark.parametrize("shape", RICH.values(), ids=RICH)
def test_the_tables_of_a_rich_trace_are_those_of_the_second_opinion(
    spark: SparkSession, shape: Shape
) -> None:
    trace = random_trace(shape)
    assert_same_tables(rows(tables_in_one(spark, trace)), second_opinion(trace))


@few
@given(shape=shapes())
def test_the_tables_of_any_trace_are_those_of_the_second_opinion(
    spark: SparkSession, shape: Shape
) -> None:
    trace = random_trace(shape)
    assert_same_tables(rows(tables_in_one(spark, trace)), second_opinion(trace))


@few
@given(shape=shapes(), parts=st.integers(2, 5), seed=st.integers(0, 2**32))
def test_a_trace_that_arrives_in_any_parts_and_order_gives_the_same_tables(
    spark: SparkSession, shape: Shape, parts: int, seed: int
) -> None:
    trace = random_trace(shape)
    batches = random_batches(trace, parts, seed)
    assert_same_tables(rows(tables_in_batches(spark, batches)), second_opinion(trace))


@pytest.mark.parametrize("in_turn", [False, True], ids=["at once", "in turn"])
def test_networks_that_are_hours_apart_have_each_its_own_last_hour(
    spark: SparkSession, in_turn: bool
) -> None:
    shape = Shape(seed=7, promises=("every", "every", "newest"), nodes=3, minutes=5, messages=20)
    trace = random_trace(replace(shape, wrong_clocks=True))
    networks = sorted({row["network"] for row in trace})
    for row in trace:
        row["time"] += timedelta(minutes=70) * networks.index(row["network"])
    parts = [[row for row in trace if row["network"] == network] for network in networks]
    wanted = second_opinion(trace)
    assert {row["network"] for row in wanted["clocks"] if row["estimated"]} == set(networks)
    assert_same_tables(rows(tables_in_batches(spark, parts if in_turn else [trace])), wanted)


def test_alerts_are_the_same_where_only_the_parts_of_a_trace_together_raise_them(
    spark: SparkSession,
) -> None:
    trace = troubled_trace()
    wanted = second_opinion(trace)
    raised: dict[str, set[tuple[str, str | None]]] = {}
    for alert in wanted["alerts"]:
        raised.setdefault(alert["network"], set()).add((alert["kind"], alert["node"]))
    assert raised == RAISED
    halves = [trace[::2], trace[1::2]]
    assert all(len(second_opinion(half)["alerts"]) < len(RAISED) for half in halves)
    assert_same_tables(rows(tables_in_batches(spark, halves)), wanted)


@pytest.mark.parametrize("shape", RICH.values(), ids=RICH)
def test_rich_traces_have_alerts_and_nodes_that_are_cut_off(shape: Shape) -> None:
    wanted = second_opinion(random_trace(shape))
    assert {"partition", "spam"} <= {alert["kind"] for alert in wanted["alerts"]}
    assert len({minute["cut_off"] for minute in wanted["mesh_minutes"]}) > 2


@pytest.mark.slow
def test_a_large_trace_gives_the_same_tables_at_once_and_in_parts(spark: SparkSession) -> None:
    trace = random_trace(LARGE)
    wanted = second_opinion(trace)
    assert_same_tables(rows(tables_in_one(spark, trace)), wanted)
    # What came, what mends it, and what mends that; small traces come in up to five parts.
    assert_same_tables(rows(tables_in_batches(spark, random_batches(trace, 3, 15))), wanted)
