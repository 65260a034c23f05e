"""What a publisher tells subscribers in a notify Interest, and the names of pubsub.

    07 PublisherPrefix, 80 NotifyNonce, [D3 PublisherFwdHint { 07 Name }]

These are the value of ApplicationParameters, without an element around them. Their order is fixed.
Nothing may be added: others refuse what they do not know.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import NAME, Name, component, name_tlv, scan_name
from rumormill.ndn.wire.tlv import read_head, tlv

NOTIFY_NONCE: Final = 0x80
FORWARDING_HINT: Final = 0xD3

_NOTIFY: Final = component(b"notify")
_MESSAGE: Final = component(b"msg")


class NotifyParameters(NamedTuple):
    """What to fetch, and where.

    >>> parameters = NotifyParameters(component(b"alice"), b"1234")
    >>> encode_notify(parameters).hex()
    '07070805616c696365800431323334'
    """

    publisher: Name
    """The publisher's prefix."""
    nonce: bytes
    """Random bytes that tell this publication from others; four from us, others send eight."""
    hint: Name | None = None
    """Where the network finds the publisher, if it has no way to the prefix itself."""


def encode_notify(parameters: NotifyParameters) -> bytes:
    """The value of ApplicationParameters."""
    publisher, nonce, hint = parameters
    value = name_tlv(publisher) + tlv(NOTIFY_NONCE, nonce)
    return value if hint is None else value + tlv(FORWARDING_HINT, name_tlv(hint))


def decode_notify(value: bytes) -> NotifyParameters:
    """Read the value of ApplicationParameters. Unknown even types are ignored, odd ones refused."""
    publisher: Name | None = None
    nonce: bytes | None = None
    hint: Name | None = None
    last, at, end = 0, 0, len(value)
    while at < end:
        kind, start, at = read_head(value, at, end)
        if kind == NAME and last < 1:
            last = 1
            scan_name(value, start, at)
            publisher = value[start:at]
        elif kind == NOTIFY_NONCE and last < 2:
            last = 2
            nonce = value[start:at]
        elif kind == FORWARDING_HINT and last < 3:
            last = 3
            hint = _read_hint(value, start, at)
        elif kind & 1:
            raise RemoteProtocolError("unknown_critical", f"the type {kind} in a notify")
    if publisher is None or nonce is None:
        raise RemoteProtocolError("bad_notify", "it lacks a publisher or a nonce")
    return NotifyParameters(publisher, nonce, hint)


def _read_hint(value: bytes, at: int, end: int) -> Name | None:
    hint: Name | None = None
    while at < end:
        kind, start, at = read_head(value, at, end)
        if kind == NAME and hint is None:
            scan_name(value, start, at)
            hint = value[start:at]
        elif kind & 1:
            raise RemoteProtocolError("unknown_critical", f"the type {kind} in a forwarding hint")
    return hint


def notify_name(topic: Name) -> Name:
    """What subscribers of a topic listen to; the digest of the parameters follows it.

    >>> notify_name(component(b"t"))
    b'\\x08\\x01t\\x08\\x06notify'
    """
    return topic + _NOTIFY


def message_name(publisher: Name, topic: Name, nonce: bytes) -> Name:
    """What the Data with the message is called: topic and nonce are bound to each other by it.

    >>> message_name(component(b"p"), component(b"t"), b"1234")
    b'\\x08\\x01p\\x08\\x03msg\\x08\\x01t\\x08\\x041234'
    """
    return publisher + _MESSAGE + topic + component(nonce)
