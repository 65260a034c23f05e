"""What an SDK hears and what it says: subscriptions, deliveries, answers, publications."""

from __future__ import annotations

import pytest

from rumormill.bcos.effects import (
    Forget,
    Multicast,
    MulticastEnded,
    Request,
    Respond,
    SetResponder,
    Unicast,
    UnicastEnded,
)
from rumormill.bcos.wire.channel_packet import ChannelType, Result
from rumormill.bcos.wire.topic_body import decode_body, encode_body
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Deliver,
    Subscribe,
    Unsubscribe,
    Verdict,
)
from tests.helpers.bcos.sdk_bench import SEQ, SdkBench, seq

# ---- subscriptions


def test_every_node_is_told_the_whole_set_and_changes_of_a_turn_in_one_packet() -> None:
    bench = SdkBench()
    first, second = bench.node("127.0.0.1:1"), bench.node("127.0.0.1:2")
    assert first.topics() == second.topics() == []
    bench.feed(Subscribe("weather"))
    bench.feed(Subscribe("news"))
    bench.feed(Subscribe("weather"))
    bench.wake()
    assert len(first.packets(ChannelType.SUBSCRIBE)) == 1
    assert second.topics() == ["weather", "news"]
    bench.feed(Unsubscribe("weather"))
    bench.wake()
    assert first.topics() == second.topics() == ["news"]
    assert bench.node("127.0.0.1:3").topics() == ["news"]


def test_a_node_that_comes_back_is_told_anew() -> None:
    bench = SdkBench()
    bench.feed(Subscribe("weather"))
    node = bench.node()
    node.vanish()
    bench.feed(Subscribe("news"))
    bench.wake()
    assert bench.node().topics() == ["weather", "news"]


@pytest.mark.parametrize("topic", ["", "x" * 255, "\ud800"])
def test_a_topic_that_cannot_be_sent_is_refused(topic: str) -> None:
    bench = SdkBench()
    bench.node()
    inputs = Subscribe(topic), Unicast(1, topic, b"", 5), Multicast(1, topic, b"", 5)
    for input in inputs:
        with pytest.raises(LocalProtocolError):
            bench.feed(input)
    assert bench.machine.sizes()["topics"] == bench.machine.sizes()["publications"] == 0
    bench.feed(Subscribe("x" * 254))


def test_no_more_topics_than_allowed() -> None:
    bench = SdkBench(max_sdk_topics=2)
    bench.feed(Subscribe("one"))
    bench.feed(Subscribe("two"))
    with pytest.raises(LocalProtocolError, match="2 topics"):
        bench.feed(Subscribe("three"))
    bench.feed(Unsubscribe("one"))
    bench.feed(Subscribe("three"))


# ---- what comes


def test_a_multicast_message_is_delivered_and_not_answered() -> None:
    bench = SdkBench()
    bench.feed(Subscribe("weather"))
    node = bench.node()
    node.message("weather", b"rain")
    (delivered,) = bench.take(Deliver)
    message = delivered.message
    assert (message.topic, message.data, message.sender) == ("weather", b"rain", None)
    assert message.id == bytes.fromhex(SEQ.decode())
    assert message.received_from == node.address
    assert message.fields == {"mode": "multicast"}
    assert node.packets(ChannelType.RESPONSE) == []


def test_a_unicast_message_is_answered_with_its_seq_and_topic() -> None:
    bench = SdkBench()
    bench.feed(Subscribe("weather"))
    node = bench.node()
    node.message("weather", b"rain", b"?" * 32, ChannelType.REQUEST)
    (delivered,) = bench.take(Deliver)
    assert delivered.message.fields == {"mode": "unicast"}
    assert delivered.message.id == b"?" * 32
    answer = node.packet(ChannelType.RESPONSE)
    assert (answer.seq, answer.result) == (b"?" * 32, 0)
    assert decode_body(answer.data) == ("weather", b"")


def test_a_multicast_message_that_comes_by_two_nodes_is_delivered_once() -> None:
    bench = SdkBench(max_ids=100)
    bench.feed(Subscribe("weather"))
    nodes = bench.node("127.0.0.1:1"), bench.node("127.0.0.1:2")
    for number in range(500):
        for node in nodes:
            node.message("weather", b"rain", seq(number))
    assert len(bench.take(Deliver)) == 500
    assert len(bench.events("duplicate")) == 500
    assert bench.machine.sizes()["ids"] == 100


