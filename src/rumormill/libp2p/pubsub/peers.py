"""What pubsub keeps about one connected peer."""

from __future__ import annotations

from rumormill.core.limits import MICROSECONDS, Allowance, Work
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.queue import PeerQueue
from rumormill.libp2p.wire.frames import FrameReader

OWN_SHARE, OWN_BURST = 0.01, 0.02
"""Of one core, and seconds at once: what messages of a peer may take before it counts as one that
sends very many; some two hundred a second, and five hundred at once."""


class PeerState:
    """One peer: its line towards us, its queue, and what it has under check."""

    __slots__ = (
        "check_bytes", "checks", "dear_signatures", "held", "messages", "outbound", "protocol",
        "queue", "reader", "refused_subscriptions", "work",
    )  # fmt: skip

    def __init__(
        self, protocol: str, outbound: bool, parameters: PubsubParameters, now: float
    ) -> None:
        self.protocol = protocol
        self.outbound = outbound
        self.queue = PeerQueue(parameters.queue_messages, parameters.queue_bytes)
        self.reader = FrameReader(parameters.max_rpc_size)
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
