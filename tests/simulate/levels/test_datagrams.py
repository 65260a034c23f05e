"""The datagram level: addresses, latency, loss, bandwidth, partitions, crashes."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Published, Received, Send
from rumormill.core.receipt import Receipt
from rumormill.core.trace import DROPPED
from rumormill.simulate import Link, Simulation
from tests.helpers.core.notebook import Notebook

A, B, C = "10.0.0.1:6881", "10.0.0.2:6881", "[2001:db8::3]:6881"


class Mailbox(Notebook):
    """Knows what packets are."""

    def packets(self) -> list[bytes]:
        return [input.packet for input in self.inputs(Received)]


def network(**options: Any) -> tuple[Simulation, Mailbox, Mailbox]:
    simulation = Simulation(1, level="datagrams", **options)
    notebooks = Mailbox(), Mailbox()
    simulation.add_node("a", notebooks[0], address=A)
    simulation.add_node("b", notebooks[1], address=B)
    return simulation, *notebooks


def dropped(simulation: Simulation) -> list[tuple[float, str, str | None, Any, Any]]:
    return [
        (round(event.time, 6), event.node, event.peer, event.fields["reason"], event.fields["size"])
        for event in simulation.trace
        if event.event == DROPPED
    ]


# ---- addresses


def test_a_datagram_goes_to_whoever_has_the_address_and_tells_where_it_came_from() -> None:
    simulation, a, b = network(link=Link(latency=0.25))
    simulation.command("a", [Send(B, b"one"), Send(B, b"two"), Send(A, b"myself")])
    assert b.lines == []
    simulation.run_until(1.0)
    assert b.lines == [(0.25, Received(A, b"one")), (0.25, Received(A, b"two"))]
    assert a.lines == [(0.25, Received(A, b"myself"))]
    assert simulation.connected("a") == []


def test_the_simulation_makes_up_addresses_that_nobody_has() -> None:
    simulation = Simulation(1, level="datagrams")
    simulation.add_node("given", Mailbox(), address="10.0.0.2:6881")
    simulation.add_node("made up", Mailbox())
    simulation.add_node("too", Mailbox())
    addresses = [simulation.address(name) for name in simulation.names]
    assert addresses == ["10.0.0.2:6881", "10.0.0.3:6881", "10.0.0.4:6881"]


def test_an_address_belongs_to_one_node() -> None:
    simulation, _, _ = network()
    with pytest.raises(LocalProtocolError, match=r"10\.0\.0\.1:6881 is the address of another"):
        simulation.add_node("c", Mailbox(), address=A)


def test_a_datagram_to_nobody_is_dropped_and_traced_when_it_would_arrive() -> None:
    simulation, _, _ = network(link=Link(latency=0.1))
    simulation.command("a", [Send(C, b"hello"), Send("10.9.9.9:1", b"anyone")])
    late = Mailbox()
    simulation.add_node("c", late, address=C)
    simulation.run_until(1.0)
    assert late.lines == [(0.1, Received(A, b"hello"))]
    assert dropped(simulation) == [(0.1, "a", "10.9.9.9:1", "nobody_there", 6)]
    assert simulation.drops == {"nobody_there": 1}


def test_receipts_of_publications_are_kept() -> None:
    simulation, _, _ = network()
    receipt = Receipt(b"id", "topic", reached=(B,))
    simulation.command("a", [Published(receipt)])
    assert simulation.receipts["a"] == [receipt]


# ---- what a link does to datagrams


@pytest.mark.parametrize("reliable", [True, False])
def test_what_is_lost_is_lost_counted_and_traced_whatever_the_link_says(reliable: bool) -> None:
    simulation, _, b = network(link=Link(loss=0.5, reliable=reliable))
    simulation.command("a", [Send(B, bytes([number])) for number in range(100)])
    simulation.run_until(10.0)
    assert 30 < simulation.drops["lost"] < 70
    assert len(b.packets()) + simulation.drops["lost"] == 100
    assert len(dropped(simulation)) == simulation.drops["lost"]
    assert max(time for time, _ in b.lines) == 0.05


def test_jitter_changes_the_order() -> None:
    simulation, _, b = network(link=Link(latency=0.1, jitter=0.1))
    packets = [bytes([number]) for number in range(50)]
    simulation.command("a", [Send(B, packet) for packet in packets])
    simulation.run_until(1.0)
    assert b.packets() != packets
    assert sorted(b.packets()) == packets
    times = [time for time, _ in b.lines]
    assert 0.1 <= min(times) < 0.12 < 0.18 < max(times) <= 0.2


def test_the_datagrams_of_a_node_leave_one_after_the_other_whomever_they_are_for() -> None:
    simulation, a, b = network(link=Link(latency=0.0, bandwidth=1000))
    simulation.command("a", [Send(B, bytes(100)), Send(A, bytes(100)), Send(B, bytes(100))])
    simulation.command("b", [Send(B, bytes(100))])
    simulation.run_until(0.25)
    assert [time for time, _ in b.lines] == [0.1, 0.1]
    assert [time for time, _ in a.lines] == [0.2]
    simulation.run_until(1.0)
    assert b.lines[-1] == (0.3, Received(A, bytes(100)))


def test_what_the_queue_of_a_node_has_no_room_for_is_dropped_and_traced() -> None:
    simulation, _, b = network(link=Link(latency=0.0, bandwidth=1000, queue=250))
    simulation.command("a", [Send(B, bytes(100)) for _ in range(3)])
    assert dropped(simulation) == [(0.0, "a", B, "link_full", 100)]
    simulation.run_until(1.0)
    simulation.command("a", [Send(B, bytes(250))])  # there is room again
    simulation.run_until(2.0)
    assert [len(packet) for packet in b.packets()] == [100, 100, 250]


@pytest.mark.parametrize("link", [Link(), Link(jitter=0.1)])
def test_what_is_too_large_for_a_datagram_is_dropped_and_traced(link: Link) -> None:
    simulation, _, b = network(link=link)
    simulation.command("a", [Send(B, bytes(65508)), Send(B, bytes(65507))])
    assert dropped(simulation) == [(0.0, "a", B, "too_large", 65508)]
    simulation.run_until(1.0)
    assert [len(packet) for packet in b.packets()] == [65507]


def test_connecting_says_what_lies_between_two_nodes_and_tells_neither() -> None:
    simulation, a, b = network(link=Link(latency=0.5))
    c = Mailbox()
    simulation.add_node("c", c, address=C)
    simulation.connect("a", "b", Link(latency=0.1), Link(latency=0.3))
    simulation.command("a", [Send(B, b"there"), Send(C, b"far")])
    simulation.command("b", [Send(A, b"back")])
    simulation.run_until(1.0)
    assert b.lines == [(0.1, Received(A, b"there"))]
    assert a.lines == [(0.3, Received(B, b"back"))]
    assert c.lines == [(0.5, Received(A, b"far"))]


def test_there_is_nothing_to_disconnect() -> None:
    simulation, _, _ = network()
    with pytest.raises(LocalProtocolError, match=r"nothing connects 'a' and 'b'.*partition"):
        simulation.disconnect("a", "b")


# ---- what breaks and comes back


def test_a_partition_loses_what_would_arrive_meanwhile() -> None:
    simulation, _, b = network(link=Link(latency=0.1))
    simulation.command("a", [Send(B, b"under way")])
    simulation.partition([["a"]])
    simulation.run_until(0.2)
    simulation.command("a", [Send(B, b"lost"), Send(A, b"to myself")])
    simulation.run_until(0.5)
    simulation.heal()
    simulation.command("a", [Send(B, b"again")])
    simulation.run_until(1.0)
    assert b.packets() == [b"again"]
    assert simulation.drops == {"partitioned": 2}
    assert dropped(simulation)[0] == (0.1, "a", B, "partitioned", 9)


@pytest.mark.parametrize("silent", [False, True])
def test_a_crash_tells_nobody_and_a_restarted_node_gets_what_arrives_then(silent: bool) -> None:
    simulation, a, old = network(link=Link(latency=0.1))
    simulation.command("b", [Send(A, b"last words")])
    simulation.crash("b", silent=silent)
    simulation.command("a", [Send(B, b"too early")])
    simulation.run_until(0.15)
    assert a.lines == [(0.1, Received(B, b"last words"))]
    assert dropped(simulation) == [(0.1, "a", B, "nobody_there", 9)]
    simulation.command("a", [Send(B, b"just in time")])
    new = Mailbox()
    simulation.restart("b", new)
    simulation.run_until(1.0)
    assert simulation.address("b") == B
    assert (old.lines, new.lines) == ([], [(0.25, Received(A, b"just in time"))])


def test_a_restart_empties_the_queue_of_a_node() -> None:
    simulation, a, _ = network(link=Link(latency=0.0, bandwidth=100))
    simulation.command("b", [Send(A, bytes(1000))])
    simulation.crash("b")
    simulation.restart("b", Mailbox())
    simulation.command("b", [Send(A, bytes(10))])
    simulation.run_until(1.0)
    assert [len(packet) for packet in a.packets()] == [10]


def test_the_order_in_which_nodes_are_added_changes_no_node_s_chance() -> None:
    def lossy(names: list[str]) -> list[bytes]:
        simulation = Simulation(3, level="datagrams", link=Link(loss=0.5))
        for name in names:
            simulation.add_node(name, Mailbox(), address=f"{name}:1")
        simulation.command("a", [Send("b:1", bytes([number])) for number in range(20)])
        simulation.run_until(1.0)
        packets: list[bytes] = simulation.machine("b").packets()
        return packets

    assert 2 < len(lossy(["a", "b"])) < 18
    assert lossy(["a", "b", "c"]) == lossy(["c", "b", "a"])
