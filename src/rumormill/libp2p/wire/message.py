"""A pubsub message as it stands on the wire, and the bytes that its signature covers.

A message is passed on exactly as it came: ``raw`` is kept, and what was signed is cut out of it.
So a field that we do not know survives, and nothing is encoded twice.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import (
    LENGTH_DELIMITED,
    VARINT,
    bytes_field,
    decode_varint,
    encode_varint,
    fields,
)
from rumormill.core.topic import LONGEST_TOPIC

SIGNATURE_PREFIX = b"libp2p-pubsub:"

# The tags of the fields, all length-delimited: number << 3 | 2.
FROM, DATA, SEQNO, TOPIC, SIGNATURE, KEY = 0x0A, 0x12, 0x1A, 0x22, 0x2A, 0x32


class WireMessage:
    """One message: its parts, and the bytes they came in.

    ``None`` means that the field was absent, which is not the same as empty: an unsigned topic
    allows no author, not even an empty one.
    """

    __slots__ = (
        "data", "id", "key", "raw", "sender_id", "sequence", "signature", "signed_end", "topics",
        "weight", "wire_data",
    )  # fmt: skip

    wire_data: bytes
    """What the data is on the wire; there only while the message is open, see :meth:`open`."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.sender_id: bytes | None = None
        self.data: bytes = b""
        self.sequence: bytes | None = None
        self.topics: tuple[str, ...] = ()
        self.signature: bytes | None = None
        self.key: bytes | None = None
        self.id: bytes = b""
        """Set by whoever knows the topic's id function."""
        self.signed_end: int = len(raw)
        """Where the signed part ends; -1 if it is not simply the beginning of ``raw``."""
        self.weight: int = self.signed_end
        """Bytes that the message takes while it waits: ``raw``, and what it inflates to."""

    def __repr__(self) -> str:
        return f"<WireMessage {'+'.join(self.topics)} {len(self.data)} bytes id={self.id.hex()}>"

    @property
    def is_open(self) -> bool:
        """Whether ``data`` is what the application sees, and not what is on the wire."""
        return hasattr(self, "wire_data")

    def open(self, data: bytes) -> None:
        """Let ``data`` be what the application sees, where that is not what is on the wire."""
        self.wire_data, self.data = self.data, data
        self.weight += len(data)

    def close(self) -> None:
        """Let ``data`` be what is on the wire again: what is kept need not be inflated."""
        if self.is_open:
            self.data = self.wire_data
            self.weight = len(self.raw)
            del self.wire_data

    def signed_payload(self) -> bytes:
        """What the signature covers: the prefix, then the message without signature and key."""
        if self.signed_end >= 0:
            return SIGNATURE_PREFIX + self.raw[: self.signed_end]
        return SIGNATURE_PREFIX + self._canonical()

    def _canonical(self) -> bytes:
        """The message without signature and key, with its fields in the order of their numbers.

        That is what other implementations sign, whatever order the bytes arrived in: what they
        know written anew, then what they do not know as it came.
        """
        known: dict[int, list[bytes]] = {1: [], 2: [], 3: [], 4: []}
        unknown: list[bytes] = []
        raw = self.raw
        offset = 0
        for number, kind, start, end in fields(raw, 0, len(raw)):
            begin, offset = offset, _end_of_field(raw, offset, kind, end)
            if kind != LENGTH_DELIMITED or number > 6:
                unknown.append(raw[begin:offset])
            elif number in known:
                if number != 4:  # a single field that comes twice counts with its last value
                    known[number].clear()
                known[number].append(bytes_field(number, raw[start:end]))
        return b"".join([*known[1], *known[2], *known[3], *known[4], *unknown])


def _end_of_field(raw: bytes, offset: int, kind: int, end: int) -> int:
    """Where the field that begins at ``offset`` ends; of a number only its value is known."""
    if kind != VARINT:
        return end
    _, offset = decode_varint(raw, offset, len(raw))
    return decode_varint(raw, offset, len(raw))[1]


def decode_message(raw: bytes, most_topics: int = 32) -> WireMessage:
    """Read one message; the common forms in one straight pass, anything else with care."""
    try:
        if raw[0] == FROM:
            message = _decode_signed(raw)
            if message is not None:
                return message
    except IndexError:
        pass  # cut short, or of another form: the careful readers say which
    return _decode_in_order(raw, most_topics)


def _decode_signed(raw: bytes) -> WireMessage | None:
    """A message with author, data, number, one topic and an Ed25519 signature, as most are.

    Not a loop over fields, because this is the most frequent thing that a node does: each field
    must stand at its place, in its shortest form, up to the last byte. Otherwise None.
    """
    data_at = raw[1] + 4
    if raw[1] >= 0x80 or raw[data_at - 2] != DATA:
        return None
    length = raw[data_at - 1]
    if length >= 0x80:
        high = raw[data_at]
        if not 0 < high < 0x80:
            return None
        length += (high << 7) - 0x80
        data_at += 1
    data_end = data_at + length
    topic_at = data_end + 12
    topic_end = len(raw) - 66
    if (
        raw[data_end : data_end + 2] != _SEQNO_HEAD
        or raw[data_end + 10] != TOPIC
        or raw[data_end + 11] != topic_end - topic_at
        or topic_end - topic_at >= 0x80
        or raw[topic_end : topic_end + 2] != _SIGNATURE_HEAD
    ):
        return None
    message = WireMessage(raw)
    message.sender_id = raw[2 : raw[1] + 2]
    message.data = raw[data_at:data_end]
    message.sequence = raw[data_end + 2 : data_end + 10]
    message.topics = _one_topic(raw[topic_at:topic_end])
    message.signature = raw[topic_end + 2 :]
    message.signed_end = topic_end
    return message


