from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.noise.handshake import (
    LARGEST_HANDSHAKE_MESSAGE,
    LARGEST_NONCE,
    LARGEST_PLAINTEXT,
    SIGNATURE_PREFIX,
    NoiseHandshake,
    NoiseTransport,
)

ALICE = PrivateKey.from_seed(b"a" * 32)
BOB = PrivateKey.from_seed(b"b" * 32)


def initiator(identity: PrivateKey = ALICE, expected_peer: str | None = None) -> NoiseHandshake:
    return NoiseHandshake(
        identity, initiator=True, entropy=random.Random(1), expected_peer=expected_peer
    )


def responder(identity: PrivateKey = BOB, expected_peer: str | None = None) -> NoiseHandshake:
    return NoiseHandshake(
        identity, initiator=False, entropy=random.Random(2), expected_peer=expected_peer
    )


def shake(alice: NoiseHandshake, bob: NoiseHandshake) -> tuple[NoiseTransport, NoiseTransport]:
    assert bob.receive(alice.data_to_send()) is None
    assert alice.receive(bob.data_to_send()) == b""
    assert bob.receive(alice.data_to_send()) == b""
    assert alice.transport is not None and bob.transport is not None
    return alice.transport, bob.transport


def transports() -> tuple[NoiseTransport, NoiseTransport]:
    return NoiseTransport(b"1" * 32, b"2" * 32), NoiseTransport(b"2" * 32, b"1" * 32)


def reason_of(machine: NoiseHandshake, data: bytes) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        machine.receive(data)
    return caught.value.reason


# ---- the handshake


def test_both_sides_learn_who_the_other_is_and_can_talk() -> None:
    alice, bob = initiator(expected_peer=BOB.peer), responder()
    at_alice, at_bob = shake(alice, bob)
    assert alice.public_key == BOB.public_key
    assert bob.public_key == ALICE.public_key
    assert at_bob.decrypt(at_alice.encrypt(b"ping")) == b"ping"
    assert at_alice.decrypt(at_bob.encrypt(b"pong")) == b"pong"


def test_the_handshake_works_when_every_byte_comes_alone() -> None:
    alice, bob = initiator(), responder()
    while alice.transport is None or bob.transport is None:
        for source, target in ((alice, bob), (bob, alice)):
            out = source.data_to_send()
            for index in range(len(out)):
                target.receive(out[index : index + 1])
    assert (alice.public_key, bob.public_key) == (BOB.public_key, ALICE.public_key)


def test_what_follows_the_last_message_is_given_back() -> None:
    alice, bob = initiator(), responder()
    bob.receive(alice.data_to_send())
    alice.receive(bob.data_to_send())
    assert bob.receive(alice.data_to_send() + b"more") == b"more"


def test_we_send_the_identity_and_nothing_else_in_the_payload() -> None:
    alice = initiator()
    payload = alice._payload()
    static = alice._static.public_key().public_bytes_raw()
    signature = ALICE.sign(SIGNATURE_PREFIX + static)
    assert payload == bytes_field(1, ALICE.public_key.to_protobuf()) + bytes_field(2, signature)


def test_extensions_and_unknown_fields_of_the_peer_are_read_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = NoiseHandshake._payload
    muxers = bytes_field(2, b"/yamux/1.0.0") + bytes_field(2, b"/mplex/6.7.0")
    extra = bytes_field(3, b"old data") + bytes_field(4, muxers) + bytes_field(1025, b"x")
    monkeypatch.setattr(NoiseHandshake, "_payload", lambda self: honest(self) + extra)
    alice, bob = initiator(), responder()
    shake(alice, bob)
    assert alice.public_key == BOB.public_key


def test_a_peer_other_than_the_one_dialed_is_refused() -> None:
    alice, bob = initiator(expected_peer=ALICE.peer), responder()
    bob.receive(alice.data_to_send())
    assert reason_of(alice, bob.data_to_send()) == "wrong_peer"
    assert alice.public_key is None and alice.transport is None


def test_a_listener_can_expect_a_peer_too() -> None:
    alice, bob = initiator(), responder(expected_peer=PrivateKey.from_seed(b"c" * 32).peer)
    bob.receive(alice.data_to_send())
    alice.receive(bob.data_to_send())
    assert reason_of(bob, alice.data_to_send()) == "wrong_peer"


