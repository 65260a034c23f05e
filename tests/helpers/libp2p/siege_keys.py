"""Signatures that cost their maker next to nothing, and whoever checks them the full price.

An attacker need not keep its key secret: it uses one nonce for all signatures, so that a valid one
takes a hash and a multiplication instead of a walk along the curve. And whoever forges RSA needs
no key at all, only a large odd number.
"""

from __future__ import annotations

import functools
import hashlib
import random

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from nacl.bindings import crypto_scalarmult_ed25519_base_noclamp, crypto_sign_seed_keypair

from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.stack.keys import LARGEST_RSA, LARGEST_RSA_EXPONENT, KeyType
from rumormill.libp2p.stack.peer_id import peer_id_of
from tests.helpers.libp2p.siege_payloads import Signer

ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493
P384_ORDER = int(
    "ffffffffffffffffffffffffffffffffffffffffffffffff"
    "c7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    16,
)


def ed25519_signer(seed: bytes) -> Signer:
    """Ed25519, as nearly everybody has it."""
    public, _ = crypto_sign_seed_keypair(seed)
    half = bytearray(hashlib.sha512(seed).digest()[:32])
    half[0] &= 248
    half[31] = half[31] & 127 | 64
    secret = int.from_bytes(half, "little")
    nonce = int.from_bytes(hashlib.sha512(b"nonce" + seed).digest(), "little") % ED25519_ORDER
    point = crypto_scalarmult_ed25519_base_noclamp(nonce.to_bytes(32, "little"))
    head = point + public

    def sign(payload: bytes) -> bytes:
        challenge = int.from_bytes(hashlib.sha512(head + payload).digest(), "little")
        return point + ((nonce + challenge * secret) % ED25519_ORDER).to_bytes(32, "little")

    return Signer(peer_id_of(_protobuf(KeyType.ED25519, public)), b"", sign)


def p384_signer(seed: int) -> Signer:
    """ECDSA on P-384: valid, and forty times as dear to check as Ed25519."""
    chance = random.Random(seed)
    secret, nonce = (chance.randrange(1, P384_ORDER) for _ in range(2))
    curve = ec.SECP384R1()
    key = ec.derive_private_key(secret, curve).public_key()
    x = ec.derive_private_key(nonce, curve).public_key().public_numbers().x
    r, inverse = x % P384_ORDER, pow(nonce, -1, P384_ORDER)

    def sign(payload: bytes) -> bytes:
        digest = int.from_bytes(hashlib.sha256(payload).digest(), "big")
        return encode_dss_signature(r, inverse * (digest + r * secret) % P384_ORDER)

    return _with_key(KeyType.ECDSA, key, sign)


@functools.cache
def _large_odd_number(bits: int) -> int:
    number = random.Random(bits).getrandbits(bits)
    return number | 1 << bits - 1 | 1


def rsa_forger(number: int, bits: int = LARGEST_RSA) -> Signer:
    """RSA with the largest key and exponent that we read; what it says is a signature is none.

    Each number is another author.
    """
    modulus = _large_odd_number(bits) + 2 * number
    key = rsa.RSAPublicNumbers(LARGEST_RSA_EXPONENT, modulus).public_key()
    forged = random.Random(number).randbytes(bits // 8 - 1).rjust(bits // 8, b"\1")
    return _with_key(KeyType.RSA, key, lambda payload: forged)


def _with_key(
    kind: KeyType, key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey, sign: object
) -> Signer:
    info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    protobuf = _protobuf(kind, info)
    assert callable(sign)
    return Signer(peer_id_of(protobuf), protobuf, sign)


def _protobuf(kind: KeyType, data: bytes) -> bytes:
    return varint_field(1, kind) + bytes_field(2, data)
