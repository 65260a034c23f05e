"""Keys: the vectors of the peer id specification, peers of ours in Go, and hostile input."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import protobuf as wire
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack import keys
from rumormill.libp2p.stack.keys import (
    KeyType,
    PrivateKey,
    PublicKey,
    inline_public_key,
    sender_public_key,
)
from rumormill.libp2p.stack.peer_id import peer_id_of, to_text

pytestmark = pytest.mark.usefixtures("ed25519_route")

# Test vectors of the libp2p peer id specification.
ED25519_PRIVATE = bytes.fromhex(
    "080112407e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d"
    "1ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e"
)
ED25519_PUBLIC = bytes.fromhex(
    "080112201ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e"
)
SECP256K1_PRIVATE = bytes.fromhex(
    "0802122053dadf1d5a164d6b4acdb15e24aa4c5b1d3461bdbd42abedb0a4404d56ced8fb"
)
SECP256K1_PUBLIC = bytes.fromhex(
    "08021221037777e994e452c21604f91de093ce415f5432f701dd8cd1a7a6fea0e630bfca99"
)
ECDSA_PRIVATE = bytes.fromhex(
    "08031279307702010104203e5b1fe9712e6c314942a750bd67485de3c1efe85b1bfb520ae8f9ae3dfa4a4c"
    "a00a06082a8648ce3d030107a14403420004de3d300fa36ae0e8f5d530899d83abab44abf3161f162a4bc9"
    "01d8e6ecda020e8b6d5f8da30525e71d6851510c098e5c47c646a597fb4dcec034e9f77c409e62"
)
ECDSA_PUBLIC = bytes.fromhex(
    "0803125b3059301306072a8648ce3d020106082a8648ce3d03010703420004de3d300fa36ae0e8f5d53089"
    "9d83abab44abf3161f162a4bc901d8e6ecda020e8b6d5f8da30525e71d6851510c098e5c47c646a597fb4d"
    "cec034e9f77c409e62"
)
RSA_PUBLIC = bytes.fromhex(
    "080012a60430820222300d06092a864886f70d01010105000382020f003082020a0282020100e1beab071d"
    "08200bde24eef00d049449b07770ff9910257b2d7d5dda242ce8f0e2f12e1af4b32d9efd2c090f66b0f299"
    "86dbb645dae9880089704a94e5066d594162ae6ee8892e6ec70701db0a6c445c04778eb3de1293aa1a23c3"
    "825b85c6620a2bc3f82f9b0c309bc0ab3aeb1873282bebd3da03c33e76c21e9beb172fd44c9e43be32e2c9"
    "9827033cf8d0f0c606f4579326c930eb4e854395ad941256542c793902185153c474bed109d6ff5141ebf9"
    "cd256cf58893a37f83729f97e7cb435ec679d2e33901d27bb35aa0d7e20561da08885ef0abbf8e2fb48d6a"
    "5487047a9ecb1ad41fa7ed84f6e3e8ecd5d98b3982d2a901b4454991766da295ab78822add5612a2df83bc"
    "ee814cf50973e80d7ef38111b1bd87da2ae92438a2c8cbcc70b31ee319939a3b9c761dbc13b5c086d6b64b"
    "f7ae7dacc14622375d92a8ff9af7eb962162bbddebf90acb32adb5e4e4029f1c96019949ecfbfeffd7ac1e"
    "3fbcc6b6168c34be3d5a2e5999fcbb39bba7adbca78eab09b9bc39f7fa4b93411f4cc175e70c0a083e96bf"
    "aefb04a9580b4753c1738a6a760ae1afd851a1a4bdad231cf56e9284d832483df215a46c1c21bdf0c6cfe9"
    "51c18f1ee4078c79c13d63edb6e14feaeffabc90ad317e4875fe648101b0864097e998f0ca3025ef9638cd"
    "2b0caecd3770ab54a1d9c6ca959b0f5dcbc90caeefc4135baca6fd475224269bbe1b0203010001"
)

# The seed is the SHA-256 of the phrase; the id is what go-libp2p made of that key.
GO_PEERS = [
    (
        "rumormill wire go node",
        "0024080112205f71689232a1a17d838d705c986f79a90bbf6f90ed29ff26668fa4549e574fdf",
    ),
    (
        "rumormill wire probe B",
        "0024080112205f3c23ee2a1a4c0ae16dbe2ec35fac57cfc6727f6496bc9be30734b6ab5d9551",
    ),
    (
        "rumormill wire probe C",
        "002408011220bd547b882393987c082fb895b21388facdef4ca79fa59383fe27caea4bac8249",
    ),
    (
        "rumormill wire probe D",
        "0024080112207893253cf6cbe67c4b89ddb388bcf9a5f0e8a5a6e88a9558eeecda030feb0c83",
    ),
]

PAYLOAD = b"libp2p-pubsub:" + bytes(range(256))
VECTORS = [ED25519_PUBLIC, SECP256K1_PUBLIC, ECDSA_PUBLIC, RSA_PUBLIC]
ECDSA_SHA256 = ec.ECDSA(hashes.SHA256())


def protobuf(kind: int, data: bytes) -> bytes:
    return wire.varint_field(1, kind) + wire.bytes_field(2, data)


def key_info(private: Any) -> bytes:
    raw: bytes = private.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return raw


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def assert_verifies(key: PublicKey, signature: bytes) -> None:
    """The signature passes, and nothing near it does."""
    assert key.verify(signature, PAYLOAD)
    assert not key.verify(signature, PAYLOAD + b"!")
    assert not key.verify(signature, PAYLOAD[:-1])
    assert not key.verify(signature[:-1], PAYLOAD)
    assert not key.verify(signature + b"\0", PAYLOAD)
    assert not key.verify(b"", PAYLOAD)
    for place in range(0, len(signature), 7):
        forged = bytearray(signature)
        forged[place] ^= 0x40
        assert not key.verify(bytes(forged), PAYLOAD)


# ---- vectors


@pytest.mark.parametrize("raw", VECTORS)
def test_the_public_keys_of_the_specification_are_read_and_written_again(raw: bytes) -> None:
    key = PublicKey.from_protobuf(raw)
    assert key.to_protobuf() == raw
    assert key.type == raw[1]
    assert key.peer_id == peer_id_of(raw)
    assert key.peer == to_text(key.peer_id)
    assert key == PublicKey.from_protobuf(raw)
    assert hash(key) == hash(PublicKey.from_protobuf(raw))
    assert repr(key) == f"PublicKey({key.type.name}, {key.peer})"


def test_keys_that_differ_are_not_equal() -> None:
    assert len({PublicKey.from_protobuf(raw) for raw in VECTORS}) == len(VECTORS)
    assert PublicKey.from_protobuf(ED25519_PUBLIC) != ED25519_PUBLIC


def test_the_ed25519_private_key_of_the_specification_has_its_public_key() -> None:
    private = PrivateKey.from_protobuf(ED25519_PRIVATE)
    assert private.public_key.to_protobuf() == ED25519_PUBLIC
    assert private.to_protobuf() == ED25519_PRIVATE
    assert private.peer_id == peer_id_of(ED25519_PUBLIC)
    assert_verifies(private.public_key, private.sign(PAYLOAD))


def test_signatures_of_the_secp256k1_key_of_the_specification_verify() -> None:
    private = ec.derive_private_key(int.from_bytes(SECP256K1_PRIVATE[4:], "big"), ec.SECP256K1())
    key = PublicKey.from_protobuf(SECP256K1_PUBLIC)
    assert_verifies(key, private.sign(PAYLOAD, ECDSA_SHA256))


def test_signatures_of_the_ecdsa_key_of_the_specification_verify() -> None:
    private = serialization.load_der_private_key(ECDSA_PRIVATE[4:], None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    key = PublicKey.from_protobuf(ECDSA_PUBLIC)
    assert key.data == key_info(private)
    assert_verifies(key, private.sign(PAYLOAD, ECDSA_SHA256))


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_ecdsa_keys_on_the_nist_curves_verify(curve: ec.EllipticCurve) -> None:
    private = ec.generate_private_key(curve)
    key = PublicKey.from_protobuf(protobuf(KeyType.ECDSA, key_info(private)))
    assert_verifies(key, private.sign(PAYLOAD, ECDSA_SHA256))


def test_rsa_signatures_verify(rsa_key: rsa.RSAPrivateKey) -> None:
    key = PublicKey.from_protobuf(protobuf(KeyType.RSA, key_info(rsa_key)))
    assert_verifies(key, rsa_key.sign(PAYLOAD, padding.PKCS1v15(), hashes.SHA256()))
    # The other padding, and the other hash, are other signatures.
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
    assert not key.verify(rsa_key.sign(PAYLOAD, pss, hashes.SHA256()), PAYLOAD)
    assert not key.verify(rsa_key.sign(PAYLOAD, padding.PKCS1v15(), hashes.SHA512()), PAYLOAD)


@pytest.mark.parametrize(("phrase", "peer_id"), GO_PEERS)
def test_a_seed_gives_the_peer_id_that_go_gives_it(phrase: str, peer_id: str) -> None:
    private = PrivateKey.from_seed(hashlib.sha256(phrase.encode()).digest())
    assert private.peer_id.hex() == peer_id


def test_an_ed25519_signature_of_rfc_8032_verifies() -> None:
    # RFC 8032, section 7.1, test 3.
    key = PublicKey(
        KeyType.ED25519,
        bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"),
    )
    signature = bytes.fromhex(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    assert key.verify(signature, b"\xaf\x82")


# ---- verify never raises


@pytest.mark.parametrize("raw", VECTORS)
@given(signature=st.binary(max_size=600), payload=st.binary(max_size=100))
def test_arbitrary_signatures_are_wrong_and_raise_nothing(
    raw: bytes, signature: bytes, payload: bytes
) -> None:
    assert PublicKey.from_protobuf(raw).verify(signature, payload) is False


@pytest.mark.parametrize("raw", VECTORS)
@pytest.mark.parametrize("nonsense", [None, 7, "text", memoryview(bytes(64))])
def test_what_is_not_even_bytes_raises_nothing(raw: bytes, nonsense: Any) -> None:
    key = PublicKey.from_protobuf(raw)
    assert key.verify(nonsense, PAYLOAD) is False
    assert key.verify(bytes(64), nonsense) is False


def test_a_short_signature_cannot_borrow_its_last_bytes_from_the_payload() -> None:
    private = PrivateKey.from_seed(bytes(32))
    signature = private.sign(PAYLOAD)
    assert not private.public_key.verify(signature[:63], signature[63:] + PAYLOAD)
    assert not private.public_key.verify(signature + PAYLOAD[:1], PAYLOAD[1:])


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31), b"\xff" * 32])
def test_points_of_small_order_and_no_points_verify_nothing(point: bytes) -> None:
    key = PublicKey(KeyType.ED25519, point)
    for r in (bytes(32), b"\x01" + bytes(31), point):
        assert not key.verify(r + bytes(32), PAYLOAD)


# ---- keys that are none


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_key_or_a_remote_protocol_error(raw: bytes) -> None:
    try:
        assert PublicKey.from_protobuf(raw).to_protobuf() == raw
    except RemoteProtocolError as error:
        assert error.reason == "bad_key"


@given(st.sampled_from(list(KeyType)), st.binary(max_size=200))
def test_arbitrary_data_is_a_key_or_a_remote_protocol_error(kind: KeyType, data: bytes) -> None:
    try:
        assert PublicKey(kind, data).data == data
    except RemoteProtocolError as error:
        assert error.reason == "bad_key"


@given(st.sampled_from(VECTORS), st.integers(0), st.integers(0, 255))
def test_a_damaged_key_is_another_one_or_a_remote_protocol_error(
    raw: bytes, place: int, byte: int
) -> None:
    damaged = bytearray(raw)
    damaged[place % len(raw)] = byte
    try:
        assert PublicKey.from_protobuf(bytes(damaged)).to_protobuf() == damaged
    except RemoteProtocolError as error:
        assert error.reason == "bad_key"


def refused(raw: bytes) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        PublicKey.from_protobuf(raw)
    assert caught.value.reason == "bad_key"
    return caught.value.detail


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "without type"),
        (b"\x08\x01", "without data"),
        (ED25519_PUBLIC[2:], "without type"),
        (protobuf(4, bytes(32)), "4 is not a valid KeyType"),
        (protobuf(1, bytes(31)), "31 bytes instead of 32"),
        (protobuf(1, bytes(33)), "33 bytes instead of 32"),
        (protobuf(2, bytes(33)), "SECP256K1"),
        (protobuf(2, SECP256K1_PUBLIC[5:]), "32 bytes instead of 33"),
        (protobuf(0, ECDSA_PUBLIC[4:]), "not an RSA key"),
        (protobuf(3, RSA_PUBLIC[5:]), "not a key on"),
        (protobuf(0, bytes(5000)), "2048 allowed"),
        (ED25519_PUBLIC[:-1], "cut short"),
    ],
)
def test_what_is_wrong_with_a_key_is_said(raw: bytes, problem: str) -> None:
    assert problem in refused(raw)


def test_other_encodings_of_a_key_are_refused_as_they_would_be_other_peers() -> None:
    kind, data = ED25519_PUBLIC[:2], ED25519_PUBLIC[2:]
    for raw in (
        data + kind,
        kind + kind + data,
        kind + data + b"\x18\x00",
        b"\x08\x81\x00" + data,
        b"\x08\x01\x12\xa0\x00" + data[2:],
    ):
        assert "one encoding" in refused(raw)


def test_der_with_something_behind_it_is_refused() -> None:
    refused(protobuf(KeyType.ECDSA, ECDSA_PUBLIC[4:] + b"\0"))
    refused(protobuf(KeyType.RSA, RSA_PUBLIC[5:] + b"\0"))


def test_an_rsa_key_in_its_older_form_is_refused(rsa_key: rsa.RSAPrivateKey) -> None:
    older = rsa_key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.PKCS1
    )
    refused(protobuf(KeyType.RSA, older))


def test_an_ecdsa_key_with_a_compressed_point_is_refused() -> None:
    point = ECDSA_PUBLIC[-64:]
    compressed = bytes((2 + point[-1] % 2,)) + point[:32]
    header = bytes.fromhex("3039301306072a8648ce3d020106082a8648ce3d030107032200")
    refused(protobuf(KeyType.ECDSA, header + compressed))


@pytest.mark.parametrize("curve", [ec.SECP256K1(), ec.SECP224R1(), ec.BrainpoolP256R1()])
def test_other_curves_are_refused(curve: ec.EllipticCurve) -> None:
    assert "not a key on" in refused(
        protobuf(KeyType.ECDSA, key_info(ec.generate_private_key(curve)))
    )


def rsa_protobuf(bits: int, exponent: int = 65537) -> bytes:
    """A modulus of that size; nobody knows its factors, and nobody needs to."""
    modulus = (1 << (bits - 1)) + 12345
    public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    return protobuf(
        KeyType.RSA,
        public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )


@pytest.mark.parametrize("bits", [2048, 8192])
def test_rsa_keys_of_2048_to_8192_bits_are_taken(bits: int) -> None:
    raw = rsa_protobuf(bits)
    assert PublicKey.from_protobuf(raw).type is KeyType.RSA
    assert len(raw) < keys.LARGEST_KEY


@pytest.mark.parametrize("bits", [1024, 2047, 8193, 12_000])
def test_rsa_keys_of_other_sizes_are_refused(bits: int) -> None:
    assert f"{bits} bits" in refused(rsa_protobuf(bits))


def test_an_rsa_key_that_makes_checking_dear_is_refused() -> None:
    assert PublicKey.from_protobuf(rsa_protobuf(2048, (1 << 31) - 1)).type is KeyType.RSA
    assert "exponent" in refused(rsa_protobuf(2048, (1 << 31) + 1))
    assert "exponent" in refused(rsa_protobuf(2048, (1 << 2000) + 1))


# ---- our own key


def test_a_generated_key_depends_on_the_entropy_alone() -> None:
    first = PrivateKey.generate(random.Random(1))
    assert first.to_protobuf() == PrivateKey.generate(random.Random(1)).to_protobuf()
    assert first.peer_id != PrivateKey.generate(random.Random(2)).peer_id
    assert PrivateKey.generate(random.SystemRandom()).peer != first.peer


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_a_key_comes_back_and_its_signatures_verify(seed: bytes, payload: bytes) -> None:
    key = PrivateKey.from_seed(seed)
    assert PrivateKey.from_protobuf(key.to_protobuf()).public_key == key.public_key
    assert PublicKey.from_protobuf(key.public_key.to_protobuf()) == key.public_key
    signature = key.sign(payload)
    assert len(signature) == keys.SIGNATURE_SIZE
    assert key.public_key.verify(signature, payload)


def test_the_secret_does_not_show_where_a_key_is_printed() -> None:
    key = PrivateKey.from_seed(b"s" * 32)
    assert repr(key) == f"PrivateKey({key.peer})"


def test_the_longer_form_of_old_programs_is_read() -> None:
    data = ED25519_PRIVATE[4:]
    assert PrivateKey.from_protobuf(protobuf(1, data + data[32:])).peer_id == peer_id_of(
        ED25519_PUBLIC
    )
    with pytest.raises(LocalProtocolError):
        PrivateKey.from_protobuf(protobuf(1, data + bytes(32)))


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "not a private key"),
        (b"garbage", "not a private key"),
        (SECP256K1_PRIVATE, "must be ED25519"),
        (protobuf(1, bytes(32)), "32 bytes instead of 64"),
        (protobuf(1, bytes(64)), "do not belong together"),
        (ED25519_PRIVATE[:-1], "cut short"),
    ],
)
def test_what_is_no_private_key_is_refused_with_a_sentence(raw: bytes, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        PrivateKey.from_protobuf(raw)


def test_a_seed_of_another_size_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="32 bytes, not 31"):
        PrivateKey.from_seed(bytes(31))


# ---- from a peer id to its key


def test_a_short_key_is_found_in_the_peer_id_and_a_long_one_is_not() -> None:
    for raw in (ED25519_PUBLIC, SECP256K1_PUBLIC):
        assert inline_public_key(peer_id_of(raw)) == PublicKey.from_protobuf(raw)
    for raw in (ECDSA_PUBLIC, RSA_PUBLIC):
        assert inline_public_key(peer_id_of(raw)) is None


@given(st.binary(max_size=60))
def test_arbitrary_bytes_hold_a_key_or_raise_a_remote_protocol_error(raw: bytes) -> None:
    try:
        key = inline_public_key(raw)
    except RemoteProtocolError as error:
        assert error.reason in ("bad_peer_id", "bad_key")
    else:
        assert key is None or key.peer_id == raw


@pytest.mark.parametrize("raw", VECTORS)
def test_an_author_is_found_by_the_key_that_was_sent(raw: bytes) -> None:
    key = sender_public_key(peer_id_of(raw), raw)
    assert key == PublicKey.from_protobuf(raw)
    assert sender_public_key(peer_id_of(raw), raw) is key


def test_an_author_whose_id_holds_the_key_needs_to_send_none() -> None:
    key = sender_public_key(peer_id_of(ED25519_PUBLIC))
    assert key == PublicKey.from_protobuf(ED25519_PUBLIC)
    assert sender_public_key(bytes(bytearray(peer_id_of(ED25519_PUBLIC)))) is key


def test_a_hashed_author_must_send_the_key_each_time() -> None:
    author = peer_id_of(RSA_PUBLIC)
    assert sender_public_key(author) is None
    assert sender_public_key(author, RSA_PUBLIC) is not None
    assert sender_public_key(author) is None


@pytest.mark.parametrize("author", VECTORS)
@pytest.mark.parametrize("sent", [*VECTORS, b"", b"garbage"])
def test_a_key_that_is_not_the_authors_is_no_key(author: bytes, sent: bytes) -> None:
    found = sender_public_key(peer_id_of(author), sent)
    assert (found is not None) == (author == sent)


@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_arbitrary_authors_and_keys_raise_nothing(author: bytes, sent: bytes | None) -> None:
    key = sender_public_key(author, sent)
    assert key is None or key.peer_id == author


def test_what_is_kept_of_authors_is_bounded() -> None:
    cache = keys._known_key
    cache.cache_clear()
    huge = bytes(1_000_000)
    assert sender_public_key(huge) is None
    assert sender_public_key(peer_id_of(ED25519_PUBLIC), huge) is None
    assert cache.cache_info().currsize == 0
    for number in range(keys.KNOWN_KEYS + 10):
        assert sender_public_key(peer_id_of(protobuf(1, number.to_bytes(32, "big"))))
    assert cache.cache_info().currsize == keys.KNOWN_KEYS
    cache.cache_clear()
