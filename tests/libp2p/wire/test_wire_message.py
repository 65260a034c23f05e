"""Messages on the wire: read in every form that protobuf allows, and signed as others sign."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import MOST_FIELDS, varint_field
from rumormill.core.topic import LONGEST_TOPIC
from rumormill.libp2p.wire import message as wire_message
from rumormill.libp2p.wire.message import (
    SIGNATURE_PREFIX,
    WireMessage,
    build_message,
    decode_message,
    decode_topic,
)
from tests.helpers.core import protobuf_bytes
from tests.helpers.core.protobuf_bytes import delimited
from tests.helpers.libp2p import protobuf_oracle

FROM, DATA, SEQNO, TOPIC, SIGNATURE, KEY = 1, 2, 3, 4, 5, 6
# What we refuse though it is protobuf.
OUR_OWN_REASONS = {"bad_topic", "too_many_topics", "too_many_fields"}


def encoded(*fields: tuple[int, bytes]) -> bytes:
    return b"".join(delimited(number, value) for number, value in fields)


def oracle_payload(raw: bytes) -> bytes:
    """What Google's library would sign: the message without signature and key."""
    parsed = protobuf_oracle.Message.FromString(raw)
    parsed.ClearField("signature")
    parsed.ClearField("key")
    return SIGNATURE_PREFIX + bytes(parsed.SerializeToString())


# ---- reading


def test_a_message_gives_its_parts_and_keeps_its_bytes() -> None:
    raw = encoded(
        (FROM, b"me"), (DATA, b"rain"), (SEQNO, bytes(8)), (TOPIC, b"weather"),
        (SIGNATURE, b"s" * 64), (KEY, b"k"),
    )  # fmt: skip
    message = decode_message(raw)
    assert message.raw == raw
    assert (message.sender_id, message.data, message.sequence) == (b"me", b"rain", bytes(8))
    assert (message.topics, message.signature, message.key) == (("weather",), b"s" * 64, b"k")


def test_an_absent_field_is_none_and_an_empty_one_is_empty() -> None:
    absent = decode_message(encoded((TOPIC, b"weather")))
    assert (absent.sender_id, absent.sequence, absent.signature, absent.key) == (None,) * 4
    assert absent.data == b""
    empty = decode_message(
        encoded(*((number, b"") for number in (1, 2, 3)), (TOPIC, b"t"), (5, b""), (6, b""))
    )
    assert (empty.sender_id, empty.sequence, empty.signature, empty.key) == (b"",) * 4


def test_the_old_list_of_topics_and_the_single_topic_are_both_read() -> None:
    assert decode_message(encoded((TOPIC, b"a"))).topics == ("a",)
    assert decode_message(encoded((TOPIC, b"a"), (TOPIC, b"b"))).topics == ("a", "b")


def test_a_topic_named_twice_counts_once() -> None:
    assert decode_message(encoded((TOPIC, b"a"), (TOPIC, b"b"), (TOPIC, b"a"))).topics == ("a", "b")


def test_a_message_needs_a_topic() -> None:
    with pytest.raises(RemoteProtocolError, match="bad_topic"):
        decode_message(encoded((DATA, b"rain")))
    with pytest.raises(RemoteProtocolError, match="bad_topic"):
        decode_message(b"")


def test_a_topic_must_be_utf8_and_not_too_long() -> None:
    assert decode_topic(b"t" * LONGEST_TOPIC) == "t" * LONGEST_TOPIC
    for bad in (b"t" * (LONGEST_TOPIC + 1), b"\xff", "\ud800".encode("utf-8", "surrogatepass")):
        with pytest.raises(RemoteProtocolError, match="bad_topic"):
            decode_topic(bad)


@pytest.mark.parametrize("order", ["in order", "out of order"])
def test_more_topics_than_allowed_are_refused(order: str) -> None:
    topics = [(TOPIC, b"t%d" % index) for index in range(5)]
    late = [] if order == "in order" else [(DATA, b"late")]
    assert len(decode_message(encoded(*topics, *late), most_topics=5).topics) == 5
    with pytest.raises(RemoteProtocolError, match="too_many_topics"):
        decode_message(encoded(*topics, *late), most_topics=4)


