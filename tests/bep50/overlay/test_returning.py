"""Nodes that crash and come back at their address, with an empty table and maybe another id."""

from __future__ import annotations

import pytest

from rumormill.bep50.effects import Publish
from rumormill.simulate import Link
from tests.helpers.bep50.overlay_swarm import Swarm


def swarm_of(nodes: int) -> Swarm:
    """All of them know each other."""
    swarm = Swarm(link=Link(latency=0.001), publishers=1, contacts=1)
    swarm.join(nodes, seconds=1.0, settle=5.0)
    assert set(swarm.known_by().values()) == {nodes - 1}
    return swarm


def publish_for(swarm: Swarm, seconds: float) -> None:
    """Ten values a second."""
    for number in range(round(10 * seconds)):
        swarm.simulation.command("node-0", Publish(swarm.topic, b"i%de" % number))
        swarm.simulation.run_for(0.1)


def newest(swarm: Swarm, name: str) -> int:
    item = swarm.simulation.machine(name).latest(swarm.topic)
    assert item is not None
    return int(item.seq)


@pytest.mark.parametrize("away", [0.3, 1.0, 1.9, 3.0, 5.0, 30.0])
def test_a_node_that_comes_back_at_its_address_is_sent_new_values_again(away: float) -> None:
    swarm = swarm_of(6)
    publish_for(swarm, 1.0)
    swarm.simulation.crash("node-3")
    publish_for(swarm, away)
    swarm.restart("node-3")
    publish_for(swarm, 0.5)
    assert newest(swarm, "node-3") == newest(swarm, "node-0")
    publish_for(swarm, 2.5)  # who asked it just before it came back waits for that answer
    assert swarm.known_by()["node-3"] == 5


def test_puts_that_were_on_the_way_to_a_crashed_node_do_not_cost_it_the_place_later() -> None:
    swarm = swarm_of(6)
    publish_for(swarm, 1.0)
    swarm.simulation.crash("node-3")
    publish_for(swarm, 1.5)
    swarm.restart("node-3")
    publish_for(swarm, 0.5)
    # The last of them expire now, and nothing is published that could show that it lives.
    swarm.simulation.run_for(5.0)
    assert swarm.known_by()["node-3"] == 5
    publish_for(swarm, 0.1)
    swarm.simulation.run_for(0.1)
    assert newest(swarm, "node-3") == newest(swarm, "node-0")


def test_a_node_that_is_back_just_before_old_questions_run_out_is_asked_whether_it_is() -> None:
    swarm = swarm_of(4)
    publish_for(swarm, 1.0)
    swarm.simulation.crash("node-2")
    publish_for(swarm, 1.0)
    swarm.simulation.run_for(0.9)
    swarm.restart("node-2")
    # It asks the others while they still take it for there; then what they asked before runs out.
    swarm.simulation.run_for(1.5)
    assert swarm.known_by()["node-2"] == 3
    publish_for(swarm, 0.1)
    assert newest(swarm, "node-2") == newest(swarm, "node-0")
