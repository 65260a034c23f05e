"""Backoff: whom not to graft again yet."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import Unsubscribe
from rumormill.libp2p.gossipsub.mesh import backoff as backoff_module
from rumormill.libp2p.gossipsub.mesh.backoff import LONGEST, Backoffs
from rumormill.libp2p.wire import Control, Prune, Rpc, Subscription
from tests.helpers.libp2p.fake_standing import FakeStanding, judged
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


def prunes(bench: Workbench) -> list[Prune]:
    """What ann was told by PRUNE since this was last asked."""
    controls = [rpc.control for rpc in bench.took("ann") if rpc.control is not None]
    return [each for control in controls for each in control.of(Prune)]


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


def test_past_its_bound_each_new_one_costs_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first entry of a plain dict is behind all that were deleted before it: a walk each time,
    and so quadratic under churn. This table is never walked to make room."""
    walks: list[str] = []

    class Counting(OrderedDict[Any, Any]):
        def __iter__(self) -> Iterator[Any]:
            walks.append("walk")
            return super().__iter__()

    monkeypatch.setattr(backoff_module, "MOST", 10)
    monkeypatch.setattr(backoff_module, "OrderedDict", Counting, raising=False)
    backoffs = Backoffs(slack=0.0)
    for number in range(1000):
        backoffs.add("t", f"peer{number}", 60, now=0.0)
    assert len(backoffs) == 10
    assert backoffs.active("t", "peer999", 1.0)
    assert isinstance(backoffs._until, Counting)
    assert walks == []


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
    control = Control((Prune("t"),))
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


def test_who_leaves_says_for_how_long_it_stays_away() -> None:
    """A peer that is not told assumes a minute, and punishes us if we are back in twelve seconds;
    go, rust and js heed the number whatever version we speak."""
    bench = pair(unsubscribe_backoff=10)
    bench.unsubscribe("t")
    assert prunes(bench) == [Prune("t", 10)]


def test_who_prunes_says_for_how_long_to_stay_away() -> None:
    bench = pair(prune_backoff=40)
    bench.prune("ann", "t", backoff=5)
    bench.graft("ann", "t")
    assert prunes(bench) == [Prune("t", 40)]


def test_a_backoff_of_a_part_of_a_second_is_told_and_kept_as_a_whole_one() -> None:
    bench = pair(unsubscribe_backoff=1.2)
    bench.unsubscribe("t")
    assert prunes(bench) == [Prune("t", 2)]
    bench.subscribe("t")
    grafted = grafted_at(bench, 10.0)
    assert grafted is not None
    assert grafted >= 2.0


def test_who_comes_back_within_its_own_backoff_refuses_grafts_until_it_is_over() -> None:
    bench = pair(unsubscribe_backoff=10, prune_backoff=60)
    bench.unsubscribe("t")
    bench.subscribe("t")
    bench.run_until(5.0)
    bench.forget()
    bench.graft("ann", "t")
    assert prunes(bench) == [Prune("t", 60)], "the answer says until when"
    assert bench.pubsub.mesh("t") == ()
    bench.run_until(65.0)
    bench.graft("ann", "t")
    assert bench.pubsub.mesh("t") == ("ann",)


def test_who_shuts_down_leaves_without_a_word() -> None:
    bench = pair()
    bench.feed(Unsubscribe("t", quietly=True))
    assert bench.took("ann") == []
    assert bench.pubsub.topics == ()
    assert bench.pubsub.mesh("t") == ()
    assert bench.events(trace.UNSUBSCRIBED, topic="t")
    assert bench.events(trace.PRUNED, topic="t", peer="ann", by="us", reason="leave")
    assert bench.pubsub.sizes()["backoffs"] == 0


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


@pytest.mark.parametrize("backoff", [(1 << 64) - 1, (1 << 64) - 3601, (1 << 63) + 1])
def test_a_backoff_near_the_largest_number_breaks_no_later_heartbeat(backoff: int) -> None:
    """CVE-2026-33040: the largest overflowed the clock; CVE-2026-34219: one a little smaller did so
    when the heartbeat added its slack."""
    bench = pair()
    bench.now = 1.7e9
    bench.prune("ann", "t", backoff=backoff)
    for _ in range(3):
        bench.heartbeat()
    assert bench.pubsub.mesh("t") == ()
    assert bench.pubsub.sizes()["backoffs"] == 1
    bench.graft("ann", "t")
    bench.heartbeat()
    bench.run_until(1.7e9 + LONGEST + 10.0)
    assert bench.pubsub.mesh("t") == ("ann",)


def test_a_prune_with_backoff_zero_counts_as_one_without() -> None:
    bench = pair(prune_backoff=30, unsubscribe_backoff=5)
    bench.prune("ann", "t", backoff=0)
    assert grafted_at(bench, 30.0) is None


def test_backoffs_are_never_negative() -> None:
    backoffs = Backoffs(slack=0.0)
    backoffs.add("t", "ann", -5, now=10.0)
    assert not backoffs.active("t", "ann", 10.0)
    assert backoffs.until("t", "ann") == 10.0
    assert backoffs.until("t", "bob") < 0


# ---- GRAFT within a backoff


def judged_pair(**parameters: Any) -> tuple[Workbench, FakeStanding]:
    """A node that ann has just pruned."""
    bench, standing = judged(**parameters)
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.prune("ann", "t")
    bench.forget()
    return bench, standing


@pytest.mark.parametrize(
    ("seconds", "count"), [(0.0, 2), (9.9, 2), (10.0, 1), (59.0, 1), (60.0, 0)]
)
def test_a_graft_within_the_backoff_costs_more_the_sooner_it_comes(
    seconds: float, count: int
) -> None:
    bench, standing = judged_pair()
    bench.run_until(seconds)
    bench.graft("ann", "t")
    assert standing.penalties == ([("ann", "graft_in_backoff", count)] if count else [])


def test_the_seconds_in_which_it_costs_twice_are_the_users_choice() -> None:
    bench, standing = judged_pair(graft_flood_threshold=0)
    bench.graft("ann", "t")
    assert standing.penalties == [("ann", "graft_in_backoff", 1)]


def test_each_refusal_begins_the_time_anew_in_which_it_costs_twice() -> None:
    bench, standing = judged_pair()
    bench.run_until(30.0)
    bench.graft("ann", "t")
    bench.run_until(35.0)
    bench.graft("ann", "t")
    assert [count for _, _, count in standing.penalties] == [1, 2]


def test_who_grafts_within_a_backoff_is_told_of_no_other_peers() -> None:
    bench, _ = judged_pair()
    bench.router._mesh.introduce = lambda topic, peer: b"\x12\x00"  # type: ignore[attr-defined]
    bench.graft("ann", "t")
    assert prunes(bench) == [Prune("t", 60)]


def test_a_graft_of_a_peer_in_the_mesh_costs_nothing_whatever_its_backoff() -> None:
    bench, standing = judged()
    bench.subscribe("t")
    bench.join("ann", "t")
    for _ in range(5):
        bench.graft("ann", "t")
    assert standing.penalties == []
    assert bench.pubsub.mesh("t") == ("ann",)
