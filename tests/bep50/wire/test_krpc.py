"""Packets: what is written reads back, what is wrong is answered with an error or with silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.bep50.wire.bencode import Dict, Value, decode, encode
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import (
    LARGEST_PACKET,
    METHOD_UNKNOWN,
    PROTOCOL,
    SMALLEST_QUERY,
    VERSION,
    Answer,
    BadArgument,
    BadQuery,
    Failure,
    PutTemplate,
    Query,
    answer_packet,
    bytes_of,
    failure_packet,
    int_of,
    query_packet,
    read_packet,
)
from rumormill.core.errors import RemoteProtocolError

ID, TOPIC, IP = b"n" * 20, b"t" * 20, b"\x7f\0\0\1\x1a\xe1"
KEY = ItemKey.from_seed(b"s" * 32)

VALUES: st.SearchStrategy[Value] = st.recursive(
    st.integers(-(2**64), 2**64) | st.binary(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.binary(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
DICTS = st.dictionaries(st.binary(max_size=4), VALUES, max_size=5).map(
    lambda values: {**values, b"id": ID}
)
TRANSACTIONS = st.binary(max_size=64)
TOPICS = st.none() | st.just(TOPIC)
NAMES = [b"a", b"c", b"e", b"ip", b"q", b"r", b"ro", b"t", b"v", b"y"]


# ---- what is written reads back


@given(TRANSACTIONS, st.sampled_from(["ping", "get", "x" * 32]), DICTS, TOPICS, st.booleans())
def test_a_query_reads_back(
    transaction: bytes, method: str, arguments: Dict, topic: bytes | None, read_only: bool
) -> None:
    raw = query_packet(transaction, method, arguments, topic, read_only)
    assert read_packet(raw) == Query(transaction, method, arguments, topic, read_only)


@given(TRANSACTIONS, DICTS, TOPICS, st.none() | st.just(IP) | st.just(bytes(18)))
def test_an_answer_reads_back(
    transaction: bytes, values: Dict, topic: bytes | None, ip: bytes | None
) -> None:
    raw = answer_packet(transaction, values, topic, ip)
    assert read_packet(raw) == Answer(transaction, values, topic, ip)


@given(TRANSACTIONS, st.integers(0, 999), st.text(max_size=100), TOPICS)
def test_an_error_reads_back(transaction: bytes, code: int, text: str, topic: bytes | None) -> None:
    raw = failure_packet(transaction, code, text, topic, IP)
    assert read_packet(raw) == Failure(transaction, code, text, topic)


def test_every_packet_says_who_wrote_it_and_where_it_went() -> None:
    answer, failure = answer_packet(b"aa", {b"id": ID}, TOPIC, IP), failure_packet(b"aa", 203, "x")
    for raw in (query_packet(b"aa", "ping", {b"id": ID}), answer, failure):
        packet = decode(raw)
        assert isinstance(packet, dict) and packet[b"v"] == VERSION and len(VERSION) == 4
    assert b"2:ip6:" + IP in answer


def test_the_topic_stands_between_the_arguments_and_the_method() -> None:
    raw = query_packet(b"aa", "ping", {b"id": ID}, TOPIC)
    expected = b"d1:ad2:id20:%be1:c20:%b1:q4:ping1:t2:aa1:v4:%b1:y1:qe" % (ID, TOPIC, VERSION)
    assert raw == expected


# ---- sizes, as the facts on the protocol have them


def test_the_packets_have_the_sizes_that_were_reckoned_with() -> None:
    seq = 1_700_000_000
    get = query_packet(b"aa", "get", {b"id": ID, b"seq": seq, b"target": TOPIC}, TOPIC)
    values: Dict = {b"id": ID, b"nodes": bytes(8 * 26), b"seq": seq, b"token": bytes(8)}
    worst = PutTemplate(ID, KEY.item(b"s" * 64, 2**63 - 1, b"996:" + bytes(996)), TOPIC)
    assert len(get) == 138
    assert len(answer_packet(b"aa", values, TOPIC, IP)) == 347
    assert len(answer_packet(b"aa", {b"id": ID}, TOPIC)) == 82
    assert len(worst.packet(b"aa", bytes(20), 2**63 - 2)) < 1400 < LARGEST_PACKET


# ---- puts from a template


@given(
    VALUES,
    st.binary(max_size=64),
    st.integers(0, 2**63 - 1),
    TRANSACTIONS,
    st.binary(max_size=30),
    st.none() | st.integers(0, 2**63 - 1),
    TOPICS,
    st.booleans(),
)
def test_a_put_of_a_template_is_byte_for_byte_the_query(
    value: Value,
    salt: bytes,
    seq: int,
    transaction: bytes,
    token: bytes,
    cas: int | None,
    topic: bytes | None,
    read_only: bool,
) -> None:
    item = Item(KEY.public_key, salt, seq, encode(value), bytes(64))
    arguments: Dict = {b"id": ID, b"k": KEY.public_key, b"seq": seq, b"sig": bytes(64)}
    arguments |= {b"token": token, b"v": value}
    if salt:
        arguments[b"salt"] = salt
    if cas is not None:
        arguments[b"cas"] = cas
    template = PutTemplate(ID, item, topic, read_only)
    expected = query_packet(transaction, "put", arguments, topic, read_only)
    assert template.packet(transaction, token, cas) == expected


# ---- what other implementations add


def test_keys_that_we_do_not_know_are_passed_over() -> None:
    extra: Dict = {b"zz": [1, {b"x": b""}], b"v": [b"any", 7], b"p": 6881}
    query: Dict = {b"y": b"q", b"t": b"aa", b"q": b"ping", b"a": {b"id": ID, b"z": 1}, **extra}
    answer: Dict = {b"y": b"r", b"t": b"aa", b"r": {b"id": ID, b"p": 1}, **extra}
    failure: Dict = {b"y": b"e", b"t": b"aa", b"e": [203, b"no", 3], b"r": {b"id": ID}, **extra}
    assert isinstance(read_packet(encode(query)), Query)
    assert isinstance(read_packet(encode(answer)), Answer)
    assert read_packet(encode(failure)) == Failure(b"aa", 203, "no", None)


@pytest.mark.parametrize("ip", [b"", b"1234", bytes(7), 7, [IP]])
def test_an_address_of_ours_that_cannot_be_is_passed_over(ip: Any) -> None:
    read = read_packet(encode({b"ip": ip, b"r": {b"id": ID}, b"t": b"aa", b"y": b"r"}))
    assert isinstance(read, Answer) and read.ip is None


@pytest.mark.parametrize(("mark", "read_only"), [(1, True), (0, False), (2, False), (b"1", False)])
def test_only_a_one_makes_a_node_read_only(mark: Any, read_only: bool) -> None:
    raw = encode({b"a": {b"id": ID}, b"q": b"ping", b"ro": mark, b"t": b"aa", b"y": b"q"})
    read = read_packet(raw)
    assert isinstance(read, Query) and read.read_only == read_only


def test_a_long_text_of_an_error_is_cut() -> None:
    read = read_packet(failure_packet(b"aa", 201, "é" * 1000))
    assert isinstance(read, Failure) and read.text == "é" * 200


def test_a_text_that_is_no_text_does_not_matter() -> None:
    read = read_packet(encode({b"e": [201, b"\xff\xfe"], b"t": b"aa", b"y": b"e"}))
    assert isinstance(read, Failure) and len(read.text) == 2


# ---- what deserves silence

SILENT: list[Any] = [
    [],
    7,
    b"text",
    {},
    {b"y": b"q", b"q": b"ping", b"a": {b"id": ID}},
    {b"y": b"q", b"q": b"ping", b"a": {b"id": ID}, b"t": 7, b"c": TOPIC},
    {b"y": b"q", b"q": b"ping", b"a": {b"id": ID}, b"t": bytes(65), b"c": TOPIC},
    {b"t": b"aa"},
    {b"t": b"aa", b"y": b"x"},
    {b"t": b"aa", b"y": 1},
    {b"t": b"aa", b"y": [b"q"]},
    # Queries that are wrong and without a topic: the main DHT's business.
    {b"t": b"aa", b"y": b"q"},
    {b"t": b"aa", b"y": b"q", b"q": b"ping", b"a": {b"id": b"short"}},
    {b"t": b"aa", b"y": b"q", b"q": b"x" * 33, b"a": {b"id": ID}},
    # Answers.
    {b"t": b"aa", b"y": b"r"},
    {b"t": b"aa", b"y": b"r", b"r": []},
    {b"t": b"aa", b"y": b"r", b"r": {}},
    {b"t": b"aa", b"y": b"r", b"r": {b"id": b"short"}},
    {b"t": b"aa", b"y": b"r", b"r": {b"id": ID}, b"c": b"short"},
    {b"t": b"aa", b"y": b"r", b"r": {b"id": ID}, b"c": 7},
    # Errors.
    {b"t": b"aa", b"y": b"e"},
    {b"t": b"aa", b"y": b"e", b"e": b"no"},
    {b"t": b"aa", b"y": b"e", b"e": [203]},
    {b"t": b"aa", b"y": b"e", b"e": [b"no", 203]},
    {b"t": b"aa", b"y": b"e", b"e": [-1, b"no"]},
    {b"t": b"aa", b"y": b"e", b"e": [2**70, b"no"]},
    {b"t": b"aa", b"y": b"e", b"e": [203, b"no"], b"c": b"short"},
]


@pytest.mark.parametrize("packet", SILENT)
def test_what_is_no_packet_for_us_deserves_silence(packet: Value) -> None:
    with pytest.raises(RemoteProtocolError) as refusal:
        read_packet(encode(packet))
    assert not isinstance(refusal.value, BadQuery)


def test_a_bad_query_that_is_shorter_than_any_good_one_deserves_silence() -> None:
    shortest = encode({b"a": {b"id": ID}, b"q": b"ping", b"t": b"", b"y": b"q"})
    assert len(shortest) == SMALLEST_QUERY and read_packet(shortest)
    short: list[Dict] = [{b"c": 0}, {b"c": TOPIC}, {b"c": b"", b"a": {b"id": b""}, b"q": b"x"}]
    for packet in short:
        with pytest.raises(RemoteProtocolError) as refusal:
            read_packet(encode({**packet, b"t": b"", b"y": b"q"}))
        assert refusal.value.reason == "bad_query"
    with pytest.raises(BadQuery):
        read_packet(encode({b"a": {b"id": ID}, b"c": b"", b"q": b"ping", b"t": b"", b"y": b"q"}))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"d",
        b"l" * 2000,
        b"d1:a" * 1000,
        b"l" * 2000 + b"e" * 2000,
        b"i" + b"9" * 4090 + b"e",
        query_packet(b"aa", "ping", {b"id": ID}, TOPIC) + b"\n",
        query_packet(b"aa", "ping", {b"id": ID}, TOPIC)[:-1],
        b"\0" * 100,
    ],
)
def test_bytes_that_are_no_packet_deserve_silence(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as refusal:
        read_packet(raw)
    assert not isinstance(refusal.value, BadQuery)


def test_a_packet_larger_than_any_can_be_is_not_even_decoded() -> None:
    padding = encode(bytes(LARGEST_PACKET))
    with pytest.raises(RemoteProtocolError, match="packet_too_large"):
        read_packet(query_packet(b"aa", "ping", {b"id": ID, b"x": padding}, TOPIC))


# ---- what deserves an error


def query(**changes: Any) -> bytes:
    packet: dict[bytes, Any] = {
        b"a": {b"id": ID},
        b"c": TOPIC,
        b"q": b"ping",
        b"t": b"aa",
        b"v": b"someone else",
        b"y": b"q",
    }
    packet.update({key.encode(): value for key, value in changes.items()})
    return encode({key: value for key, value in packet.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "code", "topic"),
    [
        ({"c": b"short"}, PROTOCOL, None),
        ({"c": b"t" * 21}, PROTOCOL, None),
        ({"c": 7}, PROTOCOL, None),
        ({"c": [TOPIC]}, PROTOCOL, None),
        ({"c": b"short", "q": None}, PROTOCOL, None),
        ({"q": None}, PROTOCOL, TOPIC),
        ({"q": 7}, PROTOCOL, TOPIC),
        ({"q": b"x" * 33}, METHOD_UNKNOWN, TOPIC),
        ({"a": None}, PROTOCOL, TOPIC),
        ({"a": [b"id", ID]}, PROTOCOL, TOPIC),
        ({"a": {}}, PROTOCOL, TOPIC),
        ({"a": {b"id": b"n" * 19}}, PROTOCOL, TOPIC),
        ({"a": {b"id": b"n" * 21}}, PROTOCOL, TOPIC),
        ({"a": {b"id": 20}}, PROTOCOL, TOPIC),
    ],
)
def test_a_bad_query_in_a_topic_deserves_an_error(
    changes: dict[str, Any], code: int, topic: bytes | None
) -> None:
    with pytest.raises(BadQuery) as refusal:
        read_packet(query(**changes))
    error = refusal.value
    assert (error.code, error.topic, error.transaction) == (code, topic, b"aa")
    answer = failure_packet(error.transaction, error.code, error.text, error.topic)
    assert read_packet(answer) == Failure(b"aa", code, error.text, topic)


PACKETS = st.dictionaries(st.sampled_from(NAMES), VALUES).map(encode)
ERRORS: st.SearchStrategy[Value] = st.builds(
    lambda code, text: [code, text], st.integers(0, 1100), st.binary(max_size=9)
)
LIKELY = st.fixed_dictionaries(
    {b"t": st.just(b"aa") | VALUES, b"y": st.sampled_from([b"q", b"r", b"e"])},
    optional={
        b"a": DICTS | VALUES,
        b"c": st.just(TOPIC) | VALUES,
        b"e": ERRORS | VALUES,
        b"q": st.just(b"get") | VALUES,
        b"r": DICTS | VALUES,
        b"ro": VALUES,
        b"ip": VALUES,
    },
).map(encode)


@given(st.binary(max_size=100) | PACKETS | LIKELY)
@example(b"")
@example(b"d1:y1:qe")
def test_any_bytes_are_a_packet_or_are_refused(raw: bytes) -> None:
    try:
        read = read_packet(raw)
    except BadQuery as error:
        assert error.topic is None or len(error.topic) == 20
        assert len(failure_packet(error.transaction, error.code, error.text, error.topic)) < 250
    except RemoteProtocolError:
        pass
    else:
        assert len(read.transaction) <= 64
        assert read.topic is None or len(read.topic) == 20
        if isinstance(read, Query):
            assert len(bytes_of(read.arguments, b"id")) == 20
        elif isinstance(read, Answer):
            assert len(bytes_of(read.values, b"id")) == 20


# ---- arguments


def test_a_string_is_read_with_its_size_or_any() -> None:
    assert bytes_of({b"k": b"key"}, b"k") == bytes_of({b"k": b"key"}, b"k", 3) == b"key"


@pytest.mark.parametrize("values", [{}, {b"k": 1}, {b"k": [b"key"]}, {b"k": b"keys"}])
def test_a_string_that_is_not_as_it_must_be_has_an_error_for_the_peer(values: Dict) -> None:
    with pytest.raises(BadArgument) as refusal:
        bytes_of(values, b"k", 3)
    assert (refusal.value.code, refusal.value.text) == (PROTOCOL, "k must be a string of 3 bytes")


@pytest.mark.parametrize("value", [0, 65535])
def test_a_number_is_read_up_to_its_bounds(value: int) -> None:
    assert int_of({b"port": value}, b"port", 0, 65535) == value


@pytest.mark.parametrize("values", [{}, {b"port": -1}, {b"port": 65536}, {b"port": b"1"}])
def test_a_number_beyond_its_bounds_has_an_error_for_the_peer(values: Dict) -> None:
    with pytest.raises(BadArgument) as refusal:
        int_of(values, b"port", 0, 65535)
    text = "port must be a number from 0 to 65535"
    assert (refusal.value.code, refusal.value.text) == (PROTOCOL, text)
    assert refusal.value.reason == "error_203"
