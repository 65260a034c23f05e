"""Parameters of a topic by how much is said on it, each choice with its reason.

Fixed numbers are right for one rate only: parameters that expect ten messages a second make every
peer of a quiet topic a bad one.
"""

from __future__ import annotations

import json
import math
from typing import NamedTuple

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters
from rumormill.libp2p.gossipsub.score.decay import decay_within, steady_count
from rumormill.libp2p.gossipsub.score.topic_parameters import (
    FirstDeliveries,
    InvalidMessages,
    MeshDeliveries,
    MeshFailures,
    TimeInMesh,
    TopicScoreParameters,
)

HOUR = 3600.0
SHORTEST_MEMORY, LONGEST_MEMORY = 60.0, HOUR
"""Seconds in which a counter is forgotten."""
FIRST_SAMPLE = 100.0
"""Messages of a peer's share that its memory of first deliveries is made for."""
MESH_SAMPLE = 40.0
"""The same for P3: with fewer, chance alone takes an honest peer below a quarter of its share."""
MEMORY_IN_MEANS = math.log(100.0)
"""A counter that is forgotten within a time stands at what comes in this part of it."""
DEMANDED = 0.25
"""Of its share: what a peer must bring."""
FIRST_POINTS, WORST_POINTS = 5.0, -8.0
"""What the busiest peer earns, and what one that brings nothing loses: it is out of the mesh, but
is still told of messages (the threshold is -10)."""
NEAR_FIRST = 0.5
"""Seconds in which an honest copy comes; a peer that plays back what we sent it may be as quick, so
it is no more than that."""


class Advice(NamedTuple):
    """Parameters of a topic, and why they are what they are.

    >>> advice = TopicScoreParameters.for_rate(messages_per_second=5)
    >>> print(advice.explanation[0])
    rate: 5 messages a second of others, in a mesh of 6: the share of a peer is 0.833 a second
    """

    parameters: TopicScoreParameters
    explanation: tuple[str, ...]
    """A line for each choice."""

    def to_toml(self, topic: str) -> str:
        """The parameters as tables below a ``[[network]]`` of ``node.toml``."""
        place = f"network.score.topics.{json.dumps(topic, ensure_ascii=False)}"
        lines = [f"[{place}]", f"weight = {self.parameters.weight!r}"]
        for name in TopicScoreParameters.model_fields:
            group = getattr(self.parameters, name)
            if isinstance(group, Parameters):
                lines += ["", f"[{place}.{name}]"]
                lines += [f"{key} = {value!r}" for key, value in group]
            elif name != "weight":
                lines.insert(2, f"{name} = false")
        return "\n".join(lines)


class _Topic(NamedTuple):
    """What is known of the topic."""

    rate: float
    mesh_size: int
    interval: float

    @property
    def share(self) -> float:
        """Messages a second of which one peer of the mesh is the first."""
        return self.rate / self.mesh_size

    def decay(self, seconds: float) -> float:
        return _short(decay_within(seconds, self.interval))

    def memory(self, sample: float) -> float:
        """Seconds in which a counter is forgotten that is to stand at ``sample``."""
        return max(SHORTEST_MEMORY, sample * MEMORY_IN_MEANS / self.share)


def parameters_for(
    messages_per_second: float, mesh_size: int, steady: bool, decay_interval: float
) -> Advice:
    """See :meth:`TopicScoreParameters.for_rate`."""
    topic = _checked(messages_per_second, mesh_size, decay_interval)
    time, about_time = _time_in_mesh()
    first, about_first = _first_deliveries(topic)
    mesh, failures, about_mesh = _mesh_deliveries(topic, steady)
    invalid, about_invalid = _invalid_messages(topic)
    parameters = TopicScoreParameters(
        time_in_mesh=time,
        first_deliveries=first,
        mesh_deliveries=mesh,
        mesh_failures=failures,
        invalid_messages=invalid,
    )
    about_rate = (
        f"rate: {topic.rate:g} messages a second of others, in a mesh of {mesh_size}: the share of "
        f"a peer is {topic.share:.3g} a second"
    )
    return Advice(parameters, (about_rate, about_time, about_first, *about_mesh, about_invalid))


