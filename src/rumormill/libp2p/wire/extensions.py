"""What gossipsub 1.3 adds to the wire: which extensions a peer has, and the first two of them.

A peer says in the first RPC of its stream which extensions it has, as flags in a control message;
what an extension has to say then travels in a field of the RPC that is its own.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.protobuf import (
    LENGTH_DELIMITED,
    VARINT,
    bytes_field,
    fields,
    raw_field,
    varint_field,
)
from rumormill.libp2p.wire.control import Budget, ControlKind
from rumormill.libp2p.wire.merging import IN_FIRST_RPC
from rumormill.libp2p.wire.message import decode_topic

PARTIAL_MESSAGES = 10
"""The number of partial messages: of their flag, and of their field in the RPC."""

TEST_EXTENSION = 6492434
"""The same of the test extension. Experimental ones have numbers of four bytes and more."""

MOST_EXTENSIONS = 1024
"""Flags that one peer may show."""

MOST_OPTIONS = 64
"""Fields beside the topic that a subscription may have."""

# ---- which extensions a peer has


class Extensions(NamedTuple):
    """The numbers of the extensions that a peer has; ``other`` is what is no flag, or not set."""

    numbers: tuple[int, ...]
    other: bytes = b""


def _decode_extensions(raw: bytes, budget: Budget) -> Extensions:
    numbers: list[int] = []
    other: list[bytes] = []
    for number, kind, start, end in fields(raw, 0, len(raw), MOST_EXTENSIONS):
        if kind == VARINT and start:
            numbers.append(number)
        else:
            other.append(raw_field(raw, number, kind, start, end))
    return Extensions(tuple(numbers), b"".join(other))


def _encode_extensions(entry: Extensions) -> bytes:
    return b"".join([varint_field(number, 1) for number in entry.numbers]) + entry.other


EXTENSIONS = ControlKind(
    "extensions", 6, Extensions, _decode_extensions, _encode_extensions, IN_FIRST_RPC
)
"""The control message of gossipsub 1.3."""

# ---- partial messages


class SubscriptionOptions(NamedTuple):
    """What a peer's subscription of a topic says of partial messages."""

    requests: bool = False
    """It wants parts instead of whole messages."""
    supports: bool = False
    """It tells which parts it has, and sends parts to those who want them."""


NO_OPTIONS = SubscriptionOptions()


def decode_options(other: bytes) -> SubscriptionOptions:
    """Read the fields of a subscription that pubsub does not know.

    Who wants parts has to send them, too, and need not say so.

    >>> decode_options(bytes.fromhex("18002001"))
    SubscriptionOptions(requests=False, supports=True)
    """
    requests = supports = False
    for number, kind, start, _ in fields(other, 0, len(other), MOST_OPTIONS):
        if kind == VARINT and number == 3:
            requests = bool(start)
        elif kind == VARINT and number == 4:
            supports = bool(start)
    return SubscriptionOptions(requests, requests or supports)


def encode_options(options: SubscriptionOptions) -> bytes:
    """The same as bytes, each field written out as go does.

    >>> encode_options(SubscriptionOptions(requests=True, supports=True)).hex()
    '18012001'
    """
    return varint_field(3, int(options.requests)) + varint_field(4, int(options.supports))


class PartialRpc(NamedTuple):
    """What a peer says of the parts of one message.

    ``group_id`` stands for the message, of which nobody need have seen the whole. What is None was
    not said; that is not the same as saying nothing.
    """

    topic: str
    group_id: bytes
    data: bytes | None = None
    """Parts, in the form that the application gives them."""
    metadata: bytes | None = None
    """Which parts the peer has, and perhaps which it wants, in the application's form as well."""


def decode_partial(raw: bytes) -> PartialRpc:
    """Read the inside of the RPC's field; fields that are not known are skipped.

    >>> decode_partial(encode_partial(PartialRpc("cells", b"block 7", metadata=b"")))
    PartialRpc(topic='cells', group_id=b'block 7', data=None, metadata=b'')
    """
    found: dict[int, bytes] = {}
    for number, kind, start, end in fields(raw, 0, len(raw)):
        if kind == LENGTH_DELIMITED and number <= 4:
            found[number] = raw[start:end]
    topic = decode_topic(found.get(1, b""))
    return PartialRpc(topic, found.get(2, b""), found.get(3), found.get(4))


def encode_partial(partial: PartialRpc) -> bytes:
    """The inside of the RPC's field."""
    parts = [bytes_field(1, partial.topic.encode()), bytes_field(2, partial.group_id)]
    if partial.data is not None:
        parts.append(bytes_field(3, partial.data))
    if partial.metadata is not None:
        parts.append(bytes_field(4, partial.metadata))
    return b"".join(parts)
