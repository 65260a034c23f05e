"""The mesh of each topic, minute by minute.

The graph of a minute has the nodes that were subscribed, and the links that were grafted, for at
least half of it (of the part of it that the trace of that network covers). So a graft that is taken
back at once does not count, nor does the last instant of a trace, when everybody leaves.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures.columns import made_anew
from rumormill.pipeline.gold.measures.graphs import measure
from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.silver.columns import MINUTE_US, minute_of

_GRAPH: Final = ("network", "topic", "minute")
_MEASURES: Final = (
    "network string, topic string, minute bigint, nodes bigint, degree_mean double,"
    " degree_min bigint, degree_max bigint, components bigint, largest bigint, cut_off bigint"
)


@gold_table(
    columns="minute timestamp, network string, topic string, nodes bigint, degree_mean double,"
    " degree_min bigint, degree_max bigint, components bigint, largest bigint, cut_off bigint,"
    " grafts bigint, prunes bigint",
)
def mesh_minutes(tables: Tables) -> DataFrame:
    """One row for each topic and minute in which anybody had a peer in its mesh.

    ``cut_off``: of the nodes that were there for the whole of a minute, those that no link of it,
    however short, joined with the largest part of them.
    """
    mesh = tables["mesh"]
    meshed = F.broadcast(mesh.select("network", "topic").distinct())
    members = tables["subscriptions"].join(meshed, ["network", "topic"], "left_semi")
    nobody = F.lit(None).cast("string")
    stretches = _stretches(members, nobody).unionByName(_stretches(mesh, F.col("peer")))
    graphs = (
        _present(tables, stretches)
        .groupBy(*_GRAPH)
        .applyInArrow(measure, _MEASURES)
        .withColumn("minute", F.timestamp_micros("minute"))
    )
    found = graphs.join(_changes(tables, mesh), list(_GRAPH), "left")
    return found.fillna(0, ["grafts", "prunes"])


def _stretches(rows: DataFrame, peer: Column) -> DataFrame:
    return rows.select("network", "topic", "node", peer.alias("peer"), "since", "until")


def _changes(tables: Tables, mesh: DataFrame) -> DataFrame:
    """How many links began or ended in each minute: each side counts."""
    graft, prune = (
        F.struct(minute_of(F.col(at)).alias("minute"), F.lit(at == "since").alias("graft"))
        for at in ("since", "until")
    )
    each = mesh.select("network", "topic", F.inline(F.array(graft, prune)))
    return (
        each.where(made_anew(tables.minutes))
        .groupBy(*_GRAPH)
        .agg(F.count_if("graft").alias("grafts"), F.count_if(~F.col("graft")).alias("prunes"))
    )


def _present(tables: Tables, stretches: DataFrame) -> DataFrame:
    """In which minutes a node (without ``peer``) or a link of one was there, and for how long.

    Stretches meet the minutes that something happened in, and no others: one event of a clock that
    is years ahead costs one minute, not all those up to it.
    """
    covered = (
        tables["counters"]
        .groupBy("network", F.unix_micros("minute").alias("minute"))
        .agg(
            F.unix_micros(F.min("first_at")).alias("begin"),
            F.unix_micros(F.max("last_at")).alias("end"),
        )
        .where("end > begin")
    )
    since, until = F.unix_micros("since"), F.coalesce(F.unix_micros("until"), F.col("end"))
    there = F.least(until, "end") - F.greatest(since, "begin")
    length = F.col("end") - F.col("begin")
    half = 2 * F.col("there") >= F.col("covered")
    through = (2 * F.col("covered") >= MINUTE_US) & (
        F.col("peer").isNotNull() | (F.col("there") >= F.col("covered"))
    )
    return (
        stretches.join(F.broadcast(covered), "network")
        .where((since <= F.col("end")) & (until >= F.col("begin")))
        .withColumns({"covered": length, "there": there})
        # One shuffle: by graph serves both what is summed up and what is measured.
        .repartition(*_GRAPH)
        .groupBy(*_GRAPH, "node", "peer", "covered")
        .agg(F.sum("there").alias("there"))
        .select(*_GRAPH, "node", "peer", half.alias("usual"), through.alias("whole"))
        .where("usual or whole or peer is not null")
    )
