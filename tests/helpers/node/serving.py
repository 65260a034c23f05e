"""An HTTP side on a socket, in the loop of the test, and clients that send what they like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import rumormill
from rumormill.node.app import NodeParts
from rumormill.node.server import serve
from rumormill.node.settings import HttpLimits, HttpSettings
from tests.helpers.node.raw_client import RawClient

LONG = HttpLimits(header_timeout=600, body_timeout=600, answer_timeout=600, idle_timeout=600)
"""Nothing ends by time."""


class Serving:
    """One HTTP side."""

    def __init__(self, address: str, token: str | None) -> None:
        self.address = address
        self._token = token
        self.clients: list[RawClient] = []

    async def connect(self, source: str = "127.0.0.1") -> RawClient:
        """Somebody who sends what it likes."""
        self.clients.append(await RawClient.connect(self.address, source))
        return self.clients[-1]

    async def about(self) -> dict[str, Any]:
        """What it says of its HTTP side, to somebody who has the token."""
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"{self.address}/v1/node", headers=headers)
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()["http"]
        return found

    async def counters(self) -> dict[str, int]:
        """Those with a reason."""
        counters = (await self.about())["counters"]
        return {name: count for name, count in counters.items() if "." in name}

    async def until(self, name: str, count: int) -> None:
        """Wait until something was counted so often; the test's own time-out ends it."""
        while (await self.counters()).get(name, 0) < count:
            await asyncio.sleep(0.01)


Serve = Callable[..., Any]


@pytest.fixture
async def serving() -> AsyncIterator[Serve]:
    """Start one; it ends with the test."""
    async with AsyncExitStack() as stack:

        async def start(
            limits: HttpLimits = LONG,
            *,
            spool: Path | None = None,
            token: str | None = None,
            networks: tuple[rumormill.Network, ...] = (),
        ) -> Serving:
            settings = HttpSettings("127.0.0.1", 0, token, limits)
            address = await stack.enter_async_context(serve(NodeParts(networks, spool), settings))
            found = Serving(address, token)
            stack.push_async_callback(close_all, found.clients)
            return found

        yield start


async def close_all(clients: list[RawClient]) -> None:
    for client in clients:
        client.close()
    await asyncio.sleep(0)
