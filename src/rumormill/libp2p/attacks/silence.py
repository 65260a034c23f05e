"""Attackers that take a place in the mesh and keep messages back: all, some, or one node's."""

from __future__ import annotations

from rumormill.core.machine import Peer, Send
from rumormill.libp2p.attacks.sybil import Orders, Sybil
from rumormill.libp2p.wire.gossip import Graft, Prune
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import Rpc, message_frame


class Relay(Sybil):
    """Passes on what it wants to, to those that have it in their mesh: the better half of a node.

    It tells of nothing that it has, and answers nobody.
    """

    listens = True

    def __init__(self, orders: Orders) -> None:
        super().__init__(orders)
        self._mesh: dict[Peer, None] = {}
        self._seen: set[bytes] = set()

    def said(self, peer: Peer, rpc: Rpc, now: float) -> list[Send]:
        """Pass the messages on."""
        if rpc.control is not None:
            self._heed(peer, rpc)
        sends: list[Send] = []
        for message in rpc.messages:
            raw = message.raw
            if raw not in self._seen:
                self._seen.add(raw)
                if self.passes_on(message, now):
                    frame = message_frame(message)
                    sends += [Send(other, frame) for other in self._mesh if other != peer]
        return sends

    def _heed(self, peer: Peer, rpc: Rpc) -> None:
        assert rpc.control is not None
        if rpc.control.of(Graft):
            self._mesh[peer] = None
        if rpc.control.of(Prune):
            self._mesh.pop(peer, None)

    def greeting(self) -> list[bytes]:
        """Whom it asks for a place has one in its own mesh, too."""
        self._mesh.update(dict.fromkeys(self.peers))
        return super().greeting()

    def passes_on(self, message: WireMessage, now: float) -> bool:
        """Whether it passes a message on."""
        return True


class Censor(Relay):
    """Keeps back what the victim writes, and nothing else: its score is as good as anybody's."""

    def passes_on(self, message: WireMessage, now: float) -> bool:
        """All but the victim's."""
        return message.sender_id != self.orders.victim.encode()


class Degrader(Relay):
    """Keeps half of everything back."""

    def passes_on(self, message: WireMessage, now: float) -> bool:
        """Chance decides."""
        return self.orders.random.random() < 0.5


class CovertFlash(Relay):
    """Is the best of peers until its hour comes; then, with all others, it falls silent."""

    def passes_on(self, message: WireMessage, now: float) -> bool:
        """Until its hour."""
        return now < self.orders.begins
