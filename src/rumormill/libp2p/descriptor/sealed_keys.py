"""A key sealed to each of many peers: libsodium's sealed boxes with one sender key for all of them.

A box is what ``crypto_box_seal`` makes of the key for a peer's Ed25519 key turned into X25519. The
sender's key pair, which is used once, is drawn from the entropy that is given; so a simulation
makes the same boxes again. All boxes of one call share it, which makes them shorter and cheaper;
the nonce of each is made of the recipient's key as well, so none repeats.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Iterable
from typing import Final, NamedTuple

from nacl.bindings import (
    crypto_box,
    crypto_scalarmult_base,
    crypto_sign_ed25519_pk_to_curve25519,
)

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.descriptor.xchacha import KEY_SIZE
from rumormill.libp2p.stack.keys import KeyType, inline_public_key

TAG_SIZE: Final = 8
BOX_SIZE: Final = KEY_SIZE + 16
ENTRY_SIZE: Final = TAG_SIZE + BOX_SIZE
SENDER_SIZE: Final = 32


class SealedKey(NamedTuple):
    """A key for several peers."""

    sender: bytes
    """The public key that was made for it."""
    entries: bytes
    """For each peer a tag of 8 bytes, by which it finds its own, and its box."""

    @property
    def readers(self) -> int:
        """How many peers can open it."""
        return len(self.entries) // ENTRY_SIZE


def seal_key(
    key: bytes, peers: Iterable[bytes], entropy: random.Random
) -> tuple[SealedKey, list[bytes]]:
    """The key sealed to each of the peers; and those whose kind of key has no such thing.

    >>> from rumormill.libp2p.stack.keys import PrivateKey
    >>> ann, bob = PrivateKey.from_seed(b"a" * 32), PrivateKey.from_seed(b"b" * 32)
    >>> sealed, _ = seal_key(bytes(32), [ann.peer_id], random.Random(1))
    >>> box = box_for(sealed, ann.peer_id)
    >>> ann.unseal(box) == bytes(32), bob.unseal(box), box_for(sealed, bob.peer_id)
    (True, None, None)
    """
    secret = entropy.randbytes(32)
    sender = crypto_scalarmult_base(secret)
    entries, without = [], []
    for peer in peers:
        public = agreement_key(peer)
        if public is None:
            without.append(peer)
            continue
        nonce = hashlib.blake2b(sender + public, digest_size=24).digest()
        entries.append(_tag(sender, peer) + crypto_box(key, nonce, public, secret))
    return SealedKey(sender, b"".join(entries)), without


def box_for(sealed: SealedKey, peer: bytes) -> bytes | None:
    """The sealed box for a peer, as it unseals it; None if there is none."""
    tag, entries = _tag(sealed.sender, peer), sealed.entries
    for start in range(0, len(entries), ENTRY_SIZE):
        if entries[start : start + TAG_SIZE] == tag:
            return sealed.sender + entries[start + TAG_SIZE : start + ENTRY_SIZE]
    return None


def _tag(sender: bytes, peer: bytes) -> bytes:
    """Tells who knows a peer's id whether a box is for it, and nobody else."""
    return hashlib.sha256(b"libp2p-topic-box:" + sender + peer).digest()[:TAG_SIZE]


@functools.lru_cache(2048)
def agreement_key(peer: bytes) -> bytes | None:
    """The X25519 key of a peer; None if its id does not hold an Ed25519 key."""
    try:
        key = inline_public_key(peer)
    except RemoteProtocolError:
        return None
    if key is None or key.type is not KeyType.ED25519:
        return None
    try:
        return bytes(crypto_sign_ed25519_pk_to_curve25519(key.data))
    except Exception:  # a point of small order, in whatever words the library says so
        return None
