"""Samples of Spark's parts, summed up."""

from __future__ import annotations

import importlib.metadata
import statistics
from collections.abc import Sequence
from typing import Any

from bench.goals import Figure, fixed

Row = dict[str, Any]


def summed_up(samples: Sequence[Row]) -> Row:
    """Seconds, processor time and events a second: the best of several, and their median."""
    found: Row = {"samples": list(samples)}
    for metric in ("seconds", "cpu_seconds"):
        if metric in samples[0]:
            found[metric] = _both([sample[metric] for sample in samples])
    if samples[0].get("events"):
        rates = [sample["events"] / sample["seconds"] for sample in samples]
        found["events_per_second"] = {"best": max(rates), "median": statistics.median(rates)}
    return found


def _both(values: Sequence[float]) -> dict[str, float]:
    return {"best": min(values), "median": statistics.median(values)}


def by_median(words: str, values: dict[str, float]) -> Figure:
    """A figure of which the median alone counts."""
    return fixed(words, values["median"])


def versions() -> dict[str, dict[str, str]]:
    """What takes part is made of."""
    packages = ("rumormill", "pyspark", "pyiceberg", "pyarrow", "duckdb")
    return {"spark": {name: importlib.metadata.version(name) for name in packages}}
