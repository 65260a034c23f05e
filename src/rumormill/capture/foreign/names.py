"""Names in foreign traces: each is checked and worked out once, then looked up."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Any

from rumormill.capture.foreign.errors import BadEventError
from rumormill.core import base58

MOST_KEPT = 16_384
"""Names that one cache holds."""

LONGEST_NAME = 4096
"""Bytes or characters of a topic, a message id, a reason; whatever is longer is none."""

SEQUENCE_BYTES = 8


class Cache(dict[Any, Any]):
    """Remembers what ``make`` gave for a key; forgets all when it is full.

    A dictionary, since one look-up is all that most events cost. ``None`` (a field that is not
    there) stays None.

    >>> lengths = Cache(len)
    >>> lengths["abc"], lengths[None]
    (3, None)
    """

    __slots__ = ("_make", "_most")

    def __init__(self, make: Callable[[Any], Any], most: int = MOST_KEPT) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, key: Any) -> Any:
        value = None if key is None else self._make(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value


def peer_name(raw: bytes) -> str:
    """A peer id as text.

    >>> peer_name(bytes.fromhex("000508012e2e2e"))
    '13WKFPbjK'
    """
    if not raw:
        raise BadEventError("an empty peer id")
    try:
        return base58.encode(raw)
    except ValueError as error:
        raise BadEventError(str(error)) from None


def text_name(text: object) -> str:
    """A topic or a reason, if it is a text of a sensible length."""
    if not isinstance(text, str):
        raise BadEventError(f"{type(text).__name__} where a text should be")
    if len(text) > LONGEST_NAME:
        raise BadEventError(f"a name of {len(text)} characters")
    # Half a surrogate pair can be written in JSON, but is no character.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def peer_text(text: object) -> str | None:
    """A peer id that is text already; an empty one is what Go writes for a peer it cannot name."""
    if not isinstance(text, str) or len(text) > base58.LONGEST_TEXT or not text.isascii():
        raise BadEventError("something else where a peer id should be")
    return text or None


def hex_id(text: object) -> bytes:
    """A message id in hexadecimal digits.

    >>> hex_id("0a1b")
    b'\\n\\x1b'
    """
    return binascii.unhexlify(text_name(text))


def base64_id(text: object) -> bytes:
    """A message id as Go writes bytes in JSON.

    >>> base64_id("Chs=")
    b'\\n\\x1b'
    """
    return binascii.a2b_base64(text_name(text), strict_mode=True)


def author_of(message_id: bytes) -> bytes | None:
    """The peer id of who wrote the message, if its id is that and a sequence number.

    Such ids libp2p makes by default; applications may choose others.

    >>> author_of(b"\\x12\\x20" + b"a" * 32 + b"\\0\\0\\0\\0\\0\\0\\0\\7")[-3:]
    b'aaa'
    >>> author_of(bytes(20)) is None
    True
    """
    author = message_id[:-SEQUENCE_BYTES]
    size = len(author)
    hashed = size == 34 and author[:2] == b"\x12\x20"
    inline = 34 <= size <= 44 and author[0] == 0 and author[1] == size - 2
    return author if hashed or inline else None
