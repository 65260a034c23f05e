"""Topic state: what is told, what is asked, and what liars cost."""

from __future__ import annotations

from typing import Any

from rumormill.bcos.node.topic_sync import MOST_TRACED
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket
from rumormill.bcos.wire.topic_state import TopicType
from rumormill.core import trace
from rumormill.core.machine import Subscribe, Unsubscribe
from rumormill.core.transport import BytesReceived, CloseTransport, RestTransport, TransportClosed
from tests.helpers.bcos.nodes import Nodes, Stranger, id_of, packets_of

Z = id_of("z")


def answer(stranger: Stranger, seq: int, payload: bytes, kind: int = TopicType.LIST) -> list[Any]:
    return stranger.say(P2PPacket(-Module.TOPIC, kind, seq, payload))


def events(effects: list[Any], kind: str) -> list[trace.TraceEvent]:
    return [e for e in effects if isinstance(e, trace.TraceEvent) and e.event == kind]


def reasons(effects: list[Any]) -> list[Any]:
    return [event.fields["reason"] for event in events(effects, trace.PROTOCOL_ERROR)]


def told(stranger: Stranger, seq: int, payload: bytes) -> list[Any]:
    """It tells a seq, is asked, and answers."""
    (question,) = stranger.tell_seq(seq)
    return answer(stranger, question.seq, payload)


# ---- as nodes of other make have it


def test_the_first_question_is_empty_and_the_list_replaces_what_was() -> None:
    stranger = Stranger()
    (question,) = stranger.tell_seq(5)
    assert question == P2PPacket(Module.TOPIC, TopicType.QUESTION, 2, b"")
    answer(stranger, 2, b"5\ta\tb")
    assert list(stranger.machine.peers.topics_of(Z)) == ["a", "b"]
    told(stranger, 6, b"6\tb\tc")
    peers = stranger.machine.peers
    assert list(peers.topics_of(Z)) == ["b", "c"]
    assert [list(peers.holders(topic)) for topic in "abc"] == [[], [Z], [Z]]


def test_a_seq_that_we_know_is_no_reason_to_ask() -> None:
    stranger = Stranger()
    assert stranger.tell_seq(0) == []
    told(stranger, 5, b"5\ta")
    assert stranger.tell_seq(5) == []


def test_there_is_one_question_at_a_time_and_a_new_one_when_the_seq_has_moved_on() -> None:
    stranger = Stranger()
    (question,) = stranger.tell_seq(5)
    assert stranger.tell_seq(6) == []
    (second,) = packets_of(answer(stranger, question.seq, b"5\ta"))
    assert (second.type, second.payload) == (TopicType.QUESTION, b"5")


def test_a_question_without_an_answer_is_asked_again_with_the_next_seq() -> None:
    stranger = Stranger()
    stranger.tell_seq(5)
    effects = stranger.wait(6.0)
    assert [e.fields["reason"] for e in events(effects, trace.DROPPED)] == ["timed_out"]
    (question,) = stranger.tell_seq(5)
    assert question.type == TopicType.QUESTION


def test_a_list_that_comes_too_late_or_unasked_is_ignored_and_counted() -> None:
    stranger = Stranger()
    (question,) = stranger.tell_seq(5)
    stranger.wait(6.0)
    for seq in (question.seq, 77, 0):
        effects = answer(stranger, seq, b"5\ta")
        assert events(effects, trace.IGNORED)[0].fields["reason"] == "late_answer"
    assert list(stranger.machine.peers.topics_of(Z)) == []


def test_what_we_know_dies_with_the_link() -> None:
    stranger = Stranger()
    told(stranger, 5, b"5\ta")
    stranger.feed(TransportClosed(1))
    assert list(stranger.machine.peers.holders("a")) == []
    assert stranger.machine.sizes()["topics_of_nodes"] == 0
    assert stranger.machine.sizes()["topic_states"] == 0


def test_a_node_of_other_make_gets_the_whole_list() -> None:
    stranger = Stranger()
    stranger.feed(Subscribe("b"))
    stranger.feed(Subscribe("a"))
    for payload in (b"", b"unknown words", b"0", b"77"):
        question = P2PPacket(Module.TOPIC, TopicType.QUESTION, 0x65, payload)
        assert packets_of(stranger.say(question)) == [P2PPacket(-2, 3, 0x65, b"2\ta\tb")]