def test_what_nobody_listens_to_is_ignored_and_not_answered() -> None:
    bench = SdkBench()
    node = bench.node()
    node.message("news", b"?", kind=ChannelType.REQUEST)
    assert bench.take(Check) == []
    assert bench.events("ignored")[0].fields["reason"] == "not_subscribed"
    assert node.packets(ChannelType.RESPONSE) == []


@pytest.mark.parametrize(
    ("verdict", "event"), [(Verdict.REJECT, "rejected"), (Verdict.IGNORE, "ignored")]
)
def test_what_a_validator_refuses_is_neither_delivered_nor_answered(
    verdict: str, event: str
) -> None:
    bench = SdkBench(accept=False)
    bench.feed(Subscribe("weather"))
    node = bench.node()
    node.message("weather", b"rain", kind=ChannelType.REQUEST)
    (check,) = bench.take(Check)
    bench.feed(CheckedMany([Checked(check.token, verdict, "validator")]))
    assert bench.take(Deliver) == []
    assert node.packets(ChannelType.RESPONSE) == []
    assert bench.events(event)[0].fields["reason"] == "validator"


def test_messages_that_wait_for_validators_are_bounded() -> None:
    bench = SdkBench(accept=False, max_checks=10)
    bench.feed(Subscribe("weather"))
    node = bench.node()
    for number in range(50):
        node.message("weather", b"rain", seq(number))
    assert bench.machine.sizes()["checking"] == 10
    assert [e.fields["reason"] for e in bench.events("dropped")] == ["too_many_checks"] * 40
    for check in bench.take(Check):
        bench.feed(Checked(check.token, Verdict.ACCEPT))
    node.message("weather", b"rain", seq(49))  # it was not taken, so it is no duplicate
    assert len(bench.take(Check)) == 1


def test_a_message_that_nobody_had_time_to_look_at_is_not_marked_as_seen() -> None:
    bench = SdkBench(accept=False)
    bench.feed(Subscribe("weather"))
    node = bench.node()
    node.message("weather", b"rain")
    bench.feed(Checked(bench.take(Check)[0].token, Verdict.OVERLOADED))
    node.message("weather", b"rain")
    assert len(bench.take(Check)) == 1


# ---- answers of the application


def test_the_application_answers_a_unicast_message() -> None:
    bench = SdkBench()
    bench.feed(SetResponder("time", True))
    node = bench.node()
    assert node.topics() == ["time"]
    node.message("time", b"what", kind=ChannelType.REQUEST)
    (request,) = bench.take(Request)
    assert request.message.data == b"what"
    assert node.packets(ChannelType.RESPONSE) == []
    bench.feed(Respond(request.token, b"noon"))
    answer = node.packet(ChannelType.RESPONSE)
    assert (answer.seq, decode_body(answer.data)) == (SEQ, ("time", b"noon"))
    bench.feed(SetResponder("time", False))
    bench.wake()
    assert node.topics() == []


def test_an_answer_that_comes_too_late_is_counted() -> None:
    bench = SdkBench(answer_timeout=5)
    bench.feed(SetResponder("time", True))
    node = bench.node()
    node.message("time", b"what", kind=ChannelType.REQUEST)
    (request,) = bench.take(Request)
    bench.advance(5)
    bench.feed(Respond(request.token, b"noon"))
    assert node.packets(ChannelType.RESPONSE) == []
    reasons = [event.fields["reason"] for event in bench.events("dropped")]
    assert reasons == ["timed_out", "answer_too_late"]


def test_an_answer_to_a_node_that_is_gone_goes_nowhere() -> None:
    bench = SdkBench()
    bench.feed(SetResponder("time", True))
    node = bench.node()
    node.message("time", b"what", kind=ChannelType.REQUEST)
    node.vanish()
    assert [event.fields["reason"] for event in bench.events("dropped")] == ["left"]
    assert bench.machine.sizes()["answering"] == 0


def test_a_node_that_is_gone_when_the_check_ends_gets_no_answer() -> None:
    bench = SdkBench(accept=False)
    bench.feed(Subscribe("weather"))
    node = bench.node()
    node.message("weather", b"rain", kind=ChannelType.REQUEST)
    node.vanish()
    bench.feed(Checked(bench.take(Check)[0].token, Verdict.ACCEPT))
    assert len(bench.take(Deliver)) == 1
    assert bench.events("dropped")[-1].fields["reason"] == "left"


