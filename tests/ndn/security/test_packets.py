"""Whole packets: signed here and verified by python-ndn, and the other way round."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from ndn.encoding import InterestParam, make_data, make_interest, parse_data, parse_interest
from ndn.security.signer import DigestSha256Signer, HmacSha256Signer, Sha256WithEcdsaSigner
from ndn.security.signer import Ed25519Signer as TheirEd25519
from ndn.security.validator import digest_validator
from ndn.security.validator import known_key_validator as theirs

from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.data import decode_data, encode_data
from rumormill.ndn.wire.interest import decode_interest, encode_interest
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.signature import Signer

TOPIC = name_from_uri("/weather")
KINDS = ["digest", "ed25519", "ecdsa", "hmac"]
ED25519_PREFIX = b'0.\x02\x01\x000\x05\x06\x03+ep\x04"\x04 '


def key_of(kind: str) -> PrivateKey:
    return PrivateKey.generate(Random(9), name_from_uri("/alice"), kind)


def our_signer(kind: str) -> Signer:
    return DigestSigner() if kind == "digest" else key_of(kind).signer


def our_trust(kind: str) -> Trust:
    return Trust.open() if kind == "digest" else Trust({TOPIC: [key_of(kind).public_key]})


def their_signer(kind: str, below: str = "") -> Any:
    if kind == "digest":
        return DigestSha256Signer()
    key = key_of(kind)
    locator = key.uri + below
    secret = bytes.fromhex(key.to_json()["secret"])
    if kind == "ed25519":
        return TheirEd25519(locator, ED25519_PREFIX + secret)
    if kind == "ecdsa":
        private = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())
        der = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        return Sha256WithEcdsaSigner(locator, der)
    return HmacSha256Signer(locator, secret)


def their_validator(kind: str) -> Any:
    if kind == "digest":
        return digest_validator.sha256_digest_checker
    key = key_of(kind)
    if kind == "hmac":
        return theirs.HmacChecker.from_key(key.uri, bytes.fromhex(key.to_json()["secret"]))
    checker = theirs.EccChecker if kind == "ecdsa" else theirs.Ed25519Checker
    return checker.from_key(key.uri, key.public_key.spki)


@pytest.mark.parametrize("kind", KINDS)
def test_python_ndn_verifies_our_data_and_interests(kind: str) -> None:
    name = name_from_uri("/alice/msg/weather/1")
    data = encode_data(name, b"rain", our_signer(kind))
    interest = encode_interest(TOPIC, nonce=b"1234", parameters=b"", signer=our_signer(kind))
    for parse, raw in ((parse_data, data.raw), (parse_interest, interest.raw)):
        their_name, *_, pointers = parse(raw)
        assert asyncio.run(their_validator(kind)(their_name, pointers))
        pointers.signature_covered_part.append(b"!")
        assert not asyncio.run(their_validator(kind)(their_name, pointers))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("below", ["", "/self/v=1"])
def test_we_verify_data_and_interests_of_python_ndn(kind: str, below: str) -> None:
    signer = their_signer(kind, below)
    data = decode_data(bytes(make_data("/alice/msg/weather/1", None, b"rain", signer)))
    made = make_interest("/weather", InterestParam(nonce=1), b"parameters", signer)
    signature = decode_interest(bytes(made)).signature
    assert signature is not None
    trust = our_trust(kind)
    assert trust.verdict(TOPIC, data.signature)
    assert trust.verdict(TOPIC, signature)
    assert not trust.verdict(TOPIC, data.signature._replace(value=signature.value))


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_packet_is_refused(kind: str) -> None:
    raw = bytearray(encode_data(name_from_uri("/a"), b"rain", our_signer(kind)).raw)
    raw[raw.index(b"rain")] ^= 1
    assert not our_trust(kind).verdict(TOPIC, decode_data(bytes(raw)).signature)
