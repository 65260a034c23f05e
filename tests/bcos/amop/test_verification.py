"""Private topics: who is asked, who may judge, and what becomes of it."""

from __future__ import annotations

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.bcos.wire.verification import (
    decode_verify_request,
    encode_topic_status,
    encode_verify_request,
    need_verify,
    push_channel,
    verify_channel,
)
from rumormill.core import trace
from tests.helpers.bcos.sdk_side import Sdk, SdkSide, node_id, seq
from tests.helpers.core.steps import work_of

B, C = node_id("b"), node_id("c")
NAME = need_verify("hello")
PUSH = push_channel(NAME)
CHANNEL = verify_channel(NAME, "92be6ce4dbd311eaae5a983b8fda4e0e")


def verified(sdk: Sdk, node: str, passed: bool = True, name: str = NAME) -> None:
    assert sdk.send(ChannelType.TOPIC_STATUS, seq(8), encode_topic_status(passed, node, name)) == []


def result(sdk: Sdk) -> int | None:
    """Of a unicast to the private topic; None if it is on its way."""
    answers = sdk.unicast(NAME, b"secret", seq(9))
    return answers[0].result if answers else None


def questions(sdk: Sdk) -> list[str]:
    """The nodes that a publisher is asked to verify."""
    packets = [packet for packet in sdk.take() if packet.type == ChannelType.VERIFY]
    return [decode_verify_request(packet.data).node_id for packet in packets]


# ---- being asked


def test_a_publisher_is_asked_when_a_node_names_a_private_topic() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    assert publisher.take() == [
        ChannelPacket(
            ChannelType.VERIFY,
            b"0" * 31 + b"1",
            0,
            b'{"nodeId":"%s","topic":"#!$TopicNeedVerify_hello","topicForCert":'
            b'"#!$VerifyChannel_#!$TopicNeedVerify_hello_92be6ce4dbd311eaae5a983b8fda4e0e"}\n'
            % B.encode(),
        )
    ]
    assert encode_verify_request(B, NAME, CHANNEL).endswith(b"}\n")


def test_nobody_is_asked_without_a_publisher_or_without_a_verify_channel() -> None:
    side = SdkSide()
    other = side.sdk("news", NAME, push_channel(need_verify("other")))
    side.node_has(B, NAME, CHANNEL)
    assert other.take() == []
    publisher = side.sdk()
    side.node_has(B, NAME)
    publisher.subscribe(PUSH)
    assert publisher.take() == []


def test_a_publisher_that_comes_later_is_asked_at_once() -> None:
    side = SdkSide()
    side.node_has(B, NAME, CHANNEL)
    publisher = side.sdk()
    packets = publisher.send(ChannelType.SUBSCRIBE, data=f'["{PUSH}"]'.encode())
    assert [packet.type for packet in packets] == [ChannelType.VERIFY]
    assert publisher.send(ChannelType.SUBSCRIBE, data=f'["{PUSH}","news"]'.encode()) == []


def test_with_each_topic_seq_it_is_asked_again_as_long_as_there_is_doubt() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    [packet] = publisher.take()
    side.confirmed(B)
    assert publisher.take() == []  # the first question was not taken yet
    publisher.send(ChannelType.VERIFY, packet.seq)
    side.confirmed(B)
    assert questions(publisher) == [B]
    verified(publisher, B)
    side.confirmed(B)
    assert publisher.take() == []


def test_sdks_acknowledge_the_question_with_different_types() -> None:
    for kind, data in ((ChannelType.VERIFY, b""), (ChannelType.RESPONSE, encode_body("x", b""))):
        side = SdkSide()
        publisher = side.sdk(PUSH)
        side.node_has(B, NAME, CHANNEL)
        [packet] = publisher.take()
        assert publisher.send(kind, packet.seq, data) == []
        side.passes(10)
        assert side.traced("verification_failed") == []
        assert side.sizes()["verifications"] == 0


def test_a_publisher_that_does_not_take_the_question_is_followed_by_another() -> None:
    side = SdkSide()
    publishers = [side.sdk(PUSH), side.sdk(PUSH)]
    side.node_has(B, NAME, CHANNEL)
    first, second = sorted(publishers, key=lambda each: not each.take())
    side.passes(5)
    assert questions(second) == [B]
    side.passes(5)
    assert [event.fields["reason"] for event in side.traced("verification_failed")] == [
        "timed_out",
        "timed_out",
    ]
    side.confirmed(B)
    assert len(questions(first) + questions(second)) == 1


# ---- judging