def test_topics_are_counted_before_names_that_repeat_are_left_out() -> None:
    with pytest.raises(RemoteProtocolError, match="too_many_topics"):
        decode_message(encoded(*[(TOPIC, b"same")] * 33))


def test_a_message_of_countless_fields_is_refused() -> None:
    raw = encoded((TOPIC, b"t")) + varint_field(9, 1) * MOST_FIELDS
    with pytest.raises(RemoteProtocolError, match="too_many_fields"):
        decode_message(raw)


@pytest.mark.parametrize("cut", [1, 7, 8, 10, 11, 200, 209, 210])
def test_a_message_that_is_cut_short_is_refused(cut: int) -> None:
    raw = encoded((DATA, b"x" * 200), (TOPIC, b"weather"))
    with pytest.raises(RemoteProtocolError, match="bad_protobuf"):
        decode_message(raw[:-cut])


@st.composite
def nearly_common(draw: st.DrawFn) -> bytes:
    """A signed message of the common form, or one in which a few bytes were changed."""
    raw = bytearray(
        encoded(
            (FROM, draw(st.sampled_from([bytes(36), b"\x00$" + bytes(34), b"", bytes(130)]))),
            (DATA, bytes(draw(st.sampled_from([0, 1, 66, 127, 128, 1024, 20_000])))),
            (SEQNO, bytes(draw(st.sampled_from([8, 8, 8, 7, 0])))),
            (TOPIC, b"t" * draw(st.sampled_from([0, 1, 12, 127, 128]))),
            (SIGNATURE, bytes(draw(st.sampled_from([64, 64, 63, 128])))),
        )
    )
    # Where the heads of the fields are, changes are likely to matter.
    heads = [at for at, byte in enumerate(raw) if byte]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.sampled_from(heads))
        raw[at] = draw(st.integers(0, 255))
    end = draw(st.sampled_from([len(raw), len(raw) - 1, len(raw) // 2]))
    return bytes(raw[:end]) + draw(st.sampled_from([b"", b"", b"\x32\x00", b"\x00"]))


def outcome(read: Callable[[], WireMessage]) -> object:
    """All that a reader makes of a message, or why it refuses it."""
    try:
        message = read()
    except RemoteProtocolError as error:
        return error.reason
    assert not message.is_open
    return [getattr(message, name) for name in WireMessage.__slots__ if name != "wire_data"]


@given(nearly_common())
def test_the_straight_reader_finds_what_the_careful_one_finds(raw: bytes) -> None:
    straight = outcome(lambda: decode_message(raw))
    assert straight == outcome(lambda: wire_message._decode_in_order(raw, 32))


def test_the_common_form_is_read_straight() -> None:
    raw = encoded(
        (FROM, bytes(36)), (DATA, bytes(1024)), (SEQNO, bytes(8)), (TOPIC, b"weather"),
        (SIGNATURE, bytes(64)),
    )  # fmt: skip
    assert wire_message._decode_signed(raw) is not None


def test_of_a_field_that_comes_twice_the_last_counts() -> None:
    raw = encoded((DATA, b"first"), (TOPIC, b"t"), (DATA, b"last"), (FROM, b"a"), (FROM, b"b"))
    message = decode_message(raw)
    assert (message.data, message.sender_id) == (b"last", b"b")


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused_and_nothing_else(raw: bytes) -> None:
    try:
        message = decode_message(raw)
    except RemoteProtocolError:
        return
    assert message.raw == raw
    assert message.signed_payload().startswith(SIGNATURE_PREFIX)


# ---- a second opinion


def ours(raw: bytes) -> WireMessage | None:
    try:
        return decode_message(raw)
    except RemoteProtocolError as error:
        assume(error.reason not in OUR_OWN_REASONS)
        return None


def parts(message: WireMessage) -> tuple[object, ...]:
    return (
        message.sender_id, message.data, message.sequence, message.signature, message.key,
        tuple(topic.encode() for topic in message.topics),
    )  # fmt: skip


def oracle_parts(parsed: object) -> tuple[object, ...]:
    def optional(name: str) -> bytes | None:
        value: bytes = getattr(parsed, name)
        return value if parsed.HasField(name) else None  # type: ignore[attr-defined]

    topics = tuple(dict.fromkeys(parsed.topics))  # type: ignore[attr-defined]
    data = optional("data") or b""
    return (
        optional("from"), data, optional("seqno"), optional("signature"), optional("key"), topics,
    )  # fmt: skip


@given(protobuf_bytes.messages)
@example(b"\x22\x81\x00t")
@example(b"\x28\x01\x22\x01t")
def test_every_form_of_a_message_is_read_as_googles_library_reads_it(raw: bytes) -> None:
    message = ours(raw)
    parsed = protobuf_oracle.parse(protobuf_oracle.Message, raw)
    assert (message is None) == (parsed is None)
    if message is not None:
        assert parts(message) == oracle_parts(parsed)


@given(protobuf_bytes.messages)
@example(b"\x22\x81\x00t")  # a length in two bytes where one would do
@example(b"\x28\x01\x22\x01t")  # the signature's number with another wire type: an unknown field
@example(b"\x22\x01t\x38\x81\x00")  # an unknown number in more bytes than it needs
@example(b"\x22\x01t\x12\x01d")  # out of order
@example(b"\x32\x01k\x2a\x01s\x22\x01t")  # signature and key first
@example(b"\x22\x01t\x2a\x01s\x32\x01k")  # both last
@example(b"\x22\x01t\x32\x01k")  # a key without a signature
def test_what_is_signed_is_what_googles_library_would_sign(raw: bytes) -> None:
    message = ours(raw)
    if message is not None:
        assert message.signed_payload() == oracle_payload(raw)


@given(st.binary(max_size=300))
def test_what_googles_library_refuses_we_refuse(raw: bytes) -> None:
    if protobuf_oracle.parse(protobuf_oracle.Message, raw) is None:
        with pytest.raises(RemoteProtocolError):
            decode_message(raw)


# ---- writing


@given(
    data=st.binary(max_size=300),
    topics=st.lists(st.text(max_size=20), min_size=1, max_size=3, unique=True),
    sender_id=st.none() | st.binary(max_size=40),
    sequence=st.none() | st.binary(max_size=8),
)
def test_what_we_build_reads_back_the_same(
    data: bytes, topics: list[str], sender_id: bytes | None, sequence: bytes | None
) -> None:
    built = build_message(data=data, topics=tuple(topics), sender_id=sender_id, sequence=sequence)
    again = decode_message(built.raw)
    assert parts(again) == parts(built)
    assert again.signed_payload() == built.signed_payload() == oracle_payload(built.raw)


def test_our_own_message_is_written_in_the_order_of_field_numbers() -> None:
    built = build_message(data=b"d", topics=("t",), sender_id=b"f", sequence=b"s")
    assert built.raw == protobuf_oracle.Message.FromString(built.raw).SerializeToString()


def test_a_message_shows_itself_in_a_few_words() -> None:
    message = build_message(data=b"rain", topics=("a", "b"))
    message.id = b"\x01\x02"
    assert repr(message) == "<WireMessage a+b 4 bytes id=0102>"


def test_an_open_message_shows_the_application_s_data_and_is_passed_on_as_it_came() -> None:
    message = build_message(data=b"packed", topics=("t",), sign=lambda _: b"signature")
    raw, payload = message.raw, message.signed_payload()
    message.open(b"what was packed")
    assert (message.data, message.wire_data) == (b"what was packed", b"packed")
    assert (message.raw, message.signed_payload()) == (raw, payload)
    assert message.weight == len(raw) + len(b"what was packed")
    message.close()
    message.close()
    assert (message.data, message.weight, message.is_open) == (b"packed", len(raw), False)
