"""Gold: the mesh of each topic, minute by minute.

The graph of a minute has the nodes that were subscribed, and the links that were grafted, for at
least half of it (of the part of it that the trace covers). So a graft that is taken back at once
does not count, nor does the last instant of a trace, when everybody leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.codes import Groups, Integers, coded, looked_up
from rumormill.pipeline.tables.columns import MINUTE_US, in_order, minute_of
from rumormill.pipeline.tables.schema import GOLD

_GRAPH: Final = ("network", "topic", "minute")
_SCHEMA: Final = pa.schema(
    [
        ("network", pa.string()),
        ("topic", pa.string()),
        ("minute", pa.int64()),
        ("nodes", pa.int64()),
        ("degree_mean", pa.float64()),
        ("degree_min", pa.int64()),
        ("degree_max", pa.int64()),
        ("components", pa.int64()),
        ("largest", pa.int64()),
    ]
)
_SPARK_SCHEMA: Final = (
    "network string, topic string, minute long, nodes long, degree_mean double, degree_min long,"
    " degree_max long, components long, largest long"
)


def mesh_minutes(mesh: DataFrame, subscriptions: DataFrame, counters: DataFrame) -> DataFrame:
    """One row for each minute of each topic that has a mesh."""
    span = counters.groupBy("network").agg(
        F.min("first_at").alias("begin"), F.max("last_at").alias("end")
    )
    meshed = mesh.select("network", "topic").distinct()
    members = subscriptions.join(F.broadcast(meshed), ["network", "topic"]).withColumn(
        "peer", F.lit(None).cast("string")
    )
    present = _present(members, span).unionByName(_present(mesh, span))
    graphs = (
        present.repartition(*_GRAPH)
        .mapInArrow(_measure, _SPARK_SCHEMA)
        .withColumn("minute", F.timestamp_micros("minute"))
    )
    found = graphs
    for column, name in (("since", "grafts"), ("until", "prunes")):
        changes = mesh.where(F.col(column).isNotNull())
        minute = minute_of(F.col(column)).alias("minute")
        counted = changes.groupBy("network", "topic", minute).agg(F.count(F.lit(1)).alias(name))
        found = found.join(counted, list(_GRAPH), "left")
    return in_order(found.fillna(0, ["grafts", "prunes"]), GOLD["mesh_minutes"])


def _present(intervals: DataFrame, span: DataFrame) -> DataFrame:
    """In which minutes something was there for at least half of the time."""
    known = intervals.select("network", "topic", "node", "peer", "since", "until").join(
        F.broadcast(span), "network"
    )
    since = F.unix_micros(F.greatest("since", "begin"))
    until = F.unix_micros(F.least(F.coalesce("until", "end"), "end"))
    clipped = known.withColumn("since", since).withColumn("until", until).where("since <= until")
    minute = F.explode(
        F.sequence(
            F.col("since") - F.pmod("since", F.lit(MINUTE_US)), F.col("until"), F.lit(MINUTE_US)
        )
    )
    begin = F.greatest("minute", F.unix_micros("begin"))
    end = F.least(F.col("minute") + MINUTE_US, F.unix_micros("end"))
    there = F.least("until", end) - F.greatest("since", begin)
    return (
        clipped.select("*", minute.alias("minute"))
        .groupBy(*_GRAPH, "node", "peer", (end - begin).alias("covered"))
        .agg(F.sum(there).alias("there"))
        .where("covered > 0 and 2 * there >= covered")
        .select(*_GRAPH, "node", "peer")
    )


def _measure(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = [batch for batch in batches if batch.num_rows]
    if parts:
        yield from measure(pa.Table.from_batches(parts)).to_batches()


def measure(rows: pa.Table) -> pa.Table:
    """The figures of each graph; a row is a node (without ``peer``) or a link of one.

    >>> three = {"node": ["a", "b", "c", "a"], "peer": [None, None, None, "b"]}
    >>> graph = {"network": ["n"] * 4, "topic": ["t"] * 4, "minute": [0] * 4}
    >>> measure(pa.table(graph | three)).select(["nodes", "components", "largest"]).to_pylist()
    [{'nodes': 3, 'components': 2, 'largest': 2}]
    """
    graphs = Groups({name: coded(rows[name]) for name in _GRAPH})
    names = pc.unique(pa.concat_arrays([*rows["node"].chunks, *rows["peer"].chunks]).drop_null())
    node, peer = (looked_up(rows[name], names) for name in ("node", "peer"))
    cell = graphs.codes * len(names)
    members = np.unique((cell + node)[peer < 0])
    chosen = (peer >= 0) & np.isin(cell + node, members)
    near = np.searchsorted(members, (cell + node)[chosen])
    degrees = np.bincount(near, minlength=len(members))
    # Links to nodes that are no members (or tell nothing of themselves) join no components.
    far_cell = (cell + peer)[chosen]
    inside = np.isin(far_cell, members)
    labels = components(len(members), near[inside], np.searchsorted(members, far_cell[inside]))
    of_graph = members // len(names)
    starts = np.flatnonzero(np.diff(of_graph, prepend=-1))
    nodes = np.bincount(of_graph, minlength=graphs.size)[of_graph[starts]]
    sizes = np.bincount(labels, minlength=len(members))
    return pa.table(
        [
            *[graphs.keys[name].take(pa.array(of_graph[starts])) for name in _GRAPH],
            nodes,
            np.add.reduceat(degrees, starts) / nodes,
            np.minimum.reduceat(degrees, starts),
            np.maximum.reduceat(degrees, starts),
            np.add.reduceat((sizes > 0).astype(np.int64), starts),
            np.maximum.reduceat(sizes, starts),
        ],
        schema=_SCHEMA,
    )


def components(count: int, near: Integers, far: Integers) -> Integers:
    """For each of ``count`` nodes the smallest number of a node that it is connected with.

    >>> components(5, np.array([1, 4]), np.array([2, 2])).tolist()
    [0, 1, 1, 3, 1]
    """
    labels = np.arange(count)
    while True:
        least = np.minimum(labels[near], labels[far])
        fresh = labels.copy()
        np.minimum.at(fresh, near, least)
        np.minimum.at(fresh, far, least)
        fresh = fresh[fresh]
        if (fresh == labels).all():
            return labels
        labels = fresh
