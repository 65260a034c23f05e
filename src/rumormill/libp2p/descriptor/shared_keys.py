"""Shared keys of a topic (``SHAREDKEY``): who has one reads and writes, whoever gave it to him.

A descriptor lists the salted hash of each key, in the order of use. Old keys still read; the newest
that a node has writes. The topic's id is made of the descriptor, so no key can be added to a topic
later: keys for later are made with it, and given out when they are needed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import Final

from rumormill.core.errors import ConfigError
from rumormill.libp2p.descriptor.descriptor import SALT_SIZE
from rumormill.libp2p.descriptor.sealed_data import FORM, KEY_ID_SIZE
from rumormill.libp2p.descriptor.xchacha import KEY_SIZE, Reader, Writer

DOMAIN: Final = b"libp2p-topic-key:"


def key_hash(key: bytes, salt: bytes) -> bytes:
    """The entry of ``keyHashes`` for a key: the salt, and behind it the hash.

    >>> len(key_hash(bytes(32), bytes(16)))
    48
    """
    return salt + hashlib.sha256(DOMAIN + salt + key).digest()


def new_keys(count: int, entropy: random.Random) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """So many keys, and the hash of each with a salt of its own."""
    keys = tuple(entropy.randbytes(KEY_SIZE) for _ in range(count))
    return keys, tuple(key_hash(key, entropy.randbytes(SALT_SIZE)) for key in keys)


def key_id(entry: bytes) -> bytes:
    """What messages call the key of an entry of ``keyHashes``: the beginning of the hash."""
    return entry[SALT_SIZE : SALT_SIZE + KEY_ID_SIZE]


class SharedKeys:
    """The keys of a topic that this node has, few or none.

    >>> keys, hashes = new_keys(2, random.Random(1))
    >>> ring = SharedKeys(hashes, random.Random(2))
    >>> ring.add(keys[:1])
    1
    >>> ring.missing(ring.ids[1]), ring.missing(ring.ids[0]), ring.missing(b"another!")
    (True, False, False)
    """

    def __init__(self, hashes: Sequence[bytes], entropy: random.Random) -> None:
        self._hashes = tuple(hashes)
        self._entropy = entropy
        self.ids = tuple(key_id(entry) for entry in self._hashes)
        """All ids that messages of the topic can name, the oldest first."""
        self.listed = frozenset(self.ids)
        self._readers: dict[bytes, Reader] = {}
        self._writers: dict[bytes, Writer] = {}
        self._writing: bytes | None = None

    def __len__(self) -> int:
        """How many keys we have."""
        return len(self._readers)

    @property
    def writing(self) -> bytes | None:
        """The id of the key that we write with; None if we have none."""
        return self._writing

    def add(self, keys: Iterable[bytes]) -> int:
        """Take keys; how many of them are new. :class:`ConfigError` for one that is not listed."""
        before = len(self._readers)
        for key in keys:
            found = self._id_of(key)
            if found not in self._readers:
                self._readers[found] = Reader(key)
                self._writers[found] = Writer(key, self._entropy)
        held = [each for each in self.ids if each in self._readers]
        self._writing = held[-1] if held else None
        return len(self._readers) - before

    def _id_of(self, key: bytes) -> bytes:
        if len(key) != KEY_SIZE:
            raise ConfigError("keys", f"a key has {KEY_SIZE} bytes, not {len(key)}")
        for entry in self._hashes:
            if key_hash(key, entry[:SALT_SIZE]) == entry:
                return key_id(entry)
        raise ConfigError("keys", "this key is none of those that the descriptor lists")

    def knows(self, which: bytes) -> bool:
        """Whether the descriptor lists a key of this id."""
        return which in self.listed

    def missing(self, which: bytes) -> bool:
        """Whether it is listed, and we do not have it."""
        return which in self.ids and which not in self._readers

    def seal(self, data: bytes, about: bytes) -> bytes | None:
        """The data as it is sent; None if we have no key."""
        if self._writing is None:
            return None
        return self._writers[self._writing].seal(data, about, FORM + self._writing)

    def reader(self, which: bytes) -> Reader | None:
        """What reads messages under a key; None if we do not have it."""
        return self._readers.get(which)
