"""Topics as text: ``PUBLICKEYHEX[:SALT]``, or a magnet link of BEP 46.

>>> name = parse_topic("AB" * 32 + ":weather")
>>> name.salt, name.text == "ab" * 32 + ":weather"
(b'weather', True)
>>> TopicName(bytes(32), b"50%\\n\\xff").text[64:]
':50%25%0a%ff'
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from rumormill.bep50.wire.items import KEY_SIZE, LONGEST_SALT, target_of
from rumormill.core.errors import LocalProtocolError

MAGNET = "magnet:?"
PUBLIC_KEY_LINK = "urn:btpk:"
LONGEST_TEXT = 1024
"""Characters of a topic; one of 64 escaped bytes has 257, a magnet link some more."""

_KEY = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*", re.ASCII)
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})?")


class TopicName(NamedTuple):
    """A topic: the key that publishes in it, and the salt that tells the key's topics apart."""

    public_key: bytes
    salt: bytes = b""

    @property
    def text(self) -> str:
        """The one text form of the topic, as messages and trace events carry it."""
        key = self.public_key.hex()
        return f"{key}:{_salt_text(self.salt)}" if self.salt else key

    @property
    def target(self) -> bytes:
        """What the topic is called in packets: 20 bytes."""
        return target_of(self.public_key, self.salt)


def parse_topic(text: str) -> TopicName:
    """Read a topic as a user writes it; :class:`LocalProtocolError` says what is wrong with it.

    Spelling is forgiven (capitals, needless escapes), so two texts can be one topic: compare the
    names, or their :attr:`TopicName.text`.
    """
    try:
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"it has {len(text)} characters, {LONGEST_TEXT} are allowed")
        name = _from_magnet(text) if text.startswith(MAGNET) else _from_text(text)
        if len(name.salt) > LONGEST_SALT:
            raise ValueError(f"the salt has {len(name.salt)} bytes, {LONGEST_SALT} are allowed")
        return name
    except ValueError as error:
        shown = text if len(text) <= 200 else f"{text[:200]}..."
        raise LocalProtocolError(f"cannot use the topic {shown!r}: {error}") from None


def _from_text(text: str) -> TopicName:
    key, _, salt = text.partition(":")
    return TopicName(_public_key(key), _ESCAPE.sub(_unescape, salt.encode("utf-8")))


def _from_magnet(link: str) -> TopicName:
    """``magnet:?xs=urn:btpk:PUBLICKEYHEX&s=SALTHEX``, with any other fields."""
    key = salt = None
    for field, value in parse_qsl(link.removeprefix(MAGNET), keep_blank_values=True):
        if field == "xs" and value.startswith(PUBLIC_KEY_LINK) and key is None:
            key = value.removeprefix(PUBLIC_KEY_LINK)
        elif field == "s" and salt is None:
            salt = value
    if key is None:
        raise ValueError(f"the link has no xs={PUBLIC_KEY_LINK}PUBLICKEY")
    if salt is not None and not _HEX.fullmatch(salt):
        raise ValueError(f"the salt {salt!r} in the link is not hexadecimal")
    return TopicName(_public_key(key), bytes.fromhex(salt or ""))


def _public_key(text: str) -> bytes:
    if not _KEY.fullmatch(text):
        raise ValueError(f"it must begin with a public key, {2 * KEY_SIZE} hexadecimal digits")
    return bytes.fromhex(text)


def _unescape(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        raise ValueError("two hexadecimal digits must follow each %, and % itself is %25")
    return bytes.fromhex(found[1].decode("ascii"))


def _salt_text(salt: bytes) -> str:
    """What can be read is left as it is, everything else escaped."""
    characters = salt.decode("utf-8", "surrogateescape")
    return "".join([c if c.isprintable() and c != "%" else _escape(c) for c in characters])


def _escape(character: str) -> str:
    return "".join([f"%{byte:02x}" for byte in character.encode("utf-8", "surrogateescape")])
