"""Two nodes with honest SDKs that talk all the time, and attackers beside them."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import rumormill
from rumormill.bcos.certificates.identity import identity_of
from rumormill.bcos.live.bcos_network import BcosNetwork
from rumormill.bcos.live.node_network import BcosNodeNetwork
from rumormill.bcos.live.pem_files import public_der, read_certificates
from rumormill.bcos.live.sdk_network import BcosSdkNetwork
from tests.helpers.bcos.attacker import Attacker, context_of
from tests.helpers.live.siege import PATIENCE, Siege

LOOPBACK = "127.0.0.1:0"
UNICASTS, MULTICASTS = "honest questions", "honest news"

NODES, SDKS = 4, 6
"""Of the chain. Nodes 0 and 1 and SDKs 0 to 2 are honest."""

PUBLISHER, NEAR_SUBSCRIBER, FAR_SUBSCRIBER = 0, 1, 2
ATTACKER_NODE, ATTACKER_SDK = 2, 3


class Town(Siege):
    """``node`` is attacked and ``other`` is its neighbour; an honest SDK publishes at ``node``, one
    listens there and one at ``other``.
    """

    node: BcosNodeNetwork
    other: BcosNodeNetwork
    publisher: BcosSdkNetwork
    near: BcosSdkNetwork
    far: BcosSdkNetwork

    def __init__(self, chain: Path, stack: AsyncExitStack) -> None:
        super().__init__(stack)
        self.chain = chain

    @property
    def attacked(self) -> BcosNodeNetwork:
        """The node."""
        return self.node

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
            self.listen(name, network, MULTICASTS)
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

    # ---- honest traffic

    async def exchange(self, number: int) -> None:
        """One question with its answer, and one message for all."""
        data = self.message(number)
        answer = await self.publisher.unicast(UNICASTS, data, timeout=PATIENCE)
        assert answer.data == data.upper()
        receipt = await self.publisher.multicast(MULTICASTS, data, timeout=PATIENCE)
        assert receipt.reached

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


def channel_of(node: BcosNodeNetwork) -> str:
    """Where SDKs reach a node."""
    return node.services["channel"][0]
