"""Churn: leaving, coming back, stopping."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.core.machine import Machine, Publish
from rumormill.simulate import NODE_CRASHED, NODE_RESTARTED, Churn, Simulation, topology
from rumormill.simulate.levels.peers import PeerLevelInput
from rumormill.simulate.toys import Flood


def network(names: list[str], seed: int = 1) -> Simulation:
    simulation = Simulation(seed)
    for name in names:
        simulation.add_node(name, Flood(name))
    for a, b in topology.random_regular(names, 4, simulation.random_for("topology")):
        simulation.connect(a, b)
    return simulation


NAMES = [f"node-{number}" for number in range(20)]


def make(name: str, entropy: random.Random) -> Machine[PeerLevelInput, object]:
    return Flood(name)


def comings_and_goings(simulation: Simulation) -> list[tuple[float, str, str]]:
    kinds = (NODE_CRASHED, NODE_RESTARTED)
    return [
        (event.time, event.node, event.event) for event in simulation.trace if event.event in kinds
    ]


def test_nodes_leave_and_come_back_at_the_given_rates() -> None:
    simulation = network(NAMES)
    churn = Churn(simulation, NAMES, make, mean_uptime=30, mean_downtime=10)
    away = 0
    for second in range(2000):
        simulation.run_until(second)
        away += sum(not simulation.alive(name) for name in NAMES)
    assert 0.22 < away / (2000 * len(NAMES)) < 0.28
    assert 900 < churn.leaves < 1100  # 20 nodes, 2000 s, a round of 40 s
    assert 0 <= churn.leaves - churn.returns <= 20


def test_those_who_are_back_are_connected_again() -> None:
    simulation = network(NAMES)
    churn = Churn(simulation, NAMES, make, mean_uptime=5, mean_downtime=1)
    simulation.run_until(100.0)
    churn.stop()
    simulation.run_until(150.0)
    assert all(simulation.alive(name) for name in NAMES)
    assert all(len(simulation.connected(name)) == 4 for name in NAMES)
    simulation.command(NAMES[0], Publish(("t",), b"all there?"))
    simulation.run_until(160.0)
    assert sum(simulation.delivery_counts.values()) == len(NAMES) - 1


def test_a_stopped_churn_comes_to_rest() -> None:
    simulation = network(NAMES)
    churn = Churn(simulation, NAMES, make, mean_uptime=5, mean_downtime=1)
    simulation.run_until(20.0)
    churn.stop()
    assert simulation.run_until_idle(1000.0)
    assert churn.leaves == churn.returns > 0


def test_when_a_node_leaves_depends_on_seed_and_name_alone() -> None:
    def events_of_one(names: list[str], seed: int) -> list[tuple[float, str, str]]:
        simulation = network(NAMES, seed)
        Churn(simulation, names, make, mean_uptime=5, mean_downtime=1)
        simulation.run_until(100.0)
        return [event for event in comings_and_goings(simulation) if event[1] == "node-3"]

    assert events_of_one(NAMES, 1) == events_of_one(["node-3"], 1) != events_of_one(NAMES, 2)


def test_each_life_has_a_random_source_of_its_own() -> None:
    simulation, draws = network(NAMES), []

    def remember(name: str, entropy: random.Random) -> Machine[PeerLevelInput, object]:
        draws.append(entropy.random())
        return Flood(name)

    returned: list[str] = []
    Churn(
        simulation, ["node-0"], remember, mean_uptime=5, mean_downtime=1, returned=returned.append
    )
    simulation.run_until(60.0)
    assert len(set(draws)) == len(draws) == len(returned) > 3
    assert draws[0] == simulation.random_for("node-0", life=1).random()


def test_a_script_may_crash_and_restart_the_same_nodes() -> None:
    simulation = network(NAMES)
    Churn(simulation, NAMES, make, mean_uptime=5, mean_downtime=5)

    def meddle() -> None:
        for name in NAMES:
            if simulation.alive(name):
                simulation.crash(name)
            else:
                simulation.restart(name, Flood(name))

    for second in range(1, 100, 7):
        simulation.at(second, meddle)
    simulation.run_until(120.0)
    assert simulation.events > 100


@pytest.mark.parametrize("key", ["mean_uptime", "mean_downtime"])
def test_a_mean_time_must_be_above_zero(key: str) -> None:
    times: dict[str, Any] = {"mean_uptime": 1.0, "mean_downtime": 1.0, key: 0.0}
    with pytest.raises(ConfigError, match=key):
        Churn(network(NAMES), NAMES, make, **times)
