"""Questions to other nodes: each has a seq, and only the node that was asked can answer it."""

from __future__ import annotations

from collections.abc import Callable

from rumormill.bcos.links.pending import Pending
from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.core.timers import Alarm

FIRST_SEQ = 2
"""Where nodes of other make begin, too. 0 expects no answer."""

LARGEST_SEQ = 2**32 - 1

MOST_QUESTIONS = 100_000
"""Questions that may wait at once; further ones fail."""

Done = Callable[[P2PPacket | None, str], None]
"""Hears the answer, or None and why there is none."""


class Questions:
    """What we have asked other nodes. ``send`` hands a packet to a node; False if it cannot."""

    def __init__(
        self, now: Callable[[], float], send: Callable[[str, P2PPacket], bool], alarm: Alarm
    ) -> None:
        self._now = now
        self._send = send
        self._pending: Pending[tuple[int, int], P2PPacket] = Pending(alarm)
        """By protocol and seq."""
        self.next_seq = FIRST_SEQ

    def __len__(self) -> int:
        return len(self._pending)

    def new_seq(self) -> int:
        """A seq that nothing of ours has."""
        seq = self.next_seq
        self.next_seq = FIRST_SEQ if seq >= LARGEST_SEQ else seq + 1
        return seq

    def ask(
        self, node: str, protocol: int, kind: int, payload: bytes, timeout: float, done: Done
    ) -> None:
        """Send a packet, and wait for its answer; ``done`` hears at once if it cannot leave."""
        if len(self._pending) >= MOST_QUESTIONS:
            done(None, "too_many_questions")
            return
        seq = self.new_seq()
        while (protocol, seq) in self._pending:  # after the seqs have begun anew
            seq = self.new_seq()
        if self._send(node, P2PPacket(protocol, kind, seq, payload)):
            self._pending.begin((protocol, seq), node, self._now() + timeout, done)
        else:
            done(None, "not_sent")

    def answered(self, node: str, packet: P2PPacket) -> bool:
        """An answer came; False if nobody has asked this node for it, or waits for it still."""
        key = (-packet.protocol, packet.seq)
        return self._pending.asked(key) == node and self._pending.answer(key, packet)

    def lost(self, node: str, reason: str) -> None:
        """The node is gone, and will not answer."""
        self._pending.lost(node, reason)

    def wake(self, now: float) -> None:
        """End those whose time is over."""
        self._pending.wake(now)

    def next_wake(self) -> float | None:
        """When the first of them ends."""
        return self._pending.next_wake()
