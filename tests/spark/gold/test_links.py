"""Links, peers and publishers: who sent what to whom, and what became of it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.gold import events, links, peers, publishers
from rumormill.pipeline.gold.links import SUMS
from tests.helpers.spark.hand_made import HandMade, Row, at, rows

M1 = {"topic": "news", "message_id": b"m1", "publisher": "a", "published_at": at(59)}


def counted(node: str, peer: str | None, event: str, count: int = 1, **other: Any) -> Row:
    return {
        "node": node, "peer": peer, "event": event, "count": count, "first_at": at(61), **other
    }  # fmt: skip


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> HandMade:
    deliveries: list[Row] = [
        {**M1, "node": "b", "peer": "a", "first": True, "expected": True, "latency_ms": 10.5},
        {**M1, "node": "c", "peer": "b", "first": True, "expected": True, "latency_ms": 30.0},
        {**M1, "node": "d", "peer": "b", "first": True, "latency_ms": 5000.0},
        {**M1, "node": "e", "peer": "b", "duplicates": 1, "expected": True},
        {**M1, "node": "f", "expected": True, "superseded_at": at(60), "promise": "newest"},
        {**M1, "node": None, "expected": True, "promise": "one", "message_id": b"m2"},
        {"topic": "news", "message_id": b"m3", "node": "b", "peer": "c", "first": True,
         "publisher": "z", "time": at(59)},
    ]  # fmt: skip
    counters = [
        counted("a", None, "published", 2),
        counted("a", None, "delivered", 2),
        counted("a", "a", "delivered", 1),
        counted("a", "b", "duplicate", 3),
        counted("b", "a", "delivered", 4),
        counted("b", "a", "duplicate", 5),
        counted("b", "a", "rejected", 6),
        counted("b", "a", "ignored", 7),
        counted("b", "a", "packet_sent", 8, bytes=800, ihave=2, idontwant=3),
        counted("b", "a", "packet_received", 9, bytes=900, ihave=4),
        counted("b", "a", "dropped", 10, lost=10, uncaptured=4),
        counted("b", "a", "grafted"),
    ]
    publications: list[Row] = [
        {"topic": "news", "message_id": b"m1", "publisher": "a", "time": at(59)},
        {"topic": "news", "message_id": b"m2", "publisher": "a", "time": at(59)},
        {"topic": "other", "message_id": b"m4", "publisher": "q", "time": at(59)},
    ]
    given = {"deliveries": deliveries, "counters": counters, "publications": publications}
    return HandMade(spark, dict(given))


def link(tables: HandMade, node: str | None, peer: str | None, minute: float) -> dict[str, int]:
    made = rows(links(tables), "minute node peer " + " ".join(SUMS))
    (row,) = [row for row in made if row[:3] == (minute, node, peer)]
    return {name: value for name, value in zip(SUMS, row[3:], strict=True) if value}


def test_what_a_peer_brought_first_is_counted_in_the_minute_of_publication(
    tables: HandMade,
) -> None:
    assert link(tables, "b", "a", 0.0) == {
        "first": 1, "came": 1, "expected": 1, "latency_us": 10_500,
    }  # fmt: skip
    assert link(tables, "d", "b", 0.0) == {"first": 1}
    assert link(tables, "b", "c", 0.0) == {"first": 1}


def test_what_did_not_come_is_from_nobody(tables: HandMade) -> None:
    assert link(tables, "e", None, 0.0) == {"expected": 1, "missing": 1}
    assert link(tables, "f", None, 0.0) == {"expected": 1, "skipped": 1}
    assert link(tables, None, None, 0.0) == {"expected": 1, "missing": 1}


def test_events_are_counted_in_their_own_minute(tables: HandMade) -> None:
    assert link(tables, "b", "a", 60.0) == {
        "copies": 9, "delivered": 4, "duplicates": 5, "rejected": 6, "ignored": 7,
        "sent_packets": 8, "sent_bytes": 800, "ihave": 2, "idontwant": 3,
        "received_packets": 9, "received_bytes": 900, "dropped": 6, "uncaptured": 4,
    }  # fmt: skip


def test_own_messages_are_no_copies_from_anybody(tables: HandMade) -> None:
    assert link(tables, "a", None, 60.0) == {"published": 2, "delivered": 2}
    assert link(tables, "a", "a", 60.0) == {"delivered": 1}


def test_each_node_has_what_came_to_it_and_what_it_handed_on(tables: HandMade) -> None:
    columns = (
        "minute node published expected missing skipped delivered duplicates first_sent"
        " repeat_sent rejected_by_others rejected_here ignored_here dropped_here"
    )
    found = {row[:2]: row[2:] for row in rows(peers(tables), columns)}
    assert found[0.0, "b"] == (0, 1, 0, 0, 2, 0, 2, 0, 0, 0, 0, 0)
    assert found[60.0, "b"] == (0, 0, 0, 0, 0, 5, 0, 3, 0, 6, 7, 6)
    assert found[None, "b"] == (0, 1, 0, 0, 2, 5, 2, 3, 0, 6, 7, 6)
    assert found[None, "a"] == (2, 0, 0, 0, 0, 3, 1, 5, 6, 0, 0, 0)
    assert found[None, "f"] == (0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    # A message to any one of them, which came to none, is about no node.
    assert all(node is not None for _, node in found)


def test_shares_and_means_are_of_what_is_known(tables: HandMade) -> None:
    found = {
        row[:2]: row[2:] for row in rows(peers(tables), "minute node latency_mean contribution")
    }
    assert found[0.0, "b"] == (pytest.approx(10.5), pytest.approx(2 / 4))
    assert found[0.0, "d"] == (None, 0.0)  # it was not expected there
    assert found[60.0, "b"] == (None, None)  # nobody handed on anything first


def test_publishers_have_what_was_expected_of_their_messages(tables: HandMade) -> None:
    columns = "minute topic publisher published expected missing"
    assert rows(publishers(tables), columns) == [
        (0.0, "news", "a", 2, 5, 2),
        (0.0, "other", "q", 1, 0, 0),
    ]


def test_events_are_counted_by_kind(tables: HandMade) -> None:
    found = rows(events(tables), "minute network event count")
    assert (60.0, "net", "delivered", 7) in found
    assert (60.0, "net", "grafted", 1) in found
