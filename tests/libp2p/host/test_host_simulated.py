"""Whole nodes over simulated TCP: real handshakes, real streams, real gossipsub, virtual time."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import subprocess
import sys

import pytest

from rumormill.core import trace
from rumormill.core.machine import Publish, Shutdown, Subscribe
from rumormill.core.transport import Dial
from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.pubsub.router import Router
from rumormill.simulate import Link, Simulation
from tests.helpers.libp2p.host_net import key

TOPIC = "weather"


def node(name: str, simulation: Simulation, router: Router | None = None, life: int = 0) -> Host:
    identity = key(name)
    source = simulation.random_for(name, life)
    pubsub = Pubsub(
        node=identity.peer,
        author=identity,
        router=router or GossipsubRouter(),
        random=random.Random(source.random()),
        first_sequence=1 + life * 1_000_000,
    )
    return Host(
        identity=identity,
        pubsub=pubsub,
        parameters=HostParameters(),
        random=random.Random(source.random()),
        entropy=random.Random(source.random()),
    )


def network(size: int, seed: int = 1, link: Link | None = None) -> tuple[Simulation, list[str]]:
    """Nodes that all keep a connection to the first one, and one to the node before them."""
    simulation = Simulation(
        seed, level="transports", link=link or Link(latency=0.02), addresses=Multiaddrs()
    )
    names = [f"node {number}" for number in range(size)]
    for name in names:
        simulation.add_node(name, node(name, simulation))
    simulation.run_until(0.01)
    for before, name in itertools.pairwise(names):
        for other in dict.fromkeys((names[0], before)):
            simulation.command(name, Dial(simulation.address(other), keep=True))
    for name in names:
        simulation.command(name, Subscribe(TOPIC))
    return simulation, names


def publish(simulation: Simulation, name: str, *texts: str) -> None:
    for text in texts:
        simulation.command(name, Publish((TOPIC,), text.encode()))


def texts(simulation: Simulation, name: str) -> list[str]:
    return sorted(message.text for message in simulation.deliveries[name])


def test_messages_reach_every_node() -> None:
    simulation, names = network(10)
    simulation.run_until(5.0)
    sent = []
    for number, name in enumerate(names * 3):
        sent.append(f"message {number}")
        publish(simulation, name, sent[-1])
        simulation.run_for(0.05)
    simulation.run_for(5.0)
    for name in names:
        assert texts(simulation, name) == sorted(sent)
    assert not simulation.trace_counts[trace.PROTOCOL_ERROR]
    assert not simulation.trace_counts[trace.CONNECTION_FAILED]


def test_a_burst_over_a_slow_link_arrives_whole_and_in_order() -> None:
    simulation, names = network(2, link=Link(latency=0.05, bandwidth=500_000))
    simulation.run_until(3.0)
    sent = [f"{number} " + "x" * 5000 for number in range(500)]
    publish(simulation, names[0], *sent)
    simulation.run_for(20.0)
    assert [message.text for message in simulation.deliveries[names[1]]] == sent


def test_a_node_that_crashes_silently_and_comes_back_is_served_again() -> None:
    simulation, names = network(4)
    simulation.run_until(5.0)
    victim = names[2]
    simulation.crash(victim, silent=True)
    simulation.run_for(3.0)
    simulation.restart(victim, node(victim, simulation, life=1))
    simulation.run_for(0.1)
    simulation.command(victim, Subscribe(TOPIC))
    simulation.command(victim, Dial(simulation.address(names[0]), keep=True))
    simulation.run_for(10.0)
    publish(simulation, names[1], "are you back?")
    publish(simulation, victim, "yes")
    simulation.run_for(5.0)
    assert "are you back?" in texts(simulation, victim)
    for name in (names[0], names[1], names[3]):
        assert "yes" in texts(simulation, name)


def test_kept_peers_find_each_other_after_a_partition() -> None:
    simulation, names = network(6)
    simulation.run_until(5.0)
    simulation.partition([names[:3], names[3:]])
    simulation.run_for(120.0)
    assert all(len(simulation.machine(name).peers()) <= 2 for name in names)
    simulation.heal()
    simulation.run_for(90.0)
    publish(simulation, names[0], "together again")
    simulation.run_for(5.0)
    for name in names:
        assert "together again" in texts(simulation, name)


def test_a_shutdown_leaves_no_half_open_peer() -> None:
    simulation, names = network(5)
    simulation.run_until(5.0)
    simulation.command(names[0], Shutdown())
    simulation.run_for(1.0)
    gone = simulation.machine(names[0]).peer
    for name in names[1:]:
        assert gone not in simulation.machine(name).peers()


def test_floodsub_nodes_hear_gossipsub_nodes_over_real_streams() -> None:
    simulation = Simulation(1, level="transports", link=Link(latency=0.02), addresses=Multiaddrs())
    simulation.add_node("old", node("old", simulation, FloodsubRouter()))
    simulation.add_node("new", node("new", simulation))
    simulation.connect("old", "new")
    for name in ("old", "new"):
        simulation.command(name, Subscribe(TOPIC))
    simulation.run_until(5.0)
    publish(simulation, "new", "from new")
    publish(simulation, "old", "from old")
    simulation.run_for(3.0)
    assert texts(simulation, "old") == texts(simulation, "new") == ["from new", "from old"]


def fingerprint(seed: int) -> str:
    """A hash of everything that a busy little network traces."""
    simulation, names = network(6, seed)
    simulation.run_until(5.0)
    for number, name in enumerate(names):
        publish(simulation, name, f"message {number}")
    simulation.crash(names[3])
    simulation.run_for(30.0)
    return hashlib.sha256("\n".join(simulation.trace_lines()).encode()).hexdigest()


def test_equal_seeds_give_equal_traces_and_other_seeds_others() -> None:
    assert fingerprint(1) == fingerprint(1) != fingerprint(2)


@pytest.mark.slow
def test_the_trace_does_not_depend_on_how_strings_are_hashed() -> None:
    program = "import test_host_simulated as t; print(t.fingerprint(1))"
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, *sys.path])
    prints = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert prints[0] == prints[1] and len(prints[0].strip()) == 64
