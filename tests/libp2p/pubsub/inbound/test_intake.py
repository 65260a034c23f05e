"""From a message on the wire to a delivery, or to the reason why not."""

from __future__ import annotations

import pytest

from rumormill.core import trace
from rumormill.core.machine import Check, Checked, CheckedMany, Drop, Send, Verdict
from rumormill.core.protobuf import bytes_field
from rumormill.core.transport import HoldPeer
from rumormill.libp2p.pubsub.parameters import TopicRules
from rumormill.libp2p.wire import Rpc
from rumormill.libp2p.wire.message import WireMessage, build_message, decode_message
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import (
    Workbench,
    floodsub,
    gossipsub,
    identity,
    origin_id,
    signed,
)

RAIN = signed("author", "t", b"rain", 1)


def forged(genuine: WireMessage = RAIN, mark: int = 1) -> WireMessage:
    """The same id, other data, and a signature that cannot fit."""
    message = build_message(
        data=b"lie %d" % mark,
        topics=genuine.topics,
        sender_id=genuine.sender_id,
        sequence=genuine.sequence,
    )
    return decode_message(message.raw + bytes_field(5, bytes(64)))


def listening(*peers: str, **parameters: object) -> Workbench:
    """A floodsub node that listens to t, as do these peers."""
    bench = floodsub(**parameters)
    bench.subscribe("t")
    for peer in peers:
        bench.join(peer, "t")
    bench.forget()
    return bench


def messages_to(bench: Workbench, peer: str) -> list[bytes]:
    return [each[1] for each in bench.took_items(peer) if each[0] == "message"]


# ---- delivery


def test_a_message_is_delivered_with_author_id_and_sequence() -> None:
    bench = listening("ann")
    bench.run_until(3.0)
    bench.send_message("ann", RAIN)
    (message,) = bench.delivered()
    assert (message.topic, message.data, message.network) == ("t", b"rain", "bench")
    assert message.sender == identity("author").peer
    assert (message.id, message.received_from, message.received_at) == (origin_id(RAIN), "ann", 3.0)
    assert message.fields == {"sequence": 1}


def test_a_message_is_passed_on_byte_for_byte() -> None:
    unknown = bytes_field(99, b"from the future")
    message = build_message(
        data=b"d", topics=("t",), sender_id=identity("author").peer_id, sequence=bytes(8)
    )
    message = decode_message(message.raw + unknown)
    signature = identity("author").sign(message.signed_payload())
    message = decode_message(message.raw + bytes_field(5, signature))
    bench = listening("ann", "bob")
    bench.send_message("ann", message)
    assert messages_to(bench, "bob") == [message.raw]


def test_a_message_is_never_passed_back_to_its_sender_nor_to_its_author() -> None:
    author = identity("author").peer
    bench = listening("ann", "bob", author)
    bench.send_message("ann", RAIN)
    assert [messages_to(bench, peer) for peer in ("ann", "bob", author)] == [[], [RAIN.raw], []]


def test_a_second_copy_is_a_duplicate_and_goes_nowhere() -> None:
    bench = listening("ann", "bob", "cyd")
    bench.send_message("ann", RAIN)
    bench.forget()
    bench.send_message("bob", RAIN)
    assert bench.delivered() == []
    assert bench.took("cyd") == []
    assert bench.events(trace.DUPLICATE, peer="bob", message_id=origin_id(RAIN))
    assert not bench.of(Check), "a duplicate costs no signature"


def test_a_message_is_a_duplicate_until_the_seen_time_is_over() -> None:
    bench = listening("ann", seen_ttl=120.0)
    bench.send_message("ann", RAIN)
    bench.run_until(119.0)
    bench.send_message("ann", RAIN)
    assert len(bench.delivered()) == 1
    bench.run_until(122.0)
    bench.send_message("ann", RAIN)
    assert len(bench.delivered()) == 2


def test_a_message_of_a_topic_we_are_not_in_is_ignored() -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", signed("author", "other", b"x", 1))
    assert bench.events(trace.IGNORED, topic="other", reason="not_subscribed")
    assert not bench.of(Check)
    assert bench.pubsub.sizes()["seen"] == 0


