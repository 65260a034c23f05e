"""Networks of randomsub nodes, as go tests its own: chance reaches nearly everyone."""

from __future__ import annotations

import random

import pytest

from rumormill.simulate import topology
from tests.helpers.libp2p.pubsub_network import TOPIC, Kind, PubsubNetwork, names


def settled(count: int, pairs: list[tuple[str, str]], kinds: dict[str, Kind]) -> PubsubNetwork:
    network = PubsubNetwork(names(count), pairs, kind="randomsub", kinds=kinds)
    network.subscribe()
    network.run(1.0)
    return network


def share_that_arrived(network: PubsubNetwork) -> float:
    """Of what ten nodes publish, how much came to all."""
    receipts = [network.publish(name) for name in network.names[:10]]
    network.run(5.0)
    arrived = [network.got(each) for each in receipts]
    assert all(len(each) == len(set(each)) for each in arrived), "nobody gets anything twice"
    return sum(map(len, arrived)) / (len(receipts) * len(network.names))


def dials(count: int, number: int = 12) -> list[tuple[str, str]]:
    return topology.random_dials(names(count), number, random.Random(1))


@pytest.mark.parametrize(
    ("count", "pairs", "flooding"),
    [(10, topology.full(names(10)), 0), (50, dials(50), 0), (40, dials(40), 10)],
    ids=["small", "big", "mixed with floodsub"],
)
def test_messages_reach_nearly_everyone(
    count: int, pairs: list[tuple[str, str]], flooding: int
) -> None:
    kinds: dict[str, Kind] = {name: "floodsub" for name in names(flooding)}
    assert share_that_arrived(settled(count, pairs, kinds)) > 0.95


def test_far_fewer_copies_than_by_flooding() -> None:
    """8 copies from each instead of one for each of its twenty or so neighbours."""

    def copies(kind: Kind) -> int:
        network = settled(50, dials(50), dict.fromkeys(names(50), kind))
        network.publish(network.names[0])
        network.run(5.0)
        events = [each.event for each in network.simulation.trace]
        return events.count("duplicate") + events.count("delivered")

    assert copies("randomsub") < 0.6 * copies("floodsub")


def test_there_are_enough_peers_as_soon_as_a_message_would_go_to_as_many_as_it_should() -> None:
    network = settled(40, dials(40), {name: "floodsub" for name in names(10)})
    node = network.node("node20")
    assert len(node.subscribers(TOPIC)) >= 8
    assert len(set(node.router.would_reach((TOPIC,)))) >= 8
    assert node.has_targets((TOPIC,))
