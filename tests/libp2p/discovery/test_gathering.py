"""Whole nodes in virtual time that know one address each: they become one mesh, and stay one."""

from __future__ import annotations

import pytest

from tests.helpers.libp2p.gathering import BOOTSTRAP_NODE, HEARTBEAT, SETTLED, Gathering

TEN_HEARTBEATS = 10 * HEARTBEAT


def town(nodes: int, **options: object) -> Gathering:
    """So many nodes around one bootstrap node, as gossipsub's specification wants it."""
    gathering = Gathering(first_gossipsub=BOOTSTRAP_NODE, **options)  # type: ignore[arg-type]
    gathering.join(nodes, seconds=nodes / 20)
    gathering.run(nodes / 20 + SETTLED)
    return gathering


@pytest.mark.timeout(300)
def test_who_knows_one_address_of_a_hundred_has_a_full_mesh_within_ten_heartbeats() -> None:
    gathering = town(100)
    assert len(gathering.waits) == 99, "all but the bootstrap node"
    assert max(gathering.waits) <= TEN_HEARTBEATS
    gathering.waits.clear()
    gathering.join(1, seconds=0)
    gathering.run(TEN_HEARTBEATS)
    assert len(gathering.waits) == 1
    sample = gathering.sample()
    assert (sample.settled, sample.full, sample.parts) == (100, 100, 1)


@pytest.mark.timeout(300)
def test_a_hundred_nodes_stay_one_mesh_while_a_tenth_of_them_crashes_each_minute() -> None:
    gathering = town(100, remember=True)
    gathering.churn(0.1, away=20.0)
    for _ in range(9):
        gathering.publish()
        gathering.run(10.0)
    sample = gathering.sample()
    assert gathering.churning is not None and gathering.churning.returns >= 5
    assert (sample.full, sample.parts) == (sample.settled, 1)
    assert gathering.delivered() == 1.0


@pytest.mark.timeout(300)
def test_by_kademlia_any_node_will_do_as_the_one_that_is_known() -> None:
    gathering = Gathering(knows="any", kademlia=True)
    gathering.join(30, seconds=3.0)
    gathering.run(3.0 + SETTLED)
    sample = gathering.sample()
    assert (sample.settled, sample.full, sample.parts) == (30, 30, 1)
    assert max(gathering.waits) <= TEN_HEARTBEATS


def test_without_a_way_to_find_others_who_knows_any_one_node_stays_with_it() -> None:
    """So the tests above test something."""
    gathering = Gathering(knows="any", gossipsub={"peer_exchange": False})
    gathering.join(30, seconds=3.0)
    gathering.run(3.0 + SETTLED)
    assert gathering.sample().full < 15
