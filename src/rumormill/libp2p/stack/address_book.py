"""The address book: the newest signed record of each peer that we met."""

from __future__ import annotations

from collections import OrderedDict

from rumormill.libp2p.stack.peer_record import CertifiedRecord

MOST_RECORDS = 1024
"""Records that a book has room for, unless it is told otherwise."""


class AddressBook:
    """Certified records by peer, at most one of each and ``most`` in all.

    Who was not asked for or heard of for the longest time goes first. Only records that their
    peers brought themselves come in here, so what strangers tell of others crowds out nobody.
    """

    __slots__ = ("_most", "_records")

    def __init__(self, most: int = MOST_RECORDS) -> None:
        self._most = most
        # Ordered: a plain dict walks over all that it has lost to find its oldest entry.
        self._records: OrderedDict[str, CertifiedRecord] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def get(self, peer: str) -> CertifiedRecord | None:
        """The newest record of the peer, if there is one."""
        record = self._records.get(peer)
        if record is not None:
            self._records.move_to_end(peer)
        return record

    def put(self, record: CertifiedRecord) -> bool:
        """Keep the record; False, and nothing changes, if there is a newer one of its peer."""
        known = self._records.get(record.peer)
        if known is not None and known.sequence > record.sequence:
            return False
        self._records[record.peer] = record
        self._records.move_to_end(record.peer)
        if len(self._records) > self._most:
            self._records.popitem(last=False)
        return True
