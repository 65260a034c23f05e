"""Gossip: IHAVE to those outside the mesh, IWANT for what we lack."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.libp2p.pubsub.topics.message_id import LONGEST_MESSAGE_ID
from rumormill.libp2p.wire import Control, IHave, IWant, Rpc
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, gossipsub, origin_id, signed

RAIN = signed("author", "t", b"rain", 1)


def listening(mesh: int = 0, outside: int = 0, **parameters: Any) -> Workbench:
    """A node with so many peers in its mesh of t, and so many that listen outside of it."""
    bench = gossipsub(**{"D": mesh, "D_low": mesh, "D_high": mesh, "D_lazy": 6, **parameters})
    bench.subscribe("t")
    for index in range(mesh):
        bench.join(f"mesh{index}", "t")
    for index in range(outside):
        bench.join(f"outside{index}", "t")
    assert len(bench.pubsub.mesh("t")) == mesh
    bench.forget()
    return bench


def ihave_to(bench: Workbench) -> dict[str, set[bytes]]:
    """Who was told of which ids since this was last asked."""
    found: dict[str, set[bytes]] = {}
    for peer in list(bench.sent):
        for rpc in bench.took(peer):
            for each in (rpc.control or Control()).of(IHave):
                found.setdefault(peer, set()).update(each.message_ids)
    return found


def asked(bench: Workbench, peer: str) -> list[bytes]:
    """What we asked of the peer since this was last asked."""
    return [
        message_id
        for rpc in bench.took(peer)
        for each in (rpc.control or Control()).of(IWant)
        for message_id in each.message_ids
    ]


# ---- telling


def test_the_heartbeat_tells_d_lazy_peers_outside_the_mesh_what_we_have() -> None:
    bench = listening(mesh=4, outside=20, D_lazy=5)
    bench.send_message("mesh0", RAIN)
    bench.forget()
    bench.heartbeat()
    told = ihave_to(bench)
    assert len(told) == 5
    assert all(peer.startswith("outside") for peer in told)
    assert set(map(frozenset, told.values())) == {frozenset([origin_id(RAIN)])}


def test_everyone_outside_is_told_if_there_are_no_more_than_d_lazy() -> None:
    bench = listening(mesh=2, outside=3)
    bench.publish("t")
    bench.forget()
    bench.heartbeat()
    assert set(ihave_to(bench)) == {"outside0", "outside1", "outside2"}


def test_whom_we_tell_is_left_to_chance_each_time() -> None:
    bench = listening(outside=20, D_lazy=3)
    bench.publish("t")
    groups = set()
    for _ in range(3):
        bench.heartbeat()
        groups.add(frozenset(ihave_to(bench)))
    assert len(groups) > 1


def test_a_message_is_told_about_for_three_heartbeats() -> None:
    bench = listening(outside=2)
    bench.publish("t")
    told = []
    for _ in range(5):
        bench.heartbeat()
        told.append(bool(ihave_to(bench)))
    assert told == [True, True, True, False, False]


def test_with_nothing_new_nobody_is_told_anything() -> None:
    bench = listening(mesh=2, outside=5)
    for _ in range(3):
        bench.heartbeat()
    assert bench.sent == {}


def test_only_listeners_of_the_topic_are_told() -> None:
    bench = listening()
    bench.subscribe("u")
    bench.join("of t", "t")
    bench.join("of u", "u")
    bench.publish("t")
    bench.forget()
    bench.heartbeat()
    assert set(ihave_to(bench)) == {"of t"}


def test_floodsub_peers_are_told_nothing() -> None:
    bench = listening()
    bench.join("floods", "t", protocol=FLOODSUB)
    bench.publish("t")
    bench.forget()
    bench.heartbeat()
    assert bench.sent == {}


def test_with_d_lazy_zero_there_is_no_gossip() -> None:
    bench = listening(outside=5, D_lazy=0)
    bench.publish("t")
    bench.forget()
    bench.heartbeat()
    assert bench.sent == {}


@pytest.mark.parametrize("verdict", ["reject", "ignore", "forged"])
def test_what_was_not_accepted_is_never_told_about(verdict: str) -> None:
    bench = listening(outside=3)
    bench.answer_checks = False
    bench.send_message("outside0", RAIN)
    bench.answer(bench.open_checks.pop(), verdict)
    bench.forget()
    bench.heartbeat()
    assert bench.sent == {}
    bench.iwant("outside1", origin_id(RAIN))
    assert bench.sent == {}


def test_we_tell_no_more_ids_than_allowed_and_each_peer_others() -> None:
    bench = listening(outside=3, max_ihave_ids=10)
    for _ in range(100):
        bench.publish("t")
    bench.forget()
    bench.heartbeat()
    told = ihave_to(bench)
    assert [len(ids) for ids in told.values()] == [10, 10, 10]
    assert len(set(map(frozenset, told.values()))) == 3


def test_gossip_rides_on_a_message_that_waits_for_the_same_peer() -> None:
    bench = listening(outside=2)
    bench.send_message("outside0", RAIN)
    bench.writable("outside1", False)
    bench.iwant("outside1", origin_id(RAIN))
    bench.heartbeat()
    bench.writable("outside1", True)
    (rpc,) = bench.took("outside1")
    assert [each.raw for each in rpc.messages] == [RAIN.raw]
    assert rpc.control is not None
    assert rpc.control.of(IHave)[0].message_ids == (origin_id(RAIN),)


# ---- asking


def test_we_ask_for_what_we_lack() -> None:
    bench = listening(outside=1)
    bench.ihave("outside0", "t", b"one", b"two")
    assert asked(bench, "outside0") == [b"one", b"two"]


def test_what_we_ask_for_is_traced_message_by_message() -> None:
    bench = listening(outside=1)
    bench.ihave("outside0", "t", b"one", b"two")
    assert [(event.peer, event.message_id) for event in bench.events(trace.ASKED)] == [
        ("outside0", b"one"),
        ("outside0", b"two"),
    ]


def test_we_do_not_ask_for_what_we_have_seen() -> None:
    bench = listening(outside=2)
    bench.send_message("outside0", RAIN)
    bench.ihave("outside1", "t", origin_id(RAIN), b"new")
    assert asked(bench, "outside1") == [b"new"]


def test_we_do_not_ask_for_what_is_under_check() -> None:
    bench = listening(outside=2)
    bench.answer_checks = False
    bench.send_message("outside0", RAIN)
    bench.ihave("outside1", "t", origin_id(RAIN))
    assert asked(bench, "outside1") == []


def test_we_do_not_ask_for_messages_of_topics_we_are_not_in() -> None:
    bench = listening(outside=1)
    bench.ihave("outside0", "unknown", b"one")
    assert asked(bench, "outside0") == []
    assert bench.events(trace.IGNORED, peer="outside0", reason="ihave_unknown_topic")


def test_what_we_asked_for_arrives_and_is_delivered_and_passed_on() -> None:
    bench = listening(mesh=1, outside=1)
    bench.ihave("outside0", "t", origin_id(RAIN))
    bench.forget()
    bench.send_message("outside0", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]
    assert bench.took_items("mesh0") == [("message", RAIN.raw)]


def test_within_a_heartbeat_we_ask_only_one_peer_for_the_same_message() -> None:
    bench = listening(outside=2)
    bench.ihave("outside0", "t", b"id")
    bench.ihave("outside1", "t", b"id", b"other")
    assert asked(bench, "outside0") == [b"id"]
    assert asked(bench, "outside1") == [b"other"]


def test_if_it_did_not_come_we_ask_the_next_who_tells_of_it() -> None:
    bench = listening(outside=2)
    bench.ihave("outside0", "t", b"id")
    bench.heartbeat()
    bench.ihave("outside1", "t", b"id")
    assert asked(bench, "outside1") == [b"id"]


def test_a_peer_that_told_of_it_and_did_not_send_it_is_not_asked_at_once_again() -> None:
    bench = listening(outside=2)
    bench.ihave("outside0", "t", b"id")
    bench.heartbeat()
    bench.took("outside0")
    bench.ihave("outside0", "t", b"id", b"other")
    assert asked(bench, "outside0") == [b"other"]
    bench.heartbeat()
    bench.ihave("outside0", "t", b"id")
    assert asked(bench, "outside0") == [b"id"], "it may have had its reasons"


def test_a_floodsub_peers_control_is_not_answered() -> None:
    bench = listening()
    bench.join("floods", "t", protocol=FLOODSUB)
    receipt = bench.publish("t")
    bench.forget()
    bench.ihave("floods", "t", b"id")
    bench.iwant("floods", receipt.id)
    assert bench.sent == {}


# ---- asking, under a budget


def test_of_too_many_ihave_in_one_heartbeat_the_rest_is_ignored() -> None:
    bench = listening(outside=1, max_ihave_messages=3)
    for number in range(5):
        bench.ihave("outside0", "t", b"%d" % number)
    assert asked(bench, "outside0") == [b"0", b"1", b"2"]
    assert len(bench.events(trace.IGNORED, peer="outside0", reason="too_many_ihave")) == 2
    bench.heartbeat()
    bench.ihave("outside0", "t", b"next")
    assert asked(bench, "outside0") == [b"next"]


def test_one_peers_ihave_budget_is_not_anothers() -> None:
    bench = listening(outside=2, max_ihave_messages=1)
    for number in range(3):
        bench.ihave("outside0", "t", b"%d" % number)
    bench.ihave("outside1", "t", b"other")
    assert asked(bench, "outside1") == [b"other"]


def test_ihave_of_many_topics_in_one_rpc_count_as_one() -> None:
    """A peer that shares more than ten topics with us tells of all of them at each heartbeat."""
    topics = [f"topic{number}" for number in range(30)]
    bench = gossipsub()
    bench.subscribe(*topics)
    bench.join("ann")
    bench.forget()
    for _ in range(2):
        ihave = tuple(IHave(topic, (f"{topic} {bench.now}".encode(),)) for topic in topics)
        bench.say("ann", Rpc(control=Control(ihave)))
        assert len(asked(bench, "ann")) == 30
        bench.heartbeat()
    assert not bench.events(trace.IGNORED)


def test_we_ask_for_no_more_ids_than_allowed_and_chance_decides_which() -> None:
    bench = listening(outside=1, max_ihave_ids=10)
    ids = [b"%03d" % number for number in range(100)]
    bench.ihave("outside0", "t", *ids)
    wanted = asked(bench, "outside0")
    assert len(wanted) == len(set(wanted)) == 10
    assert wanted != ids[:10]
    assert bench.events(trace.DROPPED, what="iwant", reason="too_many_ids", count=90)
    bench.ihave("outside0", "t", b"more")
    assert asked(bench, "outside0") == []
    bench.heartbeat()
    bench.ihave("outside0", "t", b"more")
    assert asked(bench, "outside0") == [b"more"]


def test_an_id_that_is_too_long_to_be_one_is_not_asked_for() -> None:
    bench = listening(outside=1)
    bench.ihave("outside0", "t", bytes(LONGEST_MESSAGE_ID), bytes(LONGEST_MESSAGE_ID + 1), b"")
    assert asked(bench, "outside0") == [bytes(LONGEST_MESSAGE_ID)]
    assert bench.events(trace.IGNORED, peer="outside0", reason="bad_message_id")


def test_a_peers_budget_is_forgotten_with_the_peer() -> None:
    bench = listening(outside=1)
    bench.ihave("outside0", "t", b"id")
    assert bench.pubsub.sizes()["gossip_budgets"] == 1
    bench.leave("outside0")
    assert bench.pubsub.sizes()["gossip_budgets"] == 0


# ---- answering


def sent_messages(bench: Workbench, peer: str) -> list[bytes]:
    return [each[1] for each in bench.took_items(peer) if each[0] == "message"]


def test_a_message_that_is_asked_for_is_sent_from_the_cache() -> None:
    bench = listening(outside=2)
    bench.send_message("outside0", RAIN)
    bench.iwant("outside1", origin_id(RAIN))
    assert sent_messages(bench, "outside1") == [RAIN.raw]


def test_a_message_can_be_asked_for_during_five_heartbeats() -> None:
    bench = listening(outside=1, max_iwant_sends=100)
    bench.publish("t")
    receipt = bench.publish("t")
    answered = []
    for _ in range(6):
        bench.took("outside0")
        bench.iwant("outside0", receipt.id)
        answered.append(len(sent_messages(bench, "outside0")))
        bench.heartbeat()
    assert answered == [1, 1, 1, 1, 1, 0]


def test_what_is_not_cached_is_not_answered() -> None:
    bench = listening(outside=1)
    bench.iwant("outside0", b"unknown")
    assert bench.sent == {}
    assert bench.events(trace.IGNORED, peer="outside0", message_id=b"unknown")


def test_the_same_message_is_sent_to_the_same_peer_three_times_at_most() -> None:
    bench = listening(outside=2)
    receipt = bench.publish("t")
    bench.forget()
    for _ in range(5):
        bench.iwant("outside0", receipt.id)
    assert len(sent_messages(bench, "outside0")) == 3
    assert len(bench.events(trace.IGNORED, peer="outside0", reason="iwant_too_often")) == 2
    bench.iwant("outside1", receipt.id)
    assert len(sent_messages(bench, "outside1")) == 1


def test_an_id_named_many_times_in_one_rpc_is_answered_once() -> None:
    bench = listening(outside=1)
    receipt = bench.publish("t")
    bench.forget()
    bench.say("outside0", Rpc(control=Control((IWant((receipt.id,) * 5),) * 3)))
    assert len(sent_messages(bench, "outside0")) == 1


def test_several_ids_are_answered_together() -> None:
    bench = listening(outside=1)
    receipts = [bench.publish("t", b"%d" % number) for number in range(3)]
    bench.forget()
    bench.iwant("outside0", *(each.id for each in receipts), b"unknown")
    assert len(sent_messages(bench, "outside0")) == 3


def test_a_cache_that_had_to_forget_early_says_so() -> None:
    bench = listening(outside=1, mcache_bytes=5000)
    for _ in range(10):
        bench.publish("t", bytes(1000))
    bench.heartbeat()
    (event,) = bench.events(trace.DROPPED, what="cached_message")
    assert event.fields["reason"] == "mcache_full"
    assert event.fields["count"] == 10 - bench.pubsub.sizes()["cached"]
