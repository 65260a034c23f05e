"""What becomes of our own publications: who has taken them, and who has not.

Each peer that a publication is on its way to answers once: it has it, it refuses it, or it is
silent. A peer that has a later publication of the same topic needs the earlier ones no more.
"""

from __future__ import annotations

from collections import deque

from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.wire.arguments import CAS_MISMATCH, SEQ_TOO_LOW, error_name
from rumormill.core.machine import Peer
from rumormill.core.receipt import Receipt

MOST_AWAITED = 1024
"""Publications whose end at one peer is waited for."""

NO_ANSWER = "no_answer"
OVERTAKEN = "overtaken"

# Trace events of this part, each with the message and the peer.
ACKNOWLEDGED = "acknowledged"  # the peer has our own publication now
REFUSED = "refused"  # it does not take it, and asking again would not help; fields: reason, detail


class Publication:
    """One value of ours on its way to our neighbours."""

    __slots__ = ("_codes", "_dropped", "_open", "_receipt", "_taken", "seq")

    def __init__(self, receipt: Receipt, seq: int) -> None:
        self.seq = seq
        self._receipt = receipt
        self._open = dict.fromkeys(receipt.peers)
        self._taken: dict[Peer, None] = {}
        self._dropped = dict(receipt.dropped)
        self._codes: set[int] = set()

    @property
    def message_id(self) -> bytes:
        """Its id as a message."""
        return self._receipt.id

    @property
    def outset(self) -> Receipt:
        """How things stood when it was passed on."""
        return self._receipt

    @property
    def settled(self) -> bool:
        """Whether somebody has it, or everybody has answered."""
        return bool(self._taken) or not self._open

    @property
    def outdated(self) -> bool:
        """Whether nobody has it, and somebody said that there is something newer."""
        return not self._taken and not self._codes.isdisjoint((SEQ_TOO_LOW, CAS_MISMATCH))

    @property
    def receipt(self) -> Receipt:
        """How things stand: who has it (reached), who may yet get it (queued), who will not."""
        return self._receipt._replace(
            reached=tuple(self._taken),
            queued=tuple(self._open),
            dropped=dict(self._dropped),
            fields={**self._receipt.fields, "seq": self.seq},
        )

    def take(self, peer: Peer) -> None:
        """A peer has it."""
        self._open.pop(peer, None)
        self._taken[peer] = None

    def refuse(self, peer: Peer, code: int, text: str) -> None:
        """A peer will not have it."""
        self._open.pop(peer, None)
        self._codes.add(code)
        self._dropped[peer] = f"{code} {text}" if code else text


class Acknowledgements:
    """The publications of one topic, by the peers that have neither taken nor refused them."""

    __slots__ = ("_outbox", "_topic", "_waiting")

    def __init__(self, topic: str, outbox: Outbox) -> None:
        self._topic = topic
        self._outbox = outbox
        self._waiting: dict[Peer, deque[Publication]] = {}

    def __len__(self) -> int:
        """How many peers have not answered yet."""
        return len(self._waiting)

    def expect(self, publication: Publication, peers: tuple[Peer, ...]) -> None:
        """A publication is on its way to these peers: exactly one event will tell each end."""
        for peer in peers:
            waiting = self._waiting.get(peer)
            if waiting is not None and len(waiting) >= MOST_AWAITED:
                self.refused(peer, waiting[0].seq, 0, OVERTAKEN)
                waiting = self._waiting.get(peer)
            if waiting is None:
                waiting = self._waiting[peer] = deque()
            waiting.append(publication)

    def taken(self, peer: Peer, seq: int) -> None:
        """The peer has the item of this number, and so needs no earlier one."""
        for each in self._settle(peer, seq):
            each.take(peer)
            self._outbox.emit(ACKNOWLEDGED, self._topic, each.message_id, peer)

    def refused(self, peer: Peer, seq: int, code: int, text: str) -> None:
        """The peer will get no item up to this number from us."""
        for each in self._settle(peer, seq):
            each.refuse(peer, code, text)
            self._outbox.emit(
                REFUSED, self._topic, each.message_id, peer,
                reason=error_name(code) if code else text, detail=text,
            )  # fmt: skip

    def leave(self, seq: int) -> None:
        """The topic is left: nobody will answer any more."""
        for peer in list(self._waiting):
            self.refused(peer, seq, 0, NO_ANSWER)

    def _settle(self, peer: Peer, seq: int) -> list[Publication]:
        waiting = self._waiting.get(peer)
        if waiting is None:
            return []
        settled = []
        while waiting and waiting[0].seq <= seq:
            settled.append(waiting.popleft())
        if not waiting:
            del self._waiting[peer]
        return settled
