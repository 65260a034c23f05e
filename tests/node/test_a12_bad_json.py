"""A12 of the adversary's review: bad JSON is answered by a sentence, whatever it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumormill
from rumormill.capture.envelope import MOST_HEADERS
from rumormill.node.app import NodeParts, build_app
from rumormill.node.guard import Refusal
from rumormill.node.json_body import read_object
from rumormill.node.settings import HttpSettings

Ask = Callable[..., httpx.AsyncClient]
AS_JSON = {"Content-Type": "application/json"}

BAD = {
    "lists": b"[" * 1_000_000,
    "objects": b'{"a":' * 200_000,
    "lists in a value": b'{"topic": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "closed": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "no UTF-8": b'{"topic": "\xff", "data": "x"}',
    "UTF-16": '{"topic": "t", "data": "x"}'.encode("utf-16"),
    "a mark of UTF-8": b'\xef\xbb\xbf{"topic": "t", "data": "x"}',
    "NaN": b'{"topic": NaN, "data": "x"}',
    "infinite": b'{"topic": "t", "data": -Infinity}',
    "a number without end": b'{"topic": "t", "data": ' + b"9" * 100_000 + b"}",
    "a large number": b'{"topic": ' + b"9" * 4000 + b', "data": "x"}',
    "an exponent": b'{"topic": "t", "data": 1e999999999}',
    "twice": b'{"topic": "t", "topic": "t", "data": "x"}',
    "twice in headers": b'{"topic": "t", "data": "x", "headers": {"a": "1", "a": "2"}}',
    "half a character": b'{"topic": "\\ud800", "data": "x"}',
    "half a character of data": b'{"topic": "t", "data": "\\udfff"}',
    "half a character in a header": b'{"topic": "t", "data": "x", "headers": {"a": "\\ud800"}}',
    "half a character as a name": b'{"topic": "t", "data": "x", "headers": {"\\ud800": "a"}}',
    "half a character as a key": b'{"\\ud800": "t"}',
    "a topic that is none": b'{"topic": {"a": "b"}, "data": "x"}',
    "a network that is none": b'{"topic": "t", "data": "x", "network": 1.5}',
    "headers that are none": b'{"topic": "t", "data": "x", "headers": false}',
    "a text without end": b'{"topic": "' + b'\\"' * 100_000,
    "many texts": b"{" + b'"a":"b",' * 100_000 + b"}",
    "nothing": b"",
    "a null byte": b"\0",
    "more behind it": b'{"topic": "t", "data": "x"} {}',
}


@pytest.mark.parametrize("body", BAD.values(), ids=list(BAD))
async def test_a12_bad_json_is_answered_by_400_and_one_sentence(
    ask: Ask, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask().post("/v1/publish", content=body, headers=AS_JSON)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert 0 < len(answer.json()["error"]) < 300
    assert caplog.text == ""


texts = st.text(st.characters(), max_size=5) | st.sampled_from(["\ud800", "topic", "data", "\0"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["topic", "data", "data_base64", "key", "key_base64", "headers", "network"])
bodies = st.one_of(
    st.binary(max_size=60),
    values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(names, values).map(lambda value: json.dumps(value).encode()),
    st.text('{}[]":,\\0aeE-+.ntf u', max_size=40).map(str.encode),
)


@contextmanager
def post() -> Iterator[Callable[[bytes, str], httpx.Response]]:
    """Publish at a node without a socket; what raises there raises here."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def opened() -> httpx.AsyncClient:
            network = await stack.enter_async_context(rumormill.open("gossipsub"))
            app = build_app(NodeParts([network]), HttpSettings("127.0.0.1", 7700))
            transport = httpx.ASGITransport(app=app)
            return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

        client = runner.run(opened())
        yield lambda body, path: runner.run(client.post(path, content=body, headers=AS_JSON))
        runner.run(client.aclose())
        runner.run(stack.aclose())


def test_a12_whatever_comes_is_published_or_refused_in_words() -> None:
    with post() as send:

        @given(bodies)
        @settings(deadline=None)
        def each(body: bytes) -> None:
            for path in ("/v1/publish", "/v1/publish/batch?key=k", "/v1/topics", "/v1/node"):
                answer = send(body, path)
                assert answer.status_code in (200, 400, 405, 415, 422)
                if answer.status_code != 200:
                    assert list(answer.json()) == ["error"]

        each()


@given(bodies)
def test_a12_an_object_is_what_json_says_it_is(body: bytes) -> None:
    try:
        found = read_object(body)
    except Refusal as refusal:
        assert refusal.status == 400
    else:
        assert found == json.loads(body)


@pytest.mark.parametrize(
    "unit", ['"', '\\"', '"\\', "[", "{", '{"a":', '"a",', "\\", '""', "1,", " "]
)
def test_a12_a_body_is_looked_at_once_whatever_it_looks_like(unit: str) -> None:
    # Who would look at the rest again from each place of 3 MB never came to an end.
    for start in ('{"topic": "', "{", ""):
        with suppress(Refusal):
            read_object((start + unit * (3_000_000 // len(unit))).encode())


async def test_a12_as_many_headers_as_a_message_has_room_for_are_published(ask: Ask) -> None:
    headers = {f"name {number}": "text" for number in range(MOST_HEADERS)}
    message = {"topic": "weather", "data": "rain", "headers": headers}
    assert (await ask().post("/v1/publish", json=message)).status_code == 200
