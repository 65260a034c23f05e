"""Degrees: which combinations there can be, and meshes of single topics."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.wire import Control, IHave
from tests.helpers.libp2p.workbench import gossipsub


def problem(**values: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        GossipsubParameters(**values)
    return caught.value


# ---- D_out and D_score


def test_the_defaults_are_those_of_the_specification() -> None:
    parameters = GossipsubParameters()
    assert (parameters.D_score, parameters.D_out, parameters.gossip_factor) == (4, 2, 0.25)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"D_out": 4}, "D_out: must be below D_low (4 >= 4)"),
        ({"D_out": 4, "D_low": 5}, "D_out: must not be above half of D (4 > 3)"),
        ({"D_out": 1, "D_low": 1}, "D_out: must be below D_low (1 >= 1)"),
        ({"D_score": 7}, "D_score: must not be above D (7 > 6)"),
    ],
)
def test_degrees_that_contradict_each_other_are_refused_with_both(
    values: dict[str, int], sentence: str
) -> None:
    error = problem(**values)
    assert str(error) == sentence
    assert error.key in values


@pytest.mark.parametrize("key", ["D_out", "D_score"])
def test_a_wrong_degree_is_refused_with_its_key(key: str) -> None:
    assert problem(**{key: -2}).key == key
    assert problem(**{key: "few"}).key == key


@pytest.mark.parametrize("factor", [-0.1, 1.1, float("nan"), "much"])
def test_a_wrong_factor_is_refused_with_its_key(factor: object) -> None:
    assert problem(gossip_factor=factor).key == "gossip_factor"


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_degrees_that_were_not_set_follow_those_that_were(low: int, more: int, most: int) -> None:
    parameters = GossipsubParameters(D_low=low, D=low + more, D_high=low + more + most)
    usual = parameters.degrees.usual
    usual.check()
    assert usual.D_out == 0 or usual.D_out < low
    assert (parameters.D_out, parameters.D_score) == (usual.D_out, usual.D_score)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_d_out_is_valid_exactly_if_it_leaves_room_for_others(out: int, low: int, D: int) -> None:
    low, D = min(low, D), max(low, D)
    values: dict[str, Any] = {"D_out": out, "D_low": low, "D": D, "D_high": 20}
    if out == 0 or (out < low and out <= D / 2):
        assert GossipsubParameters(**values).D_out == out
    else:
        assert problem(**values).key == "D_out"


# ---- single topics


def test_a_topic_may_have_a_mesh_of_its_own_size() -> None:
    bench = gossipsub(topic_meshes={"large": {"D": 9, "D_low": 8}, "small": {"D": 2, "D_low": 1}})
    bench.join_many(20, "large", "small", "usual")
    bench.subscribe("large", "small", "usual")
    assert [len(bench.pubsub.mesh(topic)) for topic in ("large", "small", "usual")] == [9, 2, 6]


def test_the_heartbeat_keeps_each_topic_within_its_own_bounds() -> None:
    bench = gossipsub(
        topic_meshes={"t": {"D": 3, "D_low": 2, "D_high": 5}}, graft_on_subscribe=False
    )
    bench.subscribe("t", "u")
    for peer in bench.join_many(8, "t", "u", outbound=True):
        bench.graft(peer, "t")
        bench.graft(peer, "u")
    bench.heartbeat()
    assert [len(bench.pubsub.mesh(topic)) for topic in ("t", "u")] == [3, 8]


def test_a_full_mesh_of_a_topic_refuses_grafts_by_its_own_bound() -> None:
    bench = gossipsub(
        topic_meshes={"t": {"D": 2, "D_low": 1, "D_high": 2}}, graft_on_subscribe=False
    )
    bench.subscribe("t")
    for peer in bench.join_many(3, "t"):
        bench.graft(peer, "t")
    assert len(bench.pubsub.mesh("t")) == 2


def test_gossip_and_fanout_of_a_topic_follow_its_own_numbers() -> None:
    bench = gossipsub(topic_meshes={"t": {"D": 2, "D_low": 1, "D_lazy": 3}}, gossip_factor=0)
    bench.join_many(20, "t")
    assert len(bench.publish("t").peers) == 2
    bench.forget()
    bench.heartbeat()
    said = [rpc.control or Control() for rpcs in bench.sent.values() for rpc in rpcs]
    assert len([each for control in said for each in control.of(IHave)]) == 3


@pytest.mark.parametrize(
    ("degrees", "sentence"),
    [
        ({"D_low": 9}, "topic_meshes.t.D_low: must not be above D (9 > 6)"),
        ({"D": 3}, "topic_meshes.t.D_low: must not be above D (4 > 3)"),
        ({"D_out": 4}, "topic_meshes.t.D_out: must be below D_low (4 >= 4)"),
        ({"D": "many"}, "topic_meshes.t.D: input should be a valid integer"),
        ({"Dlow": 3}, "topic_meshes.t.Dlow: there is no such key (did you mean D_low?)"),
    ],
)
def test_wrong_degrees_of_a_topic_are_refused_with_the_topic_and_the_key(
    degrees: dict[str, Any], sentence: str
) -> None:
    error = problem(topic_meshes={"t": degrees})
    assert str(error).startswith(sentence)
    assert error.key.startswith("topic_meshes.t.")


def test_meshes_of_topics_must_be_a_table() -> None:
    assert problem(topic_meshes="t").key == "topic_meshes"
