"""The RPC codec: reads all that protobuf allows, nothing above its limits, and loses nothing."""

from __future__ import annotations

import contextlib
import tracemalloc
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.core.topic import LONGEST_TOPIC
from rumormill.libp2p.wire import (
    Control,
    ExchangedPeer,
    Graft,
    IHave,
    IWant,
    Prune,
    Rpc,
    RpcLimits,
    Subscription,
    decode_rpc,
    message_frame,
)
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.message import build_message
from rumormill.libp2p.wire.rpc import decode_subscriptions
from tests.helpers.core import protobuf_bytes
from tests.helpers.core.protobuf_bytes import delimited
from tests.helpers.libp2p import protobuf_oracle
from tests.helpers.libp2p.rpc_encoding import encode_rpc

# What we refuse though it is protobuf.
OUR_OWN_REASONS = {
    "bad_topic", "too_many_topics", "too_many_fields", "too_many_messages",
    "too_many_subscriptions", "control_too_large", "too_many_message_ids",
    "too_many_control_messages", "bad_message_id",
}  # fmt: skip


def rpc_of(control: bytes) -> bytes:
    return delimited(3, control)


def comparable(rpc: Rpc) -> tuple[Any, ...]:
    """An RPC with each message as its bytes, since messages are compared by identity."""
    return (rpc.subscriptions, tuple(each.raw for each in rpc.messages), rpc.control, rpc.other)


def refused(raw: bytes, limits: RpcLimits = RpcLimits()) -> str:  # noqa: B008
    with pytest.raises(RemoteProtocolError) as caught:
        decode_rpc(raw, limits)
    return caught.value.reason


# ---- round trips

nothing = st.just(b"")
topics = st.text(max_size=12)
message_ids = st.lists(st.binary(max_size=12), max_size=4).map(tuple)
backoffs = st.none() | st.integers(0, (1 << 64) - 1)
exchanged = st.lists(
    st.builds(ExchangedPeer, st.binary(max_size=40), st.binary(max_size=200), nothing), max_size=3
).map(tuple)
controls = st.builds(
    lambda *kinds: Control(tuple(entry for entries in kinds for entry in entries)),
    st.lists(st.builds(IHave, topics, message_ids, nothing), max_size=3),
    st.lists(st.builds(IWant, message_ids, nothing), max_size=3),
    st.lists(st.builds(Graft, topics, nothing), max_size=3),
    st.lists(st.builds(Prune, topics, backoffs, exchanged, nothing), max_size=3),
)
rpcs = st.builds(
    Rpc,
    subscriptions=st.lists(
        st.builds(Subscription, st.booleans(), topics, nothing), max_size=3
    ).map(tuple),
    messages=st.lists(
        st.builds(
            lambda data, topic: build_message(data=data, topics=(topic,)),
            st.binary(max_size=40), topics,
        ),
        max_size=3,
    ).map(tuple),
    control=st.none() | controls,
    other=nothing,
)  # fmt: skip


@given(rpcs)
def test_what_is_written_reads_back_the_same(rpc: Rpc) -> None:
    assert comparable(decode_rpc(encode_rpc(rpc))) == comparable(rpc)


@given(rpcs)
def test_what_is_written_is_what_googles_library_writes(rpc: Rpc) -> None:
    frame = encode_rpc(rpc)
    assert protobuf_oracle.RPC.FromString(frame).SerializeToString() == frame


@given(protobuf_bytes.rpcs)
def test_re_encoding_loses_nothing_not_even_unknown_fields(frame: bytes) -> None:
    try:
        rpc = decode_rpc(frame)
    except RemoteProtocolError:
        assume(False)
    again = decode_rpc(encode_rpc(rpc))
    assert comparable(again) == comparable(rpc)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_or_refused_and_nothing_else(frame: bytes) -> None:
    try:
        decode_rpc(frame)
    except RemoteProtocolError as error:
        assert error.reason.isidentifier()


# ---- a second opinion


def statements(rpc: Rpc) -> tuple[Any, ...]:
    control = rpc.control or Control()
    return (
        [(each.subscribe, each.topic.encode()) for each in rpc.subscriptions],
        [(m.sender_id, m.data, [t.encode() for t in m.topics]) for m in rpc.messages],
        rpc.control is not None,
        [(each.topic.encode(), each.message_ids) for each in control.of(IHave)],
        [each.message_ids for each in control.of(IWant)],
        [each.topic.encode() for each in control.of(Graft)],
        [
            (each.topic.encode(), each.backoff, [(p.peer_id, p.record) for p in each.peers])
            for each in control.of(Prune)
        ],
    )


def sender_of(message: Any) -> bytes | None:
    return getattr(message, "from") if message.HasField("from") else None


