"""Prices: what it costs to check a signature, known from the key before anything is computed."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.stack.keys import KeyType
from rumormill.libp2p.stack.peer_id import peer_id_of
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import decode_rpc
from tests.helpers.libp2p import siege_keys
from tests.helpers.libp2p.siege_payloads import Signer, message

POINT = b"\2" + bytes(32)
"""As long as a key of secp256k1."""


def said_by(signer: Signer) -> WireMessage:
    """A message as it comes from the wire."""
    frame = message(signer, 1, "t", b"data")
    (rpc,) = FrameReader(1 << 20).feed(frame)
    (found,) = decode_rpc(rpc).messages
    return found


def signer_of(kind: int, data: bytes, *, key: bool = True) -> Signer:
    protobuf = varint_field(1, kind) + bytes_field(2, data)
    return Signer(peer_id_of(protobuf), protobuf if key else b"", lambda payload: bytes(64))


def ecdsa(curve: ec.EllipticCurve) -> Signer:
    key = ec.derive_private_key(12345, curve).public_key()
    return signer_of(
        KeyType.ECDSA, key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    )


def rsa_of(bits: int) -> Signer:
    key = rsa.RSAPublicNumbers(65537, (1 << bits - 1) + 1).public_key()
    return signer_of(KeyType.RSA, key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


@pytest.mark.parametrize(
    ("signer", "price"),
    [
        (siege_keys.ed25519_signer(bytes(32)), prices.ED25519),
        (signer_of(KeyType.ED25519, bytes(32)), prices.ED25519),
        (signer_of(KeyType.SECP256K1, POINT, key=False), prices.SECP256K1),
        (signer_of(KeyType.SECP256K1, POINT), prices.SECP256K1),
        (ecdsa(ec.SECP256R1()), prices.ECDSA),
        (ecdsa(ec.SECP384R1()), prices.ECDSA_LARGER),
        (ecdsa(ec.SECP521R1()), prices.ECDSA_LARGER),
        (siege_keys.p384_signer(1), prices.ECDSA_LARGER),
    ],
    ids=["ed25519", "ed25519 with its key", "secp256k1", "secp256k1 with its key", "p256", "p384",
         "p521", "p384 of the siege"],
)  # fmt: skip
def test_the_price_of_a_signature_follows_from_the_kind_of_its_key(
    signer: Signer, price: float
) -> None:
    assert prices.signature(said_by(signer)) == price


def test_the_dearer_the_key_the_higher_the_price() -> None:
    p256, p384 = (prices.signature(said_by(ecdsa(each()))) for each in (ec.SECP256R1, ec.SECP384R1))
    assert prices.ED25519 < p256 < prices.SECP256K1 < prices.DEAR_SIGNATURE < p384


def test_the_price_of_rsa_grows_with_the_key() -> None:
    found = [prices.signature(said_by(rsa_of(bits))) for bits in (2048, 3072, 4096, 8192)]
    assert found == sorted(set(found))
    assert prices.ED25519 < found[0] < 0.35 * found[-1]
    # Who forges has the largest that is read, with the longest exponent.
    assert prices.signature(said_by(siege_keys.rsa_forger(1))) >= found[-1]


def test_what_nobody_signed_costs_no_signature() -> None:
    unsigned = said_by(siege_keys.ed25519_signer(bytes(32)))
    unsigned.signature = None
    assert prices.signature(unsigned) == 0.0


@pytest.mark.parametrize("key", [b"", b"\x08", b"\x08\x63", bytes(2000), b"\xff" * 5])
def test_a_key_that_is_none_has_a_price_too(key: bytes) -> None:
    strange = said_by(siege_keys.ed25519_signer(bytes(32)))
    strange.key = key
    assert prices.signature(strange) >= prices.ED25519
