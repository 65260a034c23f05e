"""Whom a node knows, and what shows in an unread packet that its sender is at its own address.

Only the owner of an address can know a token that we gave to it, and the transaction ids of the
queries that we sent there. Both stand in the bytes of a packet at a place that can be found without
reading all of it: bencoding has one form only, and the keys of a dict are sorted.
"""

from __future__ import annotations

from collections.abc import Callable

from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.guards.sources import source_of
from rumormill.bep50.guards.tokens import TOKEN_SIZE, Tokens
from rumormill.bep50.wire.addresses import ID_SIZE
from rumormill.core.machine import Peer

TOKEN = b"5:token%d:" % TOKEN_SIZE
TOPIC = b"1:c%d:" % ID_SIZE
TRANSACTION_SIZE = 4
TRANSACTION = b"1:t%d:" % TRANSACTION_SIZE
ANSWER_ENDS = (b"1:y1:re", b"1:y1:ee")
"""How answers and errors end, unless a node adds a key behind ``y``: nobody is known to."""

Awaits = Callable[[Peer, bytes | None, bytes], bool]
"""Whether we wait for an answer: of a peer, in a topic if in any, with a transaction id."""


class Known:
    """The :class:`~rumormill.core.gate.Acquaintances` of a node of overlays."""

    __slots__ = ("_awaits", "_proofs", "_tokens", "is_neighbour")

    def __init__(
        self,
        is_neighbour: Callable[[Peer], bool],
        proofs: ProvenAddresses,
        tokens: Tokens,
        awaits: Awaits,
    ) -> None:
        self.is_neighbour = is_neighbour
        """Whether a peer is in any table: then it answered us from just this address."""
        self._proofs = proofs
        self._tokens = tokens
        self._awaits = awaits

    def source_of(self, peer: Peer) -> str:
        """See :func:`~rumormill.bep50.guards.sources.source_of`."""
        return source_of(peer)

    def is_known(self, peer: Peer, now: float) -> bool:
        """Whether the peer is a neighbour, or has proven its address not long ago."""
        return self.is_neighbour(peer) or self._proofs.proven(peer, now)

    def vouched(self, peer: Peer, packet: bytes, now: float) -> bool:
        """Whether the packet has a token of the peer's, or the transaction id of our query."""
        token = _behind(packet, TOKEN, TOKEN_SIZE)
        if token is not None and self._tokens.valid(token, peer, now):
            return True
        if not packet.endswith(ANSWER_ENDS):
            return False
        transaction = _behind(packet, TRANSACTION, TRANSACTION_SIZE, last=True)
        if transaction is None:
            return False
        return self._awaits(peer, _behind(packet, TOPIC, ID_SIZE), transaction)


def _behind(packet: bytes, key: bytes, size: int, *, last: bool = False) -> bytes | None:
    """The bytes that stand behind a key, where it stands first or last in a packet.

    >>> _behind(b"d1:c3:abc1:t2:xye", b"1:t2:", 2)
    b'xy'
    """
    at = packet.rfind(key) if last else packet.find(key)
    if at < 0:
        return None
    start = at + len(key)
    return packet[start : start + size]
