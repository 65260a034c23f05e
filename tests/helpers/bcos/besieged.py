"""Two nodes with honest SDKs that talk all the time, and attackers beside them."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import rumormill
from rumormill.bcos.certificates.identity import identity_of
from rumormill.bcos.live.bcos_network import BcosNetwork
from rumormill.bcos.live.node_network import BcosNodeNetwork
from rumormill.bcos.live.pem_files import public_der, read_certificates
from rumormill.bcos.live.sdk_network import BcosSdkNetwork
from rumormill.core.trace import TraceEvent
from tests.helpers.bcos.attacker import PATIENCE, Attacker, context_of

LOOPBACK = "127.0.0.1:0"
UNICASTS, MULTICASTS = "honest questions", "honest news"

NODES, SDKS = 4, 6
"""Of the chain. Nodes 0 and 1 and SDKs 0 to 2 are honest."""

PUBLISHER, NEAR_SUBSCRIBER, FAR_SUBSCRIBER = 0, 1, 2
ATTACKER_NODE, ATTACKER_SDK = 2, 3


class Town:
    """``node`` is attacked and ``other`` is its neighbour; an honest SDK publishes at ``node``, one
    listens there and one at ``other``.
    """

    node: BcosNodeNetwork
    other: BcosNodeNetwork
    publisher: BcosSdkNetwork
    near: BcosSdkNetwork
    far: BcosSdkNetwork

    def __init__(self, chain: Path, stack: AsyncExitStack) -> None:
        self.chain = chain
        self._stack = stack
        self.events: list[TraceEvent] = []
        self.heard: dict[str, Counter[bytes]] = {}

    async def start(self, **settings: Any) -> None:
        """Open all; ``settings`` are those of both nodes."""
        self.node = await self._node(0, **settings)
        self.other = await self._node(1, bootstrap=self.node.addresses, **settings)
        self.node.on_trace(self.events.append)
        self.publisher = await self.sdk(PUBLISHER)
        self.near = await self.sdk(NEAR_SUBSCRIBER)
        self.far = await self.sdk(FAR_SUBSCRIBER, node=self.other)
        for name, network in (("near", self.near), ("far", self.far)):
            network.respond(UNICASTS, lambda message: message.data.upper())
            self._listen(name, network)
        await self.publisher.wait_for_peers(UNICASTS, 2, timeout=PATIENCE)
        await self.publisher.wait_for_peers(MULTICASTS, 2, timeout=PATIENCE)

    async def _open(self, **settings: Any) -> Any:
        network = await rumormill.open("bcos", **settings)
        self._stack.push_async_callback(network.close)
        assert isinstance(network, BcosNetwork)
        return network

    async def _node(self, number: int, **settings: Any) -> BcosNodeNetwork:
        folder = self.chain / "nodes" / str(number)
        opened: BcosNodeNetwork = await self._open(
            certificates=folder, listen=LOOPBACK, channel_listen=LOOPBACK, **settings
        )
        return opened

    async def sdk(self, number: int, node: BcosNodeNetwork | None = None) -> BcosSdkNetwork:
        """An honest SDK."""
        address = channel_of(node or self.node)
        folder = self.chain / "sdks" / str(number)
        opened: BcosSdkNetwork = await self._open(certificates=folder, bootstrap=(address,))
        async with asyncio.timeout(PATIENCE):
            while not opened.peers:
                await asyncio.sleep(0.01)
        return opened

    def _listen(self, name: str, network: BcosSdkNetwork) -> None:
        heard = self.heard[name] = Counter()

        async def listen() -> None:
            async with network.subscribe(MULTICASTS) as messages:
                async for message in messages:
                    heard[message.data] += 1

        task = asyncio.ensure_future(listen())
        self._stack.callback(task.cancel)

    # ---- honest traffic

    async def exchange(self, number: int) -> None:
        """One question with its answer, and one message for all."""
        data = b"message %d" % number
        answer = await self.publisher.unicast(UNICASTS, data, timeout=PATIENCE)
        assert answer.data == data.upper()
        receipt = await self.publisher.multicast(MULTICASTS, data, timeout=PATIENCE)
        assert receipt.reached

    @asynccontextmanager
    async def honest_traffic(self, least: int = 20) -> AsyncIterator[None]:
        """Messages within, and ``least`` after: each arrives, once, at each who is to have it."""
        sent = 0
        over = False

        async def talk() -> None:
            nonlocal sent
            while not over:
                await self.exchange(sent)
                sent += 1

        talking = asyncio.ensure_future(talk())
        try:
            yield
        finally:
            over = True
            await asyncio.wait_for(talking, 2 * PATIENCE)
        for number in range(sent, sent + least):
            await self.exchange(number)
        expected = Counter(b"message %d" % number for number in range(sent + least))
        await self.until(lambda: all(heard == expected for heard in self.heard.values()))

    async def until(self, happened: Callable[[], object]) -> None:
        """Wait for something that must happen."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not happened():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            counters = {name: count for name, count in self.node.counters.items() if count}
            raise AssertionError(f"it never happened: {counters} {self.node.sizes()}") from None

    # ---- attackers

    def context(self, number: int = ATTACKER_SDK, unit: str = "sdk") -> ssl.SSLContext:
        """That of an SDK or a node of the chain."""
        return context_of(self.chain / f"{unit}s" / str(number), unit)

    async def attacker(self, number: int = ATTACKER_SDK) -> Attacker:
        """An SDK of the chain that is up to no good."""
        return await self._come(channel_of(self.node), self.context(number))

    async def lying_node(self, number: int = ATTACKER_NODE) -> Attacker:
        """A node of the chain that is up to no good; the node knows it."""
        joined = self.node.counters["peer_joined"]
        node = await self._come(self.node.addresses[0], self.context(number, "node"))
        await self.until(lambda: self.node.counters["peer_joined"] > joined)
        return node

    async def _come(self, address: str, context: ssl.SSLContext) -> Attacker:
        attacker = await Attacker.connect(address, context)
        self._stack.callback(attacker.cut)
        return attacker

    def called(self, number: int = ATTACKER_SDK, unit: str = "sdk") -> str:
        """What the trace calls an SDK or a node of the chain."""
        certificate = self.chain / f"{unit}s" / str(number) / f"{unit}.crt"
        return identity_of(public_der(read_certificates(certificate)[0])).called

    def blamed(self, event: str, reason: str) -> set[str]:
        """Whom the trace has told this of."""
        return {
            each.peer or str(each.fields.get("address"))
            for each in self.events
            if each.event == event and each.fields.get("reason") == reason
        }

    def held_back(self, kind: str) -> set[str]:
        """Who had to rest for work of a kind, or was dropped because it was that much at once."""
        return self.blamed("held_back", kind) | {
            str(each.peer)
            for each in self.events
            if each.event == "protocol_error"
            and each.fields.get("reason") == "too_much_work"
            and str(each.fields.get("detail")).endswith(f"mostly for {kind}")
        }


def channel_of(node: BcosNodeNetwork) -> str:
    """Where SDKs reach a node."""
    return node.services["channel"][0]
