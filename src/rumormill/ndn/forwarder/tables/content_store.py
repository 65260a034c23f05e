"""Data that passed by, kept to answer the same Interest again: what was used last stays longest."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import Final

from rumormill.ndn.forwarder.tables.digests import matches_digest, without_digest
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name

KEPT_COST: Final = 700
"""Bytes of memory that a Data takes beside its packet and its name, more or less."""
MOST_TRIES: Final = 32
"""Names below a prefix that are looked at before an Interest for it is sent on."""
FEW: Final = 64
"""New names that are put into the sorted list one by one; more are sorted in at once."""
SPARE: Final = 256
"""Names of Data that is gone which the sorted list may hold beside as many as there are Data."""


class ContentStore:
    """Data by name; one of each name, the newest.

    ``most_bytes`` is memory, not the sum of packets.
    """

    __slots__ = (
        "_kept",
        "_most",
        "_most_bytes",
        "_new_names",
        "_sorted",
        "bytes",
        "hits",
        "misses",
    )

    def __init__(self, most_bytes: int, most: int) -> None:
        self._most_bytes = most_bytes
        self._most = most if most_bytes else 0
        self._kept: OrderedDict[Name, tuple[Data, float]] = OrderedDict()
        """Each with the time until which it is fresh; who was used longest ago comes first."""
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        # For Interests that give a prefix: names in order, so that those below it stand together.
        # Most forwarders see few such Interests, so what is new is sorted in when one comes,
        # and what is gone is taken out when it is come across.
        self._sorted: list[Name] = []
        self._new_names: list[Name] = []

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._most > 0

    def insert(self, data: Data, now: float) -> None:
        """Keep a Data; what was used longest ago gives way."""
        if not self._most:
            return
        kept, name = self._kept, data.name
        earlier = kept.pop(name, None)
        if earlier is not None:
            self.bytes -= KEPT_COST + len(earlier[0].raw) + len(name)
        else:
            self._new_names.append(name)
        kept[name] = (data, now + (data.freshness or 0) / 1000)
        self.bytes += KEPT_COST + len(data.raw) + len(name)
        while self.bytes > self._most_bytes or len(kept) > self._most:
            name, (gone, _) = kept.popitem(last=False)
            self.bytes -= KEPT_COST + len(gone.raw) + len(name)
        if len(self._sorted) + len(self._new_names) > 2 * len(kept) + SPARE:
            self._sorted.clear()
            self._new_names = list(kept)

    def find(self, interest: Interest, now: float) -> Data | None:
        """A Data that answers an Interest."""
        name = interest.name
        kept = self._kept.get(name)
        if kept is not None and (not interest.must_be_fresh or kept[1] > now):
            self._kept.move_to_end(name)
            self.hits += 1
            return kept[0]
        found = self._find_other(interest, now)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def _find_other(self, interest: Interest, now: float) -> Data | None:
        """A Data that has a longer name, or whose digest is in the Interest's."""
        name = interest.name
        if interest.can_be_prefix:
            return self._find_below(interest, now)
        whole = without_digest(name)
        if whole is None:
            return None
        kept = self._kept.get(whole)
        if kept is None or (interest.must_be_fresh and kept[1] <= now):
            return None
        return kept[0] if matches_digest(name, kept[0]) else None

    def clear(self) -> None:
        """Forget all of it."""
        self._kept.clear()
        self._sorted.clear()
        self._new_names.clear()
        self.bytes = 0

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        names = len(self._sorted) + len(self._new_names)
        return {"cs": len(self._kept), "cs_bytes": self.bytes, "cs_names": names}

    def _find_below(self, interest: Interest, now: float) -> Data | None:
        """A Data whose name begins with that of the Interest; a few are tried."""
        self._sort_in()
        prefix, names = interest.name, self._sorted
        at = bisect_left(names, prefix)
        for _ in range(MOST_TRIES):
            if at >= len(names) or not names[at].startswith(prefix):
                return None
            kept = self._kept.get(names[at])
            if kept is None:
                del names[at]
            elif interest.must_be_fresh and kept[1] <= now:
                at += 1
            else:
                self._kept.move_to_end(names[at])
                return kept[0]
        return None

    def _sort_in(self) -> None:
        names, new = self._sorted, self._new_names
        if len(new) <= FEW:
            for name in new:
                insort(names, name)
        else:
            names.extend(new)
            names.sort()
        new.clear()
