"""A star of whole nodes over simulated TCP: its leaves find each other by peer exchange."""

from __future__ import annotations

import random

import pytest

from rumormill.core import trace
from rumormill.core.machine import Publish, Subscribe
from rumormill.core.transport import Dial
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.simulate import Link, Simulation
from tests.helpers.libp2p.host_net import key

TOPIC, HUB = "weather", "hub"
LEAVES = [f"leaf {number}" for number in range(20)]


def node(name: str, simulation: Simulation, **parameters: object) -> Host:
    identity, source = key(name), simulation.random_for(name)
    pubsub = Pubsub(
        node=identity.peer,
        author=identity,
        router=GossipsubRouter(GossipsubParameters.model_validate(parameters)),
        random=random.Random(source.random()),
        first_sequence=1,
    )
    return Host(
        identity=identity,
        pubsub=pubsub,
        parameters=HostParameters(),
        random=random.Random(source.random()),
        entropy=random.Random(source.random()),
        address_book=pubsub.address_book,
    )


def star(seed: int = 1, *, exchange: bool = True) -> Simulation:
    """A hub that wants few peers, and leaves that know nobody but it."""
    simulation = Simulation(
        seed, level="transports", link=Link(latency=0.02), addresses=Multiaddrs()
    )
    simulation.add_node(HUB, node(HUB, simulation, D=2, D_low=1, D_high=3, peer_exchange=exchange))
    for name in LEAVES:
        simulation.add_node(name, node(name, simulation, peer_exchange=exchange))
    simulation.run_until(0.01)
    for name in [HUB, *LEAVES]:
        simulation.command(name, Subscribe(TOPIC))
    for name in LEAVES:
        simulation.command(name, Dial(simulation.address(HUB), keep=True))
        simulation.run_for(0.05)
    simulation.run_for(20.0)
    return simulation


def test_leaves_that_know_only_the_hub_find_each_other() -> None:
    simulation = star()
    hub = simulation.machine(HUB).peer
    degrees = [len(set(simulation.machine(name).peers()) - {hub}) for name in LEAVES]
    assert min(degrees) >= 1 and sum(degrees) / len(degrees) >= 4
    counts = simulation.trace_counts
    assert counts[trace.EXCHANGE_SENT] and counts[trace.EXCHANGE_RECEIVED]
    assert counts[trace.EXCHANGE_CONNECTED] >= len(LEAVES) / 2
    assert counts[trace.PROTOCOL_ERROR] == counts[trace.REJECTED] == 0


def test_messages_reach_everybody_though_the_hub_is_gone() -> None:
    simulation = star()
    simulation.crash(HUB)
    simulation.run_for(30.0)
    for number, name in enumerate(LEAVES):
        simulation.command(name, Publish((TOPIC,), f"message {number}".encode()))
        simulation.run_for(0.1)
    simulation.run_for(10.0)
    sent = sorted(f"message {number}" for number in range(len(LEAVES)))
    for name in LEAVES:
        assert sorted(message.text for message in simulation.deliveries[name]) == sent


def test_without_exchange_the_leaves_stay_apart() -> None:
    simulation = star(exchange=False)
    hub = simulation.machine(HUB).peer
    assert all(simulation.machine(name).peers() == (hub,) for name in LEAVES)
    assert not simulation.trace_counts[trace.EXCHANGE_SENT]


@pytest.mark.parametrize("seed", [1, 7])
def test_equal_seeds_give_equal_traces(seed: int) -> None:
    assert list(star(seed).trace_lines()) == list(star(seed).trace_lines())
