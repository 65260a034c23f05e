"""The pubsub RPC: what two peers say to each other, read under limits and written back whole.

Unknown fields of every level are kept as they came (``other``), so that re-encoding loses nothing
and a later version of the protocol finds its fields there.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import (
    LENGTH_DELIMITED,
    VARINT,
    bytes_field,
    encode_varint,
    fields,
    raw_field,
    varint_field,
)
from rumormill.libp2p.wire.message import WireMessage, decode_message, decode_topic


class RpcLimits(NamedTuple):
    """What one RPC may contain; each is checked before the thing it limits is made."""

    messages: int = 5000
    subscriptions: int = 5000
    control_bytes: int = 256 * 1024
    message_ids: int = 5000
    """In all IHAVE and IWANT of one RPC together."""
    topics_per_message: int = 32
    control_messages: int = 1000
    """IHAVE, IWANT, GRAFT and PRUNE of one RPC together."""


class Subscription(NamedTuple):
    """A peer begins (or ends) to listen to a topic."""

    subscribe: bool
    topic: str
    other: bytes = b""


class IHave(NamedTuple):
    """Ids of messages that a peer has on a topic."""

    topic: str
    message_ids: tuple[bytes, ...]
    other: bytes = b""


class IWant(NamedTuple):
    """Ids of messages that a peer wants to be sent."""

    message_ids: tuple[bytes, ...]
    other: bytes = b""


class Graft(NamedTuple):
    """A peer took us into its mesh of the topic."""

    topic: str
    other: bytes = b""


class Prune(NamedTuple):
    """A peer took us out of its mesh; ``backoff`` seconds (from 1.1 on) until we may ask again."""

    topic: str
    backoff: int | None = None
    other: bytes = b""


class Control(NamedTuple):
    """The control part of an RPC."""

    ihave: tuple[IHave, ...] = ()
    iwant: tuple[IWant, ...] = ()
    graft: tuple[Graft, ...] = ()
    prune: tuple[Prune, ...] = ()
    other: bytes = b""


class Rpc(NamedTuple):
    """One RPC.

    >>> frame = encode_rpc(Rpc(subscriptions=(Subscription(True, "weather"),)))
    >>> decode_rpc(frame).subscriptions[0].topic
    'weather'
    """

    subscriptions: tuple[Subscription, ...] = ()
    messages: tuple[WireMessage, ...] = ()
    control: Control | None = None
    other: bytes = b""


DEFAULT_LIMITS = RpcLimits()

MESSAGE_TAG = 0x12
"""Field 2, length-delimited."""


# ---- reading


def decode_rpc(frame: bytes, limits: RpcLimits = DEFAULT_LIMITS) -> Rpc:
    """Read one RPC; raises :class:`RemoteProtocolError` for anything malformed or over a limit."""
    start = lone_message(frame)
    if start:
        return Rpc((), (decode_message(frame[start:], limits.topics_per_message),))
    subscriptions: list[Subscription] = []
    messages: list[WireMessage] = []
    control_parts: list[bytes] = []
    control_size = 0
    other: list[bytes] = []
    for number, kind, start, end in fields(frame, 0, len(frame)):
        if kind != LENGTH_DELIMITED or not 1 <= number <= 3:
            other.append(raw_field(frame, number, kind, start, end))
        elif number == 2:
            if len(messages) >= limits.messages:
                raise RemoteProtocolError("too_many_messages", f"more than {limits.messages}")
            messages.append(decode_message(frame[start:end], limits.topics_per_message))
        elif number == 1:
            if len(subscriptions) >= limits.subscriptions:
                raise RemoteProtocolError(
                    "too_many_subscriptions", f"more than {limits.subscriptions} in one RPC"
                )
            subscriptions.append(_decode_subscription(frame, start, end))
        else:
            control_size += end - start
            if control_size > limits.control_bytes:
                raise RemoteProtocolError(
                    "control_too_large", f"more than {limits.control_bytes} bytes of control"
                )
            control_parts.append(frame[start:end])
    # Protobuf merges a message field that comes twice; joining the bytes is that merge.
    control = _decode_control(b"".join(control_parts), limits) if control_parts else None
    return Rpc(tuple(subscriptions), tuple(messages), control, b"".join(other))


def lone_message(frame: bytes) -> int:
    """Where the message begins if the RPC is one message and nothing else, as most are; or 0."""
    size = len(frame)
    if size < 3 or frame[0] != MESSAGE_TAG:
        return 0
    length = frame[1]
    if length < 0x80:
        return 2 if length + 2 == size else 0
    high = frame[2]
    if high >= 0x80:
        return 0
    return 3 if length + (high << 7) - 0x80 + 3 == size else 0


def _decode_subscription(frame: bytes, start: int, end: int) -> Subscription:
    subscribe, topic = False, b""
    other: list[bytes] = []
    for number, kind, a, b in fields(frame, start, end):
        if number == 1 and kind == VARINT:
            subscribe = bool(a)
        elif number == 2 and kind == LENGTH_DELIMITED:
            topic = frame[a:b]
        else:
            other.append(raw_field(frame, number, kind, a, b))
    return Subscription(subscribe, decode_topic(topic), b"".join(other))


class _Budget:
    """How many ids and control messages may still come in this RPC."""

    __slots__ = ("ids", "limits", "messages")

    def __init__(self, limits: RpcLimits) -> None:
        self.limits = limits
        self.ids = limits.message_ids
        self.messages = limits.control_messages

    def spend_id(self) -> None:
        self.ids -= 1
        if self.ids < 0:
            raise RemoteProtocolError(
                "too_many_message_ids", f"more than {self.limits.message_ids} in one RPC"
            )

    def spend_message(self) -> None:
        self.messages -= 1
        if self.messages < 0:
            raise RemoteProtocolError(
                "too_many_control_messages", f"more than {self.limits.control_messages} in one RPC"
            )


def _decode_control(raw: bytes, limits: RpcLimits) -> Control:
    budget = _Budget(limits)
    ihave: list[IHave] = []
    iwant: list[IWant] = []
    graft: list[Graft] = []
    prune: list[Prune] = []
    other: list[bytes] = []
    for number, kind, start, end in fields(raw, 0, len(raw)):
        if kind != LENGTH_DELIMITED or not 1 <= number <= 4:
            other.append(raw_field(raw, number, kind, start, end))
            continue
        budget.spend_message()
        if number == 1:
            topic, ids, rest = _decode_ids(raw, start, end, 1, 2, budget)
            ihave.append(IHave(decode_topic(topic), ids, rest))
        elif number == 2:
            _, ids, rest = _decode_ids(raw, start, end, 0, 1, budget)
            iwant.append(IWant(ids, rest))
        elif number == 3:
            topic, _, rest = _decode_ids(raw, start, end, 1, 0, budget)
            graft.append(Graft(decode_topic(topic), rest))
        else:
            prune.append(_decode_prune(raw, start, end))
    return Control(tuple(ihave), tuple(iwant), tuple(graft), tuple(prune), b"".join(other))


def _decode_ids(
    raw: bytes, start: int, end: int, topic_field: int, ids_field: int, budget: _Budget
) -> tuple[bytes, tuple[bytes, ...], bytes]:
    """A control message made of a topic, ids, or both; the field numbers say which."""
    topic = b""
    ids: list[bytes] = []
    other: list[bytes] = []
    for number, kind, a, b in fields(raw, start, end):
        if kind != LENGTH_DELIMITED:
            other.append(raw_field(raw, number, kind, a, b))
        elif number == ids_field:
            budget.spend_id()
            ids.append(raw[a:b])
        elif number == topic_field:
            topic = raw[a:b]
        else:
            other.append(raw_field(raw, number, kind, a, b))
    return topic, tuple(ids), b"".join(other)


def _decode_prune(raw: bytes, start: int, end: int) -> Prune:
    topic, backoff = b"", None
    other: list[bytes] = []
    for number, kind, a, b in fields(raw, start, end):
        if number == 1 and kind == LENGTH_DELIMITED:
            topic = raw[a:b]
        elif number == 3 and kind == VARINT:
            backoff = a
        else:
            other.append(raw_field(raw, number, kind, a, b))
    return Prune(decode_topic(topic), backoff, b"".join(other))


# ---- writing


def encode_rpc(rpc: Rpc) -> bytes:
    """An RPC as bytes, without a length prefix; fields in the order of their numbers."""
    parts = [bytes_field(1, encode_subscription(each)) for each in rpc.subscriptions]
    parts += [bytes_field(2, message.raw) for message in rpc.messages]
    if rpc.control is not None:
        parts.append(bytes_field(3, encode_control(rpc.control)))
    parts.append(rpc.other)
    return b"".join(parts)


def encode_subscription(subscription: Subscription) -> bytes:
    """The inside of one entry of ``subscriptions``."""
    return (
        varint_field(1, int(subscription.subscribe))
        + bytes_field(2, subscription.topic.encode())
        + subscription.other
    )


def encode_control(control: Control) -> bytes:
    """The inside of the field ``control``."""
    parts: list[bytes] = []
    for ihave in control.ihave:
        ids = b"".join([bytes_field(2, each) for each in ihave.message_ids])
        parts.append(bytes_field(1, bytes_field(1, ihave.topic.encode()) + ids + ihave.other))
    for iwant in control.iwant:
        ids = b"".join([bytes_field(1, each) for each in iwant.message_ids])
        parts.append(bytes_field(2, ids + iwant.other))
    for graft in control.graft:
        parts.append(bytes_field(3, bytes_field(1, graft.topic.encode()) + graft.other))
    for prune in control.prune:
        backoff = b"" if prune.backoff is None else varint_field(3, prune.backoff)
        # Peers (field 2, in `other`) stand before the backoff, as every encoder writes them.
        parts.append(bytes_field(4, bytes_field(1, prune.topic.encode()) + prune.other + backoff))
    parts.append(control.other)
    return b"".join(parts)


def message_frame(message: WireMessage) -> bytes:
    """The RPC that carries one message, length prefix included: the same for every peer."""
    size = encode_varint(len(message.raw))
    length = encode_varint(1 + len(size) + len(message.raw))
    return b"".join((length, _MESSAGE_TAG_BYTES, size, message.raw))


_MESSAGE_TAG_BYTES = bytes((MESSAGE_TAG,))
