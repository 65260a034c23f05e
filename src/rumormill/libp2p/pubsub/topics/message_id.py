"""Message ids: by what two peers know that they mean the same message.

Implementations differ in their default, and two that differ flood each other well but never
understand each other's IHAVE and IWANT, without any error. So the choice has a name.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import TypeAlias

from rumormill.core.errors import ConfigError, RemoteProtocolError
from rumormill.libp2p.pubsub.topics.transforms import SnappyTransform
from rumormill.libp2p.stack.peer_id import to_text
from rumormill.libp2p.wire.message import WireMessage

MessageIdFunction: TypeAlias = Callable[[WireMessage], bytes]

LONGEST_MESSAGE_ID = 1024
"""Bytes. Ids are kept for minutes and sent around: who needs longer ones has to hash them."""


def usable(message_id: object) -> bool:
    """Whether what an id function returned can be an id.

    >>> usable(b"\\x01"), usable(b""), usable("text")
    (True, False, False)
    """
    return isinstance(message_id, bytes) and 0 < len(message_id) <= LONGEST_MESSAGE_ID


def origin_bytes(message: WireMessage) -> bytes:
    """Author, then sequence number: the specification's default, and go's."""
    return (message.sender_id or b"") + (message.sequence or b"")


def rust_text(message: WireMessage) -> bytes:
    """rust's default: the author in base58, then the sequence number in decimal digits."""
    sequence = int.from_bytes(message.sequence or b"", "big")
    return f"{to_text(message.sender_id or b'')}{sequence}".encode()


def js_pubkey(message: WireMessage) -> bytes:
    """js's default: the author's marshalled public key, then the sequence number in 8 bytes."""
    sender = message.sender_id or b""
    key = sender[2:] if sender[:1] == b"\x00" else (message.key or b"")
    return key + (message.sequence or b"").rjust(8, b"\x00")


def nim_text(message: WireMessage) -> bytes:
    """nim's default: the sequence number in hex, then the author in base58."""
    return ((message.sequence or b"").hex() + to_text(message.sender_id or b"")).encode()


def sha256(message: WireMessage) -> bytes:
    """The hash of the data, as the application sees it: for topics without authors."""
    return hashlib.sha256(message.data).digest()


VALID_SNAPPY = bytes.fromhex("01000000")
INVALID_SNAPPY = bytes.fromhex("00000000")


def ethereum(message: WireMessage) -> bytes:
    """Ethereum's since Altair: 20 bytes of the hash of topic and data, inflated if it can be.

    Where the topic has a transform, what that made of the data; elsewhere snappy is tried here.
    """
    domain, data = VALID_SNAPPY, message.data
    if not message.is_open:
        try:
            data = _snappy().inbound("", data)
        except RemoteProtocolError:
            domain = INVALID_SNAPPY
    topic = message.topics[0].encode()
    digest = hashlib.sha256(domain + len(topic).to_bytes(8, "little") + topic)
    digest.update(data)
    return digest.digest()[:20]


_snappy = functools.cache(SnappyTransform)


PROFILES: dict[str, MessageIdFunction] = {
    "origin_bytes": origin_bytes,
    "rust_text": rust_text,
    "js_pubkey": js_pubkey,
    "nim_text": nim_text,
    "sha256": sha256,
    "ethereum": ethereum,
}

NEED_AUTHOR = ("origin_bytes", "rust_text", "js_pubkey", "nim_text")
"""Profiles that make nothing of a message without an author."""


def message_id_function(choice: str | MessageIdFunction) -> MessageIdFunction:
    """The function behind a profile's name, or the user's own function as it is.

    >>> message_id_function("sha256").__name__
    'sha256'
    """
    if callable(choice):
        return choice
    if choice == "ethereum":
        _snappy()  # says so if the package is missing, before there is a message
    try:
        return PROFILES[choice]
    except KeyError:
        known = ", ".join(PROFILES)
        raise ConfigError("message_id", f"{choice!r} is none of {known}") from None
