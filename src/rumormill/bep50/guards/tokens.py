"""Write tokens: whoever puts must have asked before, from the same IP address.

So nobody can have us store, check or forward in the name of an address that is not theirs.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from random import Random

from rumormill.bep50.wire.addresses import compact

TOKEN_SIZE = 8
"""Bytes of a token of ours; those of others have any length."""

ROTATION = 300.0
"""Seconds after which the secret changes."""


class Tokens:
    """Gives tokens, and knows its own again for one to two ``rotation`` times.

    Nothing is kept for a token that was given: it is a keyed hash of the address.

    >>> tokens = Tokens(Random(1))
    >>> token = tokens.token("10.0.0.1:6881", now=0.0)
    >>> tokens.valid(token, "10.0.0.1:1234", now=599.0), tokens.valid(token, "10.0.0.1:6881", 600.0)
    (True, False)
    """

    __slots__ = ("_current", "_entropy", "_period", "_previous", "_rotation")

    def __init__(self, entropy: Random, rotation: float = ROTATION) -> None:
        self._entropy = entropy
        self._rotation = rotation
        self._period = 0
        self._current, self._previous = entropy.randbytes(32), entropy.randbytes(32)

    def token(self, peer: str, now: float) -> bytes:
        """The token for a peer, of 8 bytes: by its IP address, whatever the port."""
        self._rotate(now)
        return _token(self._current, peer)

    def valid(self, token: bytes, peer: str, now: float) -> bool:
        """Whether we gave this token to this IP address and it is not too old."""
        self._rotate(now)
        # In constant time: how long it takes does not tell how much of a guess was right.
        return compare_digest(token, _token(self._current, peer)) or compare_digest(
            token, _token(self._previous, peer)
        )

    def _rotate(self, now: float) -> None:
        period = int(now // self._rotation)
        if period <= self._period:
            return
        unused = period > self._period + 1
        self._previous = self._entropy.randbytes(32) if unused else self._current
        self._current = self._entropy.randbytes(32)
        self._period = period


def _token(secret: bytes, peer: str) -> bytes:
    return blake2b(compact(peer)[:-2], digest_size=TOKEN_SIZE, key=secret).digest()