def test_an_expected_peer_that_is_no_peer_id_is_the_callers_fault() -> None:
    with pytest.raises(LocalProtocolError):
        initiator(expected_peer="not a peer id")


def test_a_peer_with_our_own_identity_is_refused() -> None:
    alice, bob = initiator(), responder(identity=ALICE)
    bob.receive(alice.data_to_send())
    assert reason_of(alice, bob.data_to_send()) == "own_identity"


def _payload(key: bytes | None, signature: bytes | None) -> bytes:
    out = b"" if key is None else bytes_field(1, key)
    return out if signature is None else out + bytes_field(2, signature)


BOB_KEY = BOB.public_key.to_protobuf()


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (_payload(BOB_KEY, bytes(64)), "bad_signature"),
        (_payload(BOB_KEY, b""), "bad_signature"),
        (_payload(BOB_KEY, None), "bad_signature"),
        # A good signature of Bob, over a static key that is not the one of this handshake.
        (_payload(BOB_KEY, BOB.sign(SIGNATURE_PREFIX + bytes(32))), "bad_signature"),
        (_payload(None, bytes(64)), "bad_key"),
        (_payload(b"\x08\x63", bytes(64)), "bad_key"),
        (b"\x0a\xff", "bad_protobuf"),
        (b"", "bad_key"),
    ],
)
def test_a_payload_that_proves_nothing_is_refused(
    payload: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = initiator(), responder()
    monkeypatch.setattr(NoiseHandshake, "_payload", lambda self: payload)
    bob.receive(alice.data_to_send())
    assert reason_of(alice, bob.data_to_send()) == reason


def test_a_signature_by_another_key_than_the_one_shown_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alice, mallory = initiator(), responder()
    static = mallory._static.public_key().public_bytes_raw()
    forged = _payload(BOB_KEY, PrivateKey.from_seed(b"m" * 32).sign(SIGNATURE_PREFIX + static))
    monkeypatch.setattr(NoiseHandshake, "_payload", lambda self: forged)
    mallory.receive(alice.data_to_send())
    assert reason_of(alice, mallory.data_to_send()) == "bad_signature"


def test_a_handshake_message_that_is_too_large_is_refused_at_its_length() -> None:
    length = (LARGEST_HANDSHAKE_MESSAGE + 1).to_bytes(2, "big")
    assert reason_of(responder(), length) == "handshake_too_large"


@pytest.mark.parametrize("size", [0, 31])
def test_a_handshake_message_that_is_too_short_is_refused(size: int) -> None:
    assert reason_of(responder(), size.to_bytes(2, "big") + bytes(size)) == "handshake_too_short"


@pytest.mark.parametrize("size", [32, 79, 80, 95])
def test_a_second_message_that_was_cut_is_refused(size: int) -> None:
    alice, bob = initiator(), responder()
    bob.receive(alice.data_to_send())
    cut = bob.data_to_send()[2 : 2 + size]
    reason = reason_of(alice, size.to_bytes(2, "big") + cut)
    assert reason in ("handshake_too_short", "decryption_failed")


def test_an_ephemeral_key_of_zeros_is_refused() -> None:
    assert reason_of(responder(), b"\x00\x20" + bytes(32)) == "bad_exchange_key"


def test_equal_entropy_gives_equal_bytes_and_other_entropy_others() -> None:
    assert initiator().data_to_send() == initiator().data_to_send()
    other = NoiseHandshake(ALICE, initiator=True, entropy=random.Random(3))
    assert other.data_to_send() != initiator().data_to_send()


@settings(max_examples=60)
@given(st.binary(max_size=400), st.integers(1, 400), st.booleans(), st.booleans())
def test_arbitrary_bytes_in_a_handshake_raise_nothing_but_remote_protocol_errors(
    data: bytes, size: int, starts: bool, framed: bool
) -> None:
    machine = initiator() if starts else responder()
    if framed:
        data = len(data).to_bytes(2, "big") + data
    try:
        for start in range(0, len(data), size):
            assert machine.receive(data[start : start + size]) is None
    except RemoteProtocolError:
        pass
    assert machine.transport is None


# ---- the transport


@given(
    st.lists(st.integers(0, 140_000), max_size=4),
    st.integers(1, 70_000),
    st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_any_plaintext_comes_out_as_it_went_in_however_it_is_cut(
    sizes: list[int], piece: int, seed: int
) -> None:
    source = random.Random(seed)
    alice, bob = transports()
    sent = [source.randbytes(size) for size in sizes]
    wire = b"".join(alice.encrypt(plaintext) for plaintext in sent)
    received = b"".join(
        bob.decrypt(wire[start : start + piece]) for start in range(0, len(wire), piece)
    )
    assert received == b"".join(sent)


def test_frames_are_filled_to_the_last_byte() -> None:
    alice, bob = transports()
    wire = alice.encrypt(bytes(LARGEST_PLAINTEXT + 1))
    assert wire[:2] == b"\xff\xff"
    assert len(wire) == 2 + 65535 + 2 + 17
    assert bob.decrypt(wire) == bytes(LARGEST_PLAINTEXT + 1)


def test_bytes_that_come_one_by_one_are_looked_at_once_per_frame() -> None:
    alice, bob = transports()
    wire = alice.encrypt(bytes(60_000))
    opened = 0

    def counting(*arguments: object) -> bytes:
        nonlocal opened
        opened += 1
        return b"plaintext"

    bob._decrypt = counting  # type: ignore[assignment]
    out = [bob.decrypt(wire[index : index + 1]) for index in range(len(wire))]
    assert opened == 1
    assert out[-1] == b"plaintext" and not any(out[:-1])


def test_no_more_than_one_frame_is_kept() -> None:
    alice, bob = transports()
    wire = alice.encrypt(bytes(200_000))
    for start in range(0, len(wire), 1000):
        bob.decrypt(wire[start : start + 1000])
        assert len(bob._pending) <= 65537


@pytest.mark.parametrize("position", [2, 10, -1])
def test_an_altered_frame_is_refused(position: int) -> None:
    alice, bob = transports()
    wire = bytearray(alice.encrypt(b"hello"))
    wire[position] ^= 0x80
    with pytest.raises(RemoteProtocolError) as caught:
        bob.decrypt(bytes(wire))
    assert caught.value.reason == "decryption_failed"


@pytest.mark.parametrize("length", [0, 1, 15])
def test_a_frame_that_is_shorter_than_its_tag_is_refused(length: int) -> None:
    _, bob = transports()
    with pytest.raises(RemoteProtocolError):
        bob.decrypt(length.to_bytes(2, "big") + bytes(length))
    _, bob = transports()
    bob.decrypt(b"\x00")
    with pytest.raises(RemoteProtocolError):
        bob.decrypt(length.to_bytes(2, "big")[1:] + bytes(length))


def test_a_frame_that_comes_twice_is_refused() -> None:
    alice, bob = transports()
    wire = alice.encrypt(b"once")
    bob.decrypt(wire)
    with pytest.raises(RemoteProtocolError):
        bob.decrypt(wire)


def test_frames_without_payload_are_counted() -> None:
    alice, bob = transports()
    empty = b"\x00\x10" + alice._encrypt(bytes(12), b"", None)
    assert bob.decrypt(empty) == b""
    assert bob.empty_frames == 1


def test_a_key_is_never_used_past_its_last_nonce() -> None:
    alice, bob = transports()
    alice._send_nonce = LARGEST_NONCE
    with pytest.raises(RemoteProtocolError) as caught:
        alice.encrypt(b"x")
    assert caught.value.reason == "nonce_exhausted"
    bob._receive_nonce = LARGEST_NONCE
    with pytest.raises(RemoteProtocolError) as caught:
        bob.decrypt(b"\x00\x10" + bytes(16))
    assert caught.value.reason == "nonce_exhausted"


@given(st.binary(max_size=300), st.integers(1, 300))
def test_arbitrary_bytes_in_the_transport_raise_nothing_but_remote_protocol_errors(
    data: bytes, size: int
) -> None:
    _, bob = transports()
    try:
        for start in range(0, len(data), size):
            assert bob.decrypt(data[start : start + size]) == b""
    except RemoteProtocolError:
        pass
