"""Who sent what to whom, minute by minute."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures import deliveries as row
from rumormill.pipeline.gold.measures.columns import is_other, number, summed, with_sums
from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.lake.schema import CONTROL, Layout

_KEYS: Final = ("minute", "network", "node", "peer")
SUMS: Final = (
    "first", "came", "expected", "missing", "skipped", "copies", "latency_us", "sent_packets",
    "sent_bytes", "received_packets", "received_bytes", *CONTROL, "exchanged", "dropped",
    "published", "delivered", "duplicates", "rejected", "ignored", "spared", "uncaptured",
)  # fmt: skip


@gold_table(
    columns="minute timestamp, network string, node string, peer string, "
    + ", ".join(f"`{name}` bigint" for name in SUMS),
    sums=SUMS,
    layout=Layout.MINUTE,
)
def links(tables: Tables) -> DataFrame:
    """One row for each node, peer and minute; ``peer`` is null for what is about no peer.

    From deliveries (by the minute of publication, ``peer`` brought the first copy): ``first``,
    ``came`` (the expected ones of them), ``latency_us`` (their sum), ``expected``, ``missing``,
    ``skipped``. All others are counted from the node's own events, in the minute of the event.
    """
    micros = F.round(F.col("latency_ms") * 1000).cast("long")
    fates = {
        "first": number(row.delivered()),
        "came": number(row.came()),
        "expected": number(F.col("expected")),
        "missing": number(row.missing()),
        "skipped": number(row.skipped()),
        "latency_us": number(row.came(), micros),
    }
    # Of what has no first copy, the peer is nobody.
    suppliers = tables["deliveries"].withColumn("peer", F.when(F.col("first"), F.col("peer")))
    told = suppliers.where("first or expected")
    both = with_sums(told, _KEYS, SUMS, fates).unionByName(
        with_sums(tables["counters"], _KEYS, SUMS, _events())
    )
    return summed(both, _KEYS, SUMS)


def _events() -> dict[str, Column]:
    count = F.col("count")
    copy = F.col("event").isin("delivered", "duplicate") & is_other()
    lost = F.coalesce("lost", F.lit(0)) - F.coalesce("uncaptured", F.lit(0))
    return {
        "copies": number(copy, count),
        "sent_packets": number(_is("packet_sent"), count),
        "sent_bytes": number(_is("packet_sent"), F.col("bytes")),
        "received_packets": number(_is("packet_received"), count),
        "received_bytes": number(_is("packet_received"), F.col("bytes")),
        **{name: number(_is("packet_sent"), F.col(name)) for name in CONTROL},
        "exchanged": number(_is("exchange_sent"), F.col("exchanged")),
        "dropped": number(_is("dropped"), lost),
        "uncaptured": number(_is("dropped"), F.col("uncaptured")),
        "published": number(_is("published"), count),
        "delivered": number(_is("delivered"), count),
        "duplicates": number(_is("duplicate"), count),
        "rejected": number(_is("rejected"), count),
        "ignored": number(_is("ignored"), count),
        "spared": number(_is("spared"), count),
    }


def _is(event: str) -> Column:
    return F.col("event") == event
