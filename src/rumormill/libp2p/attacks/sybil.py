"""A Sybil: a peer that speaks the wire and does as little as it can: thousands are cheap."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from rumormill.core.machine import Peer, PeerJoined, PeerLeft, Received, Send
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.gossipsub.features import MESHSUB_1_2
from rumormill.libp2p.wire.control import ControlKinds, Entry
from rumormill.libp2p.wire.dont_want import IDONTWANT
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from rumormill.libp2p.wire.gossip import GRAFT, IHAVE, IWANT, PRUNE, Graft
from rumormill.libp2p.wire.rpc import Rpc, Subscription, decode_rpc, subscription_field

KINDS = ControlKinds(IHAVE, IWANT, GRAFT, PRUNE, IDONTWANT)
"""What attackers say and understand."""
LARGEST = 4 * 1024 * 1024
CONTROL = 3
"""The field of an RPC that control is in."""
PATIENT = 65.0
"""Seconds after which a peer that was sent away may ask again without breaking a rule."""


class Orders(NamedTuple):
    """What an attacker is told: the topic, whom it is about, and its own chance."""

    name: Peer
    topic: str
    victim: Peer
    """The one node that the attack is about, where it is about one."""
    begins: float
    """When it drops its mask."""
    random: random.Random


def control(*entries: Entry) -> bytes:
    """A frame with nothing but these entries of control."""
    return control_bytes(b"".join(KINDS.of(each).piece(each) for each in entries))


def control_bytes(raw: bytes) -> bytes:
    """A frame with control that may be malformed."""
    return length_prefixed(bytes_field(CONTROL, raw))


def subscriptions(topics: Iterable[str], subscribe: bool = True) -> bytes:
    """A frame that says which topics its sender listens to."""
    each = (subscription_field(Subscription(subscribe, topic)) for topic in topics)
    return length_prefixed(b"".join(each))


class Sybil:
    """Subscribes and asks every peer for a place in its mesh, then passes nothing on.

    That alone is the eclipse. Others derive from it: :meth:`said` is what they do when a peer says
    something (with ``listens``), :meth:`act` what they do every ``period`` seconds.
    """

    protocols = (MESHSUB_1_2,)
    listens: ClassVar[bool] = False
    """Whether it reads what it is sent; who only keeps quiet need not."""
    period: ClassVar[float] = PATIENT

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.peers: dict[Peer, FrameReader | None] = {}
        self._next = orders.begins

    def handle(self, input: Any, now: float) -> list[Send]:
        """Take a packet or a peer event; whatever else there is does not matter to it."""
        if isinstance(input, Received):
            return self._received(input, now) if self.listens else []
        if isinstance(input, PeerJoined):
            self.peers[input.peer] = FrameReader(LARGEST) if self.listens else None
            self._next = max(self._next, now + self.period)
            return [Send(input.peer, frame) for frame in self.greeting()]
        if isinstance(input, PeerLeft):
            self.peers.pop(input.peer, None)
        return []

    def wake(self, now: float) -> list[Send]:
        """Act when it is time."""
        if now < self._next:
            return []
        self._next = now + self.period
        return [Send(peer, frame) for peer in self.peers for frame in self.act(peer, now)]

    def next_wake(self) -> float | None:
        """When it acts next; never without anybody to harm."""
        return self._next if self.peers else None

    def _received(self, received: Received, now: float) -> list[Send]:
        reader = self.peers.get(received.peer)
        if reader is None:
            return []
        sends: list[Send] = []
        for frame in reader.feed(received.packet):
            sends += self.said(received.peer, decode_rpc(frame, kinds=KINDS), now)
        return sends

    # ---- what the attacks differ in

    def greeting(self) -> list[bytes]:
        """The frames that a new peer gets."""
        return [subscriptions((self.orders.topic,)), control(Graft(self.orders.topic))]

    def said(self, peer: Peer, rpc: Rpc, now: float) -> list[Send]:
        """A peer said something."""
        return []

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """It is time for the next frames to a peer: here, to ask for a place again."""
        return [control(Graft(self.orders.topic))]
