"""Which minutes new events touch, other than their own."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake import schema
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.run.news import News
from rumormill.pipeline.run.state import OPENED, State
from rumormill.pipeline.silver import runs as running
from rumormill.pipeline.silver.changes import changed
from rumormill.pipeline.silver.columns import (
    MINUTE_US,
    in_minutes,
    literal,
    minute_of,
    minutes_around,
    within,
)
from rumormill.pipeline.silver.mesh import LINK
from rumormill.pipeline.silver.subscriptions import MEMBER
from rumormill.system.times import micros_of


class Affected:
    """Finds them: too many do no harm, too few would leave old figures."""

    def __init__(self, lake: Lake, new: DataFrame, news: News, margin_us: int) -> None:
        self._lake = lake
        self._new = new
        self._news = news
        self._minutes = news.minutes
        self._margin_us = margin_us

    def publications(self, state: State) -> list[int]:
        """Minutes of publications whose deliveries may be others now."""
        return sorted(
            {
                *self._minutes,
                *self._touched(state),
                *self._expected_otherwise(state),
                *self._promised_otherwise(state),
            }
        )

    def _touched(self, state: State) -> set[int]:
        """Those of messages that new events are about; of newest values, all that are near."""
        span = minutes_around(self._minutes, 2 * self._margin_us, 2 * self._margin_us)
        around = within("minute", span) & ~in_minutes(self._minutes)
        published = self._lake.read(schema.PUBLICATIONS).where(around)
        strange = self._lake.read(schema.DELIVERIES).where(around & F.col("published_at").isNull())
        old = published.select("network", "message_id", "time", "minute").unionByName(
            strange.select("network", "message_id", "time", "minute")
        )
        about = self._new.where("message_id is not null").where(
            F.col("class").isin(schema.COPIES, schema.ASKED) | (F.col("event") == "published")
        )
        near = F.abs(F.unix_micros("time") - F.unix_micros("at")) <= 2 * self._margin_us
        fresh = about.select("network", "message_id", F.col("time").alias("at"))
        touched = fresh.join(F.broadcast(old), ["network", "message_id"]).where(near)
        found = touched.select("minute")
        if state.some_newest:
            newest = [name for name, promise in state.promised.items() if promise == running.NEWEST]
            found = found.union(published.where(F.col("network").isin(newest)).select("minute"))
        return _collected(found)

    def _expected_otherwise(self, state: State) -> set[int]:
        """Those of messages that are expected of others than before."""
        if schema.SUBSCRIPTIONS.name in state.unchanged:
            return set()
        differ = changed(
            state.stored[schema.SUBSCRIPTIONS.name],
            state.subscriptions,
            MEMBER,
            "expected_since",
            "expected_until",
            "known_to",
        )
        earliest = differ.agg(F.min("from_at")).first()
        if earliest is None or earliest[0] is None or micros_of(earliest[0]) >= self._minutes[0]:
            return set()
        since = micros_of(earliest[0]) - MINUTE_US
        published = self._lake.read(schema.PUBLICATIONS).where(F.col("minute") >= literal(since))
        inside = F.col("time").between(F.col("from_at"), F.col("to_at"))
        return _collected(
            published.join(F.broadcast(differ), ["network", "topic"]).where(inside).select("minute")
        )

    def _promised_otherwise(self, state: State) -> set[int]:
        """All of a network that promises something else than it was taken to."""
        if not self._news.tell_of(OPENED):
            return set()
        stored = running.promises(state.stored[schema.RUNS.name]).collect()
        before = {row.network: row.network_promise for row in stored}
        other = [
            network
            for network, promise in state.promised.items()
            if before.get(network, running.EVERY) != promise
        ]
        if not other:
            return set()
        published = self._lake.read(schema.PUBLICATIONS).where(F.col("network").isin(other))
        return _collected(published.select("minute"))

    def others(self, state: State) -> set[int]:
        """Minutes whose graphs of meshes are others, though nothing happened in them."""
        differ = None
        for name, keys in ((schema.MESH.name, LINK), (schema.SUBSCRIPTIONS.name, MEMBER)):
            if name not in state.unchanged:
                stored, made = state.stored[name], state.made[name]
                found = changed(stored, made, keys, "since", "until", None)
                differ = found if differ is None else differ.unionByName(found)
        if differ is None:
            return set()
        earliest = differ.agg(F.min("from_at")).first()
        if earliest is None or earliest[0] is None or micros_of(earliest[0]) >= self._minutes[0]:
            return set()
        since = micros_of(earliest[0]) - MINUTE_US
        counted = self._lake.read(schema.COUNTERS).where(F.col("minute") >= literal(since))
        inside = _overlaps(F.col("minute"), F.col("from_at"), F.col("to_at"))
        minutes = counted.select("network", "minute").distinct()
        return _collected(
            minutes.join(F.broadcast(differ), "network").where(inside).select("minute")
        )


def _overlaps(minute: Column, begin: Column, end: Column) -> Column:
    return (minute <= end) & (minute >= minute_of(begin))


def _collected(minutes: DataFrame) -> set[int]:
    rows = minutes.select(F.unix_micros("minute").alias("minute")).distinct().collect()
    return {row.minute for row in rows}
