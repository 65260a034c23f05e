"""The curve of Ed25519 in plain numbers, for signatures that no honest signer would make.

Slow, not constant in time, and meant to be checked by reading: a point is a pair of integers.
"""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple, TypeAlias

P = 2**255 - 19
"""The field."""

L = 2**252 + 27742317777372353535851937790883648493
"""The order of the base point; the curve has eight times as many points."""

D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
SIGN = 1 << 255
"""The bit of an encoding in which the sign of x stands."""

Point: TypeAlias = tuple[int, int]

IDENTITY: Point = (0, 1)


def add(left: Point, right: Point) -> Point:
    """The sum; this formula holds for all points."""
    (x1, y1), (x2, y2) = left, right
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P
    return x, y


def multiply(factor: int, point: Point) -> Point:
    """``factor`` times the point."""
    total = IDENTITY
    while factor:
        if factor & 1:
            total = add(total, point)
        point = add(point, point)
        factor >>= 1
    return total


def point_at(y: int) -> Point | None:
    """The point with this y and an even x; None if there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P:
        return None
    return (P - x if x & 1 else x), y


def encoded(point: Point) -> bytes:
    """The 32 bytes of the point: the one encoding that counts."""
    x, y = point
    return (y | SIGN * (x & 1)).to_bytes(32, "little")


def other_encodings(point: Point) -> list[bytes]:
    """Encodings that a careless decoder takes for the same point."""
    x, y = point
    values = [y | SIGN * (x & 1)]
    if x == 0:
        values.append(y | SIGN)  # minus zero
    values += [value + P for value in values if y + P < SIGN]
    return [value.to_bytes(32, "little") for value in values[1:]]


def _base() -> Point:
    point = point_at(4 * pow(5, -1, P) % P)
    assert point is not None
    return point


BASE = _base()


@functools.lru_cache(256)
def of_base(factor: int) -> Point:
    """``factor`` times the base point."""
    return multiply(factor, BASE)


@functools.cache
def small_order() -> tuple[Point, ...]:
    """The eight points that eight times themselves vanish: the multiples of one of order eight."""
    y = 2
    while True:
        point = point_at(y)
        generator = IDENTITY if point is None else multiply(L, point)
        if multiply(4, generator) != IDENTITY:
            return tuple(multiply(factor, generator) for factor in range(8))
        y += 1


def challenge(r: bytes, public_key: bytes, payload: bytes) -> int:
    """The number that binds a signature to key and payload."""
    return int.from_bytes(hashlib.sha512(r + public_key + payload).digest(), "little") % L


class Crafted(NamedTuple):
    """A signature, and whether ``[S]B = R + [k]A`` holds for it without the factor of eight."""

    public_key: bytes
    signature: bytes
    payload: bytes
    holds: bool


def craft(
    payload: bytes,
    *,
    secret: int,
    nonce: int,
    key_torsion: int = 0,
    nonce_torsion: int = 0,
    key_bytes: bytes | None = None,
    nonce_bytes: bytes | None = None,
    rounds: int = 0,
) -> Crafted:
    """Sign with numbers of the caller's choice, and with points of small order added.

    ``secret`` or ``nonce`` 0 leaves the points of small order alone. ``key_bytes`` and
    ``nonce_bytes`` replace an encoding; ``rounds`` is how often the group's order is added to S.
    """
    torsion = small_order()
    public_key = key_bytes or encoded(add(of_base(secret), torsion[key_torsion % 8]))
    r = nonce_bytes or encoded(add(of_base(nonce), torsion[nonce_torsion % 8]))
    k = challenge(r, public_key, payload)
    s = (nonce + k * secret) % L + rounds * L
    holds = (nonce_torsion + k * key_torsion) % 8 == 0
    return Crafted(public_key, r + s.to_bytes(32, "little"), payload, holds)


def craft_until(holds: bool, **choices: int | bytes | None) -> Crafted:
    """The same, for the first payload for which the equation holds, or does not."""
    for number in range(1000):
        crafted = craft(b"payload %d" % number, **choices)  # type: ignore[arg-type]
        if crafted.holds is holds:
            return crafted
    raise AssertionError(f"no payload of a thousand makes the equation {holds}")