def _checked(rate: float, mesh_size: int, interval: float) -> _Topic:
    if not (math.isfinite(rate) and 0 < rate <= 1e6):
        raise ConfigError("messages_per_second", f"must be above 0, up to a million (got {rate!r})")
    if not 1 <= mesh_size <= 1000:
        raise ConfigError("mesh_size", f"must be from 1 to 1000 (got {mesh_size!r})")
    if not 1 <= interval <= HOUR:
        raise ConfigError("decay_interval", f"must be from 1 to 3600 seconds (got {interval!r})")
    return _Topic(rate, mesh_size, interval)


def _time_in_mesh() -> tuple[TimeInMesh, str]:
    group = TimeInMesh(weight=_short(1 / HOUR), quantum=1.0, cap=HOUR)
    return group, (
        "P1 time_in_mesh: one point for an hour in the mesh, so that of two equal peers the older "
        "one stays"
    )


def _first_deliveries(topic: _Topic) -> tuple[FirstDeliveries, str]:
    memory = min(topic.memory(FIRST_SAMPLE), LONGEST_MEMORY)
    decay = topic.decay(memory)
    cap = max(1.0, float(math.ceil(2 * steady_count(topic.share, decay, topic.interval))))
    group = FirstDeliveries(weight=_short(FIRST_POINTS / cap), decay=decay, cap=cap)
    return group, (
        f"P2 first_deliveries: forgotten within {memory:.0f} s; counts up to {cap:g}, twice the "
        f"share of a peer, which is worth {FIRST_POINTS:g} points"
    )


def _mesh_deliveries(
    topic: _Topic, steady: bool
) -> tuple[MeshDeliveries | None, MeshFailures | None, tuple[str, ...]]:
    memory = topic.memory(MESH_SAMPLE)
    if not steady:
        return None, None, (
            "P3 mesh_deliveries: off, because in a pause every peer would seem to fail; for "
            "messages that come day and night there is steady",
        )  # fmt: skip
    if memory > LONGEST_MEMORY:
        return None, None, (
            f"P3 mesh_deliveries: off, because {MESH_SAMPLE:g} messages of a peer's share need "
            "more than an hour's memory, and fewer are a matter of chance",
        )  # fmt: skip
    decay = topic.decay(memory)
    expected = steady_count(topic.share, decay, topic.interval)
    threshold = round(expected * DEMANDED, 3)
    weight = _short(WORST_POINTS / threshold**2)
    mesh = MeshDeliveries(
        weight=weight, decay=decay, cap=max(1.0, round(expected, 3)), threshold=threshold,
        window=NEAR_FIRST, activation=math.ceil(memory),
    )  # fmt: skip
    failures = MeshFailures(weight=weight, decay=topic.decay(600.0))
    return mesh, failures, (
        f"P3 mesh_deliveries: {threshold:g} are demanded, a quarter of the {expected:.3g} that are "
        f"a peer's share; a peer that brings nothing loses {-WORST_POINTS:g} points",
        f"P3 activation and decay: {memory:.0f} s, until {MESH_SAMPLE:g} messages can be expected; "
        f"copies count for {NEAR_FIRST:g} s",
        "P3b mesh_failures: what was missing sticks for ten minutes, so that the mesh does not "
        "take the peer back at once",
    )  # fmt: skip


def _invalid_messages(topic: _Topic) -> tuple[InvalidMessages, str]:
    group = InvalidMessages(weight=-1.0, decay=topic.decay(600.0))
    return group, (
        "P4 invalid_messages: one costs a point, ten at once a hundred, and below -80 nothing of a "
        "peer is read; forgotten within ten minutes"
    )


def _short(value: float) -> float:
    """With as many digits as anybody wants to read."""
    return float(f"{value:.6g}")
