"""What neighbours tell each other, as bytes."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.routing.messages import (
    Goodbye,
    Group,
    Hello,
    RoutingMessage,
    Update,
    decode_message,
    encode_message,
    name_without_epoch,
    node_with_epoch,
)
from rumormill.ndn.wire.name import component, name_from_uri
from rumormill.ndn.wire.tlv import number_tlv, tlv

names = st.lists(st.binary(max_size=12).map(component), max_size=5).map(b"".join)
nodes = st.builds(node_with_epoch, names, st.binary(min_size=8, max_size=8))
numbers = st.integers(0, 2**64 - 1)
groups = st.builds(Group, nodes, st.integers(0, 16), st.lists(names, max_size=4).map(tuple))
messages: st.SearchStrategy[RoutingMessage] = st.one_of(
    st.builds(Hello, nodes, numbers, st.binary(min_size=8, max_size=8), st.booleans()),
    st.builds(
        Update, nodes, st.integers(1, 2**64 - 1), st.booleans(), st.booleans(),
        st.lists(groups, max_size=4).map(tuple),
    ),
    st.builds(Goodbye, nodes),
)  # fmt: skip


@given(messages)
def test_what_was_written_is_read_as_the_same(message: RoutingMessage) -> None:
    assert decode_message(encode_message(message)) == message


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_remote_error(raw: bytes) -> None:
    with contextlib.suppress(RemoteProtocolError):
        decode_message(raw)


@given(messages, st.data())
def test_a_damaged_message_is_another_message_or_a_remote_error(
    message: RoutingMessage, data: st.DataObject
) -> None:
    raw = bytearray(encode_message(message))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode_message(bytes(raw))
    except RemoteProtocolError:
        return
    assert decode_message(encode_message(found)) == found


@given(messages, st.integers(0, 1000))
def test_a_message_that_is_cut_is_a_remote_error(message: RoutingMessage, size: int) -> None:
    raw = encode_message(message)
    with pytest.raises(RemoteProtocolError):
        decode_message(raw[: size % len(raw)])


NODE = node_with_epoch(name_from_uri("/alice"), b"12345678")
HELLO = tlv(0x87, NODE) + number_tlv(0x89, 7) + tlv(0x8B, b"abcdefgh")


def test_unknown_elements_are_passed_over_if_their_type_is_even() -> None:
    assert decode_message(tlv(0x81, HELLO + tlv(0xF0, b"later"))) == Hello(NODE, 7, b"abcdefgh")
    with pytest.raises(RemoteProtocolError, match="unknown_critical"):
        decode_message(tlv(0x81, HELLO + tlv(0xF1, b"later")))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        tlv(0x99, HELLO),
        tlv(0x81, HELLO) + b"\0",
        tlv(0x81, HELLO[:-1] + b""),
        tlv(0x81, tlv(0x87, NODE)),
        tlv(0x81, number_tlv(0x89, 7) + tlv(0x87, NODE)),
        tlv(0x81, HELLO + HELLO),
        tlv(0x81, HELLO.replace(b"abcdefgh", b"abcdefg\0\0")),
        tlv(0x83, tlv(0x87, NODE)),
        tlv(0x83, tlv(0x87, NODE) + number_tlv(0x89, 0)),
        tlv(0x83, tlv(0x87, NODE) + number_tlv(0x89, 1) + tlv(0x93, tlv(0x87, NODE))),
        tlv(
            0x83,
            tlv(0x87, NODE)
            + number_tlv(0x89, 1)
            + tlv(0x93, tlv(0x87, NODE) + number_tlv(0x95, 17)),
        ),
        tlv(0x85, b""),
        tlv(0x85, tlv(0x87, name_from_uri("/alice"))),
        tlv(0x85, tlv(0x87, name_from_uri("/a") + component(b"x\x08\x0812345678"))),
        tlv(0x85, tlv(0x87, name_from_uri("/" + "a" * 600) + component(b"12345678"))),
    ],
)
def test_what_is_no_message_is_a_remote_error(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_message(raw)


def test_the_epoch_is_the_end_of_the_name_of_a_node() -> None:
    assert name_without_epoch(NODE) == name_from_uri("/alice")
    assert name_from_uri("/alice/12345678") == NODE
