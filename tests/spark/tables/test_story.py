"""Every table of a network small enough to be worked out by hand (see ``table_story``)."""

from __future__ import annotations

import pytest

from rumormill.pipeline.tables import GOLD, SILVER
from tests.helpers.spark.table_story import Story
from tests.helpers.spark.trace_lines import rows_of


def test_every_table_has_the_columns_of_its_schema(story: Story) -> None:
    for name, schema in SILVER.items():
        assert getattr(story.silver, name).schema.simpleString() == schema.simpleString(), name
    assert story.gold.keys() == GOLD.keys()
    for name, schema in GOLD.items():
        assert story.gold[name].schema.simpleString() == schema.simpleString(), name


# ---- silver


def test_publications(story: Story) -> None:
    columns = "message_id topic publisher time size expected minute"
    assert rows_of(story.silver.publications, columns) == [
        ("m1", "news", "a", 10.0, 100, 3, 0.0),
        ("m2", "news", "b", 20.0, 200, 3, 0.0),
        ("m3", "news", "a", 70.0, 50, 2, 60.0),  # d has left
    ]


def test_deliveries(story: Story) -> None:
    columns = (
        "message_id node peer publisher latency_ms hop first expected recovered duplicates size"
    )
    assert rows_of(story.silver.deliveries, columns) == [
        ("m1", "b", "a", "a", 10.0, 1, True, True, False, 1, 100),
        ("m1", "c", "a", "a", 20.0, 1, True, True, False, 1, 100),
        ("m1", "d", "c", "a", 40.0, 2, True, True, False, 0, 100),
        ("m2", "a", "b", "b", 30.0, 1, True, True, False, 0, 200),
        ("m2", "c", "a", "b", 1100.0, 2, True, True, True, 0, 200),
        ("m3", "b", "a", "a", 5.0, 1, True, True, False, 0, 50),
        ("m3", "c", "b", "a", 15.0, 2, True, True, False, 0, 50),
        ("m3", "d", "c", "a", 30.0, 3, True, False, False, 0, 50),
        ("m9", "c", "d", "z", None, None, True, False, False, 0, 10),
    ]


def test_deliveries_are_in_the_minute_of_the_publication_or_their_own(story: Story) -> None:
    found = rows_of(story.silver.deliveries, "message_id node time published_at minute")
    assert [row for row in found if row[1] == "c"] == [
        ("m1", "c", 10.02, 10.0, 0.0),
        ("m2", "c", 21.1, 20.0, 0.0),
        ("m3", "c", 70.015, 70.0, 60.0),
        ("m9", "c", 80.0, None, 60.0),
    ]


def test_the_same_number_stands_for_a_message_in_both_tables(story: Story) -> None:
    both = story.silver.publications.select("message", "message_id").join(
        story.silver.deliveries.select("message", "message_id"), ["message", "message_id"]
    )
    assert both.count() == 8


def test_mesh(story: Story) -> None:
    assert rows_of(story.silver.mesh, "topic node peer since until by reason") == [
        ("news", "a", "b", 1.0, None, "us", None),
        ("news", "a", "c", 1.0, None, "us", None),
        ("news", "b", "a", 1.0, None, "peer", None),
        ("news", "b", "c", 1.0, None, "us", None),
        ("news", "c", "a", 1.0, None, "peer", None),
        ("news", "c", "b", 1.0, None, "peer", None),
        ("news", "c", "d", 1.0, 65.0, "us", "pruned"),
        ("news", "d", "c", 1.0, 65.0, "peer", "leave"),
    ]


def test_subscriptions(story: Story) -> None:
    assert rows_of(story.silver.subscriptions, "topic node since until") == [
        ("news", "a", 0.0, None),
        ("news", "b", 0.0, None),
        ("news", "c", 0.0, None),
        ("news", "d", 0.0, 65.0),
    ]


