"""Every silver and gold table from a trace, by plain SQL in DuckDB.

It is written from ``docs/tables.md`` and ``docs/alerts.md`` alone and shares nothing with the
pipeline, so that what both say is right as far as the pages are. Only clocks, which have to be
solved for, are in Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tests.helpers.second_opinion.clocks import Clock, Ways, clocks

SQL = Path(__file__).parent / "sql"

SILVER = (
    "counters",
    "reasons",
    "scored",
    "runs",
    "sightings",
    "subscriptions",
    "mesh",
    "publications",
    "deliveries",
    "ways",
)
GOLD = (
    "latencies",
    "topics",
    "links",
    "peers",
    "publishers",
    "mesh_minutes",
    "events",
    "causes",
    "scores",
    "lifetimes",
    "slowest",
    "values",
    "clocks",
    "alerts",
    "problems",
    "nodes",
)

MINUTES_OF_A_CORRECTION = 10
MINUTES_OF_CLOCKS = 60

TRACE = pa.schema(
    [
        ("spool", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("time", pa.timestamp("us")),
        ("network", pa.string()),
        ("node", pa.string()),
        ("event", pa.string()),
        ("topic", pa.string()),
        ("message_id", pa.binary()),
        ("peer", pa.string()),
        ("size", pa.int64()),
        ("count", pa.int64()),
        ("reason", pa.string()),
        ("sender", pa.string()),
        ("fields", pa.string()),
    ]
)
"""Times without a zone, in UTC: what DuckDB reckons with without an extension."""

Row = dict[str, Any]


def second_opinion(trace: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of every table; times have no zone."""
    naive = [{**row, "time": row["time"].replace(tzinfo=None)} for row in trace]
    with duckdb.connect() as database:
        database.register("captured", pa.Table.from_pylist(naive, TRACE))
        database.execute("create table trace as from captured")
        for file in ("1_counters", "2_runs", "3_stretches", "4_publications"):
            _run(database, file)
        _make_offsets(database)
        for file in ("5_deliveries", "6_topics", "7_links", "8_meshes"):
            _run(database, file)
        _make_clocks(database)
        for file in ("9_whole", "10_alerts"):
            _run(database, file)
        return {
            name: database.sql(f'from "{name}"').to_arrow_table().to_pylist()
            for name in (*SILVER, *GOLD)
        }


def _run(database: duckdb.DuckDBPyConnection, file: str) -> None:
    database.execute((SQL / f"{file}.sql").read_text())


def _make_offsets(database: duckdb.DuckDBPyConnection) -> None:
    """What is taken off the times of nodes, by the minutes of publications."""
    database.execute(
        "create table offsets (minute timestamp, network text, node text, offset_us bigint)"
    )
    asked = database.execute("select distinct minute, network from publications").fetchall()
    for minute, network in asked:
        found = clocks(_least(database, network, minute, MINUTES_OF_A_CORRECTION))
        rows = [
            (minute, network, node, round(clock.offset))
            for node, clock in found.items()
            if clock.applied
        ]
        if rows:
            database.executemany("insert into offsets values (?, ?, ?, ?)", rows)


def _make_clocks(database: duckdb.DuckDBPyConnection) -> None:
    database.execute(
        "create table clocks (network text, node text, offset_ms double, uncertainty_ms double,"
        " links int, estimated boolean, applied boolean, linked_at timestamp)"
    )
    nodes: dict[str, list[str]] = defaultdict(list)
    for network, node in database.execute("select distinct network, node from runs").fetchall():
        nodes[network].append(node)
    for network, members in nodes.items():
        asked = database.execute("select max(minute) from ways where network = ?", [network])
        last = asked.fetchall()[0][0] or datetime.max
        least = _least(database, network, last, MINUTES_OF_CLOCKS)
        found, linked = clocks(least), _linked_at(database, network, least)
        rows = [(network, node, *_figures(found.get(node)), linked.get(node)) for node in members]
        database.executemany("insert into clocks values (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _linked_at(
    database: duckdb.DuckDBPyConnection, network: str, least: Ways
) -> dict[str, datetime]:
    """The last minute up to which each node had both ways of a link."""
    asked = database.execute(
        "select peer, node, max(minute) from ways where network = ? group by peer, node", [network]
    )
    last = {(source, target): minute for source, target, minute in asked.fetchall()}
    found: dict[str, datetime] = {}
    for node, other in least:
        both = least.get((other, node))
        if both is not None and both + least[node, other] >= 0:
            minute = min(last[node, other], last[other, node])
            found[node] = max(found.get(node, minute), minute)
    return found


def _figures(clock: Clock | None) -> tuple[float | None, float | None, int, bool, bool]:
    if clock is None:
        return (None, None, 0, False, False)
    return (clock.offset / 1000, clock.uncertainty / 1000, clock.links, True, clock.applied)


def _least(
    database: duckdb.DuckDBPyConnection, network: str, minute: datetime, minutes: int
) -> Ways:
    """The ways of a network in so many minutes, up to this one."""
    found = database.execute(
        "select peer, node, min(least_us) from ways"
        " where network = ? and minute > ? and minute <= ? group by peer, node",
        [network, minute - timedelta(minutes=minutes), minute],
    )
    return {(source, target): least for source, target, least in found.fetchall()}
