"""How many queries an address may ask: an allowance for each IP.

It bounds what one sender can cost us, and what a sender with a forged address can make us send to
the one it forged. Ports are free to choose and so are the lower 64 bits of an IPv6 address: neither
gives another allowance.
"""

from __future__ import annotations

from rumormill.bep50.wire.addresses import compact
from rumormill.core.limits import Allowances
from rumormill.core.machine import Peer


class RateLimits:
    """``rate`` queries a second and ``burst`` at once, for each of the last ``most`` addresses.

    >>> limits = RateLimits(rate=1.0, burst=2.0, most=1000)
    >>> [limits.allow("10.0.0.1:6881", now=0.0) for _ in range(3)]
    [True, True, False]
    >>> limits.allow("10.0.0.1:7000", now=1.0)
    True
    """

    __slots__ = ("_allowances",)

    def __init__(self, rate: float, burst: float, most: int) -> None:
        self._allowances = Allowances[str | bytes](rate, burst, most)

    def __len__(self) -> int:
        return len(self._allowances)

    def allow(self, peer: Peer, now: float, cost: float = 1.0) -> bool:
        """Whether ``peer`` may have this; if so, it is paid for."""
        return self._allowances.take(network_of(peer), cost, now)


def network_of(peer: Peer) -> str | bytes:
    """What an address shares with others of the same owner: its IPv4 address, or its IPv6 /64."""
    if peer[0] == "[":
        return compact(peer)[:8]
    return peer[: peer.rindex(":")]