def oracle_statements(rpc: Any) -> tuple[Any, ...]:
    control = rpc.control
    return (
        [(each.subscribe, each.topicid) for each in rpc.subscriptions],
        [(sender_of(m), m.data, list(dict.fromkeys(m.topics))) for m in rpc.publish],
        rpc.HasField("control"),
        [(each.topic, tuple(each.ids)) for each in control.ihave],
        [tuple(each.ids) for each in control.iwant],
        [each.topic for each in control.graft],
        [
            (
                p.topic,
                p.backoff if p.HasField("backoff") else None,
                [(each.peerID, each.signedPeerRecord) for each in p.peers],
            )
            for p in control.prune
        ],
    )  # fmt: skip


LONG_MESSAGE = delimited(2, delimited(2, bytes(200)) + delimited(4, b"t"))
SHORT_MESSAGE = delimited(2, delimited(4, b"t"))


@given(protobuf_bytes.rpcs)
@example(SHORT_MESSAGE)
@example(SHORT_MESSAGE * 2)
@example(LONG_MESSAGE)
@example(LONG_MESSAGE + SHORT_MESSAGE)
@example(LONG_MESSAGE + delimited(1, delimited(2, b"t")))
@example(LONG_MESSAGE[:-1])
@example(delimited(2, delimited(4, b"t"), padding=1))
def test_every_form_of_an_rpc_is_read_as_googles_library_reads_it(frame: bytes) -> None:
    parsed = protobuf_oracle.parse(protobuf_oracle.RPC, frame)
    try:
        rpc = decode_rpc(frame)
    except RemoteProtocolError as error:
        assert parsed is None or error.reason in OUR_OWN_REASONS
    else:
        assert statements(rpc) == oracle_statements(parsed)


def test_a_control_field_that_comes_twice_is_one_control() -> None:
    twice = rpc_of(delimited(3, delimited(1, b"a"))) + rpc_of(delimited(3, delimited(1, b"b")))
    assert decode_rpc(twice).control == Control((Graft("a"), Graft("b")))


def test_an_empty_rpc_is_an_rpc_without_control() -> None:
    assert decode_rpc(b"") == Rpc()
    assert decode_rpc(rpc_of(b"")).control == Control()


def test_what_is_missing_has_its_default() -> None:
    rpc = decode_rpc(delimited(1, b"") + rpc_of(delimited(1, b"") + delimited(4, b"")))
    assert rpc.subscriptions == (Subscription(False, ""),)
    assert rpc.control == Control((IHave("", ()), Prune("", None)))


def test_fields_of_later_versions_stay_where_they_were() -> None:
    idontwant = delimited(5, delimited(1, b"id"))
    unknown = delimited(7, b"later")
    peers = delimited(2, delimited(1, b"peer") + unknown)
    control = delimited(4, delimited(1, b"t") + peers + varint_field(3, 60) + unknown) + idontwant
    partial = varint_field(3, 1)
    frame = delimited(1, varint_field(1, 1) + delimited(2, b"t") + partial) + rpc_of(control)
    frame += delimited(10, b"partial")
    rpc = decode_rpc(frame)
    assert rpc.subscriptions[0].other == partial
    assert rpc.control is not None
    exchanged = (ExchangedPeer(b"peer", b"", unknown),)
    assert rpc.control.of(Prune) == (Prune("t", 60, exchanged, unknown),)
    assert rpc.control.other == idontwant
    assert rpc.other == delimited(10, b"partial")
    assert encode_rpc(rpc) == frame


def test_message_ids_are_bytes_and_need_not_be_text() -> None:
    frame = encode_rpc(Rpc(control=Control((IWant((b"\xff\x00",)),))))
    control = decode_rpc(frame).control
    assert control is not None
    assert control.of(IWant)[0].message_ids == (b"\xff\x00",)


@pytest.mark.parametrize("backoff", [0, 1, (1 << 63), (1 << 64) - 1])
def test_any_backoff_that_fits_64_bits_is_read(backoff: int) -> None:
    control = decode_rpc(encode_rpc(Rpc(control=Control((Prune("t", backoff),))))).control
    assert control is not None
    assert control.of(Prune)[0].backoff == backoff


def test_the_frame_of_a_message_is_an_rpc_with_its_length() -> None:
    message = build_message(data=bytes(300), topics=("t",))
    (frame,) = FrameReader(largest=1000).feed(message_frame(message))
    assert [each.raw for each in decode_rpc(frame).messages] == [message.raw]


# ---- limits

NO_TOPIC = b""


def exactly(count: int, item: bytes) -> tuple[bytes, bytes]:
    """As many as allowed, and one more."""
    return item * count, item * (count + 1)


def test_messages_per_rpc_are_limited() -> None:
    enough, too_many = exactly(3, bytes_field(2, build_message(data=b"", topics=("t",)).raw))
    limits = RpcLimits(messages=3)
    assert len(decode_rpc(enough, limits).messages) == 3
    assert refused(too_many, limits) == "too_many_messages"


