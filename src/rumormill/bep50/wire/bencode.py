"""Bencoding, strict: a value has one form in bytes, and only that form is read.

Keys of a dict must be sorted and unique, numbers without leading zeros, and nothing may follow the
value. So ``encode(decode(raw)) == raw`` for all that can be read, which is what a signature over
the bytes of a value needs.

A value is nested as little as real ones are: that is looked at first (:mod:`.nesting`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, cast

from bencode2 import bdecode, bencode

from rumormill.bep50.wire.nesting import check_nesting
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

Value: TypeAlias = "int | bytes | list[Value] | dict[bytes, Value]"
"""What can be bencoded; text is bytes here."""

Dict: TypeAlias = dict[bytes, Value]
"""Arguments of a query, values of an answer, or a whole packet."""

DEEPEST_VALUE = 16
"""Lists and dicts inside each other in a value that is published."""

DEEPEST = DEEPEST_VALUE + 2
"""The same in a packet: a value stands in a dict inside a dict."""


def decode(raw: bytes, deepest: int = DEEPEST) -> Value:
    """The value that these bytes stand for; :class:`RemoteProtocolError` if there is none.

    Lists and dicts may be ``deepest`` inside each other.

    >>> decode(b"d3:seqi7e1:vl3:abcee")
    {b'seq': 7, b'v': [b'abc']}
    >>> decode(b"i007e")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.RemoteProtocolError: bad_bencode: invalid int, ... found at 1
    """
    try:
        check_nesting(raw, deepest)
        return cast(Value, bdecode(raw))
    except ValueError as error:
        raise RemoteProtocolError("bad_bencode", str(error)[:200]) from None


def encode(value: Value) -> bytes:
    """The bytes of a value; :class:`LocalProtocolError` if it has something that has none.

    >>> encode({b"v": [b"abc", -1], b"seq": 7})
    b'd3:seqi7e1:vl3:abci-1eee'
    """
    try:
        return bencode(value)
    except (ValueError, TypeError, RecursionError) as error:
        problem = str(error).partition("\n")[0][:200]
        raise LocalProtocolError(f"the value cannot be bencoded: {problem}") from None


def encode_given(value: Any) -> bytes:
    """The bytes of a value that a user gives: text becomes UTF-8, and nesting is limited.

    :func:`encode` is for values of our own: it trusts that they are not endless.

    >>> encode_given({"name": "fog", "level": [1, 2]})
    b'd5:levelli1ei2ee4:name3:foge'
    """
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST_VALUE:
            raise LocalProtocolError(
                f"the value cannot be bencoded: it is nested deeper than {DEEPEST_VALUE} levels"
            )
        level = [inner for outer in level for inner in _inside(outer)]
    return encode(value)


def _inside(value: Any) -> Iterable[Any]:
    """The containers in a container."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return ()
    return [each for each in value if isinstance(each, dict | list | tuple)]
