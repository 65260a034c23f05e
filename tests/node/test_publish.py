from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumormill
from rumormill.capture.envelope import Envelope, decode
from rumormill.node.guard import Refusal
from rumormill.node.rows import BATCH_SCHEMA, decode_rows
from tests.helpers.capture.spools import TestSpool

Ask = Callable[..., httpx.AsyncClient]
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


def body(rows: list[dict[str, Any]], schema: pa.Schema = BATCH_SCHEMA) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema))
    return bytes(sink.getvalue())


async def post(client: httpx.AsyncClient, rows: list[dict[str, Any]], key: str, **more: str) -> Any:
    return await client.post(
        "/v1/publish/batch", params={"key": key, **more}, content=body(rows), headers=ARROW
    )


async def test_a_text_is_published_and_the_receipt_comes_back(
    ask: Ask, network: rumormill.Network
) -> None:
    async with network.subscribe("weather") as messages:
        answer = await ask().post("/v1/publish", json={"topic": "weather", "data": "Zürich: rain"})
        assert answer.status_code == 200
        message = await anext(messages)
        assert message.text == "Zürich: rain"
        assert answer.json()["id"] == message.id.hex()


async def test_bytes_a_key_and_headers_are_published_in_an_envelope(
    ask: Ask, network: rumormill.Network
) -> None:
    message = {
        "topic": "weather",
        "data_base64": base64.b64encode(b"\xff\x00").decode(),
        "key": "Bern",
        "headers": {"unit": "mm"},
    }
    async with network.subscribe("weather") as messages:
        assert (await ask().post("/v1/publish", json=message)).status_code == 200
        assert decode((await anext(messages)).data) == Envelope(
            b"\xff\x00", b"Bern", (("unit", b"mm"),)
        )


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ([], "must be an object"),
        ({"topic": "weather"}, "data is missing"),
        ({"topic": "weather", "data": 1}, "data must be a text"),
        ({"topic": "weather", "data": "x", "data_base64": "eA=="}, "not both"),
        ({"topic": "weather", "data_base64": "?"}, "no base64"),
        ({"topic": "", "data": "x"}, "a topic is a text"),
        ({"data": "x"}, "a topic is a text"),
        ({"topic": "weather", "data": "x", "headers": {"a": 1}}, "headers must be"),
        ({"topic": "weather", "data": "x", "colour": "red"}, "no 'colour'"),
        ({"topic": "weather", "data": "x", "network": "bcos"}, "no network 'bcos'"),
    ],
)
async def test_a_wrong_message_is_told_in_words(ask: Ask, message: Any, problem: str) -> None:
    answer = await ask().post("/v1/publish", json=message)
    assert answer.status_code == 400
    assert problem in answer.json()["error"]


async def test_what_is_no_json_and_what_is_too_large_are_refused(ask: Ask) -> None:
    client = ask()
    headers = {"Content-Type": "application/json"}
    answer = await client.post("/v1/publish", content=b"{", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (400, "the body is no JSON")
    half = b'{"topic": "weather", "data": "\\ud800"}'
    answer = await client.post("/v1/publish", content=half, headers=headers)
    assert (answer.status_code, "UTF-8" in answer.json()["error"]) == (400, True)
    answer = await client.post("/v1/publish", json={"topic": "weather", "data": "x" * 2_000_000})
    assert (answer.status_code, "carries at most" in answer.json()["error"]) == (422, True)


async def test_a_batch_is_published_once_however_often_it_comes(
    ask: Ask, network: rumormill.Network, spool: TestSpool
) -> None:
    rows = [
        {"topic": "weather", "value": b"rain"},
        {"topic": "weather", "value": b"snow", "key": b"Bern"},
    ]
    async with network.subscribe("weather") as messages:
        client = ask(spool.folder)
        first = (await post(client, rows, "query/7/0")).json()
        assert first["published"] == 2 and first["repeated"] == 0 and first["durable"]
        assert (await anext(messages)).data == b"rain"
        assert decode((await anext(messages)).data) == Envelope(b"snow", b"Bern")
        for again in (client, ask(spool.folder)):  # the second is a node that was started again
            answer = (await post(again, rows, "query/7/0")).json()
            assert (answer["published"], answer["repeated"]) == (0, 2)
        assert (await post(client, rows, "query/8/0")).json()["published"] == 2


async def test_two_that_bring_one_batch_at_the_same_time_publish_it_once(
    ask: Ask, network: rumormill.Network
) -> None:
    rows = [{"topic": "weather", "value": b"%d" % number} for number in range(200)]
    async with network.subscribe("weather"):
        client = ask()
        answers = await asyncio.gather(*(post(client, rows, "query/7/0") for _ in range(3)))
    found = [answer.json() for answer in answers]
    assert sum(each["published"] for each in found) == 200
    assert sum(each["repeated"] for each in found) == 400
    assert not any(each["durable"] for each in found)


async def test_another_content_under_the_same_key_is_published(
    ask: Ask, network: rumormill.Network
) -> None:
    async with network.subscribe("weather"):
        client = ask()
        await post(client, [{"topic": "weather", "value": b"a"}], "query/7/0")
        answer = await post(client, [{"topic": "weather", "value": b"b"}], "query/7/0")
    assert answer.json()["published"] == 1


async def test_nobody_there_is_an_error_unless_the_caller_does_not_mind(ask: Ask) -> None:
    client, rows = ask(), [{"topic": "weather", "value": b"rain"}]
    answer = await post(client, rows, "query/7/0", ready="0.01")
    assert answer.status_code == 409
    assert answer.json()["error"] == "row 0: nobody listened to 'weather' within 0.01 s"
    answer = await post(client, rows, "query/7/0", ready="0")
    assert answer.json() == {
        "published": 1, "repeated": 0, "unheard": 1, "dropped": 0, "durable": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"topic": "weather", "value": b"x"}, {"value": b"x"}], "row 1: a topic is a text"),
        ([{"topic": "weather", "value": b"x" * 2_000_000}], "row 0: 2000000 bytes"),
        (
            [{"topic": "weather", "value": b"x", "headers": [{"key": None, "value": b"y"}]}],
            "row 0: a header has no name",
        ),
        ([{"topic": "weather", "value": b"x", "headers": [None]}], "row 0: a header has no name"),
    ],
)
async def test_a_batch_with_a_bad_row_is_refused_before_anything_is_published(
    ask: Ask, network: rumormill.Network, rows: list[dict[str, Any]], problem: str
) -> None:
    async with network.subscribe("weather"):
        answer = await post(ask(), rows, "query/7/0")
    assert answer.status_code == 422
    assert problem in answer.json()["error"]
    assert network.counters["published"] == 0


