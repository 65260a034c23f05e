"""Each time that a node ran, and the last word of its peers about it.

A run begins with ``network_opened`` (of a trace without that event: with the first event of the
node) and goes on to the node's last event before the next one. Both tables are folds: what is
stored, and what new events add to it, give what all events together would.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import RUNS, SIGHTINGS
from rumormill.pipeline.silver.columns import as_declared, minute_of

GRACE: Final = "interval 1 second"
"""How much later than its last own event a node may still be heard of: clocks differ, and the
last words of a node that closes its connections cross."""

NODE: Final = ("network", "node")
PIECE: Final = (*NODE, "at", "last", "opened", "agent", "promise")

EVERY: Final = "every"
NEWEST: Final = "newest"
ONE: Final = "one"
"""What a network promises: every message to each subscriber, the newest value, one delivery."""


def openings(rare: DataFrame) -> DataFrame:
    """The events by which runs begin."""
    promise = (
        F.when(F.get_json_object("fields", "$.every_message") == "false", NEWEST)
        .when(F.get_json_object("fields", "$.all_subscribers") == "false", ONE)
        .otherwise(EVERY)
    )
    return rare.where("event = 'network_opened'").select(
        *NODE,
        F.col("time").alias("at"),
        F.col("time").alias("last"),
        F.lit(True).alias("opened"),
        F.get_json_object("fields", "$.agent").alias("agent"),
        promise.alias("promise"),
    )


def quiet_activity(counters: DataFrame) -> DataFrame:
    """Between which times each node did anything, by minutes in which none opened."""
    whole = counters.groupBy(*NODE, "minute").agg(
        F.min("first_at").alias("at"), F.max("last_at").alias("last")
    )
    return _as_pieces(whole.drop("minute"))


def activity(counters: DataFrame, events: DataFrame, opening_minutes: DataFrame) -> DataFrame:
    """The same, event by event where a node opened.

    ``opening_minutes``: network, node and minute of openings. Within such a minute, events before
    the opening belong to another run than those after it.
    """
    keys = [*NODE, "minute"]
    calm = counters.join(F.broadcast(opening_minutes), keys, "left_anti")
    busy = events.withColumn("minute", minute_of(F.col("time"))).join(
        F.broadcast(opening_minutes), keys, "left_semi"
    )
    each = busy.select(*NODE, F.col("time").alias("at"), F.col("time").alias("last"))
    return quiet_activity(calm).unionByName(_as_pieces(each))


def _as_pieces(times: DataFrame) -> DataFrame:
    nothing = F.lit(None).cast("string")
    return times.select(
        *NODE, "at", "last", F.lit(False).alias("opened"), nothing.alias("agent"),
        nothing.alias("promise"),
    )  # fmt: skip


def stored_pieces(runs: DataFrame) -> DataFrame:
    """Runs as they were stored, to be added to."""
    return runs.select(
        *NODE, F.col("since").alias("at"), F.col("last_at").alias("last"), "opened", "agent",
        "promise",
    )  # fmt: skip


def runs(pieces: DataFrame) -> DataFrame:
    """All runs; each piece belongs to the last opening that is not after it.

    ``later`` is when the next one begins: whether the last of a node is over, its peers tell
    (:func:`with_ends`).
    """
    order = Window.partitionBy(*NODE).orderBy("at", F.col("opened").desc())
    opened_at = F.last(F.when(F.col("opened"), F.col("at")), ignorenulls=True).over(order)
    found = (
        pieces.withColumn("opened_at", opened_at)
        .groupBy(*NODE, "opened_at")
        .agg(
            F.min("at").alias("since"),
            F.max("last").alias("last_at"),
            F.max("opened").alias("opened"),
            F.max("agent").alias("agent"),
            F.max("promise").alias("promise"),
        )
    )
    later = F.lead("since").over(Window.partitionBy(*NODE).orderBy("since"))
    return found.withColumn("later", later)


def with_ends(runs: DataFrame, sightings: DataFrame) -> DataFrame:
    """Runs as they are stored: with whether they are over."""
    gone = _gone(runs.where("later is null"), sightings)
    ended = F.col("later").isNotNull() | F.coalesce("gone", F.lit(False))
    return as_declared(
        runs.join(gone, [*NODE, "since"], "left").withColumn("ended", ended), RUNS.columns
    )


def _gone(last: DataFrame, sightings: DataFrame) -> DataFrame:
    """Of the last runs: whether the node said nothing more, and its peers saw it leave."""
    witnesses = last.select(
        "network", F.col("node").alias("witness"), F.col("last_at").alias("witness_until")
    )
    # Of whom nobody saw leave, nothing has to be asked.
    doubted = sightings.where("not present").select(*NODE).distinct()
    seen = (
        sightings.join(doubted, list(NODE), "left_semi")
        .join(last.select(*NODE, "since", "last_at"), list(NODE))
        .join(witnesses, ["network", "witness"])
    )
    grace = F.expr(GRACE)
    left = ~F.col("present") & (F.col("at") >= F.col("last_at") - grace)
    # Who was active later and never saw it leave says that it is alive.
    there = F.col("present") & (F.col("witness_until") > F.col("last_at") + grace)
    return (
        seen.groupBy(*NODE, "since")
        .agg(F.max(left).alias("left"), F.max(there).alias("there"))
        .select(*NODE, "since", (F.col("left") & ~F.col("there")).alias("gone"))
    )


def sightings(rare: DataFrame, before: DataFrame) -> DataFrame:
    """The last word of each node about each peer, and what that runs."""
    words = rare.where(F.col("event").isin("peer_joined", "peer_left", "peer_identified"))
    identified = F.col("event") == "peer_identified"
    fresh = words.where("peer is not null").select(
        "network",
        F.col("node").alias("witness"),
        F.col("peer").alias("node"),
        F.when(~identified, F.col("event") == "peer_joined").alias("present"),
        F.when(~identified, F.col("time")).alias("at"),
        F.when(identified, F.get_json_object("fields", "$.agent")).alias("agent"),
        F.when(identified, F.col("time")).alias("agent_at"),
    )
    word, agent = F.struct("at", "present"), F.struct("agent_at", "agent")
    found = (
        before.unionByName(fresh)
        .groupBy("network", "witness", "node")
        .agg(
            F.max(F.when(F.col("at").isNotNull(), word)).alias("word"),
            F.max(F.when(F.col("agent_at").isNotNull(), agent)).alias("told"),
        )
        .select(
            "network", "witness", "node", "word.present", "word.at", "told.agent", "told.agent_at"
        )
    )  # fmt: skip
    return as_declared(found, SIGHTINGS.columns)


def promise_of_network() -> Column:
    """Of several words the one that promises least."""
    return F.coalesce(
        F.max(F.when(F.col("promise") == NEWEST, NEWEST)),
        F.max(F.when(F.col("promise") == ONE, ONE)),
        F.lit(EVERY),
    )


def promises(runs: DataFrame) -> DataFrame:
    """What each network promises."""
    return runs.groupBy("network").agg(promise_of_network().alias("network_promise"))


def split_by(runs: DataFrame, opened: DataFrame) -> DataFrame:
    """Stored runs that an opening falls into which came late: since when they are to be remade."""
    new = opened.select(*NODE, F.col("at").alias("opened_at"))
    inside = (F.col("opened_at") > F.col("since")) & (F.col("opened_at") <= F.col("last_at"))
    return runs.join(new, list(NODE)).where(inside).select(*NODE, "since", "last_at").distinct()
