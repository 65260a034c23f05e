"""All Interests that wait for their Data, and what a packet that comes in has to do with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import islice
from typing import Final

from rumormill.core.timers import Alarm
from rumormill.ndn.forwarder.face_state import FaceState
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.tables.digests import matches_digest, without_digest
from rumormill.ndn.forwarder.tables.expiries import Expiries
from rumormill.ndn.forwarder.tables.pit_entry import InRecord, OutRecord, PitEntry, selectors
from rumormill.ndn.wire.data import Data, full_name
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name, prefix_ends

WAITING_COST: Final = 1400
"""Bytes of memory that an Interest takes beside its packet, more or less."""
COPIES: Final = 2
"""So often the packet of an Interest is kept: as a whole, and in parts."""
OUT_COST: Final = 150
"""Bytes for each face that was asked, beyond the first."""
TOKEN_SIZE: Final = 6
EVICTED_AT_ONCE: Final = 16
"""Interests that give way when there is no room: who has most is not looked for each time."""

MOST_VARIANTS: Final = 16
"""Entries of one name that are looked at for a Nack."""


class Pit:
    """All Interests that wait.

    What they cost is counted for each face that waits: who has most gives way when there is no
    room, the oldest first.
    """

    def __init__(self, parameters: ForwarderParameters, alarm: Alarm) -> None:
        self._most = parameters.max_pit
        self._most_bytes = parameters.max_pit_bytes
        self._most_of_face = parameters.max_face_pit
        self._expiries = Expiries(alarm)
        self._by_name: dict[Name, PitEntry] = {}
        """One entry of each name; the others are among its variants."""
        self._by_token: dict[bytes, PitEntry] = {}
        self._prefix_lengths: dict[int, int] = {}
        """How many entries with CanBePrefix have a name of each length."""
        self._digests: dict[Name, int] = {}
        """How many names end with a digest, by the name without it."""
        self._last_token = 0
        self._entries = 0
        self.waiting = 0
        """Interests of all faces that wait; those of several faces may wait in one entry."""
        self.bytes = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return self._entries

    # ---- entries

    def find(self, interest: Interest) -> PitEntry | None:
        """The entry that an Interest belongs to."""
        entry = self._by_name.get(interest.name)
        if entry is None:
            return None
        if entry.variants is not None:
            return entry.variants.get(selectors(interest))
        return entry if selectors(entry.interest) == selectors(interest) else None

    def insert(self, interest: Interest, here: bool) -> PitEntry:
        """A new entry; :meth:`find` knew none. It must be waited for at once."""
        entry = PitEntry(interest, here)
        name = interest.name
        head = self._by_name.setdefault(name, entry)
        if head is not entry:
            if head.variants is None:
                head.variants = {selectors(head.interest): head}
            head.variants[selectors(interest)] = entry
            entry.variants = head.variants
        self._entries += 1
        if interest.can_be_prefix:
            lengths = self._prefix_lengths
            lengths[len(name)] = lengths.get(len(name), 0) + 1
        # Only the last bytes are looked at, for nearly all.
        whole = without_digest(name)
        if whole is not None:
            self._digests[whole] = self._digests.get(whole, 0) + 1
        return entry

    def wait(
        self, entry: PitEntry, state: FaceState, interest: Interest, token: bytes, expires: float
    ) -> None:
        """A face waits for an entry, or waits for longer."""
        record = entry.ins.get(state.face.id)
        if record is None:
            cost = WAITING_COST + COPIES * len(interest.raw)
            record = InRecord(state, interest.nonce or b"", expires, token, cost)
            entry.ins[state.face.id] = record
            state.waiting[entry] = record
            state.bytes += cost
            self.bytes += cost
            self.waiting += 1
        else:
            record.nonce = interest.nonce or b""
            record.token = token
            record.expires = max(record.expires, expires)
        if expires > entry.expires:
            if entry.expires:
                self._expiries.take(entry)
            entry.expires = expires
            self._expiries.put(entry, expires)

    def asked(self, entry: PitEntry, face_id: int, nonce: bytes, now: float, until: float) -> None:
        """A face was asked; further ones are paid for by who waits longest."""
        if entry.outs and face_id not in entry.outs:
            record = next(iter(entry.ins.values()))
            record.cost += OUT_COST
            record.state.bytes += OUT_COST
            self.bytes += OUT_COST
        entry.outs[face_id] = OutRecord(nonce, now, until)
        entry.sent = now

    def give_token(self, entry: PitEntry) -> bytes:
        """A number by which the entry is found when its Data comes back."""
        if not entry.token:
            self._last_token += 1
            entry.token = self._last_token.to_bytes(TOKEN_SIZE, "big")
            self._by_token[entry.token] = entry
        return entry.token

    def remove(self, entry: PitEntry) -> None:
        """Nobody waits for an entry any more."""
        for record in entry.ins.values():
            self._forget(entry, record)
        self._expiries.take(entry)
        interest = entry.interest
        name = interest.name
        if entry.variants is None:
            del self._by_name[name]
        else:
            self._remove_variant(entry)
        self._entries -= 1
        if entry.token:
            del self._by_token[entry.token]
        if interest.can_be_prefix:
            lengths = self._prefix_lengths
            lengths[len(name)] -= 1
            if not lengths[len(name)]:
                del lengths[len(name)]
        if self._digests:
            self._remove_digest(entry)

    def leave(self, entry: PitEntry, face_id: int) -> bool:
        """A face waits no more for an entry; whether it was the last, and the entry is gone."""
        if len(entry.ins) == 1:
            self.remove(entry)
            return True
        self._forget(entry, entry.ins.pop(face_id))
        return False

    def _forget(self, entry: PitEntry, record: InRecord) -> None:
        state, cost = record.state, record.cost
        del state.waiting[entry]
        state.bytes -= cost
        self.bytes -= cost
        self.waiting -= 1

    def _remove_variant(self, entry: PitEntry) -> None:
        variants = entry.variants or {}
        del variants[selectors(entry.interest)]
        name = entry.interest.name
        first = next(iter(variants.values()))
        if self._by_name[name] is entry:
            self._by_name[name] = first
        if len(variants) == 1:
            first.variants = None

    def _remove_digest(self, entry: PitEntry) -> None:
        whole = without_digest(entry.interest.name)
        if whole is not None:
            self._digests[whole] -= 1
            if not self._digests[whole]:
                del self._digests[whole]

    # ---- what a packet belongs to

    def matches(self, data: Data, token: bytes, face_id: int) -> list[PitEntry]:
        """The entries that a Data answers: none unless its face was asked for one of them."""
        name = data.name
        entry = self._by_name.get(name)
        if entry is None:
            found = []
        elif entry.variants is None:
            found = [entry]
        else:
            found = list(entry.variants.values())
        if self._prefix_lengths or self._digests:
            named = self._by_token.get(token) if token else None
            if named is None or not _answers(named, data):
                found.extend(self._shorter(name))
                if name in self._digests:
                    found.extend(self._called(full_name(data)))
            elif named.interest.name != name:
                found.append(named)
        for entry in found:
            if face_id in entry.outs:
                return found
        return []

    def refused(self, interest: Interest, token: bytes, face_id: int) -> PitEntry | None:
        """The entry that a Nack is for: the face was asked with this nonce."""
        by_token = self._by_token.get(token) if token else None
        if by_token is not None and _asked(by_token, face_id, interest.nonce):
            return by_token
        entry = self.find(interest)
        if entry is not None and _asked(entry, face_id, interest.nonce):
            return entry
        # The hint may have been taken off, so that other entries of the name come into question.
        for entry in islice(self._called(interest.name), MOST_VARIANTS):
            if _asked(entry, face_id, interest.nonce):
                return entry
        return None

    def waiting_on(self, face_id: int) -> list[PitEntry]:
        """All entries that a face was asked for."""
        return [entry for entry in self.entries() if face_id in entry.outs]

    def entries(self) -> Iterator[PitEntry]:
        """All entries."""
        for entry in self._by_name.values():
            if entry.variants is None:
                yield entry
            else:
                yield from entry.variants.values()

    def _shorter(self, name: Name) -> Iterator[PitEntry]:
        """Entries with CanBePrefix whose name is a prefix of a Data's, and not all of it."""
        lengths = self._prefix_lengths
        if not lengths:
            return
        for end in prefix_ends(name):
            if end in lengths and end < len(name):
                for entry in self._called(name[:end]):
                    if entry.interest.can_be_prefix:
                        yield entry

    def _called(self, name: Name) -> Iterable[PitEntry]:
        """All entries of exactly this name."""
        entry = self._by_name.get(name)
        if entry is None:
            return ()
        return (entry,) if entry.variants is None else entry.variants.values()

    # ---- room

    def crowded(self, state: FaceState) -> bool:
        """Whether something must give way before a face may wait for one more."""
        return (
            self.waiting >= self._most
            or self.bytes >= self._most_bytes
            or len(state.waiting) >= self._most_of_face
        )

    def overdue(
        self, state: FaceState, states: Iterable[FaceState]
    ) -> list[tuple[FaceState, PitEntry]]:
        """What must give way: of the face itself if it has too many, or of those who have most."""
        if self.waiting < self._most and self.bytes < self._most_bytes:
            return [(state, next(iter(state.waiting)))]
        found: list[tuple[FaceState, PitEntry]] = []
        losers = nlargest(EVICTED_AT_ONCE, states, key=_weight)
        for loser in losers:
            if 2 * loser.bytes < losers[0].bytes:
                break  # who has far less than others is not to blame
            some = min(EVICTED_AT_ONCE - len(found), (len(loser.waiting) + 1) // 2)
            found.extend((loser, entry) for entry in islice(loser.waiting, some))
            if len(found) == EVICTED_AT_ONCE:
                break
        return found

    # ---- time

    def due(self, now: float) -> list[PitEntry]:
        """The entries whose time is over; they are to be removed."""
        return self._expiries.due(now)

    def next_wake(self) -> float | None:
        """When the first entry ends."""
        return self._expiries.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "pit": self._entries,
            "pit_waiting": self.waiting,
            "pit_bytes": self.bytes,
            "pit_names": len(self._by_name),
            "pit_tokens": len(self._by_token),
            "pit_prefix_lengths": len(self._prefix_lengths),
            "pit_digests": len(self._digests),
            "pit_buckets": len(self._expiries),
        }


def _weight(state: FaceState) -> int:
    return state.bytes


def _asked(entry: PitEntry, face_id: int, nonce: bytes | None) -> bool:
    out = entry.outs.get(face_id)
    return out is not None and out.nonce == nonce


def _answers(entry: PitEntry, data: Data) -> bool:
    """Whether a Data is what an entry waits for."""
    wanted = entry.interest.name
    if data.name == wanted:
        return True
    if entry.interest.can_be_prefix and data.name.startswith(wanted):
        return True
    return without_digest(wanted) == data.name and matches_digest(wanted, data)
