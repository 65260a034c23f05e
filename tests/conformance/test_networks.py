"""Whole networks in virtual time: every shape, every message, exactly once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from rumormill.core import trace
from rumormill.core.receipt import Receipt
from rumormill.simulate import Churn, Link, metrics, topology
from tests.helpers.libp2p.pubsub_network import TOPIC, Kind, PubsubNetwork, names

TWENTY = names(20)
BOTH_KINDS: list[Kind] = ["floodsub", "gossipsub"]


def tree(nodes: list[str]) -> list[tuple[str, str]]:
    """A binary tree with the first node as its root."""
    return [(nodes[index], nodes[(index - 1) // 2]) for index in range(1, len(nodes))]


def dials(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Everyone dials so many others at random."""
    return topology.random_dials(TWENTY, count, random.Random(seed))


def settled(
    pairs: list[tuple[str, str]], nodes: list[str] = TWENTY, **parameters: object
) -> PubsubNetwork:
    """A network in which all listen and the meshes had time to form."""
    network = PubsubNetwork(nodes, pairs, **parameters)  # type: ignore[arg-type]
    network.subscribe()
    network.run(3.0)
    return network


def publish_from_all(network: PubsubNetwork, seconds: float = 5.0) -> list[Receipt]:
    receipts = []
    for name in network.names:
        receipts.append(network.publish(name))
        network.run(0.05)
    network.run(seconds)
    return receipts


# ---- shapes


@pytest.mark.parametrize("kind", BOTH_KINDS)
@pytest.mark.parametrize(
    "pairs",
    [
        topology.line(TWENTY[:6]), topology.ring(TWENTY), topology.star(TWENTY[:12]), tree(TWENTY),
        dials(3), dials(10), topology.full(TWENTY),
    ],
    ids=["line", "ring", "star", "tree", "sparse", "dense", "full"],
)  # fmt: skip
def test_every_node_gets_every_message_exactly_once_in_every_shape(
    pairs: list[tuple[str, str]], kind: Kind
) -> None:
    nodes = [name for name in TWENTY if any(name in pair for pair in pairs)]
    network = settled(pairs, nodes, kind=kind)
    receipts = publish_from_all(network)
    assert len(receipts) == len(nodes)
    assert network.all_got(receipts)


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_two_nodes_exchange_messages_both_ways(kind: Kind) -> None:
    network = settled([("a", "b")], ["a", "b"], kind=kind)
    receipts = [network.publish(name) for name in "ababab"]
    network.run(1.0)
    assert network.all_got(receipts)


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_a_message_travels_over_many_hops(kind: Kind) -> None:
    nodes = TWENTY[:6]
    network = settled(topology.line(nodes), nodes, kind=kind)
    receipt = network.publish(nodes[0])
    network.run(0.099)
    assert network.got(receipt) == nodes[:5], "20 ms for each of the first four hops"
    network.run(0.01)
    assert network.all_got([receipt])


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_without_connections_a_message_stays_where_it_is(kind: Kind) -> None:
    network = settled([], TWENTY, kind=kind)
    receipt = network.publish(TWENTY[0])
    network.run(5.0)
    assert not receipt
    assert network.got(receipt) == [TWENTY[0]]


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_only_those_who_listen_get_a_message(kind: Kind) -> None:
    network = PubsubNetwork(TWENTY, topology.full(TWENTY), kind=kind)
    network.subscribe(TWENTY[:10])
    network.subscribe(TWENTY[10:], topic="other")
    network.run(3.0)
    receipt = network.publish(TWENTY[0])
    network.run(3.0)
    assert network.all_got([receipt], TWENTY[:10])


def test_floodsub_and_gossipsub_nodes_form_one_network() -> None:
    kinds: dict[str, Kind] = {name: "floodsub" for name in TWENTY[::3]}
    network = settled(dials(6), kinds=kinds)
    receipts = publish_from_all(network)
    assert network.all_got(receipts)
    for name in kinds:
        for peer in TWENTY:
            assert name not in network.node(peer).mesh(TOPIC) or peer in kinds


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_nodes_that_were_connected_before_they_subscribed_get_everything(kind: Kind) -> None:
    network = PubsubNetwork(TWENTY, dials(4), kind=kind)
    network.run(2.0)
    network.subscribe()
    network.run(2.0)
    assert network.all_got(publish_from_all(network))


def test_bad_lines_cost_time_and_no_messages() -> None:
    link = Link(latency=0.05, jitter=0.1, loss=0.05, bandwidth=1_000_000)
    network = settled(dials(5), link=link)
    assert network.all_got(publish_from_all(network, seconds=10.0))


# ---- the mesh


def test_every_mesh_comes_to_lie_between_its_bounds() -> None:
    network = settled(topology.full(TWENTY))
    network.run(70.0)
    assert all(4 <= degree <= 12 for degree in network.degrees().values())


def test_a_mesh_link_is_known_to_both_sides() -> None:
    network = settled(dials(8))
    network.run(70.0)
    assert network.one_sided() == []


