"""Real sockets: strangers hold all slots of a node, and an honest newcomer gets in nevertheless."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, cast

import rumormill
from rumormill import Libp2pNetwork
from rumormill.libp2p.stack.connection import Connection, Established
from rumormill.libp2p.stack.keys import PrivateKey

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
QUICK: dict[str, Any] = {"heartbeat_interval": 0.1, "redial_first_delay": 0.05}
HALF_OPEN, IDLE = 64, 254


class Stranger(asyncio.Protocol):
    """Opens a connection, shakes hands if it is to, and does nothing more."""

    def __init__(self, speaks: bool) -> None:
        self._speaks = speaks
        self.inside: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether the node took it in; it is known when the handshake is done, or all is over."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._speaks:
            self._connection = Connection(
                identity=PrivateKey.generate(random.SystemRandom()),
                dialer=True,
                now=time.monotonic(),
                entropy=random.SystemRandom(),
                protocols=tuple,
            )
            self._transport.write(self._connection.data_to_send())

    def data_received(self, data: bytes) -> None:
        if not self._speaks:
            return
        events = self._connection.receive(data, time.monotonic())
        if any(isinstance(each, Established) for each in events):
            self._tell(True)
        self._transport.write(self._connection.data_to_send())

    def connection_lost(self, error: Exception | None) -> None:
        self._tell(False)

    def _tell(self, inside: bool) -> None:
        if not self.inside.done():
            self.inside.set_result(inside)

    def leave(self) -> None:
        self._transport.abort()


async def strangers(node: Libp2pNetwork, count: int, speaks: bool) -> list[Stranger]:
    """So many, from a dozen addresses of loopback."""
    port = int(node.addresses[0].split("/")[4])
    found = []
    for number in range(count):
        _, stranger = await asyncio.get_running_loop().create_connection(
            lambda: Stranger(speaks),
            "127.0.0.1",
            port,
            local_addr=(f"127.0.0.{2 + number % 12}", 0),
        )
        found.append(stranger)
    if speaks:
        await asyncio.wait_for(asyncio.gather(*(each.inside for each in found)), 30)
    return found


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_newcomer_gets_messages_though_strangers_hold_every_slot() -> None:
    async with (
        rumormill.open("gossipsub", listen=LOOPBACK, limit_loopback=False, **QUICK) as node,
        rumormill.open("gossipsub", listen=LOOPBACK, **QUICK) as old,
        rumormill.open("gossipsub", listen=LOOPBACK, **QUICK) as newcomer,
    ):
        assert isinstance(node, Libp2pNetwork)
        node.subscribe("weather")
        heard_before = old.subscribe("weather")
        await old.connect(node.addresses[0])
        await until(lambda: old.id in node.mesh("weather"))
        idle = await strangers(node, IDLE, speaks=True)
        half_open = await strangers(node, HALF_OPEN, speaks=False)
        await until(lambda: node.counters["connection_evicted.too_many_connections"] > 0)
        assert old.id in node.peers and len(node.peers) >= 200

        heard = newcomer.subscribe("weather")
        assert await newcomer.connect(node.addresses[0]) == node.id
        await until(lambda: newcomer.id in node.subscribers("weather"))
        await old.publish("weather", b"rain")
        for messages in (heard, heard_before):
            assert (await messages.get(timeout=20)).data == b"rain"
        assert old.id in node.peers and newcomer.id in node.peers
        for each in (*idle, *half_open):
            each.leave()


async def test_on_the_address_of_the_strangers_too() -> None:
    """With the limit for each address: loopback is one, and strangers hold all that it may have."""
    async with (
        rumormill.open("gossipsub", listen=LOOPBACK, **QUICK) as node,
        rumormill.open("gossipsub", listen=LOOPBACK, **QUICK) as newcomer,
    ):
        assert isinstance(node, Libp2pNetwork)
        idle = await strangers(node, 40, speaks=True)
        half_open = await strangers(node, 40, speaks=False)
        heard = newcomer.subscribe("weather")
        assert await newcomer.connect(node.addresses[0]) == node.id
        await node.publish("weather", b"rain", ready=10)
        assert (await heard.get(timeout=20)).data == b"rain"
        assert node.counters["connection_evicted.too_many_from_address"] > 8
        for each in (*idle, *half_open):
            each.leave()