def test_answers_under_way_are_bounded() -> None:
    bench = SdkBench(max_answers=3)
    bench.feed(SetResponder("time", True))
    node = bench.node()
    for number in range(5):
        node.message("time", b"what", seq(number), ChannelType.REQUEST)
    assert len(bench.take(Request)) == 3
    assert [e.fields["reason"] for e in bench.events("dropped")] == ["too_many_answers"] * 2


# ---- what we say


def test_a_unicast_message_ends_with_the_answer_of_its_subscriber() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Unicast(7, "time", b"what", 5))
    packet = node.packet(ChannelType.REQUEST)
    assert decode_body(packet.data) == ("time", b"what")
    assert len(bytes.fromhex(packet.seq.decode())) == 16
    node.send(ChannelType.RESPONSE, packet.seq, encode_body("time", b"noon"))
    message_id = bytes.fromhex(packet.seq.decode())
    assert bench.take(UnicastEnded) == [UnicastEnded(7, message_id, 0, b"noon", node.address)]
    node.send(ChannelType.RESPONSE, packet.seq, encode_body("time", b"again"))
    assert bench.take(UnicastEnded) == []
    assert bench.events("ignored")[0].fields["reason"] == "unexpected_answer"


@pytest.mark.parametrize("result", [100, 101, 103, 104])
def test_a_result_of_a_node_ends_a_unicast_message(result: int) -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Unicast(7, "time", b"what", 5))
    node.send(ChannelType.RESPONSE, node.packet(ChannelType.REQUEST).seq, b"", result)
    (ended,) = bench.take(UnicastEnded)
    assert (ended.token, ended.result, ended.data) == (7, result, b"")
    assert bench.events("unanswered")[0].fields["result"] == result


def test_an_answer_that_cannot_be_read_is_the_subscribers_fault_not_the_nodes() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Unicast(7, "time", b"what", 5))
    node.send(ChannelType.RESPONSE, node.packet(ChannelType.REQUEST).seq, b"\xff?")
    assert bench.take(UnicastEnded)[0].result == Result.BAD_ANSWER
    assert node.closed == []
    assert bench.events("protocol_error")


def test_a_message_without_an_answer_ends_when_its_time_is_over() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Unicast(7, "time", b"what", 5))
    bench.feed(Multicast(8, "time", b"what", 6))
    bench.advance(5.5)
    assert bench.take(UnicastEnded)[0].result == Result.TIMED_OUT
    bench.advance(1)
    (ended,) = bench.take(MulticastEnded)
    assert ended.result == Result.TIMED_OUT
    assert not ended.receipt and ended.receipt.dropped == {node.address: "result_102"}
    assert bench.machine.sizes()["publications"] == 0


def test_without_a_node_nothing_can_be_said() -> None:
    bench = SdkBench()
    bench.feed(Unicast(7, "time", b"what", 5))
    bench.feed(Multicast(8, "time", b"what", 5))
    assert bench.take(UnicastEnded)[0].result == Result.UNREACHABLE
    (ended,) = bench.take(MulticastEnded)
    assert ended.result == Result.UNREACHABLE and not ended.receipt


def test_a_multicast_message_ends_with_the_echo_of_the_node() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Multicast(8, "time", b"noon", 5))
    packet = node.packet(ChannelType.MULTICAST)
    node.send(ChannelType.RESPONSE, packet.seq, packet.data)
    (ended,) = bench.take(MulticastEnded)
    assert (ended.token, ended.result) == (8, 0)
    assert ended.receipt.reached == (node.address,)  # nobody has told who listens
    assert ended.receipt.id == bytes.fromhex(packet.seq.decode())


def test_another_node_is_tried_when_nobody_can_have_got_the_message() -> None:
    bench = SdkBench()
    first, second = bench.node("127.0.0.1:1"), bench.node("127.0.0.1:2")
    bench.feed(Unicast(7, "time", b"what", 5))
    assert second.packets(ChannelType.REQUEST) == []
    packet = first.packet(ChannelType.REQUEST)
    first.send(ChannelType.RESPONSE, packet.seq, b"", Result.NO_NODE)
    again = second.packet(ChannelType.REQUEST)
    assert again == packet
    assert [e.peer for e in bench.events("published")] == [first.address]
    assert [e.peer for e in bench.events("sent_again")] == [second.address]
    first.send(ChannelType.RESPONSE, packet.seq, encode_body("time", b"from the wrong node"))
    assert bench.take(UnicastEnded) == []
    second.send(ChannelType.RESPONSE, packet.seq, encode_body("time", b"noon"))
    (ended,) = bench.take(UnicastEnded)
    assert (ended.data, ended.node) == (b"noon", second.address)


