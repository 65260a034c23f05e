"""Who was subscribed to what, from when to when, and which messages are expected of whom.

A subscription begins with ``subscribed`` and ends with ``unsubscribed``, or with the node: with
``node_crashed`` (in simulations), or with its run (``runs.py``) if it ended without a word.

What is *expected* of a node is a little less. A message is, if it was published

- after the first of its peers knew that it is subscribed (``peer_subscribed``; where no peer tells,
  after ``subscribed``): before that, nobody could hand it anything;
- where messages are not passed on from peer to peer (such a ``peer_subscribed`` is ``direct``),
  after its publisher knew that, if that ever tells;
- and before its end, or, of one that ended without a word, a second before: what was on its way
  then, or not written down yet, died with it, and nobody can know whether it came.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import SUBSCRIPTIONS
from rumormill.pipeline.silver.columns import as_declared, literal
from rumormill.pipeline.silver.runs import GRACE, NODE
from rumormill.pipeline.silver.stretches import (
    effective_end,
    ended_silently,
    in_runs,
    open_at,
    told,
)

MEMBER: Final = ("network", "topic", "node")
LIMITS: Final = ("expected_since", "expected_until", "known_to")
"""Columns of a subscription that say which messages are expected."""


def subscriptions(rare: DataFrame, stored: DataFrame, runs: DataFrame, since_us: int) -> DataFrame:
    """All subscriptions that were not told to be over at ``since_us``.

    ``rare``: the rare events since then; ``stored``: the subscriptions as they were made before.
    """
    open_then = open_at(stored, since_us)
    changes = in_runs(_changes(rare, open_then), runs, "time")
    found = told(changes, MEMBER).withColumn("until", effective_end())
    silent = ended_silently()
    last = F.when(silent, F.col("until") - F.expr(GRACE)).otherwise(F.col("until"))
    known = _known(found, _words(rare, open_then, since_us))
    made = found.join(known, [*MEMBER, "since"], "left").withColumns(
        {
            "expected_since": F.coalesce("known_at", "since"),
            "expected_until": last,
        }
    )
    return as_declared(made, SUBSCRIPTIONS.columns)


def is_expected(published_at: Column, at: Column, publisher: Column) -> Column:
    """Whether a message is expected of a member of its topic, of which :data:`LIMITS` are known.

    ``published_at`` is by the clock of the publisher, ``at`` the same by that of the member.
    """
    known, until = F.element_at("known_to", publisher), F.col("expected_until")
    begun = F.when(known.isNotNull(), published_at >= known).otherwise(
        at >= F.col("expected_since")
    )
    return begun & (until.isNull() | (at < until))


def _changes(rare: DataFrame, open_then: DataFrame) -> DataFrame:
    own = rare.where(F.col("event").isin("subscribed", "unsubscribed")).select(
        *MEMBER, "time", (F.col("event") == "subscribed").alias("begins")
    )
    before = open_then.select(*MEMBER, F.col("since").alias("time"), F.lit(True).alias("begins"))
    every = before.unionByName(own)
    crashes = rare.where("event = 'node_crashed'").select(
        *NODE, "time", F.lit(False).alias("begins")
    )
    members = every.select(*MEMBER).distinct()
    return every.unionByName(crashes.join(members, list(NODE))).withColumns(
        {"place": F.lit(0), "reason": F.lit(None).cast("string")}
    )


def _words(rare: DataFrame, open_then: DataFrame, since_us: int) -> DataFrame:
    """Since when who knew of whose subscription; what was known before is in what is stored."""
    fresh = rare.where("event = 'peer_subscribed' and peer is not null and peer != node").select(
        "network",
        "topic",
        F.col("peer").alias("node"),
        F.col("node").alias("witness"),
        F.col("time").alias("known_at"),
        F.coalesce(F.get_json_object("fields", "$.direct") == "true", F.lit(False)).alias("direct"),
    )
    first = open_then.select(
        *MEMBER,
        F.lit(None).cast("string").alias("witness"),
        "known_at",
        F.lit(False).alias("direct"),
    )
    direct = open_then.where("known_to is not null").select(
        *MEMBER, F.explode("known_to").alias("witness", "known_at"), F.lit(True).alias("direct")
    )
    before = first.unionByName(direct).where(F.col("known_at") < literal(since_us))
    return fresh.unionByName(before)


def _known(found: DataFrame, words: DataFrame) -> DataFrame:
    there = (F.col("known_at") >= F.col("since")) & (
        F.col("until").isNull() | (F.col("known_at") < F.col("until"))
    )
    heard = (
        found.select(*MEMBER, "since", "until")
        .join(words, list(MEMBER))
        .where(there)
        .groupBy(*MEMBER, "since", "witness")
        .agg(F.min("known_at").alias("known_at"), F.max("direct").alias("direct"))
    )
    direct = F.collect_list(F.when(F.col("direct"), F.struct("witness", "known_at")))
    return heard.groupBy(*MEMBER, "since").agg(
        F.min("known_at").alias("known_at"),
        F.when(F.size(direct) > 0, F.map_from_entries(F.sort_array(direct))).alias("known_to"),
    )
