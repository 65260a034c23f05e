"""Gossip: how many are told, and who is neither told nor believed."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.libp2p.wire import Control, IHave
from tests.helpers.libp2p.fake_standing import FakeStanding, judged
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench

BELOW = -10.1
"""The threshold of gossip is -10."""


def outside(count: int, **parameters: Any) -> tuple[Workbench, FakeStanding]:
    """A node without a mesh that has a message, and ``count`` listeners."""
    bench, standing = judged(D=0, D_low=0, D_high=0, **{"D_lazy": 6, **parameters})
    bench.subscribe("t")
    bench.join_many(count, "t")
    bench.publish("t")
    bench.forget()
    return bench, standing


def told(bench: Workbench) -> set[str]:
    bench.heartbeat()
    return {
        peer
        for peer in list(bench.sent)
        for rpc in bench.took(peer)
        if (rpc.control or Control()).of(IHave)
    }


# ---- how many


@pytest.mark.parametrize(
    ("listeners", "factor", "expected"),
    [(5, 0.25, 5), (20, 0.25, 6), (24, 0.25, 6), (28, 0.25, 7), (100, 0.25, 25), (100, 0, 6),
     (100, 1, 100)],
)  # fmt: skip
def test_a_part_of_the_listeners_is_told_and_d_lazy_at_least(
    listeners: int, factor: float, expected: int
) -> None:
    bench, _ = outside(listeners, gossip_factor=factor)
    assert len(told(bench)) == expected


def test_the_part_is_of_those_who_may_be_told() -> None:
    bench, standing = outside(100, gossip_factor=0.5)
    for index in range(40):
        standing.scores[f"peer{index}"] = BELOW
    for index in range(50):
        bench.join(f"floods{index}", "t", protocol=FLOODSUB)
    chosen = told(bench)
    assert len(chosen) == 30
    assert chosen <= {f"peer{index}" for index in range(40, 100)}


def test_the_mesh_does_not_count_for_the_part() -> None:
    bench, _ = judged(gossip_factor=0.5, D_lazy=1)
    bench.subscribe("t")
    bench.join_many(26, "t")
    bench.publish("t")
    bench.forget()
    chosen = told(bench)
    assert len(chosen) == 10
    assert not chosen & set(bench.pubsub.mesh("t"))


# ---- the gossip threshold


def test_who_is_below_the_threshold_is_told_nothing() -> None:
    bench, standing = outside(3)
    standing.scores = {"peer0": BELOW, "peer1": -10.0}
    assert told(bench) == {"peer1", "peer2"}


def test_who_is_below_the_threshold_is_not_believed() -> None:
    bench, standing = outside(2)
    standing.scores = {"peer0": BELOW, "peer1": -10.0}
    for peer in ("peer0", "peer1"):
        bench.ihave(peer, "t", b"id of " + peer.encode())
    assert bench.took("peer0") == []
    assert bench.took_items("peer1") == [("iwant", frozenset([b"id of peer1"]))]
    assert bench.events(trace.IGNORED, peer="peer0", reason="ihave_low_score")


def test_who_is_below_the_threshold_gets_no_answer() -> None:
    bench, standing = outside(2)
    receipt = bench.publish("t")
    standing.scores = {"peer0": BELOW, "peer1": -10.0}
    bench.forget()
    for peer in ("peer0", "peer1"):
        bench.iwant(peer, receipt.id)
    assert set(bench.sent) == {"peer1"}
    assert bench.events(trace.IGNORED, peer="peer0", reason="iwant_low_score")


def test_what_the_unbelieved_tell_does_not_keep_us_from_asking_others() -> None:
    bench, standing = outside(2)
    standing.scores = {"peer0": BELOW}
    bench.ihave("peer0", "t", b"id")
    bench.ihave("peer1", "t", b"id")
    assert bench.took_items("peer1") == [("iwant", frozenset([b"id"]))]
