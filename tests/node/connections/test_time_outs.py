"""Time-outs of the HTTP side, made short: what is awaited is the end, not the time it took."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx
import pytest

import rumormill
from tests.helpers.capture.spools import TestSpool
from tests.helpers.node.raw_client import header
from tests.helpers.node.serving import LONG, Serve

SHORT = 0.05
TOKEN = "a-long-random-token"
AS_JSON = {"Content_Type": "application/json"}


async def test_who_connects_and_says_nothing_is_closed(serving: Serve) -> None:
    node = await serving(replace(LONG, header_timeout=SHORT))
    client = await node.connect()
    assert await client.closed() == b""
    assert await node.counters() == {"http_closed.header_timeout": 1}


async def test_half_a_header_is_answered_by_408_and_closed(serving: Serve) -> None:
    node = await serving(replace(LONG, header_timeout=SHORT))
    client = await node.connect()
    await client.send(header("GET", "/v1/node")[:-2])
    answer = await client.answer()
    assert (answer.status, answer.body["error"]) == (408, "the headers took more than 0.05 s")
    assert await client.closed() == b""
    assert await node.counters() == {"http_closed.header_timeout": 1}


async def test_a_byte_now_and_then_does_not_prolong_it(serving: Serve) -> None:
    node = await serving(replace(LONG, header_timeout=0.2))
    client = await node.connect()

    async def trickle() -> None:
        while True:
            await client.send(b"G")
            await asyncio.sleep(0.01)

    task = asyncio.create_task(trickle())
    await client.closed()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await node.counters())["http_closed.header_timeout"] == 1


async def test_half_a_body_is_answered_by_408_and_closed(serving: Serve) -> None:
    node = await serving(replace(LONG, body_timeout=SHORT))
    client = await node.connect()
    await client.send(header("POST", "/v1/publish", Content_Length="10", **AS_JSON) + b"half")
    answer = await client.answer()
    assert answer.status == 408
    assert "the body was not whole" in answer.body["error"]
    assert await client.closed() == b""
    assert await node.counters() == {"http_closed.body_timeout": 1}


async def test_a_large_body_has_more_time_by_its_bytes(serving: Serve) -> None:
    node = await serving(replace(LONG, body_timeout=SHORT, slowest_rate=1))
    client = await node.connect()
    await client.send(header("POST", "/v1/publish", Content_Length="1000", **AS_JSON) + b"x" * 900)
    await asyncio.sleep(3 * SHORT)
    await client.send(b"x" * 100)
    assert (await client.answer()).status == 400  # no JSON, and not too late


async def test_a_connection_without_a_further_request_is_closed(serving: Serve) -> None:
    node = await serving(replace(LONG, idle_timeout=SHORT))
    client = await node.connect()
    await client.send(header("GET", "/v1/node"))
    assert (await client.answer()).status == 200
    assert await client.closed() == b""
    assert (await node.counters())["http_closed.idle_timeout"] == 1


async def test_a_further_request_on_the_same_connection_has_its_own_time(serving: Serve) -> None:
    node = await serving(replace(LONG, header_timeout=0.3))
    client = await node.connect()
    for _ in range(2):
        await client.send(header("GET", "/v1/node"))
        assert (await client.answer()).status == 200
        await asyncio.sleep(0.4)  # longer than a header may take: but none has begun
    await client.send(b"GET")
    assert (await client.answer()).status == 408


async def test_who_does_not_take_its_answer_is_closed(
    serving: Serve, spool: TestSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.messages(["weather"])
    # An answer that no socket takes at once.
    monkeypatch.setattr("rumormill.node.spool_routes.END_OF_STREAM", b"x" * (32 << 20))
    limits = replace(LONG, answer_timeout=SHORT, slowest_rate=1 << 30)
    node = await serving(limits, spool=spool.folder)
    client = await node.connect()
    client.writer.transport.pause_reading()
    await client.send(header("GET", "/v1/spool/messages/records?start=0&end=1"))
    await node.until("http_closed.answer_timeout", 1)


async def test_what_is_no_http_is_told_in_a_sentence_and_counted(
    serving: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    node = await serving()
    for junk in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"\xff" * 20_000):
        client = await node.connect()
        await client.send(junk)
        answer = await client.answer()
        assert (answer.status, answer.body) == (400, {"error": "this is no HTTP request"})
    assert await node.counters() == {"http_refused.400": 3}
    assert "uvicorn" not in caplog.text


async def test_several_requests_at_once_are_answered_in_order(serving: Serve) -> None:
    node = await serving()
    client = await node.connect()
    await client.send(header("GET", "/v1/node") + header("GET", "/nowhere") + b"GET /v1/top")
    assert [(await client.answer()).status for _ in range(2)] == [200, 404]
    await client.send(b"ics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await client.answer()).body == {"topics": []}


async def test_who_asks_without_the_token_is_answered_and_closed(serving: Serve) -> None:
    node = await serving(token=TOKEN)
    client = await node.connect()
    await client.send(header("GET", "/v1/node"))
    assert (await client.answer()).status == 401
    assert await client.closed() == b""
    client = await node.connect()
    await client.send(header("POST", "/v1/publish", Content_Length="8") + b"half")
    assert (await client.answer()).status == 401
    await client.send(b"rest")
    assert await client.closed() == b""


async def test_who_goes_on_sending_what_was_refused_is_cut_off(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rumormill.node.http_connection.LEFTOVER_SECONDS", SHORT)
    node = await serving()
    client = await node.connect()
    length = str(1 << 40)
    await client.send(header("POST", "/v1/publish", Content_Length=length, **AS_JSON) + b"more")
    assert (await client.answer()).status == 413
    await client.closed()
    assert await node.counters() == {"http_refused.413": 1, "http_closed.body_unread": 1}


async def test_what_happened_is_in_the_trace_of_the_first_network(
    serving: Serve, network: rumormill.Network
) -> None:
    found: list[dict[str, object]] = []
    network.on_trace(lambda event: found.append({"event": event.event, **event.fields}))
    node = await serving(networks=(network,))
    async with httpx.AsyncClient() as client:
        for _ in range(3):
            await client.get(f"{node.address}/nowhere")
    while network.counters["http_refused.404"] < 3:
        await asyncio.sleep(0.01)
    told = [each for each in found if each["event"] == "http_refused"]
    assert {(each["reason"], each["address"]) for each in told} == {("404", "127.0.0.1")}
