"""A program: runs a scenario and prints its trace. ``python scenarios.py flood 7``.

Every scenario has all that could spoil equality: chance, loss, churn, partitions.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from typing import Any

from rumormill.core.machine import Machine, Publish, Subscribe
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Dial
from rumormill.libp2p.gossipsub.router import GossipsubRouter
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.simulate import Churn, Link, Simulation, topology
from rumormill.simulate.toys import Echo, Flood
from tests.helpers.bep50.overlay_swarm import Swarm

LINK = Link(latency=0.03, jitter=0.02, bandwidth=1e6, loss=0.02)


def flood(seed: int) -> Simulation:
    """Flooding over datagrams, with churn and a partition."""
    simulation = Simulation(seed, link=Link(jitter=0.05, loss=0.05, reliable=False))
    names = [f"node-{number}" for number in range(30)]
    for name in names:
        simulation.add_node(name, Flood(name, check=True))
    for a, b in topology.random_regular(names, 4, simulation.random_for("topology")):
        simulation.connect(a, b)
    Churn(simulation, names[10:], lambda name, _: Flood(name), mean_uptime=5, mean_downtime=1)
    for number in range(10):
        simulation.at(number, lambda: simulation.command(names[0], Publish(("t",), b"hello")))
    simulation.at(3.5, lambda: simulation.partition([names[:7], names[7:20]]))
    simulation.at(6.5, simulation.heal)
    simulation.run_until(12.0)
    return simulation


def echo(seed: int) -> Simulation:
    """Bytes there and back; the trace is what each dialer got, chunk by chunk."""
    simulation = Simulation(seed, level="transports", link=LINK, chunk=(100, 2000))
    names = [f"node-{number}" for number in range(10)]
    for number, name in enumerate(names):
        simulation.add_node(name, Echo(bytes([number]) * 20_000))
    for a, b in topology.random_dials(names, 3, simulation.random_for("topology")):
        simulation.command(a, Dial(simulation.address(b)))
    simulation.at(0.15, lambda: simulation.partition([names[:3]]))
    simulation.at(2.0, simulation.heal)
    simulation.at(2.1, lambda: simulation.crash(names[4]))
    while simulation.now < 10.0 and simulation.step():
        state = [len(data) for name in names for data in simulation.machine(name).dialed.values()]
        simulation.record.emit(
            TraceEvent(simulation.now, "all", "state", fields={"sum": sum(state)})
        )
    return simulation


def subscribe_and_publish(simulation: Simulation, names: list[str], topic: str) -> None:
    """Everyone listens; everyone says something; the network breaks and heals meanwhile."""
    for name in names:
        simulation.command(name, Subscribe(topic))
    for number in range(20):
        name = names[number % 5]
        simulation.at(
            1005.0 + number / 2,
            lambda name=name: simulation.command(name, Publish((topic,), name.encode() * 50)),  # type: ignore[misc]
        )
    simulation.at(1008.0, lambda: simulation.partition([names[: len(names) // 2]]))
    simulation.at(1010.0, simulation.heal)


def make_pubsub(identity: PrivateKey, source: random.Random) -> Pubsub:
    """A gossipsub machine."""
    return Pubsub(node=identity.peer, author=identity, router=GossipsubRouter(), random=source)


def identity_of(name: str) -> PrivateKey:
    """The key of a node, from its name."""
    return PrivateKey.from_seed(hashlib.sha256(name.encode()).digest())


def gossipsub(seed: int) -> Simulation:
    """Gossipsub machines on the packet level, with churn."""
    simulation = Simulation(seed, start=1000.0, link=LINK)
    identities = {key.peer: key for key in (identity_of(f"node-{n}") for n in range(15))}
    names = list(identities)

    def make(name: str, source: random.Random) -> Machine[Any, object]:
        return make_pubsub(identities[name], source)

    for name in names:
        simulation.add_node(name, make(name, simulation.random_for(name)))
    for a, b in topology.random_dials(names, 4, simulation.random_for("topology")):
        simulation.connect(a, b)
    subscribe_and_publish(simulation, names, "weather")
    Churn(
        simulation,
        names[5:],
        make,
        mean_uptime=10,
        mean_downtime=2,
        returned=lambda name: simulation.command(name, Subscribe("weather")),
    )
    simulation.run_until(1025.0)
    return simulation


def hosts(seed: int) -> Simulation:
    """Whole nodes on the byte level."""
    simulation = Simulation(
        seed, start=1000.0, level="transports", link=LINK, addresses=Multiaddrs()
    )
    names = [f"node-{number}" for number in range(6)]
    for name in names:
        identity, source = identity_of(name), simulation.random_for(name)
        simulation.add_node(
            name,
            Host(
                identity=identity,
                pubsub=make_pubsub(identity, source),
                parameters=HostParameters(),
                random=source,
                entropy=simulation.random_for(f"entropy of {name}"),
            ),
        )
    for a, b in topology.random_dials(names, 2, simulation.random_for("topology")):
        simulation.command(a, Dial(simulation.address(b), keep=True))
    subscribe_and_publish(simulation, names, "weather")
    simulation.run_until(1025.0)
    return simulation


def overlay(seed: int) -> Simulation:
    """Overlay nodes of BEP 50 on the datagram level, with churn and a partition."""
    swarm = Swarm(seed=seed, keep_trace=True)
    simulation = swarm.simulation
    swarm.join(30, seconds=10.0, settle=10.0)
    swarm.churn(0.5, away=10.0, newcomers=0.5)
    simulation.at(25.0, lambda: simulation.partition([simulation.names[:7]]))
    simulation.at(35.0, simulation.heal)
    for _ in range(3):
        swarm.publish()
    return simulation


SCENARIOS: dict[str, Callable[[int], Simulation]] = {
    "flood": flood,
    "echo": echo,
    "gossipsub": gossipsub,
    "hosts": hosts,
    "overlay": overlay,
}

if __name__ == "__main__":
    for line in SCENARIOS[sys.argv[1]](int(sys.argv[2])).trace_lines():
        print(line)
