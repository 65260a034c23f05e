"""One peer on one topic: what it has done there, and what that is worth (P1 to P4)."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.libp2p.gossipsub.score.decay import decayed
from rumormill.libp2p.gossipsub.score.topic_parameters import TopicScoreParameters


class TopicPoints(NamedTuple):
    """What each kind of conduct on a topic is worth, the topic's weight included."""

    time_in_mesh: float = 0.0
    first_deliveries: float = 0.0
    mesh_deliveries: float = 0.0
    mesh_failures: float = 0.0
    invalid_messages: float = 0.0


class TopicWeights:
    """The parameters of a topic as plain numbers: looked at for every message.

    A group that is off has weight 0, and forgets what it counted at the next decay.
    """

    __slots__ = (
        "activation", "failures_decay", "failures_weight", "first_cap", "first_decay",
        "first_weight", "invalid_decay", "invalid_weight", "mesh_cap", "mesh_decay",
        "mesh_threshold", "mesh_weight", "quantum", "time_cap", "time_weight", "window",
    )  # fmt: skip

    def __init__(self, parameters: TopicScoreParameters) -> None:
        weight = parameters.weight
        time, first = parameters.time_in_mesh, parameters.first_deliveries
        mesh, failures = parameters.mesh_deliveries, parameters.mesh_failures
        invalid = parameters.invalid_messages
        self.time_weight = weight * time.weight if time else 0.0
        self.quantum = time.quantum if time else 1.0
        self.time_cap = time.cap if time else 0.0
        self.first_weight = weight * first.weight if first else 0.0
        self.first_decay = first.decay if first else 0.0
        self.first_cap = first.cap if first else 0.0
        self.mesh_weight = weight * mesh.weight if mesh else 0.0
        self.mesh_decay = mesh.decay if mesh else 0.0
        self.mesh_cap = mesh.cap if mesh else 0.0
        self.mesh_threshold = mesh.threshold if mesh else 0.0
        self.window = mesh.window if mesh else -1.0
        """Below 0: who brings a copy does not matter."""
        self.activation = mesh.activation if mesh else 0.0
        self.failures_weight = weight * failures.weight if failures else 0.0
        self.failures_decay = failures.decay if failures else 0.0
        self.invalid_weight = weight * invalid.weight if invalid else 0.0
        self.invalid_decay = invalid.decay if invalid else 0.0


class TopicRecord:
    """The counters of one peer on one topic."""

    __slots__ = (
        "active", "failures", "first", "grafted_at", "in_mesh", "invalid", "mesh", "mesh_time",
        "score", "weights",
    )  # fmt: skip

    def __init__(self, weights: TopicWeights) -> None:
        self.weights = weights
        self.in_mesh = False
        self.grafted_at = 0.0
        self.mesh_time = 0.0
        """Seconds in the mesh, as of the last decay."""
        self.active = False
        """Whether the peer has been in the mesh for so long that P3 counts."""
        self.first = 0.0
        self.mesh = 0.0
        self.failures = 0.0
        self.invalid = 0.0
        self.score = 0.0
        """What it was worth when it was last looked at."""

    @property
    def empty(self) -> bool:
        """Whether a new record would say the same."""
        return not (self.in_mesh or self.first or self.mesh or self.failures or self.invalid)

    # ---- what it is worth

    def points(self) -> TopicPoints:
        """What each kind of conduct is worth."""
        weights = self.weights
        time = 0.0
        if self.in_mesh:
            time = min(self.mesh_time // weights.quantum, weights.time_cap)
        deficit = self._deficit() if self.active else 0.0
        return TopicPoints(
            time * weights.time_weight,
            self.first * weights.first_weight,
            deficit * deficit * weights.mesh_weight,
            self.failures * weights.failures_weight,
            self.invalid * self.invalid * weights.invalid_weight,
        )

    def worth(self) -> float:
        """The sum of :meth:`points`, in short: asked for each topic of each peer at every decay."""
        weights = self.weights
        total = self.first * weights.first_weight
        if self.in_mesh:
            time = self.mesh_time // weights.quantum
            total += (time if time < weights.time_cap else weights.time_cap) * weights.time_weight
        if self.active:
            deficit = self._deficit()
            total += deficit * deficit * weights.mesh_weight
        if self.failures:
            total += self.failures * weights.failures_weight
        if self.invalid:
            total += self.invalid * self.invalid * weights.invalid_weight
        return total

    def _deficit(self) -> float:
        return max(0.0, self.weights.mesh_threshold - self.mesh)

    # ---- what happens

    def count_first(self) -> bool:
        """The peer was the first to bring a valid message; returns whether copies of it count.

        Written out, because there is one for every message.
        """
        weights = self.weights
        count, cap = self.first + 1.0, weights.first_cap
        self.first = count if count < cap else cap
        if weights.window < 0:
            return False
        if self.in_mesh:
            count, cap = self.mesh + 1.0, weights.mesh_cap
            self.mesh = count if count < cap else cap
        return True

    def count_near_first(self) -> None:
        """It brought a copy of one in time."""
        if self.in_mesh:
            count, cap = self.mesh + 1.0, self.weights.mesh_cap
            self.mesh = count if count < cap else cap

    def graft(self, now: float) -> None:
        """It came into our mesh."""
        self.in_mesh = True
        self.grafted_at = now
        self.mesh_time = 0.0
        self.active = False

    def prune(self) -> None:
        """It left our mesh: what is missing now sticks.

        From now on nothing more is asked of it. go goes on asking, so that whoever was pruned for
        another reason falls below 0 in the end; rust and js do as we do.
        """
        if self.active:
            deficit = self._deficit()
            self.failures += deficit * deficit
        self.in_mesh = False
        self.active = False

    def leave(self) -> None:
        """The peer is gone: a mesh is left, and deliveries of the past are worth nothing."""
        if self.in_mesh:
            self.prune()
        self.first = self.mesh = 0.0

    def decay(self, steps: int, decay_to_zero: float, now: float) -> None:
        """So many decays are due."""
        weights = self.weights
        if self.first:
            self.first = decayed(self.first, weights.first_decay**steps, decay_to_zero)
        if self.mesh:
            self.mesh = decayed(self.mesh, weights.mesh_decay**steps, decay_to_zero)
        if self.failures:
            self.failures = decayed(self.failures, weights.failures_decay**steps, decay_to_zero)
        if self.invalid:
            self.invalid = decayed(self.invalid, weights.invalid_decay**steps, decay_to_zero)
        if self.in_mesh:
            self.mesh_time = now - self.grafted_at
            self.active = self.mesh_time > weights.activation

    def reweigh(self, weights: TopicWeights) -> None:
        """The topic has new parameters: what was counted stays, up to the new caps."""
        self.weights = weights
        self.first = min(self.first, weights.first_cap)
        self.mesh = min(self.mesh, weights.mesh_cap)
