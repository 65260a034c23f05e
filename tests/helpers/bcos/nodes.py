"""Nodes on a network of machines, by letters: ``a`` has the smallest id."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Any

from rumormill.bcos.node.links import Access
from rumormill.bcos.node.machine import CHANNEL, NodeMachine
from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket, decode_p2p, encode_p2p
from rumormill.bcos.wire.topic_state import TopicType
from rumormill.core.machine import Check, Checked, Subscribe, Verdict
from rumormill.core.transport import BytesReceived, Dial, Listening, TransportOpened, WriteBytes
from tests.helpers.bcos.machine_network import (
    MachineNetwork,
    credentials_of,
    identify,
    node_id,
)

ISSUER = "CN=agency"
"""Of all certificates here."""


def id_of(name: str) -> str:
    """The id of the node of a letter."""
    return node_id(ord(name) - ord("a") + 1)


def address_of(name: str) -> str:
    """Where it listens for nodes."""
    return f"{name}:30300"


def channel_of(name: str) -> str:
    """Where it listens for SDKs."""
    return f"{name}:20200"


def new_machine(name: str, access: Access | None = None, **parameters: Any) -> NodeMachine:
    """The machine of a node."""
    return NodeMachine(
        id_of(name),
        (ISSUER,),
        Random(name),
        NodeParameters(**parameters),
        access=access,
        identify=identify,
        identify_sdk=identify,
    )


class Nodes(MachineNetwork):
    """Nodes by letters."""

    def start(self, names: str, access: Access | None = None, **parameters: Any) -> None:
        """Start a node for each letter."""
        for name in names:
            self.add(
                name,
                new_machine(name, access, **parameters),
                {address_of(name): "", channel_of(name): CHANNEL},
                credentials_of(ord(name) - ord("a") + 1),
            )

    def node(self, name: str) -> NodeMachine:
        """The machine of a node."""
        machine = self.machines[name]
        assert isinstance(machine, NodeMachine)
        return machine

    def dial(self, name: str, *others: str, keep: bool = True) -> None:
        """Let a node dial others."""
        self.feed(name, *(Dial(address_of(other), keep) for other in others))

    def line(self, names: str) -> None:
        """Each dials the next."""
        for name, following in pairwise(names):
            self.dial(name, following)

    def mesh(self, names: str) -> None:
        """Each dials all those after it."""
        for index, name in enumerate(names):
            self.dial(name, *names[index + 1 :])

    def subscribe(self, name: str, *topics: str) -> None:
        """The application of a node subscribes."""
        self.feed(name, *map(Subscribe, topics))

    def own(self, name: str, topics: Iterable[str]) -> None:
        """The SDKs of a node have these topics, and no others."""
        machine = self.node(name)
        machine.handle(Listening(()), self.now)  # so that it knows the time
        machine.board.set("sdks", list(topics))
        self._arm(name)

    def run_accepting(self, seconds: float) -> None:
        """Let time pass; every message that an application checks is welcome."""
        until = self.now + seconds
        while self.now < until:
            self.run(0.01)
            for name in list(self.machines):
                checks = self.of(name, Check)
                self.effects[name] = [e for e in self.effects[name] if e not in checks]
                self.feed(name, *(Checked(check.token, Verdict.ACCEPT) for check in checks))

    def linked(self, name: str) -> str:
        """The letters of those that a node has links to, by its own word."""
        nodes = {id_of(each): each for each in "abcdefghijklmnopqrstuvwxyz"}
        return "".join(sorted(nodes[each] for each in self.node(name).peers.linked_nodes()))

    def holders(self, name: str, topic: str) -> str:
        """The letters of those that have a topic, by the word of a node."""
        nodes = {id_of(each): each for each in "abcdefghijklmnopqrstuvwxyz"}
        return "".join(sorted(nodes[each] for each in self.node(name).peers.holders(topic)))

    def written(self, source: str, destination: str) -> list[P2PPacket]:
        """The packets that one node has sent to another."""
        return [sent.p2p for sent in self.between(source, destination)]


class Stranger:
    """Somebody who says what the test wants, to a machine without a network; it is node ``z``."""

    def __init__(self, name: str = "z", connection: int = 1, **parameters: Any) -> None:
        self.machine = new_machine("a", **parameters)
        self.connection = connection
        self.now = 0.0
        self.effects: list[Any] = []
        credentials = credentials_of(ord(name) - ord("a") + 1)
        self.feed(TransportOpened(connection, "z:1", None, "", credentials))

    def feed(self, input: Any) -> list[Any]:
        """Give an input to the machine; returns the effects."""
        effects = list(self.machine.handle(input, self.now))
        self.effects += effects
        return effects

    def wait(self, seconds: float) -> list[Any]:
        """Let time pass; returns the effects."""
        until, effects = self.now + seconds, []
        while (when := self.machine.next_wake()) is not None and when <= until:
            self.now = max(self.now, when)
            effects += self.machine.wake(self.now)
        self.now = until
        self.effects += effects
        return effects

    def say(self, *packets: P2PPacket) -> list[Any]:
        """Send packets in one piece; returns the effects."""
        raw = b"".join(map(encode_p2p, packets))
        return self.feed(BytesReceived(self.connection, raw))

    def tell_seq(self, seq: int) -> list[P2PPacket]:
        """Tell a topic seq; returns what is asked for it."""
        packet = P2PPacket(Module.TOPIC, TopicType.SEQ, 0, b"%d" % seq)
        return packets_of(self.say(packet))


def packets_of(effects: list[Any]) -> list[P2PPacket]:
    """The packets among effects."""
    return [decode_p2p(effect.data) for effect in effects if isinstance(effect, WriteBytes)]
