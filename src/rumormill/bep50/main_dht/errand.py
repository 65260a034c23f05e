"""One errand on the main DHT: find the newest value of an item, and perhaps put one.

Both begin with the same search: ``get`` on the nodes nearer and nearer to the item's target. The
newest value whose signature and target fit wins. A write goes on with ``put`` to the nearest nodes
that gave a token.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.bep50.main_dht.effects import ItemRead, ItemWritten, ReadItem, WriteItem
from rumormill.bep50.main_dht.parameters import MainParameters
from rumormill.bep50.overlay.members.lookup import Candidate, Lookup
from rumormill.bep50.wire.addresses import parse_peer
from rumormill.bep50.wire.items import Item, genuine, item_from_get, target_of
from rumormill.bep50.wire.krpc import Answer
from rumormill.bep50.wire.node_ids import is_valid_id
from rumormill.core.errors import RemoteProtocolError

COPIES_ENOUGH = 8
"""BEP 44: a repetition can be left out if more nodes than this hold the value."""


class Put(NamedTuple):
    """A put to send: to whom, with which token, and whether to compare first."""

    peer: str
    token: bytes
    cas: int | None


class Errand:
    """A :class:`ReadItem` or :class:`WriteItem` under way."""

    __slots__ = (
        "_closest", "_refused", "_seen", "_silent", "_stored", "_to_hear", "best", "lookup",
        "order", "public_key", "salt", "target", "writing",
    )  # fmt: skip

    def __init__(self, order: ReadItem | WriteItem, parameters: MainParameters) -> None:
        self.order = order
        source = order.item if isinstance(order, WriteItem) else order
        self.public_key, self.salt = source.public_key, source.salt
        self.target = target_of(self.public_key, self.salt)
        self.lookup = Lookup(
            self.target,
            closest=parameters.main_closest,
            width=parameters.main_width,
            most_queries=parameters.main_most_queries,
        )
        self.best: Item | None = None
        """The newest genuine value so far."""
        self.writing = False
        """Whether the search is over and the puts are on their way."""
        self._closest = parameters.main_closest
        # Verdicts by signature: most nodes hold the same copy, and one check serves them all.
        self._seen: dict[bytes, Item] = {}
        self._to_hear = self._stored = self._silent = 0
        self._refused: dict[int, int] = {}

    @property
    def token(self) -> int:
        """The caller's number."""
        return self.order.token

    @property
    def own_seq(self) -> int | None:
        """The number of the value that we already have: nodes need not send what is not newer."""
        return self.order.item.seq if isinstance(self.order, WriteItem) else None

    # ---- the search

    def answered(self, peer: str, answer: Answer, id: bytes) -> Item | None:
        """A node answered ``get``; returns a value that is newer than all before.

        Raises :class:`RemoteProtocolError` if the value that it holds is not what it should be:
        the node has answered all the same.
        """
        candidate = self.lookup.answered(peer, id)
        values = answer.values
        token = values.get(b"token")
        if isinstance(token, bytes):
            candidate.token = token
        candidate.counts = not isinstance(self.order, WriteItem) or _takes_puts(candidate)
        item = item_from_get(values, self.salt)
        if item is None:
            # The number alone: it has nothing newer than what we have.
            seq = values.get(b"seq")
            candidate.held_seq = seq if isinstance(seq, int) and seq >= 0 else None
            return None
        self._must_be_genuine(item)
        candidate.held_seq = item.seq
        if self.best is not None and item.seq <= self.best.seq:
            return None
        self.best = item
        return item

    def _must_be_genuine(self, item: Item) -> None:
        if self._seen.get(item.signature) == item:
            return
        if item.public_key != self.public_key:
            raise RemoteProtocolError("wrong_target", "the value belongs to another item")
        if not genuine(item):
            raise RemoteProtocolError("bad_signature", "the value is not signed by its key")
        self._seen[item.signature] = item

    # ---- the end of the search

    def puts(self) -> list[Put]:
        """What to put where, when the search is over; none if it is not worth it."""
        order = self.order
        if not isinstance(order, WriteItem) or self._newer(order) is not None:
            return []
        if order.refresh and self._held_by_enough(order.item.seq):
            return []
        self.writing = True
        chosen = [each for each in self.lookup.nearest() if each.counts][: self._closest]
        self._to_hear = len(chosen)
        # A node without a value would not compare, but another program might stumble over it.
        return [
            Put(each.peer, each.token, None if each.held_seq is None else order.cas)
            for each in chosen
        ]

    def _held_by_enough(self, seq: int) -> bool:
        """BEP 44's rule for leaving a repetition out."""
        nearest = self.lookup.nearest()
        holding = [each.held_seq == seq for each in nearest]
        return sum(holding) > COPIES_ENOUGH and all(holding[: self._closest])

    def _newer(self, order: WriteItem) -> Item | None:
        best = self.best
        return best if best is not None and best.seq > order.item.seq else None

    # ---- the puts

    def put_stored(self) -> None:
        """A node took the item."""
        self._stored += 1
        self._to_hear -= 1

    def put_refused(self, code: int) -> None:
        """A node answered with an error."""
        self._refused[code] = self._refused.get(code, 0) + 1
        self._to_hear -= 1

    def put_silent(self) -> None:
        """A node did not answer."""
        self._silent += 1
        self._to_hear -= 1

    @property
    def finished(self) -> bool:
        """Whether nothing is on its way any more; the search must be over."""
        return self._to_hear == 0

    def result(self) -> ItemRead | ItemWritten:
        """What the caller is told."""
        order = self.order
        if not isinstance(order, WriteItem):
            return ItemRead(order.token, self.best, self.lookup.replies)
        newer = self._newer(order)
        skipped = not self.writing and newer is None and order.refresh
        stored = self._stored
        if skipped:
            stored = sum(each.held_seq == order.item.seq for each in self.lookup.nearest())
        return ItemWritten(order.token, stored, self._refused, self._silent, newer, skipped)


def _takes_puts(candidate: Candidate) -> bool:
    """Whether a value may be stored there: BEP 42 rules out nodes that chose their own place."""
    host, _ = parse_peer(candidate.peer)
    return bool(candidate.token) and is_valid_id(candidate.id, host)
