"""Parameters by rate: right for quiet topics and for busy ones, and explained."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.gossipsub.score import TopicScoreParameters
from tests.helpers.libp2p.scoring import TOPIC, ScoreBench


@pytest.mark.parametrize("steady", [False, True])
def test_every_choice_is_explained_in_a_line(steady: bool) -> None:
    advice = TopicScoreParameters.for_rate(5, steady=steady)
    assert "5 messages a second" in advice.explanation[0]
    for name in ("time_in_mesh", "first_deliveries", "mesh_deliveries", "invalid_messages"):
        assert any(name in line for line in advice.explanation)
    assert all("\n" not in line for line in advice.explanation)


def test_of_a_topic_that_may_pause_no_peer_is_asked_for_its_share() -> None:
    advice = TopicScoreParameters.for_rate(5)
    assert advice.parameters.mesh_deliveries is None
    assert any("off" in line and "steady" in line for line in advice.explanation)


def test_of_a_topic_with_few_messages_neither_however_steady() -> None:
    advice = TopicScoreParameters.for_rate(0.01, steady=True)
    assert advice.parameters.mesh_deliveries is None
    assert any("chance" in line for line in advice.explanation)


def test_more_is_demanded_where_there_is_more() -> None:
    slow, fast = (TopicScoreParameters.for_rate(rate, steady=True).parameters for rate in (5, 500))
    assert slow.mesh_deliveries is not None
    assert fast.mesh_deliveries is not None
    assert fast.mesh_deliveries.threshold > slow.mesh_deliveries.threshold


@pytest.mark.parametrize(
    ("rate", "mesh_size", "interval", "key"),
    [
        (0, 6, 1, "messages_per_second"), (-1, 6, 1, "messages_per_second"),
        (math.nan, 6, 1, "messages_per_second"), (math.inf, 6, 1, "messages_per_second"),
        (1, 0, 1, "mesh_size"), (1, 6, 0, "decay_interval"),
    ],
)  # fmt: skip
def test_a_rate_that_cannot_be_is_refused(
    rate: float, mesh_size: int, interval: float, key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        TopicScoreParameters.for_rate(rate, mesh_size=mesh_size, decay_interval=interval)
    assert caught.value.key == key


@given(
    rate=st.floats(1e-4, 1e6), mesh_size=st.integers(1, 100), steady=st.booleans(),
    interval=st.floats(1, 60),
)  # fmt: skip
def test_there_is_advice_for_every_rate(
    rate: float, mesh_size: int, steady: bool, interval: float
) -> None:
    advice = TopicScoreParameters.for_rate(
        rate, mesh_size=mesh_size, steady=steady, decay_interval=interval
    )
    mesh = advice.parameters.mesh_deliveries
    assert mesh is None or mesh.weight * mesh.threshold**2 == pytest.approx(-8, rel=1e-3)


@settings(max_examples=15, deadline=None)
@given(
    rate=st.floats(1, 20), offset=st.floats(0, 1), copies=st.booleans(),
    pruned_at=st.integers(0, 600),
)  # fmt: skip
def test_a_peer_that_brings_its_share_of_valid_messages_in_time_never_falls_below_zero(
    rate: float, offset: float, copies: bool, pruned_at: int
) -> None:
    parameters = TopicScoreParameters.for_rate(rate, steady=True).parameters
    bench = ScoreBench("ann", "bob", topic=parameters)
    bench.graft("ann", "bob")
    brought = offset
    for second in range(600):
        brought += rate / 6
        while brought >= 1:
            brought -= 1
            first, second_ = ("bob", "ann") if copies else ("ann", "bob")
            message = bench.message()
            # Told to the score alone: signatures would take most of the time.
            message.id = message.sequence or b""
            bench.score.accepted(message, first, {}, bench.now)
            bench.score.duplicate(message, second_, bench.now + 0.2)
        bench.heartbeats()
        assert bench.of("ann") >= 0
        if second == pruned_at:
            bench.prune("ann")


def test_a_peer_that_brings_nothing_is_out_of_the_mesh_and_still_told_of_messages() -> None:
    parameters = TopicScoreParameters.for_rate(20, steady=True).parameters
    assert parameters.mesh_deliveries is not None
    bench = ScoreBench("ann", topic=parameters, thresholds={})
    bench.graft("ann")
    bench.heartbeats(int(parameters.mesh_deliveries.activation) + 2)
    assert bench.score.thresholds.gossip < bench.of("ann") < 0
    assert bench.parts("ann").topics[TOPIC].mesh_deliveries == pytest.approx(-8)
