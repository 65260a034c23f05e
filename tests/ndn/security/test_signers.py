"""Signatures against those of python-ndn, which is on another library: both ways, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from Cryptodome.PublicKey import ECC
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st
from ndn.security.signer import Ed25519Signer as TheirEd25519
from ndn.security.signer import HmacSha256Signer, Sha256WithEcdsaSigner, Sha256WithRsaSigner
from ndn.security.validator import known_key_validator as theirs

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.keys import EcdsaKey, Ed25519Key, HmacKey, PublicKey, public_key
from rumormill.ndn.security.signers import DigestSigner, EcdsaSigner, Ed25519Signer, HmacSigner
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.signature import SignatureType, Signer

NAME = name_from_uri("/alice/KEY/1")
SECRET = Random(7).randbytes(32)
ECDSA_KEY = ec.derive_private_key(int.from_bytes(SECRET, "big"), ec.SECP256R1())
COVERED = b"what is covered"

PRIVATE_DER = (Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
PUBLIC_DER = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
ED25519_PREFIX = b'0.\x02\x01\x000\x05\x06\x03+ep\x04"\x04 '
"""What PKCS8 has before the 32 bytes."""


def our_pair(kind: str) -> tuple[Signer, PublicKey]:
    if kind == "ed25519":
        signer = Ed25519Signer(SECRET, NAME)
        return signer, Ed25519Key(NAME, signer.public_key)
    if kind == "ecdsa":
        return EcdsaSigner(ECDSA_KEY, NAME), EcdsaKey(NAME, ECDSA_KEY.public_key())
    return HmacSigner(SECRET, NAME), HmacKey(NAME, SECRET)


def their_signer(kind: str) -> Any:
    if kind == "ed25519":
        return TheirEd25519("/alice/KEY/1", ED25519_PREFIX + SECRET)
    if kind == "ecdsa":
        return Sha256WithEcdsaSigner("/alice/KEY/1", ECDSA_KEY.private_bytes(*PRIVATE_DER))
    return HmacSha256Signer("/alice/KEY/1", SECRET)


def their_verdict(kind: str, covered: bytes, value: bytes) -> bool:
    pointers = SimpleNamespace(signature_covered_part=[covered], signature_value_buf=value)
    if kind == "hmac":
        return bool(theirs.verify_hmac(SECRET, pointers))
    key = ECC.import_key(our_pair(kind)[1].spki)
    verify: Callable[..., bool] = theirs.verify_ecdsa if kind == "ecdsa" else theirs.verify_ed25519
    return bool(verify(key, pointers))


def signed_by(signer: Any, covered: bytes) -> bytes:
    room = bytearray(signer.get_signature_value_size())
    size = signer.write_signature_value(memoryview(room), [covered])
    return bytes(room[:size])


KINDS = ["ed25519", "ecdsa", "hmac"]


@pytest.mark.parametrize("kind", KINDS)
@given(covered=st.binary(max_size=300))
def test_what_we_sign_python_ndn_verifies_and_the_other_way_round(
    kind: str, covered: bytes
) -> None:
    signer, key = our_pair(kind)
    value = signer.sign(covered)
    assert their_verdict(kind, covered, value)
    assert key.verify(covered, value)
    assert key.verify(covered, signed_by(their_signer(kind), covered))
    assert signer.type == key.signature_type
    assert signer.key_name == key.name == NAME


@pytest.mark.parametrize("kind", KINDS)
@given(value=st.binary(max_size=100))
def test_bytes_of_others_are_no_signature(kind: str, value: bytes) -> None:
    assert not our_pair(kind)[1].verify(COVERED, value)


@pytest.mark.parametrize("kind", KINDS)
@given(at=st.integers(0, 31), bit=st.integers(0, 7))
def test_a_changed_bit_is_noticed(kind: str, at: int, bit: int) -> None:
    signer, key = our_pair(kind)
    value = bytearray(signer.sign(COVERED))
    value[at] ^= 1 << bit
    assert not key.verify(COVERED, bytes(value))
    assert not key.verify(COVERED + b"!", signer.sign(COVERED))


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_is_the_same_each_time_so_that_what_is_sent_again_keeps_its_name(
    kind: str,
) -> None:
    signer, _ = our_pair(kind)
    assert signer.sign(COVERED) == signer.sign(COVERED)


def test_ed25519_and_hmac_give_the_bytes_that_python_ndn_gives() -> None:
    for kind in ("ed25519", "hmac"):
        assert our_pair(kind)[0].sign(COVERED) == signed_by(their_signer(kind), COVERED)


def test_a_digest_has_no_key() -> None:
    signer = DigestSigner()
    assert signer.type == SignatureType.DIGEST
    assert signer.key_name is None


def test_rsa_signatures_are_verified() -> None:
    private = rsa.generate_private_key(65537, 2048)
    key = public_key(NAME, private.public_key().public_bytes(*PUBLIC_DER))
    signer = Sha256WithRsaSigner("/alice/KEY/1", private.private_bytes(*PRIVATE_DER))
    value = signed_by(signer, COVERED)
    assert key.signature_type == SignatureType.RSA
    assert key.verify(COVERED, value)
    assert not key.verify(COVERED, value[:-1] + bytes([value[-1] ^ 1]))
    assert not key.verify(COVERED, b"")


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP521R1()])
def test_other_curves_of_the_specification_are_verified(curve: ec.EllipticCurve) -> None:
    private = ec.generate_private_key(curve)
    key = EcdsaKey(NAME, private.public_key())
    assert key.verify(COVERED, EcdsaSigner(private, NAME).sign(COVERED))


def test_an_ed25519_secret_of_another_length_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="32 bytes, not 31"):
        Ed25519Signer(bytes(31), NAME)


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_shown(kind: str) -> None:
    signer, key = our_pair(kind)
    assert SECRET.hex() not in repr(signer) + repr(key)
    assert str(SECRET) not in repr(signer) + repr(key)
