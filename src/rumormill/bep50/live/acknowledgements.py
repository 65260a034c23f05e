"""What becomes of our own publications: who has taken them, and who has not.

Each peer that a publication is on its way to answers once: it has it, it refuses it, or it is
silent. A peer that has a later publication of the same topic needs the earlier ones no more.
"""

from __future__ import annotations

from collections.abc import Callable

from rumormill.bep50.effects import Acknowledged, Refused
from rumormill.bep50.wire.krpc import CAS_MISMATCH, SEQ_TOO_LOW
from rumormill.core.receipt import Receipt

NO_ANSWER = "no_answer"


class Publication:
    """One publication that somebody waits for."""

    def __init__(self, receipt: Receipt, seq: int) -> None:
        self.id = receipt.id
        self.topic = receipt.topic
        self.seq = seq
        self._refused: dict[str, Refused] = {}
        self._receipt = receipt
        self._open = dict.fromkeys(receipt.peers)
        self._taken: dict[str, None] = {}

    @property
    def settled(self) -> bool:
        """Whether somebody has it, or everybody has answered."""
        return bool(self._taken) or not self._open

    @property
    def outdated(self) -> bool:
        """Whether nobody has it, and somebody said that there is something newer."""
        codes = {answer.code for answer in self._refused.values()}
        return not self._taken and not codes.isdisjoint((SEQ_TOO_LOW, CAS_MISMATCH))

    @property
    def receipt(self) -> Receipt:
        """How things stand: who has it (reached), who may yet get it (queued), who will not."""
        dropped = {**self._receipt.dropped}
        for peer, answer in self._refused.items():
            dropped[peer] = f"{answer.code} {answer.text}" if answer.code else NO_ANSWER
        return self._receipt._replace(
            reached=tuple(self._taken),
            queued=tuple(self._open),
            dropped=dropped,
            fields={**self._receipt.fields, "seq": self.seq},
        )

    def take(self, peer: str) -> None:
        """A peer has it."""
        if self._open.pop(peer, peer) is None:
            self._taken[peer] = None

    def refuse(self, answer: Refused) -> None:
        """A peer will not have it."""
        if self._open.pop(answer.peer, answer.peer) is None:
            self._refused[answer.peer] = answer


class Acknowledgements:
    """All publications that somebody waits for; ``happened`` is called when an answer has come."""

    def __init__(self, happened: Callable[[], None]) -> None:
        self._happened = happened
        self._waiting: dict[bytes, Publication] = {}
        self.handlers: dict[type, Callable[..., None]] = {
            Acknowledged: self._acknowledged,
            Refused: self._refused,
        }

    def expect(self, receipt: Receipt, seq: int) -> Publication:
        """Begin to wait; to be called in the turn in which it was published."""
        publication = self._waiting[receipt.id] = Publication(receipt, seq)
        return publication

    def forget(self, publication: Publication) -> None:
        """Nobody waits any more."""
        self._waiting.pop(publication.id, None)

    def _acknowledged(self, effect: Acknowledged) -> None:
        found = self._waiting.get(effect.message_id)
        if found is None:
            return
        for each in list(self._waiting.values()):
            if each.topic == found.topic and each.seq <= found.seq:
                each.take(effect.peer)
        self._happened()

    def _refused(self, effect: Refused) -> None:
        found = self._waiting.get(effect.message_id)
        if found is not None:
            found.refuse(effect)
            self._happened()
