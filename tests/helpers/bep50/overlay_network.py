"""Overlay nodes in virtual time, with datagrams between them: small, and under a test's thumb."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from rumormill.bep50.effects import Contact, Publish
from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.bencode import Dict, Value, decode, encode
from rumormill.bep50.wire.items import Item, genuine
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import PutTemplate
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Check, Checked, Deliver, Received, Send, Subscribe, Verdict
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Listening
from tests.helpers.core.machines import AnyEffect, AnyInput

KEY = ItemKey.from_seed(bytes(range(32)))
TOPIC = TopicName(KEY.public_key, b"")
OTHER_TOPIC = TopicName(KEY.public_key, b"other")
LATENCY = 0.05


def address_of(number: int) -> str:
    """The address of the node of this number."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:6881"


def value_of(packet: bytes) -> dict[bytes, Any]:
    """A packet as a dict."""
    found = decode(packet)
    assert isinstance(found, dict)
    return found


class OverlayNetwork:
    """Nodes by their address. Packets to an address without a node are kept in ``undelivered``."""

    def __init__(self, seed: int = 1, latency: float = LATENCY) -> None:
        self.random = Random(seed)
        self.now = 1000.0
        self.latency = latency
        self.nodes: dict[str, OverlayNode] = {}
        self.aliases: dict[str, str] = {}
        """Further addresses of nodes, of the other IP family."""
        self.effects: dict[str, list[AnyEffect]] = defaultdict(list)
        self.packets: list[tuple[float, str, str, bytes]] = []
        """Every packet that was sent: when, from where, to where, what."""
        self.loses: Callable[[str, str, bytes], bool] = lambda source, target, packet: False
        self.check: Callable[[Item], str] = lambda item: (
            Verdict.ACCEPT if genuine(item) else Verdict.FORGED
        )
        self.checks = 0
        self.hold_checks = False
        self.held: list[tuple[str, Check]] = []
        self._queue: list[tuple[float, int, str, AnyInput | None]] = []
        self._sequence = 0

    # ---- building

    def add(
        self,
        address: str | None = None,
        *,
        subscribe: Iterable[TopicName] = (TOPIC,),
        contacts: Iterable[str] = (),
        keys: Iterable[ItemKey] = (KEY,),
        id: bytes | None = None,
        **parameters: Any,
    ) -> str:
        """A node, subscribed and told of its contacts; returns its address."""
        address = address or address_of(len(self.nodes) + 1)
        node = OverlayNode(
            id or self.random.randbytes(20),
            keys,
            OverlayParameters(**parameters),
            Random(self.random.getrandbits(64)),
            Random(self.random.getrandbits(64)),
        )
        self.nodes[address] = node
        self.feed(address, Listening((address,)))
        for topic in subscribe:
            self.feed(address, Subscribe(topic.text))
        if contacts := tuple(contacts):
            self.feed(address, Contact(None, contacts))
        return address

    def add_many(self, count: int, *, settle: float = 10.0, **options: Any) -> list[str]:
        """Nodes that all begin with the first one, after each other."""
        addresses = [self.add(**options)]
        for _ in range(count - 1):
            self.run(0.2)
            addresses.append(self.add(contacts=addresses[:1], **options))
        self.run(settle)
        return addresses

    # ---- running

    def feed(self, address: str, input: AnyInput) -> list[AnyEffect]:
        """Give a node an input now, and carry out what follows."""
        address = self.aliases.get(address, address)
        node = self.nodes.get(address)
        if node is None:
            return []
        effects = node.handle(input, self.now)
        self._carry_out(address, effects)
        return effects

    def send(self, source: str, target: str, packet: Dict | bytes) -> list[AnyEffect]:
        """A datagram from anywhere, at once; what the node does about it."""
        raw = packet if isinstance(packet, bytes) else encode(packet)
        return self.feed(target, Received(source, raw))

    def run(self, seconds: float) -> None:
        """Let the time pass."""
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            when, _, address, input = heapq.heappop(self._queue)
            self.now = max(self.now, when)
            address = self.aliases.get(address, address)
            node = self.nodes.get(address)
            if node is None:
                continue
            if input is not None:
                self._carry_out(address, node.handle(input, self.now))
                continue
            due = node.next_wake()
            if due is not None and due <= self.now:
                self._carry_out(address, node.wake(self.now))
                after = node.next_wake()
                assert after is None or after > self.now, "the node does not let the time pass"
        self.now = end

    def kill(self, address: str) -> OverlayNode:
        """The node is gone without a word."""
        return self.nodes.pop(address)

    def release(self) -> None:
        """Carry out the checks that were held back."""
        held, self.held = self.held, []
        for address, check in held:
            self.feed(address, Checked(check.token, self.check(check.subject)))

    def _schedule(self, when: float, address: str, input: AnyInput | None) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (when, self._sequence, address, input))

    def _carry_out(self, address: str, effects: list[AnyEffect]) -> None:
        self.effects[address] += effects
        for effect in effects:
            if isinstance(effect, Send):
                self.packets.append((self.now, address, effect.peer, effect.packet))
                if not self.loses(address, effect.peer, effect.packet):
                    source = self._source(address, effect.peer)
                    received = Received(source, effect.packet)
                    self._schedule(self.now + self.latency, effect.peer, received)
            elif isinstance(effect, Check):
                self.checks += 1
                if self.hold_checks:
                    self.held.append((address, effect))
                else:
                    verdict = self.check(effect.subject)
                    self._schedule(self.now, address, Checked(effect.token, verdict))
        node = self.nodes[address]
        due = node.next_wake()
        if due is not None:
            self._schedule(max(due, self.now), address, None)

    def _source(self, address: str, peer: str) -> str:
        """The address from which a node sends to a peer: it is of the same family."""
        if address.startswith("[") == peer.startswith("["):
            return address
        aliases = (alias for alias, main in self.aliases.items() if main == address)
        return next(aliases, address)

    # ---- questions

    def publish(self, address: str, value: Value, topic: TopicName = TOPIC, **more: Any) -> None:
        """Publish any value."""
        self.feed(address, Publish(topic.text, encode(value), **more))

    def of_type(self, address: str, kind: type) -> list[Any]:
        """The effects of one type that a node had."""
        return [effect for effect in self.effects[address] if type(effect) is kind]

    def messages(self, address: str) -> list[Message]:
        """What was delivered at a node."""
        return [effect.message for effect in self.of_type(address, Deliver)]

    def texts(self, address: str) -> list[str]:
        """The text of what was delivered at a node."""
        return [message.text for message in self.messages(address)]

    def events(self, address: str, event: str) -> list[TraceEvent]:
        """The trace events of one kind of a node."""
        return [each for each in self.of_type(address, TraceEvent) if each.event == event]

    def sent(self, source: str, target: str | None = None) -> list[dict[bytes, Any]]:
        """The packets that a node sent, as dicts."""
        return [
            value_of(packet)
            for _, by, to, packet in self.packets
            if by == source and target in (None, to)
        ]

    def queries(
        self, source: str, method: str, target: str | None = None
    ) -> list[dict[bytes, Any]]:
        """The queries that a node sent."""
        name = method.encode()
        return [packet for packet in self.sent(source, target) if packet.get(b"q") == name]

    def forget(self) -> None:
        """Forget the packets and effects so far."""
        self.packets.clear()
        self.effects.clear()


# ---- for tests of puts


def count_puts(network: OverlayNetwork) -> int:
    """How many puts were sent by all."""
    return sum(b"1:q3:put" in packet for _, _, _, packet in network.packets)


def lose_puts_between(network: OverlayNetwork, source: str, target: str) -> None:
    """From now on no put of the one reaches the other."""
    network.loses = lambda by, to, packet: (by, to) == (source, target) and b"1:q3:put" in packet


def token_of(network: OverlayNetwork, target: str, source: str) -> bytes:
    """A token for an address that is no node."""
    get: dict[bytes, Any] = {b"a": {b"id": b"f" * 20, b"target": TOPIC.target}, b"t": b"tok"}
    network.send(source, target, {**get, b"c": TOPIC.target, b"q": b"get", b"y": b"q"})
    answers = [each for each in network.sent(target, source) if each.get(b"t") == b"tok"]
    return bytes(answers[-1][b"r"][b"token"])


def put_packet(item: Item, token: bytes) -> bytes:
    """A put of the item."""
    return PutTemplate(b"f" * 20, item, TOPIC.target).packet(b"put", token)
