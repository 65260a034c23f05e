"""Keys of private topics: which are read, what is said of others, and what they sign."""

from __future__ import annotations

import hashlib

import pytest
from Crypto.Hash import keccak
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey, signed_by_any
from rumormill.core.errors import LocalProtocolError
from tests.helpers.bcos.topic_keys import (
    GO_EXAMPLE,
    GO_EXAMPLE_POINT,
    GO_PEM,
    GO_PEM_ADDRESS,
    GO_PEM_SECRET,
    GO_SECOND,
    GO_SECOND_POINT,
    JAVA_PUBLIC_ADDRESS,
    JAVA_PUBLIC_PEM,
    ORDER,
    SM2_PEM,
    SM2_PUBLIC_PEM,
    other_form,
)

KEY = ec.derive_private_key(0xC0FFEE, ec.SECP256K1())
OURS = TopicPrivateKey((0xC0FFEE).to_bytes(32, "big"))
PLAIN = NoEncryption()
SEC1 = PrivateFormat.TraditionalOpenSSL
PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBgUrgQQACg==\n-----END EC PARAMETERS-----\n"
PUBLIC_PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def address(key: TopicPublicKey) -> str:
    return keccak.new(data=key.point[1:], digest_bits=256).hexdigest()[-40:]


# ---- reading


def test_keys_of_other_sdks_are_read() -> None:
    private = TopicPrivateKey.from_pem(GO_PEM)
    assert private.public_key == TopicPrivateKey(bytes.fromhex(GO_PEM_SECRET)).public_key
    assert address(private.public_key) == GO_PEM_ADDRESS
    assert address(TopicPublicKey.from_pem(JAVA_PUBLIC_PEM)) == JAVA_PUBLIC_ADDRESS
    assert GO_EXAMPLE.public_key.point.hex() == "04" + GO_EXAMPLE_POINT
    assert GO_SECOND.public_key.point.hex() == "04" + GO_SECOND_POINT


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, SEC1])
@pytest.mark.parametrize("before", [b"", PARAMETERS, b"\n\n"])
@pytest.mark.parametrize("end_of_line", [b"\n", b"\r\n"])
def test_all_forms_of_a_key_are_read(
    form: PrivateFormat, before: bytes, end_of_line: bytes
) -> None:
    pem = before + KEY.private_bytes(Encoding.PEM, form, PLAIN)
    read = TopicPrivateKey.from_pem(pem.replace(b"\n", end_of_line))
    assert read.public_key == OURS.public_key
    assert read.sign(b"d" * 32) == OURS.sign(b"d" * 32)
    assert TopicPublicKey.from_pem(PUBLIC_PEM.replace(b"\n", end_of_line)) == OURS.public_key


