from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

import rumormill
from rumormill.node.app import NodeParts, build_app
from rumormill.node.settings import HttpSettings
from tests.helpers.capture.spools import TestSpool, make_spool

LOOPBACK = HttpSettings("127.0.0.1", 7700)
Ask = Callable[..., httpx.AsyncClient]


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    return make_spool(tmp_path / "spool")


@pytest.fixture
async def network() -> AsyncIterator[rumormill.Network]:
    async with rumormill.open("gossipsub") as network:
        yield network


@pytest.fixture
async def ask(network: rumormill.Network) -> AsyncIterator[Ask]:
    """A client of a node with this spool and these settings, without a socket in between."""
    clients: list[httpx.AsyncClient] = []

    def client(spool: Path | None = None, settings: HttpSettings = LOOPBACK) -> httpx.AsyncClient:
        app = build_app(NodeParts([network], spool), settings)
        transport = httpx.ASGITransport(app=app)
        clients.append(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7700"))
        return clients[-1]

    yield client
    for each in clients:
        await each.aclose()
