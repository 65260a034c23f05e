"""Who was subscribed to what, from when to when.

A subscription begins with ``subscribed`` and ends with ``unsubscribed``, or with the node. A node
that ends without a word tells nobody, but leaves three signs: ``node_crashed`` (in simulations);
or it subscribes again though it never left; or its peers saw it leave and it did nothing more.
In the last two cases its last own event is taken for its end: what is published after that, a
running node would have noticed.

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

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, minute_of
from rumormill.pipeline.tables.schema import SILVER

GRACE_SECONDS: Final = 1.0
"""How much later than its last own event a node may still be heard of: clocks differ, and the
last words of a node that closes its connections cross. And how long before a silent end nothing is
expected any more."""

_NODE: Final = ("network", "node")
_MEMBER: Final = ("network", "topic", "node")


def subscriptions(
    history: DataFrame, activity: DataFrame, grace_seconds: float = GRACE_SECONDS
) -> DataFrame:
    """One row for each stretch of time in which a node was subscribed to a topic.

    ``history`` and ``activity``: of all time up to now.
    """
    grace = F.expr(f"interval {round(grace_seconds * 1e6)} microseconds")
    told = _told(history)
    ended = told.join(_silent_ends(history, activity, grace), list(_NODE), "left")
    returned = _ends_before_return(told, history, activity, grace)
    found = ended.join(returned, [*_MEMBER, "since"], "left").select(
        *_MEMBER,
        "since",
        F.when(F.col("again"), F.coalesce("left_at", "until"))
        .when(F.col("until").isNotNull(), F.col("until"))
        .when(F.col("silent_from").isNotNull(), F.greatest("since", "silent_from"))
        .alias("until"),
        (F.coalesce("again", F.lit(False)) | F.col("until").isNull()).alias("silent"),
    )
    return in_order(_with_expectation(found, history, grace), SILVER["subscriptions"])


def _with_expectation(found: DataFrame, history: DataFrame, grace: Column) -> DataFrame:
    """When messages must have been published to be expected of the node."""
    words = history.where("event = 'peer_subscribed'").select(
        "network",
        "topic",
        F.col("peer").alias("node"),
        F.col("node").alias("witness"),
        F.col("time").alias("known_at"),
        (F.get_json_object("fields", "$.direct") == "true").alias("direct"),
    )
    there = (F.col("known_at") >= F.col("since")) & (
        F.col("until").isNull() | (F.col("known_at") < F.col("until"))
    )
    known = (
        found.join(words, list(_MEMBER))
        .where(there)
        .groupBy(*_MEMBER, "since", "witness")
        .agg(F.min("known_at").alias("known_at"), F.max("direct").alias("direct"))
        .groupBy(*_MEMBER, "since")
        .agg(F.min("known_at").alias("known_at"), _known_to().alias("known_to"))
    )
    last = F.when(F.col("silent"), F.col("until") - grace).otherwise(F.col("until"))
    return found.join(known, [*_MEMBER, "since"], "left").select(
        *_MEMBER,
        "since",
        "until",
        F.coalesce("known_at", "since").alias("expected_since"),
        last.alias("expected_until"),
        "known_to",
    )


def _known_to() -> Column:
    """Of peers whose word counts for their own messages alone: since when each knows."""
    direct = F.collect_list(F.when(F.col("direct"), F.struct("witness", "known_at")))
    return F.when(F.size(direct) > 0, F.map_from_entries(F.sort_array(direct)))


def _told(history: DataFrame) -> DataFrame:
    """Subscriptions as the nodes themselves (or the simulation) tell; ``again``: see above."""
    own = history.where(F.col("event").isin("subscribed", "unsubscribed")).select(
        *_MEMBER, "time", "event"
    )
    crashes = history.where("event = 'node_crashed'").select(*_NODE, "time", "event")
    topics = own.select(*_MEMBER).distinct()
    every = own.unionByName(crashes.join(topics, list(_NODE)))
    # At one instant, an end comes before a beginning.
    order = Window.partitionBy(*_MEMBER).orderBy("time", (F.col("event") == "subscribed"))
    return (
        every.select(
            *_MEMBER,
            "event",
            F.col("time").alias("since"),
            F.lead("time").over(order).alias("until"),
            (F.lead("event").over(order) == "subscribed").alias("again"),
        )
        .where("event = 'subscribed'")
        .drop("event")
    )


def _silent_ends(history: DataFrame, activity: DataFrame, grace: Column) -> DataFrame:
    """Nodes that did nothing more after all their peers had seen them leave, and since when."""
    last = activity.groupBy(*_NODE).agg(F.max("last_at").alias("silent_from"))
    words = history.where(F.col("event").isin("peer_joined", "peer_left"))
    latest = words.groupBy("network", F.col("node").alias("witness"), F.col("peer").alias("node"))
    opinions = latest.agg(F.max_by("event", "time").alias("word"), F.max("time").alias("said_at"))
    witnesses = last.select(
        "network", F.col("node").alias("witness"), F.col("silent_from").alias("witness_until")
    )
    seen = opinions.join(last, list(_NODE)).join(witnesses, ["network", "witness"])
    gone = (F.col("word") == "peer_left") & (F.col("said_at") >= F.col("silent_from") - grace)
    # Who was active later and never saw it leave says that it is alive.
    there = (F.col("word") == "peer_joined") & (
        F.col("witness_until") > F.col("silent_from") + grace
    )
    return (
        seen.groupBy(*_NODE, "silent_from")
        .agg(F.max(gone).alias("gone"), F.max(there).alias("there"))
        .where("gone and not there")
        .drop("gone", "there")
    )


def _ends_before_return(
    told: DataFrame, history: DataFrame, activity: DataFrame, grace: Column
) -> DataFrame:
    """For subscriptions that end by being begun again: when the node had gone in between.

    That is its last event before the last of its peers saw it leave. If it was back within the same
    minute, that event cannot be told from those after its return, and the peer's word counts.
    """
    again = told.where("again")
    left = history.where("event = 'peer_left'").select(
        "network", F.col("peer").alias("node"), F.col("time").alias("left_at")
    )
    between = F.col("left_at").between(F.col("since"), F.col("until"))
    parted = (
        again.join(left, list(_NODE))
        .where(between)
        .groupBy(*_MEMBER, "since", "until")
        .agg(F.max("left_at").alias("left_at"))
    )
    before = (F.col("first_at") <= F.col("left_at")) & (
        F.col("minute") >= minute_of(F.col("since"))
    )
    ambiguous = F.col("last_at") > F.col("left_at") + grace
    seen = parted.join(activity, list(_NODE)).where(before)
    return (
        seen.groupBy(*_MEMBER, "since", "left_at")
        .agg(
            F.max(F.when(ambiguous, F.col("left_at")).otherwise(F.col("last_at"))).alias(
                "until_seen"
            )
        )
        .select(*_MEMBER, "since", F.col("until_seen").alias("left_at"))
    )