async def test_our_own_validator_is_asked_and_the_row_is_named(
    ask: Ask, network: rumormill.Network
) -> None:
    network.add_validator("weather", lambda message: message.data != b"lies")
    async with network.subscribe("weather"):
        rows = [{"topic": "weather", "value": value} for value in (b"truth", b"lies")]
        answer = await post(ask(), rows, "query/7/0")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("row 1: ")


@pytest.mark.parametrize(
    ("query", "content", "problem"),
    [
        ({}, b"", "key must name the batch"),
        ({"key": "x" * 513}, b"", "key must name the batch"),
        ({"key": "a\nb"}, b"", "key must name the batch"),
        ({"key": "a", "ready": "soon"}, b"", "ready must be"),
        ({"key": "a", "ready": "nan"}, b"", "ready must be"),
        ({"key": "a", "network": "ndn"}, b"", "no network 'ndn'"),
        ({"key": "a"}, b"rain", "no Arrow IPC stream"),
        ({"key": "a"}, body([], pa.schema([("value", pa.binary())])), "the columns must be"),
    ],
)
async def test_a_wrong_batch_is_told_in_words(
    ask: Ask, query: dict[str, str], content: bytes, problem: str
) -> None:
    answer = await ask().post("/v1/publish/batch", params=query, content=content, headers=ARROW)
    assert answer.status_code == 400
    assert problem in answer.json()["error"]


async def test_a_ledger_that_cannot_be_written_is_told(
    ask: Ask, network: rumormill.Network, spool: TestSpool
) -> None:
    client = ask(spool.folder)
    (spool.folder / "published").mkdir()
    async with network.subscribe("weather"):
        answer = await post(client, [{"topic": "weather", "value": b"x"}], "query/7/0")
    assert answer.status_code == 500
    assert "the ledger cannot be written" in answer.json()["error"]


async def test_topics_say_who_listens(ask: Ask, network: rumormill.Network) -> None:
    async with network.subscribe("weather"), network.relay("weather"), network.relay("news"):
        found = (await ask().get("/v1/topics")).json()
    assert found["topics"] == [
        {"topic": "weather", "network": "gossipsub", "subscribed": True, "peers": 0, "mesh": 0},
        {"topic": "news", "network": "gossipsub", "subscribed": False, "peers": 0, "mesh": 0},
    ]


GOOD = body([{"topic": "weather", "value": b"rain"}, {"topic": "t", "key": b"k", "value": b"v"}])


@given(st.binary(max_size=300))
def test_any_bytes_are_rows_or_a_refusal(content: bytes) -> None:
    try:
        decode_rows(content, 1000)
    except Refusal as refusal:
        assert refusal.status in (400, 413, 422)


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_changed_byte_gives_rows_or_a_refusal(place: int, byte: int) -> None:
    changed = bytearray(GOOD)
    changed[place] = byte
    try:
        decode_rows(bytes(changed), 1000)
    except Refusal as refusal:
        assert refusal.status in (400, 413, 422)
