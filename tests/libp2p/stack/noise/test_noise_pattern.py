from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.noise.pattern import SymmetricState, XXHandshake, nonce_bytes

# The vector of Noise_XX_25519_ChaChaPoly_SHA256 in the "cacophony" set that the implementations of
# Noise share: keys, prologue, payloads, and what goes over the wire.
PROLOGUE = bytes.fromhex("4a6f686e2047616c74")
INITIATOR_STATIC = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"
INITIATOR_EPHEMERAL = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"
RESPONDER_STATIC = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"
RESPONDER_EPHEMERAL = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"
HANDSHAKE_HASH = "c8e5f64e846193be2a834104c2a009868d6c9f3bd3c186299888b488b2f1f58e"
PAYLOADS = [
    b"Ludwig von Mises",
    b"Murray Rothbard",
    b"F. A. Hayek",
    b"Carl Menger",
    b"Jean-Baptiste Say",
    bytes.fromhex("457567656e2042f6686d20766f6e2042617765726b"),
]
CIPHERTEXTS = [
    "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79444c756477696720766f6e204d69736573",
    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f14480884381cbad1f276e038c48378ffce2b65285"
    "e08d6b68aaa3629a5a8639392490e5b9bd5269c2f1e4f488ed8831161f19b7815528f8982ffe09be9b5c412f8a0db50f"
    "8814c7194e83f23dbd8d162c9326ad",
    "c7195ffacac1307ff99046f219750fc47693e23c3cb08b89c2af808b444850a80ae475b9df0f169ae80a89be0865b57f"
    "58c9fea0d4ec82a286427402f113e4b6ae769a1d95941d49b25030",
    "96763ed773f8e47bb3712f0e29b3060ffc956ffc146cee53d5e1df",
    "3e40f15f6f3a46ae446b253bf8b1d9ffb6ed9b174d272328ff91a7e2e5c79c07f5",
    "eb3f3515110702e047a6c9da4478b6ead94873c11c0f2d710ddb3f09fce024b3a58502ae3f",
]


def private(key: str) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(bytes.fromhex(key))


def both() -> tuple[XXHandshake, XXHandshake]:
    return (
        XXHandshake(private(INITIATOR_STATIC), private(INITIATOR_EPHEMERAL), PROLOGUE),
        XXHandshake(private(RESPONDER_STATIC), private(RESPONDER_EPHEMERAL), PROLOGUE),
    )


def test_the_handshake_gives_the_bytes_of_the_published_vector() -> None:
    initiator, responder = both()
    first = initiator.write_first(PAYLOADS[0])
    assert first.hex() == CIPHERTEXTS[0]
    assert responder.read_first(first) == PAYLOADS[0]
    second = responder.write_second(PAYLOADS[1])
    assert second.hex() == CIPHERTEXTS[1]
    assert initiator.read_second(second) == PAYLOADS[1]
    third = initiator.write_third(PAYLOADS[2])
    assert third.hex() == CIPHERTEXTS[2]
    assert responder.read_third(third) == PAYLOADS[2]
    assert initiator.symmetric.hash.hex() == responder.symmetric.hash.hex() == HANDSHAKE_HASH
    assert initiator.symmetric.split() == responder.symmetric.split()


def test_the_transport_keys_give_the_bytes_of_the_published_vector() -> None:
    initiator, responder = both()
    responder.read_first(initiator.write_first(PAYLOADS[0]))
    initiator.read_second(responder.write_second(PAYLOADS[1]))
    initiator.write_third(PAYLOADS[2])
    of_initiator, of_responder = map(ChaCha20Poly1305, initiator.symmetric.split())
    assert of_responder.encrypt(nonce_bytes(0), PAYLOADS[3], None).hex() == CIPHERTEXTS[3]
    assert of_initiator.encrypt(nonce_bytes(0), PAYLOADS[4], None).hex() == CIPHERTEXTS[4]
    assert of_responder.encrypt(nonce_bytes(1), PAYLOADS[5], None).hex() == CIPHERTEXTS[5]


def test_each_side_learns_the_static_key_of_the_other() -> None:
    initiator, responder = both()
    responder.read_first(initiator.write_first())
    initiator.read_second(responder.write_second(b""))
    responder.read_third(initiator.write_third(b""))
    for side, key in ((initiator, RESPONDER_STATIC), (responder, INITIATOR_STATIC)):
        assert side.their_static == private(key).public_key().public_bytes_raw()


@pytest.mark.parametrize("byte", range(0, 111, 5))
def test_one_altered_bit_anywhere_in_the_second_message_is_noticed(byte: int) -> None:
    initiator, responder = both()
    responder.read_first(initiator.write_first())
    altered = bytearray(responder.write_second(PAYLOADS[1]))
    altered[byte] ^= 1
    with pytest.raises(RemoteProtocolError):
        initiator.read_second(bytes(altered))


# Points whose multiples are few: the shared secret would be zero whatever our own key is.
SMALL_ORDER = [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_a_key_of_small_order_is_refused(point: bytes) -> None:
    initiator, responder = both()
    responder.read_first(point)
    with pytest.raises(RemoteProtocolError) as caught:
        responder.write_second(b"")
    assert caught.value.reason == "bad_exchange_key"
    with pytest.raises(RemoteProtocolError) as caught:
        initiator.read_second(point + bytes(64))
    assert caught.value.reason == "bad_exchange_key"


@given(st.binary(max_size=200), st.sampled_from(["first", "second", "third"]))
def test_arbitrary_messages_raise_nothing_but_remote_protocol_errors(
    message: bytes, which: str
) -> None:
    initiator, responder = both()
    first = initiator.write_first()
    try:
        if which == "first":
            responder.read_first(message)
            responder.write_second(b"")
        elif which == "second":
            initiator.read_second(message)
        else:
            responder.read_first(first)
            responder.write_second(b"")
            responder.read_third(message)
    except RemoteProtocolError:
        pass


def test_before_the_first_key_the_payload_travels_open() -> None:
    assert SymmetricState().encrypt_and_hash(b"open") == b"open"
