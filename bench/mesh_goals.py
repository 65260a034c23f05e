"""What ten processes should reach, and whether the figures of a run reach it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.contestants import LABELS
from bench.goals import SUMMARIES, Figure, Goal, Rows, fixed

Row = dict[str, Any]

IN_TIME_MS = 100.0
"""The p99 below which a rate holds."""
KEPT = 0.98
"""Of a rate: what the publisher must have kept of it."""
HIGHEST = 1000
"""The rate that should hold."""


def mesh_goals(part: Row) -> list[Goal]:
    """The goals of ten processes, for each of our two libraries of signatures."""
    rows = Rows(part["rows"], "rate")
    rates = rows.keys()
    goals: list[Goal] = []
    for name in ("ours", "native"):
        goals += _delivery_goals(rows, rates, name)
        goals += _cpu_goals(rows, 100 if 100 in rates else min(rates), name)
        goals += _latency_goals(rows, rates, name)
        goals.append(_highest_goal(part, name))
        goals += _large_goals(part, name)
    return goals


def _delivery_goals(rows: Rows, rates: Sequence[int], name: str) -> list[Goal]:
    fastest = max(rates)
    ratio = rows.figure(name, fastest, "ratio")
    everything = fixed("everything", 1.0)
    goals = [Goal(f"{LABELS[name]}, delivered at {fastest}/s", ratio, True, everything)]
    for rate in rates:
        verifies = rows.figure(name, rate, "verifies_per_delivery")
        subject = f"{LABELS[name]}, verifies per delivery at {rate}/s"
        goals.append(Goal(subject, verifies, False, fixed("one", 1.0)))
    return goals


def _cpu_goals(rows: Rows, rate: int, name: str) -> list[Goal]:
    subject = f"{LABELS[name]}, CPU per delivery at {rate}/s"
    own, rust, go = (
        rows.figure(each, rate, "cpu_us_per_delivery") for each in (name, "rust", "go-1")
    )
    return [Goal(subject, own, False, limit, " us") for limit in (rust, rust.times(0.5), go)]


def _latency_goals(rows: Rows, rates: Sequence[int], name: str) -> list[Goal]:
    def goal(rate: int, other: str) -> Goal:
        own, limit = (rows.figure(each, rate, "p99_ms") for each in (name, other))
        return Goal(f"{LABELS[name]}, p99 at {rate}/s", own, False, limit, " ms")

    return [goal(rate, other) for rate in rates for other in ("rust", "js")]


# ---- the highest rate


def highest_rate(part: Row, contestant: str, summary: str) -> int:
    """The highest of the rates that holds, as do all below it; 0 if none does."""
    highest = 0
    for row in part["rows"]:
        if row["contestant"] == contestant:
            if not _holds(row, summary):
                break
            highest = row["rate"]
    return highest


def _holds(row: Row, summary: str) -> bool:
    """Whether everything was published at this rate and delivered in time."""
    if any(metric not in row for metric in ("ratio", "p99_ms", "achieved_rate")):
        return False
    return bool(
        row["ratio"][summary] == 1.0
        and row["p99_ms"][summary] < IN_TIME_MS
        and row["achieved_rate"][summary] >= KEPT * row["rate"]
    )


def _highest_goal(part: Row, name: str) -> Goal:
    subject = f"{LABELS[name]}, highest rate that holds"
    limit = fixed(f"{HIGHEST:,}/s", float(HIGHEST))
    rates = [row["rate"] for row in part["rows"] if row["contestant"] == name]
    label = LABELS[name]
    if not rates:
        return Goal(subject, Figure(label, unknown=f"{label} did not take part"), True, limit)
    if max(rates) < HIGHEST:
        return Goal(subject, Figure(label, unknown=f"{limit.words} was not tried"), True, limit)
    values = {summary: float(highest_rate(part, name, summary)) for summary in SUMMARIES}
    return Goal(subject, Figure(label, values), True, limit)


# ---- large messages


def _large_goals(part: Row, name: str) -> list[Goal]:
    large = part.get("large", [])
    if not large:
        return []
    rows, size = Rows(large, "size"), large[0]["size"]
    own, rust = (rows.figure(each, size, "copies_per_delivery") for each in (name, "rust"))
    return [Goal(f"{LABELS[name]}, copies per delivery of {size} B", own, False, rust)]