def test_messages_go_to_a_node_only_when_it_has_been_verified() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    side.node_has(C, NAME)
    publisher.take()
    assert result(publisher) == 100
    publisher.multicast(NAME, b"secret", seq(2))
    assert side.nodes.pushed == []
    verified(publisher, B)
    assert result(publisher) is None
    assert [asked.node for asked in side.nodes.asked] == [B]
    publisher.multicast(NAME, b"secret", seq(2))
    assert [node for node, *_ in side.nodes.pushed] == [B]
    [event] = side.traced("topic_verified")
    assert (event.topic, event.peer, event.fields) == (NAME, B, {"passed": True})


def test_a_failure_stays_one_until_the_topic_vanishes() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    publisher.take()
    verified(publisher, B, passed=False)
    verified(publisher, B)
    side.node_has(B, NAME, CHANNEL, "more")
    side.confirmed(B)
    assert publisher.take() == []
    assert result(publisher) == 100
    assert side.reasons(trace.PROTOCOL_ERROR) == ["not_in_doubt"]
    side.node_has(B, "more")
    side.node_has(B, NAME, CHANNEL)
    assert questions(publisher) == [B]
    verified(publisher, B)
    assert result(publisher) is None


def test_a_success_cannot_become_a_failure() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    publisher.take()
    verified(publisher, B)
    verified(publisher, B, passed=False)
    assert result(publisher) is None


def test_a_node_is_verified_anew_after_its_connection_was_lost() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    publisher.take()
    verified(publisher, B)
    side.node_leaves(B)
    side.node_has(B, NAME, CHANNEL)
    assert questions(publisher) == [B]
    assert result(publisher) == 100
    verified(publisher, B)
    assert result(publisher) is None


def test_an_sdk_that_is_no_publisher_of_the_topic_cannot_verify() -> None:
    """Nodes of other make believe anybody."""
    side = SdkSide()
    stranger = side.sdk("news", push_channel(need_verify("other")))
    side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    verified(stranger, B)
    assert result(stranger) == 100
    assert side.reasons(trace.PROTOCOL_ERROR) == ["not_a_publisher"]


def test_a_verdict_on_what_nobody_has_is_ignored() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    verified(publisher, B)
    side.node_has(B, "news")
    verified(publisher, B)
    assert side.reasons(trace.PROTOCOL_ERROR) == ["not_in_doubt"] * 2
    assert side.sizes()["verified_topics"] == 0


def test_on_the_same_node_nothing_is_verified() -> None:
    side = SdkSide()
    publisher, subscriber = side.sdk(PUSH), side.sdk(NAME, CHANNEL)
    assert publisher.take() == []
    publisher.unicast(NAME, b"secret", seq(1))
    assert len(subscriber.take()) == 1


def test_a_node_that_leaves_takes_all_that_was_kept_of_it() -> None:
    side = SdkSide()
    side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    assert side.sizes()["verifications"] == side.sizes()["verified_topics"] == 1
    side.node_leaves(B)
    side.passes(5)
    assert side.sizes()["verifications"] == side.sizes()["verified_topics"] == 0


def test_neither_a_node_nor_an_sdk_with_very_many_private_topics_makes_much_work() -> None:
    side = SdkSide()
    publisher = side.sdk(PUSH)
    names = [need_verify(f"there-{number}") for number in range(3_000)]
    side.node_has(B, NAME, CHANNEL, *names, *(verify_channel(name, "0" * 32) for name in names))
    [packet] = publisher.take()
    publisher.send(ChannelType.VERIFY, packet.seq)
    assert work_of(lambda: side.amop.topics_confirmed(B)).steps < 1_000
    side.settle()
    [packet] = publisher.take()
    publisher.send(ChannelType.VERIFY, packet.seq)

    side.sdk(*(push_channel(need_verify(f"here-{number}")) for number in range(3_000)))
    side.node_has(B, NAME, CHANNEL)
    [packet] = publisher.take()
    publisher.send(ChannelType.VERIFY, packet.seq)
    assert work_of(lambda: side.amop.topics_confirmed(B)).steps < 1_000


def test_what_a_publisher_found_out_is_void_when_the_last_one_has_left() -> None:
    side = SdkSide()
    first, second = side.sdk(PUSH), side.sdk(PUSH)
    side.node_has(B, NAME, CHANNEL)
    assert questions(first) + questions(second) == [B]
    verified(first, B)
    first.leave()
    assert result(second) is None  # one who publishes it is still here
    second.leave()
    later = side.sdk()
    assert result(later) == 100
    packets = later.send(ChannelType.SUBSCRIBE, data=f'["{PUSH}"]'.encode())
    assert [packet.type for packet in packets] == [ChannelType.VERIFY]
    verified(later, B, passed=False)
    assert result(later) == 100
