"""The messages of rendezvous: one protobuf, with an inside for each kind."""

from __future__ import annotations

import enum
from typing import NamedTuple, TypeAlias

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, VARINT, bytes_field, fields, varint_field

LONGEST_NAMESPACE = 255
"""Bytes of a namespace."""

LARGEST_RECORD = 8192
"""Bytes of a signed peer record."""

LONGEST_COOKIE = 512
"""Bytes of a cookie: that of rust has the namespace in it."""

MOST_REGISTRATIONS = 1000
"""Registrations that are read of one answer."""


class Status(enum.IntEnum):
    """What a point says to a wish."""

    OK = 0
    INVALID_NAMESPACE = 100
    INVALID_SIGNED_PEER_RECORD = 101
    INVALID_TTL = 102
    INVALID_COOKIE = 103
    NOT_AUTHORIZED = 200
    INTERNAL_ERROR = 300
    UNAVAILABLE = 400


class Register(NamedTuple):
    """Be found under a namespace; also how a point names one that is."""

    namespace: str
    record: bytes
    ttl: int | None = None
    """Seconds."""


class Registered(NamedTuple):
    """The answer to :class:`Register`."""

    status: int
    ttl: int = 0


class Unregister(NamedTuple):
    """Be found no longer; there is no answer."""

    namespace: str


class Discover(NamedTuple):
    """Who is there?"""

    namespace: str | None = None
    """None: under any."""
    limit: int | None = None
    cookie: bytes = b""
    """Of an earlier answer: only what came after it."""


class Discovered(NamedTuple):
    """The answer to :class:`Discover`."""

    status: int
    registrations: tuple[Register, ...] = ()
    cookie: bytes = b""


RendezvousMessage: TypeAlias = Register | Registered | Unregister | Discover | Discovered

_KINDS: tuple[type[RendezvousMessage], ...] = (
    Register, Registered, Unregister, Discover, Discovered,
)  # fmt: skip
"""Each at the place of its number; its inside is the field of that number and two."""


def encode_message(message: RendezvousMessage) -> bytes:
    """The message, without the length that stands before it on the stream.

    >>> decode_message(encode_message(Unregister("weather")))
    Unregister(namespace='weather')
    """
    kind = _KINDS.index(type(message))
    if isinstance(message, Register):
        inside = _encode_register(message)
    elif isinstance(message, Registered):
        inside = varint_field(1, message.status) + varint_field(3, message.ttl)
    elif isinstance(message, Unregister):
        inside = bytes_field(1, message.namespace.encode("utf-8"))
    elif isinstance(message, Discover):
        inside = _encode_discover(message)
    else:
        registrations = [bytes_field(1, _encode_register(each)) for each in message.registrations]
        inside = b"".join(registrations) + bytes_field(2, message.cookie)
        inside += varint_field(3, message.status)
    return varint_field(1, kind) + bytes_field(kind + 2, inside)


def _encode_register(register: Register) -> bytes:
    raw = bytes_field(1, register.namespace.encode("utf-8")) + bytes_field(2, register.record)
    return raw if register.ttl is None else raw + varint_field(3, register.ttl)


def _encode_discover(discover: Discover) -> bytes:
    raw = b""
    if discover.namespace is not None:
        raw += bytes_field(1, discover.namespace.encode("utf-8"))
    if discover.limit is not None:
        raw += varint_field(2, discover.limit)
    return raw + bytes_field(3, discover.cookie) if discover.cookie else raw


def decode_message(raw: bytes) -> RendezvousMessage:
    """Read a message; :class:`RemoteProtocolError` with ``bad_rendezvous`` for what is none."""
    try:
        kind, inside = 0, dict[int, tuple[int, int]]()
        for number, wire, start, end in fields(raw, 0, len(raw)):
            if number == 1 and wire == VARINT:
                kind = start
            elif wire == LENGTH_DELIMITED:
                inside[number] = (start, end)
        if kind >= len(_KINDS) or kind + 2 not in inside:
            raise RemoteProtocolError("", f"a message of kind {kind} without an inside")
        return _decode_inside(_KINDS[kind], raw, *inside[kind + 2])
    except RemoteProtocolError as error:
        raise RemoteProtocolError("bad_rendezvous", error.detail) from None


def _decode_inside(
    kind: type[RendezvousMessage], raw: bytes, start: int, end: int
) -> RendezvousMessage:
    if kind is Register:
        return _decode_register(raw, start, end)
    texts: dict[int, bytes] = {}
    numbers: dict[int, int] = {}
    registrations: list[Register] = []
    for number, wire, first, last in fields(raw, start, end):
        if wire == VARINT:
            numbers[number] = first
        elif wire != LENGTH_DELIMITED:
            continue
        elif kind is Discovered and number == 1:
            if len(registrations) < MOST_REGISTRATIONS:
                registrations.append(_decode_register(raw, first, last))
        elif kind is Discovered and number == 4:
            continue  # words for people
        elif last - first > LONGEST_COOKIE:
            raise RemoteProtocolError("", f"a field of {last - first} bytes")
        else:
            texts[number] = raw[first:last]
    if kind is Registered:
        return Registered(numbers.get(1, 0), numbers.get(3, 0))
    if kind is Unregister:
        return Unregister(_namespace(texts.get(1, b"")))
    if kind is Discover:
        namespace = _namespace(texts[1]) if 1 in texts else None
        return Discover(namespace, numbers.get(2), texts.get(3, b""))
    return Discovered(numbers.get(3, 0), tuple(registrations), texts.get(2, b""))


def _decode_register(raw: bytes, start: int, end: int) -> Register:
    namespace, record, ttl = b"", b"", None
    for number, wire, first, last in fields(raw, start, end):
        if number == 1 and wire == LENGTH_DELIMITED:
            namespace = raw[first : min(last, first + LONGEST_COOKIE)]
        elif number == 2 and wire == LENGTH_DELIMITED:
            if last - first > LARGEST_RECORD:
                raise RemoteProtocolError("", f"a record of {last - first} bytes")
            record = raw[first:last]
        elif number == 3 and wire == VARINT:
            ttl = first
    return Register(_namespace(namespace), record, ttl)


def _namespace(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise RemoteProtocolError("", "a namespace that is not UTF-8") from None
