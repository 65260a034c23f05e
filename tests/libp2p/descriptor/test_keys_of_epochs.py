"""Keys of epochs: sealed to who is trusted, bound to their author, never older than the last."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import (
    crypto_box_seal_open,
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
    crypto_sign_seed_keypair,
)

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.descriptor.control_message import (
    Control,
    EpochKey,
    KeyAsk,
    decode_control,
    encode_control,
)
from rumormill.libp2p.descriptor.edges import sign_edge
from rumormill.libp2p.descriptor.epoch_keys import GRACE, KEPT, EpochKeys
from rumormill.libp2p.descriptor.sealed_data import HEAD_SIZE
from rumormill.libp2p.descriptor.sealed_keys import SealedKey, box_for, seal_key
from rumormill.libp2p.stack.keys import PrivateKey
from tests.helpers.libp2p.private_network import id_of, key_of

TOPIC = bytes(32)
ANN, BOB, CID = key_of("ann"), key_of("bob"), key_of("cid")


def keys(seed: int = 1, topic: bytes = TOPIC) -> EpochKeys:
    return EpochKeys(topic, random.Random(seed))


def begun(*readers: PrivateKey, now: float = 100.0, version: int = 1) -> EpochKeys:
    """Ann's keys, with an epoch for these readers."""
    made = keys()
    made.renew(ANN.peer_id, {each.peer_id: None for each in readers}, version, now)
    return made


def announced(made: EpochKeys) -> EpochKey:
    assert made.own is not None
    return made.own.announced


def test_a_box_is_one_of_libsodium() -> None:
    public, secret = crypto_sign_seed_keypair(b"s" * 32)
    reader = PrivateKey.from_seed(b"s" * 32)
    sealed, without = seal_key(b"k" * 32, [reader.peer_id], random.Random(1))
    box = box_for(sealed, reader.peer_id)
    assert without == [] and box is not None and sealed.readers == 1
    opened = crypto_box_seal_open(
        box,
        crypto_sign_ed25519_pk_to_curve25519(public),
        crypto_sign_ed25519_sk_to_curve25519(secret),
    )
    assert opened == reader.unseal(box) == b"k" * 32


def test_a_peer_whose_id_holds_no_ed25519_key_cannot_be_sealed_to_and_is_named() -> None:
    rsa = b"\x12\x20" + bytes(32)
    small = b"\x00\x24\x08\x01\x12\x20" + b"\x01" + bytes(31)  # a point of small order
    sealed, without = seal_key(b"k" * 32, [rsa, small, BOB.peer_id], random.Random(1))
    assert without == [rsa, small] and sealed.readers == 1


def test_a_reader_reads_and_an_outsider_does_not() -> None:
    ann = begun(ANN, BOB)
    sealed = ann.seal(b"rain", b"about")
    bob, cid = keys(2), keys(3)
    assert bob.take(ANN.peer_id, announced(ann), BOB.peer_id, BOB.unseal, 100.0) == "ours"
    assert cid.take(ANN.peer_id, announced(ann), CID.peer_id, CID.unseal, 100.0) == "not_for_us"
    reader = bob.reader(ANN.peer_id, announced(ann).id)
    assert reader is not None and reader.open(sealed, b"about", HEAD_SIZE) == b"rain"
    assert cid.reader(ANN.peer_id, announced(ann).id) is None
    assert not cid.lacks(ANN.peer_id, announced(ann).id)


def test_an_epoch_ends_when_trust_changes_after_an_hour_and_when_the_clock_goes_back() -> None:
    ann = begun(BOB, now=100.0, version=1)
    assert not ann.outlived(1, 101.0)
    assert ann.outlived(2, 101.0) and ann.outlived(1, 100.0 + 3600) and ann.outlived(1, 99.0)


def test_a_key_under_another_authors_name_or_on_another_topic_is_none() -> None:
    ann, box = begun(BOB), announced(begun(BOB))
    assert keys(2).take(CID.peer_id, box, BOB.peer_id, BOB.unseal, 1.0) == "wrong_key"
    elsewhere = keys(2, topic=b"\1" * 32)
    assert elsewhere.take(ANN.peer_id, box, BOB.peer_id, BOB.unseal, 1.0) == "wrong_key"
    spoilt = announced(ann)._replace(id=b"another!")
    assert keys(2).take(ANN.peer_id, spoilt, BOB.peer_id, BOB.unseal, 1.0) == "wrong_key"
    later = announced(ann)._replace(epoch=announced(ann).epoch + 1)
    assert keys(2).take(ANN.peer_id, later, BOB.peer_id, BOB.unseal, 1.0) == "wrong_key"


