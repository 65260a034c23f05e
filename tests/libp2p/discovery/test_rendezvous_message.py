"""Rendezvous on the wire: bytes written by hand from the specification, and by property."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.discovery.rendezvous.message import (
    LARGEST_RECORD,
    LONGEST_COOKIE,
    MOST_REGISTRATIONS,
    Discover,
    Discovered,
    Register,
    Registered,
    RendezvousMessage,
    Status,
    Unregister,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.rendezvous.records import (
    FORMS,
    RecordForm,
    open_record,
    sign_record,
)
from rumormill.libp2p.stack.envelope import seal
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_record import PeerRecord, encode_peer_record, open_peer_record
from rumormill.libp2p.wire.frames import FrameReader
from tests.helpers.interop.discovery_vectors import read
from tests.helpers.libp2p.host_net import key

PLACE = Multiaddr.parse("/ip4/192.0.2.7/tcp/4001")
names = st.text(max_size=60)
registers = st.builds(Register, names, st.binary(max_size=60), st.none() | st.integers(0, 2**63))
messages: st.SearchStrategy[RendezvousMessage] = st.one_of(
    registers,
    st.builds(Registered, st.sampled_from(Status).map(int), st.integers(0, 2**63)),
    st.builds(Unregister, names),
    st.builds(
        Discover, st.none() | names, st.none() | st.integers(0, 2**63), st.binary(max_size=60)
    ),
    st.builds(
        Discovered,
        st.sampled_from(Status).map(int),
        st.lists(registers, max_size=4).map(tuple),
        st.binary(max_size=60),
    ),
)


def test_the_fields_have_the_numbers_of_the_specification() -> None:
    assert encode_message(Register("ns", b"rec", 7200)) == (
        b"\x08\x00" + b"\x12\x0c" + b"\x0a\x02ns" + b"\x12\x03rec" + b"\x18\xa0\x38"
    )
    assert encode_message(Registered(Status.OK, 7200)) == b"\x08\x01\x1a\x05\x08\x00\x18\xa0\x38"
    assert encode_message(Unregister("ns")) == b"\x08\x02\x22\x04\x0a\x02ns"
    assert encode_message(Discover("ns", 3, b"c")) == (
        b"\x08\x03\x2a\x09" + b"\x0a\x02ns" + b"\x10\x03" + b"\x1a\x01c"
    )
    assert encode_message(Discovered(Status.OK, (Register("ns", b"r"),), b"c")) == (
        b"\x08\x04\x32\x0e" + b"\x0a\x07\x0a\x02ns\x12\x01r" + b"\x12\x01c" + b"\x18\x00"
    )


@given(messages)
def test_what_was_encoded_decodes_to_the_same(message: RendezvousMessage) -> None:
    assert decode_message(encode_message(message)) == message


@given(st.binary(max_size=200))
def test_any_bytes_give_a_message_or_an_error(raw: bytes) -> None:
    try:
        decode_message(raw)
    except RemoteProtocolError as error:
        assert error.reason == "bad_rendezvous"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        varint_field(1, 0),
        varint_field(1, 5) + bytes_field(7, b""),
        varint_field(1, 0) + bytes_field(2, bytes_field(1, b"\xff")),
        varint_field(1, 0) + bytes_field(2, bytes_field(2, bytes(LARGEST_RECORD + 1))),
        varint_field(1, 3) + bytes_field(5, bytes_field(3, bytes(LONGEST_COOKIE + 1))),
    ],
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_rendezvous"):
        decode_message(raw)


def test_more_registrations_than_anyone_needs_are_passed_over() -> None:
    crowd = (Register("ns", b"r"),) * (MOST_REGISTRATIONS + 9)
    read = decode_message(encode_message(Discovered(Status.OK, crowd, b"")))
    assert isinstance(read, Discovered) and len(read.registrations) == MOST_REGISTRATIONS


# ---- records


@pytest.mark.parametrize("form", list(FORMS))
def test_a_record_of_either_form_is_read(form: RecordForm) -> None:
    record = open_record(sign_record(key("alice"), 7, [PLACE], form))
    assert (record.peer_id, record.sequence) == (key("alice").peer_id, 7)
    assert record.addresses == (PLACE.with_peer(key("alice").peer).to_bytes(),)


def test_the_standard_form_is_that_of_identify() -> None:
    raw = sign_record(key("alice"), 7, [PLACE], "standard")
    assert open_peer_record(raw, key("alice").peer_id).addresses == (PLACE,)


def test_a_record_of_another_peer_of_another_kind_or_forged_is_refused() -> None:
    alice, bob = key("alice"), key("bob")
    payload = encode_peer_record(PeerRecord(bob.peer_id, 7, (PLACE.to_bytes(),)))
    payload_type, domain = FORMS["rust"]
    good = sign_record(alice, 7, [PLACE], "rust")
    for raw, reason in (
        (seal(alice, domain, payload_type, payload), "record_of_other_peer"),
        (seal(bob, domain, b"something else", payload), "bad_peer_record"),
        (seal(bob, "another domain", payload_type, payload), "forged_record"),
        (good[:-1] + bytes([good[-1] ^ 1]), "forged_record"),
        (b"", "bad_envelope"),
    ):
        with pytest.raises(RemoteProtocolError, match=reason):
            open_record(raw)


@given(st.binary(max_size=100), st.integers(0, 2**32))
def test_any_bytes_give_a_record_or_an_error(raw: bytes, seed: int) -> None:
    good = bytearray(sign_record(key("alice"), 7, [PLACE], "rust"))
    good[random.Random(seed).randrange(len(good))] ^= 1
    for each in (raw, bytes(good)):
        with pytest.raises(RemoteProtocolError):
            open_record(each)


def test_what_rust_says_is_read() -> None:
    kinds = []
    for line in read("rendezvous", "rust"):
        [frame] = FrameReader(1 << 20).feed(line.raw)
        message = decode_message(frame)
        kinds.append(type(message))
        for register in message.registrations if isinstance(message, Discovered) else [message]:
            if isinstance(register, Register):
                assert open_record(register.record).addresses
    assert {Register, Registered, Discover, Discovered} <= set(kinds)
