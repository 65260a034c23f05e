"""How far each node's clock is from the others', by the copies of the last hour."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.clock_offsets import clocks as compared
from rumormill.pipeline.gold.registry import Tables, gold_table

MINUTES: Final = 60
"""Of copies that clocks are told from: clocks drift, so older ones mislead."""

_COLUMNS: Final = (
    "network string, node string, offset_ms double, uncertainty_ms double, links int,"
    " estimated boolean, applied boolean"
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
    ]
)


@gold_table(columns=_COLUMNS)
def clocks(tables: Tables) -> DataFrame:
    """One row for each node that tells of itself; see ``clock_offsets.py``."""
    keys = ["network", "node", "peer"]
    ways = tables.recent("ways", MINUTES).groupBy(*keys).agg(F.min("least_us").alias("least_us"))
    known = tables["runs"].select("network", "node").distinct()
    nothing = [F.lit(None).cast(kind).alias(name) for name, kind in _NOBODY.items()]
    both = ways.unionByName(known.select("network", "node", *nothing))
    return both.groupBy("network").applyInArrow(_compare, _COLUMNS)


_NOBODY: Final = {"peer": "string", "least_us": "bigint"}
"""Of a row that only says that there is such a node."""


def _compare(rows: pa.Table) -> pa.Table:
    """The clocks of one network."""
    columns = [rows[name].to_pylist() for name in ("network", "node", "peer", "least_us")]
    network = columns[0][0]
    ways, nodes = [], []
    for _, node, peer, least_us in zip(*columns, strict=True):
        if peer is None:
            nodes.append(node)
        else:
            ways.append((peer, node, least_us))
    told = set(nodes)
    found = [
        {
            "network": network,
            "node": node,
            "offset_ms": clock.offset_us / 1000 if clock.estimated else None,
            "uncertainty_ms": None if clock.uncertainty_us is None else clock.uncertainty_us / 1000,
            "links": clock.links,
            "estimated": clock.estimated,
            "applied": clock.applied,
        }
        for node, clock in compared(ways, nodes).items()
        if node in told
    ]
    return pa.Table.from_pylist(found, _SCHEMA)
