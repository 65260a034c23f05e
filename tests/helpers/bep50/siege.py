"""A node of an overlay under siege: one real machine, honest neighbours, and packets by hand.

The machine is driven in virtual time. Neighbours answer at once, as honest nodes do; hostile peers
are whoever a test speaks for.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

from rumormill.bep50.effects import Contact
from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.addresses import NodeInfo, compact_nodes
from rumormill.bep50.wire.bencode import Dict, decode
from rumormill.bep50.wire.items import Item, genuine, item_from_put
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import (
    Answer,
    Failure,
    Query,
    answer_packet,
    bytes_of,
    query_packet,
    read_packet,
)
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Check, Checked, Deliver, Received, Send, Subscribe, Verdict
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Listening
from tests.helpers.core.machines import AnyEffect, AnyInput

OWN_PEER = "10.0.0.1:6881"
OWN_ID = bytes(20)
KEY = ItemKey.from_seed(b"k" * 32)
SALT = b"weather"
TOPIC = TopicName(KEY.public_key, SALT)

HIGHEST = 9
"""The number of the newest item that hostile neighbours keep up their sleeves in these tests."""

MOST_ROUNDS = 2_000
"""Packets to and from neighbours that one input may cause: beyond it there is no end to them."""


def value(text: str) -> bytes:
    """A bencoded string."""
    data = text.encode()
    return b"%d:%b" % (len(data), data)


def item(seq: int, text: str = "rain", salt: bytes = SALT, key: ItemKey = KEY) -> Item:
    """What the topic's owner publishes."""
    return key.item(salt, seq, value(text))


def node_id(number: int) -> bytes:
    """Ids that lie in different buckets, all of them far from our own but the first."""
    return bytes([0x80 >> number % 8]) + number.to_bytes(19, "big")


class Neighbour:
    """An honest node: it answers everything, and keeps the newest value that it is given."""

    def __init__(self, number: int, nodes: bytes = b"", family: str = "10.0.1.{}:6881") -> None:
        self.peer = family.format(number)
        self.id = node_id(number)
        self.token = b"token %d" % number
        self.nodes = nodes
        self.item: Item | None = None
        self.puts: list[Item] = []
        self.asked: list[Query] = []

    def respond(self, raw: bytes) -> list[bytes]:
        """Its answer to a packet of ours."""
        packet = read_packet(raw)
        if not isinstance(packet, Query):
            return []
        self.asked.append(packet)
        return self.answer(packet)

    def answer(self, query: Query) -> list[bytes]:
        """What an honest node says; a liar says something else."""
        values: Dict = {b"id": self.id}
        if query.method == "put":
            assert query.arguments[b"token"] == self.token
            received = item_from_put(query.arguments)
            self.puts.append(received)
            if self.item is None or received.seq > self.item.seq:
                self.item = received
        elif query.method in ("get", "find_node"):
            values |= {b"nodes": self.nodes, b"token": self.token}
            if query.method == "get" and self.item is not None:
                values |= newer(self.item, query)
        return [answer_packet(query.transaction, values, query.topic)]


def newer(held: Item, query: Query) -> Dict:
    """What an answer says of a value that is held."""
    seq = query.arguments.get(b"seq", -1)
    assert isinstance(seq, int)
    if held.seq <= seq:
        return {b"seq": held.seq}
    return item_values(held)


def item_values(held: Item) -> Dict:
    """An item as an answer to ``get`` has it."""
    return {
        b"k": held.public_key,
        b"seq": held.seq,
        b"sig": held.signature,
        b"v": decode(held.value),
    }


def put_arguments(held: Item, token: bytes, sender: bytes = node_id(99), /, **changes: Any) -> Dict:
    """The arguments of a put; ``None`` takes one out."""
    arguments: dict[bytes, Any] = {b"id": sender, b"token": token, **item_values(held)}
    if held.salt:
        arguments[b"salt"] = held.salt
    arguments.update({key.encode(): each for key, each in changes.items()})
    return {key: each for key, each in arguments.items() if each is not None}


