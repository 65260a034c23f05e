"""The application in the process of a node: publishes and subscribes without an SDK."""

from __future__ import annotations

import pytest

from rumormill.bcos.amop import application
from rumormill.bcos.amop.ports import Kind
from rumormill.bcos.effects import (
    Forget,
    Multicast,
    Request,
    Respond,
    SetResponder,
    Unicast,
    UnicastEnded,
)
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Deliver,
    Hold,
    Published,
    Subscribe,
    Unsubscribe,
    Verdict,
)
from tests.helpers.bcos.sdk_side import OUR_ID, SdkSide, node_id, seq
from tests.helpers.core.steps import Work, work_of

B, C, D = node_id("b"), node_id("c"), node_id("d")


def request(number: int, data: bytes = b"hello") -> ChannelPacket:
    return ChannelPacket(ChannelType.REQUEST, seq(number), 0, encode_body("news", data))


def multicast(number: int, data: bytes = b"hello") -> ChannelPacket:
    return request(number, data)._replace(type=ChannelType.MULTICAST)


def ended(side: SdkSide) -> list[UnicastEnded]:
    return side.of(UnicastEnded)


# ---- as a subscriber


def test_it_listens_on_the_board_like_any_sdk() -> None:
    side = SdkSide()
    side.feed(Subscribe("news"), Subscribe("news"), Subscribe("weather"))
    assert (list(side.board.topics), side.board.seq) == (["news", "weather"], 2)
    side.feed(Unsubscribe("news"), Unsubscribe("news"))
    assert (list(side.board.topics), side.board.seq) == (["weather"], 3)
    assert [event.topic for event in side.traced(trace.SUBSCRIBED)] == ["news", "weather"]
    assert [event.topic for event in side.traced(trace.UNSUBSCRIBED)] == ["news"]


def test_the_next_topic_costs_no_more_after_many_than_after_few() -> None:
    side = SdkSide()

    def next_topic(name: str) -> Work:
        return work_of(lambda: side.application.handle(Subscribe(name)))

    few = next_topic("first")
    side.feed(*(Subscribe(f"topic-{number}") for number in range(2_000)))
    many = next_topic("last")
    assert many.steps <= few.steps + 20
    assert many.bytes <= few.bytes + 1_000
    assert side.traced(trace.PEER_SUBSCRIBED) == []


def test_a_multicast_is_checked_and_delivered() -> None:
    side = SdkSide()
    side.feed(Subscribe("news"))
    side.turn.begin(12.5)
    side.arrives(B, multicast(1), Kind.MULTICAST)
    [check] = side.of(Check)
    [deliver] = side.of(Deliver)
    message = deliver.message
    assert (check.subject, check.peer) == (message, B)
    assert (message.topic, message.data, message.sender) == ("news", b"hello", None)
    assert message.id == bytes.fromhex(seq(1).decode())
    assert (message.network, message.received_from, message.received_at) == ("test", B, 12.5)
    assert message.fields == {"mode": "multicast"}
    [event] = side.traced(trace.DELIVERED)
    assert (event.topic, event.message_id, event.peer) == ("news", message.id, B)
    assert event.fields == {"size": 5}
    assert side.nodes.answered == []


def test_a_unicast_is_answered_with_nothing_when_it_is_delivered() -> None:
    side = SdkSide(accept=False)
    side.feed(Subscribe("news"))
    outer = side.arrives(B, request(1))
    [check] = side.of(Check)
    assert side.nodes.answered == []
    side.feed(CheckedMany([Checked(check.token, Verdict.ACCEPT)]))
    [deliver] = side.of(Deliver)
    assert deliver.message.fields == {"mode": "unicast"}
    answer = ChannelPacket(ChannelType.RESPONSE, seq(1), 0, encode_body("news", b""))
    assert side.nodes.answered == [(B, outer, answer)]


