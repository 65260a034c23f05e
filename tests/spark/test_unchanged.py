"""What new events say nothing of is neither made nor written, and yet every table is right."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.helpers.second_opinion.comparison import assert_same_tables
from tests.helpers.second_opinion.oracle import GOLD, SILVER, Row, second_opinion
from tests.helpers.second_opinion.pipeline import frame, new_lake, rows_of
from tests.helpers.spark.small_network import event, trace_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rumormill.pipeline.lake.store import Lake

RARELY = {
    "silver.reasons", "silver.scored", "silver.sightings", "silver.subscriptions", "silver.mesh",
    "gold.causes", "gold.scores",
}  # fmt: skip
ALWAYS = {"silver.counters", "silver.deliveries", "silver.runs", "gold.links", "gold.topics"}


class EndedError(Exception):
    """Ends a step in the midst of its work."""


def refine(lake: Lake, rows: list[Row], *, until: str | None = None) -> set[str]:
    """One step with these events, which may end before a table; the tables that were made."""
    from rumormill.pipeline.lake.schema import TRACE
    from rumormill.pipeline.run.increment import Increment
    from rumormill.pipeline.run.ingest import with_class

    stages: set[str] = set()

    def stage(table: str) -> None:
        if table == until:
            raise EndedError(table)
        stages.add(table)

    if rows:
        lake.append(TRACE, with_class(frame(lake.spark, rows)), {})
    Increment(lake, stage=stage).run()
    return stages


def assert_right(lake: Lake, trace: list[Row]) -> None:
    from rumormill.pipeline.gold import HOUSE
    from rumormill.pipeline.lake import schema

    tables = [*schema.SILVER, *(each.table for each in HOUSE.tables.values())]
    found = {each.name: rows_of(lake.read(each)) for each in tables}
    wanted = second_opinion(trace)
    assert_same_tables({name: found[name] for name in (*SILVER, *GOLD)}, wanted)


def test_a_copy_more_changes_what_counts_copies_and_nothing_else(spark: SparkSession) -> None:
    lake = new_lake(spark)
    before = [
        *trace_rows(1.5),
        event(10, "ann", "rejected", topic="news", peer="bob", reason="bad"),
        event(11, "ann", "scored", peer="bob", fields='{"score":1.5,"level":"fine"}'),
        event(12, "ann", "peer_joined", peer="bob"),
        event(13, "ann", "pruned", topic="news", peer="bob"),
    ]
    assert refine(lake, before) >= RARELY | ALWAYS
    last = max((row for row in before if row["peer"]), key=lambda row: row["time"])
    copy = {**last, "event": "duplicate", "time": last["time"] + timedelta(milliseconds=1)}
    made = refine(lake, [copy])
    assert made >= ALWAYS and not made & RARELY
    assert_right(lake, [*before, copy])


@pytest.mark.parametrize("stage", ["silver.subscriptions", "silver.runs"])
def test_a_run_that_ended_ends_its_subscriptions_though_the_step_ended_before_it_said_so(
    spark: SparkSession, stage: str
) -> None:
    """No event is about a subscription: that they are over follows from the run alone."""
    lake, others = new_lake(spark), ("ann", "bob", "cid", "dan")
    talk = trace_rows(1.5)
    silent = talk[0]["time"] + timedelta(seconds=40)
    before = [row for row in talk if row["node"] != "eve" or row["time"] < silent]
    before += [event(0.2, node, "peer_joined", peer="eve") for node in others]
    refine(lake, before)
    left = [event(60, node, "peer_left", peer="eve") for node in others]
    with pytest.raises(EndedError, match=stage):
        refine(lake, left, until=stage)
    refine(lake, [])
    trace = [*before, *left]
    ended = [row for row in second_opinion(trace)["subscriptions"] if row["until"] is not None]
    assert {row["node"] for row in ended} == {"eve"}
    assert_right(lake, trace)
