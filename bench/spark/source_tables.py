"""The tables of what Spark reads."""

from __future__ import annotations

from typing import Any

from bench.formatting import number
from bench.spark.readers import LABELS
from bench.tables import Table

Row = dict[str, Any]


def _figure(row: Row, metric: str, summary: str = "best") -> float | None:
    return row[metric][summary] if metric in row else None


def source_tables(part: Row) -> list[Table]:
    """Rows a second, and what a row costs."""
    table = Table(
        f"Spark reads {part['rows_read']:,} rows of {part['size']} B, local[2], into nothing",
        ["query", "source", "rows/s", "median", "x Kafka", "first query", "CPU us/row", "median",
         "server us/row"],
        notes=[
            f"Best and median of {part['rounds'] * part['warm']} warm queries in {part['rounds']}"
            " sessions; streams with Trigger.AvailableNow, start and end of the query included."
            " first query: of a new session, the best. CPU: of Java and its Python workers;"
            f" server: of the node or the broker. Kafka: {part['partitions']} partitions. Everybody"
            " with the settings of rumormill.pipeline.spark_session.",
        ],
    )  # fmt: skip
    kafka = {
        row["how"]: _figure(row, "rows_per_second")
        for row in part["rows"]
        if row["contestant"] == "kafka"
    }
    for row in part["rows"]:
        head = [row["how"], LABELS[row["contestant"]]]
        rate, base = _figure(row, "rows_per_second"), kafka.get(row["how"])
        if rate is None:
            table.lines.append([*head, row["missing"], *["-"] * 6])
            continue
        table.lines.append(
            [
                *head,
                number(rate),
                number(_figure(row, "rows_per_second", "median")),
                number(rate / base if base else None),
                number(_figure(row, "first_rows_per_second")),
                number(_figure(row, "cpu_us")),
                number(_figure(row, "cpu_us", "median")),
                number(_figure(row, "server_us")),
            ]
        )
    return [table]


def latency_tables(part: Row) -> list[Table]:
    """How late rows are."""
    metrics = ("p50", "p90", "p99", "max")
    table = Table(
        f"From the publisher to foreachBatch at {part['rate']} rows of {part['size']} B a second,"
        " local[2], ms",
        ["settings of Spark", "path", *metrics, "median p99", "batches/s", "Spark cores",
         "server cores"],
        notes=[
            f"Best of {part['rounds']} rounds of {part['seconds']:g} s, each in a new session after"
            " a warm-up; every row arrived, once. Ours: publisher, gossipsub, rumormill node with a"
            " spool, Spark. Kafka's: producer (librdkafka), broker, Spark, one partition. cores:"
            " kept busy by Java and its Python workers; server: by the node or the broker.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        head = [row["settings"], LABELS[row["contestant"]]]
        if row["missing"]:
            table.lines.append([*head, row["missing"], *["-"] * 7])
            continue
        figures = [number(_figure(row, metric)) for metric in metrics]
        table.lines.append(
            [
                *head,
                *figures,
                number(_figure(row, "p99", "median")),
                number(_figure(row, "batches_per_second", "median")),
                number(_figure(row, "cores")),
                number(_figure(row, "server_cores")),
            ]
        )
    return [table]
