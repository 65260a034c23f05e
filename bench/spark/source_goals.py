"""The goals of what Spark reads: rates against Kafka's, and latencies."""

from __future__ import annotations

from typing import Any

from bench.goals import Figure, Goal, fixed
from bench.spark.readers import LABELS

Row = dict[str, Any]

WANTED_MS = 100.0


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
    """Twice as fast as Kafka, at no more processor time: Spark's, and all that it takes."""

    def of(contestant: str, metric: str) -> Figure:
        return figure(part["rows"], contestant, "how", "stream", metric)

    goals: list[Goal] = []
    for name, words in (("spool", "all columns"), ("columns", "Kafka's columns")):
        if any(row["contestant"] == name for row in part["rows"]):
            own, kafka = of(name, "rows_per_second"), of("kafka", "rows_per_second")
            goals.append(Goal(f"stream, {words}, rows/s", own, True, kafka.times(2)))
            for metric, whose in (("cpu_us", "Spark"), ("total_us", "Spark and server")):
                subject = f"stream, {words}, CPU per row of {whose}"
                goals.append(Goal(subject, of(name, metric), False, of("kafka", metric), " us"))
    return goals


def latency_goals(part: Row) -> list[Goal]:
    """Not behind Kafka, whatever the settings; with ours, soon by anybody's clock."""
    goals: list[Goal] = []
    own = figure(part["rows"], "spool", "settings", "recommended", "p50")
    soon = fixed("wanted", WANTED_MS)
    goals.append(Goal(f"p50 at {part['rate']}/s, recommended settings", own, False, soon, " ms"))
    for settings in dict.fromkeys(row["settings"] for row in part["rows"]):
        for metric in ("p50", "p99"):
            own, kafka = (
                figure(part["rows"], contestant, "settings", settings, metric)
                for contestant in ("spool", "kafka")
            )
            subject = f"{metric} at {part['rate']}/s, {settings} settings"
            goals.append(Goal(subject, own, False, kafka, " ms"))
    return goals
