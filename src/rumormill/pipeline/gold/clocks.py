"""How far each node's clock is from the others', by the copies of its network's last hour.

A node that had no link in that hour keeps what an earlier one told of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.clock_offsets import clocks as compared
from rumormill.pipeline.gold.registry import Tables, gold_table

MINUTES: Final = 60
"""Of copies that clocks are told from: clocks drift, so older ones mislead."""

Pair = tuple[str, str]
"""From whom to whom."""

_COLUMNS: Final = (
    "network string, node string, offset_ms double, uncertainty_ms double, links int,"
    " estimated boolean, applied boolean, linked_at timestamp"
)
_SCHEMA: Final = pa.schema(
    [
        ("network", pa.string()),
        ("node", pa.string()),
        ("offset_ms", pa.float64()),
        ("uncertainty_ms", pa.float64()),
        ("links", pa.int32()),
        ("estimated", pa.bool_()),
        ("applied", pa.bool_()),
        ("linked_at", pa.timestamp("us", "UTC")),
    ]
)


@gold_table(columns=_COLUMNS)
def clocks(tables: Tables) -> DataFrame:
    """One row for each node that tells of itself; see ``clock_offsets.py``."""
    ways = (
        tables.recent("ways", MINUTES)
        .groupBy("network", "node", "peer")
        .agg(F.min("least_us").alias("least_us"), F.max("minute").alias("minute"))
    )
    known = tables["runs"].select("network", "node").distinct()
    earlier = tables["clocks"].where("estimated")
    rows = ways.unionByName(known, allowMissingColumns=True)
    rows = rows.unionByName(earlier, allowMissingColumns=True)
    return rows.groupBy("network").applyInArrow(_compare, _COLUMNS)


def _compare(table: pa.Table) -> pa.Table:
    """The clocks of one network, from three kinds of rows."""
    ways: dict[Pair, int] = {}
    minutes: dict[Pair, datetime] = {}
    earlier: dict[str, dict[str, Any]] = {}
    nodes: set[str] = set()
    for row in table.to_pylist():
        if row["peer"] is not None:
            pair = row["peer"], row["node"]
            ways[pair], minutes[pair] = row["least_us"], row["minute"]
        elif row["estimated"]:
            earlier[row["node"]] = row
        else:
            nodes.add(row["node"])
    linked_at = _linked_at(ways, minutes)
    newest = max(minutes.values(), default=None)
    found = []
    for node, clock in compared([(*pair, least) for pair, least in ways.items()], nodes).items():
        before = earlier.get(node)
        if before is not None and not clock.estimated and _is_past(before["linked_at"], newest):
            found.append({name: before[name] for name in _SCHEMA.names})
        elif node in nodes:
            found.append(
                {
                    "network": table["network"][0].as_py(),
                    "node": node,
                    "offset_ms": clock.offset_us / 1000 if clock.estimated else None,
                    "uncertainty_ms": _milliseconds(clock.uncertainty_us),
                    "links": clock.links,
                    "estimated": clock.estimated,
                    "applied": clock.applied,
                    "linked_at": linked_at.get(node),
                }
            )
    return pa.Table.from_pylist(found, _SCHEMA)


def _linked_at(ways: Mapping[Pair, int], minutes: Mapping[Pair, datetime]) -> dict[str, datetime]:
    """Up to when each node had a link: the newest minute that had both ways behind it."""
    found: dict[str, datetime] = {}
    for (source, target), least_us in ways.items():
        back = target, source
        if back in ways and least_us + ways[back] >= 0:
            both = min(minutes[source, target], minutes[back])
            found[target] = max(both, found.get(target, both))
    return found


def _is_past(linked_at: datetime, newest: datetime | None) -> bool:
    """Whether a link is too old to be looked at now.

    If it is not, and yet is no link any more, then what was known of it has changed.
    """
    return newest is None or linked_at <= newest - timedelta(minutes=MINUTES)


def _milliseconds(micros: float | None) -> float | None:
    return None if micros is None else micros / 1000
