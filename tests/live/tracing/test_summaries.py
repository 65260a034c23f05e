"""What repeats in a trace is summed up, and nothing else is touched."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.trace import TraceEvent, count_of
from rumormill.live.tracing.summaries import (
    EACH,
    FOLLOWED_FACTOR,
    MOST_OF_PEERS,
    MOST_SUMS,
    MOST_TALLIES,
    Summaries,
)


def event(
    kind: str, time: float = 100.0, peer: str | None = "mallory", **fields: Any
) -> TraceEvent:
    topic, message_id = fields.pop("topic", None), fields.pop("message_id", None)
    return TraceEvent(time, "us", kind, topic, message_id, peer, fields)


def shown_of(*events: TraceEvent, **settings: Any) -> list[TraceEvent]:
    shown: list[TraceEvent] = []
    summaries = Summaries(shown.append, **settings)
    for each in events:
        summaries.see(each)
    summaries.flush()
    return shown


def totals(events: list[TraceEvent]) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for each in events:
        found[each.event, each.peer, each.fields.get("reason")] += count_of(each)
        size = each.fields.get("size", 0)
        assert isinstance(size, int)
        found[each.event, "size"] += size
    return found


def test_the_first_of_a_second_pass_and_the_rest_is_one_event_with_their_number() -> None:
    events = [
        event("rejected", 100 + n / 1000, reason="forged", topic="weather") for n in range(500)
    ]
    *passed, summary = shown_of(*events)
    assert passed == events[:EACH]
    assert summary == event(
        "rejected", events[-1].time, reason="forged", topic="weather",
        count=500 - EACH, since=events[EACH].time,
    )  # fmt: skip


def test_each_second_has_its_own_first_ones() -> None:
    events = [
        event("rejected", second, reason="forged") for second in (100, 101) for _ in range(20)
    ]
    counts = [count_of(each) for each in shown_of(*events)]
    assert counts == ([1] * EACH + [20 - EACH]) * 2


def test_what_is_a_little_late_begins_no_new_second() -> None:
    times = [101.0, 100.9999] * 20
    counts = [count_of(each) for each in shown_of(*[event("ignored", time) for time in times])]
    assert counts == [1] * EACH + [40 - EACH]


def test_numbers_are_added_up_and_a_count_stays_a_count() -> None:
    events = [event("ignored", reason="iwant_not_cached", count=5000) for _ in range(EACH + 2)]
    assert shown_of(*events)[-1].fields["count"] == 10_000
    packets = [event("packet_received", size=100, ihave=2, messages=1) for _ in range(EACH + 3)]
    summary = shown_of(*packets)[-1].fields
    assert (summary["size"], summary["ihave"], summary["messages"]) == (300, 6, 3)
    rests = [event("held_back", reason="control", seconds=0.5) for _ in range(EACH + 4)]
    assert shown_of(*rests)[-1].fields["seconds"] == 2.0


def test_peers_reasons_and_topics_are_told_apart() -> None:
    events = [
        event("rejected", peer=peer, reason=reason, topic=topic)
        for _ in range(50)
        for peer in ("mallory", "eve")
        for reason in ("forged", "unfit")
        for topic in ("weather", "news")
    ]
    sums = [each for each in shown_of(*events) if count_of(each) > 1]
    assert len(sums) == 8
    assert {(each.peer, each.fields["reason"], each.topic) for each in sums} == {
        (each.peer, each.fields["reason"], each.topic) for each in events
    }


@pytest.mark.parametrize(
    "kind",
    [
        trace.DELIVERED, trace.PUBLISHED, trace.PEER_JOINED, trace.PEER_LEFT, trace.SUBSCRIBED,
        trace.UNSUBSCRIBED, trace.PEER_SUBSCRIBED, trace.PEER_UNSUBSCRIBED, trace.GRAFTED,
        trace.PRUNED, trace.CONNECTION_OPENED, trace.CONNECTION_CLOSED, "of_a_family",
    ],
)  # fmt: skip
def test_events_that_others_reckon_with_one_by_one_pass_as_they_are(kind: str) -> None:
    events = [event(kind) for _ in range(1000)]
    assert shown_of(*events) == events


def test_a_family_can_have_kinds_of_its_own_summed_up() -> None:
    assert len(shown_of(*[event("stream_refused")] * 1000, more=["stream_refused"])) == EACH + 1


def test_copies_of_messages_pass_as_long_as_there_are_messages_for_them() -> None:
    """In a mesh each peer sends each message: they are followed by their ids."""
    events = []
    for number in range(2000):
        events.append(event("delivered", peer="alice", message_id=b"%d" % number))
        events += [event("duplicate", peer=peer, message_id=b"%d" % number) for peer in "bcd"]
    assert shown_of(*events) == events


def test_copies_beyond_that_are_summed_up_by_their_message() -> None:
    most = FOLLOWED_FACTOR * EACH
    events = [event("duplicate", topic="weather", message_id=b"again")] * (most + 5000)
    *passed, summary = shown_of(*events)
    assert len(passed) == most
    assert (summary.message_id, summary.topic, count_of(summary)) == (b"again", "weather", 5000)


def test_no_more_sums_than_allowed_come_of_topics_that_a_peer_chooses() -> None:
    events = [event("ignored", reason="topic_not_allowed", topic=f"{n}") for n in range(1000)]
    shown = shown_of(*events)
    assert len(shown) == EACH + MOST_SUMS + 1
    assert (shown[-1].topic, shown[-1].peer) == (None, "mallory")
    assert sum(map(count_of, shown)) == 1000


def test_strangers_fill_the_table_and_the_rest_of_them_is_one_sum_of_its_kind() -> None:
    strangers = [event("dropped", peer=None, address=f"{n}", reason="rate") for n in range(5000)]
    shown: list[TraceEvent] = []
    summaries = Summaries(shown.append)
    for each in strangers:
        summaries.see(each)
    assert len(summaries) == MOST_TALLIES + 1
    summaries.flush()
    assert len(shown) == MOST_TALLIES + EACH + 1
    assert shown[-1].peer is None and "address" not in shown[-1].fields
    assert (shown[-1].fields["reason"], shown[-1].fields["others"]) == ("rate", True)
    assert sum(map(count_of, shown)) == 5000


def test_strangers_do_not_crowd_out_peers_that_have_joined() -> None:
    strangers = [event("dropped", peer=f"stranger {n}", reason="rate") for n in range(5000)]
    honest = [event("dropped", peer="alice", reason="queue_full") for _ in range(20)]
    shown = shown_of(*strangers, *honest, peers=lambda: ["alice"])
    of_alice = [each for each in shown if each.peer == "alice"]
    assert [count_of(each) for each in of_alice] == [1] * EACH + [20 - EACH]


def test_the_table_is_bounded_even_if_all_have_joined() -> None:
    peers = [f"{n}" for n in range(MOST_OF_PEERS + 1000)]
    summaries = Summaries(lambda _: None, peers=lambda: peers)
    for peer in peers:
        summaries.see(event("rejected", peer=peer))
    assert len(summaries) == MOST_OF_PEERS + 1


@given(
    st.lists(
        st.builds(
            event,
            st.sampled_from(["rejected", "ignored", "duplicate", "packet_received", "delivered"]),
            st.floats(100, 103),
            st.sampled_from(["mallory", "eve", None]),
            reason=st.sampled_from(["forged", "unfit", None]),
            topic=st.sampled_from(["weather", "news", None]),
            size=st.integers(0, 100),
            count=st.integers(1, 3),
        ),
        max_size=200,
    ),
    st.integers(0, 3),
)
def test_totals_are_what_they_were(events: list[TraceEvent], each: int) -> None:
    assert totals(shown_of(*events, each=each)) == totals(events)


def test_equal_events_give_equal_summaries() -> None:
    events = [
        event("rejected", 100 + n / 10, peer="abc"[n % 3], topic=f"{n % 7}") for n in range(99)
    ]
    assert shown_of(*events) == shown_of(*events)
