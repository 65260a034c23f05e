"""Message ids: the same message must have the same id on every node that chose the same name."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.pubsub.topics.message_id import NEED_AUTHOR, PROFILES, message_id_function
from rumormill.libp2p.stack.keys import PublicKey
from rumormill.libp2p.wire import IHave, decode_rpc
from rumormill.libp2p.wire.message import WireMessage, build_message
from tests.helpers.libp2p import wire_vectors
from tests.helpers.libp2p.workbench import identity, signed

AUTHOR = identity("author")
MESSAGE = signed("author", "weather", b"rain", sequence=0x0102)


def id_by(profile: str, message: WireMessage = MESSAGE) -> bytes:
    return message_id_function(profile)(message)


def test_origin_bytes_is_author_then_sequence_as_in_go() -> None:
    assert id_by("origin_bytes") == AUTHOR.peer_id + (0x0102).to_bytes(8, "big")


def test_rust_text_is_base58_author_then_decimal_sequence() -> None:
    assert id_by("rust_text") == f"{AUTHOR.peer}{0x0102}".encode()


def test_js_pubkey_is_the_authors_marshalled_key_then_sequence() -> None:
    assert id_by("js_pubkey") == AUTHOR.public_key.to_protobuf() + (0x0102).to_bytes(8, "big")


def test_js_pubkey_takes_the_key_that_was_sent_where_the_author_is_a_hash() -> None:
    message = WireMessage(b"")
    message.sender_id, message.sequence, message.key = b"\x12\x20" + bytes(32), bytes(8), b"key"
    assert id_by("js_pubkey", message) == b"key" + bytes(8)


def test_js_pubkey_fills_up_a_sequence_that_came_without_its_leading_zeros() -> None:
    message = WireMessage(b"")
    message.sender_id, message.sequence = AUTHOR.peer_id, b"\x01\x02"
    assert id_by("js_pubkey", message) == id_by("js_pubkey")


def test_nim_text_is_hex_sequence_then_base58_author() -> None:
    assert id_by("nim_text") == f"{'0000000000000102'}{AUTHOR.peer}".encode()


def test_sha256_is_the_hash_of_the_data_alone() -> None:
    assert id_by("sha256") == hashlib.sha256(b"rain").digest()
    other_topic = build_message(data=b"rain", topics=("other",))
    assert id_by("sha256", other_topic) == id_by("sha256")


BEACON_BLOCK = "/eth2/4a26c58b/beacon_block/ssz_snappy"
"""A topic of Ethereum; of 38 bytes."""


def by_hand(domain: str, data: bytes) -> bytes:
    """Ethereum's id, byte by byte as its specification has it."""
    before = bytes.fromhex(domain + "26" + "00" * 7) + b"/eth2/4a26c58b/beacon_block/ssz_snappy"
    return hashlib.sha256(before + data).digest()[:20]


def test_ethereum_hashes_topic_and_inflated_data_where_it_is_valid_snappy() -> None:
    packed = bytes((4, 3 << 2)) + b"rain"  # the length, then a literal of four bytes
    message = build_message(data=packed, topics=(BEACON_BLOCK,))
    assert id_by("ethereum", message) == by_hand("01000000", b"rain")
    assert id_by("ethereum", message).hex() == "b93bd6b293e1ded900f77992d63e1cd3e03a1b9d"
    message.open(b"rain")
    assert id_by("ethereum", message) == by_hand("01000000", b"rain"), "opened by a transform"


@pytest.mark.parametrize("data", [b"rain", b"", b"\xff\xff\xff\xff\x0f\x00"])
def test_ethereum_hashes_what_was_sent_where_that_is_no_valid_snappy(data: bytes) -> None:
    message = build_message(data=data, topics=(BEACON_BLOCK,))
    assert id_by("ethereum", message) == by_hand("00000000", data)


def test_ethereum_tells_topics_apart_and_never_valid_from_invalid_data() -> None:
    ids = {
        id_by("ethereum", build_message(data=data, topics=(topic,)))
        for topic in ("weather", "weathe")
        for data in (b"\x04\x0crain", b"rain", b"\x05\x10rrain")
    }
    assert len(ids) == 6


@pytest.mark.parametrize("profile", NEED_AUTHOR)
def test_every_profile_with_an_author_tells_messages_apart(profile: str) -> None:
    others = [
        signed("author", "weather", b"rain", sequence=0x0103),
        signed("another author", "weather", b"rain", sequence=0x0102),
    ]
    assert len({id_by(profile, each) for each in [MESSAGE, *others]}) == 3


def test_the_profiles_never_agree_on_a_message() -> None:
    assert len({id_by(profile) for profile in PROFILES}) == len(PROFILES)


def test_the_ids_in_a_go_nodes_gossip_are_origin_bytes() -> None:
    known = set()
    gossiped = set()
    for name, frame in wire_vectors.all_frames():
        rpc = decode_rpc(frame.rpc)
        known |= {id_by("origin_bytes", message) for message in rpc.messages}
        if "-to-" in name and rpc.control is not None:
            gossiped |= {each for ihave in rpc.control.of(IHave) for each in ihave.message_ids}
    assert gossiped
    assert gossiped <= known


def test_a_function_of_the_users_own_is_taken_as_it_is() -> None:
    def own(message: WireMessage) -> bytes:
        return message.data[:4]

    assert message_id_function(own) is own


def test_an_unknown_profile_names_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"message_id: 'go' is none of origin_bytes, rust_text"):
        message_id_function("go")


@given(
    sender_id=st.none() | st.binary(max_size=44),
    sequence=st.none() | st.binary(max_size=9),
    key=st.none() | st.binary(max_size=40),
    data=st.binary(max_size=40),
)
def test_every_profile_gives_bytes_for_any_message(**parts: Any) -> None:
    message = WireMessage(b"")
    message.topics = ("weather",)
    for name, value in parts.items():
        setattr(message, name, value)
    for profile in PROFILES:
        assert isinstance(id_by(profile, message), bytes)


def test_the_key_in_an_authors_id_is_the_marshalled_key() -> None:
    assert PublicKey.from_protobuf(AUTHOR.peer_id[2:]) == AUTHOR.public_key
