"""Signed peer records of a host: the one that it tells of itself, and those that peers bring."""

from __future__ import annotations

from collections.abc import Sequence

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowances
from rumormill.core.trace import IGNORED, PROTOCOL_ERROR
from rumormill.libp2p.host.table import Turn
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import from_text
from rumormill.libp2p.stack.peer_record import open_peer_record, sign_peer_record

RECORDS_RATE, RECORDS_BURST, MOST_COUNTED = 0.1, 8.0, 1024
"""New records of one peer that are looked at: so many a second, so many at once; for how many peers
this is kept. Each costs a signature, and a peer seldom moves."""

NANOSECONDS = 1_000_000_000


class Records:
    """Writes our own record, and puts those of our peers into the address book."""

    def __init__(self, *, identity: PrivateKey, book: AddressBook, turn: Turn) -> None:
        self._identity = identity
        self._book = book
        self._turn = turn
        self._sequence = 0
        self._allowances: Allowances[str] = Allowances(RECORDS_RATE, RECORDS_BURST, MOST_COUNTED)
        self.own = b""
        """Our record in its envelope; empty while nobody can dial us."""

    def listening(self, addresses: Sequence[Multiaddr], now: float) -> None:
        """We are to be found elsewhere: the new record has a higher number than any before.

        It begins with the time, as with everybody, so that it grows over a restart too.
        """
        self._sequence = max(self._sequence + 1, int(now * NANOSECONDS))
        self.own = b""
        if addresses:
            self.own = sign_peer_record(self._identity, self._sequence, addresses)

    def heard(self, peer: str, raw: bytes, now: float) -> None:
        """A peer told by identify where it is; what is wrong with that costs it nothing more."""
        known = self._book.get(peer)
        if known is not None and known.raw == raw:
            return
        if not self._allowances.take(peer, 1.0, now):
            self._turn.trace(now, IGNORED, peer, reason="peer_record_too_often")
            return
        try:
            record = open_peer_record(raw, from_text(peer))
        except RemoteProtocolError as error:
            fields = {"reason": error.reason, "detail": error.detail}
            self._turn.trace(now, PROTOCOL_ERROR, peer, **fields)
            return
        if not self._book.put(record):
            self._turn.trace(now, IGNORED, peer, reason="old_peer_record")
