"""Our client of the main DHT on a socket of its own, without an overlay around it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rumormill.bep50.live.addresses import ADDRESSES
from rumormill.bep50.main_dht.client import MainClient
from rumormill.bep50.main_dht.effects import (
    ItemRead,
    ItemSeen,
    ItemWritten,
    MainContact,
    ReadItem,
    WriteItem,
)
from rumormill.bep50.main_dht.parameters import MainParameters
from rumormill.bep50.wire.addresses import is_ipv6
from rumormill.bep50.wire.items import Item
from rumormill.live.driver import Driver
from rumormill.live.transports.udp import Udp

PATIENCE = 30.0


class MainDhtUser:
    """Reads and writes items; it is there while its context is."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = tuple(nodes)
        chance = random.SystemRandom()
        self.client = MainClient(chance.randbytes(20), MainParameters(), chance)
        self._driver: Driver[Any] = Driver(self.client)
        self.counters = self._driver.counters
        self._udp = Udp(self._driver.feed, ADDRESSES, lambda reason, peer, count: None)
        self._udp.attach(self._driver)
        self._driver.on(ItemSeen, lambda _: None)
        self._driver.on(ItemRead, self._end)
        self._driver.on(ItemWritten, self._end)
        self._ends: dict[int, asyncio.Future[Any]] = {}

    async def __aenter__(self) -> Self:
        self._driver.start()
        host = "[::1]" if is_ipv6(self._nodes[0]) else "127.0.0.1"
        own = await self._udp.listen([f"{host}:0"])
        self._driver.feed(MainContact(self._nodes, own))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._udp.close()
        self._driver.stop()

    async def read(self, public_key: bytes, salt: bytes = b"") -> Item | None:
        """The newest value on the main DHT."""
        token = len(self._ends)
        found: ItemRead = await self._order(ReadItem(token, public_key, salt))
        assert found.answered
        return found.item

    async def write(self, item: Item, cas: int | None = None, refresh: bool = False) -> ItemWritten:
        """Put an item; what became of it."""
        written: ItemWritten = await self._order(WriteItem(len(self._ends), item, cas, refresh))
        return written

    async def _order(self, order: ReadItem | WriteItem) -> Any:
        end = asyncio.get_running_loop().create_future()
        self._ends[order.token] = end
        self._driver.feed(order)
        return await asyncio.wait_for(end, PATIENCE)

    def _end(self, effect: ItemRead | ItemWritten) -> None:
        self._ends[effect.token].set_result(effect)
