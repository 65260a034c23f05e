"""Signed envelopes and peer records: go's own bytes, round trips, and every way to lie."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.stack.envelope import (
    LARGEST_ENVELOPE,
    Envelope,
    decode_envelope,
    encode_envelope,
    seal,
    signing_input,
    verify,
)
from rumormill.libp2p.stack.keys import KeyType, PrivateKey, PublicKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_record import (
    DOMAIN,
    MOST_ADDRESSES,
    PAYLOAD_TYPE,
    PeerRecord,
    decode_peer_record,
    encode_peer_record,
    open_peer_record,
    sign_peer_record,
)
from rumormill.libp2p.wire import Prune, decode_rpc
from tests.helpers.core.protobuf_classes import message_classes
from tests.helpers.libp2p import wire_vectors

KEY = PrivateKey.from_seed(b"k" * 32)
OTHER = PrivateKey.from_seed(b"o" * 32)
ADDRESS = Multiaddr.parse("/ip4/192.0.2.7/tcp/4001")

ORACLE: dict[str, Any] = message_classes(
    "records",
    {
        "Envelope": [
            ("public_key", 1, "bytes", False),
            ("payload_type", 2, "bytes", False),
            ("payload", 3, "bytes", False),
            ("signature", 5, "bytes", False),
        ],
        "AddressInfo": [("multiaddr", 1, "bytes", False)],
        "PeerRecord": [
            ("peer_id", 1, "bytes", False),
            ("seq", 2, "uint64", False),
            ("addresses", 3, "AddressInfo", True),
        ],
    },
)

peer_ids = st.sampled_from([KEY.peer_id, OTHER.peer_id, b"\x12\x20" + bytes(32)])
records = st.builds(
    PeerRecord,
    peer_ids,
    st.integers(0, (1 << 64) - 1),
    st.lists(st.binary(max_size=40), max_size=5).map(tuple),
)
envelopes = st.builds(Envelope, *[st.binary(max_size=60)] * 4)


def reason_for(raw: bytes, peer_id: bytes = KEY.peer_id) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        open_peer_record(raw, peer_id)
    return caught.value.reason


def sealed(record: PeerRecord, key: PrivateKey = KEY, **changed: Any) -> bytes:
    options = {"domain": DOMAIN, "payload_type": PAYLOAD_TYPE, **changed}
    return seal(key, payload=encode_peer_record(record), **options)


# ---- what a real go router passed on


def exchanged(probe: str) -> list[tuple[bytes, bytes]]:
    """Peer ids and records in the PRUNE that the go node sent to a probe when it left."""
    rpcs = [decode_rpc(each.rpc) for each in wire_vectors.frames("meshsub-1.3.0-px", "to", probe)]
    prunes = [prune for rpc in rpcs if rpc.control for prune in rpc.control.of(Prune)]
    return [(each.peer_id, each.record) for prune in prunes for each in prune.peers]


@pytest.mark.parametrize(("probe", "others"), [("B", "CD"), ("C", "BD"), ("D", "")])
def test_the_records_that_go_passes_on_are_those_of_the_other_probes(
    probe: str, others: str
) -> None:
    named = exchanged(probe)
    opened = [open_peer_record(record, peer_id) for peer_id, record in named]
    assert {each.peer for each in opened} == {
        wire_vectors.identity(f"probe {other}").peer for other in others
    }
    for (_, raw), record in zip(named, opened, strict=True):
        assert record.raw == raw and len(raw) == 172
        assert [(each.host, each.family) for each in record.addresses] == [("127.0.0.1", "ip4")]
        assert record.sequence > 1_700_000_000 * 10**9, "go counts nanoseconds"


def test_we_write_the_very_bytes_that_go_writes() -> None:
    for peer_id, raw in exchanged("B") + exchanged("C"):
        (key,) = [
            key
            for key in (wire_vectors.identity(f"probe {each}") for each in "BCD")
            if key.peer_id == peer_id
        ]
        record = open_peer_record(raw, peer_id)
        assert sign_peer_record(key, record.sequence, record.addresses) == raw


def test_no_bit_of_a_record_can_be_changed() -> None:
    peer_id, raw = exchanged("B")[0]
    for position in range(len(raw)):
        forged = bytearray(raw)
        forged[position] ^= 0x10
        with pytest.raises(RemoteProtocolError):
            open_peer_record(bytes(forged), peer_id)


# ---- the codecs


@given(envelopes)
def test_an_envelope_reads_back_and_google_writes_the_same(envelope: Envelope) -> None:
    raw = encode_envelope(envelope)
    assert decode_envelope(raw) == envelope
    parsed = ORACLE["Envelope"].FromString(raw)
    assert parsed.SerializeToString() == raw
    assert (parsed.public_key, parsed.payload_type, parsed.payload, parsed.signature) == envelope


@given(records)
def test_a_record_reads_back_and_google_writes_the_same(record: PeerRecord) -> None:
    raw = encode_peer_record(record)
    assert decode_peer_record(raw) == record
    parsed = ORACLE["PeerRecord"].FromString(raw)
    assert parsed.SerializeToString() == raw
    assert tuple(each.multiaddr for each in parsed.addresses) == record.addresses


@given(st.binary(max_size=300))
@example(b"\x0a")
@example(b"\x1a\x01\x0a")
def test_any_bytes_are_read_or_refused_by_name(raw: bytes) -> None:
    for decode, reason in (
        (decode_envelope, "bad_envelope"),
        (decode_peer_record, "bad_peer_record"),
    ):
        try:
            decode(raw)
        except RemoteProtocolError as error:
            assert error.reason == reason


@given(st.binary(max_size=200), st.integers(0, 171), st.integers(0, 171))
def test_pieces_of_a_true_record_with_nonsense_between_them_prove_nothing(
    nonsense: bytes, start: int, end: int
) -> None:
    peer_id, raw = exchanged("B")[0]
    mixed = raw[:start] + nonsense + raw[end:]
    assume(mixed != raw)
    try:
        record = open_peer_record(mixed, peer_id)
    except RemoteProtocolError:
        return
    assert record == open_peer_record(raw, peer_id)._replace(raw=mixed), "an unknown field at most"


def test_of_a_field_that_comes_twice_the_last_counts_and_others_are_passed_over() -> None:
    raw = sign_peer_record(KEY, 7, [ADDRESS])
    unknown = bytes_field(9, b"later") + varint_field(4, 1)
    assert open_peer_record(bytes_field(1, b"not this") + raw + unknown, KEY.peer_id).sequence == 7


@pytest.mark.parametrize("missing", [1, 2, 3, 5])
def test_an_envelope_needs_all_of_its_fields(missing: int) -> None:
    parts = {1: b"key", 2: b"type", 3: b"payload", 5: b"signature"}
    raw = b"".join(bytes_field(number, parts[number]) for number in parts if number != missing)
    with pytest.raises(RemoteProtocolError, match=f"no field {missing}"):
        decode_envelope(raw)


def test_envelopes_and_lists_of_addresses_have_a_limit() -> None:
    assert reason_for(bytes(LARGEST_ENVELOPE + 1)) == "bad_envelope"
    many = PeerRecord(KEY.peer_id, 1, (b"a",) * MOST_ADDRESSES)
    assert open_peer_record(sealed(many), KEY.peer_id).addresses == ()
    assert reason_for(sealed(many._replace(addresses=(b"a",) * 65))) == "bad_peer_record"
    assert reason_for(sealed(PeerRecord(KEY.peer_id, 1, (bytes(513),)))) == "bad_peer_record"
    ours = sign_peer_record(KEY, 1, [Multiaddr("ip4", "10.0.0.1", port) for port in range(1, 200)])
    assert len(open_peer_record(ours, KEY.peer_id).addresses) == MOST_ADDRESSES


# ---- who signed what


def test_what_was_signed_for_another_purpose_proves_nothing() -> None:
    record = PeerRecord(KEY.peer_id, 1)
    assert reason_for(sealed(record, domain="libp2p-pubsub")) == "forged_record"
    assert reason_for(sealed(record, payload_type=b"\x03\x02")) == "bad_peer_record"
    retyped = decode_envelope(sealed(record, payload_type=b"\x03\x02"))
    assert reason_for(encode_envelope(retyped._replace(payload_type=PAYLOAD_TYPE))) == (
        "forged_record"
    )


def test_the_parts_of_the_signing_input_cannot_run_into_each_other() -> None:
    inputs = {
        signing_input("ab", b"c", b"d"),
        signing_input("a", b"bc", b"d"),
        signing_input("a", b"b", b"cd"),
    }
    assert len(inputs) == 3


def test_a_record_is_by_the_peer_that_it_is_about_and_about_the_one_that_was_asked_for() -> None:
    record = PeerRecord(KEY.peer_id, 1)
    assert reason_for(sealed(record, OTHER)) == "record_of_other_peer"
    assert reason_for(sealed(record), OTHER.peer_id) == "record_of_other_peer"
    assert reason_for(sealed(PeerRecord(OTHER.peer_id, 1))) == "record_of_other_peer"


def test_a_key_that_is_none_and_a_signature_that_is_none_are_a_forgery() -> None:
    envelope = decode_envelope(sealed(PeerRecord(KEY.peer_id, 1)))
    assert verify(envelope, DOMAIN)
    assert not verify(envelope._replace(key=b"nonsense"), DOMAIN)
    assert not verify(envelope._replace(signature=b""), DOMAIN)
    assert not verify(envelope._replace(key=OTHER.public_key.to_protobuf()), DOMAIN)


def rsa_pair() -> tuple[PublicKey, Any]:
    key = rsa.generate_private_key(65537, 2048)
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    sign = lambda payload: key.sign(payload, padding.PKCS1v15(), hashes.SHA256())  # noqa: E731
    return PublicKey(KeyType.RSA, der), sign


def secp256k1_pair() -> tuple[PublicKey, Any]:
    key = ec.generate_private_key(ec.SECP256K1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    return PublicKey(KeyType.SECP256K1, point), lambda p: key.sign(p, ec.ECDSA(hashes.SHA256()))


def ecdsa_pair() -> tuple[PublicKey, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(KeyType.ECDSA, der), lambda p: key.sign(p, ec.ECDSA(hashes.SHA256()))


@pytest.mark.parametrize("make", [rsa_pair, secp256k1_pair, ecdsa_pair])
def test_records_of_every_kind_of_key_are_read(make: Any) -> None:
    public, sign = make()
    payload = encode_peer_record(PeerRecord(public.peer_id, 3, (ADDRESS.to_bytes(),)))
    envelope = Envelope(
        public.to_protobuf(), PAYLOAD_TYPE, payload,
        sign(signing_input(DOMAIN, PAYLOAD_TYPE, payload)),
    )  # fmt: skip
    record = open_peer_record(encode_envelope(envelope), public.peer_id)
    assert (record.peer, record.addresses) == (public.peer, (ADDRESS,))
    wrong = envelope._replace(signature=sign(hashlib.sha256(payload).digest()))
    assert reason_for(encode_envelope(wrong), public.peer_id) == "forged_record"


# ---- addresses


def test_only_addresses_that_we_could_dial_are_kept_each_once_and_none_of_somebody_else() -> None:
    quic = bytes.fromhex("04c0000207910202a1cc03")
    raw = (
        ADDRESS.to_bytes(), quic, b"", b"nonsense",
        ADDRESS.with_peer(KEY.peer).to_bytes(),
        Multiaddr.parse("/dns4/example.org/tcp/1").with_peer(OTHER.peer).to_bytes(),
        Multiaddr.parse("/ip6/2001:db8::1/tcp/2").to_bytes(),
    )  # fmt: skip
    record = open_peer_record(sealed(PeerRecord(KEY.peer_id, 1, raw)), KEY.peer_id)
    assert [str(each) for each in record.addresses] == [str(ADDRESS), "/ip6/2001:db8::1/tcp/2"]