def test_our_own_message_that_comes_back_is_not_delivered_again() -> None:
    bench = listening("ann", "bob")
    bench.publish("t", b"mine")
    ((_, raw),) = bench.took_items("ann")
    bench.took("bob")
    bench.send_message("ann", decode_message(raw))
    assert len(bench.delivered()) == 1
    assert bench.events(trace.IGNORED, peer="ann", reason="own_message")
    assert bench.took("bob") == []


def test_a_message_that_claims_to_be_ours_is_never_delivered() -> None:
    bench = listening("ann")
    lie = decode_message(
        build_message(
            data=b"lie", topics=("t",), sender_id=bench.key.peer_id, sequence=bytes(8)
        ).raw
        + bytes_field(5, bytes(64))
    )
    bench.send_message("ann", lie)
    assert bench.delivered() == []
    assert not bench.of(Check)


# ---- several topics


def test_a_message_on_several_topics_is_delivered_on_each_that_we_listen_to() -> None:
    bench = listening("ann")
    bench.subscribe("u")
    bench.send_message("ann", signed("author", ("t", "u", "v"), b"rain", 1))
    assert [each.topic for each in bench.delivered()] == ["t", "u"]


def test_a_message_on_several_topics_is_passed_on_once_to_each_peer() -> None:
    bench = listening("ann")
    bench.join("bob", "t", "u")
    bench.join("cyd", "u")
    bench.subscribe("u")
    bench.forget()
    message = signed("author", ("t", "u"), b"rain", 1)
    bench.send_message("ann", message)
    assert messages_to(bench, "bob") == [message.raw]
    assert messages_to(bench, "cyd") == [message.raw]


def test_a_message_whose_first_topic_we_do_not_know_is_still_delivered() -> None:
    bench = listening("ann")
    bench.send_message("ann", signed("author", ("unknown", "t"), b"rain", 1))
    assert [each.topic for each in bench.delivered()] == ["t"]


# ---- verdicts


@pytest.mark.parametrize(
    ("verdict", "event"),
    [(Verdict.REJECT, trace.REJECTED), (Verdict.IGNORE, trace.IGNORED)],
)
def test_what_a_validator_refuses_is_neither_delivered_nor_passed_on(
    verdict: str, event: str
) -> None:
    bench = listening("ann", "bob")
    bench.verdicts[b"rain"] = verdict
    bench.send_message("ann", RAIN)
    assert bench.delivered() == []
    assert messages_to(bench, "bob") == []
    assert bench.events(event, peer="ann", message_id=origin_id(RAIN), reason="validator")


@pytest.mark.parametrize("verdict", [Verdict.REJECT, Verdict.IGNORE])
def test_what_a_validator_refused_once_is_not_checked_again(verdict: str) -> None:
    bench = listening("ann", "bob")
    bench.verdicts[b"rain"] = verdict
    bench.send_message("ann", RAIN)
    bench.send_message("bob", RAIN)
    assert len(bench.of(Check)) == 1
    assert bench.events(trace.DUPLICATE, peer="bob")


def test_a_verdict_may_say_why() -> None:
    bench = listening("ann", answer_checks=False)
    bench.send_message("ann", RAIN)
    bench.feed(Checked(bench.open_checks[0].token, Verdict.REJECT, "spam"))
    assert bench.events(trace.REJECTED, reason="spam")


