"""Nodes in the simulator: bytes cut anywhere, latency, crashes, partitions, slow links."""

from __future__ import annotations

from rumormill.bcos.effects import Multicast, Unicast, UnicastEnded
from rumormill.bcos.node.machine import CHANNEL
from rumormill.core import trace
from rumormill.core.machine import Subscribe
from rumormill.core.transport import Dial
from rumormill.simulate import Link, Simulation
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import id_of, new_machine


class Country:
    """A simulation of nodes by letters, each dialing all others and keeping them."""

    def __init__(self, names: str, seed: int = 1, dials: dict[str, str] | None = None) -> None:
        self.simulation = Simulation(
            seed, level="transports", link=Link(latency=0.03), chunk=(1, 40), tcp_timeout=20.0
        )
        self.names = names
        self.ended: list[tuple[str, UnicastEnded]] = []
        self.simulation.on_effect(UnicastEnded, lambda node, each: self.ended.append((node, each)))
        for name in names:
            self.simulation.add_node(
                name,
                new_machine(name, multi_hop=dials is not None),
                credentials=credentials_of(ord(name) - ord("a") + 1),
                services={CHANNEL: 20200},
            )
        for name in names:
            self.dial(name, names.replace(name, "") if dials is None else dials.get(name, ""))

    def dial(self, name: str, others: str) -> None:
        for other in others:
            self.simulation.command(name, Dial(self.simulation.address(other), True))

    def linked(self) -> list[str]:
        """Whom each node has links to, by its own word."""
        letters = {id_of(name): name for name in self.names}
        nodes = [self.simulation.machine(name).peers.linked_nodes() for name in self.names]
        return ["".join(sorted(letters[each] for each in peers)) for peers in nodes]

    def holders(self, topic: str) -> list[int]:
        machines = [self.simulation.machine(name) for name in self.names]
        return [len(machine.peers.holders(topic)) for machine in machines]


EVERYBODY = ["bcd", "acd", "abd", "abc"]


def test_all_dial_all_at_once_and_have_one_link_each() -> None:
    country = Country("abcd")
    country.simulation.run_until(5.0)
    assert country.linked() == EVERYBODY
    assert [country.simulation.machine(name).sizes()["links"] for name in "abcd"] == [3] * 4
    assert country.simulation.trace_counts[trace.PEER_LEFT] == 0


def test_messages_arrive_though_bytes_are_cut_anywhere() -> None:
    country = Country("abcd")
    simulation = country.simulation
    for name in "bcd":
        simulation.command(name, Subscribe("news"))
    simulation.run_until(5.0)
    data = bytes(range(256)) * 10
    simulation.command("a", Multicast(1, "news", data, 5.0))
    simulation.command("a", Unicast(2, "news", b"one", 5.0))
    simulation.run_until(10.0)
    assert [simulation.deliveries[name][0].data for name in "bcd"] == [data] * 3
    assert simulation.delivery_counts.total() == 4
    ((node, ended),) = country.ended
    assert (node, ended.result) == ("a", 0)


def test_a_partition_heals_and_topics_are_known_again() -> None:
    country = Country("abcd")
    simulation = country.simulation
    simulation.command("d", Subscribe("news"))
    simulation.run_until(5.0)
    assert country.holders("news") == [1, 1, 1, 0]
    simulation.partition(["ab", "cd"])
    simulation.run_until(100.0)
    assert country.linked() == ["b", "a", "d", "c"]
    assert country.holders("news") == [0, 0, 1, 0]
    simulation.heal()
    simulation.run_until(130.0)
    assert country.linked() == EVERYBODY
    assert country.holders("news") == [1, 1, 1, 0]


def test_a_node_that_vanishes_without_a_word_and_comes_again() -> None:
    country = Country("abcd")
    simulation = country.simulation
    simulation.command("d", Subscribe("news"))
    simulation.run_until(5.0)
    simulation.crash("d", silent=True)
    simulation.run_until(80.0)
    assert country.holders("news")[:3] == [0, 0, 0]
    simulation.restart("d", new_machine("d"))
    simulation.run_until(82.0)
    country.dial("d", "abc")
    simulation.run_until(120.0)
    assert country.linked() == EVERYBODY
    assert country.holders("news") == [0, 0, 0, 0]


def test_a_line_of_nodes_reaches_from_end_to_end() -> None:
    country = Country("abcde", dials={"a": "b", "b": "c", "c": "d", "d": "e"})
    simulation = country.simulation
    simulation.command("e", Subscribe("news"))
    simulation.run_until(5.0)
    assert country.holders("news") == [1, 1, 1, 1, 0]
    simulation.command("a", Unicast(1, "news", b"hello", 10.0))
    simulation.run_until(8.0)
    ((_, ended),) = country.ended
    assert (ended.result, ended.node) == (0, id_of("e"))


def test_equal_seeds_give_equal_traces() -> None:
    lines = []
    for _ in range(2):
        country = Country("abcd", seed=7)
        country.simulation.command("d", Subscribe("news"))
        country.simulation.run_until(12.0)
        lines.append(list(country.simulation.trace_lines()))
    assert lines[0] == lines[1]
