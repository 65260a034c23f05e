"""Promises: who tells of a message and does not send it pays for that."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import Verdict
from rumormill.libp2p.effects import HeldBack, StreamLost, StreamRenewed
from rumormill.libp2p.wire import Rpc
from rumormill.libp2p.wire.message import WireMessage
from tests.helpers.libp2p.fake_standing import FakeStanding, judged
from tests.helpers.libp2p.workbench import Workbench, origin_id, signed

RAIN = signed("author", "t", b"rain", 1)
BROKEN = "broken_promise"


def promised(*ids: bytes, **parameters: Any) -> tuple[Workbench, FakeStanding]:
    """A node that has asked ann for what she told of."""
    bench, standing = judged(**parameters)
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.join("bob", "t")
    bench.ihave("ann", "t", *(ids or (origin_id(RAIN),)))
    assert bench.pubsub.sizes()["promises"] == 1
    return bench, standing


def test_a_message_that_does_not_come_within_three_seconds_is_a_broken_promise() -> None:
    bench, standing = promised()
    bench.run_until(2.9)
    assert standing.penalties == []
    bench.run_until(4.2)
    assert standing.penalties == [("ann", BROKEN, 1)]
    (event,) = bench.events(trace.REJECTED, peer="ann", reason=BROKEN, count=1)
    assert event.message_id == origin_id(RAIN)
    bench.run_until(60.0)
    assert len(standing.penalties) == 1
    assert bench.pubsub.sizes()["promises"] == 0


def test_the_seconds_are_the_users_choice() -> None:
    bench, standing = promised(iwant_followup=20.0)
    bench.run_until(19.9)
    assert standing.penalties == []
    bench.run_until(21.2)
    assert standing.penalties == [("ann", BROKEN, 1)]


def test_of_one_iwant_one_id_is_watched_and_which_is_chance() -> None:
    watched = set()
    for seed in range(20):
        bench, standing = promised(*(b"%d" % number for number in range(10)), seed=seed)
        bench.run_until(5.0)
        assert standing.penalties == [("ann", BROKEN, 1)]
        watched.add(bench.events(trace.REJECTED, reason=BROKEN)[0].message_id)
    assert len(watched) > 3


def test_each_iwant_is_a_promise_of_its_own() -> None:
    bench, standing = promised(b"one")
    bench.ihave("ann", "t", b"two")
    bench.ihave("ann", "t", b"three")
    bench.run_until(5.0)
    assert standing.penalties == [("ann", BROKEN, 3)]


@pytest.mark.parametrize("sender", ["ann", "bob"])
def test_a_message_that_came_from_whomever_keeps_the_promise(sender: str) -> None:
    bench, standing = promised()
    bench.run_until(2.0)
    bench.send_message(sender, RAIN)
    bench.run_until(10.0)
    assert standing.penalties == []


def test_a_message_that_is_still_being_checked_has_come() -> None:
    bench, standing = promised(answer_checks=False)
    bench.send_message("ann", RAIN)
    bench.run_until(10.0)
    assert standing.penalties == []


@pytest.mark.parametrize("verdict", [Verdict.REJECT, Verdict.IGNORE, Verdict.OVERLOADED])
def test_a_message_that_we_did_not_want_was_sent_all_the_same(verdict: str) -> None:
    bench, standing = promised(answer_checks=False)
    bench.send_message("ann", RAIN)
    bench.answer(bench.open_checks.pop(), verdict)
    bench.run_until(10.0)
    assert standing.penalties == []


def test_a_forgery_keeps_no_promise() -> None:
    bench, standing = promised()
    bench.send_message("ann", WireMessage(RAIN.raw[:-1] + b"x"))
    bench.run_until(10.0)
    assert standing.penalties == [("ann", BROKEN, 1)]


@pytest.mark.parametrize(
    "happens",
    [
        [HeldBack("ann", "message_ids", 5.0)],
        [StreamLost("ann"), StreamRenewed("ann")],
    ],
)
def test_who_was_not_read_or_not_asked_has_broken_nothing(happens: list[Any]) -> None:
    bench, standing = promised()
    for each in happens:
        bench.feed(each)
    assert bench.pubsub.sizes()["promises"] == 0
    bench.run_until(10.0)
    assert standing.penalties == []


def test_who_left_owes_nothing() -> None:
    bench, standing = promised()
    bench.leave("ann")
    assert bench.pubsub.sizes()["promises"] == 0
    bench.join("ann", "t")
    bench.run_until(10.0)
    assert standing.penalties == []


def test_what_was_ignored_frees_its_sender_of_that_message_only() -> None:
    bench, standing = promised(b"other")
    bench.answer_checks = False
    bench.ihave("ann", "t", origin_id(RAIN))
    bench.send_message("ann", RAIN)
    bench.answer(bench.open_checks.pop(), Verdict.OVERLOADED)
    bench.run_until(10.0)
    assert standing.penalties == [("ann", BROKEN, 1)]


def test_promises_are_no_more_than_ihave_that_are_heeded() -> None:
    bench, standing = promised(b"first", iwant_followup=3.0, max_ihave_messages=10)
    for number in range(1000):
        bench.ihave("ann", "t", b"%d" % number)
    assert bench.pubsub.sizes()["promises"] == 10
    bench.run_until(10.0)
    assert standing.penalties == [("ann", BROKEN, 10)]


def test_what_we_do_not_ask_for_is_no_promise() -> None:
    bench, _ = judged()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.send_message("ann", RAIN)
    bench.ihave("ann", "t", origin_id(RAIN))
    bench.ihave("ann", "unknown", b"id")
    bench.say("ann", Rpc())
    assert bench.pubsub.sizes()["promises"] == 0
