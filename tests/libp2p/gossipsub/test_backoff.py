"""Backoff: whom not to graft again yet."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.libp2p.gossipsub import backoff as backoff_module
from rumormill.libp2p.gossipsub.backoff import LONGEST, Backoffs
from rumormill.libp2p.wire.rpc import Control, Prune, Rpc, Subscription
from tests.helpers.libp2p.workbench import Workbench, gossipsub


def pair(**parameters: Any) -> Workbench:
    """A node with one peer in its mesh of t."""
    bench = gossipsub(**parameters)
    bench.subscribe("t")
    bench.join("ann", "t")
    assert bench.pubsub.mesh("t") == ("ann",)
    bench.forget()
    return bench


def grafted_at(bench: Workbench, until: float) -> float | None:
    """When the node grafts ann, if it does before ``until``."""
    start = len(bench.effects)
    bench.run_until(until)
    for event in bench.effects[start:]:
        if getattr(event, "event", "") == trace.GRAFTED:
            return float(event.time)
    return None


# ---- the table


def test_a_pair_stays_apart_for_its_time() -> None:
    backoffs = Backoffs(slack=2.0)
    backoffs.add("t", "ann", 60, now=0.0)
    assert backoffs.active("t", "ann", 59.9)
    assert not backoffs.active("t", "ann", 60.0)
    assert not backoffs.active("u", "ann", 0.0)
    assert not backoffs.active("t", "bob", 0.0)


def test_we_ask_a_little_later_than_we_may() -> None:
    backoffs = Backoffs(slack=2.0)
    backoffs.add("t", "ann", 60, now=0.0)
    assert backoffs.too_early("t", "ann", 61.9)
    assert not backoffs.too_early("t", "ann", 62.0)
    assert not backoffs.too_early("t", "bob", 0.0)


def test_a_shorter_time_does_not_shorten_a_longer_one() -> None:
    backoffs = Backoffs(slack=0.0)
    backoffs.add("t", "ann", 60, now=0.0)
    backoffs.add("t", "ann", 10, now=1.0)
    assert backoffs.active("t", "ann", 59.0)
    backoffs.add("t", "ann", 60, now=2.0)
    assert backoffs.active("t", "ann", 61.0)


@pytest.mark.parametrize("seconds", [LONGEST + 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1])
def test_a_huge_time_counts_as_the_longest(seconds: int) -> None:
    backoffs = Backoffs(slack=0.0)
    backoffs.add("t", "ann", seconds, now=100.0)
    assert backoffs.active("t", "ann", 100.0 + LONGEST - 1)
    assert not backoffs.active("t", "ann", 100.0 + LONGEST)


def test_what_is_over_is_forgotten() -> None:
    backoffs = Backoffs(slack=2.0)
    backoffs.add("t", "ann", 10, now=0.0)
    backoffs.add("t", "bob", 20, now=0.0)
    backoffs.expire(11.0)
    assert len(backoffs) == 2, "the slack is not over"
    backoffs.expire(12.0)
    assert len(backoffs) == 1
    backoffs.expire(22.0)
    assert len(backoffs) == 0


def test_past_its_bound_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff_module, "MOST", 3)
    backoffs = Backoffs(slack=0.0)
    for peer in "abcd":
        backoffs.add("t", peer, 60, now=0.0)
    assert [backoffs.active("t", peer, 1.0) for peer in "abcd"] == [False, True, True, True]


# ---- in the mesh


def test_a_peer_that_pruned_us_is_not_grafted_again_within_its_backoff() -> None:
    bench = pair(prune_backoff=60)
    bench.prune("ann", "t", backoff=20)
    assert grafted_at(bench, 20.0) is None
    assert grafted_at(bench, 30.0) is not None


def test_a_prune_without_a_number_counts_with_our_own() -> None:
    bench = pair(prune_backoff=30, unsubscribe_backoff=5)
    bench.prune("ann", "t")
    assert grafted_at(bench, 30.0) is None
    assert grafted_at(bench, 35.0) is not None


def test_a_peer_that_we_pruned_is_not_grafted_again_within_our_backoff() -> None:
    bench = gossipsub(D=1, D_low=1, D_high=1, prune_backoff=30, unsubscribe_backoff=5)
    bench.subscribe("t")
    for peer in ("ann", "bob"):
        bench.join(peer, "t")
        bench.graft(peer, "t")
    bench.heartbeat()
    (kept,) = bench.pubsub.mesh("t")
    bench.leave(kept)
    assert grafted_at(bench, 30.0) is None
    assert grafted_at(bench, 35.0) is not None


def test_a_graft_within_the_backoff_is_refused_with_a_prune_and_counts_anew() -> None:
    bench = pair(prune_backoff=60)
    bench.prune("ann", "t")
    bench.run_until(50.0)
    bench.forget()
    bench.graft("ann", "t")
    assert bench.took_items("ann") == [("prune", "t")]
    assert bench.pubsub.mesh("t") == ()
    assert bench.events(trace.REJECTED, peer="ann", topic="t", reason="graft_in_backoff")
    bench.run_until(109.0)
    bench.graft("ann", "t")
    assert bench.pubsub.mesh("t") == (), "the first refusal began a new backoff"


def test_a_graft_after_the_backoff_is_welcome() -> None:
    bench = pair(prune_backoff=60)
    bench.prune("ann", "t")
    bench.run_until(60.0)
    bench.graft("ann", "t")
    assert bench.pubsub.mesh("t") == ("ann",)


def test_a_peer_that_subscribes_within_its_backoff_is_not_grafted_at_once() -> None:
    bench = pair()
    bench.prune("ann", "t")
    for wanted in (False, True):
        bench.say("ann", Rpc(subscriptions=(Subscription(wanted, "t"),)))
    assert bench.pubsub.mesh("t") == ()


def test_a_backoff_outlasts_the_connection() -> None:
    bench = pair()
    bench.prune("ann", "t")
    bench.leave("ann")
    bench.join("ann", "t")
    bench.run_until(10.0)
    assert bench.pubsub.mesh("t") == ()


def test_whoever_we_left_is_not_grafted_at_once_when_we_come_back() -> None:
    bench = pair(unsubscribe_backoff=10)
    bench.unsubscribe("t")
    bench.subscribe("t")
    assert bench.pubsub.mesh("t") == ()
    assert grafted_at(bench, 10.0) is None
    assert grafted_at(bench, 15.0) is not None


def test_a_peer_that_leaves_the_topic_is_backed_off_as_long_as_it_backs_off_itself() -> None:
    """PRUNE of the first version has no number; that its sender left stands in the same RPC."""
    bench = pair(prune_backoff=60, unsubscribe_backoff=10)
    control = Control(prune=(Prune("t"),))
    bench.say("ann", Rpc(subscriptions=(Subscription(False, "t"),), control=control))
    bench.run_until(5.0)
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "t"),)))
    assert bench.pubsub.mesh("t") == ()
    bench.run_until(10.0)
    bench.graft("ann", "t")
    assert bench.pubsub.mesh("t") == ("ann",)


def test_a_backoff_of_one_topic_says_nothing_of_another() -> None:
    bench = gossipsub()
    bench.subscribe("t", "u")
    bench.join("ann", "t", "u")
    bench.prune("ann", "t")
    assert bench.pubsub.mesh("u") == ("ann",)
    bench.graft("ann", "u")
    assert not bench.events(trace.REJECTED)


def test_a_prune_to_a_peer_of_the_first_version_carries_no_number() -> None:
    bench = pair()
    bench.unsubscribe("t")
    (rpc,) = bench.took("ann")
    assert rpc.control is not None
    assert rpc.control.prune == (Prune("t", None),)


def test_backoffs_are_forgotten_when_they_are_over() -> None:
    bench = pair(prune_backoff=60)
    bench.prune("ann", "t")
    assert bench.pubsub.sizes()["backoffs"] == 1
    bench.run_until(70.0)
    assert bench.pubsub.sizes()["backoffs"] == 0


@pytest.mark.parametrize("backoff", [(1 << 64) - 1, (1 << 63) - 1, 1 << 40])
def test_a_huge_backoff_locks_nobody_out_for_longer_than_an_hour(backoff: int) -> None:
    bench = pair()
    bench.prune("ann", "t", backoff=backoff)
    bench.run_until(LONGEST + 10.0)
    assert bench.pubsub.mesh("t") == ("ann",)
