"""Forged, replayed and stolen puts: who has no token of their own, or no key, changes nothing."""

from __future__ import annotations

import pytest

from rumormill.bep50.effects import Publish
from rumormill.bep50.wire.items import LARGEST_PUBLISHED_SEQ, LARGEST_SEQ
from rumormill.bep50.wire.krpc import PROTOCOL, Answer, Failure, Query, query_packet, read_packet
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Checked, Received, Verdict
from tests.helpers.bep50.siege import KEY, TOPIC, Siege, item, node_id, put_arguments

HOSTILE, OTHER = "192.0.2.66:6666", "192.0.2.77:7777"


# ---- tokens


def test_a_token_is_worth_nothing_at_another_address() -> None:
    siege = Siege()
    stolen = siege.token(OTHER)
    answer = siege.put(HOSTILE, item(1), token=stolen)
    assert isinstance(answer, Failure) and answer.code == PROTOCOL
    assert not siege.checks


@pytest.mark.parametrize(("age", "good"), [(299.0, True), (600.0, False), (86_400.0, False)])
def test_a_token_lives_for_five_to_ten_minutes(age: float, good: bool) -> None:
    siege = Siege()
    token = siege.token(HOSTILE)
    siege.now += age
    assert isinstance(siege.put(HOSTILE, item(1), token=token), Answer) == good


def test_a_token_of_another_node_is_worth_nothing() -> None:
    token = Siege(seed=7).token(HOSTILE)
    assert isinstance(Siege().put(HOSTILE, item(1), token=token), Failure)


def test_a_put_from_a_forged_address_cannot_bring_a_token_and_costs_no_signature() -> None:
    siege = Siege()
    for number in range(500):
        arguments = put_arguments(item(1 + number), number.to_bytes(8, "big"))
        answer = siege.ask(f"198.51.100.{number % 250}:{1024 + number}", "put", arguments)
        assert isinstance(answer, Failure)
    assert not siege.checks and siege.node.latest(TOPIC.text) is None


# ---- forged


def test_a_forged_put_does_not_keep_the_true_one_out() -> None:
    siege = Siege()
    siege.put(HOSTILE, item(1)._replace(signature=bytes(64)))
    assert isinstance(siege.put(OTHER, item(1)), Answer)
    assert siege.data() == [b"rain"]


def test_a_forged_put_under_check_does_not_keep_the_true_one_waiting() -> None:
    siege = Siege(answer_checks=False)
    forged = item(5)._replace(signature=bytes(64))
    assert siege.put(HOSTILE, forged) is None, "the answer comes after the check"
    assert siege.put(OTHER, item(5)) is None
    first, second = siege.checks
    assert (first.subject, second.subject) == (forged, item(5))
    siege.feed(Checked(second.token, Verdict.ACCEPT))
    assert siege.data() == [b"rain"]
    siege.feed(Checked(first.token, Verdict.FORGED))
    assert siege.node.latest(TOPIC.text) == item(5)
    assert siege.events(trace.REJECTED, peer=HOSTILE) and not siege.events(
        trace.REJECTED, peer=OTHER
    )


def test_a_verdict_that_comes_late_does_not_bring_an_older_value_back() -> None:
    siege = Siege(answer_checks=False)
    siege.put(HOSTILE, item(5, "older"))
    siege.put(OTHER, item(6, "newer"))
    older, newer = siege.checks
    siege.feed(Checked(newer.token, Verdict.ACCEPT))
    siege.feed(Checked(older.token, Verdict.ACCEPT))
    assert siege.node.latest(TOPIC.text) == item(6, "newer")
    assert siege.data() == [b"newer"]
    for neighbour in siege.neighbours.values():
        assert neighbour.puts == [item(6, "newer")]


def test_copies_wait_for_one_check_and_each_gets_its_answer() -> None:
    siege = Siege(answer_checks=False)
    peers = [f"198.51.100.{number}:1024" for number in range(1, 20)]
    for peer in peers:
        assert siege.put(peer, item(5)) is None
    (check,) = siege.checks
    siege.forget()
    siege.feed(Checked(check.token, Verdict.ACCEPT))
    answered = [each.peer for each in siege.sent if isinstance(read_packet(each.packet), Answer)]
    assert sorted(answered) == sorted(peers)
    assert len(siege.delivered) == 1


