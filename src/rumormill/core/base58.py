"""base58btc: the text form of peer ids.

Both directions are quadratic in the length, as they are long division, so both refuse more than
a peer id can need. The problem is stated as a :class:`ValueError` without the word "peer": callers
know what the text was meant to be, and whose fault it is.
"""

from __future__ import annotations

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
"""No 0, O, I or l: nothing that can be misread."""

LONGEST_BYTES = 128
"""Bytes that :func:`encode` takes; a peer id has at most 44."""

LONGEST_TEXT = 180
"""Characters that :func:`decode` takes: room for :data:`LONGEST_BYTES` bytes."""

_DIGITS = {character: digit for digit, character in enumerate(ALPHABET)}
# Two digits at a time: half the divisions of a long number.
_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]


def encode(raw: bytes) -> str:
    """Bytes as base58btc text; each leading zero byte is a leading ``1``.

    >>> encode(bytes.fromhex("0000287fb4cd"))
    '11233QC4'
    """
    if len(raw) > LONGEST_BYTES:
        raise ValueError(f"{len(raw)} bytes are too many for base58, {LONGEST_BYTES} are allowed")
    zeros = len(raw) - len(raw.lstrip(b"\0"))
    number = int.from_bytes(raw, "big")
    pairs: list[str] = []
    while number:
        number, pair = divmod(number, 58 * 58)
        pairs.append(_PAIRS[pair])
    return "1" * zeros + "".join(reversed(pairs)).lstrip("1")


def decode(text: str) -> bytes:
    """The bytes that base58btc text stands for.

    >>> decode("11233QC4").hex()
    '0000287fb4cd'
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{len(text)} characters of base58, {LONGEST_TEXT} are allowed")
    number = 0
    for character in text:
        digit = _DIGITS.get(character)
        if digit is None:
            raise ValueError(f"{character!r} is no character of base58")
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip("1"))
    raw = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    if len(raw) > LONGEST_BYTES:
        raise ValueError(f"base58 of {len(raw)} bytes, {LONGEST_BYTES} are allowed")
    return raw
