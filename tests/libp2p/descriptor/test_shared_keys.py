"""Shared keys: the newest writes, old ones read, and what is bound to a message."""

from __future__ import annotations

import random

import pytest

from rumormill.core.errors import ConfigError, RemoteProtocolError
from rumormill.libp2p.descriptor.sealed_data import HEAD_SIZE, OVERHEAD, about, key_id_of
from rumormill.libp2p.descriptor.shared_keys import SharedKeys, key_hash
from tests.helpers.libp2p.private_network import shared

KEYS, HASHES = shared(3)
BOUND = about(bytes(32), b"ann", b"\x07")


def opened(keys: SharedKeys, sealed: bytes, bound: bytes) -> bytes | None:
    reader = keys.reader(key_id_of(sealed))
    return None if reader is None else reader.open(sealed, bound, HEAD_SIZE)


def ring(*keys: bytes) -> SharedKeys:
    made = SharedKeys(HASHES, random.Random(3))
    made.add(keys)
    return made


def test_the_hash_is_salted() -> None:
    assert key_hash(KEYS[0], b"a" * 16)[16:] != key_hash(KEYS[0], b"b" * 16)[16:]
    assert key_hash(KEYS[0], HASHES[0][:16]) == HASHES[0]


def test_the_newest_key_that_is_there_writes_and_the_old_ones_read() -> None:
    first, both = ring(KEYS[0]), ring(KEYS[1], KEYS[0])
    old, new = first.seal(b"old", BOUND), both.seal(b"new", BOUND)
    assert old is not None and new is not None
    assert (key_id_of(old), key_id_of(new)) == first.ids[:2]
    assert opened(both, old, BOUND) == b"old"
    assert first.missing(key_id_of(new)) and not both.missing(key_id_of(old))


def test_without_a_key_nothing_is_written_or_read() -> None:
    none = ring()
    assert none.seal(b"rain", BOUND) is None and none.writing is None
    assert none.reader(none.ids[0]) is None


@pytest.mark.parametrize("key", [b"k" * 32, b"short", b""])
def test_a_key_that_is_not_listed_is_refused(key: bytes) -> None:
    with pytest.raises(ConfigError):
        ring(key)


def test_what_is_sealed_is_bound_to_topic_author_and_number() -> None:
    keys = ring(KEYS[0])
    sealed = keys.seal(b"rain", BOUND)
    assert sealed is not None and len(sealed) == len(b"rain") + OVERHEAD
    for other in (
        about(b"\1" * 32, b"ann", b"\x07"),
        about(bytes(32), b"bob", b"\x07"),
        about(bytes(32), b"ann", b"\x08"),
    ):
        assert opened(keys, sealed, other) is None


@pytest.mark.parametrize("data", [b"", b"rain", b"\x01" + bytes(47), b"\x02" + bytes(100)])
def test_data_that_is_not_sealed_is_told_apart(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="not_sealed"):
        key_id_of(data)
