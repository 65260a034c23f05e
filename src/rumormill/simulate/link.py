"""Links: what lies between two nodes, in one direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from rumormill.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Link:
    """How one direction of a connection behaves. Times in seconds, sizes in bytes.

    >>> Link(latency=0.1, bandwidth=1_000_000, loss=0.01).reliable
    True
    >>> Link(loss=1.0)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: loss: must be at least 0 and below 1, not 1.0
    """

    latency: float = 0.05
    """From the last byte sent to its arrival."""
    jitter: float = 0.0
    """Each packet takes up to this much longer, evenly spread."""
    bandwidth: float | None = None
    """Bytes a second; packets queue behind each other. None: no limit."""
    loss: float = 0.0
    """The share of packets that get lost on the way."""
    reliable: bool = True
    """As TCP: everything arrives, in order, and a loss costs ``retransmission_timeout``.
    Otherwise as UDP: what is lost is lost, and jitter may change the order; at the level of
    datagrams it is always so."""
    retransmission_timeout: float = 0.2
    queue: int = 4 << 20
    """Bytes that may be under way at once; what does not fit is dropped, counted and traced."""
    high_water: int | None = None
    """Bytes under way above which the sender is told to hold back. None: 1/16 of ``queue``."""
    low_water: int | None = None
    """Bytes under way at which it may go on. None: a quarter of ``high_water``."""

    uncertain: bool = field(init=False, repr=False, compare=False)
    """Whether chance has a part in it."""
    plain: bool = field(init=False, repr=False, compare=False)
    """Whether latency is all there is to it: the fast case."""
    holds_back_above: int = field(init=False, repr=False, compare=False)
    goes_on_at: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the values and work out the ones that follow from them."""
        for key in ("latency", "jitter", "retransmission_timeout"):
            if not 0 <= getattr(self, key) < math.inf:
                raise ConfigError(key, f"must be at least 0, not {getattr(self, key)}")
        if self.bandwidth is not None and not 0 < self.bandwidth < math.inf:
            raise ConfigError("bandwidth", f"must be above 0, or None, not {self.bandwidth}")
        if self.reliable and not 0 <= self.loss < 1:
            raise ConfigError("loss", f"must be at least 0 and below 1, not {self.loss}")
        if not 0 <= self.loss <= 1:
            raise ConfigError("loss", f"must be between 0 and 1, not {self.loss}")
        high = self.queue // 16 if self.high_water is None else self.high_water
        low = high // 4 if self.low_water is None else self.low_water
        if not 0 <= low <= high <= self.queue:
            raise ConfigError("queue", f"needs 0 <= {low} (low) <= {high} (high) <= {self.queue}")
        uncertain = self.jitter > 0 or self.loss > 0
        object.__setattr__(self, "uncertain", uncertain)
        object.__setattr__(self, "plain", not uncertain and self.bandwidth is None)
        object.__setattr__(self, "holds_back_above", high)
        object.__setattr__(self, "goes_on_at", low)


def no_chance() -> float:
    """The draw of a link in which chance has no part."""
    return 1.0


class Pipe:
    """A link in use: when does what is sent now arrive?

    >>> pipe = Pipe(Link(latency=0.1, bandwidth=1000))
    >>> pipe.arrival(500, now=0.0), pipe.arrival(500, now=0.0)
    (0.6, 1.1)
    """

    __slots__ = ("_draw", "_free_at", "_latest_arrival", "in_flight", "link")

    def __init__(self, link: Link, draw: Callable[[], float] = no_chance) -> None:
        self.link = link
        self.in_flight = 0
        """Bytes sent that have not arrived."""
        self._draw = draw
        self._free_at = 0.0
        self._latest_arrival = 0.0

    def arrival(self, size: int, now: float) -> float | None:
        """The time at which ``size`` bytes sent now arrive; None if they get lost."""
        link = self.link
        leaves = now
        if link.bandwidth is not None:
            leaves = max(now, self._free_at) + size / link.bandwidth
            self._free_at = leaves
        arrives = leaves + link.latency
        if link.uncertain:
            arrives += link.jitter * self._draw()
            while self._draw() < link.loss:
                if not link.reliable:
                    return None
                arrives += link.retransmission_timeout
        if link.reliable:
            # What comes after a retransmitted packet waits for it, as in TCP.
            arrives = self._latest_arrival = max(arrives, self._latest_arrival)
        return arrives

    def end_arrival(self, now: float) -> float:
        """When the news that this side is gone arrives: behind all that was sent before."""
        leaves = max(now, self._free_at)
        return max(leaves + self.link.latency, self._latest_arrival)