def test_a_hub_prunes_down_and_its_leaves_still_get_everything_by_gossip() -> None:
    """A star is the worst shape: each leaf has one peer, and the hub will not have them all."""
    network = settled(topology.star(TWENTY), gossipsub={"D_lazy": 20})
    network.run(20.0)
    assert len(network.node(TWENTY[0]).mesh(TOPIC)) <= 12
    receipts = [network.publish(name) for name in TWENTY[:5]]
    network.run(5.0)
    assert network.all_got(receipts)


def test_gossipsub_sends_far_fewer_copies_than_floodsub_in_a_dense_network() -> None:
    def copies(kind: Kind) -> float:
        network = settled(topology.full(TWENTY), kind=kind)
        network.run(20.0)
        receipts = publish_from_all(network)
        assert network.all_got(receipts)
        return metrics.duplicates_per_delivery(network.simulation.trace)

    assert copies("gossipsub") < copies("floodsub") / 2


def test_nodes_that_join_late_are_taken_in() -> None:
    network = PubsubNetwork(TWENTY, dials(6))
    network.subscribe(TWENTY[:10])
    network.run(5.0)
    network.subscribe(TWENTY[10:])
    network.run(2.0)
    assert network.all_got(publish_from_all(network))


def test_nodes_that_leave_the_topic_are_not_missed() -> None:
    network = settled(dials(8))
    network.unsubscribe(TWENTY[:5])
    network.run(2.0)
    receipts = [network.publish(name) for name in TWENTY[5:]]
    network.run(5.0)
    assert network.all_got(receipts, TWENTY[5:])
    assert not any(network.node(name).mesh(TOPIC) for name in TWENTY[:5])


def test_nodes_that_crash_are_replaced_in_the_meshes() -> None:
    network = settled(topology.full(TWENTY))
    for name in TWENTY[:8]:
        network.simulation.crash(name)
    network.run(3.0)
    receipts = [network.publish(name) for name in TWENTY[8:]]
    network.run(5.0)
    assert network.all_got(receipts, TWENTY[8:])
    assert all(degree >= 4 for degree in network.degrees().values())


def test_a_node_that_leaves_and_comes_back_is_soon_in_a_mesh_again() -> None:
    """Two nodes alone: nobody else can take the place, so the backoff must be short."""
    network = settled([("a", "b")], ["a", "b"])
    network.unsubscribe("a")
    network.run(0.5)
    network.subscribe("a")
    network.run(0.5)
    receipt = network.publish("b")
    network.run(3.0)
    assert network.all_got([receipt]), "meanwhile messages come, directly or by gossip"
    network.run(12.0)
    assert network.degrees() == {"a": 1, "b": 1}
    assert network.simulation.trace_counts[trace.REJECTED] == 0


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_nobody_is_refused_for_asking_a_moment_too_early(jitter: float) -> None:
    """Both sides of a PRUNE count its backoff; their clocks for it differ by the line's delay."""
    network = PubsubNetwork(
        TWENTY, topology.full(TWENTY), link=Link(latency=0.05, jitter=jitter),
        gossipsub={"D": 3, "D_low": 3, "D_high": 4, "prune_backoff": 5, "unsubscribe_backoff": 5},
    )  # fmt: skip
    network.subscribe()
    network.run(3.0)
    for round_number in range(6):
        network.unsubscribe(TWENTY[round_number : round_number + 4])
        network.run(4.0)
        network.subscribe(TWENTY[round_number : round_number + 4])
        network.run(8.0)
    refused = [each for each in network.simulation.trace if each.event == trace.REJECTED]
    grafts = network.simulation.trace_counts[trace.GRAFTED]
    assert grafts > 200
    assert not refused


# ---- fanout


def test_who_only_publishes_reaches_everyone() -> None:
    network = PubsubNetwork(TWENTY, topology.full(TWENTY))
    network.subscribe(TWENTY[1:])
    network.run(3.0)
    receipts = [network.publish(TWENTY[0]) for _ in range(10)]
    assert len(receipts[0].peers) == 6
    network.run(3.0)
    assert network.all_got(receipts, TWENTY[1:])


def test_who_only_published_reaches_everyone_after_joining() -> None:
    network = PubsubNetwork(TWENTY, topology.full(TWENTY))
    network.subscribe(TWENTY[1:])
    network.run(3.0)
    network.publish(TWENTY[0])
    network.subscribe(TWENTY[:1])
    network.run(2.0)
    receipts = [network.publish(TWENTY[0]) for _ in range(5)]
    network.run(3.0)
    assert network.all_got(receipts)


def test_a_fanout_follows_listeners_that_go_and_come_back() -> None:
    network = PubsubNetwork(TWENTY, topology.full(TWENTY))
    network.subscribe(TWENTY[1:])
    network.run(3.0)
    network.publish(TWENTY[0])
    network.unsubscribe(TWENTY[1:])
    network.run(2.0)
    assert not network.publish(TWENTY[0])
    network.subscribe(TWENTY[1:])
    network.run(2.0)
    receipts = [network.publish(TWENTY[0]) for _ in range(5)]
    network.run(3.0)
    assert network.all_got(receipts, TWENTY[1:])


# ---- gossip


