"""A peer of another implementation that finds others: by Kademlia, rendezvous, mDNS.

    one = await start_rust_peer(kademlia="server")
    other = await start_js_peer(kademlia="client", bootstrap=[one.address])
    await other.knows(one.id)
    await other.provide("weather")

Nothing of it is on unless it is asked for. Rendezvous is rust's alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

from tests.helpers.interop.peer_process import Event, PeerProcessError, RouterPeer

KADEMLIA = "/ipfs/kad/1.0.0"
RENDEZVOUS = "/rendezvous/1.0.0"
# A search ends when the nearest nodes have answered, or were waited for in vain.
LONGEST_SEARCH = 60


class FindingPeer(RouterPeer):
    """A node with a pubsub router and ways to find others."""

    @classmethod
    async def start(
        cls,
        program: Path,
        *,
        kademlia: str | None = None,
        kademlia_protocol: str | None = None,
        bootstrap: Sequence[str] = (),
        mdns: bool = False,
        more: Sequence[str] = (),
        **arguments: Any,
    ) -> Self:
        """Start a node and wait until it is ready; ``kademlia`` is ``client`` or ``server``."""
        words = ["--kademlia", kademlia] if kademlia else []
        words += ["--kademlia-protocol", kademlia_protocol] if kademlia_protocol else []
        words += [part for address in bootstrap for part in ("--bootstrap", address)]
        words += ["--mdns", "on"] if mdns else []
        return await super().start(program, more=[*words, *more], **arguments)

    # ---- Kademlia

    async def provide(self, topic: str) -> bytes:
        """Say in the DHT that it takes part in the topic; returns the key it said it under."""
        answer = await self._command("provide", LONGEST_SEARCH, topic=topic)
        return bytes.fromhex(answer["key"])

    async def find(self, topic: str, *, dial: bool = False) -> set[str]:
        """Who takes part in the topic, as the DHT has it; ``dial`` connects to all of them."""
        answer = await self._command("find", LONGEST_SEARCH, topic=topic, dial=dial)
        return {peer["id"] for peer in answer["peers"]}

    async def finds(
        self, topic: str, *peers: str, dial: bool = False, timeout: float = 60
    ) -> set[str]:
        """Look again and again until the peers are among those who take part; returns all.

        Whoever was told of a provider does not say when it has noted it down.
        """
        found: set[str] = set()
        try:
            async with asyncio.timeout(timeout):
                while not (found := await self.find(topic, dial=dial)).issuperset(peers):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            missing = ", ".join(set(peers).difference(found))
            problem = f"does not find {missing} in {topic!r} after {timeout} s"
            raise PeerProcessError(f"the {self.language} peer {problem}") from None
        return found

    async def find_peer(self, peer: str) -> list[str] | None:
        """Where a peer listens, as the DHT has it."""
        answer = await self._command("find_peer", LONGEST_SEARCH, id=peer)
        addresses: list[str] | None = answer["addresses"]
        return addresses

    async def routing_table(self) -> list[str]:
        """The peers that it would ask."""
        answer = await self._command("routing_table")
        peers: list[str] = answer["peers"]
        return peers

    async def knows(self, *peers: str, timeout: float = 30) -> None:
        """Wait until its routing table holds the peers."""
        missing = set(peers)
        try:
            async with asyncio.timeout(timeout):
                while missing := missing.difference(await self.routing_table()):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            problem = f"has no {', '.join(missing)} in its routing table after {timeout} s"
            raise PeerProcessError(f"the {self.language} peer {problem}") from None

    # ---- all ways

    async def found(self, way: str, peer: str, *, timeout: float = 30) -> Event:
        """Wait until it has found the peer by ``kademlia``, ``rendezvous`` or ``mdns``.

        The event has its ``addresses``; None from rust's Kademlia, which does not tell them.
        """
        return await self.expect("found", way=way, id=peer, timeout=timeout)

    async def connected(self, peer: str, *, timeout: float = 30) -> None:
        """Wait until it is connected to the peer."""
        try:
            async with asyncio.timeout(timeout):
                while peer not in [each["id"] for each in await self.peers()]:
                    await asyncio.sleep(0.1)
        except TimeoutError:
            problem = f"is not connected to {peer} after {timeout} s"
            raise PeerProcessError(f"the {self.language} peer {problem}") from None


StartFindingPeers: TypeAlias = dict[str, Callable[..., Awaitable[FindingPeer]]]
"""The fixture ``start_finding``: how a peer is started, by its language."""
