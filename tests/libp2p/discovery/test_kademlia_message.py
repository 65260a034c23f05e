"""kad-dht on the wire: against bytes written by hand from the specification, and by property."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.discovery.kademlia.keys import common_prefix, place_of, topic_key
from rumormill.libp2p.discovery.kademlia.message import (
    LONGEST_KEY,
    MOST_ADDRESSES,
    MOST_PEERS,
    KademliaMessage,
    Kind,
    PeerInfo,
    decode_message,
    encode_message,
)
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import check_peer_id
from rumormill.libp2p.wire.frames import FrameReader
from tests.helpers.interop.discovery_vectors import read

peers = st.builds(
    PeerInfo,
    st.binary(max_size=44),
    st.lists(st.binary(min_size=1, max_size=40), max_size=4).map(tuple),
    st.integers(0, 3),
)
messages = st.builds(
    KademliaMessage,
    st.sampled_from(Kind),
    st.binary(max_size=LONGEST_KEY),
    st.lists(peers, max_size=4).map(tuple),
    st.lists(peers, max_size=4).map(tuple),
)


def test_the_fields_have_the_numbers_of_the_specification() -> None:
    address = Multiaddr.parse("/ip4/192.0.2.7/tcp/4001").to_bytes()
    peer = PeerInfo(b"\x00\x03abc", (address,), 1)
    message = KademliaMessage(Kind.GET_PROVIDERS, b"key", (peer,), (peer,))
    inside = bytes.fromhex("0a05") + b"\x00\x03abc" + b"\x12\x08" + address + b"\x18\x01"
    assert len(inside) == 0x13
    assert encode_message(message) == (
        b"\x08\x03" + b"\x12\x03key" + b"\x42\x13" + inside + b"\x4a\x13" + inside
    )


def test_a_topic_has_the_key_that_go_gives_it() -> None:
    """The multihash of SHA-256 of the namespace, which has pubsub's own prefix."""
    digest = hashlib.sha256(b"floodsub:weather").digest()
    assert topic_key("weather") == b"\x12\x20" + digest
    assert place_of(topic_key("weather")) == int.from_bytes(
        hashlib.sha256(b"\x12\x20" + digest).digest(), "big"
    )


@given(messages)
def test_what_was_encoded_decodes_to_the_same(message: KademliaMessage) -> None:
    assert decode_message(encode_message(message)) == message


@given(st.binary(max_size=200))
def test_any_bytes_give_a_message_or_an_error(raw: bytes) -> None:
    try:
        message = decode_message(raw)
    except RemoteProtocolError as error:
        assert error.reason == "bad_kademlia"
    else:
        assert len(message.closer) <= MOST_PEERS and len(message.providers) <= MOST_PEERS


@pytest.mark.parametrize(
    "raw",
    [
        varint_field(1, 6),
        bytes_field(2, bytes(LONGEST_KEY + 1)),
        bytes_field(8, bytes_field(1, bytes(45))),
        bytes_field(9, b"\x0a\x05ab"),
        b"\x12",
    ],
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_kademlia"):
        decode_message(raw)


def test_more_peers_and_addresses_than_anyone_needs_are_passed_over() -> None:
    crowd = tuple(PeerInfo(bytes([each])) for each in range(MOST_PEERS + 9))
    message = KademliaMessage(Kind.GET_PROVIDERS, b"key", crowd, crowd)
    read = decode_message(encode_message(message))
    assert read.closer == read.providers == crowd[:MOST_PEERS]
    rich = PeerInfo(b"peer", tuple(bytes([each]) for each in range(MOST_ADDRESSES + 9)))
    [peer] = decode_message(encode_message(KademliaMessage(Kind.FIND_NODE, b"", (rich,)))).closer
    assert peer.addresses == rich.addresses[:MOST_ADDRESSES]


def test_records_and_what_is_not_known_are_passed_over() -> None:
    raw = varint_field(1, 1) + bytes_field(3, b"a record") + varint_field(10, 7)
    assert decode_message(raw) == KademliaMessage(Kind.GET_VALUE)


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1))
def test_places_with_more_bits_in_common_are_closer(one: int, other: int) -> None:
    bits = common_prefix(one, other)
    assert bits == common_prefix(other, one) and (bits == 256) == (one == other)
    assert (one >> (256 - bits)) == (other >> (256 - bits))


# ---- what real peers say


@pytest.mark.parametrize("peer", ["rust", "js", "go"])
def test_what_real_peers_say_is_read(peer: str) -> None:
    """In each of their sessions there are three servers, which provide the topic ``weather``."""
    seen: dict[str, list[KademliaMessage]] = {}
    for line in read("kademlia", peer):
        [frame] = FrameReader(1 << 20).feed(line.raw)
        message = decode_message(frame)
        assert message.kind.name == line.kind.split()[0]
        seen.setdefault(line.kind, []).append(message)
    [asked, *_] = seen["GET_PROVIDERS request"]
    assert asked.key == topic_key("weather")
    assert max(len(each.providers) for each in seen["GET_PROVIDERS answer"]) == 3
    for message in seen["ADD_PROVIDER request"]:
        assert message.key == topic_key("weather") and message.providers
    for message in seen["FIND_NODE answer"]:
        for each in message.closer:
            assert check_peer_id(each.peer_id)