def test_a_node_that_joins_just_after_a_message_gets_it_by_gossip() -> None:
    network = PubsubNetwork(TWENTY, topology.full(TWENTY))
    network.subscribe(TWENTY[1:])
    network.run(3.0)
    receipts = [network.publish(TWENTY[1]) for _ in range(5)]
    network.run(0.2)
    network.subscribe(TWENTY[:1])
    network.run(5.0)
    assert network.all_got(receipts)


def test_gossip_makes_up_for_messages_that_the_mesh_lost() -> None:
    def share(d_lazy: int) -> float:
        return sum(share_of(d_lazy, seed) for seed in (1, 2, 3)) / 3

    def share_of(d_lazy: int, seed: int) -> float:
        lossy = Link(latency=0.02, loss=0.3, reliable=False)
        degrees = {"D_lazy": d_lazy, "D": 4, "D_low": 2}
        network = settled(dials(8), link=lossy, seed=seed, gossipsub=degrees)
        network.run(5.0)
        receipts = publish_from_all(network, seconds=6.0)
        delivered = sum(len(network.got(each)) for each in receipts)
        assert all(len(network.got(each)) == len(set(network.got(each))) for each in receipts)
        return delivered / (len(receipts) * len(TWENTY))

    without, with_gossip = share(0), share(6)
    assert with_gossip > 0.99
    assert with_gossip > without


def test_a_message_crosses_to_a_part_that_no_mesh_reaches() -> None:
    """With degrees of zero there is no mesh at all: gossip alone carries it, a heartbeat a hop."""
    nodes = TWENTY[:5]
    network = settled(
        topology.line(nodes), nodes, gossipsub={"D": 0, "D_low": 0, "D_high": 0, "D_lazy": 6}
    )
    receipt = network.publish(nodes[0])
    assert not receipt
    network.run(8.0)
    assert network.all_got([receipt])


# ---- trouble


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_a_node_that_was_cut_off_and_reconnects_gets_what_comes_later(kind: Kind) -> None:
    network = settled(dials(5), kind=kind)
    lost = TWENTY[7]
    peers = network.simulation.connected(lost)
    for peer in peers:
        network.simulation.disconnect(lost, peer)
    network.run(1.0)
    while_away = network.publish(TWENTY[0])
    network.run(2.0)
    assert lost not in network.got(while_away)
    network.connect((lost, peer) for peer in peers)
    network.run(2.0)
    assert network.all_got(publish_from_all(network))


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_a_network_that_falls_apart_works_in_its_parts_and_heals(kind: Kind) -> None:
    network = settled(dials(6), kind=kind)
    left, right = TWENTY[:10], TWENTY[10:]
    network.simulation.partition([left, right])
    network.run(60.0)
    apart = network.publish(left[0]), network.publish(right[0])
    network.run(10.0)
    assert set(network.got(apart[0])) <= set(left)
    assert set(network.got(apart[1])) <= set(right)
    network.simulation.heal()
    network.run(90.0)
    assert network.all_got(publish_from_all(network))


def test_a_short_partition_loses_nothing() -> None:
    network = settled(dials(6))
    network.simulation.partition([TWENTY[:10], TWENTY[10:]])
    receipts = [network.publish(name) for name in TWENTY]
    network.run(10.0)
    network.simulation.heal()
    network.run(10.0)
    assert network.all_got(receipts)


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_under_churn_those_who_stay_get_everything_from_those_who_stay(kind: Kind) -> None:
    stable, restless = TWENTY[:10], TWENTY[10:]
    pairs = list(dict.fromkeys(map(tuple, map(sorted, [*topology.ring(stable), *dials(6)]))))
    network = settled([(a, b) for a, b in pairs], kind=kind)
    Churn(
        network.simulation, restless, lambda name, entropy: network.machine(name, entropy),
        mean_uptime=20.0, mean_downtime=5.0, returned=lambda name: network.subscribe([name]),
    )  # fmt: skip
    receipts = []
    for _ in range(20):
        network.run(3.0)
        receipts += [network.publish(name) for name in stable]
    network.run(10.0)
    for receipt in receipts:
        assert set(stable) <= set(network.got(receipt))
    assert network.simulation.trace_counts["node_crashed"] > 10


# ---- determinism


def test_equal_seeds_give_equal_traces_and_others_do_not() -> None:
    def lines(seed: int) -> list[str]:
        network = settled(dials(5), seed=seed, link=Link(jitter=0.05, loss=0.02))
        publish_from_all(network)
        return list(network.simulation.trace_lines())

    assert lines(1) == lines(1)
    assert lines(1) != lines(2)


FINGERPRINT = """
import hashlib
from test_networks import dials, publish_from_all, settled
from rumormill.simulate import Link
network = settled(dials(5), link=Link(jitter=0.05, loss=0.02))
publish_from_all(network)
print(hashlib.sha256("\\n".join(network.simulation.trace_lines()).encode()).hexdigest())
"""


def test_a_trace_does_not_depend_on_the_hash_of_the_process() -> None:
    here = Path(__file__).parent
    path = os.pathsep.join(map(str, (here, *sys.path)))
    digests = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1
