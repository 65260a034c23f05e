"""Ours against each of the others, row by row; and the goals of the siege."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from bench.formatting import number
from bench.goals import Goal, fixed
from bench.siege.families import CALM

Row = dict[str, Any]

MOST_P95_MS = 50.0
MOST_MEMORY_MB = 100.0
LOST_MS = 10_000.0
"""How late that is counted which never came."""


OURS = ("ours", "spool")
"""Our node, and our node with a spool."""


class Verdict(NamedTuple):
    """Whether ours did better than somebody else under the same attack."""

    better: bool
    words: str


def key_of(row: Row) -> tuple[str, str, int]:
    """What two rows must have in common to be compared."""
    return row["family"], row["attack"], row["attackers"]


def ours_by_key(rows: Iterable[Row]) -> dict[tuple[str, str, int], Row]:
    """Our row of each attack."""
    return {key_of(row): row for row in rows if row["contestant"] == "ours"}


def p95(row: Row) -> float:
    """Milliseconds; what never came is late."""
    late = row.get("p95_ms")
    return LOST_MS if late is None else float(late)


def delivered(row: Row) -> float:
    """The share of what the honest side sent."""
    return row["delivered"] / row["sent"] if row.get("sent") else 0.0


def against(ours: Row, other: Row) -> Verdict:
    """More delivered is better; then, that newcomers get in; then the lower p95, however little.

    >>> ours = {"delivered": 100, "sent": 100, "p95_ms": 5.0, "cpu": 0.1, "newcomer_s": 0.1}
    >>> against(ours, ours | {"p95_ms": 50.0, "cpu": 1.0}).words
    'better: p95 0.10 x (-45.0 ms), CPU 0.10 x'
    >>> against(ours, ours | {"p95_ms": 4.0, "cpu": 0.1})
    Verdict(better=False, words='worse: p95 1.25 x (+1.00 ms), CPU 1.00 x')
    >>> against(ours, ours | {"delivered": 90, "p95_ms": None}).words
    'better: 100 % delivered, not 90'
    """
    mine, theirs = delivered(ours), delivered(other)
    if mine != theirs:
        return _verdict(mine > theirs, f"{mine * 100:.0f} % delivered, not {theirs * 100:.0f}")
    let_in, lets_in = (row.get("newcomer_s") is not None for row in (ours, other))
    if let_in != lets_in and ("newcomer_s" in ours and "newcomer_s" in other):
        return _verdict(let_in, f"newcomers {'get in' if let_in else 'do not get in'}")
    difference = p95(ours) - p95(other)
    words = f"p95 {number(p95(ours) / p95(other))} x ({'+' if difference > 0 else '-'}"
    words += f"{number(abs(difference))} ms)"
    if ours.get("cpu") and other.get("cpu"):
        words += f", CPU {number(ours['cpu'] / other['cpu'])} x"
    return _verdict(difference <= 0, words)


def _verdict(better: bool, words: str) -> Verdict:
    return Verdict(better, f"{'better' if better else 'worse'}: {words}")


# ---- goals


def siege_goals(part: Row) -> list[Goal]:
    """What ours must hold in the worst of the rows, and against everybody else in each."""
    goals: list[Goal] = []
    attacked = [row for row in part["rows"] if row["attack"] != CALM]
    groups = dict.fromkeys((row["family"], row["attackers"]) for row in attacked)
    for family, attackers in groups:
        rows = [row for row in attacked if (row["family"], row["attackers"]) == (family, attackers)]
        ours = [row for row in rows if row["contestant"] in OURS]
        if ours:
            subject = f"{family}, {attackers} attacker{'s' * (attackers > 1)}"
            goals += _held(subject, ours)
            goals += _better(subject, rows)
    return goals


def _held(subject: str, ours: list[Row]) -> list[Goal]:
    slowest = max(ours, key=p95)
    fewest = min(ours, key=delivered)
    largest = max(ours, key=_memory)
    goals = [
        Goal(f"{subject}: p95 under the worst, {slowest['attack']}", fixed("ours", p95(slowest)),
             False, fixed("50 ms", MOST_P95_MS), " ms"),
        Goal(f"{subject}: delivered under the worst, {fewest['attack']}",
             fixed("ours", delivered(fewest)), True, fixed("everything", 1.0)),
        Goal(f"{subject}: memory under the worst, {largest['attack']}",
             fixed("ours", _memory(largest)), False, fixed("100 MB more", MOST_MEMORY_MB), " MB"),
    ]  # fmt: skip
    traced = [row for row in ours if "named" in row]
    if traced:
        named = float(sum(bool(row["named"]) for row in traced))
        goals.append(
            Goal(f"{subject}: attacks under which the trace names the attackers",
                 fixed("ours", named), True, fixed("all of them", float(len(traced))))
        )  # fmt: skip
    return goals


def _memory(row: Row) -> float:
    return float(row.get("memory_mb") or 0.0)


def _better(subject: str, rows: list[Row]) -> list[Goal]:
    """In how many rows ours does better: see :func:`against`."""
    goals: list[Goal] = []
    mine = ours_by_key(rows)
    others = dict.fromkeys(row["label"] for row in rows if row["contestant"] not in OURS)
    for other in others:
        theirs = [row for row in rows if row["label"] == other and "delivered" in row]
        won = sum(against(mine[key_of(row)], row).better for row in theirs if key_of(row) in mine)
        if theirs:
            goals.append(
                Goal(f"{subject}: attacks under which ours is better than {other}",
                     fixed("ours", float(won)), True, fixed("all of them", float(len(theirs))))
            )  # fmt: skip
    return goals
