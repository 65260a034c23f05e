"""What a peer's conduct on one topic is worth: P1 to P4 of the specification, a group each.

A group that is left out is off. The weights of good conduct are 0 or above, those of bad conduct 0
or below, and a group is given with all its keys or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters
from rumormill.libp2p.gossipsub.score.decay import decay_within
from rumormill.libp2p.gossipsub.score.tables import read_group

if TYPE_CHECKING:
    from rumormill.libp2p.gossipsub.score.advice import Advice

HEAVIEST = 1e6
"""The largest weight, so that no sum of points is ever infinite."""
MOST = 1e9
"""The largest count, for the same reason."""

Reward = Annotated[float, Field(ge=0, le=HEAVIEST, allow_inf_nan=False)]
"""A weight of good conduct."""
Penalty = Annotated[float, Field(ge=-HEAVIEST, le=0, allow_inf_nan=False)]
"""A weight of bad conduct."""
Decay = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
"""A factor that is applied once in each ``decay_interval``."""
Amount = Annotated[float, Field(gt=0, le=MOST, allow_inf_nan=False)]
"""Something of which there must be some."""


class TimeInMesh(Parameters):
    """P1: how long the peer has been in our mesh. Never decays; gone when it leaves the mesh."""

    weight: Reward
    """Points for each quantum."""
    quantum: Amount
    """Seconds; only whole quanta count."""
    cap: Amount
    """Quanta that count at most."""


class FirstDeliveries(Parameters):
    """P2: valid messages that the peer was the first to bring."""

    weight: Reward
    """Points for each message."""
    decay: Decay
    """How the count is forgotten."""
    cap: Amount
    """Messages that count at most."""


class MeshDeliveries(Parameters):
    """P3: a peer in our mesh that brings fewer messages than it should, first or nearly so."""

    weight: Penalty
    """Points for the square of what is missing."""
    decay: Decay
    """How the count is forgotten."""
    cap: Amount
    """Messages that count at most."""
    threshold: Amount
    """With at least so many, nothing is missing."""
    window: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)]
    """Seconds after its validation in which a further copy of a message counts too."""
    activation: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    """Seconds in the mesh before anything is asked of a peer."""

    @model_validator(mode="after")
    def _reachable(self) -> MeshDeliveries:
        if self.threshold > self.cap:
            raise ConfigError(
                "threshold",
                f"must not be above cap, or nobody reaches it ({self.threshold:g} > {self.cap:g})",
            )
        return self


class MeshFailures(Parameters):
    """P3b: what was missing by P3 when the peer left our mesh: it sticks for a while."""

    weight: Penalty
    """Points for the square of what was missing."""
    decay: Decay
    """How it is forgotten."""


class InvalidMessages(Parameters):
    """P4: messages that were forged, broke the topic's rules or that a validator rejected."""

    weight: Penalty
    """Points for the square of their number."""
    decay: Decay
    """How the number is forgotten."""


class TopicScoreParameters(Parameters):
    """What conduct on one topic is worth; as it stands, what does no harm on any topic.

    >>> TopicScoreParameters(mesh_failures={"weight": -1})
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: mesh_failures.decay: is missing; mesh_failures needs all of \
weight, decay, or is left out whole
    """

    weight: Reward = 1.0
    """What the topic counts beside others."""
    time_in_mesh: TimeInMesh | None = TimeInMesh(weight=1 / 3600, quantum=1.0, cap=3600.0)
    """P1. By default one point for an hour."""
    first_deliveries: FirstDeliveries | None = FirstDeliveries(
        weight=0.1, decay=decay_within(120), cap=20.0
    )
    """P2. By default up to two points."""
    mesh_deliveries: MeshDeliveries | None = None
    """P3. Off by default: what can be asked of a peer depends on how much there is to bring."""
    mesh_failures: MeshFailures | None = None
    """P3b. Off by default, and without P3."""
    invalid_messages: InvalidMessages | None = InvalidMessages(weight=-1.0, decay=decay_within(600))
    """P4. By default nine of them at once are one too many, and are forgotten in some minutes."""

    @field_validator(
        "time_in_mesh", "first_deliveries", "mesh_deliveries", "mesh_failures",
        "invalid_messages", mode="before",
    )  # fmt: skip
    @classmethod
    def _read_groups(cls, given: Any, group: ValidationInfo) -> Any:
        return read_group(cls, str(group.field_name), given)

    @model_validator(mode="after")
    def _consistent(self) -> TopicScoreParameters:
        if self.mesh_failures is not None and self.mesh_deliveries is None:
            raise ConfigError(
                "mesh_failures", "has nothing to go by without mesh_deliveries: give both"
            )
        return self

    @classmethod
    def for_rate(
        cls,
        messages_per_second: float,
        *,
        mesh_size: int = 6,
        steady: bool = False,
        decay_interval: float = 1.0,
    ) -> Advice:
        """Parameters for a topic with so many messages, and why they are what they are.

        ``messages_per_second`` are those of others that arrive here. ``steady`` if they keep coming
        day and night: only then can a peer be asked for its share (P3).

        >>> advice = TopicScoreParameters.for_rate(messages_per_second=5)
        >>> advice.parameters.first_deliveries.cap
        199.0
        """
        from rumormill.libp2p.gossipsub.score.advice import parameters_for

        return parameters_for(messages_per_second, mesh_size, steady, decay_interval)
