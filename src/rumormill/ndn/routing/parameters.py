"""What can be set of routing."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field, field_validator

from rumormill.core.parameters import Parameters
from rumormill.ndn.routing.static_route import read_static_route

UNREACHABLE: Final = 16
"""The cost at which a way is none; no way is longer, so that counting up to it ends soon."""


class RoutingParameters(Parameters):
    """How neighbours tell each other what they can reach."""

    routes: tuple[str, ...] = ()
    """Routes by hand, as ``/prefix=tcp://192.0.2.7:6363`` or, with a cost,
    ``/prefix=udp://192.0.2.7:6363,5``. The address is dialed and kept, and the route stands while
    it is connected."""
    announce: bool = True
    """Whether neighbours that are nodes of ours are told which prefixes they reach by us."""
    hop_cost: int = Field(default=1, ge=1, le=UNREACHABLE - 1)
    """What it costs to reach something by a neighbour, on top of what it costs the neighbour.
    16 is unreachable."""
    hello_interval: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds between two hellos to a neighbour, which keep its routes alive."""
    hello_losses: int = Field(default=3, ge=1)
    """Hellos in a row that a neighbour may leave unanswered; then its routes are gone."""
    answer_timeout: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Seconds until a hello or an update that is not answered is sent again."""
    update_delay: float = Field(default=0.05, ge=0, allow_inf_nan=False)
    """Seconds from a change until neighbours are told; more of them are told at once."""
    hold: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """Seconds for which a way that got longer is told as lost, before the longer one is told: who
    went by us has forgotten it by then, and nobody takes our own word for a way of others."""
    probes: int = Field(default=5, ge=1, le=100)
    """Hellos that a forwarder is sent that has never answered one; then it is left alone, until it
    is connected anew or says hello."""
    probe_interval: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds between two hellos to who has fallen silent, or was never heard and is dialed by
    UDP, where nobody hears of a restart."""
    max_neighbours: int = Field(default=256, ge=1)
    """Neighbours that may tell us what they reach."""
    max_neighbour_prefixes: int = Field(default=10_000, ge=1)
    """Routes that one neighbour may tell; the same prefix at two nodes is two."""
    max_prefixes: int = Field(default=50_000, ge=1)
    """Routes that all neighbours together may tell; past it, who told most has to give way."""
    max_prefix_bytes: int = Field(default=1000, ge=8, le=4000)
    """Bytes of a prefix, encoded; longer ones are neither told nor taken."""
    update_rate: float = Field(default=2000.0, gt=0, allow_inf_nan=False)
    """Changes per second that are taken of one neighbour for long; more of them have to wait."""

    @field_validator("routes", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("routes")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for route in value:
            read_static_route(route)
        return value
