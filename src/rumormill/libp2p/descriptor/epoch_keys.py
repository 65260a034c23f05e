"""Keys of epochs (``EncMode`` WOT): each author has its own, and seals it to all who are trusted.

No key is shared by all authors, so nobody has to agree with anybody on which one counts, and there
is no leader to be waited for or attacked. An author makes a new key, and with it an epoch, when it
publishes and whom it trusts has changed since the last one; and after an hour. Readers keep the key
before for a while, for what is under way.

A key's id is a hash of the topic, its author, the epoch and the key: a key that was sealed for
another purpose is none here. Epochs of an author grow; one that does not is refused, so that an old
key, played back, does not make old messages readable as new ones.
"""

from __future__ import annotations

import hashlib
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from rumormill.libp2p.descriptor.control_message import EpochKey
from rumormill.libp2p.descriptor.sealed_data import FORM, KEY_ID_SIZE
from rumormill.libp2p.descriptor.sealed_keys import box_for, seal_key
from rumormill.libp2p.descriptor.xchacha import KEY_SIZE, Reader, Writer

LONGEST_EPOCH: Final = 3600.0
"""Seconds after which an author makes a new key though nothing has changed."""
GRACE: Final = 60.0
"""Seconds for which the key of a past epoch still reads: less than ids of messages are remembered,
so that what it reads is delivered once."""
WRONG_BY: Final = 10 * 365 * 86400.0
"""Seconds that a clock may have been ahead."""
BEGIN_ABOVE_AGAIN: Final = 10.0
"""Seconds between two epochs that begin because a reader knows a higher number."""
KEPT: Final = 4
"""Keys of one author."""
MOST_AUTHORS: Final = 1024

Unseal: TypeAlias = Callable[[bytes], bytes | None]
"""Opens what was sealed to us."""

Taken: TypeAlias = Literal["ours", "not_for_us", "known", "old_epoch", "wrong_key"]
"""What became of a sealed key: we can read by it, it is for others, we had it, a later one was
there, or it is not what its id says."""


def epoch_key_id(digest: bytes, author: bytes, epoch: int, key: bytes) -> bytes:
    """What messages call the key."""
    parts = (b"libp2p-topic-epoch:", digest, author, epoch.to_bytes(8, "big"), key)
    return hashlib.sha256(b"".join(parts)).digest()[:KEY_ID_SIZE]


class OwnEpoch(NamedTuple):
    """The key that we write with."""

    number: int
    id: bytes
    key: bytes
    writer: Writer
    version: int
    """Of the trust that it was made for."""
    since: float
    announced: EpochKey
    """As readers get it."""


class _Known:
    """What we know of one author's keys."""

    __slots__ = ("epoch", "keys")

    def __init__(self) -> None:
        self.epoch = -1
        self.keys: OrderedDict[bytes, tuple[Reader | None, float | None]] = OrderedDict()
        """By id: what reads, None if the key is not for us; and when a later one came."""


class EpochKeys:
    """The keys of a topic's authors, as far as they were sealed to us; and our own."""

    def __init__(self, digest: bytes, entropy: random.Random) -> None:
        self._digest = digest
        self._entropy = entropy
        self._authors: OrderedDict[bytes, _Known] = OrderedDict()
        self.own: OwnEpoch | None = None
        self._least = 0
        """The number of our next epoch, at least: a reader knows a higher one of us."""
        self._begun_above = -BEGIN_ABOVE_AGAIN

    def __len__(self) -> int:
        """How many authors have told us a key."""
        return len(self._authors)

    # ---- our own

    def renew(
        self, author: bytes, readers: dict[bytes, None], version: int, now: float
    ) -> list[bytes]:
        """Begin an epoch for these readers; those of them that no key can be sealed to."""
        last = -1 if self.own is None else self.own.number
        number = max(int(now * 1000), last + 1, self._least)
        key = self._entropy.randbytes(KEY_SIZE)
        key_id = epoch_key_id(self._digest, author, number, key)
        sealed, without = seal_key(key, [peer for peer in readers if peer != author], self._entropy)
        announced = EpochKey(number, key_id, sealed)
        writer = Writer(key, self._entropy)
        self.own = OwnEpoch(number, key_id, key, writer, version, now, announced)
        return without

    def outlived(self, version: int, now: float) -> bool:
        """Whether our epoch is over, or never began."""
        own = self.own
        return own is None or own.version != version or not 0 <= now - own.since < LONGEST_EPOCH

    def begin_above(self, newest: int, now: float) -> bool:
        """A reader knows an epoch of ours that we do not: ours has to be later. Whether it is not.

        So it is after our clock was set back. Not too often, nor for a number that no clock of ours
        can have given: a reader that lies must neither keep us busy nor use our numbers up.
        """
        if self.own is None or newest < self.own.number or newest > 1000 * (now + WRONG_BY):
            return False
        if 0 <= now - self._begun_above < BEGIN_ABOVE_AGAIN:
            return False
        self._begun_above = now
        self._least = newest + 1
        self.own = None
        return True

    def seal(self, data: bytes, about: bytes) -> bytes:
        """The data as it is sent; :meth:`renew` must have been called."""
        assert self.own is not None
        return self.own.writer.seal(data, about, FORM + self.own.id)

    # ---- those of others

    def take(
        self, author: bytes, keys: EpochKey, us: bytes, unseal: Unseal | None, now: float
    ) -> Taken:
        """An author tells its key; ``unseal`` opens what was sealed to us."""
        known = self._authors.get(author)
        if known is None:
            known = self._authors[author] = _Known()
            if len(self._authors) > MOST_AUTHORS:
                self._authors.popitem(last=False)
        if keys.id in known.keys:
            return "known"
        if keys.epoch <= known.epoch:
            return "old_epoch"
        box, reader = box_for(keys.sealed, us), None
        if box is not None and unseal is not None:
            key = unseal(box)
            if key is None or len(key) != KEY_SIZE:
                return "wrong_key"
            if epoch_key_id(self._digest, author, keys.epoch, key) != keys.id:
                return "wrong_key"
            reader = Reader(key, most=4)
        self._add(known, keys, reader, now)
        return "not_for_us" if reader is None else "ours"

    def _add(self, known: _Known, keys: EpochKey, reader: Reader | None, now: float) -> None:
        for key_id, (each, over) in known.keys.items():
            known.keys[key_id] = each, now if over is None else over
        known.epoch = keys.epoch
        known.keys[keys.id] = reader, None
        while len(known.keys) > KEPT:
            known.keys.popitem(last=False)

    def newest(self, author: bytes) -> int:
        """The last epoch of an author that we know; 0 if none."""
        known = self._authors.get(author)
        return 0 if known is None else max(0, known.epoch)

    def lacks(self, author: bytes, key_id: bytes) -> bool:
        """Whether we have never heard of this key of the author's."""
        known = self._authors.get(author)
        return known is None or key_id not in known.keys

    def past(self, author: bytes, key_id: bytes, now: float) -> bool:
        """Whether the key is one of an epoch that has been over for long."""
        known = self._authors.get(author)
        over = None if known is None else known.keys.get(key_id, (None, None))[1]
        return over is not None and not 0 <= now - over < GRACE

    def reader(self, author: bytes, key_id: bytes) -> Reader | None:
        """What reads messages under this key; None if we cannot."""
        known = self._authors.get(author)
        return None if known is None else known.keys.get(key_id, (None, None))[0]
