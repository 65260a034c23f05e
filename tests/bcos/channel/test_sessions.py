"""Sessions of SDKs: who may come, what each may hold, and who has to go."""

from __future__ import annotations

import json

import pytest

from rumormill.bcos.channel import toll
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core import trace
from rumormill.core.machine import Subscribe
from tests.helpers.bcos.sdk_side import ISSUER, Sdk, SdkSide, node_id, seq


def listened(side: SdkSide) -> list[str]:
    return list(side.board.topics)


# ---- coming and going


def test_an_sdk_of_another_issuer_is_refused() -> None:
    side = SdkSide()
    stranger = side.sdk(credentials=b"CN=another")
    assert stranger.closed == "issuer_mismatch"
    assert side.reasons(trace.CONNECTION_REFUSED) == ["issuer_mismatch"]
    assert stranger.send(ChannelType.HEARTBEAT, data=b"0") == []


def test_an_sdk_of_another_issuer_may_be_let_in() -> None:
    side = SdkSide(check_issuer=False)
    assert side.sdk(credentials=b"CN=another").send(ChannelType.HEARTBEAT, data=b"0")


def test_an_sdk_without_a_certificate_is_refused() -> None:
    side = SdkSide(check_issuer=False)
    assert side.sdk(credentials=b"").closed == "no_certificate"


def test_no_more_sessions_than_allowed() -> None:
    side = SdkSide(max_sessions=2)
    first, _, third = side.sdk(), side.sdk(), side.sdk()
    assert third.closed == "too_many_sessions"
    first.leave()
    assert side.sdk().closed is None


def test_a_session_without_a_byte_for_60_s_is_dropped() -> None:
    side = SdkSide()
    silent, lively = side.sdk("news"), side.sdk("news")
    side.passes(40)
    lively.send(ChannelType.HEARTBEAT)
    side.passes(20)
    assert silent.closed == "idle"
    assert lively.closed is None
    side.passes(39.9)
    assert lively.closed is None
    side.passes(0.1)
    assert lively.closed == "idle"
    assert listened(side) == []


def test_topics_go_with_the_session_and_the_seq_moves() -> None:
    side = SdkSide()
    sdk = side.sdk("a", "b")
    assert (listened(side), side.board.seq) == (["a", "b"], 1)
    sdk.leave()
    assert (listened(side), side.board.seq) == ([], 2)


def test_shutdown_ends_all_sessions() -> None:
    side = SdkSide()
    sdks = [side.sdk("a"), side.sdk()]
    side.server.shutdown()
    side.settle()
    assert [sdk.closed for sdk in sdks] == ["shutdown", "shutdown"]
    assert side.server.sizes() == dict.fromkeys(side.server.sizes(), 0)


# ---- what is subscribed


def test_a_subscription_replaces_the_one_before() -> None:
    side = SdkSide()
    sdk = side.sdk("a", "b")
    sdk.subscribe("b", "c")
    assert listened(side) == ["b", "c"]
    assert side.board.seq == 2
    subscribed = [(event.topic, event.peer) for event in side.traced(trace.PEER_SUBSCRIBED)]
    assert subscribed == [("a", sdk.peer), ("b", sdk.peer), ("c", sdk.peer)]
    assert [event.topic for event in side.traced(trace.PEER_UNSUBSCRIBED)] == ["a"]


def test_topics_that_cannot_travel_are_left_out_and_counted() -> None:
    side = SdkSide()
    named = ["good", "", "a\tb", "x" * 255, 7, None, "x" * 254]
    side.sdk().send(ChannelType.SUBSCRIBE, data=json.dumps(named).encode())
    assert listened(side) == ["good", "x" * 254]
    [dropped] = side.traced(trace.DROPPED)
    assert dropped.fields == {"what": "topic", "reason": "bad_topic", "count": 5}


def test_who_wants_too_many_topics_is_dropped() -> None:
    side = SdkSide(max_session_topics=2)
    assert side.sdk("a", "b").closed is None
    assert side.sdk("a", "b", "c").closed == "too_many_topics"


# ---- packets in pieces


def test_packets_may_come_in_any_pieces() -> None:
    side = SdkSide()
    sdk = side.sdk()
    packets = [ChannelPacket(ChannelType.HEARTBEAT, seq(n), 0, b"0") for n in range(3)]
    for byte in b"".join(map(encode_channel, packets)):
        sdk.write(bytes((byte,)))
    assert [packet.seq for packet in sdk.take()] == [seq(0), seq(1), seq(2)]
    sdk.write(b"".join(map(encode_channel, packets)))
    assert len(sdk.take()) == 3


