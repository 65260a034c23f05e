"""Every message at every node that it came to, or should have come to.

Messages and nodes become numbers on the way, by joins with what they really are: equal numbers mean
equal names, whatever names strangers choose (a hash could be made to collide; of xxhash64 even
whatever its seed is). Numbers are of one query and are never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import DELIVERIES
from rumormill.pipeline.silver.columns import (
    as_declared,
    count_of_event,
    in_minutes,
    minute_of,
    settled,
)
from rumormill.pipeline.silver.publications import MESSAGE
from rumormill.pipeline.silver.runs import EVERY, NEWEST, ONE
from rumormill.pipeline.silver.subscriptions import LIMITS, is_expected
from rumormill.pipeline.silver.tree import INPUT, NAMES, OUTPUT, follower

MOST_COPIES = 100_000
"""That one event may stand for: more than a node gets of one message from one peer in a second."""

PARTITIONS = 32
"""That the messages of many minutes are dealt out to, at most."""


@dataclass(frozen=True)
class Sources:
    """What deliveries are made from. All of it covers the minutes and the margin around them."""

    copies: DataFrame
    """Events ``delivered`` and ``duplicate``."""
    asked: DataFrame
    """Events ``asked``."""
    publications: DataFrame
    subscriptions: DataFrame
    names: DataFrame
    """Every node that occurs: network and name."""
    offsets: DataFrame | None
    """By how many microseconds clocks are ahead, where that is to be corrected: network, minute,
    node, ahead_us (see ``clocks.py``)."""
    promises: DataFrame
    """What each network promises."""
    newest: bool
    """Whether there are networks of which only the newest value counts."""


class Deliveries:
    """The deliveries of some minutes of publication."""

    def __init__(self, sources: Sources, minutes: Sequence[int], margin_us: int) -> None:
        self._minutes = list(minutes)
        self._margin_us = margin_us
        self._names = settled(_numbered_names(sources.names))
        self._messages = settled(self._numbered(sources.publications))
        # Others are there to tell whose a copy is; and, of newest values, who had a newer one.
        self._followed = self._messages if sources.newest else self._messages.where("wanted")
        self._sources = sources

    # ---- of publications

    def rows(self) -> DataFrame:
        """Of the messages whose publication is known."""
        cells = self._cells()
        partitions = max(2, min(PARTITIONS, len(self._minutes)))
        columns = [each.split()[0] for each in INPUT.split(", ")]
        followed = (
            cells.select(*columns)
            .repartition(partitions, "minute")
            .mapInArrow(follower(self._margin_us), OUTPUT)  # type: ignore[arg-type]
        )
        return as_declared(self._described(followed), DELIVERIES.columns)

    def _numbered(self, publications: DataFrame) -> DataFrame:
        """Publications with a number, and the range of times in which copies are theirs.

        Of two publications of one message, a copy belongs to the nearer.
        """
        same = Window.partitionBy(*MESSAGE).orderBy("time")
        time = F.unix_micros("time")
        begin = F.floor((F.lag(time).over(same) + time) / 2) + 1
        end = F.floor((F.lead(time).over(same) + time) / 2)
        number = F.row_number().over(Window.orderBy("time", *MESSAGE)).cast("bigint")
        publisher = self._names.withColumnRenamed("name", "publisher").withColumnRenamed(
            "number", "publisher_number"
        )
        return (
            publications.select(
                *MESSAGE,
                "publisher",
                F.col("time").alias("published_at"),
                time.alias("published_us"),
                F.greatest(time - self._margin_us, begin).alias("from_us"),
                F.least(time + self._margin_us, end).alias("to_us"),
                "size",
                "promise",
                F.unix_micros("minute").alias("minute"),
                in_minutes(self._minutes).alias("wanted"),
                number.alias("message"),
            )
            .join(F.broadcast(publisher), ["network", "publisher"], "left")
        )  # fmt: skip

    def _cells(self) -> DataFrame:
        """One row for each message and node: its first copy, the others, whether it is expected."""
        cells = (
            self._copies()
            .unionByName(self._expected())
            .groupBy("cell")
            .agg(
                F.min("stamp").alias("stamp"),
                F.min("seen").alias("seen"),
                F.sum("copies").alias("copies"),
                F.max("expected").alias("expected"),
                F.max("size").alias("size_here"),
            )
        )
        message = F.shiftrightunsigned("cell", 24)
        node = F.col("cell").bitwiseAND(F.lit(NAMES - 1)).cast("int")
        told = self._followed.select(
            "message",
            "minute",
            F.coalesce("publisher_number", F.lit(-1)).alias("publisher"),
            (F.col("promise") == ONE).alias("to_one"),
        )
        return (
            cells.withColumns({"message": message, "node": node})
            .join(F.broadcast(told), "message")
            .where("node != publisher")
        )

    def _copies(self) -> DataFrame:
        messages = self._followed.select(*MESSAGE, "message", "from_us", "to_us", "published_us")
        micros = F.unix_micros("time")
        copies = (
            self._sources.copies
            .select(*MESSAGE, "node", "peer", "event", "count", "size", micros.alias("us"))
            .join(F.broadcast(messages), list(MESSAGE))
            .where(F.col("us").between(F.col("from_us"), F.col("to_us")))
        )  # fmt: skip
        copies = self._with_number(self._with_number(copies, "node"), "peer", "left")
        seen = F.col("us") - F.col("published_us") + self._margin_us
        peer = F.coalesce("peer_number", F.lit(-1)) + 1
        delivered = F.col("event") == "delivered"
        times = F.least(F.greatest(count_of_event(), F.lit(1)), F.lit(MOST_COPIES))
        return copies.select(
            _cell(),
            F.when(delivered, seen * NAMES + peer).alias("stamp"),
            seen.alias("seen"),
            F.when(delivered, F.lit(1)).otherwise(times).cast("bigint").alias("copies"),
            F.lit(False).alias("expected"),
            "size",
        )

    def _expected(self) -> DataFrame:
        """Members of the topics of messages, of whom these are expected."""
        members = self._sources.subscriptions.select("network", "topic", "node", *LIMITS)
        published = self._followed.select(
            "network", "topic", "message", "publisher", "published_at", "minute"
        )
        pairs = published.join(F.broadcast(members), ["network", "topic"])
        published_at = at = F.col("published_at")
        if self._sources.offsets is not None:
            # By the clock of the member, as its subscription is.
            at = F.timestamp_micros(
                F.unix_micros(at) - self._ahead("publisher") + self._ahead("node")
            )
            pairs = self._with_offsets(pairs, "publisher", "node")
        chosen = pairs.where(
            is_expected(published_at, at, F.col("publisher"))
            & (F.col("node") != F.col("publisher"))
        )
        nothing = F.lit(None).cast("bigint")
        return self._with_number(chosen, "node").select(
            _cell(),
            nothing.alias("stamp"),
            nothing.alias("seen"),
            F.lit(0).cast("bigint").alias("copies"),
            F.lit(True).alias("expected"),
            nothing.alias("size"),
        )  # fmt: skip

    def _described(self, followed: DataFrame) -> DataFrame:
        """With names for numbers, and times for what passed since the publication."""
        messages = self._followed.drop("minute", "publisher_number", "from_us", "to_us")
        rows = followed.join(F.broadcast(messages), "message")
        rows = rows.withColumn("minute", F.timestamp_micros("minute"))
        for role in ("node", "peer"):
            named = self._names.select(
                F.col("number").alias(role), F.col("name").alias(f"{role}_name")
            )
            rows = rows.join(F.broadcast(named), role, "left")
        rows = rows.drop("node", "peer").withColumnsRenamed(
            {"node_name": "node", "peer_name": "peer"}
        )
        had_at = F.col("published_us") + F.col("had") - self._margin_us
        rows = self._with_newer(self._with_asked(rows, F.col("first"), had_at))
        ahead: Column = F.lit(0)
        if self._sources.offsets is not None:
            rows = self._with_offsets(rows, "publisher", "node")
            ahead = self._ahead("node") - self._ahead("publisher")
        since = F.lit(self._margin_us) + ahead
        fresh = F.least("had", "newer")
        newest = F.col("promise") == NEWEST
        return rows.where("wanted").withColumns(
            {
                "time": _after(F.coalesce("had", "seen"), self._margin_us),
                "latency_ms": (F.col("had") - since) / 1000,
                "stale_ms": F.when(newest, (fresh - since) / 1000),
                "superseded_at": F.when(
                    F.col("expected") & ~F.col("first"), _after(F.col("newer"), self._margin_us)
                ),
                "size": F.coalesce("size", "size_here"),
            }
        )

    def _with_newer(self, rows: DataFrame) -> DataFrame:
        """When the node had a newer value of the topic, if that is what counts."""
        if not self._sources.newest:
            return rows.withColumn("newer", F.lit(None).cast("bigint"))
        later = (
            Window.partitionBy("network", "topic", F.coalesce("node", F.lit("")))
            .orderBy(F.col("published_us").desc())
            .rangeBetween(Window.unboundedPreceding, -1)
        )
        had_at = F.col("published_us") + F.col("had") - self._margin_us
        newer = F.min(had_at).over(later) - F.col("published_us") + self._margin_us
        near = F.when((F.col("promise") == NEWEST) & (newer <= 2 * self._margin_us), newer)
        return rows.withColumn("newer", near)

    def _with_asked(self, rows: DataFrame, first: Column, had_at: Column) -> DataFrame:
        """Whether the node had asked the very peer that then brought the first copy."""
        question = ["network", "message_id", "node", "peer"]
        asked = self._sources.asked.groupBy(*question).agg(
            F.collect_list(F.unix_micros("time")).alias("asked")
        )
        before = F.exists("asked", lambda at: at.between(had_at - self._margin_us, had_at))
        recovered = first & F.coalesce(before, F.lit(False))
        return rows.join(F.broadcast(asked), question, "left").withColumn("recovered", recovered)

    # ---- without publication

    def strangers(self) -> DataFrame:
        """Copies of messages without publication, by the minutes of the copies themselves."""
        micros = F.unix_micros("time")
        known = self._messages.select(*MESSAGE, "from_us", "to_us")
        mine = (
            F.col("peer").isNotNull()
            & (F.col("peer") != F.col("node"))
            & ~F.col("sender").eqNullSafe(F.col("node"))
        )
        near = (F.col("us") >= F.col("from_us")) & (F.col("us") <= F.col("to_us"))
        copies = self._sources.copies.withColumns(
            {"us": micros, "minute": minute_of(F.col("time"))}
        )
        unknown = (
            copies.where(in_minutes(self._minutes) & mine)
            .where("message_id is not null and topic is not null")
            .alias("copy")
            .join(
                F.broadcast(known).alias("known"),
                [*[F.col(f"copy.{x}").eqNullSafe(F.col(f"known.{x}")) for x in MESSAGE], near],
                "left_anti",
            )
        )  # fmt: skip
        delivered = F.col("event") == "delivered"
        times = F.least(F.greatest(count_of_event(), F.lit(1)), F.lit(MOST_COPIES))
        counted = unknown.groupBy("minute", *MESSAGE, "node").agg(
            F.min(F.when(delivered, F.struct("time", "peer"))).alias("had"),
            F.min("time").alias("seen"),
            F.max("sender").alias("publisher"),
            F.max("size").alias("size"),
            F.sum(F.when(delivered, 1).otherwise(times)).alias("copies"),
        )
        found = counted.join(F.broadcast(self._sources.promises), "network", "left")
        first = F.col("had").isNotNull()
        rows = found.withColumn("peer", F.col("had.peer"))
        rows = self._with_asked(rows, first, F.unix_micros("had.time"))
        nothing = F.lit(None)
        return as_declared(
            rows.select(
                "*",
                F.coalesce("had.time", "seen").alias("time"),
                first.alias("first"),
                (F.col("copies") - first.cast("bigint")).alias("duplicates"),
                F.coalesce("network_promise", F.lit(EVERY)).alias("promise"),
                F.lit(False).alias("expected"),
                *[nothing.alias(name) for name in (
                    "published_at", "latency_ms", "stale_ms", "link_us", "hop", "superseded_at",
                )],
            ),
            DELIVERIES.columns,
        )  # fmt: skip

    # ---- numbers and clocks

    def _with_number(self, rows: DataFrame, role: str, how: str = "inner") -> DataFrame:
        named = self._names.select(
            "network", F.col("name").alias(role), F.col("number").alias(f"{role}_number")
        )
        return rows.join(F.broadcast(named), ["network", role], how)

    def _with_offsets(self, rows: DataFrame, *roles: str) -> DataFrame:
        assert self._sources.offsets is not None
        micros = F.unix_micros if dict(rows.dtypes)["minute"] == "timestamp" else F.col
        rows = rows.withColumn("minute_us", micros("minute"))
        for role in roles:
            ahead = self._sources.offsets.select(
                "network",
                F.unix_micros("minute").alias("minute_us"),
                F.col("node").alias(role),
                F.col("ahead_us").alias(f"{role}_ahead"),
            )
            rows = rows.join(F.broadcast(ahead), ["network", "minute_us", role], "left")
        return rows

    def _ahead(self, role: str) -> Column:
        return F.coalesce(f"{role}_ahead", F.lit(0))


def _numbered_names(names: DataFrame) -> DataFrame:
    """Numbers in the order of names, so that they are the same each time that they are given."""
    distinct = names.select("network", "name").where("name is not null").distinct()
    number = F.row_number().over(Window.orderBy("network", "name")) - 1
    return distinct.withColumn("number", number.cast("int"))


def _cell() -> Column:
    return (F.col("message") * NAMES + F.col("node_number")).alias("cell")


def _after(micros: Column, margin_us: int) -> Column:
    """A time, from what passed since the publication less the margin."""
    return F.timestamp_micros(F.col("published_us") + micros - margin_us)
