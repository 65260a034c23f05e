"""What we want to reach, and whether the figures of a run reach it.

A goal holds one figure against another, nearly always of the same run. It is reached by the best of
all rounds, by their median, or by both: on a busy machine the two differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bench.contestants import LABELS
from bench.formatting import number

SUMMARIES = ("best", "median")
SIZES = (1024, 1000)
"""Both are 1 KiB to somebody, and they lie on either side of where IDONTWANT begins."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A number of a run, by the best round and by the median; or why it is not known."""

    words: str
    values: dict[str, float] = field(default_factory=dict)
    unknown: str = ""

    def times(self, factor: float) -> Figure:
        """So many times this."""
        values = {summary: value * factor for summary, value in self.values.items()}
        return Figure(f"{factor:g} x {self.words}", values, self.unknown)


def fixed(words: str, number: float) -> Figure:
    """A number that is the same in every round."""
    return Figure(words, dict.fromkeys(SUMMARIES, number))


@dataclass(frozen=True)
class Goal:
    """One figure and the limit that it should keep."""

    subject: str
    figure: Figure
    at_least: bool
    limit: Figure
    unit: str = ""

    @property
    def unknown(self) -> str:
        """Why nothing can be said, if so."""
        reasons = dict.fromkeys((self.figure.unknown, self.limit.unknown))
        return "; ".join(reason for reason in reasons if reason)

    def reached(self, summary: str) -> bool:
        """Whether the figure keeps the limit."""
        value, limit = self.figure.values[summary], self.limit.values[summary]
        return value >= limit if self.at_least else value <= limit

    @property
    def wanted(self) -> str:
        """The limit, in words and as a number."""
        words = f"{'at least' if self.at_least else 'at most'} {self.limit.words}"
        if self.unknown:
            return words
        return f"{words} ({number(self.limit.values['best'])}{self.unit})"

    @property
    def verdict(self) -> str:
        """Whether it was reached, and by how much."""
        if self.unknown:
            return f"cannot be said: {self.unknown}"
        by = [summary for summary in SUMMARIES if self.reached(summary)]
        words = "reached" if by else "not reached"
        if len(by) == 1:
            words = f"reached by the {by[0]} only"
        return f"{words}, {self._margin()}"

    def _margin(self) -> str:
        share = self.figure.values["best"] / self.limit.values["best"] - 1
        if share == 0:
            return "exactly"
        return f"{abs(share):.1%} {'above' if share > 0 else 'below'}"

    def to_json(self) -> Row:
        """For the results."""
        known = not self.unknown
        return {
            "subject": self.subject,
            "wanted": self.wanted,
            "figure": self.figure.values,
            "limit": self.limit.values,
            "reached": {each: self.reached(each) for each in SUMMARIES} if known else None,
            "verdict": self.verdict,
        }


class Rows:
    """Finds figures in the rows of a part."""

    def __init__(self, rows: Iterable[Row], key: str) -> None:
        self._rows = {(row["contestant"], row[key]): row for row in rows}

    def figure(self, contestant: str, key: str | int, metric: str) -> Figure:
        """A contestant's figure."""
        label = LABELS[contestant]
        row = self._rows.get((contestant, key))
        if row is None:
            return Figure(label, unknown=f"{label} did not take part")
        if metric not in row:
            return Figure(
                label,
                unknown=f"{label}: {row['missing'] or 'no figure, as too little was delivered'}",
            )
        return Figure(label, row[metric])

    def keys(self) -> list[Any]:
        """All keys, in their order."""
        return list(dict.fromkeys(key for _, key in self._rows))


# ---- two processes


def pair_goals(part: Row) -> list[Goal]:
    """The goals of two processes."""
    rows = Rows(part["rows"], "case")
    goals: list[Goal] = []
    for size in SIZES:
        goals += _signed_goals(rows, size, part["signatures"].get(str(size), {}))
    for size in SIZES:
        goals += _native_goals(rows, f"signed {size} B")
    goals += _feature_goals(rows, "signed 1024 B")
    return goals + _unsigned_goals(rows, "unsigned 1024 B")


def _signed_goals(rows: Rows, size: int, signatures: dict[str, Any]) -> list[Goal]:
    case = f"signed {size} B"
    rate = "messages_per_second"
    ours, js, py = (rows.figure(name, case, rate) for name in ("ours", "js", "py"))
    goals = [
        Goal(f"{case}, messages/s", ours, True, js.times(1.5)),
        Goal(f"{case}, messages/s", ours, True, py.times(10)),
    ]
    for role, call, factor in (("subscriber", "verify", 1.5), ("publisher", "sign", 2)):
        subject = f"{case}, CPU of the {role}"
        cost = Figure(f"one PyNaCl {call}", signatures[f"pynacl_{call}"])
        own = rows.figure("ours", case, f"{role}_us")
        goals.append(Goal(subject, own, False, cost.times(factor), " us"))
        # On one thread: with more of them each message costs it more.
        goals.append(Goal(subject, own, False, rows.figure("go-1", case, f"{role}_us"), " us"))
    return goals


def _native_goals(rows: Rows, case: str) -> list[Goal]:
    def goal(role: str) -> Goal:
        own, rust = (rows.figure(name, case, f"{role}_us") for name in ("native", "rust"))
        return Goal(f"{LABELS['native']}, {case}, CPU of the {role}", own, False, rust, " us")

    return [goal("subscriber"), goal("publisher")]


def _feature_goals(rows: Rows, case: str) -> list[Goal]:
    """What all that came after gossipsub 1.0 may cost."""

    def goal(role: str) -> Goal:
        own, plain = (rows.figure(name, case, f"{role}_us") for name in ("ours", "plain"))
        return Goal(f"{case}, CPU of the {role}", own, False, plain.times(1.05), " us")

    return [goal("subscriber"), goal("publisher")]


def _unsigned_goals(rows: Rows, case: str) -> list[Goal]:
    ours, js = (rows.figure(name, case, "messages_per_second") for name in ("ours", "js"))
    goals = [Goal(f"{case}, messages/s", ours, True, js)]
    for role in ("subscriber", "publisher"):
        own, rust = (rows.figure(name, case, f"{role}_us") for name in ("ours", "rust"))
        goals.append(Goal(f"{case}, CPU of the {role}", own, False, rust.times(2), " us"))
    return goals


# ---- the spool


def capture_goals(part: Row) -> list[Goal]:
    """The goals of keeping a spool."""
    return [
        Goal(
            f"{row['what']}, {row['rate'] or 'as many as are taken'} a second, CPU of the loop",
            Figure("the spool", row["loop_us"]),
            False,
            fixed("5 us", 5.0),
            " us",
        )
        for row in part["rows"]
    ]