def test_subscriptions_per_rpc_are_limited() -> None:
    enough, too_many = exactly(3, delimited(1, delimited(2, b"t")))
    limits = RpcLimits(subscriptions=3)
    assert len(decode_rpc(enough, limits).subscriptions) == 3
    assert refused(too_many, limits) == "too_many_subscriptions"


@pytest.mark.parametrize(("entry", "field"), [(1, 2), (2, 1)], ids=["ihave", "iwant"])
def test_message_ids_per_rpc_are_limited(entry: int, field: int) -> None:
    enough, too_many = exactly(3, delimited(entry, delimited(field, b"id")))
    limits = RpcLimits(message_ids=3)
    assert decode_rpc(rpc_of(enough), limits).control is not None
    assert refused(rpc_of(too_many), limits) == "too_many_message_ids"
    in_one = delimited(entry, delimited(field, b"id") * 4)
    assert refused(rpc_of(in_one), limits) == "too_many_message_ids"


def test_ids_of_ihave_and_iwant_are_counted_together() -> None:
    control = delimited(1, delimited(2, b"id") * 2) + delimited(2, delimited(1, b"id") * 2)
    assert refused(rpc_of(control), RpcLimits(message_ids=3)) == "too_many_message_ids"


@pytest.mark.parametrize("entry", [1, 2, 3, 4], ids=["ihave", "iwant", "graft", "prune"])
def test_control_messages_per_rpc_are_limited(entry: int) -> None:
    enough, too_many = exactly(3, delimited(entry, NO_TOPIC))
    limits = RpcLimits(control_messages=3)
    assert decode_rpc(rpc_of(enough), limits).control is not None
    assert refused(rpc_of(too_many), limits) == "too_many_control_messages"


def test_bytes_of_control_are_limited_over_all_its_parts() -> None:
    part = rpc_of(delimited(9, bytes(97)))
    limits = RpcLimits(control_bytes=300)
    assert decode_rpc(part * 3, limits).control is not None
    assert refused(part * 4, limits) == "control_too_large"


def test_topics_of_control_and_subscriptions_are_limited_like_those_of_messages() -> None:
    long = b"t" * (LONGEST_TOPIC + 1)
    for frame in (
        delimited(1, delimited(2, long)),
        *(rpc_of(delimited(entry, delimited(1, long))) for entry in (1, 3, 4)),
        delimited(2, delimited(4, long)),
    ):
        assert refused(frame) == "bad_topic"


def test_a_hundred_thousand_subscriptions_are_refused_before_they_take_memory() -> None:
    frame = b"".join(
        delimited(1, varint_field(1, 1) + delimited(2, b"topic-%06d" % index))
        for index in range(100_000)
    )
    tracemalloc.start()
    try:
        reason = refused(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reason == "too_many_subscriptions"
    assert peak < len(frame)


def test_the_default_limits_bound_every_list() -> None:
    assert refused(delimited(1, b"") * 5001) == "too_many_subscriptions"
    assert refused(delimited(2, delimited(4, b"t")) * 5001) == "too_many_messages"
    assert refused(rpc_of(delimited(3, b"") * 5001)) == "too_many_control_messages"
    assert refused(rpc_of(delimited(2, delimited(1, b"") * 5001))) == "too_many_message_ids"
    assert refused(rpc_of(bytes(256 * 1024 + 1))) == "control_too_large"
    assert refused(varint_field(15, 1) * 20_000) == "too_many_fields"


# ---- only what it says of topics


@given(st.binary(max_size=200))
def test_subscriptions_alone_are_read_from_arbitrary_bytes_or_refused(raw: bytes) -> None:
    try:
        alone, _ = decode_subscriptions(raw)
    except RemoteProtocolError:
        with pytest.raises(RemoteProtocolError):
            decode_rpc(raw)
        return
    with contextlib.suppress(RemoteProtocolError):  # what else there is may be malformed
        assert decode_rpc(raw).subscriptions == alone


def test_subscriptions_alone_are_those_of_the_whole_rpc() -> None:
    words = (Subscription(True, "t"), Subscription(False, "u"))
    raw = encode_rpc(Rpc(subscriptions=words, control=Control((Graft("t"),))))
    assert decode_subscriptions(raw) == (words, 1)
    assert decode_subscriptions(b"") == ((), 0)


def test_of_too_many_subscriptions_none_is_read_alone_either() -> None:
    words = tuple(Subscription(True, f"{number}") for number in range(4))
    with pytest.raises(RemoteProtocolError, match="too_many_subscriptions"):
        decode_subscriptions(encode_rpc(Rpc(subscriptions=words)), RpcLimits(subscriptions=3))
