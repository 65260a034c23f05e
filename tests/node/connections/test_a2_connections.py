"""A2 of the adversary's review: connections that do nothing keep nobody out."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.helpers.node.raw_client import RawClient, header
from tests.helpers.node.serving import LONG, Serve, Serving
from tests.helpers.places import ROOT, program

TOKEN = "a-long-random-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
AS_JSON = {"Content_Type": "application/json"}

SILENT = b""
HALF_HEADER = header("GET", "/v1/node")[:-2]
HALF_BODY = header("POST", "/v1/publish", Content_Length="100", **AS_JSON) + b'{"topic": '
IDLE = header("GET", "/v1/node")

attacks = pytest.mark.parametrize(
    "attack", [SILENT, HALF_HEADER, HALF_BODY, IDLE], ids=["silent", "header", "body", "idle"]
)


async def besiege(node: Serving, attack: bytes, count: int, addresses: int = 1) -> None:
    for number in range(count):
        client = await node.connect(f"127.0.0.{2 + number % addresses}")
        await client.send(attack)


@attacks
async def test_a2_100_connections_that_do_nothing_keep_nobody_out(
    serving: Serve, attack: bytes
) -> None:
    node = await serving()
    await besiege(node, attack, 100)
    async with httpx.AsyncClient() as client:
        answers = [(await client.get(f"{node.address}/v1/node")).status_code for _ in range(10)]
    assert answers == [200] * 10


@attacks
async def test_a2_past_every_bound_a_newcomer_gets_in(serving: Serve, attack: bytes) -> None:
    node = await serving(replace(LONG, max_connections=20, max_connections_per_address=8))
    await besiege(node, attack, 200, addresses=5)
    about = await node.about()
    assert about["connections"] <= 20
    counters = {name: count for name, count in about["counters"].items() if "." in name}
    assert set(counters) <= {"http_closed.evicted", "http_closed.evicted_of_address"}
    assert sum(counters.values()) >= 180


@attacks
async def test_a2_who_has_shown_the_token_is_never_closed_for_who_has_not(
    serving: Serve, attack: bytes
) -> None:
    limits = replace(LONG, max_connections=20, max_connections_per_address=8)
    node = await serving(limits, token=TOKEN)
    friends: list[RawClient] = []
    for _ in range(10):
        friends.append(friend := await node.connect())
        await friend.send(header("GET", "/v1/topics", **BEARER))
        assert (await friend.answer()).status == 200
    await besiege(node, attack, 100, addresses=20)
    for friend in friends:
        await friend.send(header("GET", "/v1/topics", **BEARER))
        assert (await friend.answer()).status == 200
    counters = await node.counters()
    assert set(counters) <= {
        "http_closed.evicted", "http_closed.evicted_of_address", "http_refused.401",
    }  # fmt: skip


async def test_a2_a_friend_amid_its_body_is_not_closed_either(serving: Serve) -> None:
    node = await serving(replace(LONG, max_connections=8), token=TOKEN)
    friend = await node.connect()
    fields = {**AS_JSON, **BEARER, "Content_Length": "4"}
    await friend.send(header("POST", "/v1/publish", **fields) + b"ra")
    await node.about()  # by now its header has been read
    await besiege(node, SILENT, 50, addresses=10)
    await friend.send(b"in")
    assert (await friend.answer()).body == {"error": "the body is no JSON"}


async def test_a2_bodies_that_never_end_are_bounded_in_bytes(serving: Serve) -> None:
    node = await serving(replace(LONG, max_body_bytes=1 << 20))
    half = header("POST", "/v1/publish", Content_Length="60000", **AS_JSON) + b"x" * 30_000
    large = header(
        "POST", "/v1/publish/batch?key=k&network=none", Content_Length="999999", **AS_JSON
    )
    await besiege(node, half, 20)
    await besiege(node, large, 5)
    assert (await node.about())["body_bytes"] <= (1 << 20) + 64 * (64 << 10)


@pytest.fixture
def few_descriptors() -> Any:
    """A node as users start it, with few descriptors."""
    command = program(
        "rumormill.cli", "node", "--json", "--status", "0.1", "--topic", "weather",
        "--listen", "/ip4/127.0.0.1/tcp/0", "--http", "127.0.0.1:0",
    )  # fmt: skip
    with subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    ) as process:
        yield process
        process.kill()


def line(process: subprocess.Popen[str], wanted: Callable[[dict[str, Any]], bool]) -> Any:
    assert process.stdout is not None
    for text in process.stdout:
        if wanted(found := json.loads(text)):
            return found
    raise AssertionError("it ended")


def test_a2_descriptors_are_left_for_peers_however_many_connect_by_http(
    few_descriptors: subprocess.Popen[str],
) -> None:
    import socket

    ready = line(few_descriptors, lambda found: found["event"] == "ready")
    host, port = ready["http"].removeprefix("http://").rsplit(":", 1)
    _, _, peer_host, _, peer_port, *_ = ready["addresses"][0].split("/")
    with ExitStack() as stack:
        for number in range(100):
            source = (f"127.0.1.{1 + number % 50}", 0)
            stack.enter_context(socket.create_connection((host, int(port)), 10, source))
        found = httpx.get(f"{ready['http']}/v1/node").json()["http"]
        assert found["max_connections"] == 16
        assert found["connections"] <= 16
        assert found["counters"]["http_closed.evicted"] >= 80
        # A peer that connects now is spoken to.
        peer = stack.enter_context(socket.create_connection((peer_host, int(peer_port)), 10))
        peer.sendall(b"\x13/multistream/1.0.0\n")
        assert peer.recv(100).startswith(b"\x13/multistream/1.0.0\n")
        # And when peers take all that is left, that is counted, and said once.
        for number in range(60):
            source = (f"127.0.2.{1 + number % 50}", 0)
            stack.enter_context(socket.create_connection((peer_host, int(peer_port)), 10, source))
        reason = "connection_refused.too_many_open_files"
        line(few_descriptors, lambda found: found.get("counters", {}).get(reason, 0) >= 3)
    few_descriptors.terminate()
    _, errors = few_descriptors.communicate()
    assert [text for text in errors.splitlines() if "descriptors" in text] == [
        "all 64 file descriptors are in use: new connections wait until some are closed; "
        "'ulimit -n' raises the limit"
    ]


async def test_a2_requests_at_the_same_time_are_all_answered(serving: Serve) -> None:
    node = await serving()
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=100)) as client:
        requests = [client.get(f"{node.address}/v1/topics") for _ in range(100)]
        answers = await asyncio.gather(*requests)
    assert {answer.status_code for answer in answers} == {200}
