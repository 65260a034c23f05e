"""The parameters of the score: which there can be, and what is said of those there cannot."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.gossipsub.score import (
    DEFAULT_SCORE,
    ScoreParameters,
    Thresholds,
    TopicScoreParameters,
    decay_within,
)
from tests.helpers.libp2p.scoring import only

GROUPS: dict[str, Any] = {
    "time_in_mesh": {"weight": 1, "quantum": 1, "cap": 10},
    "first_deliveries": {"weight": 1, "decay": 0.5, "cap": 10},
    "mesh_deliveries": {
        "weight": -1, "decay": 0.5, "cap": 5, "threshold": 3, "window": 0.1, "activation": 1,
    },
    "invalid_messages": {"weight": -1, "decay": 0.5},
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "colocation": {"weight": -1, "threshold": 1},
    "behaviour": {"weight": -1, "threshold": 1, "decay": 0.9},
    "slow_peers": {"weight": -1, "threshold": 1, "decay": 0.9, "cap": 5},
}


def problem(**values: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        ScoreParameters(**values)
    assert "\n" not in str(caught.value)
    return caught.value


def of_topic(**values: Any) -> ConfigError:
    return problem(topics={"weather": values})


# ---- what is right


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_a_topic_stands_alone(group: str) -> None:
    assert getattr(only(**{group: GROUPS[group]}), group).weight == GROUPS[group]["weight"]


def test_all_groups_of_a_topic_stand_together() -> None:
    failures: Any = {"weight": -1, "decay": 0.5}
    parameters = TopicScoreParameters(weight=2, mesh_failures=failures, **GROUPS)
    assert parameters.mesh_deliveries is not None
    assert parameters.mesh_deliveries.threshold == 3


@pytest.mark.parametrize("group", OTHERS)
def test_what_is_no_matter_of_topics_stands_alone(group: str) -> None:
    off: dict[str, Any] = dict.fromkeys(("behaviour", "slow_peers", "colocation", "other_topics"))
    assert getattr(ScoreParameters(**{**off, group: OTHERS[group]}), group).threshold == 1


def test_a_weight_of_zero_is_allowed_everywhere() -> None:
    for group, values in GROUPS.items():
        assert getattr(only(**{group: {**values, "weight": 0}}), group).weight == 0


@pytest.mark.parametrize("off", [None, False])
def test_a_group_is_turned_off_by_name(off: Any) -> None:
    assert TopicScoreParameters(invalid_messages=off).invalid_messages is None
    assert ScoreParameters(behaviour=off, other_topics=off).other_topics is None


def test_by_default_no_part_can_make_an_honest_peer_of_a_calm_network_suffer() -> None:
    assert DEFAULT_SCORE.colocation is None
    assert DEFAULT_SCORE.other_topics is not None
    assert DEFAULT_SCORE.other_topics.mesh_deliveries is None
    assert DEFAULT_SCORE.punishes_invalid_messages


def test_a_decay_is_found_for_a_time() -> None:
    assert decay_within(3600) == pytest.approx(0.9987216039048303)
    assert decay_within(0.5) == 0.01, "at once is the next time"


# ---- what is wrong


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "many"])
@pytest.mark.parametrize(
    ("group", "key"), [(group, key) for group, values in GROUPS.items() for key in values]
)
def test_what_is_no_finite_number_is_refused_with_the_whole_key(
    group: str, key: str, value: object
) -> None:
    error = of_topic(**{group: {**GROUPS[group], key: value}})
    assert error.key == f"topics.weather.{group}.{key}"


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("time_in_mesh", "weight", -1), ("time_in_mesh", "quantum", 0),
        ("time_in_mesh", "quantum", -1), ("time_in_mesh", "cap", 0), ("time_in_mesh", "cap", -1),
        ("first_deliveries", "weight", -1), ("first_deliveries", "decay", 0),
        ("first_deliveries", "decay", 1), ("first_deliveries", "decay", 2),
        ("first_deliveries", "decay", -1), ("first_deliveries", "cap", 0),
        ("mesh_deliveries", "weight", 1), ("mesh_deliveries", "decay", 1),
        ("mesh_deliveries", "decay", 0), ("mesh_deliveries", "cap", 0),
        ("mesh_deliveries", "threshold", 0), ("mesh_deliveries", "threshold", 6),
        ("mesh_deliveries", "window", -1), ("mesh_deliveries", "activation", 0.5),
        ("invalid_messages", "weight", 1), ("invalid_messages", "decay", 0),
        ("invalid_messages", "decay", 1),
    ],
)  # fmt: skip
def test_a_wrong_number_is_refused_with_the_whole_key(group: str, key: str, value: float) -> None:
    error = of_topic(**{group: {**GROUPS[group], key: value}})
    assert error.key == f"topics.weather.{group}.{key}"


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("colocation", "weight", 1), ("colocation", "threshold", 0),
        ("colocation", "allowed", ["2.3.0.0/99"]), ("colocation", "allowed", "10.0.0.0/8"),
        ("behaviour", "weight", 1), ("behaviour", "threshold", -1), ("behaviour", "decay", 0),
        ("behaviour", "decay", 2), ("behaviour", "weight", math.nan), ("slow_peers", "weight", 1),
        ("slow_peers", "decay", 1), ("slow_peers", "cap", 0), ("slow_peers", "threshold", -1),
    ],
)  # fmt: skip
def test_so_it_is_of_what_is_no_matter_of_topics(group: str, key: str, value: Any) -> None:
    assert problem(**{group: {**OTHERS[group], key: value}}).key == f"{group}.{key}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("topic_score_cap", -1), ("topic_score_cap", math.nan), ("decay_interval", 0.5),
        ("decay_interval", math.inf), ("decay_to_zero", 0), ("decay_to_zero", 1),
        ("decay_to_zero", -1), ("decay_to_zero", math.nan), ("retain_score", -1),
        ("max_retained", -1), ("max_records", 0), ("application", 7),
        ("application_weight", math.nan), ("feedback_decay", 1), ("topics", []),
        ("topics", "weather"), ("behaviour", "strict"), ("behaviour", True), ("other_topics", 3),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_key(key: str, value: object) -> None:
    assert problem(**{key: value}).key == key


@pytest.mark.parametrize(
    ("group", "missing"), [(group, key) for group, values in GROUPS.items() for key in values]
)
def test_a_group_is_given_whole_or_not_at_all(group: str, missing: str) -> None:
    values = {key: value for key, value in GROUPS[group].items() if key != missing}
    error = of_topic(**{group: values})
    assert error.key == f"topics.weather.{group}.{missing}"
    assert "is missing" in error.problem


def test_failures_without_deliveries_have_nothing_to_go_by() -> None:
    error = of_topic(mesh_failures={"weight": -1, "decay": 0.5})
    assert error.key == "topics.weather.mesh_failures"


def test_an_unknown_key_is_named_with_the_nearest() -> None:
    assert "did you mean first_deliveries?" in str(of_topic(first_delivery={}))
    assert "did you mean weight?" in str(
        of_topic(invalid_messages={"weight": -1, "decay": 0.5, "wieght": 1})
    )


def test_a_topic_that_is_no_table_and_a_key_that_is_no_text_are_told() -> None:
    assert problem(topics={"weather": 7}).key == "topics.weather"
    assert problem(topics={"weather": {7: 8}}).key == "topics.weather"


# ---- thresholds


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"gossip": 1}, "gossip"), ({"gossip": math.nan}, "gossip"),
        ({"gossip": -math.inf}, "gossip"), ({"publish": -5}, "publish"),
        ({"publish": 1}, "publish"),
        ({"publish": math.nan}, "publish"), ({"graylist": -20}, "graylist"),
        ({"graylist": -math.inf}, "graylist"), ({"graylist": 1}, "graylist"),
        ({"accept_exchange": -1}, "accept_exchange"),
        ({"accept_exchange": math.inf}, "accept_exchange"),
        ({"opportunistic_graft": -1}, "opportunistic_graft"),
        ({"opportunistic_graft": math.nan}, "opportunistic_graft"),
    ],
)  # fmt: skip
def test_a_wrong_threshold_is_refused_with_its_key(values: dict[str, float], key: str) -> None:
    assert problem(thresholds=values).key == f"thresholds.{key}"


@given(st.tuples(*[st.integers(-100, 5)] * 3))
def test_thresholds_are_valid_exactly_if_they_are_in_order(given: tuple[int, int, int]) -> None:
    gossip, publish, graylist = given
    values = {"gossip": gossip, "publish": publish, "graylist": graylist}
    if 0 >= gossip >= publish >= graylist:
        assert Thresholds(**values).graylist == graylist
    else:
        with pytest.raises(ConfigError) as caught:
            Thresholds(**values)
        assert caught.value.key in values
