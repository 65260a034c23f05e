"""What Spark's parts make of their samples: rows, tables, goals; and what counts as lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from bench.spark import latency, source
from bench.spark.latency import Case, LostRowsError
from bench.spark.program import Latency
from bench.spark.readers import Entrant, did_not_take_part
from bench.spark.rows import Rows
from bench.spark.source import Measured
from bench.spark.source_goals import latency_goals, source_goals
from bench.spark.source_tables import latency_tables, source_tables

NO_MAVEN = did_not_take_part("no mvn")


def said(seconds: float, cpu: float, server: float | None = None) -> dict[str, Any]:
    return {"seconds": seconds, "cpu_seconds": cpu, "server_cpu_seconds": server}


def source_part(kafka: Entrant) -> dict[str, Any]:
    measured = Measured()
    for name, figures in {
        "spool": [(10.0, 9.0), (2.0, 3.0), (4.0, 5.0), (2.5, 3.5)],
        "kafka": [(8.0, 9.0), (4.0, 4.0), (5.0, 6.0), (4.5, 4.5)],
    }.items():
        if name == "kafka" and kafka.missing:
            continue
        samples = [source.sample_of(said(*each, 1.0), 1_000_000) for each in figures]
        measured.first["spool" if name == "spool" else "kafka", "stream"] = samples[:1]
        measured.warm["spool" if name == "spool" else "kafka", "stream"] = samples[1:]
    rows = [source.row_of(each, "stream", measured) for each in (Entrant("spool"), kafka)]
    return {"rows_read": 1_000_000, "size": 1024, "rounds": 1, "warm": 3, "partitions": 4,
            "rows": rows}  # fmt: skip


def test_the_best_of_the_warm_queries_counts_and_the_first_stands_apart() -> None:
    row = source_part(Entrant("kafka"))["rows"][0]
    assert row["rows_per_second"] == {"best": 500_000, "median": 400_000}
    assert row["cpu_us"] == {"best": 3.0, "median": 3.5}
    assert row["server_us"]["best"] == 1.0
    assert row["first_rows_per_second"]["best"] == 100_000


def test_a_source_is_held_against_kafka_of_the_same_run() -> None:
    part = source_part(Entrant("kafka"))
    rate, cost, total = source_goals(part)
    assert (rate.verdict, cost.verdict) == (
        "reached by the best only, exactly",
        "reached, 25.0% below",
    )
    assert (total.figure.values["best"], total.limit.values["best"]) == (4.0, 5.0)
    (table,) = source_tables(part)
    assert [line[4] for line in table.lines] == ["2.00", "1.00"]


def test_without_kafka_its_row_says_why_and_the_goals_cannot_be_said() -> None:
    part = source_part(Entrant("kafka", missing=NO_MAVEN))
    (table,) = source_tables(part)
    assert table.lines[1][:3] == ["stream", "Kafka, Spark's own source", NO_MAVEN]
    assert all(goal.verdict.endswith(NO_MAVEN) for goal in source_goals(part))


def test_a_query_that_failed_has_no_figures() -> None:
    measured = Measured()
    measured.first["spool", "stream"] = [source.sample_of(said(1.0, 1.0), 10)]
    measured.failures["spool", "stream"] = "read 9 rows instead of 10"
    row = source.row_of(Entrant("spool"), "stream", measured)
    assert "rows_per_second" not in row
    assert row["missing"] == "read 9 rows instead of 10"


def report(rows: int = 100, copies: int = 0, p50: float = 100.0, p99: float = 200.0) -> Any:
    times = {"p50": p50, "p90": p99, "p99": p99, "max": p99}
    return {**said(10.0, 5.0, 1.0), "rows": rows, "copies": copies, "batches": 80,
            "latency_ms": times}  # fmt: skip


WRITTEN = {"rows": 100, "left": 0, "failed": 0}


def test_a_latency_counts_only_if_every_row_arrived_once() -> None:
    sample = latency.sample_of(report(), WRITTEN, 100)
    assert (sample["p99"], sample["cores"], sample["server_cores"]) == (200.0, 0.5, 0.1)
    with pytest.raises(LostRowsError, match="99 of 100 rows arrived"):
        latency.sample_of(report(rows=99), WRITTEN, 100)
    with pytest.raises(LostRowsError, match="1 twice"):
        latency.sample_of(report(copies=1), WRITTEN, 100)
    with pytest.raises(LostRowsError, match="the publisher said"):
        latency.sample_of(report(), {**WRITTEN, "left": 3}, 100)


def test_latencies_are_held_against_kafka_with_the_same_settings() -> None:
    def row(contestant: str, settings: str, p50: float, p99: float) -> Any:
        sample = latency.sample_of(report(p50=p50, p99=p99), WRITTEN, 100)
        return latency.row_of(Case(contestant, settings), [sample], "")

    rows = [
        row("spool", "default", 200, 300),
        row("kafka", "default", 250, 300),
        row("spool", "recommended", 110, 300),
        latency.row_of(Case("kafka", "recommended"), [], NO_MAVEN),
    ]
    part = {"rate": 1000, "size": 1024, "rounds": 1, "seconds": 20.0, "rows": rows}
    verdicts = [goal.verdict for goal in latency_goals(part)]
    assert verdicts[0] == "not reached, 10.0% above"  # of what is soon by anybody's clock
    assert verdicts[1:3] == ["reached, 20.0% below", "reached, exactly"]
    assert all(verdict.endswith(NO_MAVEN) for verdict in verdicts[3:])
    (table,) = latency_tables(part)
    assert table.lines[-1][2] == NO_MAVEN
    assert table.lines[0][:4] == ["default", "rumormill, a folder", "200", "300"]


class Frame:
    """As much of a DataFrame as a sink sees."""

    def __init__(self, *values: bytes) -> None:
        self._values = values

    def collect(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(stamp=value[:16]) for value in self._values]


def test_the_sink_notes_each_row_once_and_counts_copies() -> None:
    sink, rows = Latency(None), Rows(32)
    sink.query = cast(Any, SimpleNamespace(stop=lambda: None, exception=lambda: None))
    sink.arrived(cast(DataFrame, Frame(rows.value(0, 1), rows.value(1, 2))), 0)
    sink.arrived(cast(DataFrame, Frame(rows.value(1, 2), rows.value(2, 5_000))), 1)
    found = sink.report(rows=3, since_us=3, patience=0.0)
    assert (found["rows"], found["copies"], found["measured"], found["batches"]) == (3, 1, 1, 2)
    assert found["latency_ms"]["p50"] == found["latency_ms"]["max"] > 0
