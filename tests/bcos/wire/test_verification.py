"""Private topics: their names, and the two packets about them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.wire.topic_body import LONGEST_TOPIC, encode_body
from rumormill.bcos.wire.verification import (
    LONGEST_FOR_GO,
    LONGEST_PRIVATE_TOPIC,
    MOST_BYTES,
    TopicStatus,
    VerifyRequest,
    check_private_topic,
    decode_topic_status,
    decode_verify_request,
    encode_topic_status,
    encode_verify_request,
    is_need_verify,
    name_of_verify_channel,
    need_verify,
    plain_topic,
    push_channel,
    verify_channel,
    verify_channels,
    verify_channels_of,
)
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

NODE_ID = (
    "2bb4562f4f4b69e2c5156510da4beddfca548403eb7cea49bd56daed46de31e4"
    "d78a44fdfa051170c64f0233dbc0fd75b5b4e8bc2df50a3c9ade833794128623"
)
UUID = "92be6ce4dbd311eaae5a983b8fda4e0e"
HELLO = "#!$TopicNeedVerify_hello"

# As the protocol's document shows them.
VERIFY_SAMPLE = (
    f'{{"nodeId":"{NODE_ID}","topic":"#!$TopicNeedVerify_hello","topicForCert":'
    '"#!$VerifyChannel_#!$TopicNeedVerify_hello_92be6ce4dbd311eaae5a983b8fda4e0e"}'
).encode()
STATUS_SAMPLE = (
    f'{{"checkResult":0,"nodeId":"{NODE_ID}","topic":"#!$TopicNeedVerify_hello"}}'.encode()
)

TOPICS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(
    lambda topic: not is_need_verify(topic)
)
UUIDS = st.text("0123456789abcdefABCDEF", min_size=32, max_size=32)


# ---- names


def test_names_are_those_of_the_document() -> None:
    assert need_verify("hello") == HELLO
    assert push_channel(HELLO) == "#!$PushChannel_#!$TopicNeedVerify_hello"
    assert verify_channel(HELLO, UUID) == f"#!$VerifyChannel_#!$TopicNeedVerify_hello_{UUID}"


@given(TOPICS, UUIDS)
def test_names_lead_back_to_their_topic(topic: str, uuid: str) -> None:
    name = need_verify(topic)
    channel = verify_channel(name, uuid)
    assert is_need_verify(name) and plain_topic(name) == topic
    assert name_of_verify_channel(channel) == name
    assert verify_channels_of(name, [topic, channel, name]) == [channel]
    for other in (topic, channel, push_channel(name)):
        assert not is_need_verify(other)


def test_channels_of_other_topics_with_the_same_beginning_are_not_mixed_up() -> None:
    longer = need_verify(f"hello_{UUID}")
    mine = [verify_channel(HELLO, UUID), verify_channel(HELLO, "0" * 32)]
    others = [verify_channel(need_verify("hello_x"), UUID), verify_channel(longer, UUID)]
    topics = [others[0], mine[0], HELLO, "weather", mine[1], others[1], push_channel(HELLO)]
    assert verify_channels_of(HELLO, topics) == mine
    assert verify_channels_of(longer, topics) == [others[1]]
    assert verify_channels(topics) == {
        need_verify("hello_x"): [others[0]],
        HELLO: mine,
        longer: [others[1]],
    }


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "hello",
        HELLO,
        push_channel(HELLO),
        f"#!$VerifyChannel_{HELLO}",
        f"#!$VerifyChannel_{HELLO}_",
        f"#!$VerifyChannel_{HELLO}_{UUID[1:]}",
        f"#!$VerifyChannel_{HELLO}_{UUID}0",
        f"#!$VerifyChannel_{HELLO}_{UUID}\n",
        f"#!$VerifyChannel_{HELLO}_{UUID[1:]}g",
        f"#!$VerifyChannel_{HELLO}-{UUID}",
        f"#!$VerifyChannel_{HELLO}_{'٣' * 32}",
        f"#!$VerifyChannel_hello_{UUID}",
        f"#!$VerifyChannel_#!$TopicNeedVerify__{UUID}",
        f"#!$VerifyChannel_#!$TopicNeedVerify_{UUID}",
        "#!$VerifyChannel_#!$TopicNeedVerify_",
        f"x#!$VerifyChannel_{HELLO}_{UUID}",
    ],
)
def test_what_only_looks_like_a_channel_is_none(topic: str) -> None:
    assert name_of_verify_channel(topic) is None
    assert verify_channels([topic]) == {}
    assert verify_channels_of(HELLO, [topic]) == []


def test_the_longest_private_topic_has_names_that_can_be_sent() -> None:
    assert (LONGEST_PRIVATE_TOPIC, LONGEST_FOR_GO) == (185, 168)
    longest = verify_channel(need_verify("t" * LONGEST_PRIVATE_TOPIC), UUID)
    assert len(longest) == LONGEST_TOPIC
    encode_body(longest, b"")
    for_go = verify_channel(need_verify("t" * LONGEST_FOR_GO), UUID)
    encode_body("#!$VerifyChannel_" + for_go, b"")


@pytest.mark.parametrize("topic", ["", "t" * 186, "ä" * 93])
def test_a_topic_that_cannot_be_private_is_refused_by_a_sentence(topic: str) -> None:
    with pytest.raises(LocalProtocolError, match=r"bytes, it may have 1 to 185"):
        need_verify(topic)


def test_a_topic_can_be_too_long_for_publishers_of_the_go_sdk_alone() -> None:
    check_private_topic("t" * 168, LONGEST_FOR_GO)
    with pytest.raises(LocalProtocolError, match="has 169 bytes, it may have 1 to 168"):
        check_private_topic("t" * 169, LONGEST_FOR_GO)
    check_private_topic("t" * 169)


def test_a_name_is_not_made_private_twice() -> None:
    with pytest.raises(LocalProtocolError, match="already the name of a private topic"):
        need_verify(HELLO)
    with pytest.raises(LocalProtocolError, match="'hello' is not the name of a private topic"):
        plain_topic("hello")


@pytest.mark.parametrize("uuid", ["", UUID[1:], UUID + "0", UUID[1:] + "g", UUID + "\n"])
def test_a_channel_needs_32_hex_digits(uuid: str) -> None:
    with pytest.raises(LocalProtocolError, match="are not 32 hex digits"):
        verify_channel(HELLO, uuid)


# ---- packets


def test_the_samples_of_the_document_are_read_and_written() -> None:
    request = VerifyRequest(NODE_ID, HELLO, verify_channel(HELLO, UUID))
    assert decode_verify_request(VERIFY_SAMPLE) == request
    assert encode_verify_request(*request) == VERIFY_SAMPLE + b"\n"
    status = TopicStatus(True, NODE_ID, HELLO)
    assert decode_topic_status(STATUS_SAMPLE) == status
    assert encode_topic_status(*status) == STATUS_SAMPLE


@given(TOPICS, UUIDS, st.booleans())
def test_packets_are_read_as_they_were_written(topic: str, uuid: str, passed: bool) -> None:
    name = need_verify(topic)
    request = VerifyRequest(NODE_ID, name, verify_channel(name, uuid))
    assert decode_verify_request(encode_verify_request(*request)) == request
    status = TopicStatus(passed, NODE_ID, name)
    assert decode_topic_status(encode_topic_status(*status)) == status


def test_the_longest_packets_are_within_the_limit() -> None:
    name = need_verify("\x01" * LONGEST_PRIVATE_TOPIC)  # six bytes each in JSON
    request = encode_verify_request(NODE_ID, name, verify_channel(name, UUID))
    assert len(request) <= MOST_BYTES
    assert decode_verify_request(request).topic == name
    with pytest.raises(RemoteProtocolError, match="json_too_large"):
        decode_verify_request(request.ljust(MOST_BYTES + 1))


def test_ids_of_nodes_are_in_lower_case_whoever_wrote_them() -> None:
    assert decode_topic_status(encode_topic_status(True, NODE_ID.upper(), HELLO)) == TopicStatus(
        True, NODE_ID, HELLO
    )


@pytest.mark.parametrize("result", [1, -1, 2, 10**30])
def test_every_result_but_zero_is_a_failure(result: int) -> None:
    data = STATUS_SAMPLE.replace(b":0,", f":{result},".encode(), 1)
    assert decode_topic_status(data) == TopicStatus(False, NODE_ID, HELLO)


DEEP = b'{"checkResult":' + b"[" * 2000

BAD: dict[str, list[Any]] = {
    "checkResult": [None, "0", True, False, 0.0, [], {}],
    "nodeId": [None, 7, "", NODE_ID[1:], NODE_ID + "0", "0x" + NODE_ID[2:], "g" * 128],
    "topic": [None, 7, "", "hello", "#!$TopicNeedVerify_", need_verify("h" * 185) + "h"],
    "topicForCert": [
        None,
        [],
        "",
        HELLO,
        verify_channel(need_verify("hello_x"), UUID),
        verify_channel(HELLO, UUID) + "0",
    ],
}


@pytest.mark.parametrize("key", BAD)
@pytest.mark.parametrize("sample", [VERIFY_SAMPLE, STATUS_SAMPLE], ids=["verify", "status"])
def test_packets_with_a_field_that_is_wrong_or_missing_are_refused(sample: bytes, key: str) -> None:
    decode = decode_verify_request if sample is VERIFY_SAMPLE else decode_topic_status
    good = json.loads(sample)
    if key not in good:
        return
    for value in BAD[key]:
        with pytest.raises(RemoteProtocolError, match=r"bad_json|bad_verification"):
            decode(json.dumps({**good, key: value}).encode())
    del good[key]
    with pytest.raises(RemoteProtocolError, match="bad_json"):
        decode(json.dumps(good).encode())


@pytest.mark.parametrize("decode", [decode_verify_request, decode_topic_status])
def test_whatever_is_not_such_a_packet_is_refused(decode: Any) -> None:
    for sample in (VERIFY_SAMPLE, STATUS_SAMPLE):
        for size in range(len(sample)):
            with pytest.raises(RemoteProtocolError):
                decode(sample[:size])
        with pytest.raises(RemoteProtocolError):
            decode(sample + b"}")
    for data in (b"[]", b"0", DEEP, b"\x00" * 60):
        with pytest.raises(RemoteProtocolError):
            decode(data)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused_as_a_protocol_error(data: bytes) -> None:
    for decode in (decode_verify_request, decode_topic_status):
        with pytest.raises(RemoteProtocolError):
            decode(data)
