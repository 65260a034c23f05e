"""Peer ids: the multihash of a public key, as bytes and as text.

A key whose protobuf is short (Ed25519, Secp256k1) stands in its peer id as it is; a longer one
(RSA, ECDSA) is hashed with SHA-256. Text is base58btc (``12D3KooW...``, ``Qm...``); a CID of
version 1 (``bafz...``, ``k51...``) is read too.
"""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict

from rumormill.core import base58
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

LONGEST_INLINE_KEY = 42
"""A public key of up to this many bytes stands in its peer id unhashed."""

LONGEST_PEER_ID = LONGEST_INLINE_KEY + 2
"""Bytes of a peer id: kind, length, and what the kind says."""

_IDENTITY = 0x00
_SHA2_256_PREFIX = b"\x12\x20"
_CID_OF_A_KEY = b"\x01\x72"  # CID version 1, content type libp2p-key
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def peer_id_of(public_key_protobuf: bytes) -> bytes:
    """The peer id that belongs to a public key in its protobuf form.

    >>> peer_id_of(bytes.fromhex("0801") + b"...").hex()
    '000508012e2e2e'
    """
    size = len(public_key_protobuf)
    if size <= LONGEST_INLINE_KEY:
        return bytes((_IDENTITY, size)) + public_key_protobuf
    return _SHA2_256_PREFIX + hashlib.sha256(public_key_protobuf).digest()


def check_peer_id(raw: bytes) -> bytes:
    """Return ``raw`` if it has the form of a peer id; whether a key is in it is not looked at."""
    size = len(raw)
    if size == 34 and raw[:2] == _SHA2_256_PREFIX:
        return raw
    if 3 <= size <= LONGEST_PEER_ID and raw[0] == _IDENTITY and raw[1] == size - 2:
        return raw
    raise RemoteProtocolError("bad_peer_id", f"{size} bytes, {bytes(raw[:16]).hex()}...")


def to_text(raw: bytes) -> str:
    """A peer id as base58btc text; :class:`RemoteProtocolError` if it is far too long for one.

    The form is not checked: see :func:`check_peer_id`, and :class:`PeerNames` for many.

    >>> to_text(bytes.fromhex("000508012e2e2e"))
    '13WKFPbjK'
    """
    try:
        return base58.encode(raw)
    except ValueError as error:
        raise RemoteProtocolError("bad_peer_id", str(error)) from None


def from_text(text: str) -> bytes:
    """The peer id that ``text`` stands for: base58btc, or a CID in base32 or base36.

    >>> from_text("bafzbeie5745rpv2m6tjyuugywy4d5ewrqgqqhfnf445he3omzpjbx5xqxe").hex()[:12]
    '12209dff3b17'
    """
    try:
        return check_peer_id(_read_text(text))
    except (ValueError, RemoteProtocolError) as error:
        raise LocalProtocolError(f"{text[:80]!r} is not a peer id: {error}") from None


def _read_text(text: str) -> bytes:
    if len(text) > base58.LONGEST_TEXT:
        raise ValueError(f"it has {len(text)} characters")
    # What is base58 begins with 1 (a key as it is) or Qm (a hash), so b and k are free for CIDs.
    if text.startswith("b"):
        raw = _from_base32(text[1:])
    elif text.startswith("k"):
        raw = _from_base36(text[1:])
    else:
        return base58.decode(text)
    if not raw.startswith(_CID_OF_A_KEY):
        raise ValueError("a CID, but not one of a libp2p key")
    return raw[len(_CID_OF_A_KEY) :]


def _from_base32(digits: str) -> bytes:
    """Lower-case RFC 4648 without padding; spare bits must be zero, so each id has one text."""
    padded = digits.upper() + "=" * (-len(digits) % 8)
    try:
        raw = base64.b32decode(padded)
    except ValueError:
        raise ValueError("it is not base32") from None
    if base64.b32encode(raw).decode("ascii").lower().rstrip("=") != digits:
        raise ValueError("it is not base32 of lower case without padding")
    return raw


def _from_base36(digits: str) -> bytes:
    """Each leading zero digit is a zero byte, as in base58."""
    if any(digit not in _BASE36 for digit in digits):
        raise ValueError("it is not base36 of lower case")
    number = int(digits, 36) if digits else 0
    zeros = len(digits) - len(digits.lstrip("0"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


class PeerNames:
    """The text of each peer id, worked out once: base58 costs more than the rest of a message.

    Holds at most ``most`` names and forgets the oldest first.

    >>> PeerNames().name(bytes.fromhex("000508012e2e2e"))
    '13WKFPbjK'
    """

    __slots__ = ("_most", "_names")

    def __init__(self, most: int = 16_384) -> None:
        self._most = most
        # Of an ordinary dict, the first entry is looked for behind all those that were forgotten.
        self._names: OrderedDict[bytes, str] = OrderedDict()

    def __len__(self) -> int:
        """How many names are held."""
        return len(self._names)

    def name(self, raw: bytes) -> str:
        """The text of ``raw``; :class:`RemoteProtocolError` if it is no peer id."""
        name = self._names.get(raw)
        if name is None:
            name = to_text(check_peer_id(raw))
            if len(self._names) >= self._most:
                self._names.popitem(last=False)
            self._names[raw] = name
        return name
