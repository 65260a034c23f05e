"""Programs on nodes of a network: what they register is known everywhere, and gone with them."""

from __future__ import annotations

from random import Random

import pytest

from rumormill.core.machine import Shutdown, Subscribe
from rumormill.core.transport import Dial
from rumormill.ndn.client.machine import ClientMachine
from rumormill.ndn.effects import Publication
from rumormill.ndn.wire.name import name_from_uri
from rumormill.simulate.topology import line, ring
from tests.helpers.ndn.nodes import Country


class Town(Country):
    """Nodes, and programs on them."""

    def add_client(self, name: str, node: str) -> None:
        """A program on a node; the addresses here are of other machines, all of them."""
        machine = ClientMachine(name_from_uri(f"/{name}"), Random(name))
        self.names.append(name)
        number = len(self.names)
        self.simulation.add_node(name, machine, address=f"{self.by}://10.1.0.{number}:6363")
        self.simulation.command(name, Dial(self.simulation.address(node), True))


def town(by: str = "tcp") -> Town:
    return Town("abcd", line("abcd"), by=by, localhop_registration=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["tcp", "udp"])
def test_a_program_on_one_node_publishes_to_one_on_another(by: str) -> None:
    country = town(by)
    country.add_client("alice", "a")
    country.add_client("dave", "d")
    country.run(2.0)
    country.simulation.command("dave", Subscribe("/weather"))
    country.run(5.0)
    token = country.publish("alice", "/weather", b"rain")
    country.run(3.0)
    assert (country.outcome(token), country.got("dave")) == ("delivered", [b"rain"])
    assert country["b"].subscribers("/weather") == (country.simulation.address("c"),)


def test_a_program_that_leaves_or_dies_is_soon_forgotten_everywhere() -> None:
    country = town()
    country.add_client("alice", "a")
    country.add_client("carol", "c")
    country.add_client("dave", "d")
    for name in ("carol", "dave"):
        country.simulation.command(name, Subscribe("/weather"))
    country.run(5.0)
    assert len(country["c"].subscribers("/weather")) == 2
    country.simulation.command("carol", Shutdown())
    country.run(2.0)
    token = country.publish("alice", "/weather", b"1")
    country.run(2.0)
    assert (country.outcome(token), country.got("dave")) == ("delivered", [b"1"])
    country.simulation.crash("dave")
    country.run(2.0)
    token = country.publish("alice", "/weather", b"2")
    country.run(2.0)
    assert country.outcome(token) == "no_subscriber"
    assert [country[name].subscribers("/weather") for name in "abcd"] == [()] * 4


def test_the_application_of_a_node_and_programs_hear_each_other() -> None:
    country = town()
    country.add_client("alice", "a")
    country.subscribe("/from/alice", "d")
    country.simulation.command("alice", Subscribe("/from/d"))
    country.run(5.0)
    tokens = [country.publish("alice", "/from/alice", b"x"), country.publish("d", "/from/d", b"y")]
    country.run(3.0)
    assert [country.outcome(token) for token in tokens] == ["delivered"] * 2
    assert (country.got("d"), country.got("alice")) == ([b"x"], [b"y"])


def test_a_node_restarts_and_its_programs_are_found_again() -> None:
    country = Town("abcd", ring("abcd"), localhop_registration=True)
    country.add_client("carol", "c")
    country.simulation.command("carol", Subscribe("/weather"))
    country.run(5.0)
    country.simulation.crash("c")
    country.run(5.0)
    assert country["a"].subscribers("/weather") == ()
    country.restart("c")
    country.run(40.0)
    token = country.publish("a", "/weather", b"rain")
    country.run(3.0)
    assert (country.outcome(token), country.got("carol")) == ("delivered", [b"rain"])


def test_many_programs_and_many_topics() -> None:
    country = Town("abcd", ring("abcd"), localhop_registration=True, keep_trace=False)
    names = [f"client{number}" for number in range(12)]
    for number, name in enumerate(names):
        country.add_client(name, "abcd"[number % 4])
        country.simulation.command(name, Subscribe(f"/topic/{number}"))
    country.run(10.0)
    token = 1000
    for number in range(300):
        token += 1
        target = (number * 5 + 1) % 12
        source = names[(target + 1 + number % 11) % 12]
        country.simulation.command(source, Publication(token, f"/topic/{target}", b"%d" % number))
        country.run(0.01)
    country.run(5.0)
    assert country.outcomes() == {"delivered": 300}
    assert sum(len(country.got(name)) for name in names) == 300
