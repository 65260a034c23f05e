"""Seeds, checks, deliveries, the trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Check, Checked, Publish, Verdict
from rumormill.core.topic import Capabilities
from rumormill.core.trace import DELIVERED, TraceEvent
from rumormill.simulate import Link, Simulation, topology
from rumormill.simulate.toys import Flood

SCENARIOS = Path(__file__).with_name("scenarios.py")


class Checker:
    """Wants one check per input, and writes down the verdicts."""

    def __init__(self) -> None:
        self.verdicts: list[tuple[float, int, str]] = []

    def handle(self, input: Any, now: float) -> list[object]:
        if isinstance(input, Checked):
            self.verdicts.append((round(now, 9), input.token, input.verdict))
            return []
        return [Check(token, f"subject {token}") for token in input]

    def wake(self, now: float) -> list[object]:
        return []

    def next_wake(self) -> float | None:
        return None


def flood(size: int = 20, seed: int = 1, **options: Any) -> tuple[Simulation, list[str]]:
    simulation = Simulation(seed, **options)
    names = [f"node-{number}" for number in range(size)]
    for name in names:
        simulation.add_node(name, Flood(name))
    for a, b in topology.random_dials(names, 3, simulation.random_for("topology")):
        simulation.connect(a, b)
    return simulation, names


# ---- what a network promises


def test_each_life_of_a_node_begins_with_what_the_network_promises() -> None:
    promised = Capabilities(1000, every_message=False)

    def run() -> Simulation:
        simulation, names = flood(5, capabilities=promised)
        simulation.run_for(1.0)
        simulation.crash(names[0])
        simulation.run_for(1.0)
        simulation.restart(names[0], Flood(names[0]))
        simulation.run_for(1.0)
        return simulation

    simulation = run()
    opened = [event for event in simulation.trace if event.event == "network_opened"]
    assert [event.node for event in opened] == [*simulation.names, "node-0"]
    assert all(event.fields["every_message"] is False for event in opened)
    of_node = [event.event for event in simulation.trace if event.node == "node-0"]
    assert of_node[0] == "network_opened"
    crashed = of_node.index("node_crashed")
    assert of_node[crashed + 1 : crashed + 3] == ["network_opened", "node_restarted"]
    assert list(run().trace_lines()) == list(simulation.trace_lines())


def test_a_simulation_that_was_told_of_no_promise_says_none() -> None:
    simulation, _ = flood(5)
    assert simulation.trace_counts["network_opened"] == 0


# ---- randomness


def test_a_node_s_random_source_depends_on_seed_name_and_life_alone() -> None:
    first, second = Simulation(1), Simulation(1)
    second.random_for("another").random()
    draw = first.random_for("a").random()
    assert second.random_for("a").random() == draw
    assert first.random_for("a").random() == draw
    others = [first.random_for("b"), first.random_for("a", life=1), Simulation(2).random_for("a")]
    assert draw not in [other.random() for other in others]


def test_names_and_seeds_cannot_be_mistaken_for_each_other() -> None:
    draws = {
        Simulation(seed).random_for(name).random()
        for seed, name in ((1, "1"), (11, ""), ("1", "1"), ("1', '1", ""), (1, "1, 1"))
    }
    assert len(draws) == 5


def test_the_random_source_is_the_same_on_every_computer() -> None:
    assert Simulation(7).random_for("node-a").getrandbits(32) == 2_114_491_532


# ---- checks


def test_checks_are_answered_one_after_the_other() -> None:
    simulation, checker, other = Simulation(1, check_delay=0.1), Checker(), Checker()
    simulation.add_node("a", checker)
    simulation.add_node("b", other)
    simulation.command("a", [1, 2, 3])
    simulation.command("b", [1])
    simulation.run_until(0.25)
    simulation.command("a", [4])
    simulation.run_until(1.0)
    simulation.command("a", [5])
    simulation.run_until(2.0)
    accept = Verdict.ACCEPT
    assert checker.verdicts == [
        (0.1, 1, accept), (0.2, 2, accept), (0.3, 3, accept), (0.4, 4, accept), (1.1, 5, accept),
    ]  # fmt: skip
    assert other.verdicts == [(0.1, 1, accept)]


def test_a_check_takes_sixty_microseconds_unless_told_otherwise() -> None:
    simulation, checker = Simulation(1), Checker()
    simulation.add_node("a", checker)
    simulation.command("a", [1])
    simulation.run_until(1.0)
    assert checker.verdicts == [(0.00006, 1, Verdict.ACCEPT)]


def test_the_verdict_is_the_user_s() -> None:
    def check(node: str, subject: str) -> str:
        return Verdict.REJECT if (node, subject) == ("a", "subject 2") else Verdict.ACCEPT

    simulation, checker = Simulation(1, check=check), Checker()
    simulation.add_node("a", checker)
    simulation.command("a", [1, 2])
    simulation.run_until(1.0)
    assert [verdict for _, _, verdict in checker.verdicts] == [Verdict.ACCEPT, Verdict.REJECT]


def test_a_crashed_node_checks_nothing() -> None:
    asked: list[str] = []

    def check(node: str, subject: str) -> str:
        asked.append(subject)
        return Verdict.ACCEPT

    simulation = Simulation(1, check=check)
    simulation.add_node("a", Checker())
    simulation.command("a", [1])
    simulation.crash("a")
    simulation.run_until(1.0)
    assert asked == []


# ---- what is written down


def test_deliveries_are_kept_or_counted() -> None:
    kept, names = flood()
    counted, _ = flood(keep_deliveries=False, keep_trace=False)
    for simulation in (kept, counted):
        simulation.command(names[0], Publish(("t",), b"hello"))
        simulation.run_until(5.0)
    assert [message.data for message in kept.deliveries[names[7]]] == [b"hello"]
    assert counted.deliveries[names[7]] == []
    assert counted.delivery_counts == kept.delivery_counts
    assert counted.delivery_counts[names[7]] == 1
    assert counted.delivery_counts[names[0]] == 0
    assert counted.trace == []
    assert counted.trace_counts == kept.trace_counts
    with pytest.raises(LocalProtocolError, match="does not keep its trace"):
        counted.trace_lines()


def test_a_sink_gets_every_trace_event_in_order() -> None:
    kept, names = flood()
    events: list[TraceEvent] = []
    sunk, _ = flood(sink=events.append)
    for simulation in (kept, sunk):
        simulation.command(names[0], Publish(("t",), b"hello"))
        simulation.run_until(5.0)
    assert events == kept.trace
    assert sunk.trace == []
    assert [event.time for event in events] == sorted(event.time for event in events)


def test_a_sink_may_change_the_network() -> None:
    def on_event(event: TraceEvent) -> None:
        if event.event == DELIVERED:
            simulation.crash(event.node)

    simulation = Simulation(1, sink=on_event)
    names = ["a", "b", "c"]
    for name in names:
        simulation.add_node(name, Flood(name))
    for near, far in topology.line(names):
        simulation.connect(near, far)
    simulation.command("a", Publish(("t",), b"poison"))
    simulation.run_until(5.0)
    # Each has passed it on before it fell over.
    assert [simulation.alive(name) for name in names] == [True, False, False]


def test_the_script_runs_at_its_times() -> None:
    simulation, names = flood(start=100.0)
    times: list[float] = []
    simulation.at(103.0, lambda: times.append(simulation.now))
    simulation.at(101.0, lambda: times.append(simulation.now))
    simulation.run_for(2.0)
    assert (times, simulation.now) == ([101.0], 102.0)
    simulation.run_until_idle(200.0)
    assert times == [101.0, 103.0]
    assert names == simulation.names


# ---- equal seeds


def run_scenario(name: str, seed: int, hash_seed: int) -> bytes:
    paths = Path(sys.modules["rumormill"].__path__[0]).parent, SCENARIOS.parents[2]
    environment = os.environ | {
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [sys.executable, str(SCENARIOS), name, str(seed)]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize("name", ["flood", "echo", "gossipsub", "hosts", "overlay"])
def test_equal_seeds_give_equal_traces_byte_for_byte_in_any_process(name: str) -> None:
    first, second = run_scenario(name, 1, hash_seed=1), run_scenario(name, 1, hash_seed=2)
    assert first.count(b"\n") > 100
    assert first == second
    assert run_scenario(name, 2, hash_seed=1) != first


def test_the_order_in_which_nodes_are_added_changes_no_node_s_chance() -> None:
    def lossy(names: list[str]) -> list[bytes]:
        simulation = Simulation(3, link=Link(loss=0.5, reliable=False))
        for name in names:
            simulation.add_node(name, Flood(name))
        simulation.connect("a", "b")
        for number in range(20):
            simulation.command("a", Publish(("t",), bytes([number])))
        simulation.run_until(1.0)
        return [message.data for message in simulation.deliveries["b"]]

    assert lossy(["a", "b", "c"]) == lossy(["c", "b", "a"])
