"""Networks of whole nodes over simulated TCP that find each other by Kademlia."""

from __future__ import annotations

import pytest

from rumormill.core import trace
from rumormill.core.machine import Publish
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.kademlia.kademlia import Kademlia
from rumormill.libp2p.discovery.kademlia.parameters import KademliaParameters
from tests.helpers.libp2p.discovery_net import TOPIC, DiscoveryNet

ALONE = {"peer_exchange": False}
"""So that what is found is found by Kademlia."""


def kademlia(mode: str = "server") -> list[Kademlia]:
    return [Kademlia(KademliaParameters(kademlia_mode=mode))]  # type: ignore[arg-type]


def town(size: int, seed: int = 1, servers: int = 1) -> tuple[DiscoveryNet, list[str]]:
    """Nodes that know the address of one of them, and a topic that all take part in; every so
    manyth is a server.
    """
    net = DiscoveryNet(seed)
    names = [f"node {number}" for number in range(size)]
    net.add("hub", *kademlia(), gossipsub=ALONE)
    for number, name in enumerate(names):
        net.add(name, *kademlia("client" if number % servers else "server"), gossipsub=ALONE)
    net.run(0.01)
    net.subscribe("hub", *names)
    for name in names:
        net.dial(name, "hub")
    return net, names


def test_two_dozen_nodes_that_know_one_address_have_full_meshes_within_ten_heartbeats() -> None:
    """A hundred and more: :mod:`test_gathering`, and ``python -m bench discovery``."""
    net, names = town(23, servers=3)
    net.run(10.0)
    full = [size >= 4 for size in net.meshes(names)]  # D_low, at any one moment of the heartbeat
    assert sum(full) >= 21 and min(net.meshes(names)) >= 1
    net.add("late", *kademlia("client"), gossipsub=ALONE)
    net.run(0.01)
    net.subscribe("late")
    net.dial("late", names[3])
    net.run(9.0)
    assert net.meshes(["late"])[0] >= 4
    net.simulation.command(names[0], Publish((TOPIC,), b"rain"))
    net.run(3.0)
    assert all(len(net.simulation.deliveries[name]) == 1 for name in names[1:])
    counts = net.simulation.trace_counts
    assert counts[trace.PROTOCOL_ERROR] == counts[trace.REJECTED] == 0


def test_clients_find_each_other_though_nobody_can_ask_them() -> None:
    """The hub takes no part in the topic: it only keeps who does."""
    net = DiscoveryNet()
    names = [f"node {number}" for number in range(8)]
    net.add("hub", *kademlia(), gossipsub=ALONE)
    net.many(names, lambda: kademlia("client"), gossipsub=ALONE)
    net.run(0.01)
    net.subscribe(*names)
    for name in names:
        net.dial(name, "hub")
    net.run(15.0)
    assert min(net.meshes(names)) >= 4
    found = net.events(events.DISCOVERY_CONNECTED)
    assert found and {each.fields["way"] for each in found} == {"kademlia"}
    hub = net.nodes["hub"]
    assert hub.discovery is not None and hub.discovery.sizes()["kademlia_providers"] == 8
    assert hub.discovery.sizes()["kademlia_table"] == 0, "clients are in nobody's table"


def test_two_topics_of_one_dht_stay_apart() -> None:
    net = DiscoveryNet()
    names = [f"node {number}" for number in range(12)]
    net.add("hub", *kademlia(), gossipsub=ALONE)
    net.many(names, lambda: kademlia("client"), gossipsub=ALONE)
    net.run(0.01)
    weather, sports = names[:6], names[6:]
    net.subscribe(*weather)
    net.subscribe(*sports, topic="sports")
    for name in names:
        net.dial(name, "hub")
    net.run(15.0)
    others = {net.nodes[name].peer for name in sports}
    for name in weather:
        assert not others.intersection(net.nodes[name].host.peers())
    assert min(net.meshes(weather)) == min(net.meshes(sports, "sports")) == 5


def test_a_node_that_comes_later_finds_a_topic_though_the_hub_is_gone() -> None:
    net, names = town(12)
    net.run(10.0)
    net.simulation.crash("hub")
    net.run(30.0)
    net.add("late", *kademlia(), gossipsub=ALONE)
    net.run(0.01)
    net.subscribe("late")
    net.dial("late", names[7])
    net.run(15.0)
    assert net.meshes(["late"])[0] >= 4


def test_visits_are_over_after_a_while_and_nobody_is_connected_to_everybody() -> None:
    net, names = town(16)
    net.run(13.5)
    degrees = [len(net.nodes[name].host.peers()) for name in names]
    assert sum(degrees) / len(degrees) < 15
    assert net.simulation.trace_counts[trace.CONNECTION_CLOSED]


@pytest.mark.parametrize("seed", [1, 7])
def test_equal_seeds_give_equal_traces(seed: int) -> None:
    lines = []
    for _ in range(2):
        net, _ = town(5, seed)
        net.run(5.0)
        lines.append(list(net.simulation.trace_lines()))
    assert lines[0] == lines[1]
