"""The tables of a trace in which what repeats was summed up are those of the whole trace."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.live.summaries import Summaries
from rumormill.pipeline.tables import gold, silver
from tests.helpers.spark.trace_lines import by_network, held, trace_of_events


def attacked() -> list[TraceEvent]:
    """Honest messages a-b, and what ``mallory`` does to ``a`` for two seconds across a minute."""
    events = [
        TraceEvent(50.0, node, kind, "news", peer=peer)
        for node, other in (("a", "b"), ("b", "a"))
        for kind, peer in (("subscribed", None), ("peer_joined", other), ("peer_subscribed", other))
    ]

    def add(time: float, node: str, kind: str, peer: str | None, **fields: type_of_field) -> None:
        message = b"m%d" % (int(time * 4) % 8)
        with_id = kind in ("published", "delivered", "duplicate")
        topic = "news" if with_id else None
        message_id = message if with_id else None
        events.append(TraceEvent(time, node, kind, topic, message_id, peer, fields))

    for step in range(8):
        time = 59.0 + step / 4
        add(time, "b", "published", None, size=100, peers=1)
        add(time + 0.01, "a", "delivered", "b", size=100)
        for number in range(40):
            later = time + 0.02 + number / 1000
            add(later, "a", "duplicate", "mallory")
            add(later, "a", "rejected", "mallory", reason="graft_in_backoff")
            add(later, "a", "ignored", "mallory", reason="iwant_not_cached", count=500)
            add(later, "a", "packet_received", "mallory", size=1000, iwant=500)
            add(later, "a", "packet_sent", "mallory", size=30, prune=1)
            add(later, "a", "dropped", "mallory", what="packet", reason="queue_full", count=2)
    return events


def test_totals_are_the_same_and_rows_far_fewer(spark: SparkSession) -> None:
    whole = attacked()
    short: list[TraceEvent] = []
    summaries = Summaries(short.append, each=1, each_followed=0)
    for event in whole:
        summaries.see(event)
    summaries.flush()
    assert len(short) < len(whole) / 5
    made = silver(trace_of_events(spark, {"whole": whole, "short": short}), keep=held)
    found = gold(made, keep=held)
    tables = [
        (made.counters, "node peer minute event count bytes lost iwant prune"),
        (made.traffic, "node peer minute received_packets received_bytes dropped rejected ignored"),
        (made.traffic, "node peer minute duplicates sent_packets sent_bytes prune"),
        (made.deliveries, "topic message_id node peer time duplicates"),
        (found["events"], "event count"),
        (found["links"], "node peer first repeated"),
        (found["peers"], "node delivered duplicates rejected_by_others dropped_here"),
        (found["topics"], "topic published delivered duplicates"),
        (found["alerts"], "minute kind node detail"),
    ]
    for table, columns in tables:
        rows = by_network(table, columns)
        assert rows["short"] == rows["whole"], columns
    counts = dict(by_network(found["events"], "event count")["short"])
    assert (counts["ignored"], counts["dropped"], counts["duplicate"]) == (160_000, 640, 320)
