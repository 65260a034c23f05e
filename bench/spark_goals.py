"""The goals of what Spark reads: rates against Kafka's, and latencies."""

from __future__ import annotations

from typing import Any

from bench.goals import Figure, Goal
from bench.spark_readers import LABELS

Row = dict[str, Any]


def figure(rows: list[Row], contestant: str, key: str, value: str, metric: str) -> Figure:
    """A contestant's figure, or why there is none."""
    label = LABELS[contestant]
    for row in rows:
        if (row["contestant"], row[key]) == (contestant, value):
            if metric in row:
                return Figure(label, row[metric])
            return Figure(label, unknown=f"{label}: {row['missing'] or 'no figure'}")
    return Figure(label, unknown=f"{label} did not take part")


def source_goals(part: Row) -> list[Goal]:
    """Half as fast again as Kafka, at no more processor time."""

    def of(contestant: str, metric: str) -> Figure:
        return figure(part["rows"], contestant, "how", "stream", metric)

    rate, cost = "rows_per_second", "cpu_us"
    return [
        Goal("stream, rows/s", of("spool", rate), True, of("kafka", rate).times(1.5)),
        Goal("stream, CPU per row", of("spool", cost), False, of("kafka", cost), " us"),
    ]


def latency_goals(part: Row) -> list[Goal]:
    """Not behind Kafka, whatever the settings."""
    goals: list[Goal] = []
    for settings in dict.fromkeys(row["settings"] for row in part["rows"]):
        for metric in ("p50", "p99"):
            own, kafka = (
                figure(part["rows"], contestant, "settings", settings, metric)
                for contestant in ("spool", "kafka")
            )
            subject = f"{metric} at {part['rate']}/s, {settings} settings"
            goals.append(Goal(subject, own, False, kafka, " ms"))
    return goals
