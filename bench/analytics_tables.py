"""The tables and goals of :mod:`bench.analytics`."""

from __future__ import annotations

from typing import Any

from bench.formatting import number
from bench.goals import Figure, Goal, fixed
from bench.tables import Table

Row = dict[str, Any]

WANTED_EVENTS = 500_000.0


def analytics_tables(part: Row) -> list[Table]:
    """The whole way, its stages, and the question."""
    if not part["rows"]:
        return []
    refined, *asked = part["rows"]
    whole = Table(
        f"{part['events']:,} trace events ({part['bytes'] / 1e6:.0f} MB of Parquet) from bronze to"
        " gold, local[2]",
        ["seconds", "median", "first run of a session", "events/s", "CPU seconds"],
        notes=["All of silver and gold, written as Parquet. " + _stages(refined["stages"])],
    )
    whole.lines.append(
        [
            number(refined["seconds"]["best"]),
            number(refined["seconds"]["median"]),
            number(refined["first_seconds"]),
            number(refined["events_per_second"]["best"]),
            number(refined["cpu_seconds"]["best"]),
        ]
    )
    question = Table(
        "Delivery ratio, copies and latency percentiles of every message, from silver",
        ["by", "seconds", "median", "x DuckDB"],
        notes=[
            "On the same files, two cores each. Both found "
            + ("the same." if part["agree"] else "DIFFERENT RESULTS.")
        ],
    )
    names = {"spark": "Spark", "duckdb": "DuckDB"}
    base = asked[-1]["seconds"]["best"]
    for row in asked:
        seconds = row["seconds"]
        figures = (seconds["best"], seconds["median"], seconds["best"] / base)
        question.lines.append([names[row["by"]], *map(number, figures)])
    return [whole, question]


def _stages(stages: dict[str, float]) -> str:
    longest = sorted(stages.items(), key=lambda each: -each[1])[:8]
    return "Seconds of the longest: " + ", ".join(f"{name} {value:.1f}" for name, value in longest)


def analytics_goals(part: Row) -> list[Goal]:
    """Half a million events a second, and no more than twice DuckDB's time."""
    if not part["rows"]:
        return []
    refined, spark, duckdb = part["rows"]
    rate = Figure("rumormill", refined["events_per_second"])
    return [
        Goal("bronze to gold, events/s", rate, True, fixed("wanted", WANTED_EVENTS)),
        Goal(
            "every message, from silver, seconds",
            Figure("Spark", spark["seconds"]),
            False,
            Figure("DuckDB", duckdb["seconds"]).times(2),
            " s",
        ),
    ]