def test_a_forged_message_is_rejected_and_not_marked_as_seen() -> None:
    bench = listening("ann", "bob")
    bench.send_message("ann", forged())
    assert bench.events(trace.REJECTED, peer="ann", reason="bad_signature")
    bench.send_message("bob", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_a_message_that_nobody_had_time_for_may_come_again() -> None:
    bench = listening("ann", "bob", answer_checks=False)
    bench.send_message("ann", RAIN)
    bench.answer(bench.open_checks.pop(), Verdict.OVERLOADED)
    assert bench.events(trace.DROPPED, peer="ann", reason="overloaded", what="message")
    bench.send_message("bob", RAIN)
    bench.answer(bench.open_checks.pop())
    assert len(bench.delivered()) == 1


def test_a_verdict_counts_once_and_an_unknown_token_not_at_all() -> None:
    bench = listening("ann", answer_checks=False)
    bench.send_message("ann", RAIN)
    check = bench.open_checks.pop()
    for _ in range(2):
        bench.answer(check)
    bench.feed(Checked(12345, Verdict.ACCEPT))
    assert len(bench.delivered()) == 1


def test_many_verdicts_at_once_count_like_each_of_them_alone() -> None:
    def effects(at_once: bool) -> list[object]:
        bench = listening("ann", "bob", answer_checks=False, max_rejections=2)
        messages = [signed("author", "t", b"%d" % number, number) for number in range(6)]
        bench.say("ann", Rpc(messages=tuple(messages)))
        bench.forget()
        verdicts = [Verdict.ACCEPT, Verdict.REJECT, Verdict.IGNORE, Verdict.OVERLOADED]
        verdicts += [Verdict.REJECT, Verdict.FORGED]
        tokens = [each.token for each in bench.open_checks]
        answers = [Checked(*pair) for pair in zip(tokens, verdicts, strict=True)]
        for answer in [CheckedMany(answers)] if at_once else answers:
            bench.feed(answer)
        return [each for each in bench.effects if not isinstance(each, Send)]

    assert effects(at_once=True) == effects(at_once=False)
    assert Drop("ann", "too_many_rejections") in effects(at_once=True)


def test_a_message_is_delivered_though_its_sender_left_during_the_check() -> None:
    bench = listening("ann", "bob", answer_checks=False)
    bench.send_message("ann", RAIN)
    bench.leave("ann")
    bench.answer(bench.open_checks.pop())
    assert len(bench.delivered()) == 1
    bench.flush()
    assert messages_to(bench, "bob") == [RAIN.raw]


def test_a_message_is_not_delivered_if_we_unsubscribed_during_the_check() -> None:
    bench = listening("ann", answer_checks=False)
    bench.send_message("ann", RAIN)
    bench.unsubscribe("t")
    bench.answer(bench.open_checks.pop())
    assert bench.delivered() == []


def test_a_message_accepted_without_a_look_at_its_author_does_no_harm() -> None:
    """A driver that checks nothing must not make the machine raise."""
    bench = listening("ann", "bob", answer_checks=False)
    raw = build_message(data=b"d", topics=("t",), sender_id=b"nobody", sequence=bytes(8)).raw
    bench.send_message("ann", decode_message(raw + bytes_field(5, b"signature")))
    bench.answer(bench.open_checks.pop(), Verdict.ACCEPT)
    assert bench.delivered() == []
    assert bench.events(trace.REJECTED, peer="ann", reason="bad_peer_id")


# ---- copies during a check


def test_copies_that_arrive_during_the_check_cost_no_second_check() -> None:
    bench = listening("ann", "bob", "cyd", answer_checks=False)
    for peer in ("ann", "bob"):
        bench.send_message(peer, RAIN)
    assert len(bench.open_checks) == 1
    bench.answer(bench.open_checks.pop())
    bench.flush()
    assert len(bench.delivered()) == 1
    assert [len(messages_to(bench, peer)) for peer in ("ann", "bob", "cyd")] == [0, 0, 1]


def test_a_forged_copy_before_the_true_one_does_not_keep_it_out() -> None:
    bench = listening("liar", "bob", answer_checks=False)
    bench.send_message("liar", forged())
    bench.send_message("bob", RAIN)
    assert len(bench.open_checks) == 1
    bench.answer(bench.open_checks.pop())
    bench.answer(bench.open_checks.pop())
    assert [each.data for each in bench.delivered()] == [b"rain"]
    assert [each.peer for each in bench.events(trace.REJECTED)] == ["liar"]


def test_nobody_gets_a_message_back_that_waited_behind_a_forged_one() -> None:
    bench = listening("liar", "bob", "cyd", "dan", answer_checks=False)
    bench.send_message("liar", forged())
    for peer in ("bob", "cyd"):
        bench.send_message(peer, RAIN)
    while bench.open_checks:
        bench.answer(bench.open_checks.pop())
    bench.flush()
    sent = {peer: len(messages_to(bench, peer)) for peer in ("liar", "bob", "cyd", "dan")}
    assert sent == {"liar": 1, "bob": 0, "cyd": 0, "dan": 1}


def test_of_many_forged_copies_each_sender_is_named() -> None:
    bench = listening(*"abcd", answer_checks=False)
    for mark, peer in enumerate("abcd"):
        bench.send_message(peer, forged(mark=mark))
    while bench.open_checks:
        bench.answer(bench.open_checks.pop())
    assert [each.peer for each in bench.events(trace.REJECTED, reason="bad_signature")] == [*"abcd"]
    assert bench.pubsub.sizes()["checks"] == 0


def test_a_flood_of_forged_copies_by_one_peer_leaves_room_for_the_true_one() -> None:
    bench = listening("liar", "bob", answer_checks=False)
    for mark in range(100):
        bench.send_message("liar", forged(mark=mark))
    bench.send_message("bob", RAIN)
    while bench.open_checks:
        bench.answer(bench.open_checks.pop(0))
    assert [each.data for each in bench.delivered()] == [b"rain"]
    assert len(bench.events(trace.DROPPED, peer="liar", reason="copies_full")) == 99


# ---- shape


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (build_message(data=b"d", topics=("t",)), "missing_signature"),
        (
            decode_message(build_message(data=b"d", topics=("t",)).raw + bytes_field(5, b"s")),
            "missing_author",
        ),
        (
            decode_message(
                build_message(data=b"d", topics=("t",), sender_id=b"a").raw + bytes_field(5, b"s")
            ),
            "missing_sequence",
        ),
    ],
)
def test_an_unsigned_message_in_a_signed_topic_is_rejected_without_a_check(
    message: WireMessage, reason: str
) -> None:
    bench = listening("ann")
    bench.send_message("ann", message)
    assert bench.events(trace.REJECTED, peer="ann", topic="t", reason=reason)
    assert not bench.of(Check)