class Siege:
    """The machine, what it sent, delivered and traced, and the time."""

    def __init__(
        self,
        *,
        neighbours: int = 2,
        answer_checks: bool = True,
        publisher: bool = False,
        seed: int = 1,
        **parameters: Any,
    ) -> None:
        keys = [KEY] if publisher else []
        self.node = OverlayNode(
            OWN_ID, keys, OverlayParameters(**parameters), Random(seed), Random(seed + 1)
        )
        self.now = 1000.0
        self.answer_checks = answer_checks
        self.checks: list[Check] = []
        self.sent: list[Send] = []
        self.delivered: list[Message] = []
        self.trace: list[TraceEvent] = []
        self.told: list[AnyEffect] = []
        self.neighbours: dict[str, Neighbour] = {}
        self._waiting: deque[AnyInput] = deque()
        self._transactions = 0
        self.feed(Listening((OWN_PEER,)))
        self.feed(Subscribe(TOPIC.text))
        for number in range(1, neighbours + 1):
            self.befriend(Neighbour(number))
        self.forget()

    # ---- driving

    def feed(self, input: AnyInput) -> list[AnyEffect]:
        """Give the machine an input, and its neighbours what it sends them; returns all effects."""
        self._waiting.append(input)
        effects: list[AnyEffect] = []
        rounds = 0
        while self._waiting:
            rounds += 1
            assert rounds < MOST_ROUNDS, "there is no end to it"
            made = self.node.handle(self._waiting.popleft(), self.now)
            self._carry_out(made)
            effects += made
        return effects

    def quietly(self, peer: str, raw: bytes) -> int:
        """Let a peer say something, and keep nothing of what follows; returns the bytes sent."""
        effects = self.node.handle(Received(peer, raw), self.now)
        for effect in effects:
            if type(effect) is Check and self.answer_checks:
                verdict = Verdict.ACCEPT if genuine(effect.subject) else Verdict.FORGED
                effects = effects + self.node.handle(Checked(effect.token, verdict), self.now)
        return sum(len(effect.packet) for effect in effects if type(effect) is Send)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while (due := self.node.next_wake()) is not None and due <= end:
            self.now = max(self.now, due)
            self._carry_out(self.node.wake(self.now))
            while self._waiting:
                self.feed(self._waiting.popleft())
        self.now = end

    def _carry_out(self, effects: list[AnyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self.sent.append(effect)
                neighbour = self.neighbours.get(effect.peer)
                if neighbour is not None:
                    answers = neighbour.respond(effect.packet)
                    self._waiting.extend(Received(effect.peer, raw) for raw in answers)
            elif isinstance(effect, Check):
                self.checks.append(effect)
                if self.answer_checks:
                    verdict = Verdict.ACCEPT if genuine(effect.subject) else Verdict.FORGED
                    self._waiting.append(Checked(effect.token, verdict))
            elif isinstance(effect, Deliver):
                self.delivered.append(effect.message)
            elif isinstance(effect, TraceEvent):
                self.trace.append(effect)
            else:
                self.told.append(effect)

    def forget(self) -> None:
        """What was before is no longer of interest."""
        self.sent, self.trace, self.delivered, self.checks, self.told = [], [], [], [], []
        for neighbour in self.neighbours.values():
            neighbour.puts, neighbour.asked = [], []

    # ---- speaking

    def befriend(self, neighbour: Neighbour) -> Neighbour:
        """Make an honest node known; it gets into the table."""
        self.neighbours[neighbour.peer] = neighbour
        self.feed(Contact(TOPIC.target, (neighbour.peer,)))
        return neighbour

    def say(self, peer: str, raw: bytes) -> list[bytes]:
        """Let a peer send a datagram; returns what is sent to it."""
        before = len(self.sent)
        self.feed(Received(peer, raw))
        return [each.packet for each in self.sent[before:] if each.peer == peer]

    def ask(
        self,
        peer: str,
        method: str,
        arguments: Dict,
        topic: bytes | None = TOPIC.target,
        read_only: bool = False,
    ) -> Answer | Failure | None:
        """Let a peer ask something; returns the answer, None if there is none."""
        self._transactions += 1
        transaction = b"t%d" % self._transactions
        raw = query_packet(transaction, method, arguments, topic, read_only)
        replies = [read_packet(reply) for reply in self.say(peer, raw)]
        answers = [
            reply
            for reply in replies
            if not isinstance(reply, Query) and reply.transaction == transaction
        ]
        assert len(answers) <= 1, "two answers to one query"
        return answers[0] if answers else None

    def token(self, peer: str) -> bytes:
        """A token that the machine gives to a peer."""
        answer = self.ask(
            peer, "get", {b"id": node_id(99), b"target": TOPIC.target}, read_only=True
        )
        assert isinstance(answer, Answer)
        return bytes_of(answer.values, b"token")

    def put(self, peer: str, held: Item, **changes: Any) -> Answer | Failure | None:
        """Let a peer put an item, with a good token unless ``changes`` say otherwise."""
        token = b"" if "token" in changes else self.token(peer)
        arguments = put_arguments(held, token, **changes)
        return self.ask(peer, "put", arguments, read_only=True)

    # ---- looking

    def events(self, kind: str, **wanted: Any) -> list[TraceEvent]:
        """The trace events of a kind."""
        return [
            event
            for event in self.trace
            if event.event == kind
            and all(
                getattr(event, key) == each
                if key in ("peer", "topic", "message_id")
                else event.fields.get(key) == each
                for key, each in wanted.items()
            )
        ]

    def data(self) -> list[bytes]:
        """What was delivered."""
        return [message.data for message in self.delivered]

    def bytes_to(self, peer: str) -> int:
        """Bytes that were sent to a peer."""
        return sum(len(each.packet) for each in self.sent if each.peer == peer)

    def goes_on(self) -> None:
        """The node still does what it is there for: take a new value, deliver it, pass it on."""
        self.answer_checks = True
        self.advance(30.0)
        latest = self.node.latest(TOPIC.text)
        # Above whatever a neighbour may still bring: tests sign items up to HIGHEST.
        newest = HIGHEST if latest is None else max(latest.seq, HIGHEST)
        fresh = item(newest + 1, f"still here at {self.now}")
        giver, taker = list(self.neighbours.values())[:2]
        before = len(self.delivered)
        giver.item = fresh
        arguments = put_arguments(fresh, self.token(giver.peer), giver.id)
        assert isinstance(self.ask(giver.peer, "put", arguments), Answer)
        assert [message.fields["seq"] for message in self.delivered[before:]] == [fresh.seq]
        assert fresh in taker.puts
        assert self.node.latest(TOPIC.text) == fresh


def nodes_at(*peers: str, first: int = 1) -> bytes:
    """Compact nodes at these addresses."""
    return compact_nodes(
        [NodeInfo(node_id(number), peer) for number, peer in enumerate(peers, first)]
    )