def test_of_unfinished_packets_the_largest_goes_when_there_is_too_much() -> None:
    side = SdkSide(max_unfinished_bytes=10_000)
    header = (50_000).to_bytes(4, "big")
    sdks = [side.sdk() for _ in range(4)]
    for sdk, size in zip(sdks, (2_000, 4_000, 3_000, 2_000), strict=True):
        sdk.write(header + bytes(size))
    assert [sdk.closed for sdk in sdks] == [None, "too_much_unfinished", None, None]
    assert side.sizes()["unfinished_bytes"] == 7_012
    sdks[0].leave()
    assert side.sizes()["unfinished_bytes"] == 5_008


# ---- work for nothing


def many(kind: int, data: bytes, count: int) -> bytes:
    return b"".join(encode_channel(ChannelPacket(kind, seq(n), 0, data)) for n in range(count))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (0x99, b""),
        (ChannelType.SUBSCRIBE, b"{"),
        (ChannelType.TOPIC_STATUS, b"{"),
        (ChannelType.RPC, b"{"),
        (ChannelType.REQUEST, b"\x00"),
    ],
)
def test_who_sends_nothing_but_junk_rests_and_is_dropped_in_the_end(kind: int, data: bytes) -> None:
    side = SdkSide()
    sdk, other = side.sdk(), side.sdk()
    junk = many(kind, data, 2_500)
    sdk.write(junk)
    assert side.rests(sdk)
    for _ in range(100):
        side.passes(1.0)
        if sdk.closed is None:
            sdk.write(junk)
    assert sdk.closed == "too_much_work"
    assert "too_much_work" in side.reasons(trace.PROTOCOL_ERROR)
    assert other.closed == "idle"


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (ChannelType.HEARTBEAT, b"0"),
        (ChannelType.RPC, b'{"method":"getGroupList"}'),
        (ChannelType.REQUEST, encode_body("nowhere", b"")),
        (ChannelType.MULTICAST, encode_body("nowhere", b"")),
    ],
)
def test_who_only_asks_too_much_rests_and_is_never_dropped(kind: int, data: bytes) -> None:
    side = SdkSide()
    sdk = side.sdk()
    for _ in range(12):
        sdk.write(many(kind, data, 5_000))
        side.passes(1.0)
    assert side.rests(sdk)
    assert sdk.closed is None


def test_who_leaves_in_debt_and_comes_again_has_nothing_at_once() -> None:
    side = SdkSide(check_issuer=False)
    junk = many(0x99, b"", 1_900)
    sdk = side.sdk()
    sdk.write(junk)
    assert side.rests(sdk) == []
    sdk.leave()
    other = side.sdk(credentials=b"CN=another")
    other.write(junk)
    assert side.rests(other) == []
    again = side.sdk()
    again.write(many(0x99, b"", 200))
    assert side.rests(again)
    assert again.closed is None


def test_debts_are_forgotten_with_time_and_their_number_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toll, "MOST_DEBTORS", 3)
    side = SdkSide(check_issuer=False)
    junk = many(0x99, b"", 1_900)
    for number in range(5):
        sdk = side.sdk(credentials=b"%d" % number)
        sdk.write(junk)
        sdk.leave()
    assert side.sizes()["debtors"] == 3
    side.passes(10)
    sdk = side.sdk(credentials=b"4")
    sdk.write(junk)
    assert side.rests(sdk) == []


def test_after_a_rest_nothing_comes_first() -> None:
    side = SdkSide()
    sdk = side.sdk()
    sdk.write(b"")
    assert sdk.send(ChannelType.HEARTBEAT, data=b"0")


def test_the_answer_to_a_multicast_is_dropped_and_costs_nothing() -> None:
    """Go SDKs send one."""
    side = SdkSide()
    publisher, subscriber = side.sdk(), side.sdk("news")
    for number in range(4_000):
        publisher.multicast("news", b"", seq(number))
    for packet in subscriber.take():
        subscriber.answer(packet)
    assert side.rests(subscriber) == []
    assert [packet.result for packet in publisher.take()] == []
    dropped = side.traced(trace.DROPPED)
    assert len(dropped) == 4_000
    assert dropped[0].fields == {"what": "answer", "reason": "nobody_waits", "count": 1}


def test_answers_that_nobody_can_expect_cost_something() -> None:
    side = SdkSide()
    sdk = side.sdk()
    sdk.write(many(ChannelType.RESPONSE, b"\x02x", 5_000))
    assert side.rests(sdk)


# ---- slow ones


def test_a_subscriber_that_is_too_slow_loses_multicasts_and_is_not_chosen_for_unicasts() -> None:
    side = SdkSide(session_queue_bytes=1024)
    publisher, slow = side.sdk(), side.sdk("news")
    slow.full(True)
    for number in range(20):
        publisher.multicast("news", bytes(100), seq(number))
    lost = [event for event in side.traced(trace.DROPPED) if event.peer == slow.peer]
    waiting = 20 - len(lost)
    assert 0 < waiting < 20
    assert {event.fields["reason"] for event in lost} == {"queue_full"}
    assert side.sizes()["queued_bytes"] <= 1024

    quick = side.sdk("news")
    for number in range(20, 40):
        publisher.unicast("news", bytes(1000), seq(number))
    assert len(quick.take()) == 20

    slow.full(False)
    assert len(slow.take()) == waiting


