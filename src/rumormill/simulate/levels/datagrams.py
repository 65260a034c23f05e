"""The datagram level: machines that say ``Send(peer, packet)``, where a peer is an address.

Nothing connects two nodes: what is sent to an address goes to whoever has it when it arrives, and
nobody learns whether it did. Every node has an address, such as ``10.0.0.1:6881``. It is a name
and nothing else: no byte leaves the process.
"""

from __future__ import annotations

from heapq import heappush
from typing import TypeAlias

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Checked, Received, Send
from rumormill.simulate.link import Link
from rumormill.simulate.node import Node
from rumormill.simulate.world import Adapter, World

PORT = 6881
"""Of addresses that the simulation makes up."""

LARGEST = 65507
"""Bytes. More does not fit into a UDP datagram."""

DatagramLevelInput: TypeAlias = Received | Checked
"""What a machine of this level is fed, beside the commands of the script."""

_Datagram: TypeAlias = tuple[Node, Send]
"""One under way, and who sent it."""


class DatagramAdapter(Adapter):
    """Carries datagrams between machines, as UDP does: late, out of order, or not at all.

    Nobody sends a datagram again, so ``Link.reliable`` and its timeout do not matter here; nor do
    the water marks, as nobody is told to hold back. With a ``bandwidth``, the datagrams of a node
    leave it one after the other, whomever they are for, and ``queue`` is how many bytes may wait.
    """

    unit = "datagram"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._owners: dict[str, Node] = {}  # by address, in their present life
        self._links: dict[tuple[str, str], Link] = {}  # by two addresses; else the world's
        self._free_at: dict[str, float] = {}  # when the last datagram of an address has left
        self.handlers[Send] = self._on_send

    def added(self, node: Node) -> None:
        """Give the node its address; what arrives there is for its machine from now on."""
        if not node.address:
            node.address = self._new_address()
        owner = self._owners.setdefault(node.address, node)
        if owner.name != node.name:
            raise LocalProtocolError(f"{node.address} is the address of another node")
        self._owners[node.address] = node
        self._free_at.pop(node.address, None)

    def _new_address(self) -> str:
        number = len(self._owners) + 1
        while True:  # the script may have given this one to a node itself
            host = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            if f"{host}:{PORT}" not in self._owners:
                return f"{host}:{PORT}"
            number += 1

    def connect(self, a: Node, b: Node, link: Link, back: Link, protocol: str | None) -> None:
        """Say what lies between the two; neither of them is told anything."""
        self._links[a.address, b.address] = link
        self._links[b.address, a.address] = back

    def disconnect(self, a: Node, b: Node, reason: str) -> None:
        """There is nothing that could be ended."""
        raise LocalProtocolError(
            f"nothing connects {a.name!r} and {b.name!r}, which speak in datagrams: "
            "part them with partition()"
        )

    # ---- the way of a datagram

    def _on_send(self, node: Node, effect: Send) -> None:
        clock, link = self.clock, self.world.link
        if self._links:
            link = self._links.get((node.address, effect.peer), link)
        size = len(effect.packet)
        if link.plain and size <= LARGEST:
            arrives = clock.now + link.latency
        else:
            leaves = self._leaves(node, link, size)
            if isinstance(leaves, str):
                self.record.drop(node, effect.peer, leaves, size, self.unit)
                return
            arrives = leaves + link.latency
            if link.jitter:
                arrives += link.jitter * node.random.random()
        # The most frequent thing there is: Clock.schedule, spelled out.
        heappush(clock.queue, (arrives, next(clock.sequence), self._arrive, (node, effect)))

    def _leaves(self, node: Node, link: Link, size: int) -> float | str:
        """When so many bytes have left the node, or why they never arrive."""
        leaves = now = self.clock.now
        if size > LARGEST:
            return "too_large"
        if link.bandwidth is not None:
            leaves = max(now, self._free_at.get(node.address, now)) + size / link.bandwidth
            if (leaves - now) * link.bandwidth > link.queue:
                return "link_full"
            self._free_at[node.address] = leaves
        if link.loss and node.random.random() < link.loss:
            return "lost"
        return leaves

    def _arrive(self, datagram: _Datagram) -> None:
        sender, effect = datagram
        target = self._owners.get(effect.peer)
        if target is None or not target.alive:
            self._lost(datagram, "nobody_there")
        elif self.world.apart(sender, target):
            self._lost(datagram, "partitioned")
        else:
            target.feed(Received(sender.address, effect.packet))

    def _lost(self, datagram: _Datagram, reason: str) -> None:
        sender, effect = datagram
        self.record.drop(sender, effect.peer, reason, len(effect.packet), self.unit)
