"""Who wrote a message: the two policies, and what a signature must cover."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.stack.keys import KeyType, PrivateKey, PublicKey
from rumormill.libp2p.wire.message import WireMessage, build_message, decode_message
from rumormill.libp2p.wire.signing import SigningPolicy, signed_message, verify, violation
from tests.helpers.libp2p.workbench import identity

pytestmark = pytest.mark.usefixtures("ed25519_route")

AUTHOR = identity("author")
OTHER = identity("other")
TOPICS = ("weather",)


def signed(data: bytes = b"rain", sequence: int = 7) -> WireMessage:
    return decode_message(signed_message(AUTHOR, data, TOPICS, sequence).raw)


def with_key(message: WireMessage, key: bytes) -> WireMessage:
    return decode_message(message.raw + bytes_field(6, key))


# ---- signing


def test_a_message_that_we_sign_verifies_after_the_wire() -> None:
    message = signed()
    assert verify(message)
    assert message.sender_id == AUTHOR.peer_id
    assert message.sequence == (7).to_bytes(8, "big")
    assert len(message.signature or b"") == 64


def test_our_own_key_is_left_out_because_the_author_holds_it() -> None:
    assert signed().key is None


@given(
    data=st.binary(max_size=300),
    topic=st.text(min_size=1, max_size=30),
    sequence=st.integers(0, (1 << 64) - 1),
)
def test_whatever_is_signed_verifies(data: bytes, topic: str, sequence: int) -> None:
    message = decode_message(signed_message(AUTHOR, data, (topic,), sequence).raw)
    assert verify(message)
    assert (message.data, message.topics) == (data, (topic,))


def test_a_signature_covers_every_topic_of_a_message_with_several() -> None:
    message = signed_message(AUTHOR, b"rain", ("north", "south"), 1)
    assert verify(decode_message(message.raw))
    forged = decode_message(message.raw.replace(b"south", b"wests"))
    assert forged.topics == ("north", "wests")
    assert not verify(forged)


# ---- verifying


@pytest.mark.parametrize("field", ["sender_id", "data", "sequence", "topic", "signature"])
def test_a_change_anywhere_breaks_the_signature(field: str) -> None:
    message = signed()
    part = TOPICS[0].encode() if field == "topic" else getattr(message, field)
    at = message.raw.index(part)
    raw = bytearray(message.raw)
    raw[at + len(part) // 2] ^= 1
    assert not verify(decode_message(bytes(raw)))


def test_an_unknown_field_is_covered_by_the_signature() -> None:
    message = build_message(data=b"d", topics=TOPICS, sender_id=AUTHOR.peer_id, sequence=bytes(8))
    message.raw += varint_field(9, 1)
    unsigned = decode_message(message.raw)
    signature = bytes_field(5, AUTHOR.sign(unsigned.signed_payload()))
    assert verify(decode_message(message.raw + signature))
    assert not verify(decode_message(message.raw.replace(b"\x48\x01", b"\x48\x02") + signature))
    assert not verify(decode_message(message.raw[:-2] + signature))


def test_fields_in_another_order_verify_as_if_they_stood_in_order() -> None:
    message = signed()
    assert message.signature is not None
    shuffled = (
        bytes_field(5, message.signature) + bytes_field(4, b"weather") + bytes_field(2, b"rain")
        + bytes_field(3, message.sequence or b"") + bytes_field(1, message.sender_id or b"")
    )  # fmt: skip
    assert verify(decode_message(shuffled))


def test_a_length_longer_than_it_must_be_does_not_change_what_was_signed() -> None:
    """A peer that re-encodes before it verifies, as go does, must come to the same verdict."""
    message = signed()
    padded = message.raw.replace(b"\x12\x04rain", b"\x12\x84\x00rain")
    assert padded != message.raw
    assert verify(decode_message(padded))
    over_the_padding = build_message(
        data=b"rain", topics=TOPICS, sender_id=AUTHOR.peer_id, sequence=bytes(8)
    ).raw.replace(b"\x12\x04rain", b"\x12\x84\x00rain")
    signature = AUTHOR.sign(b"libp2p-pubsub:" + over_the_padding)
    assert not verify(decode_message(over_the_padding + bytes_field(5, signature)))


def test_the_authors_own_key_may_be_sent_along() -> None:
    assert verify(with_key(signed(), AUTHOR.public_key.to_protobuf()))


@pytest.mark.parametrize("key", [b"", b"not a key", OTHER.public_key.to_protobuf()])
def test_a_key_that_is_not_bound_to_the_author_is_refused(key: bytes) -> None:
    assert not verify(with_key(signed(), key))


def test_another_key_that_signed_rightly_is_still_not_the_author() -> None:
    message = build_message(data=b"d", topics=TOPICS, sender_id=AUTHOR.peer_id, sequence=bytes(8))
    signature = OTHER.sign(message.signed_payload())
    raw = message.raw + bytes_field(5, signature) + bytes_field(6, OTHER.public_key.to_protobuf())
    assert not verify(decode_message(raw))


def test_without_author_or_signature_nothing_verifies() -> None:
    assert not verify(build_message(data=b"d", topics=TOPICS))
    assert not verify(build_message(data=b"d", topics=TOPICS, sender_id=AUTHOR.peer_id))
    empty_author = bytes_field(1, b"") + bytes_field(4, b"t") + bytes_field(5, bytes(64))
    assert not verify(decode_message(empty_author))


@given(
    sender_id=st.binary(max_size=60),
    signature=st.binary(max_size=80),
    key=st.none() | st.binary(max_size=60),
)
def test_hostile_authors_keys_and_signatures_never_raise(
    sender_id: bytes, signature: bytes, key: bytes | None
) -> None:
    raw = bytes_field(1, sender_id) + bytes_field(4, b"t") + bytes_field(5, signature)
    if key is not None:
        raw += bytes_field(6, key)
    assert not verify(decode_message(raw))


def test_authors_with_rsa_keys_send_them_along_and_verify() -> None:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    der = private.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    key = PublicKey(KeyType.RSA, der)
    message = build_message(data=b"d", topics=TOPICS, sender_id=key.peer_id, sequence=bytes(8))
    signature = private.sign(message.signed_payload(), padding.PKCS1v15(), hashes.SHA256())
    raw = message.raw + bytes_field(5, signature)
    assert verify(decode_message(raw + bytes_field(6, key.to_protobuf())))
    assert not verify(decode_message(raw)), "its id holds only a hash of the key"


def test_authors_with_secp256k1_keys_verify_with_the_key_in_their_id() -> None:
    private = ec.generate_private_key(ec.SECP256K1())
    point = private.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    )
    key = PublicKey(KeyType.SECP256K1, point)
    message = build_message(data=b"d", topics=TOPICS, sender_id=key.peer_id, sequence=bytes(8))
    signature = private.sign(message.signed_payload(), ec.ECDSA(hashes.SHA256()))
    assert verify(decode_message(message.raw + bytes_field(5, signature)))


# ---- the policies


def shape(*present: str) -> WireMessage:
    """An otherwise empty message that has these fields."""
    message = WireMessage(b"")
    for name in present:
        setattr(message, name, bytes(8))
    return message


@pytest.mark.parametrize(
    ("present", "reason"),
    [
        (("signature", "sender_id", "sequence"), None),
        (("signature", "sender_id", "sequence", "key"), None),
        (("sender_id", "sequence"), "missing_signature"),
        (("signature", "sequence"), "missing_author"),
        (("signature", "sender_id"), "missing_sequence"),
        ((), "missing_signature"),
    ],
)
def test_strict_sign_wants_author_sequence_and_signature(
    present: tuple[str, ...], reason: str | None
) -> None:
    assert violation(shape(*present), "StrictSign") == reason


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_strict_sign_wants_a_sequence_of_one_to_eight_bytes(size: int) -> None:
    message = shape("signature", "sender_id")
    message.sequence = bytes(size)
    expected = None if 1 <= size <= 8 else "bad_sequence"
    assert violation(message, "StrictSign") == expected


@pytest.mark.parametrize(
    ("present", "reason"),
    [
        ((), None),
        (("signature",), "unexpected_signature"),
        (("sender_id",), "unexpected_author"),
        (("sequence",), "unexpected_sequence"),
        (("key",), "unexpected_key"),
    ],
)
def test_strict_no_sign_wants_none_of_them(present: tuple[str, ...], reason: str | None) -> None:
    assert violation(shape(*present), "StrictNoSign") == reason


@pytest.mark.parametrize("name", ["signature", "sender_id", "sequence", "key"])
def test_strict_no_sign_refuses_even_an_empty_field(name: str) -> None:
    message = WireMessage(b"")
    setattr(message, name, b"")
    assert violation(message, "StrictNoSign") is not None


@pytest.mark.parametrize("policy", ["StrictSign", "StrictNoSign"])
def test_what_we_publish_fits_its_own_policy_and_not_the_other(policy: SigningPolicy) -> None:
    message = signed() if policy == "StrictSign" else build_message(data=b"d", topics=TOPICS)
    other: SigningPolicy = "StrictNoSign" if policy == "StrictSign" else "StrictSign"
    assert violation(message, policy) is None
    assert violation(message, other) is not None


def test_a_private_key_is_an_author() -> None:
    key = PrivateKey.from_seed(hashlib.sha256(b"seed").digest())
    assert key.public_key.verify(key.sign(b"payload"), b"payload")
