"""A copy of a message that was accepted is known by its bytes, and treated as any duplicate."""

from __future__ import annotations

import pytest

from rumormill.core import trace
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.effects import Blacklist, FilterPeers
from rumormill.libp2p.pubsub.inbound import intake
from rumormill.libp2p.pubsub.inbound.recent import MOST_MESSAGES, TAIL, RecentMessages
from rumormill.libp2p.wire.message import WireMessage, build_message, decode_message
from tests.helpers.libp2p.workbench import Workbench, floodsub, origin_id, signed

RAIN = signed("author", "t", b"rain", 1)


def listening(*peers: str, **parameters: object) -> Workbench:
    bench = floodsub(**parameters)
    bench.subscribe("t")
    for peer in peers:
        bench.join(peer, "t")
    bench.forget()
    return bench


def message(number: int, size: int = 100) -> WireMessage:
    return WireMessage(b"%08d" % number + bytes(size - 16) + b"%08d" % number)


def test_a_message_is_found_by_all_of_its_bytes() -> None:
    recent = RecentMessages()
    known = message(1)
    recent.add(known)
    assert recent.find(known.raw) is known
    assert recent.find(b"x" + known.raw[1:]) is None
    assert recent.find(known.raw[-TAIL:]) is None


def test_the_oldest_make_room_and_memory_is_bounded() -> None:
    recent = RecentMessages(most_bytes=1000)
    messages = [message(number) for number in range(25)]
    for each in messages:
        recent.add(each)
    assert len(recent) == 10
    assert [each for each in messages if recent.find(each.raw)] == messages[-10:]
    recent.add(message(99, size=2000))
    assert len(recent) == 0


def test_many_small_ones_are_bounded_by_their_number() -> None:
    recent = RecentMessages()
    for number in range(MOST_MESSAGES + 10):
        recent.add(message(number))
    assert len(recent) == len(recent._by_tail) == MOST_MESSAGES


def test_of_two_with_the_same_end_the_newer_is_found_and_survives_the_older() -> None:
    recent = RecentMessages(most_bytes=250)
    older, newer = WireMessage(b"a" * 50 + bytes(50)), WireMessage(b"b" * 50 + bytes(50))
    recent.add(older)
    recent.add(newer)
    assert (recent.find(older.raw), recent.find(newer.raw)) == (None, newer)
    recent.add(message(1))
    assert recent.find(newer.raw) is newer


def test_a_copy_is_a_duplicate_without_being_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", RAIN)
    read: list[bytes] = []
    monkeypatch.setattr(intake, "decode_message", lambda raw, most: read.append(raw))
    bench.send_message("bob", RAIN)
    (event,) = bench.events(trace.DUPLICATE)
    assert (event.topic, event.message_id, event.peer) == ("t", origin_id(RAIN), "bob")
    assert read == []


def test_other_bytes_with_the_same_end_are_judged_by_themselves() -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", RAIN)
    unsigned = build_message(
        data=b"lie", topics=("t",), sender_id=RAIN.sender_id, sequence=RAIN.sequence
    )
    altered = decode_message(unsigned.raw + bytes_field(5, RAIN.signature or b""))
    assert altered.raw[-TAIL:] == RAIN.raw[-TAIL:]
    bench.send_message("bob", altered)
    assert len(bench.delivered()) == 1


def test_a_copy_on_a_topic_that_we_left_is_not_wanted() -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", RAIN)
    bench.unsubscribe("t")
    bench.send_message("bob", RAIN)
    assert [each.fields["reason"] for each in bench.events(trace.IGNORED)] == ["not_subscribed"]


def test_a_copy_by_an_author_who_is_blacklisted_by_now_is_ignored_as_such() -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", RAIN)
    (delivered,) = bench.delivered()
    assert delivered.sender is not None
    bench.feed(Blacklist(delivered.sender, True))
    bench.send_message("bob", RAIN)
    assert [each.fields["reason"] for each in bench.events(trace.IGNORED)] == ["blacklisted_author"]


def test_a_copy_of_a_peer_that_may_not_take_part_by_now_is_ignored_as_such() -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", RAIN)
    bench.feed(FilterPeers(lambda peer, topic: peer != "bob"))
    bench.send_message("bob", RAIN)
    assert [each.fields["reason"] for each in bench.events(trace.IGNORED)] == ["peer_not_allowed"]
    assert not bench.events(trace.DUPLICATE)


def test_a_message_that_is_no_longer_known_as_seen_is_checked_again() -> None:
    bench = listening("ann", "bob", seen_ttl=10.0)
    bench.send_message("ann", RAIN)
    bench.run_until(20.0)
    bench.send_message("bob", RAIN)
    assert len(bench.delivered()) == 2
