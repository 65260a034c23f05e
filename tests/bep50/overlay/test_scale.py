"""A swarm of overlay nodes under loss and churn: the newest value is everywhere in time."""

from __future__ import annotations

import math

import pytest

from rumormill.simulate import Link
from tests.helpers.bep50.overlay_swarm import LINK, Swarm, mean

NODES = 200


def swarm_at_work(seed: int = 1, link: Link = LINK, keep_trace: bool = False) -> Swarm:
    """200 nodes that have joined through a few addresses each, and a minute of churn."""
    swarm = Swarm(seed=seed, link=link, keep_trace=keep_trace)
    swarm.join(NODES, seconds=20.0, settle=20.0)
    swarm.churn(0.10, away=30.0, newcomers=0.05)
    swarm.simulation.run_for(60.0)
    return swarm


@pytest.fixture(scope="module")
def swarm() -> Swarm:
    """One that has published a small value and two large ones."""
    swarm = swarm_at_work()
    for size in (100, 999, 999):
        swarm.publish(size)
    return swarm


def test_a_new_value_reaches_every_node_that_is_there_despite_loss_and_churn(swarm: Swarm) -> None:
    assert swarm.simulation.drops["lost"] > 1000
    assert swarm.simulation.drops["nobody_there"] > 100
    for publication in swarm.publications:
        assert len(publication.expected) > 0.8 * NODES
        assert publication.missing == []
    assert sum(each.newcomers for each in swarm.publications) > 0
    assert sum(each.behind for each in swarm.publications) == 0


def test_a_node_passes_a_value_on_to_a_table_of_about_log2_of_the_nodes(swarm: Swarm) -> None:
    sizes = swarm.table_sizes()
    assert math.log2(NODES) < mean(sizes) < 4 * math.log2(NODES)
    assert max(sizes) < 8 * math.log2(NODES)
    assert min(swarm.known_by().values()) > 0


def test_asking_first_saves_copies_of_large_values(swarm: Swarm) -> None:
    small, *large = (each.copies / each.alive for each in swarm.publications)
    assert small < 2.5 * mean(swarm.table_sizes())
    assert mean(large) < small / 2


def test_hops_are_few(swarm: Swarm) -> None:
    for publication in swarm.publications:
        assert max(publication.hops.values()) <= 2 * math.log2(NODES)
        assert len(publication.hops) > 0.9 * NODES


def test_equal_seeds_give_equal_traces() -> None:
    def trace(seed: int) -> list[str]:
        swarm = Swarm(seed=seed, keep_trace=True)
        swarm.join(40, seconds=10.0, settle=10.0)
        swarm.churn(0.5, away=10.0, newcomers=0.5)
        swarm.simulation.run_for(20.0)
        swarm.publish()
        return list(swarm.simulation.trace_lines())

    first = trace(1)
    assert len(first) > 1000
    assert trace(1) == first != trace(2)
