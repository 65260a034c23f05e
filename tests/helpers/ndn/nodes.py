"""Nodes in the simulator: who dials whom, what is published, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Literal

from rumormill.core.machine import Subscribe, Unsubscribe
from rumormill.core.parameters import Parameters
from rumormill.core.receipt import Receipt
from rumormill.core.transport import Dial, DialEnded
from rumormill.ndn.effects import Forget, Publication, PublicationEnded
from rumormill.ndn.faces.addresses import TCP
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.node.machine import NodeMachine
from rumormill.ndn.node.parameters import NodeParameters
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.wire.name import name_from_uri
from rumormill.simulate import Link, Simulation

PARTS: dict[str, type[Parameters]] = {
    "faces": FaceParameters,
    "forwarder": ForwarderParameters,
    "routing": RoutingParameters,
    "pubsub": PubSubParameters,
}


def node_parameters(**keys: Any) -> NodeParameters:
    """Each key for the part that knows it."""
    parts: dict[str, Any] = {"strategies": keys.pop("strategies", ())}
    for name, part in PARTS.items():
        known = {key: keys.pop(key) for key in list(keys) if key in part.model_fields}
        parts[name] = part(**known)
    assert not keys, keys
    return NodeParameters(**parts)


def new_node(name: str, life: int = 0, **keys: Any) -> NodeMachine:
    """The machine of a node that is called ``/name``."""
    return NodeMachine(name_from_uri(f"/{name}"), Random(f"{name} {life}"), node_parameters(**keys))


class Country:
    """A simulation of nodes by name; ``pairs``: who dials whom, and keeps it."""

    def __init__(
        self,
        names: Iterable[str],
        pairs: Iterable[tuple[str, str]] = (),
        *,
        by: Literal["tcp", "udp"] = "tcp",
        seed: int = 1,
        link: Link | None = None,
        keep_trace: bool = True,
        own_keys: Mapping[str, Mapping[str, Any]] | None = None,
        **keys: Any,
    ) -> None:
        self.by = by
        self.names = list(names)
        self.pairs = list(pairs)
        self.keys = keys
        self.own_keys = own_keys or {}
        self.simulation = Simulation(
            seed,
            level="transports" if by == "tcp" else "datagrams",
            link=link or Link(latency=0.01),
            addresses=TCP,
            chunk=(1, 2000),
            keep_trace=keep_trace,
        )
        self.ended: dict[int, Receipt] = {}
        """What became of each publication, by token."""
        self.dials: list[tuple[str, DialEnded]] = []
        self._tokens = 0
        self._lives: Counter[str] = Counter()
        self.simulation.on_effect(PublicationEnded, self._publication_ended)
        self.simulation.on_effect(DialEnded, lambda node, end: self.dials.append((node, end)))
        for number, name in enumerate(self.names, 1):
            self.simulation.add_node(
                name, self._machine(name), address=f"{by}://10.0.{number >> 8}.{number & 255}:6363"
            )
        self.dial_all()

    def _machine(self, name: str) -> NodeMachine:
        keys = {**self.keys, **self.own_keys.get(name, {})}
        return new_node(name, self._lives[name], **keys)

    def __getitem__(self, name: str) -> NodeMachine:
        machine = self.simulation.machine(name)
        assert isinstance(machine, NodeMachine)
        return machine

    # ---- who knows whom

    def dial_all(self, only: str = "") -> None:
        """Everybody dials, or one alone."""
        for a, b in self.pairs:
            if not only or a == only:
                self.dial(a, b)

    def dial(self, a: str, b: str, keep: bool = True) -> None:
        """One dials another."""
        self.simulation.command(a, Dial(self.simulation.address(b), keep))

    def restart(self, name: str) -> None:
        """A node that has crashed comes back, in a new life, and dials whom it dialed."""
        self._lives[name] += 1
        self.simulation.restart(name, self._machine(name))
        self.run(0.001)
        self.dial_all(name)

    # ---- topics and messages

    def subscribe(self, topic: str, *names: str) -> None:
        """Applications of nodes subscribe."""
        for name in names:
            self.simulation.command(name, Subscribe(topic))

    def unsubscribe(self, topic: str, *names: str) -> None:
        """They leave."""
        for name in names:
            self.simulation.command(name, Unsubscribe(topic))

    def publish(self, name: str, topic: str, data: bytes = b"data") -> int:
        """The application of a node publishes; returns the token."""
        self._tokens += 1
        self.simulation.command(name, Publication(self._tokens, topic, data))
        return self._tokens

    def forget(self, name: str, token: int) -> None:
        """Nobody waits for a publication any more."""
        self.simulation.command(name, Forget(token))

    def _publication_ended(self, node: str, end: PublicationEnded) -> None:
        assert end.token not in self.ended
        self.ended[end.token] = end.receipt

    def outcome(self, token: int) -> str:
        """What became of a publication; empty while its end is open."""
        receipt = self.ended.get(token)
        return "" if receipt is None else receipt.fields["outcome"]

    def outcomes(self) -> Counter[str]:
        """How many publications came to which end."""
        return Counter(receipt.fields["outcome"] for receipt in self.ended.values())

    def got(self, name: str) -> list[bytes]:
        """What was delivered at a node."""
        return [message.data for message in self.simulation.deliveries[name]]

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.simulation.run_for(seconds)
