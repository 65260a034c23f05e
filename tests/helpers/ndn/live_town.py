"""Nodes and programs on real sockets of this machine; all are closed at the end of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import rumormill
from rumormill.ndn.live.network import NdnNetwork

PATIENCE = 20.0
"""Seconds that a test waits for what must come."""

TRANSPORTS = ("tcp", "unix", "udp")


class LiveTown:
    """Opens them."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._sockets = 0

    def somewhere(self, transport: str) -> str:
        """An address that is free."""
        if transport == "unix":
            self._sockets += 1
            return f"unix://{self._folder}/{self._sockets}.sock"
        return f"{transport}://127.0.0.1:0"

    async def open(self, **settings: Any) -> NdnNetwork:
        """Any network."""
        network: NdnNetwork = await rumormill.open("ndn", **settings)
        self._stack.push_async_callback(network.close)
        return network

    async def node(self, *transports: str, **settings: Any) -> NdnNetwork:
        """A node that listens on these transports."""
        return await self.open(
            listen=[self.somewhere(each) for each in transports or ("tcp",)], **settings
        )

    async def client(self, *addresses: str, **settings: Any) -> NdnNetwork:
        """A program on forwarders."""
        return await self.open(bootstrap=addresses, **settings)


async def until(condition: Callable[[], Any]) -> None:
    """Wait for what must come, however it is seen."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)
