"""How often things happened: by link and minute, also where a trace sums up what repeats."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.live.tracing.summaries import Summaries
from tests.helpers.second_opinion.by_hand import Opinion, listed, trace_of
from tests.helpers.second_opinion.oracle import TRACE, Row
from tests.helpers.spark.trace_lines import BEGIN

LOSSES = """
    1.0   a  subscribed   @news
    2.0   a  dropped      what=message  <b  reason=queue_full  count=3
    3.0   a  dropped      what=captured_event  reason=disk_full  count=40
    4.0   b  dropped      what=captured_message  reason=spool_buffer_full  count=2
    5.0   b  dropped      what=packet  reason=queue_full
"""
PACKETS = """
    33.0  a  packet_sent      <b  size=1000  messages=2  ihave=1
    34.0  a  packet_sent      <b  size=20    idontwant=3
    34.0  b  packet_received  <a  size=1000  messages=2  ihave=1
    59.9  b  packet_sent      <c  iwant=4  graft=1  prune=2
    60.0  b  packet_sent      <c  size=7  iwant=500  count=500
"""
STANDING = [
    TraceEvent(1.0, "a", "scored", peer="b", fields={"score": -5.5, "level": "no_mesh"}),
    TraceEvent(
        2.0, "a", "scored", peer="b", fields={"score": 3, "slow": -1.25, "level": "trusted"}
    ),
    TraceEvent(2.5, "a", "scored", peer="b", fields={"level": "trusted"}),
    TraceEvent(3.0, "a", "scored", fields={"score": 1.0}),
    TraceEvent(4.0, "a", "spared", "news", b"m", "b", {"reason": "not_queued"}),
    TraceEvent(5.0, "a", "spared", "news", None, "b", {"reason": "not_queued", "count": 20}),
    TraceEvent(6.0, "a", "rejected", None, b"m", "b", {"reason": "broken_promise", "count": 2}),
    TraceEvent(7.0, "a", "ignored", peer="b"),
    TraceEvent(8.0, "a", "duplicate", "news", b"m", "b", {"reason": "late"}),
    TraceEvent(9.0, "a", "exchange_sent", "news", peer="b", fields={"peers": 5, "records": 4}),
    TraceEvent(9.5, "a", "exchange_sent", "news", peer="b", fields={"peers": 2, "records": 0}),
    TraceEvent(9.9, "a", "published", "news", b"m", fields={"peers": 8}),
]


def attacked() -> list[TraceEvent]:
    """Honest messages a-b, and what ``mallory`` does to ``a`` for two seconds across a minute."""
    events: list[TraceEvent] = []

    def add(time: float, node: str, kind: str, peer: str | None, **fields: type_of_field) -> None:
        message = b"m%d" % (int(time * 4) % 8)
        with_id = kind in ("published", "delivered", "duplicate")
        topic = "news" if with_id else None
        events.append(
            TraceEvent(time, node, kind, topic, message if with_id else None, peer, fields)
        )

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


def captured(network: str, event: TraceEvent) -> Row:
    fields = dict(event.fields)
    row: dict[str, Any] = {name: fields.pop(name, None) for name in TRACE.names}
    row.update(
        time=BEGIN + timedelta(microseconds=round(event.time * 1e6)),
        network=network,
        node=event.node,
        event=event.event,
        topic=event.topic,
        message_id=event.message_id,
        peer=event.peer,
        fields=json.dumps(fields) if fields else None,
    )
    return row


@pytest.fixture(scope="module")
def tables(opinion: Opinion) -> dict[str, list[Row]]:
    whole = attacked()
    short: list[TraceEvent] = []
    summaries = Summaries(short.append, each=1, each_followed=0)
    for event in whole:
        summaries.see(event)
    summaries.flush()
    assert len(short) < len(whole) / 5
    trace = trace_of(losses=LOSSES, packets=PACKETS)
    trace += [captured("standing", event) for event in STANDING]
    trace += [captured("whole", event) for event in whole]
    trace += [captured("short", event) for event in short]
    return opinion(trace)


def test_losses_of_the_capture_are_told_apart_from_those_of_the_network(
    tables: dict[str, list[Row]],
) -> None:
    dropped = [row for row in tables["counters"] if row["event"] == "dropped"]
    assert listed(dropped, "node peer lost uncaptured")["losses"] == [
        ("a", None, 40, 40),
        ("a", "b", 3, 0),
        ("b", None, 3, 2),
    ]


def test_packets_are_counted_with_what_they_held(tables: dict[str, list[Row]]) -> None:
    columns = "node peer event count bytes messages ihave iwant idontwant graft prune"
    assert listed(tables["counters"], f"minute {columns}")["packets"] == [
        (0.0, "a", "b", "packet_sent", 2, 1020, 2, 1, 0, 3, 0, 0),
        (0.0, "b", "a", "packet_received", 1, 1000, 0, 0, 0, 0, 0, 0),  # counted where it was sent
        (0.0, "b", "c", "packet_sent", 1, None, 0, 0, 4, 0, 1, 2),
        (60.0, "b", "c", "packet_sent", 500, 7, 0, 0, 500, 0, 0, 0),
    ]


def test_peers_that_were_named_in_exchange_are_counted(tables: dict[str, list[Row]]) -> None:
    rows = listed(tables["counters"], "event count exchanged")["standing"]
    assert [row for row in rows if row[2]] == [("exchange_sent", 2, 7)]


def test_reasons_are_counted_where_one_is_named_but_not_of_copies(
    tables: dict[str, list[Row]],
) -> None:
    assert listed(tables["reasons"], "minute node peer topic event reason count")["standing"] == [
        (0.0, "a", "b", None, "rejected", "broken_promise", 2),
        (0.0, "a", "b", "news", "spared", "not_queued", 21),
    ]


def test_each_score_that_was_told_of_a_peer_is_a_row(tables: dict[str, list[Row]]) -> None:
    assert listed(tables["scored"], "minute node peer time score level slow")["standing"] == [
        (0.0, "a", "b", 1.0, -5.5, "no_mesh", None),
        (0.0, "a", "b", 2.0, 3.0, "trusted", -1.25),
    ]


def test_what_was_summed_up_counts_as_what_it_stands_for(tables: dict[str, list[Row]]) -> None:
    for name, columns in (
        ("counters", "minute node peer event count bytes lost iwant prune"),
        ("reasons", "minute node peer event reason count"),
        ("deliveries", "topic message_id node peer time duplicates"),
    ):
        rows = listed(tables[name], columns)
        assert rows["short"] == rows["whole"], name
    counts: dict[str, int] = {}
    for event, count in listed(tables["counters"], "event count")["short"]:
        counts[event] = counts.get(event, 0) + count
    assert (counts["ignored"], counts["dropped"], counts["duplicate"]) == (160_000, 640, 320)
