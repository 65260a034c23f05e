"""Traces written by hand, one event a line.

    0.0   a  subscribed  @weather
    1.0   a  published   @weather  #m1  size=100
    1.25  b  delivered   @weather  #m1  <a  size=100

A line is the time in seconds after :data:`BEGIN`, the node and the event; then, in any order,
``@topic``, ``#message``, ``<peer``, and ``name=value`` (columns of the trace; anything else goes
into ``fields``).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from rumormill.capture.schema import TRACE_SCHEMA

BEGIN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NUMBERS = ("size", "count")
TEXTS = ("reason", "sender")


def at(seconds: float) -> datetime:
    """A time, so many seconds after the beginning."""
    return BEGIN + timedelta(microseconds=round(seconds * 1e6))


def seconds(time: datetime | None) -> float | None:
    """The other way round. Spark's times have no zone; the tests' session is in UTC."""
    if time is None:
        return None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - BEGIN) / timedelta(seconds=1)


def event_of(line: str, network: str = "net") -> dict[str, Any]:
    """One line as a row of bronze."""
    time, node, event, *words = line.split()
    row: dict[str, Any] = dict.fromkeys(TRACE_SCHEMA.names)
    row.update(time=at(float(time)), network=network, node=node, event=event)
    fields: dict[str, Any] = {}
    for word in words:
        if word[0] in "@#<":
            name = {"@": "topic", "#": "message_id", "<": "peer"}[word[0]]
            row[name] = word[1:].encode() if word[0] == "#" else word[1:]
            continue
        name, value = word.split("=", 1)
        if name in NUMBERS:
            row[name] = int(value)
        elif name in TEXTS:
            row[name] = value
        else:
            fields[name] = int(value) if value.removeprefix("-").isdigit() else value
    row["fields"] = json.dumps(fields) if fields else None
    return row
