"""What the side towards other nodes asks of AMOP; :class:`~rumormill.bcos.amop.amop.Amop` is it."""

from __future__ import annotations

from typing import Protocol

from rumormill.bcos.wire.p2p_packet import P2PPacket


class AmopSide(Protocol):
    """What AMOP is told of other nodes."""

    def received(self, node: str, packet: P2PPacket) -> bool:
        """A packet of its module that is no answer; False if it was of no use to anybody."""
        ...

    def topics_changed(self, node: str) -> None:
        """A node has other private topics now."""
        ...

    def topics_confirmed(self, node: str) -> None:
        """A node has the private topics that it had."""
        ...

    def node_left(self, node: str) -> None:
        """A node cannot be reached any more."""
        ...
