"""Upkeep: outbound quotas, negative scores, the best that stay, better ones that come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.machine import Drop, Peer, Verdict
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.wire import Control, Prune, WireMessage
from tests.helpers.libp2p.fake_standing import FakeStanding, JudgingRouter, judged
from tests.helpers.libp2p.workbench import Workbench, gossipsub, signed


def mesh_of(bench: Workbench) -> set[str]:
    return set(bench.pubsub.mesh("t"))


def meshed(inbound: int, outbound: int, **parameters: Any) -> tuple[Workbench, FakeStanding]:
    """A node whose mesh has peers that dialed us (``in0``...) and that we dialed (``out0``...)."""
    bench, standing = judged(**{"graft_on_subscribe": False, **parameters})
    bench.subscribe("t")
    for index in range(inbound):
        bench.join(f"in{index}", "t")
        bench.graft(f"in{index}", "t")
    for index in range(outbound):
        bench.join(f"out{index}", "t", outbound=True)
        bench.graft(f"out{index}", "t")
    assert len(mesh_of(bench)) == inbound + outbound
    bench.forget()
    return bench, standing


def prunes(bench: Workbench, peer: str) -> list[Prune]:
    controls = [rpc.control or Control() for rpc in bench.took(peer)]
    return [each for control in controls for each in control.of(Prune)]


# ---- outbound quota


@pytest.mark.parametrize("seed", range(20))
def test_of_too_many_peers_d_out_that_we_dialed_stay(seed: int) -> None:
    bench, _ = meshed(10, 2, seed=seed, D_out=2)
    bench.heartbeat()
    assert len(mesh_of(bench)) == 6
    assert {"out0", "out1"} <= mesh_of(bench)


@pytest.mark.parametrize("seed", range(5))
def test_the_quota_goes_before_the_best_scores(seed: int) -> None:
    bench, standing = meshed(10, 3, seed=seed, D=6, D_low=4, D_out=3, D_score=6)
    standing.scores = {f"in{index}": 10.0 + index for index in range(10)}
    bench.heartbeat()
    assert mesh_of(bench) == {"out0", "out1", "out2", "in9", "in8", "in7"}


def test_whom_we_dialed_goes_too_if_there_are_more_than_the_quota() -> None:
    kept = set()
    for seed in range(10):
        bench, _ = meshed(4, 8, seed=seed, D_score=0)
        bench.heartbeat()
        kept.add(sum(peer.startswith("out") for peer in mesh_of(bench)))
    assert len(mesh_of(bench)) == 6
    assert len(kept) > 1, "beyond the quota it is left to chance"


def test_a_mesh_of_strangers_gets_peers_that_we_dialed_besides() -> None:
    bench, _ = meshed(6, 0)
    for index in range(5):
        bench.join(f"out{index}", "t", outbound=True)
    bench.heartbeat()
    assert len(mesh_of(bench)) == 8
    grafted = bench.events(trace.GRAFTED, by="us", reason="outbound_quota")
    assert len(grafted) == 2
    bench.heartbeat()
    assert len(mesh_of(bench)) == 8, "and no more"


def test_the_quota_takes_nobody_that_does_not_listen_is_in_backoff_or_misbehaved() -> None:
    bench, standing = meshed(6, 0)
    bench.join("elsewhere", "u", outbound=True)
    bench.join("pruned", "t", outbound=True)
    bench.join("bad", "t", outbound=True)
    bench.prune("pruned", "t")
    standing.scores["bad"] = -1.0
    bench.heartbeat()
    assert not bench.events(trace.GRAFTED)


def test_with_d_out_zero_who_dialed_does_not_matter() -> None:
    bench, _ = meshed(6, 0, D_out=0)
    bench.join("out", "t", outbound=True)
    bench.heartbeat()
    assert not bench.events(trace.GRAFTED)


# ---- GRAFT at D_high


def test_a_full_mesh_refuses_who_comes_to_us_and_takes_whom_we_dialed() -> None:
    bench, standing = meshed(12, 0)
    bench.join("stranger", "t")
    bench.join("dialed", "t", outbound=True)
    bench.graft("stranger", "t")
    bench.graft("dialed", "t")
    assert "stranger" not in mesh_of(bench)
    assert "dialed" in mesh_of(bench)
    assert prunes(bench, "stranger") == [Prune("t", 60)]
    assert bench.events(trace.IGNORED, peer="stranger", reason="graft_mesh_full")
    assert not standing.penalties, "a full mesh is nobody's fault"


def test_who_was_refused_by_a_full_mesh_has_to_wait() -> None:
    bench, standing = meshed(12, 0)
    bench.join("stranger", "t")
    bench.graft("stranger", "t")
    for peer in ("in0", "in1"):
        bench.leave(peer)
    bench.graft("stranger", "t")
    assert "stranger" not in mesh_of(bench)
    assert standing.penalties == [("stranger", "graft_in_backoff", 2)]


# ---- the best stay


@pytest.mark.parametrize("seed", range(5))
def test_of_too_many_the_d_score_best_stay_and_chance_decides_on_others(seed: int) -> None:
    bench, standing = meshed(12, 0, seed=seed, D_score=4)
    standing.scores = {f"in{index}": float(index) for index in range(12)}
    bench.heartbeat()
    assert {"in8", "in9", "in10", "in11"} <= mesh_of(bench)
    assert len(mesh_of(bench)) == 6


def test_those_beside_the_best_are_not_always_the_next_best() -> None:
    others = set()
    for seed in range(10):
        bench, standing = meshed(12, 0, seed=seed, D_score=4)
        standing.scores = {f"in{index}": float(index) for index in range(12)}
        bench.heartbeat()
        others |= mesh_of(bench) - {"in8", "in9", "in10", "in11"}
    assert others & {"in0", "in1", "in2", "in3"}


@settings(max_examples=50)
@given(
    inbound=st.integers(0, 12),
    outbound=st.integers(0, 12),
    scores=st.lists(st.integers(0, 5), min_size=24, max_size=24),
    seed=st.integers(0, 1000),
)
def test_a_mesh_that_was_reduced_has_d_peers_the_best_and_the_quota(
    inbound: int, outbound: int, scores: list[int], seed: int
) -> None:
    bench, standing = meshed(inbound, outbound, seed=seed)
    names = [*(f"in{index}" for index in range(12)), *(f"out{index}" for index in range(12))]
    standing.scores = dict(zip(names, map(float, scores), strict=True))
    before = mesh_of(bench)
    bench.heartbeat()
    after = mesh_of(bench)
    if len(before) < 12:
        assert after == before
        return
    assert after < before
    assert len(after) == 6
    assert sum(peer.startswith("out") for peer in after) >= min(2, outbound)
    best = sorted((standing.of(peer) for peer in before), reverse=True)
    kept = sorted((standing.of(peer) for peer in after), reverse=True)
    assert kept[:4] == best[:4]


# ---- negative scores


def test_who_has_a_negative_score_is_pruned_by_the_heartbeat() -> None:
    bench, standing = meshed(6, 0)
    standing.scores["in3"] = -0.1
    bench.heartbeat()
    assert "in3" not in mesh_of(bench)
    assert prunes(bench, "in3") == [Prune("t", 60)]
    assert bench.events(trace.PRUNED, peer="in3", by="us", reason="negative_score")


def test_who_has_a_negative_score_is_never_grafted() -> None:
    bench, standing = judged()
    standing.scores = {"bad": -1.0}
    bench.join("bad", "t")
    bench.subscribe("t")
    assert mesh_of(bench) == set(), "not by joining"
    bench.unsubscribe("t")
    bench.publish("t")
    bench.subscribe("t")
    assert mesh_of(bench) == set(), "not out of the fanout"
    bench.leave("bad")
    bench.join("bad", "t")
    assert mesh_of(bench) == set(), "not by subscribing"
    bench.run_until(100.0)
    assert mesh_of(bench) == set(), "not by the heartbeat"
    standing.scores = {}
    bench.run_until(102.0)
    assert mesh_of(bench) == {"bad"}, "nothing but its score was in the way"


def test_a_graft_of_a_negative_score_is_refused_with_prune_and_backoff() -> None:
    bench, standing = meshed(1, 0)
    standing.scores["bad"] = -1.0
    bench.join("bad", "t")
    bench.graft("bad", "t")
    assert "bad" not in mesh_of(bench)
    assert prunes(bench, "bad") == [Prune("t", 60)]
    assert bench.events(trace.REJECTED, peer="bad", reason="graft_negative_score")
    standing.scores["bad"] = 5.0
    bench.graft("bad", "t")
    assert "bad" not in mesh_of(bench), "it is in backoff now"


def test_a_score_of_zero_is_good_enough() -> None:
    bench, standing = meshed(4, 0)
    standing.scores = dict.fromkeys(mesh_of(bench), 0.0)
    bench.heartbeat()
    assert len(mesh_of(bench)) == 4


# ---- opportunistic grafting


def mediocre(**parameters: Any) -> tuple[Workbench, FakeStanding]:
    """A mesh of six that do little good, with others outside that do more."""
    bench, standing = meshed(6, 0, D_out=0, **parameters)
    standing.thresholds = standing.thresholds.__class__(opportunistic_graft=5.0)
    standing.scores = {f"in{index}": 1.0 + index / 10 for index in range(6)}
    for index in range(4):
        bench.join(f"good{index}", "t")
        standing.scores[f"good{index}"] = 10.0
    return bench, standing


def grafted_for_it(bench: Workbench) -> list[str | None]:
    return [each.peer for each in bench.events(trace.GRAFTED, reason="opportunistic")]


def test_a_mediocre_mesh_gets_two_better_peers_every_sixty_heartbeats() -> None:
    bench, _ = mediocre()
    for _ in range(59):
        bench.heartbeat()
    assert grafted_for_it(bench) == []
    bench.heartbeat()
    assert len(grafted_for_it(bench)) == 2
    assert set(grafted_for_it(bench)) <= {f"good{index}" for index in range(4)}
    for _ in range(60):
        bench.heartbeat()
    assert len(grafted_for_it(bench)) == 4


def test_how_often_and_how_many_is_the_users_choice() -> None:
    bench, _ = mediocre(opportunistic_graft_ticks=3, opportunistic_graft_peers=1)
    for _ in range(3):
        bench.heartbeat()
    assert len(grafted_for_it(bench)) == 1


def test_a_mesh_whose_median_is_good_enough_is_left_alone() -> None:
    bench, standing = mediocre(opportunistic_graft_ticks=1)
    standing.scores |= {"in3": 5.0, "in4": 6.0, "in5": 7.0}
    bench.heartbeat()
    assert grafted_for_it(bench) == []


def test_only_peers_above_the_median_come_in() -> None:
    bench, standing = mediocre(opportunistic_graft_ticks=1)
    for index in range(4):
        standing.scores[f"good{index}"] = 1.3  # which is the median
    standing.scores["good2"] = 1.4
    bench.heartbeat()
    assert grafted_for_it(bench) == ["good2"]


def test_a_mesh_of_one_has_no_median() -> None:
    bench, standing = meshed(1, 0, opportunistic_graft_ticks=1, D=1, D_low=1, D_high=3)
    standing.thresholds = standing.thresholds.__class__(opportunistic_graft=5.0)
    bench.join("good", "t")
    standing.scores["good"] = 10.0
    bench.heartbeat()
    assert mesh_of(bench) == {"in0"}


# ---- what the standing is told


def test_the_standing_hears_of_everyone_who_comes_in_and_goes_out() -> None:
    bench, standing = judged(D=1, D_low=1, D_high=2)
    bench.join("ann", "t")
    bench.subscribe("t")
    bench.join("bob", "t", outbound=True)
    bench.graft("bob", "t")
    bench.prune("bob", "t")
    bench.leave("ann")
    bench.join("cyd", "t")
    bench.unsubscribe("t")
    assert standing.links == [
        ("grafted", "ann", "t"), ("grafted", "bob", "t"), ("pruned", "bob", "t"),
        ("pruned", "ann", "t"), ("grafted", "cyd", "t"), ("pruned", "cyd", "t"),
    ]  # fmt: skip


def test_a_standing_that_counts_rejections_takes_the_place_of_their_limit() -> None:
    class Counting(FakeStanding):
        judges_messages = True

        def rejected(
            self,
            message: WireMessage,
            source: Peer,
            holders: Mapping[Peer, None],
            reason: str,
            now: float,
        ) -> None:
            self.penalise(source, reason)

    for standing, dropped in ((Counting(), 0), (FakeStanding(), 1)):
        bench = Workbench(JudgingRouter(standing, GossipsubParameters()), max_rejections=3)
        bench.subscribe("t")
        bench.join("ann", "t")
        bench.verdicts[b"hail"] = Verdict.REJECT
        for number in range(5):
            bench.send_message("ann", signed("author", "t", b"hail", number))
        assert len(bench.of(Drop)) == dropped
        assert len(standing.penalties) == 5 * (1 - dropped)


def test_without_a_score_nobody_is_better_than_others() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join_many(8, "t")
    for _ in range(130):
        bench.heartbeat()
    assert not bench.events(trace.PRUNED)
    assert len(mesh_of(bench)) == 6