P256 = ec.derive_private_key(7, ec.SECP256R1())
ED25519 = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
SECRET_PASSWORD = BestAvailableEncryption(b"secret")
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        (b"", "it is not PEM"),
        (b"0x1234", "it is not PEM"),
        (b"\x30\x82\x04" * 100, "it is not PEM"),
        (b"-----BEGIN " * 1000, "it is not PEM"),
        (PUBLIC_PEM, "it is a public key; a private one is needed here"),
        (SM2_PUBLIC_PEM, "it is a public key; a private one is needed here"),
        (CERTIFICATE, "its first line says CERTIFICATE; a private key is needed here"),
        (PARAMETERS, "its first line says EC PARAMETERS; a private key is needed here"),
        (KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, SECRET_PASSWORD), "it is encrypted"),
        (KEY.private_bytes(Encoding.PEM, SEC1, SECRET_PASSWORD), "it is encrypted"),
        (P256.private_bytes(Encoding.PEM, SEC1, PLAIN), "it is a key on secp256r1; only secp256k1"),
        (SM2_PEM, "it is a key on the curve of SM2; only secp256k1 is supported"),
        (ED25519.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN), "of another kind"),
        (GO_PEM[:-30], "it is damaged: no private key can be read from it"),
        (GO_PEM.replace(b"MIGEAg", b"MIGEAw"), "it is damaged"),
        (GO_PEM.replace(b"uJ1C", b"????"), "it is damaged"),
        (GO_PEM + b" " * 20_000, "bytes; a key in PEM is much shorter"),
    ],
)
def test_it_is_said_why_a_private_key_cannot_be_used(pem: bytes, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        TopicPrivateKey.from_pem(pem)


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        (b"", "it is not PEM"),
        (GO_PEM, "it is a private key; a public one is needed here"),
        (KEY.private_bytes(Encoding.PEM, SEC1, PLAIN), "it is a private key; a public one"),
        (CERTIFICATE, "its first line says CERTIFICATE; a public key is needed here"),
        (SM2_PUBLIC_PEM, "it is a key on the curve of SM2; only secp256k1 is supported"),
        (
            P256.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            "it is a key on secp256r1; only secp256k1 is supported",
        ),
        (
            ED25519.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            "it is a key of another kind",
        ),
        (JAVA_PUBLIC_PEM.replace(b"MFYw", b"MFUw"), "it is damaged: no public key can be read"),
        (JAVA_PUBLIC_PEM.replace(b"SrV5Q", b"SrV6Q"), "it is damaged"),  # not on the curve
    ],
)
def test_it_is_said_why_a_public_key_cannot_be_used(pem: bytes, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        TopicPublicKey.from_pem(pem)


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused_by_a_sentence(data: bytes) -> None:
    for pem in (data, GO_PEM[:60] + data + GO_PEM[-30:], GO_PEM[:28] + data + GO_PEM[-26:]):
        with pytest.raises(LocalProtocolError):
            TopicPublicKey.from_pem(pem)
        with pytest.raises(LocalProtocolError):
            TopicPrivateKey.from_pem(pem)


@pytest.mark.parametrize("secret", [b"", bytes(32), ORDER.to_bytes(32, "big"), b"\1" * 31])
def test_a_number_that_is_no_private_key_is_refused(secret: bytes) -> None:
    with pytest.raises(LocalProtocolError, match=r"private key"):
        TopicPrivateKey(secret)


@pytest.mark.parametrize("point", [b"", b"\4" + bytes(64), b"\2" * 32, bytes(65)])
def test_bytes_that_are_no_point_are_no_public_key(point: bytes) -> None:
    with pytest.raises(LocalProtocolError, match="no public key on secp256k1"):
        TopicPublicKey(point)


def test_a_private_key_is_not_shown() -> None:
    assert GO_PEM_SECRET[:8] not in repr(TopicPrivateKey.from_pem(GO_PEM))


# ---- signing, beside another library

DIGESTS = st.binary(min_size=32, max_size=32) | st.binary(min_size=20, max_size=20)


def signed_by_us(digest: bytes, signature: bytes) -> bool:
    assert not signed_by_any([GO_EXAMPLE.public_key], digest, signature)
    return signed_by_any([GO_EXAMPLE.public_key, OURS.public_key], digest, signature)


def other_library_verifies(digest: bytes, signature: bytes) -> bool:
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    algorithm = hashes.SHA256() if len(digest) == 32 else hashes.SHA1()
    try:
        KEY.public_key().verify(encode_dss_signature(r, s), digest, ec.ECDSA(Prehashed(algorithm)))
    except InvalidSignature:
        return False
    return True


@given(DIGESTS)
def test_what_we_sign_is_what_another_library_signs(digest: bytes) -> None:
    signature = OURS.sign(digest)
    assert signature == OURS.sign(digest), "the same input gives the same effects"
    assert len(signature) == 65 and signature[64] in (0, 1)
    assert signed_by_us(digest, signature[:64])
    assert other_library_verifies(digest, signature[:64])
    if len(digest) == 32:
        once_more = ec.ECDSA(Prehashed(hashes.SHA256()), deterministic_signing=True)
        r, s = decode_dss_signature(KEY.sign(digest, once_more))
        low = r.to_bytes(32, "big") + min(s, ORDER - s).to_bytes(32, "big")
        assert signature[:64] == low


@given(DIGESTS)
def test_both_forms_of_a_signature_are_good(digest: bytes) -> None:
    algorithm = hashes.SHA256() if len(digest) == 32 else hashes.SHA1()
    r, s = decode_dss_signature(KEY.sign(digest, ec.ECDSA(Prehashed(algorithm))))
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    for each in (signature, other_form(signature)):
        assert signed_by_us(digest, each)


@given(
    digest=st.binary(min_size=32, max_size=32),
    place=st.integers(0, 63),
    flip=st.integers(0, 255),
    high=st.booleans(),
)
def test_both_libraries_have_the_same_verdict(
    digest: bytes, place: int, flip: int, high: bool
) -> None:
    signature = bytearray(OURS.sign(digest)[:64])
    if high:
        signature = bytearray(other_form(bytes(signature)))
    signature[place] ^= flip
    verdict = signed_by_us(digest, bytes(signature))
    assert verdict == other_library_verifies(digest, bytes(signature)) == (flip == 0)


@pytest.mark.parametrize("r", [0, 1, ORDER - 1, ORDER, 2**256 - 1])
@pytest.mark.parametrize("s", [0, 1, ORDER - 1, ORDER, 2**256 - 1])
def test_numbers_at_the_edges_are_no_signature(r: int, s: int) -> None:
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    digest = hashlib.sha256(b"").digest()
    assert not signed_by_us(digest, signature)
    assert not other_library_verifies(digest, signature)


@pytest.mark.parametrize("size", [0, 32, 63, 65, 72])
def test_a_signature_of_another_length_is_none(size: int) -> None:
    signature = (OURS.sign(b"d" * 32) * 2)[:size]
    assert not signed_by_us(b"d" * 32, signature)
