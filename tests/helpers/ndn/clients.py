"""Clients on forwarders, in the simulator: forwarders crash, come back, and take over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any, Literal

from rumormill.core.machine import Subscribe, Unsubscribe
from rumormill.core.receipt import Receipt
from rumormill.core.transport import Dial, DialEnded
from rumormill.ndn.client.machine import ClientMachine
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.effects import Publication, PublicationEnded
from rumormill.ndn.faces.addresses import TCP
from rumormill.ndn.node.machine import NodeMachine
from rumormill.ndn.node.parameters import NodeParameters
from rumormill.ndn.wire.name import name_from_uri
from rumormill.simulate import Link, Simulation


class Village:
    """``forwarders`` are nodes on this machine, each connected to the one before; ``clients`` use
    all of them, in that order.
    """

    def __init__(
        self,
        forwarders: Iterable[str],
        clients: Iterable[str],
        *,
        by: Literal["tcp", "udp"] = "tcp",
        link: Link | None = None,
        seed: int = 1,
        **keys: Any,
    ) -> None:
        self.forwarders, self.clients = list(forwarders), list(clients)
        self._keys = keys
        self._lives: Counter[str] = Counter()
        self.simulation = Simulation(
            seed, level="transports" if by == "tcp" else "datagrams",
            link=link or Link(latency=0.002), addresses=TCP, chunk=(1, 2000),
        )  # fmt: skip
        self.ended: dict[int, Receipt] = {}
        self._tokens = 0
        self.simulation.on_effect(PublicationEnded, self._publication_ended)
        self.simulation.on_effect(DialEnded, lambda node, end: None)
        for number, name in enumerate((*self.forwarders, *self.clients), 1):
            machine = self._machine(name)
            address = f"{by}://127.0.0.{number}:6363"
            self.simulation.add_node(name, machine, address=address)
        for name in self.forwarders:
            self._dial_neighbour(name)
        for name in self.clients:
            for forwarder in self.forwarders:
                self.simulation.command(name, Dial(self.simulation.address(forwarder), True))

    def _machine(self, name: str) -> NodeMachine | ClientMachine:
        random = Random(f"{name} {self._lives[name]}")
        if name in self.forwarders:
            return NodeMachine(name_from_uri(f"/{name}"), random, NodeParameters())
        client = ClientParameters(**self._keys)
        return ClientMachine(name_from_uri(f"/{name}"), random, name=name, client=client)

    def _dial_neighbour(self, name: str) -> None:
        place = self.forwarders.index(name)
        if place:
            neighbour = self.simulation.address(self.forwarders[place - 1])
            self.simulation.command(name, Dial(neighbour, True))

    def _publication_ended(self, node: str, end: PublicationEnded) -> None:
        assert end.token not in self.ended
        self.ended[end.token] = end.receipt

    # ---- forwarders

    def crash(self, name: str) -> None:
        """A forwarder is gone."""
        self.simulation.crash(name)

    def restart(self, name: str) -> None:
        """It comes back, and knows nothing."""
        self._lives[name] += 1
        self.simulation.restart(name, self._machine(name))
        self.simulation.run_for(0.001)
        self._dial_neighbour(name)

    # ---- clients

    def subscribe(self, topic: str, *names: str) -> None:
        for name in names:
            self.simulation.command(name, Subscribe(topic))

    def unsubscribe(self, topic: str, *names: str) -> None:
        for name in names:
            self.simulation.command(name, Unsubscribe(topic))

    def publish(self, name: str, topic: str, data: bytes) -> int:
        self._tokens += 1
        self.simulation.command(name, Publication(self._tokens, topic, data))
        return self._tokens

    def run(self, seconds: float) -> None:
        self.simulation.run_for(seconds)

    # ---- looking

    def outcome(self, token: int) -> str:
        """What became of a publication; empty while its end is open."""
        receipt = self.ended.get(token)
        return "" if receipt is None else str(receipt.fields["outcome"])

    def got(self, name: str) -> list[bytes]:
        """What was delivered at a client."""
        return [message.data for message in self.simulation.deliveries[name]]

    def routes(self, name: str) -> list[str]:
        """Prefixes of routes that a client was granted, each as often as it was."""
        return [
            str(event.fields["prefix"])
            for event in self.simulation.trace
            if event.event == "route_stands" and event.node == name
        ]

    def client(self, name: str) -> ClientMachine:
        machine = self.simulation.machine(name)
        assert isinstance(machine, ClientMachine)
        return machine
