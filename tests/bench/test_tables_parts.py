"""What the parts about tables make of their samples, and the events that they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from bench.spark import first_run, minutes, tables, trace_events
from bench.spark.summary import summed_up
from rumormill.capture.open import open_log
from rumormill.capture.schema import TRACE, TRACE_SCHEMA

NETWORK = trace_events.Network(nodes=20, topics=2)


def sample(seconds: float, events: int = 1_000_000) -> dict[str, Any]:
    return {"seconds": seconds, "cpu_seconds": 2 * seconds, "events": events}


def test_tables_are_judged_by_the_median_of_all_rounds() -> None:
    rows = [
        {"what": what, "nodes": 100, **summed_up([sample(2.0), sample(1.0), sample(4.0)])}
        for what in (tables.INGEST, tables.FIRST, tables.WARM)
    ]
    part = {"events": 1_000_000, "rows": rows}
    verdicts = [goal.verdict for goal in tables.tables_goals(part)]
    assert verdicts == ["reached, 25.0% above", "reached, 66.7% above", "reached, exactly"]
    (table,) = tables.tables_tables(part)
    assert table.lines[0][2:4] == ["1,000,000", "500,000"]


def minutes_part(*seconds: float) -> dict[str, Any]:
    steps = [
        {"minute": minute, "events": 10, "refined_events": 10, "ingest_seconds": 1.0,
         "refine_seconds": each - 1.0, "seconds": each, "cpu_seconds": each}
        for minute, each in enumerate(seconds, 1)
    ]  # fmt: skip
    rows = [{"minute": each, **minutes.figures(steps, each)} for each in (1, 2, len(steps))]
    small = minutes.figures(steps, len(steps))
    return {"rows": rows, "steps": steps, "small_batches": small}


def test_a_minute_is_the_median_of_its_neighbours_and_the_first_one_stands_alone() -> None:
    part = minutes_part(20.0, 6.0, 7.0, 9.0, 8.0)
    assert [row["seconds"] for row in part["rows"]] == [20.0, 6.0, 8.0]
    first, second, last, spread, small = minutes.minutes_goals(part)
    assert first.verdict.startswith("not reached")
    assert second.verdict.startswith("reached")
    assert last.verdict.startswith("reached")
    assert spread.figure.values["median"] == 20.0 / 6.0
    assert small.verdict.startswith("not reached")
    (table,) = minutes.minutes_tables(part)
    assert [line[0] for line in table.lines] == ["minute 1", "minute 2", "minute 5", "small batch"]


def test_only_the_first_run_has_a_limit() -> None:
    rows = [
        {"what": what, "events": 40_000, "wanted": 15.0, **summed_up([{"seconds": seconds}])}
        for what, seconds in ((first_run.FIRST, 12.0), (first_run.AGAIN, 40.0))
    ]
    part = {"rounds": 1, "rows": rows}
    assert [goal.verdict for goal in first_run.first_run_goals(part)] == ["reached, 20.0% below"]
    (table,) = first_run.first_run_tables(part)
    assert [line[2] for line in table.lines] == ["12.0", "40.0"]


def test_without_java_there_is_nothing_to_show() -> None:
    nothing: dict[str, Any] = {"rows": []}
    assert tables.tables_tables(nothing) == minutes.minutes_tables(nothing) == []
    assert first_run.first_run_tables(nothing) == []
    assert minutes.minutes_goals(nothing) == first_run.first_run_goals(nothing) == []


def test_the_events_of_a_seed_are_the_same_each_time_and_as_many_as_wanted(tmp_path: Path) -> None:
    first, second = (next(trace_events.Generator(NETWORK).spans(5.0)).to_pylist() for _ in range(2))
    assert first == second
    assert trace_events.write(tmp_path / "spool", 3_000, NETWORK) > 0
    assert open_log(tmp_path / "spool", TRACE).bounds().latest == 3_000


def test_spans_follow_each_other_with_messages_of_their_own() -> None:
    spans = trace_events.Generator(NETWORK).spans(60.0)
    before, after = next(spans), next(spans)
    assert before.schema.names == TRACE_SCHEMA.names
    published = [each.filter(pc.equal(each["event"], "published")) for each in (before, after)]
    assert pc.max(published[0]["time"]).as_py() < pc.min(published[1]["time"]).as_py()
    ids = [set(each["message_id"].to_pylist()) for each in published]
    assert not ids[0] & ids[1]


def test_a_network_can_be_told_how_many_events_it_makes() -> None:
    network = trace_events.at_rate(500.0, NETWORK)
    rows = next(trace_events.Generator(network).spans(60.0)).num_rows
    assert 20_000 < rows < 40_000
