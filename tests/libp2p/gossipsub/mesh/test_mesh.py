"""The mesh: how it is formed, kept and given up."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.libp2p.wire import Control, Graft, Prune, Rpc, Subscription
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, gossipsub, signed


def mesh_of(bench: Workbench, topic: str = "t") -> set[str]:
    return set(bench.pubsub.mesh(topic))


def told(bench: Workbench, kind: type[Graft] | type[Prune], topic: str = "t") -> set[str]:
    """The peers that were told GRAFT or PRUNE; looks at everything that was sent so far."""
    return {
        peer
        for peer in list(bench.sent)
        for rpc in bench.sent[peer]
        for each in (rpc.control or Control()).of(kind)
        if each.topic == topic
    }


def in_mesh(count: int, **parameters: Any) -> Workbench:
    """A node with ``count`` peers in its mesh, none of which it chose itself."""
    bench = gossipsub(**{"graft_on_subscribe": False, **parameters})
    bench.subscribe("t")
    # Beyond D_high only those that we dialed are let in.
    for peer in bench.join_many(count, "t", outbound=True):
        bench.graft(peer, "t")
    assert len(mesh_of(bench)) == count
    bench.forget()
    return bench


# ---- JOIN


def test_joining_takes_d_peers_of_the_topic_and_grafts_them() -> None:
    bench = gossipsub()
    bench.join_many(20, "t")
    bench.subscribe("t")
    assert len(mesh_of(bench)) == 6
    assert told(bench, Graft) == mesh_of(bench)
    grafted = bench.events(trace.GRAFTED, topic="t", by="us", reason="join")
    assert {each.peer for each in grafted} == mesh_of(bench)


def test_joining_takes_everyone_if_there_are_fewer() -> None:
    bench = gossipsub()
    bench.join_many(3, "t")
    bench.subscribe("t")
    assert len(mesh_of(bench)) == 3


def test_joining_takes_only_peers_that_listen_and_speak_gossipsub() -> None:
    bench = gossipsub()
    bench.join("listens", "t")
    bench.join("elsewhere", "other")
    bench.join("floods", "t", protocol=FLOODSUB)
    bench.subscribe("t")
    assert mesh_of(bench) == {"listens"}


def test_whom_joining_takes_is_left_to_chance() -> None:
    def chosen(seed: int) -> frozenset[str]:
        bench = gossipsub(seed=seed)
        bench.join_many(20, "t")
        bench.subscribe("t")
        return frozenset(mesh_of(bench))

    assert len({chosen(seed) for seed in range(10)}) > 5


def test_joining_begins_with_the_fanout() -> None:
    bench = gossipsub()
    bench.join_many(20, "t")
    bench.publish("t")
    fanout = set(bench.pubsub.router.fanout("t"))  # type: ignore[attr-defined]
    assert len(fanout) == 6
    bench.subscribe("t")
    assert mesh_of(bench) == fanout
    assert told(bench, Graft) == fanout
    assert bench.pubsub.router.fanout("t") == ()  # type: ignore[attr-defined]


def test_each_topic_has_a_mesh_of_its_own() -> None:
    bench = gossipsub()
    bench.join("ann", "t", "u")
    bench.join("bob", "u")
    bench.subscribe("t", "u")
    assert mesh_of(bench, "t") == {"ann"}
    assert mesh_of(bench, "u") == {"ann", "bob"}
    bench.prune("ann", "t")
    assert mesh_of(bench, "u") == {"ann", "bob"}


# ---- LEAVE


def test_leaving_prunes_the_whole_mesh_and_forgets_it() -> None:
    bench = in_mesh(4)
    bench.unsubscribe("t")
    assert told(bench, Prune) == {f"peer{index}" for index in range(4)}
    assert mesh_of(bench) == set()
    assert len(bench.events(trace.PRUNED, topic="t", by="us", reason="leave")) == 4


def test_leaving_tells_everyone_but_prunes_only_the_mesh() -> None:
    bench = in_mesh(2)
    bench.join("outside", "t")
    bench.unsubscribe("t")
    assert bench.took_items("peer0") == [("unsubscribe", "t"), ("prune", "t")]
    assert bench.took_items("outside")[-1] == ("unsubscribe", "t")


def test_after_leaving_messages_are_neither_delivered_nor_relayed() -> None:
    bench = in_mesh(3)
    bench.unsubscribe("t")
    bench.forget()
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert bench.delivered() == []
    assert bench.sent == {}


# ---- GRAFT


def test_a_peers_graft_takes_it_into_our_mesh_without_an_answer() -> None:
    bench = in_mesh(0)
    bench.join("ann", "t")
    bench.took("ann")
    bench.graft("ann", "t")
    assert mesh_of(bench) == {"ann"}
    assert bench.took("ann") == []
    assert bench.events(trace.GRAFTED, peer="ann", topic="t", by="peer")


def test_a_graft_from_a_peer_in_the_mesh_changes_nothing() -> None:
    bench = in_mesh(1)
    bench.graft("peer0", "t")
    assert mesh_of(bench) == {"peer0"}
    assert not bench.events(trace.GRAFTED)
    assert bench.took("peer0") == []


def test_a_graft_without_a_subscription_counts_as_one() -> None:
    bench = in_mesh(0)
    bench.join("ann")
    bench.graft("ann", "t")
    assert mesh_of(bench) == {"ann"}
    assert list(bench.pubsub.subscribers("t")) == ["ann"]


def test_a_graft_for_a_topic_we_are_not_in_gets_no_answer() -> None:
    """As peers of today do: an answer would let anyone ask for any topic."""
    bench = in_mesh(0)
    bench.join("ann", "unknown")
    bench.took("ann")
    bench.graft("ann", "unknown")
    assert bench.took("ann") == []
    assert bench.pubsub.mesh("unknown") == ()
    assert bench.events(trace.IGNORED, peer="ann", reason="graft_unknown_topic")


def test_a_graft_for_a_topic_we_are_not_in_can_be_answered_as_first_specified() -> None:
    bench = gossipsub(answer_unknown_graft=True)
    bench.join("ann", "unknown")
    bench.graft("ann", "unknown")
    assert bench.took_items("ann") == [("prune", "unknown")]


def test_grafts_of_several_topics_in_one_rpc_all_count() -> None:
    bench = gossipsub()
    bench.subscribe("a", "b", "c")
    bench.join("ann")
    bench.say("ann", Rpc(control=Control(tuple(map(Graft, "abcx")))))
    assert [bench.pubsub.mesh(topic) for topic in "abcx"] == [("ann",)] * 3 + [()]


def test_a_floodsub_peer_cannot_graft_itself_into_the_mesh() -> None:
    bench = in_mesh(0)
    bench.join("floods", "t", protocol=FLOODSUB)
    bench.graft("floods", "t")
    assert mesh_of(bench) == set()
    assert bench.events(trace.IGNORED, peer="floods", reason="graft_from_floodsub_peer")


def test_grafts_of_peers_we_dialed_are_accepted_beyond_d_high_until_the_heartbeat() -> None:
    bench = in_mesh(20)
    bench.heartbeat()
    assert len(mesh_of(bench)) == 6
    assert len(told(bench, Prune)) == 14


# ---- PRUNE


def test_a_peers_prune_takes_it_out_of_our_mesh_without_an_answer() -> None:
    bench = in_mesh(2)
    bench.prune("peer0", "t")
    assert mesh_of(bench) == {"peer1"}
    assert bench.took("peer0") == []
    assert bench.events(trace.PRUNED, peer="peer0", by="peer", reason="pruned")


def test_a_prune_of_a_topic_we_are_not_in_is_nothing() -> None:
    bench = in_mesh(1)
    bench.prune("peer0", "unknown")
    assert mesh_of(bench) == {"peer0"}
    assert bench.took("peer0") == []


def test_graft_and_prune_of_one_rpc_are_taken_in_that_order() -> None:
    bench = in_mesh(0)
    bench.join("ann", "t")
    bench.say("ann", Rpc(control=Control((Graft("t"), Prune("t")))))
    assert mesh_of(bench) == set()


# ---- peers that come and go


def test_a_peer_that_disconnects_leaves_the_mesh_without_a_word() -> None:
    bench = in_mesh(3)
    bench.leave("peer1")
    assert mesh_of(bench) == {"peer0", "peer2"}
    assert bench.took("peer1") == []
    assert bench.events(trace.PRUNED, peer="peer1", by="peer", reason="left")


def test_a_peer_that_unsubscribes_leaves_the_mesh() -> None:
    bench = in_mesh(3)
    bench.say("peer1", Rpc(subscriptions=(Subscription(False, "t"),)))
    assert mesh_of(bench) == {"peer0", "peer2"}
    assert bench.events(trace.PRUNED, peer="peer1", by="peer", reason="unsubscribed")


def test_a_peer_that_subscribes_is_grafted_at_once_while_there_is_room() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    for peer in bench.join_many(8, "t"):
        expected = ["subscribe"] if peer in ("peer6", "peer7") else ["subscribe", "graft"]
        assert [each[0] for each in bench.took_items(peer)] == expected
    assert mesh_of(bench) == {f"peer{index}" for index in range(6)}


def test_grafting_at_once_can_be_switched_off() -> None:
    bench = gossipsub(graft_on_subscribe=False)
    bench.subscribe("t")
    bench.join_many(3, "t")
    assert mesh_of(bench) == set()
    bench.heartbeat()
    assert len(mesh_of(bench)) == 3


def test_a_peer_that_subscribes_elsewhere_or_floods_is_not_grafted() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join("elsewhere", "u")
    bench.join("floods", "t", protocol=FLOODSUB)
    assert mesh_of(bench) == set()
    bench.run_until(5.0)
    assert mesh_of(bench) == set()


# ---- maintenance


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, 6), (3, 6), (4, 4), (5, 5), (6, 6), (7, 7), (11, 11), (12, 6), (13, 6), (30, 6)],
)
def test_the_heartbeat_acts_below_d_low_and_from_d_high_on_only(size: int, expected: int) -> None:
    bench = in_mesh(size)
    for index in range(10):
        bench.join(f"outside{index}", "t")
    before = mesh_of(bench)
    bench.heartbeat()
    after = mesh_of(bench)
    assert len(after) == expected
    assert before <= after or after <= before
    assert told(bench, Graft) == after - before
    assert told(bench, Prune) == before - after


def test_a_mesh_that_cannot_be_filled_takes_whom_there_is() -> None:
    bench = in_mesh(1)
    bench.join("outside", "t")
    bench.heartbeat()
    assert mesh_of(bench) == {"peer0", "outside"}


def test_whom_the_heartbeat_prunes_is_left_to_chance() -> None:
    def kept(seed: int) -> frozenset[str]:
        bench = in_mesh(13, seed=seed)
        bench.heartbeat()
        return frozenset(mesh_of(bench))

    assert len({kept(seed) for seed in range(10)}) > 5


def test_a_mesh_that_is_well_is_left_alone() -> None:
    bench = in_mesh(6)
    bench.join_many(0)
    bench.run_until(30.0)
    assert not told(bench, Graft)
    assert not told(bench, Prune)
    assert len(mesh_of(bench)) == 6


def test_with_all_degrees_zero_there_is_never_a_mesh() -> None:
    bench = gossipsub(D=0, D_low=0, D_high=0)
    bench.join_many(5, "t")
    bench.subscribe("t")
    bench.run_until(5.0)
    assert mesh_of(bench) == set()
    bench.graft("peer0", "t")
    bench.run_until(7.0)
    assert mesh_of(bench) == set()
    assert told(bench, Prune) == {"peer0"}


# ---- what it is for


def test_messages_go_to_the_mesh_and_not_to_other_listeners() -> None:
    bench = in_mesh(6)
    bench.join("outside", "t")
    bench.forget()
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert set(bench.sent) == {f"peer{index}" for index in range(1, 6)}
    assert set(bench.publish("t").peers) == {f"peer{index}" for index in range(6)}


def test_a_message_from_outside_the_mesh_is_passed_on_to_the_mesh() -> None:
    bench = in_mesh(3)
    bench.join("outside", "t")
    bench.forget()
    bench.send_message("outside", signed("author", "t", b"rain", 1))
    assert set(bench.sent) == {"peer0", "peer1", "peer2"}


def test_with_an_empty_mesh_our_own_message_goes_to_listeners_all_the_same() -> None:
    bench = gossipsub(graft_on_subscribe=False)
    bench.subscribe("t")
    bench.join_many(10, "t")
    assert len(bench.publish("t").peers) == 6
