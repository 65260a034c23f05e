"""What AMOP packets carry: a topic behind its length, which counts itself, then the payload."""

from __future__ import annotations

from typing import Final

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

LONGEST_TOPIC: Final = 254
"""Bytes of UTF-8: one byte has to hold their number and one more."""


def encode_body(topic: str, payload: bytes) -> bytes:
    """A topic and a payload.

    >>> encode_body("hello", b"!")
    b'\\x06hello!'
    """
    name = topic.encode()
    if not 1 <= len(name) <= LONGEST_TOPIC:
        raise LocalProtocolError(
            f"the topic {topic[:40]!r} has {len(name)} bytes, 1 to {LONGEST_TOPIC} can be sent"
        )
    return b"".join((bytes((len(name) + 1,)), name, payload))


def decode_body(data: bytes) -> tuple[str, bytes]:
    """The topic and the payload; :class:`RemoteProtocolError` if the length is not within.

    >>> decode_body(b"\\x06hello!")
    ('hello', b'!')
    """
    return topic_of(data), data[data[0] :]


def topic_of(data: bytes) -> str:
    """The topic alone, for those who pass the rest on as it is."""
    size = data[0] if data else 0
    if not 1 <= size <= len(data):
        raise RemoteProtocolError("bad_topic_body", f"length {size} in {len(data)} bytes")
    try:
        return data[1:size].decode()
    except UnicodeDecodeError:
        raise RemoteProtocolError("bad_topic_body", "the topic is no UTF-8") from None
