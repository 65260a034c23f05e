"""The parameters of the score: topics, what is no matter of topics, thresholds, bounds."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from rumormill.core.errors import ConfigError
from rumormill.core.machine import Peer
from rumormill.core.parameters import Parameters, read_table, read_tables
from rumormill.libp2p.gossipsub.score.decay import DECAY_TO_ZERO, decay_within
from rumormill.libp2p.gossipsub.score.tables import read_group
from rumormill.libp2p.gossipsub.score.topic_parameters import (
    HEAVIEST,
    MOST,
    Amount,
    Decay,
    Penalty,
    TopicScoreParameters,
)
from rumormill.libp2p.gossipsub.standing import Thresholds

Forgiven = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
"""How many of something bad cost nothing."""


class Colocation(Parameters):
    """P6: peers that share an address. Needs care where many are behind one router."""

    weight: Penalty
    """Points for the square of how many there are too many."""
    threshold: int = Field(ge=1)
    """Peers of one address, or of one /64 of IPv6, that are not too many."""
    allowed: tuple[str, ...] = ()
    """Addresses and networks, such as ``10.0.0.0/8``, of which there may be any number."""

    @field_validator("allowed")
    @classmethod
    def _networks(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for network in given:
            try:
                ipaddress.ip_network(network)
            except ValueError as error:
                raise ConfigError("allowed", f"{network!r} is no network: {error}") from None
        return given


class Behaviour(Parameters):
    """P7: rules broken that are no matter of messages, such as GRAFT too early."""

    weight: Penalty
    """Points for the square of what is above the threshold."""
    threshold: Forgiven
    """So many are forgiven: even an honest peer breaks a promise when it is in trouble."""
    decay: Decay
    """How the number is forgotten."""


class SlowPeers(Parameters):
    """Messages that were lost because the peer takes less than it is sent, as rust counts them."""

    weight: Penalty
    """Points for each above the threshold."""
    threshold: Forgiven
    """So many are forgiven."""
    decay: Decay
    """How the number is forgotten."""
    cap: Amount
    """So many count at most: to be slow is no crime."""


class ScoreParameters(Parameters):
    """The score of peers; as it stands, one that no honest peer of a calm network suffers from.

    >>> ScoreParameters(topics={"weather": {"mesh_deliveries": {"weight": 1}}})
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: topics.weather.mesh_deliveries.decay: is missing; \
mesh_deliveries needs all of weight, decay, cap, threshold, window, activation, or is left out whole
    """

    topics: Mapping[str, TopicScoreParameters] = Field(default_factory=dict)
    """What conduct on single topics is worth."""
    other_topics: TopicScoreParameters | None = TopicScoreParameters()
    """The same for topics that we listen to and that are not named; None: nothing."""
    topic_score_cap: float = Field(default=20.0, ge=0, allow_inf_nan=False)
    """Points that all topics together bring at most; 0: any number. Says nothing of penalties."""
    application: Callable[[Peer], float] | None = None
    """P5: what the application thinks of a peer; asked once in each ``decay_interval``."""
    application_weight: float = Field(default=1.0, ge=-HEAVIEST, le=HEAVIEST, allow_inf_nan=False)
    """What a point of the application, or of ``network.feedback``, counts."""
    feedback_decay: Decay = decay_within(3600)
    """How the points of ``network.feedback`` are forgotten."""
    colocation: Colocation | None = None
    """P6. Off by default: whole companies share an address, and so do all nodes of a test."""
    behaviour: Behaviour | None = Behaviour(weight=-10.0, threshold=6.0, decay=decay_within(120))
    """P7."""
    slow_peers: SlowPeers | None = SlowPeers(weight=-0.5, threshold=5.0, decay=0.5, cap=20.0)
    """By default enough to take a slow peer out of the mesh, and no more."""
    decay_interval: float = Field(default=1.0, ge=1, le=3600, allow_inf_nan=False)
    """Seconds between two decays, in whole heartbeats. Scores rise only then, and fall at once."""
    decay_to_zero: float = Field(default=DECAY_TO_ZERO, gt=0, lt=1, allow_inf_nan=False)
    """A counter below this is 0."""
    retain_score: float = Field(default=3600.0, ge=0, allow_inf_nan=False)
    """Seconds that the score of a peer that left is kept, unless it was above 0."""
    max_retained: int = Field(default=10_000, ge=0)
    """Peers that left whose score is kept; who left first is forgotten first, counted."""
    max_records: int = Field(default=100_000, ge=1)
    """Messages that are remembered for P3, and as many for P4; the oldest go first, counted."""
    thresholds: Thresholds = Thresholds()
    """From which score on a peer is treated how."""

    @field_validator("topics", mode="before")
    @classmethod
    def _read_topics(cls, given: Any) -> Any:
        return read_tables(TopicScoreParameters, "topics", given)

    @field_validator("other_topics", "colocation", "behaviour", "slow_peers", mode="before")
    @classmethod
    def _read_groups(cls, given: Any, group: ValidationInfo) -> Any:
        return read_group(cls, str(group.field_name), given)

    @field_validator("thresholds", mode="before")
    @classmethod
    def _read_thresholds(cls, given: Any) -> Any:
        return read_table(Thresholds, "thresholds", given)

    @property
    def punishes_invalid_messages(self) -> bool:
        """Whether bad messages cost something on every topic."""
        topics = [self.other_topics, *self.topics.values()]
        return all(
            each is not None
            and each.weight > 0
            and each.invalid_messages is not None
            and each.invalid_messages.weight < 0
            for each in topics
        )


DEFAULT_SCORE = ScoreParameters()
"""What a node has whose user says nothing."""