def test_traffic_of_packets(story: Story) -> None:
    columns = (
        "node peer minute sent_packets sent_bytes received_packets received_bytes messages ihave"
        " iwant graft prune dropped"
    )
    busy = story.silver.traffic.where("sent_packets + received_packets + dropped > 0")
    assert rows_of(busy, columns) == [
        ("a", "b", 0.0, 1, 1000, 0, 0, 2, 1, 0, 0, 0, 3),
        ("a", "c", 60.0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        ("b", "a", 0.0, 0, 0, 1, 1000, 0, 0, 0, 0, 0, 0),
        ("b", "c", 0.0, 1, 1120, 0, 0, 1, 0, 4, 0, 0, 0),
    ]


def test_traffic_of_messages(story: Story) -> None:
    busy = story.silver.traffic.where(
        "published + delivered + duplicates + rejected + ignored > 0"
        " and minute < '2026-03-01 12:01'"
    )
    assert rows_of(busy, "node peer published delivered duplicates rejected ignored") == [
        ("a", None, 1, 1, 0, 0, 0),
        ("a", "b", 0, 1, 1, 0, 0),
        ("b", None, 1, 1, 0, 0, 0),
        ("b", "a", 0, 1, 0, 0, 0),
        ("b", "c", 0, 0, 1, 0, 0),
        ("b", "d", 0, 0, 0, 1, 0),
        ("c", "a", 0, 2, 0, 0, 0),
        ("c", "b", 0, 0, 1, 0, 0),
        ("c", "d", 0, 0, 0, 0, 1),
        ("d", "c", 0, 1, 0, 0, 0),
    ]


def test_counters(story: Story) -> None:
    found = story.silver.counters.where("node = 'c' and event = 'delivered'")
    columns = "peer minute count bytes first_at last_at"
    assert rows_of(found, columns) == [
        ("a", 0.0, 2, 300, 10.02, 21.1),
        ("b", 60.0, 1, 50, 70.015, 70.015),
        ("d", 60.0, 1, 10, 80.0, 80.0),
    ]


# ---- gold


def test_topics(story: Story) -> None:
    columns = "topic published expected delivered unexpected ratio duplicates recoveries"
    # Unexpected: m3 at d, and m9, of which nobody knows to whom it should have come.
    assert rows_of(story.gold["topics"], columns) == [("news", 3, 8, 9, 2, 7 / 8, 2, 1)]


def test_latency_and_hops_of_topics(story: Story) -> None:
    columns = "latency_p50 latency_p90 latency_p99 latency_max hops_mean hops_max"
    # 5 10 15 20 | 30 40 1100; the 30 of m3 at d, which had left, is nobody's latency
    expected = (20.0, 1100.0, 1100.0, 1100.0, 13 / 8, 3)
    assert rows_of(story.gold["topics"], columns) == [expected]


def test_bytes_and_duplicates_per_delivery(story: Story) -> None:
    # Payload: 5 copies of m1, 2 of m2, 3 of m3, 1 of m9: 500 + 400 + 150 + 10 = 1060.
    # All packets together: 1000 + 1120 = 2 x 1060.
    columns = "bytes_per_delivery duplicates_per_delivery"
    assert rows_of(story.gold["topics"], columns) == [
        (pytest.approx(2120 / 9), pytest.approx(2 / 9))
    ]


def test_topic_minutes(story: Story) -> None:
    columns = "minute published expected delivered unexpected ratio latency_p50 latency_p90"
    assert rows_of(story.gold["topic_minutes"], columns) == [
        (0.0, 2, 6, 5, 0, 5 / 6, 30.0, 1100.0),  # 10 20 30 40 1100
        (60.0, 1, 2, 4, 2, 1.0, 5.0, 15.0),  # 5 | 15; and m3 at d, and m9
    ]


def test_links(story: Story) -> None:
    assert rows_of(story.gold["links"], "node peer first repeated") == [
        ("a", "b", 1, 1),  # m2; m1 came back
        ("b", "a", 2, 0),  # m1, m3
        ("b", "c", 0, 1),  # m1
        ("c", "a", 2, 0),  # m1, m2
        ("c", "b", 1, 1),  # m3; m1
        ("c", "d", 1, 0),  # m9
        ("d", "c", 2, 0),  # m1, m3
    ]


def test_peers(story: Story) -> None:
    columns = (
        "node published delivered duplicates first_sent repeat_sent rejected_by_others"
        " rejected_here ignored_here dropped_here contribution"
    )
    assert rows_of(story.gold["peers"], columns) == [
        ("a", 2, 1, 1, 4, 0, 0, 0, 0, 3, 4 / 9),
        ("b", 1, 2, 1, 2, 2, 0, 1, 0, 0, 2 / 9),
        ("c", 0, 4, 1, 2, 1, 0, 0, 1, 0, 2 / 9),
        ("d", 0, 2, 0, 1, 0, 1, 0, 0, 0, 1 / 9),
    ]
    assert rows_of(story.gold["peers"], "node expected missing") == [
        ("a", 1, 0),  # m2
        ("b", 2, 0),  # m1, m3
        ("c", 3, 0),
        ("d", 2, 1),  # m1, m2
    ]


def test_mesh_minutes(story: Story) -> None:
    columns = (
        "topic minute nodes degree_mean degree_min degree_max components largest grafts prunes"
    )
    assert rows_of(story.gold["mesh_minutes"], columns) == [
        ("news", 0.0, 4, 2.0, 1, 3, 1, 4, 8, 0),  # degrees: a 2, b 2, c 3, d 1
        ("news", 60.0, 3, 2.0, 2, 2, 1, 3, 0, 2),  # d was there for 5 s of 30
    ]


def test_hops(story: Story) -> None:
    assert rows_of(story.gold["hops"], "topic hop deliveries latency_p50") == [
        ("news", 1, 4, 10.0),  # 5 10 | 20 30
        ("news", 2, 3, 40.0),  # 15 40 1100
        ("news", 3, 1, None),  # it was not expected there
    ]


def test_latency_cdf(story: Story) -> None:
    found = rows_of(story.gold["latency_cdf"], "topic latency_ms share")
    # Upper ends of the bins that the latencies are in, two percent wide.
    assert [share for *_, share in found] == [n / 7 for n in (1, 2, 3, 4, 5, 6, 7)]
    latencies = [5, 10, 15, 20, 30, 40, 1100]
    assert all(
        latency <= end <= latency * 1.022
        for latency, (_, end, _) in zip(latencies, found, strict=True)
    )


def test_events(story: Story) -> None:
    found = dict(rows_of(story.gold["events"], "event count"))
    assert found["delivered"] == 12 and found["duplicate"] == 3 and found["asked"] == 1
    assert found["dropped"] == 3  # by one event
    assert sum(found.values()) == story.trace.count() + 2


def test_skew_of_one_clock_is_applied_to_nobody(story: Story) -> None:
    found = rows_of(story.gold["skew"], "node estimated applied")
    assert [(node, applied) for node, _, applied in found] == [(node, False) for node in "abcd"]


def test_problems(story: Story) -> None:
    assert rows_of(story.gold["problems"], "topic kind count") == [
        (None, "clock_unknown", 1),  # nobody has anything from d that d is known to have had
        ("news", "publication_unknown", 1),
    ]


def test_nothing_in_the_story_is_alarming(story: Story) -> None:
    assert rows_of(story.gold["alerts"], "kind detail") == []