# Bytes of an RPC that go reads and writes by default.
GO_RPC = 1024 * 1024


def message_that_fills_an_rpc() -> WireMessage:
    """The largest signed message that go can carry: in an RPC of 1 MiB, to the last byte."""
    smaller = Rpc(messages=(signed("author", "t", bytes(1_000_000), 1),))
    around = len(encode_rpc(smaller)) - 1_000_000
    message = signed("author", "t", bytes(GO_RPC - around), 1)
    assert len(encode_rpc(Rpc(messages=(message,)))) == GO_RPC
    return message


def test_a_message_as_large_as_go_carries_is_delivered_and_passed_on() -> None:
    bench = listening("ann", "bob")
    message = message_that_fills_an_rpc()
    bench.send_message("ann", message)
    assert [each.data for each in bench.delivered()] == [message.data]
    assert messages_to(bench, "bob") == [message.raw]
    assert not bench.events(trace.REJECTED)


def test_an_rpc_larger_than_go_carries_costs_its_sender() -> None:
    bench = listening("ann")
    message = signed("author", "t", message_that_fills_an_rpc().data + b"x", 1)
    bench.send_message("ann", message)
    assert [each.reason for each in bench.of(Drop)] == ["frame_too_large"]


def unsigned_by(author: str) -> WireMessage:
    """As go sends it under StrictNoSign, unless it is told WithNoAuthor."""
    sender = identity(author).peer_id
    return build_message(data=b"rain", topics=("t",), sender_id=sender, sequence=bytes(8))


def test_an_author_without_proof_is_rejected_and_the_trace_says_how_to_take_it() -> None:
    bench = listening("ann", signing="StrictNoSign")
    bench.send_message("ann", unsigned_by("author"))
    (event,) = bench.events(trace.REJECTED, reason="unexpected_author")
    assert "unsigned_authors=true" in str(event.fields["detail"])


@pytest.mark.parametrize(
    "settings",
    [
        {"signing": "StrictNoSign", "unsigned_authors": True},
        {"topic_rules": {"t": TopicRules(signing="StrictNoSign", unsigned_authors=True)}},
    ],
)
def test_an_author_without_proof_is_taken_on_request_and_not_shown(
    settings: dict[str, object],
) -> None:
    bench = listening("ann", "bob", **settings)
    message = unsigned_by("author")
    bench.send_message("ann", message)
    (delivered,) = bench.delivered()
    assert (delivered.data, delivered.sender) == (b"rain", None)
    assert messages_to(bench, "bob") == [message.raw]
    signature = bytes_field(5, bytes(64))
    bench.send_message("ann", decode_message(message.raw + signature))
    assert bench.events(trace.REJECTED, reason="unexpected_signature")