# ---- as nodes of ours have it


def test_who_says_what_it_knows_gets_the_changes() -> None:
    stranger = Stranger()
    for topic in ("a", "b", "c"):
        stranger.feed(Subscribe(topic))
    stranger.feed(Unsubscribe("a"))
    question = P2PPacket(Module.TOPIC, TopicType.QUESTION, 9, b"2")
    assert packets_of(stranger.say(question)) == [P2PPacket(-2, 4, 9, b"4\t2\t+c\t-a")]


def test_with_ten_thousand_topics_a_change_takes_few_bytes() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.own("b", (f"topic-{number}" for number in range(10_000)))
    network.run(1.0)
    assert len(network.node("a").peers.topics_of(id_of("b"))) == 10_000
    network.sent.clear()
    network.subscribe("b", "one more")
    network.run(1.0)
    assert network.holders("a", "one more") == "b"
    assert sum(len(sent.raw) for sent in network.sent) < 100
    network.sent.clear()
    network.feed("b", Unsubscribe("one more"))
    network.run(1.0)
    assert network.holders("a", "one more") == ""
    assert len(network.node("a").peers.topics_of(id_of("b"))) == 10_000
    assert sum(len(sent.raw) for sent in network.sent) < 100


def test_many_changes_at_once_are_told_once() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(1.0)
    network.sent.clear()
    network.subscribe("b", *(f"topic-{number}" for number in range(100)))
    network.run(1.0)
    assert len(network.node("a").peers.topics_of(id_of("b"))) == 100
    assert len(network.sent) == 3
    assert len(network.traced("a", trace.PEER_SUBSCRIBED)) == 1 < MOST_TRACED


def test_after_a_reconnection_the_whole_list_is_asked_for() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.subscribe("b", "news")
    network.run(1.0)
    network.sever("a", "b")
    assert network.holders("a", "news") == ""
    network.sent.clear()
    network.run(3.0)
    assert network.holders("a", "news") == "b"
    types = [packet.type for packet in network.written("b", "a")]
    assert TopicType.LIST in types
    assert TopicType.CHANGES not in types


