"""What pubsub keeps about one connected peer."""

from __future__ import annotations

from rumormill.core.addresses import owner_of
from rumormill.core.limits import MICROSECONDS, Allowance, Work
from rumormill.core.machine import PeerJoined
from rumormill.libp2p.pubsub.outbound.queue import PeerQueue
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.wire.frames import FrameReader

OWN_SHARE, OWN_BURST = 0.01, 0.02
"""Of one core, and seconds at once: what messages of a peer may take before it counts as one that
sends very many; some two hundred a second, and five hundred at once."""


class PeerState:
    """One peer: its line towards us, its queue, and what it has under check."""

    __slots__ = (
        "brought", "check_bytes", "checks", "dear_signatures", "fresh", "held", "messages",
        "outbound", "place", "protocol", "queue", "reader", "refused_subscriptions", "work",
    )  # fmt: skip

    def __init__(self, joined: PeerJoined, parameters: PubsubParameters, now: float) -> None:
        self.protocol = joined.protocol
        self.outbound = joined.outbound
        self.place = place_of(joined.address)
        """Where it came from, as others may that belong to the same; empty if that is not known."""
        self.queue = PeerQueue(parameters.queue_messages, parameters.queue_bytes)
        self.reader = FrameReader(parameters.largest_rpc)
        self.fresh = True
        """Whether no RPC of its stream was handled yet; the first may be under way."""
        self.brought = float("-inf")
        """When it brought the last message that was new and valid."""
        self.checks = 0
        """Messages of this peer under check."""
        self.check_bytes = 0
        """Their bytes."""
        self.held = False
        """Whether the peer is held back because of them."""
        self.refused_subscriptions = 0
        self.work = Work(parameters.work_limits, now)
        """What the peer has made us do."""
        limits = parameters.work_limits
        self.dear_signatures = Allowance(limits.share * MICROSECONDS, limits.burst_cost)
        """What of its messages' signatures that are dear to check is looked at."""
        self.messages = Allowance(OWN_SHARE * MICROSECONDS, OWN_BURST * MICROSECONDS)
        """What of its messages it may send before it has to share with others that send many."""


def place_of(address: str) -> str:
    """Who owns the address, as far as can be seen; empty if there is none.

    >>> place_of("/ip4/192.0.2.7/tcp/4001"), place_of("/ip6/2001:db8::17/tcp/4001"), place_of("")
    ('192.0.2.7', '2001:db8::/64', '')
    """
    parts = address.split("/", 3)
    return owner_of(parts[2]) if len(parts) > 2 else ""