@pytest.mark.parametrize(
    ("verdict", "event"),
    [
        (Verdict.REJECT, trace.REJECTED),
        (Verdict.IGNORE, trace.IGNORED),
        (Verdict.OVERLOADED, trace.IGNORED),
    ],
)
def test_a_message_that_is_not_welcome_is_not_delivered(verdict: str, event: str) -> None:
    side = SdkSide(accept=False)
    side.feed(Subscribe("news"))
    side.arrives(B, request(1))
    [check] = side.of(Check)
    side.feed(Checked(check.token, verdict))
    assert side.of(Deliver) == []
    assert side.reasons(event) == [verdict]
    assert [answer.result for _, _, answer in side.nodes.answered] == [104]
    assert side.sizes()["open_bytes"] == 0


def test_the_application_may_answer_itself() -> None:
    side = SdkSide()
    side.feed(Subscribe("news"), SetResponder("news", True))
    side.arrives(B, request(1))
    [asked] = side.of(Request)
    assert side.of(Deliver) == [Deliver(asked.message)]
    assert side.nodes.answered == []
    side.feed(Respond(asked.token, b"thanks"))
    [(_, _, answer)] = side.nodes.answered
    assert (answer.result, answer.data) == (0, encode_body("news", b"thanks"))
    side.feed(SetResponder("news", False))
    side.arrives(B, request(2))
    assert len(side.nodes.answered) == 2


def test_an_answer_that_comes_too_late_is_counted() -> None:
    side = SdkSide()
    side.feed(Subscribe("news"), SetResponder("news", True))
    side.arrives(B, request(1))
    side.passes(5)
    assert [answer.result for _, _, answer in side.nodes.answered] == [104]
    [asked] = side.of(Request)
    side.feed(Respond(asked.token, b"thanks"))
    assert side.reasons(trace.DROPPED) == ["timed_out", "too_late"]


def test_a_check_that_never_ends_is_given_up() -> None:
    side = SdkSide(accept=False)
    side.feed(Subscribe("news"))
    side.arrives(B, request(1))
    side.passes(5)
    assert [answer.result for _, _, answer in side.nodes.answered] == [104]
    side.feed(Checked(side.of(Check)[0].token, Verdict.ACCEPT))
    assert side.of(Deliver) == []


def test_sdks_of_the_same_node_reach_it() -> None:
    side = SdkSide()
    side.feed(Subscribe("news"))
    sdk = side.sdk()
    [answer] = sdk.unicast("news", b"hello", seq(1))
    assert (answer.seq, answer.result, answer.data) == (seq(1), 0, encode_body("news", b""))
    sdk.multicast("news", b"hello", seq(2))
    assert [deliver.message.received_from for deliver in side.of(Deliver)] == [None, None]


def test_while_it_is_behind_it_is_not_chosen_for_unicasts() -> None:
    side = SdkSide()
    side.feed(Subscribe("news"), Hold(True))
    sdk = side.sdk("news")
    for number in range(10):
        side.arrives(B, request(number))
    assert len(sdk.take()) == 10
    side.arrives(B, multicast(11), Kind.MULTICAST)
    assert len(side.of(Deliver)) == 1
    side.feed(Hold(False))
    sdk.leave()
    side.arrives(B, request(12))
    assert side.nodes.answered[-1][2].result == 0


def test_messages_that_are_checked_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MOST_OPEN", 3)
    side = SdkSide(accept=False)
    side.feed(Subscribe("news"))
    for number in range(5):
        side.arrives(B, multicast(number), Kind.MULTICAST)
    side.arrives(B, request(6))
    assert side.sizes()["open_messages"] == 3
    assert side.reasons(trace.DROPPED) == ["queue_full", "queue_full"]
    assert [answer.result for _, _, answer in side.nodes.answered] == [104]


def test_it_verifies_nobody() -> None:
    side = SdkSide()
    name = "#!$TopicNeedVerify_t"
    side.feed(Subscribe("#!$PushChannel_" + name))
    side.node_has(B, name, f"#!$VerifyChannel_{name}_" + "0" * 32)
    assert side.reasons("verification_failed") == ["not_supported"]


@pytest.mark.parametrize("topic", ["", "x" * 255, "a\tb", "\ud800"])
def test_what_cannot_be_a_topic_is_said_at_once(topic: str) -> None:
    side = SdkSide()
    for command in (
        Subscribe(topic),
        Multicast(1, topic, b"", 5.0),
        Unicast(1, topic, b"", 5.0),
    ):
        with pytest.raises(LocalProtocolError, match="cannot be a topic"):
            side.feed(command)


