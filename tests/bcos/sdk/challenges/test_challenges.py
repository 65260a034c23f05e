"""Challenges and proofs of all dialects, and that nothing else proves anything."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from Crypto.Hash import keccak
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.sdk.challenges.dialect import LONGEST_NUMBER, Dialect
from rumormill.bcos.sdk.challenges.dialects import (
    DIALECTS,
    KECCAK256,
    SHA1,
    SHA256,
    challenger,
    detect,
    prover,
)
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, signed_by_any
from rumormill.bcos.wire.verification import (
    LONGEST_PRIVATE_TOPIC,
    need_verify,
    push_channel,
    verify_channel,
)
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from tests.helpers.bcos.topic_keys import GO_EXAMPLE, GO_SECOND, other_form

NAME = need_verify("hello")
CHANNEL = verify_channel(NAME, "92be6ce4dbd311eaae5a983b8fda4e0e")
NONCE = bytes(range(16))
NUMBER = NONCE.hex()
KEY = ec.derive_private_key(0xC0FFEE, ec.SECP256K1())
OURS = TopicPrivateKey((0xC0FFEE).to_bytes(32, "big"))

each_dialect = pytest.mark.parametrize(
    "dialect", [pytest.param(dialect, id=name) for name, dialect in DIALECTS.items()]
)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


# ---- what others have written

DOCUMENT_CHALLENGE = b'{"randValue":"14131f50ef730219d48e1f9c441db871c","topic":"hello"}'
DOCUMENT_PROOF = (
    b'{"signature":"vU/Vzqn4MiP0nO1xN+M5TOk/YcyFtY/TLrgU38jFdooN66r3TzNVKEBpkNId8gCuAeNpNPCo8vmTV3dc'
    b's/Xj1AE="}'
)


def test_we_prove_the_challenge_of_the_document_as_it_does_to_the_byte() -> None:
    assert detect(DOCUMENT_CHALLENGE) is SHA256
    assert SHA256.prove(DOCUMENT_CHALLENGE, GO_EXAMPLE) == DOCUMENT_PROOF
    keys = [GO_SECOND.public_key, GO_EXAMPLE.public_key]
    assert SHA256.proves(DOCUMENT_CHALLENGE, DOCUMENT_PROOF, keys)
    assert not SHA256.proves(DOCUMENT_CHALLENGE, DOCUMENT_PROOF, keys[:1])


def test_challenges_look_as_those_of_other_sdks() -> None:
    assert KECCAK256.challenge(NONCE, CHANNEL) == b"000102030405060708090a0b0c0d0e0f"
    assert SHA256.challenge(NONCE, CHANNEL) == (
        b'{"randValue":"000102030405060708090a0b0c0d0e0f","topic":"hello"}'
    )
    text = f'{{"randValue":"{NUMBER}","topic":"#!$TopicNeedVerify_hello"}}'.encode()
    assert SHA1.challenge(NONCE, CHANNEL) == b"".join(
        (bytes((len(CHANNEL) + 1,)), CHANNEL.encode(), len(text).to_bytes(2, "big"), text)
    )


def test_a_proof_in_the_form_of_the_web3sdk_is_a_signature_as_java_makes_it() -> None:
    challenge = SHA1.challenge(NONCE, CHANNEL)
    signature = base64.b64encode(KEY.sign(NUMBER.encode(), ec.ECDSA(hashes.SHA1()))).decode()
    text = json.dumps({"signature": signature}).encode()
    frame = bytes((len(CHANNEL) + 1,)) + CHANNEL.encode() + len(text).to_bytes(2, "big")
    assert SHA1.proves(challenge, frame + text, [OURS.public_key])
    proof = SHA1.prove(challenge, OURS)
    assert proof.startswith(frame[:-2])
    der = base64.b64decode(json.loads(proof[len(frame) :])["signature"])
    KEY.public_key().verify(der, NUMBER.encode(), ec.ECDSA(hashes.SHA1()))


@pytest.mark.parametrize("challenge", [b"92be6ce4dbd311eaae5a983b8fda4e0e", b"\x00\xff" * 8, b"{"])
def test_a_proof_of_today_is_a_signature_of_the_keccak_256_of_any_bytes(challenge: bytes) -> None:
    """Of 32 hex digits, as the java-sdk sends, and of 17 bytes or fewer, as the go-sdk does."""
    assert detect(challenge) is KECCAK256
    proof = KECCAK256.prove(challenge, OURS)
    assert len(proof) == 65 and proof[64] in (0, 1)
    digest = keccak.new(data=challenge, digest_bits=256).digest()
    assert signed_by_any([OURS.public_key], digest, proof[:64])
    assert KECCAK256.proves(challenge, proof, [OURS.public_key])


def test_keccak_256_is_not_sha3() -> None:
    empty = keccak.new(data=b"", digest_bits=256).hexdigest()
    assert empty == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    assert empty != hashlib.sha3_256(b"").hexdigest()


# ---- what holds for each


@each_dialect
def test_the_name_of_a_topic_does_as_well_as_a_channel_of_it(dialect: Dialect) -> None:
    keys = [OURS.public_key]
    question = challenger(dialect, keys)(NONCE, NAME)
    assert detect(question.payload) is dialect
    proof = prover(OURS)(question.payload)
    assert question.check(proof) and not question.check(proof[:-1])
    assert dialect.proves(dialect.challenge(NONCE, CHANNEL), proof, keys)
    assert not question.check(prover(GO_SECOND)(question.payload))


@each_dialect
@given(nonce=st.binary(min_size=16, max_size=32), topic=TEXTS, secret=st.integers(1, 2**255))
def test_a_proof_proves_its_key_and_no_other(
    dialect: Dialect, nonce: bytes, topic: str, secret: int
) -> None:
    channel = verify_channel(need_verify(topic), "0" * 32)
    key = TopicPrivateKey(secret.to_bytes(32, "big"))
    challenge = dialect.challenge(nonce, channel)
    assert detect(challenge) is dialect
    proof = dialect.prove(challenge, key)
    assert dialect.proves(challenge, proof, [GO_SECOND.public_key, key.public_key])
    assert not dialect.proves(challenge, proof, [GO_SECOND.public_key])
    assert not dialect.proves(challenge, proof, [])
    other = dialect.challenge(bytes((nonce[0] ^ 1, *nonce[1:])), channel)
    assert not dialect.proves(other, proof, [key.public_key])


@each_dialect
def test_the_longest_topic_can_be_asked_for(dialect: Dialect) -> None:
    channel = verify_channel(need_verify("\x01" * LONGEST_PRIVATE_TOPIC), "0" * 32)
    challenge = dialect.challenge(bytes(32), channel)
    assert detect(challenge) is dialect
    proof = dialect.prove(challenge, OURS)
    assert dialect.proves(challenge, proof, [OURS.public_key])


@each_dialect
def test_a_proof_cut_or_with_more_behind_it_proves_nothing(dialect: Dialect) -> None:
    challenge = dialect.challenge(NONCE, CHANNEL)
    proof = dialect.prove(challenge, OURS)
    keys = [OURS.public_key]
    for size in range(len(proof)):
        assert not dialect.proves(challenge, proof[:size], keys)
    for more in (b"\0", b"x", proof):
        assert not dialect.proves(challenge, proof + more, keys)
        assert not dialect.proves(challenge, more + proof, keys)


@each_dialect
def test_a_proof_with_any_byte_changed_proves_nothing(dialect: Dialect) -> None:
    challenge = dialect.challenge(NONCE, CHANNEL)
    proof = dialect.prove(challenge, OURS)
    # v is not looked at, nor is the topic around the JSON.
    end = 64 if dialect is KECCAK256 else len(proof)
    for place in range(len(CHANNEL) + 1 if dialect is SHA1 else 0, end):
        changed = bytearray(proof)
        changed[place] ^= 0x04
        if SHA256 is dialect and place >= proof.rindex(b'"') - 4:
            continue  # the last letters of base64 hold v
        assert not dialect.proves(challenge, bytes(changed), [OURS.public_key]), place


@each_dialect
def test_the_proof_of_another_dialect_proves_nothing(dialect: Dialect) -> None:
    challenge = dialect.challenge(NONCE, CHANNEL)
    for other in DIALECTS.values():
        proof = other.prove(other.challenge(NONCE, CHANNEL), OURS)
        assert dialect.proves(challenge, proof, [OURS.public_key]) == (dialect is other)


@pytest.mark.parametrize("dialect", [KECCAK256, SHA256], ids=lambda dialect: dialect.name)
def test_a_signature_with_a_high_s_is_good_and_with_another_v_is_none(dialect: Dialect) -> None:
    challenge = dialect.challenge(NONCE, CHANNEL)
    digest = (
        keccak.new(data=NUMBER.encode(), digest_bits=256).digest()
        if dialect is KECCAK256
        else hashlib.sha256(NUMBER.encode()).digest()
    )
    signature = OURS.sign(digest)

    def proves(made: bytes) -> bool:
        if dialect is SHA256:
            made = json.dumps({"signature": base64.b64encode(made).decode()}).encode()
        return dialect.proves(challenge, made, [OURS.public_key])

    assert proves(signature) and proves(other_form(signature))
    assert proves(signature[:64] + b"\0") and proves(signature[:64] + b"\1")
    for v in (2, 27, 28, 255):
        assert not proves(signature[:64] + bytes((v,)))


def test_a_signature_in_der_may_have_a_high_s() -> None:
    challenge = SHA1.challenge(NONCE, CHANNEL)
    digest = hashlib.sha1(NUMBER.encode()).digest()
    seen = set()
    for _ in range(40):
        der = KEY.sign(digest, ec.ECDSA(Prehashed(hashes.SHA1())))
        text = json.dumps({"signature": base64.b64encode(der).decode()}).encode()
        proof = b"\x02a" + len(text).to_bytes(2, "big") + text
        assert SHA1.proves(challenge, proof, [OURS.public_key])
        seen.add(len(der))
    assert len(seen) > 1


@each_dialect
@given(proof=st.binary(max_size=100))
def test_no_other_bytes_prove_anything(dialect: Dialect, proof: bytes) -> None:
    challenge = dialect.challenge(NONCE, CHANNEL)
    assert not dialect.proves(challenge, proof, [OURS.public_key])


BAD_ANSWERS = [
    b"{}",
    b'{"signature":7}',
    b'{"signature":""}',
    b'{"signature":"?"}',
    b'{"signature":"\xc3\xa4"}',
    b'{"signature":"AAAA"}',
    b'{"signature":"' + b"A" * 88 + b'"}',
    b'{"signature":"MAYCAf8CAf8="}',  # DER of two negative numbers
    b'{"signature":"' + base64.b64encode(b"\x30\x26\x02\x21\x01" + bytes(32) + b"\x02\x01\x01"),
    b'{"signature":"' + b"A" * 3000 + b'"}',
    b'{"signature":' + b"[" * 1000,
    b"[" * 1000,
]


@pytest.mark.parametrize("answer", BAD_ANSWERS)
def test_answers_that_hold_no_signature_prove_nothing(answer: bytes) -> None:
    framed = b"\x02a" + len(answer).to_bytes(2, "big") + answer
    for dialect, proof in ((SHA256, answer), (SHA1, framed)):
        challenge = dialect.challenge(NONCE, CHANNEL)
        assert not dialect.proves(challenge, proof, [OURS.public_key])


def test_base64_has_one_form() -> None:
    challenge = SHA256.challenge(NONCE, CHANNEL)
    proof = SHA256.prove(challenge, OURS)
    for more in (b"\\n", b" ", b"!", b"="):
        changed = proof.replace(b'":"', b'":"' + more)
        assert not SHA256.proves(challenge, changed, [OURS.public_key])


def test_the_length_around_the_json_is_that_of_the_json() -> None:
    challenge = SHA1.challenge(NONCE, CHANNEL)
    proof = SHA1.prove(challenge, OURS)
    for wrong in (proof + b" ", challenge + b" "):
        assert not SHA1.proves(challenge, wrong, [OURS.public_key])
        assert not SHA1.recognises(wrong)


# ---- what is not asked for, and not signed


@each_dialect
@pytest.mark.parametrize("topic", ["", "hello", push_channel(NAME), CHANNEL + "0"])
def test_only_of_a_private_topic_is_a_proof_asked(dialect: Dialect, topic: str) -> None:
    with pytest.raises(LocalProtocolError, match="is no name of a private topic"):
        dialect.challenge(NONCE, topic)


@each_dialect
@pytest.mark.parametrize("size", [0, 15, 33])
def test_a_nonce_is_neither_short_nor_long(dialect: Dialect, size: int) -> None:
    with pytest.raises(LocalProtocolError, match=f"a nonce has 16 to 32 bytes, this one {size}"):
        dialect.challenge(bytes(size), CHANNEL)


def test_what_could_be_a_transaction_is_not_signed() -> None:
    longest = b"7" * LONGEST_NUMBER
    assert KECCAK256.prove(longest, OURS)
    assert SHA256.prove(b'{"randValue":"' + longest + b'"}', OURS)
    for dialect, challenge in (
        (KECCAK256, b"7" + longest),
        (SHA256, b'{"randValue":"7' + longest + b'"}'),
        (SHA256, b'{"randValue":"a transaction"}'),
    ):
        with pytest.raises(RemoteProtocolError, match="bad_challenge"):
            dialect.prove(challenge, OURS)
        assert not dialect.recognises(challenge)


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"7" * (LONGEST_NUMBER + 1),
        b'{"randValue":7,"topic":"hello"}'.ljust(100),
        b'{"randValue":"","topic":"hello"}'.ljust(100),
        b'{"randValue":"14131f50ef730219d48e1f9c441db871c","topic":"hello"}'.ljust(3000),
        SHA1.challenge(NONCE, CHANNEL)[:-1],
        SHA1.challenge(NONCE, CHANNEL) + b"\0",
        b"\x01" + SHA1.challenge(NONCE, CHANNEL)[1 + len(CHANNEL) :],  # of a topic without a letter
        b"[" * 3000,
    ],
)
def test_what_is_of_no_dialect_is_refused(challenge: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_challenge"):
        detect(challenge)
    for dialect in DIALECTS.values():
        with pytest.raises(RemoteProtocolError):
            dialect.prove(challenge, OURS)


@given(st.binary(max_size=200))
def test_any_bytes_are_signed_or_refused(challenge: bytes) -> None:
    try:
        dialect = detect(challenge)
    except RemoteProtocolError:
        assert not 1 <= len(challenge) <= LONGEST_NUMBER
        return
    assert dialect.proves(challenge, dialect.prove(challenge, OURS), [OURS.public_key])
