from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

import rumormill
from rumormill.core.errors import ConfigError
from rumormill.node.app import NodeParts
from rumormill.node.server import serve
from rumormill.node.settings import HttpSettings


async def test_it_answers_in_the_loop_of_the_node_and_ends_with_the_block(
    network: rumormill.Network,
) -> None:
    async with serve(NodeParts([network]), HttpSettings("127.0.0.1", 0)) as address:
        async with httpx.AsyncClient() as client:
            found = (await client.get(f"{address}/v1/node")).json()
        assert found["id"] == network.id
        port = int(address.rpartition(":")[2])
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", port))


async def test_the_port_can_be_used_again_at_once() -> None:
    port = 0
    for _ in range(3):
        async with serve(NodeParts([]), HttpSettings("127.0.0.1", port)) as address:
            port = int(address.rpartition(":")[2])
            async with httpx.AsyncClient() as client:
                assert (await client.get(f"{address}/v1/node")).status_code == 200


async def test_a_port_that_is_taken_is_told_with_the_address() -> None:
    async with serve(NodeParts([]), HttpSettings("127.0.0.1", 0)) as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(ConfigError, match=f"http: cannot listen on 127.0.0.1:{port}: .*in use"):
            async with serve(NodeParts([]), HttpSettings("127.0.0.1", port)):
                pass


async def test_a_name_that_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    settings = HttpSettings("node.example", 0, "a-long-random-token")
    with pytest.raises(ConfigError, match=r"http: cannot listen on node.example:0: Name or serv"):
        async with serve(NodeParts([]), settings):
            pass


async def test_it_leaves_the_signals_to_the_node() -> None:
    import signal

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with serve(NodeParts([]), HttpSettings("127.0.0.1", 0)) as address:
        async with httpx.AsyncClient() as client:
            await client.get(f"{address}/v1/node")
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


async def test_a_caller_that_hangs_does_not_keep_the_node_from_ending() -> None:
    async with asyncio.timeout(20):
        async with serve(NodeParts([]), HttpSettings("127.0.0.1", 0)) as address:
            port = int(address.rpartition(":")[2])
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n")
            writer.write(b"Content-Type: application/json\r\n\r\n")
            await writer.drain()
            async with httpx.AsyncClient() as client:
                assert (await client.get(f"{address}/v1/node")).status_code == 200
        writer.close()
