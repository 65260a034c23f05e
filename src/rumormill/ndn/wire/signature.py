"""Signatures of packets: their types, what is said of them, and what makes them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import NAME, Name, name_tlv, scan_name
from rumormill.ndn.wire.tlv import number_tlv, read_head, read_number, skip, tlv


class SignatureType:
    """How a packet is signed."""

    DIGEST: Final = 0
    """A plain SHA-256: tells damage, and nothing of who made the packet."""
    RSA: Final = 1
    ECDSA: Final = 3
    HMAC: Final = 4
    ED25519: Final = 5


SIGNATURE_INFO: Final = 0x16
SIGNATURE_VALUE: Final = 0x17
INTEREST_SIGNATURE_INFO: Final = 0x2C
INTEREST_SIGNATURE_VALUE: Final = 0x2E
"""Elements around what this module reads and writes, in Data and in Interests."""

_TYPE: Final = 0x1B
_KEY_LOCATOR: Final = 0x1C
_KEY_DIGEST: Final = 0x1D
_NONCE: Final = 0x26
_TIME: Final = 0x28
_SEQ: Final = 0x2A
_VALIDITY: Final = 0xFD
"""In certificates: from when until when."""


class Signer(Protocol):
    """Whatever signs packets; those that there are live in the room ``security``."""

    @property
    def type(self) -> int:
        """One of :class:`SignatureType`."""
        ...

    @property
    def key_name(self) -> Name | None:
        """Where to find the key, for who checks; None for a digest."""
        ...

    def sign(self, covered: bytes) -> bytes:
        """The signature of these bytes."""
        ...


class _Fields(NamedTuple):
    type: int
    key_name: Name | None
    key_digest: bytes | None
    value: bytes
    packet: bytes
    """Where to find what is signed: at ``spans``, beginnings and ends in turn."""
    spans: tuple[int, ...]
    nonce: bytes | None = None
    time: int | None = None
    seq: int | None = None


class Signature(_Fields):
    """What a packet says of its signature; whether it is right is checked elsewhere.

    >>> signature = Signature(SignatureType.DIGEST, None, None, bytes(32), covered=b"signed")
    >>> signature.covered
    b'signed'
    """

    __slots__ = ()

    def __new__(
        cls,
        type: int,
        key_name: Name | None,
        key_digest: bytes | None,
        value: bytes,
        covered: bytes,
        nonce: bytes | None = None,
        time: int | None = None,
        seq: int | None = None,
    ) -> Signature:
        """A signature of these bytes."""
        whole = (0, len(covered))
        return tuple.__new__(
            cls, (type, key_name, key_digest, value, covered, whole, nonce, time, seq)
        )

    @property
    def covered(self) -> bytes:
        """What is signed, put together. Made when it is asked for: most packets only pass by."""
        packet, spans = self.packet, self.spans
        if len(spans) == 2:
            return packet[spans[0] : spans[1]]
        return b"".join(
            [packet[spans[place] : spans[place + 1]] for place in range(0, len(spans), 2)]
        )

    def _said(self) -> tuple[object, ...]:
        type, key_name, key_digest, value, _, _, nonce, time, seq = self
        return type, key_name, key_digest, value, self.covered, nonce, time, seq

    def __eq__(self, other: object) -> bool:
        """The same is said, wherever it lies."""
        if not isinstance(other, Signature):
            return NotImplemented
        return self._said() == other._said()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._said())

    def __getnewargs__(self) -> tuple[object, ...]:
        return self._said()


class SignatureInfo(NamedTuple):
    """What a SignatureInfo element says."""

    type: int
    key_name: Name | None = None
    key_digest: bytes | None = None
    nonce: bytes | None = None
    time: int | None = None
    seq: int | None = None


@lru_cache(64)
def plain_info(element: int, type: int, key_name: Name | None) -> bytes:
    """The SignatureInfo of a signer, the same each time; ``element`` is its type.

    >>> plain_info(SIGNATURE_INFO, SignatureType.DIGEST, None).hex()
    '16031b0100'
    """
    return info_tlv(element, SignatureInfo(type, key_name))


def info_tlv(element: int, info: SignatureInfo) -> bytes:
    """A SignatureInfo; ``element`` is its type, which is another in Data than in Interests.

    >>> info_tlv(INTEREST_SIGNATURE_INFO, SignatureInfo(0, nonce=bytes(8))).hex()
    '2c0d1b010026080000000000000000'
    """
    type, key_name, key_digest, nonce, time, seq = info
    value = number_tlv(_TYPE, type)
    if key_name is not None:
        value += tlv(_KEY_LOCATOR, name_tlv(key_name))
    elif key_digest is not None:
        value += tlv(_KEY_LOCATOR, tlv(_KEY_DIGEST, key_digest))
    if nonce is not None:
        value += tlv(_NONCE, nonce)
    if time is not None:
        value += number_tlv(_TIME, time)
    if seq is not None:
        value += number_tlv(_SEQ, seq)
    return tlv(element, value)


_ORDER: Final = {_TYPE: 1, _KEY_LOCATOR: 2, _NONCE: 3, _TIME: 4, _SEQ: 5, _VALIDITY: 6}


def read_info(data: bytes, at: int, end: int) -> SignatureInfo:
    """Read the value of a SignatureInfo between two places of a packet."""
    type = seq = time = None
    key_name = key_digest = nonce = None
    last = 0
    while at < end:
        kind, start, at = read_head(data, at, end)
        place = _ORDER.get(kind, 0)
        if place <= last:  # unknown, or it comes too late
            skip(kind, "SignatureInfo")
            continue
        last = place
        if kind == _TYPE:
            type = read_number(data[start:at])
        elif kind == _KEY_LOCATOR:
            key_name, key_digest = _read_key_locator(data, start, at)
        elif kind == _NONCE:
            nonce = data[start:at]
        elif kind == _TIME:
            time = read_number(data[start:at])
        elif kind == _SEQ:
            seq = read_number(data[start:at])
    if type is None:
        raise RemoteProtocolError("bad_signature", "it has no type")
    return SignatureInfo(type, key_name, key_digest, nonce, time, seq)


def _read_key_locator(data: bytes, at: int, end: int) -> tuple[Name | None, bytes | None]:
    """A name, or a digest of the key, or neither."""
    key_name = key_digest = None
    while at < end:
        kind, start, at = read_head(data, at, end)
        if kind == NAME and key_name is None and key_digest is None:
            scan_name(data, start, at)
            key_name = data[start:at]
        elif kind == _KEY_DIGEST and key_name is None and key_digest is None:
            key_digest = data[start:at]
        else:
            skip(kind, "KeyLocator")
    return key_name, key_digest