# ---- as a publisher


def test_a_multicast_goes_to_nodes_and_sdks_and_the_receipt_says_where() -> None:
    side = SdkSide()
    for node in (B, C, D):
        side.node_has(node, "news")
    side.nodes.full, side.nodes.broken = {C}, {D}
    sdk = side.sdk("news")
    side.feed(Subscribe("news"), Multicast(1, "news", b"hello", 5.0))
    [published] = side.of(Published)
    receipt = published.receipt
    assert (receipt.reached, receipt.queued) == ((B, OUR_ID), (C,))
    assert (dict(receipt.dropped), receipt.fields) == ({D: "queue_full"}, {"here": 1})
    [packet] = sdk.take()
    assert bytes.fromhex(packet.seq.decode()) == receipt.id
    assert side.of(Deliver) == []  # its own
    [event] = side.traced(trace.PUBLISHED)
    assert (event.topic, event.message_id) == ("news", receipt.id)
    assert event.fields == {"size": 5, "mode": "multicast", "peers": 3, "dropped": 1}


def test_a_broadcast_goes_to_every_node() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.node_has(C, "other")
    side.feed(Multicast(1, "news", b"hello", 5.0, everywhere=True))
    assert [(node, kind) for node, kind, _ in side.nodes.pushed] == [
        (B, Kind.BROADCAST),
        (C, Kind.BROADCAST),
    ]


def test_a_unicast_ends_with_the_answer() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.feed(Unicast(7, "news", b"hello", 5.0))
    [asked] = side.nodes.asked
    body = encode_body("news", b"thanks")
    side.replies(asked, ChannelPacket(ChannelType.RESPONSE, asked.packet.seq, 0, body))
    message_id = bytes.fromhex(asked.packet.seq.decode())
    assert ended(side) == [UnicastEnded(7, message_id, 0, b"thanks", B)]
    side.passes(10)
    assert len(ended(side)) == 1


def test_a_unicast_without_anybody_ends_at_once() -> None:
    side = SdkSide()
    side.feed(Unicast(7, "news", b"hello", 5.0))
    [end] = ended(side)
    assert (end.token, end.result, end.data, end.node) == (7, 100, b"", None)


def test_a_unicast_ends_when_its_time_is_over() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.feed(Unicast(7, "news", b"hello", 5.0))
    side.passes(5)
    [end] = ended(side)
    assert (end.token, end.result) == (7, 102)
    assert side.sizes()["requests_in_flight"] == 0
    side.fails(side.nodes.asked[0])
    assert len(ended(side)) == 1


def test_a_unicast_that_is_forgotten_ends_silently() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.feed(Unicast(7, "news", b"hello", 5.0), Forget(7), Forget(8))
    side.passes(10)
    assert ended(side) == []
    assert side.sizes()["requests_in_flight"] == side.sizes()["application_unicasts"] == 0


def test_a_unicast_to_a_node_goes_there_whatever_it_listens_to() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.node_has(C, "other")
    side.feed(Unicast(7, "news", b"hello", 5.0, node=C))
    [asked] = side.nodes.asked
    assert asked.node == C
    side.fails(asked)
    assert [end.result for end in ended(side)] == [100]


def test_a_unicast_may_stay_on_this_node() -> None:
    side = SdkSide()
    sdk = side.sdk("news")
    side.feed(Unicast(7, "news", b"hello", 5.0))
    [packet] = sdk.take()
    sdk.answer(packet, b"thanks")
    [end] = ended(side)
    assert (end.result, end.data, end.node) == (0, b"thanks", OUR_ID)


def test_an_answer_without_a_topic_has_no_data() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.feed(Unicast(7, "news", b"hello", 5.0))
    [asked] = side.nodes.asked
    side.replies(asked, ChannelPacket(ChannelType.RESPONSE, asked.packet.seq, 0, b""))
    assert [(end.result, end.data) for end in ended(side)] == [(0, b"")]
    assert side.reasons(trace.PROTOCOL_ERROR) == ["bad_answer"]