def test_an_old_epoch_that_is_played_back_is_refused() -> None:
    ann, bob = begun(BOB), keys(2)
    first = announced(ann)
    assert bob.take(ANN.peer_id, first, BOB.peer_id, BOB.unseal, 100.0) == "ours"
    assert bob.take(ANN.peer_id, first, BOB.peer_id, BOB.unseal, 100.0) == "known"
    for number in range(KEPT + 1):
        ann.renew(ANN.peer_id, {BOB.peer_id: None}, 2 + number, 101.0 + number)
        taken = bob.take(ANN.peer_id, announced(ann), BOB.peer_id, BOB.unseal, 101.0 + number)
        assert taken == "ours"
    assert bob.take(ANN.peer_id, first, BOB.peer_id, BOB.unseal, 200.0) == "old_epoch"


def test_the_key_of_the_epoch_before_reads_for_a_while() -> None:
    ann, bob = begun(BOB), keys(2)
    first = announced(ann)
    bob.take(ANN.peer_id, first, BOB.peer_id, BOB.unseal, 100.0)
    ann.renew(ANN.peer_id, {BOB.peer_id: None}, 2, 110.0)
    bob.take(ANN.peer_id, announced(ann), BOB.peer_id, BOB.unseal, 110.0)
    assert bob.reader(ANN.peer_id, first.id) is not None
    assert not bob.past(ANN.peer_id, first.id, 110.0 + GRACE - 1)
    assert bob.past(ANN.peer_id, first.id, 110.0 + GRACE)
    assert not bob.past(ANN.peer_id, announced(ann).id, 10_000.0)


def test_an_author_whose_clock_was_set_back_begins_above_what_a_reader_knows() -> None:
    ann = begun(BOB, now=1000.0)
    number = announced(ann).epoch
    restarted = begun(BOB, now=10.0)
    assert announced(restarted).epoch < number
    assert restarted.begin_above(number, 10.0)
    restarted.renew(ANN.peer_id, {BOB.peer_id: None}, 1, 10.0)
    assert announced(restarted).epoch == number + 1
    assert not restarted.begin_above(number, 50.0)


def test_a_reader_that_lies_neither_keeps_an_author_busy_nor_uses_its_numbers_up() -> None:
    ann = begun(BOB, now=1000.0)
    assert not ann.begin_above((1 << 63) - 2, 1000.0)
    begins = 0
    for number in range(100):
        if ann.begin_above(announced(ann).epoch + 5, 1000.0 + number / 10):
            begins += 1
            ann.renew(ANN.peer_id, {BOB.peer_id: None}, 1, 1000.0 + number / 10)
    assert begins == 1


# ---- messages of the control topic

EDGE = sign_edge(ANN, TOPIC, BOB.peer_id, sequence=1, until=2_000_000_000)
controls = st.builds(
    Control,
    st.lists(st.just(EDGE), max_size=3).map(tuple),
    st.sampled_from((b"", bytes(16))),
    st.none() | st.builds(
        EpochKey,
        st.integers(0, (1 << 63) - 1),
        st.binary(min_size=8, max_size=8),
        st.builds(SealedKey, st.just(bytes(32)), st.sampled_from((b"", bytes(112)))),
    ),
    st.lists(
        st.builds(KeyAsk, st.just(id_of("ann")), st.just(bytes(8)), st.integers(0, 9)),
        max_size=8,
    ).map(tuple),
)  # fmt: skip


@given(controls)
def test_what_is_encoded_decodes_to_the_same(control: Control) -> None:
    assert decode_control(encode_control(control)) == control


@given(st.binary(max_size=300))
def test_any_bytes_are_a_control_message_or_refused(raw: bytes) -> None:
    try:
        decode_control(raw)
    except RemoteProtocolError as error:
        assert error.reason == "bad_trust_message"


@pytest.mark.parametrize(
    "control",
    [Control(edges=(EDGE,) * 129), Control(asks=(KeyAsk(id_of("ann"), bytes(8)),) * 9)],
)
def test_too_much_of_anything_is_refused(control: Control) -> None:
    with pytest.raises(RemoteProtocolError, match="more than"):
        decode_control(encode_control(control))
    with pytest.raises(RemoteProtocolError, match="allowed"):
        decode_control(bytes(61 * 1024))