def test_a_forger_is_not_heard_for_a_while_and_others_are() -> None:
    siege = Siege(work_burst=0.05)
    token = siege.token(HOSTILE)
    for number in range(50):
        siege.put(HOSTILE, item(100 + number)._replace(signature=bytes(64)), token=token)
    assert len(siege.checks) <= 6, "its items cost signatures no more"
    assert isinstance(siege.put(OTHER, item(1)), Answer)
    siege.advance(120.0)
    assert isinstance(siege.put(HOSTILE, item(2)), Answer), "it is heard again"


def test_a_neighbour_that_forges_does_not_silence_the_others() -> None:
    siege = Siege(neighbours=3, work_burst=0.05)
    liar = next(iter(siege.neighbours.values()))
    token = siege.token(liar.peer)
    for number in range(50):
        siege.put(liar.peer, item(100 + number)._replace(signature=bytes(64)), token=token)
    assert len(siege.checks) <= 6
    del siege.neighbours[liar.peer]
    siege.goes_on()


# ---- replayed


def test_a_replayed_put_of_the_same_address_changes_nothing() -> None:
    siege = Siege()
    token = siege.token(HOSTILE)
    raw = query_packet(b"aa", "put", put_arguments(item(1), token), TOPIC.target, True)
    siege.say(HOSTILE, raw)
    siege.forget()
    for _ in range(20):
        siege.say(HOSTILE, raw)
    assert not siege.checks and siege.data() == []
    assert not any(neighbour.asked for neighbour in siege.neighbours.values())


def test_an_old_value_cannot_be_brought_back() -> None:
    siege = Siege()
    for seq in (1, 2, 3):
        siege.put(OTHER, item(seq, f"value {seq}"))
    siege.forget()
    for seq in (1, 2):
        assert isinstance(siege.put(HOSTILE, item(seq, f"value {seq}")), Failure)
    assert siege.node.latest(TOPIC.text) == item(3, "value 3")
    assert siege.data() == []


def test_a_flood_of_replays_is_slowed_down() -> None:
    siege = Siege(work_share=0.001, work_burst=0.002)
    token = siege.token(HOSTILE)
    siege.put(HOSTILE, item(9))
    siege.forget()
    answered = 0
    for seq in (8, 9):
        raw = query_packet(b"aa", "put", put_arguments(item(seq), token), TOPIC.target, True)
        answered += sum(len(siege.say(HOSTILE, raw)) for _ in range(500))
    assert answered <= 50
    assert len(siege.trace) <= 100
    siege.goes_on()


# ---- the end of numbers


def test_a_topic_that_has_used_up_its_numbers_says_so_to_its_publisher() -> None:
    siege = Siege(publisher=True)
    siege.put(HOSTILE, item(LARGEST_SEQ))
    with pytest.raises(LocalProtocolError, match="has used up its sequence numbers"):
        siege.feed(Publish(TOPIC.text, b"4:more"))


def test_numbers_that_other_implementations_cannot_count_are_not_published() -> None:
    siege = Siege(publisher=True)
    siege.put(HOSTILE, item(LARGEST_PUBLISHED_SEQ - 1))
    siege.feed(Publish(TOPIC.text, b"4:more"))
    latest = siege.node.latest(TOPIC.text)
    assert latest is not None and latest.seq == LARGEST_PUBLISHED_SEQ
    with pytest.raises(LocalProtocolError, match="has used up its sequence numbers"):
        siege.feed(Publish(TOPIC.text, b"4:more"))


# ---- under another's topic


def test_a_put_in_one_topic_cannot_touch_another() -> None:
    siege = Siege()
    other = KEY.item(b"other", 9, b"5:other")
    arguments = put_arguments(other, siege.token(HOSTILE))
    assert isinstance(siege.ask(HOSTILE, "put", arguments), Failure)
    assert isinstance(siege.ask(HOSTILE, "put", arguments, topic=other.target), Failure)
    assert siege.node.latest(TOPIC.text) is None


def test_the_sender_of_a_put_gets_no_place_without_an_answer() -> None:
    siege = Siege()
    arguments = put_arguments(item(1), siege.token(HOSTILE), node_id(50))
    siege.ask(HOSTILE, "put", arguments)
    asked = [read_packet(each.packet) for each in siege.sent if each.peer == HOSTILE]
    assert any(isinstance(packet, Query) for packet in asked), "it is asked back"
    siege.advance(10.0)
    assert HOSTILE not in siege.node.subscribers(TOPIC.text)


def test_a_sender_with_our_own_id_is_not_spoken_to() -> None:
    siege = Siege()
    arguments = put_arguments(item(1), siege.token(HOSTILE), siege.node.id)
    siege.forget()
    siege.feed(Received(HOSTILE, query_packet(b"aa", "put", arguments, TOPIC.target)))
    assert siege.sent == []
