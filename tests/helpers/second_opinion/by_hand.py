"""Traces written by hand, and what became of them, as short tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from tests.helpers.second_opinion.oracle import Row
from tests.helpers.spark.trace_lines import event_of, seconds

Opinion = Callable[[Sequence[Row]], dict[str, list[Row]]]
"""Makes tables of a trace: the pipeline, or the second opinion."""

Listed = dict[str, list[tuple[Any, ...]]]
"""Rows by network, in order."""


def trace_of(**networks: str) -> list[Row]:
    """Networks know nothing of each other, so several cases can share one trace.

    Lines are as in :mod:`tests.helpers.spark.trace_lines`; fields that read ``true`` or ``false``
    are truth values.
    """
    rows = [
        event_of(line, network)
        for network, lines in networks.items()
        for line in lines.splitlines()
        if line.strip()
    ]
    for row in rows:
        if row["fields"] is not None:
            row["fields"] = row["fields"].replace('"true"', "true").replace('"false"', "false")
    return rows


def listed(rows: Iterable[Row], columns: str) -> Listed:
    """Some columns of all rows; times as seconds after the beginning, ids as text."""
    found: Listed = {}
    for row in rows:
        values = tuple(_plain(row[name]) for name in columns.split())
        found.setdefault(row["network"], []).append(values)
    for values_of_network in found.values():
        values_of_network.sort(key=lambda row: tuple((each is not None, each) for each in row))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return seconds(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="backslashreplace")
    if isinstance(value, list):  # of a map, as Arrow has it
        return {name: _plain(each) for name, each in value}
    return value