class Told:
    """Stands in for AMOP."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def received(self, node: str, packet: P2PPacket) -> bool:
        return True

    def topics_changed(self, node: str) -> None:
        self.heard.append("changed")

    def topics_confirmed(self, node: str) -> None:
        self.heard.append("confirmed")

    def node_left(self, node: str) -> None:
        self.heard.append("left")


def test_amop_looks_at_all_topics_only_when_a_private_one_has_changed() -> None:
    stranger = Stranger()
    stranger.machine.peers.amop = amop = Told()
    told(stranger, 1, b"1\ta")
    told(stranger, 2, b"2\t#!$TopicNeedVerify_x\ta")
    told(stranger, 3, b"3\t#!$TopicNeedVerify_x")
    told(stranger, 4, b"4")
    assert amop.heard == ["confirmed", "changed", "confirmed", "changed"]
    stranger.feed(TransportClosed(1))
    assert amop.heard[4:] == ["left"]


def test_a_seq_that_brings_nothing_new_is_confirmed_but_not_more_often_than_it_is_due() -> None:
    stranger = Stranger()
    stranger.machine.peers.amop = amop = Told()
    for _ in range(3):
        for _ in range(10):
            stranger.tell_seq(0)
        stranger.wait(5.0)
    assert amop.heard == ["confirmed"] * 3


# ---- liars


def test_changes_are_not_taken_from_who_was_not_asked_for_them() -> None:
    stranger = Stranger()
    (question,) = stranger.tell_seq(5)
    effects = answer(stranger, question.seq, b"5\t0\t+a", TopicType.CHANGES)
    assert reasons(effects) == ["bad_topic_packet"]


def test_changes_that_do_not_fit_are_refused_and_the_list_asked_for() -> None:
    for payload in (b"6\t4\t+c", b"6\t5\t-c", b"6\t5\t+a", b"6\t5\tc", b"6\t5\t+" + b"x" * 255):
        stranger = Stranger()
        told(stranger, 5, b"5\ta\tb")
        (question,) = stranger.tell_seq(6)
        assert question.payload == b"5"
        effects = answer(stranger, question.seq, payload, TopicType.CHANGES)
        assert len(reasons(effects)) == 1, payload
        assert list(stranger.machine.peers.topics_of(Z)) == ["a", "b"]
        (question,) = stranger.tell_seq(6)
        assert question.payload == b""


def test_topics_of_one_node_and_of_all_nodes_are_bounded() -> None:
    each: list[dict[str, Any]] = [{"max_peer_topics": 10}, {"max_topics": 10}]
    for limits in each:
        stranger = Stranger(**limits)
        names = "\t".join(f"{number:03}" for number in range(100))
        effects = told(stranger, 1, f"1\t{names}".encode())
        assert len(stranger.machine.peers.topics_of(Z)) == 10
        dropped = events(effects, trace.DROPPED)
        assert [(event.fields["what"], event.fields["count"]) for event in dropped] == [
            ("topics", 90)
        ]
        (question,) = stranger.tell_seq(2)
        effects = answer(stranger, question.seq, b"2\t1\t+x", TopicType.CHANGES)
        assert reasons(effects) == ["too_many_topics"]
        assert stranger.machine.sizes()["topics_of_nodes"] == 10


def test_a_seq_that_goes_backwards_is_told_and_the_whole_list_asked_for() -> None:
    stranger = Stranger()
    told(stranger, 5, b"5\ta")
    effects = stranger.say(P2PPacket(Module.TOPIC, TopicType.SEQ, 0, b"4"))
    assert reasons(effects) == ["seq_backwards"]
    assert packets_of(effects)[0].payload == b""


def test_a_seq_that_is_none_is_an_error_of_its_sender() -> None:
    stranger = Stranger()
    for payload in (b"", b"x", b"-1", b"9" * 30):
        effects = stranger.say(P2PPacket(Module.TOPIC, TopicType.SEQ, 0, payload))
        assert reasons(effects) == ["bad_topic_seq"]


def test_other_types_are_errors_of_their_sender() -> None:
    stranger = Stranger()
    for packet in (P2PPacket(2, 9, 1), P2PPacket(2, 3, 1, b"1\ta"), P2PPacket(2, 2, 0)):
        assert reasons(stranger.say(packet)) == ["bad_topic_packet"]


def flood(stranger: Stranger, packets: list[P2PPacket], rounds: int) -> str:
    for _ in range(rounds):
        for effect in stranger.say(*packets):
            if isinstance(effect, CloseTransport):
                return effect.reason
            if isinstance(effect, RestTransport):
                stranger.wait(effect.seconds)
                stranger.feed(BytesReceived(1, b""))
    return ""


def test_a_flood_of_seqs_is_held_back_and_dropped_at_last() -> None:
    stranger = Stranger()
    same = [P2PPacket(Module.TOPIC, TopicType.SEQ, 0, b"0")] * 1000
    assert flood(stranger, same, 400) == "too_much_work"


def test_seqs_that_move_without_end_are_held_back_and_dropped_at_last() -> None:
    stranger = Stranger()
    up_and_down = [P2PPacket(2, TopicType.SEQ, 0, b"9"), P2PPacket(2, TopicType.SEQ, 0, b"8")]
    assert flood(stranger, up_and_down * 100, 100) == "too_much_work"
    assert stranger.machine.sizes()["questions"] <= 1


def test_who_asks_for_the_same_list_without_end_is_held_back_and_dropped_at_last() -> None:
    stranger = Stranger()
    stranger.machine.board.set("sdk", [f"topic-{number}" for number in range(1000)])
    asks = [P2PPacket(Module.TOPIC, TopicType.QUESTION, 7)] * 100
    assert flood(stranger, asks, 300) == "too_much_work"


def test_a_node_that_changes_its_topics_ten_times_a_second_is_not_held_back() -> None:
    stranger = Stranger()
    for seq in range(1, 301):
        (question,) = stranger.tell_seq(seq)
        payload = f"{seq}\tnumber-{seq}".encode()
        effects = answer(stranger, question.seq, payload)
        assert not any(isinstance(effect, RestTransport) for effect in effects)
        stranger.wait(0.1)
