"""How many peers of which kind a mesh has: for the whole network, and for single topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters, not_above

USUAL_OUTBOUND = 2
"""``D_out`` where ``D`` and ``D_low`` leave room for it."""

USUAL_BEST = 4
"""``D_score`` where ``D`` leaves room for it."""


class TopicMesh(Parameters):
    """The degrees of one topic's mesh; what is not set here is as for the whole network.

    >>> TopicMesh(D=8).D
    8
    """

    D: int | None = Field(default=None, ge=0)
    D_low: int | None = Field(default=None, ge=0)
    D_high: int | None = Field(default=None, ge=0)
    D_score: int | None = Field(default=None, ge=0)
    D_out: int | None = Field(default=None, ge=0)
    D_lazy: int | None = Field(default=None, ge=0)


class Degrees(NamedTuple):
    """The degrees of one mesh, each under the name that the specification gives it."""

    D: int
    D_low: int
    D_high: int
    D_score: int
    D_out: int
    D_lazy: int

    def check(self, prefix: str = "") -> None:
        """Raise :class:`ConfigError` with the key, behind ``prefix``, that contradicts another."""
        not_above(f"{prefix}D_low", self.D_low, "D", self.D)
        not_above(f"{prefix}D", self.D, "D_high", self.D_high)
        not_above(f"{prefix}D_score", self.D_score, "D", self.D)
        if self.D_out and self.D_out >= self.D_low:
            raise ConfigError(
                f"{prefix}D_out", f"must be below D_low ({self.D_out} >= {self.D_low})"
            )
        not_above(f"{prefix}D_out", self.D_out, "half of D", self.D / 2)

    def changed(self, special: TopicMesh) -> Degrees:
        """The same with what is special about a topic.

        Numbers that nobody has set follow the ones that were.
        """
        given = {key: value for key, value in special.model_dump().items() if value is not None}
        degrees = self._replace(**given)
        return degrees._replace(
            D_score=given.get("D_score", min(self.D_score, degrees.D)),
            D_out=given.get("D_out", min(self.D_out, most_outbound(degrees.D, degrees.D_low))),
        )


class DegreeBook:
    """The degrees of every topic."""

    __slots__ = ("_special", "usual")

    def __init__(self, usual: Degrees, topics: Mapping[str, TopicMesh]) -> None:
        """Raises :class:`ConfigError` where the degrees of a topic contradict each other."""
        self.usual = usual
        self._special: dict[str, Degrees] = {}
        for topic, special in topics.items():
            degrees = self._special[topic] = usual.changed(special)
            degrees.check(f"topic_meshes.{topic}.")

    def of(self, topic: str) -> Degrees:
        """The degrees of the topic's mesh."""
        return self._special.get(topic, self.usual)


def most_outbound(D: int, D_low: int) -> int:
    """The largest ``D_out`` that the other degrees allow.

    >>> most_outbound(6, 4), most_outbound(1, 1), most_outbound(0, 0)
    (3, 0, 0)
    """
    return max(0, min(D_low - 1, D // 2))
