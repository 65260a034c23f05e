"""identify: what a peer tells of itself when a connection stands, and again when it changes.

Peers open their pubsub stream only after this has told them that we speak it.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, bytes_field, fields

IDENTIFY = "/ipfs/id/1.0.0"
"""The opener of the stream gets one message and the end of the stream."""

IDENTIFY_PUSH = "/ipfs/id/push/1.0.0"
"""The opener of the stream sends one message, because something has changed."""


class IdentifyInfo(NamedTuple):
    """What a peer says of itself. None of it is proven, the public key included.

    >>> info = IdentifyInfo(protocols=("/floodsub/1.0.0",), agent_version="rumormill")
    >>> decode_identify(encode_identify(info)) == info
    True
    """

    public_key: bytes = b""
    """As a protobuf."""
    listen_addresses: tuple[bytes, ...] = ()
    """As binary multiaddrs, also of transports that we do not speak."""
    protocols: tuple[str, ...] = ()
    """What it answers to on streams that we open."""
    observed_address: bytes = b""
    """Our own address, as it sees us: a binary multiaddr."""
    protocol_version: str = ""
    agent_version: str = ""
    signed_peer_record: bytes = b""


class IdentifyLimits(NamedTuple):
    """How much a peer may tell of itself."""

    largest: int = 65_536
    """Bytes of all messages on one stream together; Go takes 8 KiB a message."""
    addresses: int = 128
    protocols: int = 256
    longest_text: int = 1024
    """Bytes of a protocol's name, which multistream-select could not carry longer, or a version."""


DEFAULT_LIMITS = IdentifyLimits()


def encode_identify(info: IdentifyInfo) -> bytes:
    """The message, without the length that stands before it on the stream."""
    parts: list[tuple[int, bytes]] = [
        (1, info.public_key),
        *((2, address) for address in info.listen_addresses),
        *((3, protocol.encode("utf-8")) for protocol in info.protocols),
        (4, info.observed_address),
        (5, info.protocol_version.encode("utf-8")),
        (6, info.agent_version.encode("utf-8")),
        (8, info.signed_peer_record),
    ]
    return b"".join(bytes_field(number, value) for number, value in parts if value)


def decode_identify(raw: bytes, limits: IdentifyLimits = DEFAULT_LIMITS) -> IdentifyInfo:
    """Read a message, or several one behind the other, which count as one.

    Some peers send what is too long for one message in a second one: lists grow, and of the rest
    the last word counts. What we do not know is passed over.
    """
    if len(raw) > limits.largest:
        raise RemoteProtocolError(
            "identify_too_large", f"{len(raw)} bytes, {limits.largest} allowed"
        )
    single: dict[int, bytes] = {}
    texts: dict[int, str] = {}
    addresses: list[bytes] = []
    protocols: list[str] = []
    for number, kind, start, end in fields(raw, 0, len(raw)):
        if kind != LENGTH_DELIMITED:
            continue
        if number == 2:
            _check_room("addresses", len(addresses), limits.addresses)
            addresses.append(raw[start:end])
        elif number == 3:
            _check_room("protocols", len(protocols), limits.protocols)
            protocols.append(_text(raw, start, end, limits))
        elif number == 5 or number == 6:
            texts[number] = _text(raw, start, end, limits)
        elif number == 1 or number == 4 or number == 8:
            single[number] = raw[start:end]
    return IdentifyInfo(
        public_key=single.get(1, b""),
        listen_addresses=tuple(addresses),
        protocols=tuple(protocols),
        observed_address=single.get(4, b""),
        protocol_version=texts.get(5, ""),
        agent_version=texts.get(6, ""),
        signed_peer_record=single.get(8, b""),
    )


def _check_room(what: str, count: int, limit: int) -> None:
    if count >= limit:
        raise RemoteProtocolError("identify_too_large", f"more than {limit} {what}")


def _text(raw: bytes, start: int, end: int, limits: IdentifyLimits) -> str:
    if end - start > limits.longest_text:
        raise RemoteProtocolError(
            "identify_too_large", f"a text of {end - start} bytes, {limits.longest_text} allowed"
        )
    try:
        return raw[start:end].decode("utf-8")
    except UnicodeDecodeError:
        raise RemoteProtocolError("bad_identify", "a text that is not UTF-8") from None
