"""Two runs side by side: for each figure both values, their difference and their ratio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from rumormill.core.words import printable
from rumormill.report.as_json import json_object
from rumormill.report.columns import COMPARED_OF_PEERS, TOPICS, Column
from rumormill.report.figures import Report
from rumormill.report.words import digits, listed, percent

WORDS = {1: "better", -1: "worse", 0: ""}


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

    def plain(self) -> dict[str, float | None]:
        """For the JSON form."""
        return {**asdict(self), "difference": self.difference, "ratio": self.ratio}


@dataclass(frozen=True)
class Comparison:
    """This run, and the one that it is compared with."""

    this: Report
    other: Report

    @cached_property
    def here(self) -> dict[str, Any]:
        """This run's figures."""
        return json_object(self.this)

    @cached_property
    def there(self) -> dict[str, Any]:
        """The other's."""
        return json_object(self.other)

    @cached_property
    def topics(self) -> dict[str, dict[Column, Pair]]:
        """Every figure of every topic of both runs."""
        here, there = self.here["topics"], self.there["topics"]
        return {
            label: {it: Pair(it.of(here[label]), it.of(there[label])) for it in TOPICS}
            for label in here
            if label in there
        }

    def rows(self) -> Iterator[tuple[str, Column, Pair]]:
        """Those that one of the runs knows, one by one."""
        for label, pairs in self.topics.items():
            for column, pair in pairs.items():
                if pair.this is not None or pair.other is not None:
                    yield label, column, pair

    @property
    def only_here(self) -> list[str]:
        """Topics of this run that the other does not have."""
        return [label for label in self.this.topics if label not in self.other.topics]

    @property
    def only_there(self) -> list[str]:
        """Topics of the other run that this one does not have."""
        return [label for label in self.other.topics if label not in self.this.topics]

    def alone(self, most: int = 20) -> list[str]:
        """Which topics cannot be compared; a sentence for each run, with so many names at most."""
        runs = {"this run": self.only_here, "the other": self.only_there}
        return [
            f"Only in {run}: {listed([printable(label) for label in labels], most)}."
            for run, labels in runs.items()
            if labels
        ]

    def plain(self) -> dict[str, Any]:
        """The comparison as plain values; each figure is where the report itself has it."""
        here, there = self.here, self.there
        topics = {
            label: _nested({column.figure: pair.plain() for column, pair in pairs.items()})
            for label, pairs in self.topics.items()
        }
        peers = {
            label: _pairs({name: peer[name] for name in COMPARED_OF_PEERS}, there["peers"][label])
            for label, peer in here["peers"].items() if label in there["peers"]
        }  # fmt: skip
        kinds = dict.fromkeys([*here["events"], *there["events"]], 0)
        return {
            "topics": topics,
            "peers": peers,
            "total": _pairs(here["total"], there["total"]),
            "events": _pairs({**kinds, **here["events"]}, {**kinds, **there["events"]}),
            "only_here": self.only_here,
            "only_there": self.only_there,
            "other": there,
        }


def difference(column: Column, pair: Pair) -> str:
    """How much more this run has, with its sign; shares differ by percentage points."""
    if pair.difference is None:
        return "-"
    if not pair.difference:
        return "="
    sign = "+" if pair.difference > 0 else "-"
    if column.show is percent:
        return f"{sign}{digits(abs(pair.difference) * 100)} pp"
    return f"{sign}{column.show(abs(pair.difference))}"


def times(pair: Pair) -> str:
    """How many times the other's value this run has."""
    return "-" if pair.ratio is None else f"{pair.ratio:.2f}"


def _pairs(here: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    return {name: Pair(value, there[name]).plain() for name, value in here.items()}


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Names with a dot as an object in an object.

    >>> _nested({"ratio": 1, "hops.mean": 2, "hops.max": 3})
    {'ratio': 1, 'hops': {'mean': 2, 'max': 3}}
    """
    result: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, inner = name.split(".")
        (result.setdefault(outer[0], {}) if outer else result)[inner] = value
    return result
