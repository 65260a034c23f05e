"""The pubsub RPC: what two peers say to each other, read under limits.

Unknown fields of every level are kept as they came (``other``), so that a later version of the
protocol finds its fields there.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import (
    LENGTH_DELIMITED,
    MOST_FIELDS,
    VARINT,
    bytes_field,
    encode_varint,
    fields,
    raw_field,
    varint_field,
)
from rumormill.libp2p.wire.control import Budget, Control, ControlKinds
from rumormill.libp2p.wire.gossip import GOSSIP_KINDS
from rumormill.libp2p.wire.limits import DEFAULT_LIMITS, RpcLimits
from rumormill.libp2p.wire.message import WireMessage, decode_message, decode_topic


class Subscription(NamedTuple):
    """A peer begins (or ends) to listen to a topic."""

    subscribe: bool
    topic: str
    other: bytes = b""


class Rpc(NamedTuple):
    """One RPC.

    >>> decode_rpc(bytes.fromhex("0a0b0801120777656174686572")).subscriptions[0].topic
    'weather'
    """

    subscriptions: tuple[Subscription, ...] = ()
    messages: tuple[WireMessage, ...] = ()
    control: Control | None = None
    other: bytes = b""
    skipped: int = 0
    """Messages that were not looked at, because the reader did not want any."""
    extensions: tuple[tuple[int, bytes], ...] = ()
    """Fields of extensions that the reader speaks: number and inside, each number once."""


MESSAGE_TAG = 0x12
"""Field 2, length-delimited."""


# ---- reading


def decode_rpc(
    frame: bytes,
    limits: RpcLimits = DEFAULT_LIMITS,
    kinds: ControlKinds = GOSSIP_KINDS,
    skip_messages: bool = False,
    budget: Budget | None = None,
    extensions: Container[int] = (),
) -> Rpc:
    """Read one RPC; raises :class:`RemoteProtocolError` for anything malformed or over a limit.

    A ``budget`` of these limits tells afterwards how much control there was. ``extensions`` are the
    numbers of further fields that the reader speaks.
    """
    start = 0 if skip_messages else lone_message(frame, 0, len(frame))
    if start:
        return Rpc((), (decode_message(frame[start:], limits.topics_per_message),))
    subscriptions: list[Subscription] = []
    messages: list[WireMessage] = []
    control_parts: list[bytes] = []
    control_size = skipped = 0
    other: list[bytes] = []
    extended: dict[int, list[bytes]] | None = None
    # Each of them costs a look, so as many as the limits allow, and some that nobody knows.
    most = max(MOST_FIELDS, limits.subscriptions + limits.messages + 1024)
    for number, kind, start, end in fields(frame, 0, len(frame), most):
        if kind != LENGTH_DELIMITED or not 1 <= number <= 3:
            if kind == LENGTH_DELIMITED and number in extensions:
                extended = {} if extended is None else extended
                extended.setdefault(number, []).append(frame[start:end])
            else:
                other.append(raw_field(frame, number, kind, start, end))
        elif number == 2:
            if len(messages) + skipped >= limits.messages:
                raise RemoteProtocolError("too_many_messages", f"more than {limits.messages}")
            if skip_messages:
                skipped += 1
            else:
                messages.append(decode_message(frame[start:end], limits.topics_per_message))
        elif number == 1:
            _spend_subscription(len(subscriptions), limits)
            subscriptions.append(_decode_subscription(frame, start, end))
        else:
            control_size += end - start
            if control_size > limits.control_bytes:
                raise RemoteProtocolError(
                    "control_too_large", f"more than {limits.control_bytes} bytes of control"
                )
            control_parts.append(frame[start:end])
    # Protobuf merges a message field that comes twice; joining the bytes is that merge.
    control = None
    if control_parts:
        control = kinds.decode(b"".join(control_parts), budget or Budget(limits))
    spoken: tuple[tuple[int, bytes], ...] = ()
    if extended is not None:
        spoken = tuple([(number, b"".join(parts)) for number, parts in extended.items()])
    return Rpc(tuple(subscriptions), tuple(messages), control, b"".join(other), skipped, spoken)


def decode_subscriptions(
    frame: bytes, limits: RpcLimits = DEFAULT_LIMITS
) -> tuple[tuple[Subscription, ...], int]:
    """Read what an RPC says of topics; of other fields, only how many there are."""
    subscriptions: list[Subscription] = []
    others = 0
    most = max(MOST_FIELDS, limits.subscriptions + limits.messages + 1024)
    for number, kind, start, end in fields(frame, 0, len(frame), most):
        if number == 1 and kind == LENGTH_DELIMITED:
            _spend_subscription(len(subscriptions), limits)
            subscriptions.append(_decode_subscription(frame, start, end))
        else:
            others += 1
    return tuple(subscriptions), others


def _spend_subscription(count: int, limits: RpcLimits) -> None:
    if count >= limits.subscriptions:
        raise RemoteProtocolError(
            "too_many_subscriptions", f"more than {limits.subscriptions} in one RPC"
        )


def lone_message(buffer: bytes, start: int, end: int) -> int:
    """Where the message begins if the RPC in ``buffer[start:end]`` is one message and nothing
    else, as most are; or 0.
    """
    size = end - start
    if size < 3 or buffer[start] != MESSAGE_TAG:
        return 0
    length = buffer[start + 1]
    if length < 0x80:
        return start + 2 if length + 2 == size else 0
    high = buffer[start + 2]
    if high >= 0x80:
        return 0
    return start + 3 if length + (high << 7) - 0x80 + 3 == size else 0


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


# ---- writing


def subscription_field(subscription: Subscription) -> bytes:
    """One entry of ``subscriptions``, tag included."""
    inside = varint_field(1, int(subscription.subscribe))
    inside += bytes_field(2, subscription.topic.encode())
    return bytes_field(1, inside + subscription.other)


def message_frame(message: WireMessage) -> bytes:
    """The RPC that carries one message, length prefix included: the same for every peer."""
    raw = message.raw
    return _frame_head(len(raw)) + raw


@lru_cache(maxsize=4096)
def _frame_head(size: int) -> bytes:
    """What stands before a message of so many bytes: many are of one size."""
    inner = bytes((MESSAGE_TAG,)) + encode_varint(size)
    return encode_varint(len(inner) + size) + inner