_SEQNO_HEAD = bytes((SEQNO, 8))
_SIGNATURE_HEAD = bytes((SIGNATURE, 64))


def _decode_in_order(raw: bytes, most_topics: int) -> WireMessage:
    """Fields in the order of their numbers, in their shortest form: what was signed is a slice."""
    message = WireMessage(raw)
    size = len(raw)
    offset = last_tag = 0
    topics: list[bytes] = []
    try:
        while offset < size:
            tag = raw[offset]
            length = raw[offset + 1]
            start = offset + 2
            if length >= 0x80:
                high = raw[start]
                start += 1
                # Longer than two bytes, or than it must be: then these are not the bytes signed.
                if not 0 < high < 0x80:
                    return _decode_carefully(message, most_topics)
                length += (high << 7) - 0x80
            end = start + length
            if tag <= last_tag and (tag != TOPIC or last_tag != TOPIC):
                return _decode_carefully(message, most_topics)
            if tag == FROM:
                message.sender_id = raw[start:end]
            elif tag == DATA:
                message.data = raw[start:end]
            elif tag == SEQNO:
                message.sequence = raw[start:end]
            elif tag == TOPIC:
                if len(topics) >= most_topics:
                    raise RemoteProtocolError("too_many_topics", f"more than {most_topics}")
                topics.append(raw[start:end])
            elif tag == SIGNATURE:
                message.signature = raw[start:end]
                message.signed_end = offset
            elif tag == KEY:
                message.key = raw[start:end]
                if last_tag != SIGNATURE:
                    message.signed_end = offset
            else:
                return _decode_carefully(message, most_topics)
            last_tag = tag
            offset = end
    except IndexError:
        raise RemoteProtocolError("bad_protobuf", "a message is cut short") from None
    if offset != size:
        raise RemoteProtocolError("bad_protobuf", "a message is cut short")
    message.topics = _topic_names(topics)
    return message


def _decode_carefully(message: WireMessage, most_topics: int) -> WireMessage:
    """Any order, any length, unknown fields: rare, so clarity before speed."""
    raw = message.raw
    message.signed_end = -1
    topics: list[bytes] = []
    for number, kind, start, end in fields(raw, 0, len(raw)):
        if kind != LENGTH_DELIMITED:
            continue
        if number == 1:
            message.sender_id = raw[start:end]
        elif number == 2:
            message.data = raw[start:end]
        elif number == 3:
            message.sequence = raw[start:end]
        elif number == 4:
            if len(topics) >= most_topics:
                raise RemoteProtocolError("too_many_topics", f"more than {most_topics}")
            topics.append(raw[start:end])
        elif number == 5:
            message.signature = raw[start:end]
        elif number == 6:
            message.key = raw[start:end]
    message.topics = _topic_names(topics)
    return message


def _topic_names(raw_topics: list[bytes]) -> tuple[str, ...]:
    if not raw_topics:
        raise RemoteProtocolError("bad_topic", "a message without a topic")
    if len(raw_topics) == 1:
        return (decode_topic(raw_topics[0]),)
    return tuple(dict.fromkeys(decode_topic(raw) for raw in raw_topics))


@functools.lru_cache(maxsize=128)
def _one_topic(raw: bytes) -> tuple[str, ...]:
    """A message's only, short topic; the same few come again and again."""
    return (decode_topic(raw),)


def decode_topic(raw: bytes) -> str:
    """A topic's name; raises if it is no UTF-8 text or longer than any topic may be."""
    if len(raw) > LONGEST_TOPIC:
        raise RemoteProtocolError("bad_topic", f"a topic of {len(raw)} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise RemoteProtocolError("bad_topic", "a topic that is not UTF-8") from None


def build_message(
    *,
    data: bytes,
    topics: tuple[str, ...],
    sender_id: bytes | None = None,
    sequence: bytes | None = None,
    sign: Callable[[bytes], bytes] | None = None,
) -> WireMessage:
    """A message of our own; ``sign`` makes the signature of a payload."""
    author = b"" if sender_id is None else _author_field(sender_id)
    number = b"" if sequence is None else bytes_field(3, sequence)
    unsigned = b"".join(
        (author, _DATA_TAG, encode_varint(len(data)), data, number, _topic_fields(topics))
    )
    if sign is None:
        message = WireMessage(unsigned)
    else:
        signature = sign(SIGNATURE_PREFIX + unsigned)
        message = WireMessage(unsigned + bytes_field(5, signature))
        message.signature, message.signed_end = signature, len(unsigned)
    message.sender_id, message.data, message.sequence = sender_id, data, sequence
    message.topics = topics
    return message


_DATA_TAG = bytes((DATA,))


@functools.lru_cache(maxsize=16)
def _author_field(sender_id: bytes) -> bytes:
    """Ourselves, encoded: the same in every message."""
    return bytes_field(1, sender_id)


@functools.lru_cache(maxsize=256)
def _topic_fields(topics: tuple[str, ...]) -> bytes:
    """The topics, encoded: few that are published on again and again."""
    return b"".join([bytes_field(4, topic.encode()) for topic in topics])
