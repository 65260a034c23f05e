"""identify: the message, its limits, and what google's library makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import protobuf as wire
from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.identify import (
    IdentifyInfo,
    IdentifyLimits,
    decode_identify,
    encode_identify,
)

TEXTS = st.text(max_size=40)
INFOS = st.builds(
    IdentifyInfo,
    public_key=st.binary(max_size=40),
    listen_addresses=st.lists(st.binary(min_size=1, max_size=20), max_size=5).map(tuple),
    protocols=st.lists(st.text(min_size=1, max_size=40), max_size=5).map(tuple),
    observed_address=st.binary(max_size=20),
    protocol_version=TEXTS,
    agent_version=TEXTS,
    signed_peer_record=st.binary(max_size=100),
)

ORACLE_FIELDS = [
    ("public_key", 1, "TYPE_BYTES", "LABEL_OPTIONAL"),
    ("listen_addresses", 2, "TYPE_BYTES", "LABEL_REPEATED"),
    ("protocols", 3, "TYPE_STRING", "LABEL_REPEATED"),
    ("observed_address", 4, "TYPE_BYTES", "LABEL_OPTIONAL"),
    ("protocol_version", 5, "TYPE_STRING", "LABEL_OPTIONAL"),
    ("agent_version", 6, "TYPE_STRING", "LABEL_OPTIONAL"),
    ("signed_peer_record", 8, "TYPE_BYTES", "LABEL_OPTIONAL"),
]


def make_oracle() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="identify.proto", package="oracle", syntax="proto2"
    )
    message = file.message_type.add(name="Identify")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, number, kind, label in ORACLE_FIELDS:
        message.field.add(
            name=name, number=number, type=getattr(kinds, kind), label=getattr(kinds, label)
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("oracle.Identify"))


Oracle = make_oracle()


def as_google_reads(raw: bytes) -> IdentifyInfo:
    message = Oracle.FromString(raw)
    found = {name: getattr(message, name) for name, *_ in ORACLE_FIELDS}
    for name in ("listen_addresses", "protocols"):
        found[name] = tuple(found[name])
    return IdentifyInfo(**found)


@given(INFOS)
def test_what_a_peer_says_comes_back_and_google_reads_and_writes_the_same(
    info: IdentifyInfo,
) -> None:
    raw = encode_identify(info)
    assert decode_identify(raw) == as_google_reads(raw) == info
    said = {name: value for name, value in info._asdict().items() if value}
    assert Oracle(**said).SerializeToString() == raw


@given(INFOS, INFOS)
def test_two_messages_are_merged_as_protobuf_merges(
    first: IdentifyInfo, second: IdentifyInfo
) -> None:
    raw = encode_identify(first) + encode_identify(second)
    assert decode_identify(raw) == as_google_reads(raw)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_message_or_a_remote_protocol_error(raw: bytes) -> None:
    try:
        info = decode_identify(raw)
    except RemoteProtocolError:
        return
    assert decode_identify(encode_identify(info)) is not None


def test_fields_we_do_not_know_are_passed_over() -> None:
    info = IdentifyInfo(agent_version="other", protocols=("/a",))
    unknown = (
        wire.bytes_field(7, b"delta of old")
        + wire.varint_field(1000, 5)
        + wire.encode_varint(9 << 3 | wire.FIXED64)
        + bytes(8)
        + wire.varint_field(3, 1)  # a known number of another kind is unknown too
    )
    assert decode_identify(unknown + encode_identify(info) + unknown) == info


def test_nothing_at_all_is_a_peer_that_says_nothing() -> None:
    assert decode_identify(b"") == IdentifyInfo()


@pytest.mark.parametrize("number", [3, 5, 6])
def test_text_that_is_not_utf8_is_refused(number: int) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode_identify(wire.bytes_field(number, b"/caf\xe9"))
    assert caught.value.reason == "bad_identify"


@pytest.mark.parametrize(
    "raw",
    [
        bytes(65_537),
        wire.bytes_field(2, b"") * 129,
        wire.bytes_field(3, b"/p") * 257,
        wire.bytes_field(3, b"p" * 1025),
        wire.bytes_field(6, b"a" * 1025),
    ],
)
def test_more_than_the_limits_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode_identify(raw)
    assert caught.value.reason == "identify_too_large"


def test_exactly_the_limits_pass() -> None:
    limits = IdentifyLimits(largest=40, addresses=2, protocols=3, longest_text=4)
    info = IdentifyInfo(
        listen_addresses=(b"a", b"b"), protocols=("/abc", "/b", "/c"), agent_version="four"
    )
    assert decode_identify(encode_identify(info), limits) == info


def test_limits_hold_over_all_messages_of_a_stream_together() -> None:
    one = encode_identify(IdentifyInfo(listen_addresses=(b"a",) * 100))
    assert len(decode_identify(one).listen_addresses) == 100
    with pytest.raises(RemoteProtocolError):
        decode_identify(one + one)
