"""The parameters of gossipsub: which combinations there can be."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.gossipsub import GossipsubParameters


def problem(**values: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        GossipsubParameters(**values)
    return caught.value


def test_the_defaults_are_those_of_the_specification() -> None:
    parameters = GossipsubParameters()
    assert (parameters.D, parameters.D_low, parameters.D_high, parameters.D_lazy) == (6, 4, 12, 6)
    assert (parameters.heartbeat_interval, parameters.fanout_ttl) == (1.0, 60.0)
    assert (parameters.mcache_len, parameters.mcache_gossip) == (5, 3)


def test_gossip_goes_to_as_many_as_the_mesh_has_unless_told_otherwise() -> None:
    assert GossipsubParameters(D=8).D_lazy == 8
    assert GossipsubParameters(D=8, D_lazy=3).D_lazy == 3
    assert GossipsubParameters(D=8, D_lazy=0).D_lazy == 0


def test_a_node_without_a_mesh_may_have_all_degrees_zero() -> None:
    parameters = GossipsubParameters(D=0, D_low=0, D_high=0)
    assert (parameters.D, parameters.D_lazy) == (0, 0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("D", -1), ("D_low", -1), ("D_high", -1), ("D_lazy", -2), ("D", "many"), ("D", 1.5),
        ("heartbeat_interval", 0), ("heartbeat_interval", -1), ("heartbeat_interval", math.nan),
        ("heartbeat_interval", math.inf), ("heartbeat_delay", -1), ("heartbeat_delay", math.nan),
        ("fanout_ttl", 0), ("fanout_ttl", math.nan), ("mcache_len", 0), ("mcache_gossip", 0),
        ("mcache_bytes", 0), ("prune_backoff", 0), ("prune_backoff", 3601),
        ("unsubscribe_backoff", 0), ("max_ihave_messages", 0), ("max_ihave_ids", 0),
        ("max_iwant_sends", 0), ("graft_on_subscribe", "perhaps"), ("answer_unknown_graft", 7),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_the_name_of_its_key(key: str, value: object) -> None:
    error = problem(**{key: value})
    assert error.key == key


@pytest.mark.parametrize(
    ("values", "key", "sentence"),
    [
        ({"D_low": 7}, "D_low", "D_low: must not be above D (7 > 6)"),
        ({"D": 3}, "D_low", "D_low: must not be above D (4 > 3)"),
        ({"D": 13}, "D", "D: must not be above D_high (13 > 12)"),
        ({"D_high": 5}, "D", "D: must not be above D_high (6 > 5)"),
        ({"mcache_gossip": 6}, "mcache_gossip", "mcache_gossip: must not be above mcache_len"),
        ({"mcache_len": 2}, "mcache_gossip", "mcache_gossip: must not be above mcache_len (3 > 2)"),
        (
            {"prune_backoff": 5, "unsubscribe_backoff": 6},
            "unsubscribe_backoff",
            "unsubscribe_backoff: must not be above prune_backoff (6 > 5)",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused_with_both(
    values: dict[str, Any], key: str, sentence: str
) -> None:
    error = problem(**values)
    assert error.key == key
    assert str(error).startswith(sentence)


def test_the_bounds_themselves_are_allowed() -> None:
    degrees = GossipsubParameters(D=6, D_low=6, D_high=6)
    assert (degrees.D_low, degrees.D, degrees.D_high) == (6, 6, 6)
    cache = GossipsubParameters(mcache_len=3, mcache_gossip=3)
    assert (cache.mcache_len, cache.mcache_gossip) == (3, 3)
    backoff = GossipsubParameters(prune_backoff=10, unsubscribe_backoff=10)
    assert (backoff.prune_backoff, backoff.unsubscribe_backoff) == (10, 10)


@given(st.tuples(*[st.integers(-2, 14)] * 3))
def test_degrees_are_valid_exactly_if_they_are_in_order(degrees: tuple[int, ...]) -> None:
    low, middle, high = degrees
    values = {"D_low": low, "D": middle, "D_high": high}
    if 0 <= low <= middle <= high:
        parameters = GossipsubParameters(D_low=low, D=middle, D_high=high)
        assert middle == parameters.D
    else:
        assert problem(**values).key in values


def test_an_unknown_key_is_refused_and_the_nearest_one_named() -> None:
    assert "did you mean D_low?" in str(problem(Dlow=3))
