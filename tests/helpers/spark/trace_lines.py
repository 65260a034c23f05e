"""Traces written by hand, one event a line, and tables read back as plain values.

    trace = trace_of(spark, '''
        0.0   a  subscribed  @weather
        1.0   a  published   @weather  #m1  size=100
        1.25  b  delivered   @weather  #m1  <a  size=100
    ''')

A line is the time in seconds after :data:`BEGIN`, the node and the event; then, in any order,
``@topic``, ``#message``, ``<peer``, and ``name=value`` (columns of the trace; anything else goes
into ``fields``).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rumormill.capture.schema import TRACE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from rumormill.core.trace import TraceEvent

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
            fields[name] = int(value) if value.isdigit() else value
    row["fields"] = json.dumps(fields) if fields else None
    return row


def trace_of(spark: SparkSession, lines: str, **networks: str) -> DataFrame:
    """A trace as Spark reads it from bronze: that of the network "net", and of others by name.

    Networks know nothing of each other, so several cases can share one query.
    """
    return frame(
        spark,
        [
            event_of(line, name)
            for name, text in ({"net": lines} | networks).items()
            for line in text.splitlines()
            if line.strip()
        ],
    )


def trace_of_events(
    spark: SparkSession,
    networks: Mapping[str, Iterable[TraceEvent]],
    ahead: Mapping[str, Mapping[str, float]] | None = None,
) -> DataFrame:
    """The traces of simulations, by the names of their networks.

    ``ahead``: by how many seconds the clocks of some nodes of a network are wrong.
    """
    rows = []
    for network, events in networks.items():
        wrong = (ahead or {}).get(network, {})
        for event in events:
            fields = dict(event.fields)
            row: dict[str, Any] = {name: fields.pop(name, None) for name in TRACE_SCHEMA.names}
            row.update(
                time=at(event.time + wrong.get(event.node, 0.0)),
                network=network,
                node=event.node,
                event=event.event,
                topic=event.topic,
                message_id=event.message_id,
                peer=event.peer,
                fields=json.dumps(fields) if fields else None,
            )
            rows.append(row)
    return frame(spark, rows)


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(rows, TRACE_SCHEMA))


def held(name: str, table: DataFrame) -> DataFrame:
    """Computes a table once and goes on with its rows, as a runner does with files."""
    return table.sparkSession.createDataFrame(table.toArrow(), table.schema)


def rows_of(table: DataFrame, columns: str) -> list[tuple[Any, ...]]:
    """Some columns of all rows, in order; times as seconds, ids as text."""
    return sorted(
        (tuple(_plain(value) for value in row) for row in table.select(*columns.split()).collect()),
        key=lambda row: tuple((value is not None, value) for value in row),
    )


def by_network(table: DataFrame, columns: str) -> dict[str, list[tuple[Any, ...]]]:
    """The same for each network."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for network, *row in rows_of(table, f"network {columns}"):
        found.setdefault(network, []).append(tuple(row))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return seconds(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="backslashreplace")
    return value
