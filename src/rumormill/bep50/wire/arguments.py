"""Arguments of queries and values of answers, read with a check; and the codes of errors.

>>> bytes_of({b"k": b"key"}, b"k", 32)
Traceback (most recent call last):
...
rumormill.bep50.wire.arguments.BadArgument: error_203: k must be a string of 32 bytes
"""

from __future__ import annotations

from rumormill.bep50.wire.bencode import Dict
from rumormill.core.errors import RemoteProtocolError

GENERIC = 201
SERVER = 202
PROTOCOL = 203
"""A malformed packet, a bad argument, a bad token."""
METHOD_UNKNOWN = 204
VALUE_TOO_BIG = 205
BAD_SIGNATURE = 206
SALT_TOO_BIG = 207
CAS_MISMATCH = 301
"""Somebody else has published since."""
SEQ_TOO_LOW = 302
"""The stored item is newer."""

KNOWN_CODES = frozenset(
    (
        GENERIC, SERVER, PROTOCOL, METHOD_UNKNOWN, VALUE_TOO_BIG, BAD_SIGNATURE, SALT_TOO_BIG,
        CAS_MISMATCH, SEQ_TOO_LOW,
    )
)  # fmt: skip

LARGEST_NUMBER = 2**63 - 1
"""Numbers beyond it break other implementations."""


def error_name(code: int) -> str:
    """A name for counters; codes that a peer made up have one in common, so names stay few.

    >>> error_name(302), error_name(77777)
    ('error_302', 'error_unknown')
    """
    return f"error_{code}" if code in KNOWN_CODES else "error_unknown"


class BadArgument(RemoteProtocolError):
    """Something is missing or not as it must be; a query gets ``code`` and ``text`` as its answer.

    In an answer to us it only means that the answer is worth nothing.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"error_{code}", text)
        self.code = code
        self.text = text


def bytes_of(values: Dict, key: bytes, size: int | None = None) -> bytes:
    """The string ``key``, of ``size`` bytes if that is given; :class:`BadArgument` if it is not."""
    value = values.get(key)
    if type(value) is bytes and (size is None or len(value) == size):
        return value
    wanted = "a string" if size is None else f"a string of {size} bytes"
    raise BadArgument(PROTOCOL, f"{key.decode('latin-1')} must be {wanted}")


def int_of(values: Dict, key: bytes, lowest: int = 0, highest: int = LARGEST_NUMBER) -> int:
    """The number ``key``, within its bounds; :class:`BadArgument` if it is not.

    >>> int_of({b"port": 6881}, b"port", highest=65535)
    6881
    """
    value = values.get(key)
    if type(value) is int and lowest <= value <= highest:
        return value
    name = key.decode("latin-1")
    raise BadArgument(PROTOCOL, f"{name} must be a number from {lowest} to {highest}")
