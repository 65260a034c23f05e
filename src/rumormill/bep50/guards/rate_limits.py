"""How many queries an address may ask: a token bucket for each IP.

It bounds what one sender can cost us, and what a sender with a forged address can make us send to
the one it forged. Ports are free to choose and so are the lower 64 bits of an IPv6 address: neither
gives another bucket.
"""

from __future__ import annotations

from rumormill.bep50.wire.addresses import compact
from rumormill.core.machine import Peer

SWEEP_INTERVAL = 10.0
"""Seconds between two looks for buckets that are full again."""


class RateLimits:
    """``rate`` queries a second and ``burst`` at once, for each of the last ``most`` addresses.

    >>> limits = RateLimits(rate=1.0, burst=2.0, most=1000)
    >>> [limits.allow("10.0.0.1:6881", now=0.0) for _ in range(3)]
    [True, True, False]
    >>> limits.allow("10.0.0.1:7000", now=1.0)
    True
    """

    __slots__ = ("_buckets", "_burst", "_most", "_rate", "_sweep_at")

    def __init__(self, rate: float, burst: float, most: int) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        # What is left in each bucket, and when that was; the one used longest ago comes first.
        self._buckets: dict[str | bytes, tuple[float, float]] = {}
        self._sweep_at = 0.0

    def __len__(self) -> int:
        return len(self._buckets)

    def allow(self, peer: Peer, now: float, cost: float = 1.0) -> bool:
        """Whether ``peer`` may have this; if so, it is paid for."""
        if now >= self._sweep_at:
            self._sweep(now)
        key = network_of(peer)
        buckets = self._buckets
        known = buckets.pop(key, None)
        if known is None:
            left = self._burst
            if len(buckets) >= self._most:
                del buckets[next(iter(buckets))]
        else:
            left, at = known
            left = min(self._burst, left + (now - at) * self._rate)
        allowed = left >= cost
        buckets[key] = (left - cost if allowed else left, now)
        return allowed

    def _sweep(self, now: float) -> None:
        """Forget buckets that are full again: one that is not known is full as well."""
        full_after = self._burst / self._rate
        self._sweep_at = now + max(full_after, SWEEP_INTERVAL)
        self._buckets = {
            key: (left, at)
            for key, (left, at) in self._buckets.items()
            if left + (now - at) * self._rate < self._burst
        }


def network_of(peer: Peer) -> str | bytes:
    """What an address shares with others of the same owner: its IPv4 address, or its IPv6 /64."""
    if peer[0] == "[":
        return compact(peer)[:8]
    return peer[: peer.rindex(":")]
