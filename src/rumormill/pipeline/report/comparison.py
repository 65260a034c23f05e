"""Two runs side by side: for each figure both values, their difference and their ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rumormill.pipeline.report.figures import Report, Totals
from rumormill.pipeline.report.rows import TopicRow
from rumormill.pipeline.report.words import digits, milliseconds, percent, size


@dataclass(frozen=True)
class Figure:
    """A number that two runs can be compared by."""

    name: str
    """As in the JSON form; a dot leads into an inner object."""
    title: str
    of: Callable[[TopicRow], float | None]
    shown: Callable[[float | None], str]
    better: int
    """1 if more is better, -1 if less is, 0 if neither."""


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


FIGURES = (
    Figure("published", "published", lambda row: row.published, _count, 0),
    Figure("expected", "expected", lambda row: row.expected, _count, 0),
    Figure("delivered", "delivered", lambda row: row.delivered, _count, 0),
    Figure("missing", "missing", lambda row: row.missing, _count, -1),
    Figure("ratio", "ratio", lambda row: row.ratio, percent, 1),
    Figure("latency_ms.p50", "latency p50", lambda row: row.latency_p50, milliseconds, -1),
    Figure("latency_ms.p90", "latency p90", lambda row: row.latency_p90, milliseconds, -1),
    Figure("latency_ms.p99", "latency p99", lambda row: row.latency_p99, milliseconds, -1),
    Figure("latency_ms.max", "latency max", lambda row: row.latency_max, milliseconds, -1),
    Figure(
        "duplicates_per_delivery", "duplicates per delivery",
        lambda row: row.duplicates_per_delivery, digits, -1,
    ),
    Figure("hops.mean", "hops mean", lambda row: row.hops_mean, digits, -1),
    Figure("hops.max", "hops max", lambda row: row.hops_max, _count, -1),
    Figure(
        "bytes_per_delivery", "bytes per delivery", lambda row: row.bytes_per_delivery, size, -1
    ),
    Figure("recoveries", "recoveries", lambda row: row.recoveries, _count, 0),
)  # fmt: skip

PEER_FIGURES = ("published", "delivered", "duplicates", "first_sent", "repeat_sent", "contribution")

TOTALS = ("topics", "published", "expected", "delivered", "missing", "ratio", "duplicates",
          "duplicates_per_delivery", "recoveries")  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """The same figure in this run and in the other."""

    this: float | None
    other: float | None

    @property
    def difference(self) -> float | None:
        """How much more this run has than the other."""
        return None if self.this is None or self.other is None else self.this - self.other

    @property
    def ratio(self) -> float | None:
        """How many times the other's value this run has; unknown where the other's is nothing."""
        return self.this / self.other if self.this is not None and self.other else None

    def verdict(self, better: int) -> int:
        """1 if this run is better, -1 if it is worse, 0 if they are equal or nobody can tell."""
        difference = self.difference or 0.0
        return better * ((difference > 0) - (difference < 0))


@dataclass(frozen=True)
class Comparison:
    """This run, and the one that it is compared with."""

    this: Report
    other: Report

    @cached_property
    def topics(self) -> Mapping[str, Mapping[str, Pair]]:
        """For each topic of both runs, each figure's two values."""
        return {
            label: {
                figure.name: Pair(figure.of(row), figure.of(self.other.topics[label]))
                for figure in FIGURES
            }
            for label, row in self.this.topics.items()
            if label in self.other.topics
        }

    @cached_property
    def peers(self) -> Mapping[str, Mapping[str, Pair]]:
        """For each peer of both runs, each figure's two values."""
        there = self.other.peers
        return {
            label: {
                name: Pair(getattr(row, name), getattr(there[label], name)) for name in PEER_FIGURES
            }
            for label, row in self.this.peers.items()
            if label in there
        }

    @cached_property
    def total(self) -> Mapping[str, Pair]:
        """The sums over all topics, compared."""
        return {
            name: Pair(_of(self.this.total, name), _of(self.other.total, name)) for name in TOTALS
        }

    @cached_property
    def events(self) -> Mapping[str, Pair]:
        """For each kind of event, how often it happened in each run."""
        kinds = {**self.this.events, **self.other.events}
        return {
            kind: Pair(self.this.events.get(kind, 0), self.other.events.get(kind, 0))
            for kind in kinds
        }

    @property
    def only_here(self) -> list[str]:
        """Topics of this run that the other does not have."""
        return [label for label in self.this.topics if label not in self.other.topics]

    @property
    def only_there(self) -> list[str]:
        """Topics of the other run that this one does not have."""
        return [label for label in self.other.topics if label not in self.this.topics]

    def rows(self) -> Iterator[tuple[str, Figure, Pair]]:
        """Every topic's every figure that one of the runs knows."""
        for label, pairs in self.topics.items():
            for figure in FIGURES:
                pair = pairs[figure.name]
                if pair.this is not None or pair.other is not None:
                    yield label, figure, pair


def _of(sums: Totals, name: str) -> float | None:
    value: float | None = getattr(sums, name)
    return value


def difference(figure: Figure, pair: Pair) -> str:
    """How much more this run has, with its sign; shares differ by percentage points."""
    if pair.difference is None:
        return "-"
    if not pair.difference:
        return "="
    sign = "+" if pair.difference > 0 else "-"
    if figure.shown is percent:
        return f"{sign}{digits(abs(pair.difference) * 100)} pp"
    return f"{sign}{figure.shown(abs(pair.difference))}"


def times(pair: Pair) -> str:
    """How many times the other's value this run has."""
    return "-" if pair.ratio is None else f"{pair.ratio:.2f}"


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values; each figure is where the report itself has it."""
    return {
        "topics": {
            label: _nested({name: pair_object(pair) for name, pair in pairs.items()})
            for label, pairs in comparison.topics.items()
        },
        "peers": {
            label: {name: pair_object(pair) for name, pair in pairs.items()}
            for label, pairs in comparison.peers.items()
        },
        "total": {name: pair_object(pair) for name, pair in comparison.total.items()},
        "events": {kind: pair_object(pair) for kind, pair in comparison.events.items()},
        "only_here": comparison.only_here,
        "only_there": comparison.only_there,
    }


def pair_object(pair: Pair) -> dict[str, float | None]:
    """Both values, their difference and their ratio."""
    return {
        "this": pair.this,
        "other": pair.other,
        "difference": pair.difference,
        "ratio": pair.ratio,
    }


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Names with a dot as an object in an object.

    >>> _nested({"ratio": 1, "hops.mean": 2, "hops.max": 3})
    {'ratio': 1, 'hops': {'mean': 2, 'max': 3}}
    """
    result: dict[str, Any] = {}
    for name, value in flat.items():
        outer, dot, inner = name.partition(".")
        if dot:
            result.setdefault(outer, {})[inner] = value
        else:
            result[name] = value
    return result