def test_what_waits_for_all_sdks_has_a_bound_and_those_who_keep_up_do_not_feel_it() -> None:
    side = SdkSide(max_queued_bytes=2048)
    publisher, quick = side.sdk(), side.sdk("news")
    slow = [side.sdk("news") for _ in range(10)]
    for sdk in slow:
        sdk.full(True)
    for number in range(10):
        publisher.multicast("news", bytes(200), seq(number))
    assert len(quick.take()) == 10
    assert 2048 <= side.sizes()["queued_bytes"] <= 2048 + 300
    publisher.unicast("news", b"", seq(10))
    assert len(quick.take()) == 1
    for sdk in slow[:5]:
        sdk.leave()
    for sdk in slow[5:]:
        sdk.full(False)
    assert side.sizes()["queued_bytes"] == 0


def test_who_takes_nothing_for_60_s_is_dropped() -> None:
    side = SdkSide()
    sdk = side.sdk()
    side.passes(10)
    sdk.full(True)
    for _ in range(3):
        side.passes(15)
        sdk.send(ChannelType.HEARTBEAT, data=b"0")
    assert sdk.closed is None
    side.passes(15)
    assert sdk.closed == "too_slow"
    assert side.sizes()["queued_bytes"] == 0


def test_who_takes_something_again_stays() -> None:
    side = SdkSide()
    sdk = side.sdk()
    sdk.full(True)
    for full in (True, True, False, False, False):
        side.passes(15)
        sdk.full(full)
        sdk.send(ChannelType.HEARTBEAT)
    assert sdk.closed is None


def test_an_answer_without_room_is_counted() -> None:
    side = SdkSide(session_queue_bytes=1024)
    sdk = side.sdk()
    sdk.full(True)
    sdk.multicast("a", bytes(2000), seq(1))
    sdk.multicast("a", bytes(2000), seq(2))
    [dropped] = side.traced(trace.DROPPED)
    assert dropped.fields == {"what": "response", "reason": "queue_full", "count": 1}


# ---- requests in flight


def sends(sdk: Sdk, count: int) -> list[int]:
    """The results of unicasts that are answered at once."""
    results = []
    for number in range(count):
        results += [packet.result for packet in sdk.unicast("news", bytes(100), seq(number))]
    return results


def test_more_requests_than_an_sdk_may_have_in_flight_are_refused_with_103() -> None:
    side = SdkSide(max_session_requests=3)
    side.node_has(node_id("c"), "news")
    sdk, other = side.sdk(), side.sdk()
    assert sends(sdk, 5) == [103, 103]
    assert sends(other, 1) == []
    side.fails(side.nodes.asked[0])
    assert [packet.result for packet in sdk.take()] == [100]
    assert sends(sdk, 1) == []
    assert side.reasons(trace.DROPPED).count("too_many_requests") == 2


def test_bytes_in_flight_are_bounded_for_each_and_for_all() -> None:
    side = SdkSide(max_session_request_bytes=1024, max_request_bytes=1500)
    side.node_has(node_id("c"), "news")
    first, second = side.sdk(), side.sdk()
    size = len(encode_channel(ChannelPacket(0x30, seq(1), 0, encode_body("news", bytes(100)))))
    assert sends(first, 20).count(103) == 20 - 1024 // size
    assert sends(second, 20).count(103) == 20 - (1500 - 1024 // size * size) // size
    assert side.sizes()["bytes_in_flight"] <= 1500
    for asked in side.nodes.asked:
        side.fails(asked)
    assert side.sizes()["bytes_in_flight"] == side.sizes()["requests_in_flight"] == 0


def test_an_sdk_is_called_in_the_trace_as_its_certificate_calls_it() -> None:
    side = SdkSide()
    credentials = f"{ISSUER}/weather station".encode()
    first, second = side.sdk("a", credentials=credentials), side.sdk("b", credentials=credentials)
    assert {event.peer for event in side.traced(trace.PEER_SUBSCRIBED)} == {"weather station"}
    first.leave()  # of two with one certificate each has its own topics
    assert listened(side) == ["b"]
    second.leave()
    assert listened(side) == []


def test_the_application_is_no_peer() -> None:
    side = SdkSide(accept=False)
    side.feed(Subscribe("news"))
    side.sdk().unicast("news", b"is it?", seq(1))
    side.passes(60.0)  # it has not answered
    [dropped] = [event for event in side.traced(trace.DROPPED) if event.topic == "news"]
    assert (dropped.peer, dropped.fields["reason"]) == (None, "timed_out")
