"""A main DHT in memory, for a client that is tested in virtual time: each node knows those nearest
to what it is asked for, and stores what BEP 44 lets it store.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from rumormill.bep50.main_dht.client import MainClient
from rumormill.bep50.wire.addresses import NodeInfo, compact_nodes
from rumormill.bep50.wire.bencode import Value, decode
from rumormill.bep50.wire.items import Item, genuine, item_from_put
from rumormill.bep50.wire.krpc import Query, answer_packet, failure_packet, read_packet
from rumormill.core.machine import Received, Send
from tests.helpers.core.machines import AnyEffect, AnyInput


class ModelNode:
    """One node of the main DHT; a test bends it by its attributes."""

    def __init__(self, number: int, id: bytes) -> None:
        self.peer = f"10.{number // 250}.{number % 250}.1:6881"
        self.id = id
        self.item: Item | None = None
        self.token = b"token-%d" % number
        self.silent = False
        self.refuses: int | None = None
        """An error code that every put is answered with."""
        self.bend: Callable[[dict[bytes, Value]], None] = lambda values: None
        """Changes an answer before it is sent."""
        self.asked: list[Query] = []

    def answer(self, raw: bytes, nearest: list[NodeInfo]) -> bytes | None:
        query = read_packet(raw)
        assert isinstance(query, Query)
        self.asked.append(query)
        if self.silent:
            return None
        if query.method == "get":
            return self._get(query, nearest)
        assert query.method == "put"
        return self._put(query)

    def _get(self, query: Query, nearest: list[NodeInfo]) -> bytes:
        values: dict[bytes, Value] = {
            b"id": self.id,
            b"nodes": compact_nodes(nearest),
            b"token": self.token,
        }
        item = self.item
        if item is not None and item.target == query.arguments[b"target"]:
            values[b"seq"] = item.seq
            known = query.arguments.get(b"seq")
            if not isinstance(known, int) or item.seq > known:
                values |= {b"k": item.public_key, b"sig": item.signature, b"v": decode(item.value)}
        self.bend(values)
        return answer_packet(query.transaction, values)

    def _put(self, query: Query) -> bytes:
        code = self.refuses or self._problem(query)
        if code:
            return failure_packet(query.transaction, code, "no")
        self.item = item_from_put(query.arguments)
        return answer_packet(query.transaction, {b"id": self.id})

    def _problem(self, query: Query) -> int | None:
        item, cas = item_from_put(query.arguments), query.arguments.get(b"cas")
        if query.arguments[b"token"] != self.token:
            return 203
        if not genuine(item):
            return 206
        if self.item is not None and isinstance(cas, int) and self.item.seq != cas:
            return 301
        return 302 if self.item is not None and item.seq < self.item.seq else None


class ModelDht:
    """Nodes with random ids, and the time."""

    def __init__(self, count: int, seed: int = 1) -> None:
        chance = random.Random(seed)
        self.nodes = [ModelNode(number, chance.randbytes(20)) for number in range(count)]
        self.by_peer = {node.peer: node for node in self.nodes}
        self.told = 8
        """Nodes that an answer names."""
        self.now = 0.0
        self.packets: list[Send] = []

    def nearest(self, target: bytes) -> list[ModelNode]:
        place = int.from_bytes(target, "big")
        return sorted(self.nodes, key=lambda node: int.from_bytes(node.id, "big") ^ place)

    def run(self, client: MainClient, *inputs: AnyInput) -> list[AnyEffect]:
        """Feed the inputs, and go on until nothing is on its way; all effects but packets."""
        found: list[AnyEffect] = []
        for input in inputs:
            found += self._carry_out(client, client.handle(input, self.now))
        while (due := client.next_wake()) is not None:
            self.now = max(self.now, due)
            found += self._carry_out(client, client.wake(self.now))
        return found

    def _carry_out(self, client: MainClient, effects: Iterable[AnyEffect]) -> list[AnyEffect]:
        found: list[AnyEffect] = []
        waiting = list(effects)
        while waiting:
            effect = waiting.pop(0)
            if not isinstance(effect, Send):
                found.append(effect)
                continue
            self.packets.append(effect)
            node = self.by_peer.get(effect.peer)
            target = read_packet(effect.packet).arguments.get(b"target", b"")  # type: ignore[union-attr]
            assert isinstance(target, bytes)
            nearest = [NodeInfo(each.id, each.peer) for each in self.nearest(target)]
            raw = None if node is None else node.answer(effect.packet, nearest[: self.told])
            if raw is not None:
                waiting += client.handle(Received(effect.peer, raw), self.now)
        return found