def test_a_message_that_may_have_arrived_is_not_sent_again() -> None:
    bench = SdkBench()
    first, second = bench.node("127.0.0.1:1"), bench.node("127.0.0.1:2")
    bench.feed(Unicast(7, "time", b"what", 60))
    bench.feed(Unicast(8, "time", b"what", 60))
    one, _ = first.packets(ChannelType.REQUEST)
    bench.advance(2)
    first.send(ChannelType.RESPONSE, one.seq, b"", Result.NO_NODE)  # others were asked in vain
    first.vanish()
    results = [(ended.token, ended.result) for ended in bench.take(UnicastEnded)]
    assert results == [(7, Result.NO_NODE), (8, Result.TIMED_OUT)]
    assert second.packets(ChannelType.REQUEST) == []
    bench.feed(Unicast(9, "time", b"what", 5))
    assert len(second.packets(ChannelType.REQUEST)) == 1


def test_messages_that_wait_for_their_answer_are_bounded() -> None:
    bench = SdkBench(max_sdk_requests=5)
    node = bench.node()
    for token in range(8):
        bench.feed(Unicast(token, "time", b"what", 5))
    assert len(node.packets(ChannelType.REQUEST)) == 5
    assert [ended.result for ended in bench.take(UnicastEnded)] == [Result.BANDWIDTH] * 3
    bench.feed(Forget(0))
    assert bench.machine.sizes()["publications"] == 4
    bench.feed(Unicast(9, "time", b"what", 5))
    assert len(node.packets(ChannelType.REQUEST)) == 1


def test_bytes_of_messages_that_wait_for_their_answer_are_bounded() -> None:
    bench = SdkBench(max_sdk_request_bytes=1024)
    node = bench.node()
    bench.feed(Multicast(1, "time", bytes(2000), 5))  # one alone may be larger
    bench.feed(Multicast(2, "time", b"", 5))
    assert bench.take(MulticastEnded)[0].result == Result.BANDWIDTH
    packet = node.packet(ChannelType.MULTICAST)
    node.send(ChannelType.RESPONSE, packet.seq, packet.data)
    bench.take(MulticastEnded)
    for token in range(3, 6):
        bench.feed(Multicast(token, "time", bytes(500), 5))
    assert [ended.token for ended in bench.take(MulticastEnded)] == [5]


def test_a_message_that_no_packet_can_hold_is_refused() -> None:
    bench = SdkBench(largest_sdk_packet=1024)
    node = bench.node()
    largest = 1024 - 42 - 1 - len("time")
    bench.feed(Multicast(1, "time", bytes(largest), 5))
    with pytest.raises(MessageTooLargeError):
        bench.feed(Multicast(2, "time", bytes(largest + 1), 5))
    assert len(node.packets(ChannelType.MULTICAST)) == 1


def test_our_own_message_that_comes_back_to_us_is_delivered_and_answered() -> None:
    bench = SdkBench()
    bench.feed(Subscribe("time"))
    node = bench.node()
    bench.feed(Unicast(7, "time", b"what", 5))
    packet = node.packet(ChannelType.REQUEST)
    node.send(ChannelType.REQUEST, packet.seq, packet.data)
    assert len(bench.take(Deliver)) == 1
    assert bench.take(UnicastEnded) == []
    answer = node.packet(ChannelType.RESPONSE)
    node.send(ChannelType.RESPONSE, answer.seq, answer.data)
    assert bench.take(UnicastEnded)[0].result == Result.OK


def test_equal_seeds_give_equal_effects() -> None:
    def story() -> list[object]:
        bench = SdkBench(seed=5)
        bench.feed(Subscribe("time"))
        node = bench.node()
        bench.feed(Unicast(7, "time", b"what", 5))
        node.vanish()
        bench.advance(30)
        return bench.effects

    assert story() == story()
