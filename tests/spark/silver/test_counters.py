"""How often things happened: by link and minute, also where a trace sums up what repeats."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.live.summaries import Summaries
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


def test_what_was_summed_up_counts_as_what_it_stands_for(tables: dict[str, list[Row]]) -> None:
    for name, columns in (
        ("counters", "minute node peer event count bytes lost iwant prune"),
        ("deliveries", "topic message_id node peer time duplicates"),
    ):
        rows = listed(tables[name], columns)
        assert rows["short"] == rows["whole"], name
    counts: dict[str, int] = {}
    for event, count in listed(tables["counters"], "event count")["short"]:
        counts[event] = counts.get(event, 0) + count
    assert (counts["ignored"], counts["dropped"], counts["duplicate"]) == (160_000, 640, 320)