def test_one_topic_may_refuse_the_authors_that_the_others_take() -> None:
    rules = {"t": TopicRules(unsigned_authors=False)}
    bench = listening("ann", signing="StrictNoSign", unsigned_authors=True, topic_rules=rules)
    bench.send_message("ann", unsigned_by("author"))
    assert bench.delivered() == []


def test_a_signed_message_in_an_unsigned_topic_is_rejected() -> None:
    bench = listening("ann", signing="StrictNoSign")
    bench.send_message("ann", RAIN)
    assert bench.events(trace.REJECTED, peer="ann", reason="unexpected_signature")
    bench.send_message("ann", build_message(data=b"plain", topics=("t",)))
    (message,) = bench.delivered()
    assert (message.data, message.sender, dict(message.fields)) == (b"plain", None, {})


def test_each_topic_may_have_its_own_policy() -> None:
    bench = listening("ann", topic_rules={"open": TopicRules(signing="StrictNoSign")})
    bench.subscribe("open")
    bench.send_message("ann", RAIN)
    bench.send_message("ann", build_message(data=b"plain", topics=("open",)))
    assert [each.data for each in bench.delivered()] == [b"rain", b"plain"]
    bench.send_message("ann", signed("author", "open", b"x", 2))
    bench.send_message("ann", build_message(data=b"x", topics=("t",)))
    assert [each.fields["reason"] for each in bench.events(trace.REJECTED)] == [
        "unexpected_signature",
        "missing_signature",
    ]


def test_a_message_must_fit_the_policy_of_every_topic_that_it_names() -> None:
    bench = listening("ann", topic_rules={"open": TopicRules(signing="StrictNoSign")})
    bench.send_message("ann", signed("author", ("t", "open"), b"x", 1))
    assert bench.delivered() == []
    assert bench.events(trace.REJECTED, reason="unexpected_signature")


def test_a_message_above_its_topics_size_is_rejected() -> None:
    bench = listening("ann", topic_rules={"t": TopicRules(max_message_size=4)})
    bench.send_message("ann", signed("author", "t", b"1234", 1))
    bench.send_message("ann", signed("author", "t", b"12345", 2))
    assert [each.data for each in bench.delivered()] == [b"1234"]
    assert bench.events(trace.REJECTED, peer="ann", reason="too_large")


def test_one_rejected_message_does_not_cost_the_connection() -> None:
    bench = listening("ann")
    bench.send_message("ann", forged())
    assert not bench.of(Drop)


# ---- ids


def test_the_users_id_function_decides_what_is_the_same_message() -> None:
    bench = listening("ann", message_id=lambda message: message.data[:1])
    for data, sequence in ((b"a1", 1), (b"a2", 2), (b"b1", 3)):
        bench.send_message("ann", signed("author", "t", data, sequence))
    assert [each.data for each in bench.delivered()] == [b"a1", b"b1"]


def test_each_topic_may_have_its_own_id_function() -> None:
    by_data = TopicRules(message_id="sha256")
    bench = listening("ann", topic_rules={"t": by_data})
    bench.subscribe("u")
    for topic in ("t", "u"):
        for sequence in (1, 2):
            bench.send_message("ann", signed("author", topic, topic.encode(), sequence))
    assert [each.topic for each in bench.delivered()] == ["t", "u", "u"]


# ---- floods of checks


def many(count: int) -> Rpc:
    return Rpc(messages=tuple(signed("author", "t", b"x", number) for number in range(count)))


def test_checks_are_bounded_in_all() -> None:
    bench = listening("ann", "bob", answer_checks=False, max_checks=5)
    bench.say("ann", many(4))
    bench.say("bob", Rpc(messages=tuple(signed("bob", "t", b"x", n) for n in range(4))))
    assert bench.pubsub.sizes()["checks"] == 5
    assert len(bench.events(trace.DROPPED, peer="bob", reason="checks_full")) == 3


