"""Runs of a node, whose openings may arrive long after what they divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.helpers.second_opinion.by_hand import Listed, Opinion, listed, trace_of
from tests.helpers.second_opinion.pipeline import rows_of, tables_in_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "node since last_at opened"

TWO_IN_ONE_MINUTE = """
    3.0    a  network_opened  every_message=true
    4.0    a  network_opened  every_message=true
    47.0   a  subscribed      @news
    130.0  a  unsubscribed    @news
"""
LATE = """
    120.0  a  network_opened  every_message=true
"""
ALL = {"net": [("a", 3.0, 3.0, True), ("a", 4.0, 47.0, True), ("a", 120.0, 130.0, True)]}


def runs_in_parts(spark: SparkSession, *parts: str) -> Listed:
    tables = tables_in_batches(spark, [trace_of(net=part) for part in parts])
    return listed(rows_of(tables["runs"]), COLUMNS)


def test_a_run_ends_with_the_last_event_before_the_next_opening(opinion: Opinion) -> None:
    assert listed(opinion(trace_of(net=TWO_IN_ONE_MINUTE + LATE))["runs"], COLUMNS) == ALL


def test_an_opening_that_comes_late_leaves_the_runs_beside_it_as_they_are(
    spark: SparkSession,
) -> None:
    """The run that it divides began in a minute in which another one had begun as well."""
    assert runs_in_parts(spark, TWO_IN_ONE_MINUTE, LATE) == ALL
