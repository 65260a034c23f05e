"""Names as text: ``/weather/berlin``, with the escapes and types of the NDN URI scheme.

A component is its value, with ``%XX`` for what is not a letter, a digit or one of ``-._~``. Another
type than the usual stands before it as ``54=%01``; ``sha256digest=`` and ``params-sha256=`` are
followed by hexadecimal digits, ``seg=``, ``off=``, ``v=``, ``t=`` and ``seq=`` by a number. Of
periods alone there are three more in the text than in the value, so that none looks like ``..``.
"""

from __future__ import annotations

import re
from typing import Final

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.wire.tlv import number, read_head, tlv

GENERIC: Final = 8
DIGESTS: Final = {"sha256digest": 1, "params-sha256": 2}
NUMBERS: Final = {"seg": 50, "off": 52, "v": 54, "t": 56, "seq": 58}

_DIGEST_NAMES: Final = {type: name for name, type in DIGESTS.items()}
_ESCAPED: Final = tuple(
    chr(byte)
    if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "-._~")
    else f"%{byte:02X}"
    for byte in range(256)
)
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})?")
_HEX_DIGEST: Final = re.compile(r"[0-9A-Fa-f]{64}")


def name_to_uri(name: bytes) -> str:
    """The text of a name; there is only one for each.

    >>> name_to_uri(bytes.fromhex("080161 08022f62 360101 0800"))
    '/a/%2Fb/54=%01/...'
    """
    texts = []
    at, end = 0, len(name)
    while at < end:
        type, start, at = read_head(name, at, end)
        texts.append(_component_text(type, name[start:at]))
    return "/" + "/".join(texts)


def _component_text(type: int, value: bytes) -> str:
    if type in _DIGEST_NAMES:
        return f"{_DIGEST_NAMES[type]}={value.hex()}"
    text = "".join(map(_ESCAPED.__getitem__, value))
    if not value.strip(b"."):
        text += "..."
    return text if type == GENERIC else f"{type}={text}"


def name_from_uri(uri: str) -> bytes:
    """The name that a text stands for.

    >>> name_from_uri("/a/8=b/v=1") == name_from_uri("ndn:/a/b/54=%01")
    True
    >>> name_from_uri("weather")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.LocalProtocolError: 'weather' is no name: it does not begin with /
    """
    path = uri.removeprefix("ndn:")
    try:
        if not path.startswith("/"):
            raise ValueError("it does not begin with /")
        if path == "/":
            return b""
        # Some write a last / behind it.
        return b"".join(map(_component_of, path[1:].removesuffix("/").split("/")))
    except ValueError as error:
        raise LocalProtocolError(f"{uri!r} is no name: {error}") from None


def _component_of(text: str) -> bytes:
    before, equals, after = text.partition("=")
    if not equals:
        return tlv(GENERIC, _value_of(text))
    if before in DIGESTS:
        if not _HEX_DIGEST.fullmatch(after):
            raise ValueError(f"{before} is followed by 64 hexadecimal digits")
        return tlv(DIGESTS[before], bytes.fromhex(after))
    if before in NUMBERS:
        value = _decimal(after)
        if not 0 <= value < 1 << 64:
            raise ValueError(f"{before} is followed by a number")
        return tlv(NUMBERS[before], number(value))
    type = _decimal(before)
    if not 1 <= type <= 0xFFFF:
        raise ValueError(f"{before!r} is no type of a component (write %3D for =)")
    if type in _DIGEST_NAMES and len(_value_of(after)) != 32:
        raise ValueError("a digest has 32 bytes")
    return tlv(type, _value_of(after))


def _decimal(text: str) -> int:
    """The number that a text is, -1 if it is none or has zeros before it."""
    if len(text) > 20 or not text.isdecimal() or not text.isascii():
        return -1
    return int(text) if text[0] != "0" or text == "0" else -1


def _value_of(text: str) -> bytes:
    if not text:
        raise ValueError("a component is empty (write ... for an empty one)")
    if not text.strip("."):
        if len(text) < 3:
            raise ValueError("a component cannot be . or ..")
        return b"." * (len(text) - 3)
    value = text.encode()
    return _ESCAPE.sub(_unescaped, value) if b"%" in value else value


def _unescaped(escape: re.Match[bytes]) -> bytes:
    if escape[1] is None:
        raise ValueError("% without two hexadecimal digits")
    return bytes.fromhex(escape[1].decode())