def test_checks_are_bounded_for_each_peer_so_that_others_have_room() -> None:
    bench = listening("ann", "bob", answer_checks=False, max_checks_per_peer=3)
    bench.say("ann", many(5))
    bench.send_message("bob", signed("bob", "t", b"x", 1))
    assert len(bench.events(trace.DROPPED, peer="ann", reason="checks_full")) == 2
    assert not bench.events(trace.DROPPED, peer="bob")
    assert bench.pubsub.sizes()["checks"] == 4


def test_a_message_dropped_for_want_of_room_may_come_again() -> None:
    bench = listening("ann", answer_checks=False, max_checks_per_peer=1)
    bench.say("ann", many(2))
    bench.answer(bench.open_checks.pop())
    bench.say("ann", many(2))
    bench.answer(bench.open_checks.pop())
    assert len(bench.delivered()) == 2


def test_a_peer_with_many_checks_is_held_back_and_let_go_again() -> None:
    bench = listening("ann", answer_checks=False, hold_checks_per_peer=4)
    bench.say("ann", many(3))
    assert not bench.of(HoldPeer)
    bench.say("ann", many(6))
    assert bench.of(HoldPeer) == [HoldPeer("ann", True)]
    answered = 0
    while len(bench.of(HoldPeer)) == 1:
        bench.answer(bench.open_checks.pop())
        answered += 1
    assert bench.of(HoldPeer) == [HoldPeer("ann", True), HoldPeer("ann", False)]
    assert answered == 4, "at half of what it takes to be held"


def test_bytes_under_check_are_bounded_in_all_and_for_each_peer() -> None:
    bench = listening("ann", "bob", "cyd", answer_checks=False, max_check_bytes=10_000)
    for peer in ("ann", "bob", "cyd"):
        large = tuple(signed(peer, "t", bytes(1000), number) for number in range(8))
        bench.say(peer, Rpc(messages=large))
    assert bench.pubsub.sizes()["check_bytes"] < 10_000 + 1200
    dropped = bench.events(trace.DROPPED, reason="checks_full")
    assert [sum(each.peer == peer for each in dropped) for peer in ("ann", "bob", "cyd")] == [
        3, 4, 8,
    ]  # fmt: skip
    while bench.open_checks:
        bench.answer(bench.open_checks.pop())
    assert bench.pubsub.sizes()["check_bytes"] == 0
    assert [state.check_bytes for state in bench.pubsub.peers.values()] == [0, 0, 0]


def test_a_peer_with_large_messages_under_check_is_held_back() -> None:
    bench = listening("ann", answer_checks=False, max_check_bytes=32_000)
    bench.send_message("ann", signed("author", "t", bytes(500), 1))
    assert not bench.of(HoldPeer)
    bench.send_message("ann", signed("author", "t", bytes(500), 2))
    assert bench.of(HoldPeer) == [HoldPeer("ann", True)]
    bench.answer(bench.open_checks.pop())
    bench.answer(bench.open_checks.pop())
    assert bench.of(HoldPeer)[-1] == HoldPeer("ann", False)


def test_copies_and_forgeries_give_back_every_place_they_took() -> None:
    bench = listening("liar", "bob", "cyd", answer_checks=False)
    bench.send_message("liar", forged())
    for peer in ("bob", "cyd"):
        bench.send_message(peer, RAIN)
    while bench.open_checks:
        bench.answer(bench.open_checks.pop())
    assert [state.checks for state in bench.pubsub.peers.values()] == [0, 0, 0]


def test_past_its_bound_the_seen_cache_forgets_and_says_so() -> None:
    bench = listening("ann", max_seen=3)
    bench.say("ann", many(5))
    assert bench.pubsub.sizes()["seen"] == 3
    assert [each.fields["count"] for each in bench.events(trace.DROPPED, what="seen_id")] == [1, 1]


def test_gossipsub_checks_like_floodsub() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join("liar", "t")
    bench.join("bob", "t")
    bench.send_message("liar", forged())
    bench.send_message("bob", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]
