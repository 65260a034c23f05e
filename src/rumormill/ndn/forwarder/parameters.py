"""What can be set on the forwarder: how much it keeps, for how long, and who may command it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rumormill.core.parameters import Parameters

StrategyName = Literal["best-route", "multicast"]
"""How Interests are sent on: to the nearest next hop, or to all of them."""


class ForwarderParameters(Parameters):
    """Tables, their bounds, and management.

    >>> ForwarderParameters(max_pit=0)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: max_pit: input should be greater than or equal to 1 (got 0)
    """

    # ---- Interests that wait for their Data
    max_pit: int = Field(default=32_768, ge=1)
    """Interests of all faces that may wait for their Data at once. Past it, the face that
    has most of them loses its oldest, by a Nack for congestion."""
    max_pit_bytes: int = Field(default=64 * 1024 * 1024, ge=16 * 1024)
    """Bytes of memory that they may take, for names can be long."""
    max_face_pit: int = Field(default=8192, ge=1)
    """Interests of one face that may wait at once: past it, the face loses its own oldest."""
    max_lifetime: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds that an Interest may wait, whatever it asks for."""

    # ---- Data that is kept
    max_cs: int = Field(default=32 * 1024 * 1024, ge=0)
    """Bytes of memory for Data that is kept to answer the same Interest again; 0: nothing is."""
    max_cs_packets: int = Field(default=16_384, ge=0)
    """Data packets that are kept."""

    # ---- loops
    dead_nonce_seconds: float = Field(default=6.0, gt=0, allow_inf_nan=False)
    """Seconds for which the nonce of an Interest that ended is known, so that a copy that went
    round in a circle is not taken for a new one."""
    max_dead_nonces: int = Field(default=131_072, ge=2)
    """Nonces that are known at once."""

    # ---- routes
    max_fib: int = Field(default=65_536, ge=1)
    """Routes of all faces."""
    max_face_routes: int = Field(default=16_384, ge=1)
    """Routes of one face."""
    max_prefix_components: int = Field(default=32, ge=1, le=256)
    """Components of a prefix that a route or a strategy is for."""
    regions: tuple[str, ...] = ()
    """Names of the networks that this node is in: a forwarding hint that is a prefix of one of
    them has led to its goal, and is taken off the Interest."""

    # ---- strategies
    strategy: StrategyName = "best-route"
    """For whatever has no strategy of its own."""
    max_strategies: int = Field(default=4096, ge=1)
    """Prefixes with a strategy of their own."""
    suppression_first: float = Field(default=0.01, ge=0, allow_inf_nan=False)
    """Seconds after an Interest was sent on within which another for the same Data is not; each
    time that it is, they are twice as many,"""
    suppression_most: float = Field(default=0.25, ge=0, allow_inf_nan=False)
    """and at most so many."""

    # ---- tokens
    pit_tokens: bool = False
    """Send a token with every Interest, by which its Data is found. Without, only Interests that
    give a prefix get one: a whole name is found just as fast."""

    # ---- management
    localhop_registration: bool = False
    """Whether programs on other machines may have routes to their own faces, by commands below
    /localhop/nfd. Programs on this machine may give all commands, below /localhost/nfd."""
    command_rate: float = Field(default=1000.0, gt=0, allow_inf_nan=False)
    """Commands and questions per second that are answered to one face."""
    command_burst: float = Field(default=5000.0, ge=1, allow_inf_nan=False)
    """And so many at once."""
