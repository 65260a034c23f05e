"""Hours of coming and going, with losses: nobody is left behind, and time always passes."""

from __future__ import annotations

from random import Random

import pytest

from tests.helpers.bep50.overlay_network import TOPIC, OverlayNetwork

TEXT = TOPIC.text


@pytest.mark.parametrize("seed", [1, 2])
def test_through_hours_of_churn_and_loss_everybody_has_the_newest_value(seed: int) -> None:
    network = OverlayNetwork(seed=seed)
    network.add_many(15)
    network.loses = lambda source, target, packet: network.random.random() < 0.05
    random = Random(seed)
    late = looks = 0
    for step in range(120):
        if random.random() < 0.3:
            _replace(network, random)
        publisher = random.choice(list(network.nodes))
        if network.nodes[publisher].joined(TEXT):
            network.publish(publisher, b"%d" % step)
            network.run(10)
            seqs = [node.topic_nodes[TOPIC.target].seq for node in network.nodes.values()]
            looks += len(seqs)
            late += sum(seq < max(seqs) for seq in seqs)
        network.run(random.random() * 200)
        network.forget()
    assert looks > 1000 and late <= looks * 0.005
    network.loses = lambda source, target, packet: False
    network.run(600)
    assert len({node.topic_nodes[TOPIC.target].seq for node in network.nodes.values()}) == 1
    for node in network.nodes.values():
        assert len(node.subscribers(TEXT)) >= 8


def _replace(network: OverlayNetwork, random: Random) -> None:
    """A node dies, and after a while one comes at its address, the same or another."""
    address = random.choice(list(network.nodes))
    dead = network.kill(address)
    contact = random.choice(list(network.nodes))
    network.run(random.random() * 40)
    network.add(address, id=dead.id if random.random() < 0.5 else None, contacts=[contact])
