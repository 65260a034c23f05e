"""How deep bencoded bytes are nested, found out before anybody goes down there.

The library that reads bencoding goes as deep as a packet says, and needs 2.5 microseconds for each
level on its way back from a mistake: 4,000 bytes of ``l`` cost 10 milliseconds. So a packet that
might be deep is walked first, in a time that depends on its length alone.
"""

from __future__ import annotations

import re

SURELY_SHALLOW = 8
"""Bytes that may open a list or a dict, in something so short that nothing is said by its length;
with each 64 bytes comes one more, as in random bytes. To fail at the deepest of so many costs the
library no more than a ping costs us."""

LONGEST_NUMBER = 400
"""Characters of a number. The time for a number grows with the square of its length."""

LONGEST_LENGTH = 10
"""Digits of a string's length."""

_long_number = re.compile(rb"i[-0-9]{%d}" % (LONGEST_NUMBER + 1)).search
_NUMBER, _END = b"ie"
_OPENS = tuple(b"ld")
_ZERO, _NINE = b"09"


def check_nesting(raw: bytes, deepest: int) -> None:
    """ValueError if lists and dicts are more than ``deepest`` inside each other, or a number is
    longer than :data:`LONGEST_NUMBER`.

    >>> check_nesting(b"l" * 4000, deepest=16)
    Traceback (most recent call last):
    ...
    ValueError: it is nested deeper than 16 levels, found at 16
    """
    size = len(raw)
    # Each level is opened by such a byte, so they are at least as many as there are levels.
    levels = raw.count(b"l") + raw.count(b"d")
    if (
        levels > SURELY_SHALLOW + (size >> 6)
        or levels > deepest
        or (size > LONGEST_NUMBER and _long_number(raw))
    ):
        _walk(raw, deepest)


def _walk(raw: bytes, deepest: int) -> None:
    """Go from value to value, over strings and numbers, as far as they can be told apart.

    Whether the value is right in all else is left to who reads it.
    """
    find, size = raw.find, len(raw)
    at = depth = 0
    while at < size:
        byte = raw[at]
        if _ZERO <= byte <= _NINE:
            colon = find(b":", at, at + LONGEST_LENGTH + 1)
            digits = raw[at:colon]
            if colon < 0 or not digits.isdigit():
                raise ValueError(f"a string without its length, found at {at}")
            at = colon + 1 + int(digits)
        elif byte == _END:
            depth -= 1
            at += 1
        elif byte in _OPENS:
            depth += 1
            at += 1
            if depth > deepest:
                raise ValueError(f"it is nested deeper than {deepest} levels, found at {at - 1}")
        elif byte == _NUMBER:
            start, at = at, find(b"e", at, at + LONGEST_NUMBER + 2) + 1
            if at == 0:
                raise ValueError(f"a number without end, or too long, found at {start}")
        else:
            raise ValueError(f"no value begins with {raw[at : at + 1]!r}, found at {at}")
        if depth <= 0:
            break  # one value is over, and nothing may follow it
    if depth > 0 or at > size:
        raise ValueError(f"it is cut short, found at {size}")
    if at < size:
        raise ValueError(f"something follows the value, found at {at}")
