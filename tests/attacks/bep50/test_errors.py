"""Every row of the table of errors, against a whole node of a BEP 50 overlay."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bep50.wire.bencode import Dict, encode
from rumormill.bep50.wire.items import LARGEST_SEQ
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import (
    BAD_SIGNATURE,
    CAS_MISMATCH,
    METHOD_UNKNOWN,
    PROTOCOL,
    SALT_TOO_BIG,
    SEQ_TOO_LOW,
    SMALLEST_QUERY,
    VALUE_TOO_BIG,
    Answer,
    Failure,
    query_packet,
    read_packet,
)
from tests.helpers.bep50.siege import KEY, SALT, TOPIC, Siege, item, node_id, put_arguments

HOSTILE = "192.0.2.66:6666"
OTHER_KEY = ItemKey.from_seed(b"o" * 32)
SENDER = node_id(99)


def refused(answer: Answer | Failure | None, code: int, topic: bytes | None = TOPIC.target) -> str:
    """The answer is this error, with the topic in it; returns its text."""
    assert isinstance(answer, Failure)
    assert (answer.code, answer.topic) == (code, topic)
    return answer.text


# ---- put


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"k": None}, PROTOCOL),
        ({"k": KEY.public_key[:31]}, PROTOCOL),
        ({"k": [KEY.public_key]}, PROTOCOL),
        ({"sig": None}, PROTOCOL),
        ({"sig": bytes(63)}, PROTOCOL),
        ({"sig": 64}, PROTOCOL),
        ({"seq": None}, PROTOCOL),
        ({"seq": b"2"}, PROTOCOL),
        ({"seq": -1}, PROTOCOL),
        ({"seq": LARGEST_SEQ + 1}, PROTOCOL),
        ({"seq": 2**64 + 2}, PROTOCOL),
        ({"seq": 10**300}, PROTOCOL),
        ({"v": None}, PROTOCOL),
        ({"v": b"x" * 997}, VALUE_TOO_BIG),
        ({"v": [b"x" * 990, {b"y": b"z"}]}, VALUE_TOO_BIG),
        ({"salt": b"s" * 65}, SALT_TOO_BIG),
        ({"salt": 7}, PROTOCOL),
        ({"token": None}, PROTOCOL),
        ({"token": 7}, PROTOCOL),
        ({"token": b""}, PROTOCOL),
        ({"token": bytes(8)}, PROTOCOL),
        ({"token": b"x" * 2000}, PROTOCOL),
        ({"k": OTHER_KEY.public_key}, PROTOCOL),
        ({"salt": None}, PROTOCOL),
        ({"salt": b"another"}, PROTOCOL),
        ({"sig": bytes(64)}, BAD_SIGNATURE),
        ({"v": b"another value"}, BAD_SIGNATURE),
        ({"seq": 3}, BAD_SIGNATURE),
        ({"cas": 0}, CAS_MISMATCH),
        ({"cas": 2}, CAS_MISMATCH),
        ({"cas": -1}, PROTOCOL),
        ({"cas": b"1"}, PROTOCOL),
        ({"cas": LARGEST_SEQ + 1}, PROTOCOL),
    ],
)
def test_a_put_with_a_fault_gets_its_error_and_changes_nothing(
    changes: dict[str, Any], code: int
) -> None:
    siege = Siege()
    siege.put(HOSTILE, item(1))
    siege.forget()
    refused(siege.put(HOSTILE, item(2, "snow"), **changes), code)
    assert siege.node.latest(TOPIC.text) == item(1)
    assert siege.data() == []
    assert not any(neighbour.puts for neighbour in siege.neighbours.values())
    siege.goes_on()


def test_an_item_of_another_key_in_the_topic_is_refused_though_it_is_genuine() -> None:
    siege = Siege()
    refused(siege.put(HOSTILE, item(2, key=OTHER_KEY)), PROTOCOL)
    refused(siege.put(HOSTILE, item(2, salt=b"")), PROTOCOL)
    assert not siege.checks, "no signature is looked at"


def test_a_lower_number_is_refused_and_costs_no_signature() -> None:
    siege = Siege()
    siege.put(HOSTILE, item(7))
    siege.forget()
    refused(siege.put(HOSTILE, item(6, "old")), SEQ_TOO_LOW)
    assert not siege.checks and siege.data() == []


@pytest.mark.parametrize("text", ["rain", "another value with the same number"])
def test_an_equal_number_is_acknowledged_and_neither_kept_nor_passed_on(text: str) -> None:
    siege = Siege()
    siege.put(HOSTILE, item(7))
    siege.forget()
    assert isinstance(siege.put(HOSTILE, item(7, text)), Answer)
    assert siege.node.latest(TOPIC.text) == item(7)
    assert not siege.checks and siege.data() == []
    assert not any(neighbour.puts for neighbour in siege.neighbours.values())


def test_cas_is_honoured_if_it_names_the_value_that_is_there() -> None:
    siege = Siege()
    siege.put(HOSTILE, item(7))
    assert isinstance(siege.put(HOSTILE, item(9, "snow"), cas=7), Answer)
    assert siege.node.latest(TOPIC.text) == item(9, "snow")


def test_cas_without_a_value_to_compare_with_means_nothing() -> None:
    siege = Siege()
    assert isinstance(siege.put(HOSTILE, item(1), cas=700), Answer)


def test_cas_is_not_passed_on() -> None:
    siege = Siege()
    siege.put(HOSTILE, item(7))
    siege.forget()
    siege.put(HOSTILE, item(8, "snow"), cas=7)
    for neighbour in siege.neighbours.values():
        (put,) = [query for query in neighbour.asked if query.method == "put"]
        assert b"cas" not in put.arguments


def test_a_value_of_a_thousand_bytes_and_a_salt_of_64_are_taken() -> None:
    siege = Siege()
    large = KEY.item(SALT, 2, b"996:" + bytes(996))
    assert isinstance(siege.put(HOSTILE, large), Answer)
    assert siege.node.latest(TOPIC.text) == large


def test_the_last_number_there_is_is_taken() -> None:
    siege = Siege()
    assert isinstance(siege.put(HOSTILE, item(LARGEST_SEQ)), Answer)
    refused(siege.put(HOSTILE, item(LARGEST_SEQ - 1)), SEQ_TOO_LOW)


@pytest.mark.parametrize(
    "raw_value", [b"i007e", b"i-0e", b"d1:b0:1:a0:e", b"d1:a0:1:a0:e", b"3:ab", b"l", b"04:abcd"]
)
def test_a_value_that_is_no_bencoding_makes_no_packet_and_gets_silence(raw_value: bytes) -> None:
    siege = Siege()
    raw = query_packet(
        b"aa", "put", put_arguments(item(2, "?"), siege.token(HOSTILE)), TOPIC.target
    )
    assert raw.count(b"1:v1:?") == 1
    assert siege.say(HOSTILE, raw.replace(b"1:v1:?", b"1:v" + raw_value)) == []
    siege.goes_on()


# ---- topics


def test_a_topic_that_we_are_not_in_is_unknown() -> None:
    siege = Siege()
    for method in ("ping", "find_node", "get", "put", "get_peers", "nonsense"):
        arguments = put_arguments(item(2), b"token", target=b"o" * 20)
        answer = siege.ask(HOSTILE, method, arguments, topic=b"o" * 20)
        assert refused(answer, PROTOCOL, b"o" * 20) == "unknown topic"
    siege.goes_on()


@pytest.mark.parametrize("topic", [b"", b"short", b"t" * 21, 7, [TOPIC.target], {b"c": b""}])
def test_a_topic_that_is_none_gets_an_error_without_a_topic(topic: Any) -> None:
    siege = Siege()
    packet: Dict = {b"a": {b"id": SENDER}, b"c": topic, b"q": b"ping", b"t": b"aa", b"y": b"q"}
    assert len(encode(packet)) >= SMALLEST_QUERY
    (reply,) = siege.say(HOSTILE, encode(packet))
    answer = read_packet(reply)
    assert isinstance(answer, Failure) and answer.transaction == b"aa"
    refused(answer, PROTOCOL, None)


@pytest.mark.parametrize("method", ["ping", "find_node", "get", "put", "get_peers", "nonsense"])
def test_a_query_without_a_topic_is_the_main_dhts_and_gets_silence(method: str) -> None:
    siege = Siege()
    arguments = put_arguments(item(2), siege.token(HOSTILE), target=TOPIC.target)
    assert siege.ask(HOSTILE, method, arguments, topic=None) is None
    assert siege.bytes_to(HOSTILE) == len(siege.sent[0].packet), "only the token was sent"


# ---- methods and arguments


@pytest.mark.parametrize(
    "method", ["get_peers", "announce_peer", "vote", "", "GET", "sample_infohashes", "x" * 32]
)
def test_a_method_that_a_topic_does_not_have_is_unknown(method: str) -> None:
    siege = Siege()
    arguments: Dict = {b"id": SENDER, b"info_hash": TOPIC.target, b"target": TOPIC.target}
    refused(siege.ask(HOSTILE, method, {**arguments, b"port": 6881}), METHOD_UNKNOWN)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("get", {}),
        ("get", {b"target": b"short"}),
        ("get", {b"target": b"o" * 20}),
        ("get", {b"target": 7}),
        ("get", {b"target": TOPIC.target, b"seq": -1}),
        ("get", {b"target": TOPIC.target, b"seq": b"1"}),
        ("get", {b"target": TOPIC.target, b"seq": LARGEST_SEQ + 1}),
        ("find_node", {}),
        ("find_node", {b"target": b"short"}),
        ("find_node", {b"target": [b"o" * 20]}),
    ],
)
def test_a_question_with_a_bad_argument_gets_an_error(method: str, arguments: Dict) -> None:
    siege = Siege()
    refused(siege.ask(HOSTILE, method, {b"id": SENDER, **arguments}), PROTOCOL)


@pytest.mark.parametrize("arguments", [{}, {b"id": b"short"}, {b"id": 7}, {b"id": SENDER + b"x"}])
def test_a_query_without_a_good_id_gets_an_error(arguments: Dict) -> None:
    siege = Siege()
    refused(siege.ask(HOSTILE, "ping", arguments), PROTOCOL)


def test_every_answer_says_whom_it_went_to() -> None:
    siege = Siege()
    good = siege.say(HOSTILE, query_packet(b"aa", "ping", {b"id": SENDER}, TOPIC.target, True))
    bad = siege.say(HOSTILE, query_packet(b"ab", "vote", {b"id": SENDER}, TOPIC.target))
    for raw in (*good, *bad):
        assert b"2:ip6:\xc0\x00\x02\x42\x1a\x0a" in raw


# ---- silence


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0" * 100,
        b"hello",
        b"l" * 4000,
        b"d1:a" * 1000,
        b"l" * 2000 + b"e" * 2000,
        b"i" + b"9" * 4000 + b"e",
        b"99999999999999999999:x",
        b"d1:ad2:id20:" + SENDER + b"e1:c20:" + TOPIC.target + b"1:q4:ping1:t2:aa1:y1:q",
        query_packet(b"aa", "ping", {b"id": SENDER}, TOPIC.target) + b"x",
        query_packet(b"a" * 65, "ping", {b"id": SENDER}, TOPIC.target),
        query_packet(b"aa", "ping", {b"id": SENDER, b"x": bytes(60_000)}, TOPIC.target),
        encode({b"t": b"aa", b"y": b"z", b"c": TOPIC.target}),
        encode({b"t": 7, b"y": b"q", b"c": TOPIC.target}),
        encode([b"d", {}]),
        encode({b"c": TOPIC.target, b"t": b"", b"y": b"q"}),  # shorter than any answer
    ],
)
def test_what_is_no_packet_gets_silence_and_is_counted(raw: bytes) -> None:
    siege = Siege()
    assert siege.say(HOSTILE, raw) == []
    assert siege.sent == []
    siege.advance(2.0)
    assert len(siege.events("dropped", what="packet", count=1)) == 1
    siege.goes_on()
