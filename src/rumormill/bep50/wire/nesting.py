"""How deep bencoded bytes are nested, found out before anybody goes down there.

The library that reads bencoding goes as deep as a packet says, and needs 2.5 microseconds for each
level on its way back from a mistake: 4,000 bytes of ``l`` cost 10 milliseconds. So it is only given
what is shallow. Each level is opened by an ``l`` or a ``d``, so these bytes are at least as many as
there are levels. Most packets have few of them; most others have them in a text that is published,
and few outside of it. What is left is walked, in a time that depends on its length alone.
"""

from __future__ import annotations

import re

SURELY_SHALLOW = 6
"""Bytes that may open something, in what is so short that nothing is said by its length; with each
64 bytes comes one more, as in random bytes. To fail at the deepest of so many costs the library no
more than a ping costs us."""

LONGEST_NUMBER = 1400
"""Characters of a number: no real packet is as long. The time for one grows with its square."""

LONGEST_LENGTH = 10
"""Digits of a string's length."""

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
    openers = raw.count(b"l") + raw.count(b"d")
    shallow = min(deepest, SURELY_SHALLOW + (size >> 6))
    if size > LONGEST_NUMBER:
        if openers > shallow or _long_number(raw):
            _walk(raw, deepest)
    elif openers > shallow and not _few_outside_long_strings(raw, openers, shallow):
        _walk(raw, deepest)


_long_number = re.compile(rb"i[-0-9]{%d}" % (LONGEST_NUMBER + 1)).search


# ---- the quick way


def _strings_below_100() -> bytes:
    """A pattern for any string of less than 100 bytes, its length before it."""
    tens = []
    for ten in range(10):
        ways = [b":.{%d}" % ten]
        if ten:
            ways += [b"%d:.{%d}" % (one, 10 * ten + one) for one in range(10)]
        tens.append(b"%d(?:%b)" % (ten, b"|".join(ways)))
    return b"|".join(tens)


_all_but_long_strings = re.compile(
    rb"(?:[lde]|i[-0-9]{1,20}e|%b)*+" % _strings_below_100(), re.DOTALL
).match
_long_length = re.compile(rb"([1-9][0-9]{2,3}):").match


def _few_outside_long_strings(raw: bytes, openers: int, most: int) -> bool:
    """Whether it has few bytes that may open something, those in long strings left out."""
    at = 0
    while openers > most:
        between = _all_but_long_strings(raw, at)
        length = between and _long_length(raw, between.end())
        if not length:
            return False
        start = length.end()
        at = start + int(length[1])
        openers -= raw.count(b"l", start, at) + raw.count(b"d", start, at)
    return True


# ---- the long way


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
