"""The packet level: joining, sending, holding back, parting, partitions, crashes."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import (
    Connect,
    Drop,
    PeerJoined,
    PeerLeft,
    Received,
    Send,
    Writable,
)
from rumormill.core.trace import CONNECTION_FAILED, DROPPED
from rumormill.core.transport import HoldPeer, RestPeer
from rumormill.simulate import HEALED, NODE_CRASHED, NODE_RESTARTED, PARTITIONED, Link, Simulation
from tests.helpers.core.notebook import Notebook


class Peer(Notebook):
    """Speaks protocols, and knows what packets are."""

    def __init__(self, *protocols: str) -> None:
        super().__init__()
        self.protocols = protocols or ("/test/1",)

    def packets(self) -> list[bytes]:
        return [input.packet for input in self.inputs(Received)]


def network(*names: str, **options: Any) -> tuple[Simulation, list[Peer]]:
    simulation = Simulation(1, **options)
    notebooks = [Peer() for _ in names]
    for name, notebook in zip(names, notebooks, strict=True):
        simulation.add_node(name, notebook)
    return simulation, notebooks


def pair(link: Link | None = None, **options: Any) -> tuple[Simulation, Peer, Peer]:
    simulation, (a, b) = network("a", "b", **options)
    simulation.connect("a", "b", link)
    for notebook in (a, b):
        notebook.lines.clear()
    return simulation, a, b


def dropped(simulation: Simulation) -> list[tuple[float, str, str | None, Any, Any]]:
    return [
        (round(event.time, 6), event.node, event.peer, event.fields["reason"], event.fields["size"])
        for event in simulation.trace
        if event.event == DROPPED
    ]


# ---- joining


def test_connecting_joins_both_sides_at_once() -> None:
    simulation, (a, b) = network("a", "b")
    simulation.connect("a", "b")
    assert a.lines == [(0.0, PeerJoined("b", "/test/1", outbound=True))]
    assert b.lines == [(0.0, PeerJoined("a", "/test/1", outbound=False))]
    assert simulation.connected("a") == ["b"]


def test_the_protocol_is_the_best_of_the_dialer_that_the_other_has_too() -> None:
    simulation = Simulation(1)
    a, b = Peer("/new", "/middle", "/old"), Peer("/old", "/middle")
    simulation.add_node("a", a)
    simulation.add_node("b", b)
    simulation.connect("a", "b")
    assert a.inputs() == [PeerJoined("b", "/middle", True)]
    simulation.disconnect("a", "b")
    simulation.connect("a", "b", protocol="/special")
    assert b.inputs()[-1] == PeerJoined("a", "/special", False)


def test_nodes_without_a_common_protocol_cannot_be_connected() -> None:
    simulation = Simulation(1)
    simulation.add_node("a", Peer("/one"))
    simulation.add_node("b", Peer("/two"))
    with pytest.raises(LocalProtocolError, match="'a' and 'b' have no protocol in common"):
        simulation.connect("a", "b")


def test_mistakes_in_connecting_are_named() -> None:
    simulation, _ = network("a", "b")
    simulation.connect("a", "b")
    with pytest.raises(LocalProtocolError, match="connected already"):
        simulation.connect("b", "a")
    with pytest.raises(LocalProtocolError, match="no node 'c'"):
        simulation.connect("a", "c")
    with pytest.raises(LocalProtocolError, match="to itself"):
        simulation.connect("a", "a")
    simulation.disconnect("a", "b")
    with pytest.raises(LocalProtocolError, match="are not connected"):
        simulation.disconnect("a", "b")


def test_a_machine_can_ask_for_a_connection() -> None:
    simulation, (a, b) = network("a", "b")
    simulation.command("a", [Connect("b"), Connect("nobody")])
    simulation.command("b", [Connect("a")])
    simulation.run_until(1.0)
    assert a.lines == [(0.1, PeerJoined("b", "/test/1", True))]
    assert b.lines == [(0.1, PeerJoined("a", "/test/1", False))]
    failures = [event.fields for event in simulation.trace if event.event == CONNECTION_FAILED]
    assert failures == [{"address": "nobody", "reason": "refused"}]


# ---- sending


def test_packets_arrive_after_the_latency_in_order() -> None:
    simulation, _, b = pair(Link(latency=0.25))
    simulation.command("a", [Send("b", b"one"), Send("b", b"two")])
    simulation.run_until(1.0)
    assert b.lines == [(0.25, Received("a", b"one")), (0.25, Received("a", b"two"))]


def test_the_two_directions_can_differ() -> None:
    simulation, (a, b) = network("a", "b")
    simulation.connect("a", "b", Link(latency=0.1), Link(latency=0.3))
    simulation.command("a", [Send("b", b"there")])
    simulation.command("b", [Send("a", b"back")])
    simulation.run_until(1.0)
    assert b.lines[-1] == (0.1, Received("a", b"there"))
    assert a.lines[-1] == (0.3, Received("b", b"back"))


def test_a_packet_for_a_stranger_is_dropped_and_traced() -> None:
    simulation, _ = network("a", "b")
    simulation.command("a", [Send("b", b"hello")])
    assert dropped(simulation) == [(0.0, "a", "b", "not_connected", 5)]
    assert simulation.drops == {"not_connected": 1}


def test_lost_datagrams_are_counted_and_traced() -> None:
    simulation, _, b = pair(Link(loss=0.5, reliable=False))
    simulation.command("a", [Send("b", bytes([number])) for number in range(100)])
    simulation.run_until(1.0)
    assert 30 < simulation.drops["lost"] < 70
    assert len(b.packets()) + simulation.drops["lost"] == 100
    assert {reason for _, _, _, reason, _ in dropped(simulation)} == {"lost"}


def test_losses_on_a_reliable_link_only_cost_time() -> None:
    simulation, _, b = pair(Link(loss=0.5))
    packets = [bytes([number]) for number in range(100)]
    simulation.command("a", [Send("b", packet) for packet in packets])
    simulation.run_until(60.0)
    assert b.packets() == packets
    assert b.lines[-1][0] > 0.5
    assert not simulation.drops


def test_what_does_not_fit_into_the_queue_is_dropped_and_traced() -> None:
    simulation, _, b = pair(Link(queue=250, high_water=250))
    simulation.command("a", [Send("b", bytes(100)) for _ in range(3)])
    assert dropped(simulation) == [(0.0, "a", "b", "link_full", 100)]
    simulation.run_until(1.0)
    assert len(b.packets()) == 2
    simulation.command("a", [Send("b", bytes(250))])  # there is room again
    assert simulation.drops == {"link_full": 1}


def test_the_sender_is_told_at_the_water_marks() -> None:
    link = Link(latency=0.0, bandwidth=100, queue=1000, high_water=250, low_water=100)
    simulation, a, _ = pair(link)
    simulation.command("a", [Send("b", bytes(100)) for _ in range(4)])
    simulation.run_until(10.0)
    assert a.lines == [(0.0, Writable("b", False)), (3.0, Writable("b", True))]


def test_a_sender_that_parts_is_not_told_about_room() -> None:
    link = Link(latency=0.0, bandwidth=100, queue=1000, high_water=250, low_water=100)
    simulation, a, _ = pair(link)
    simulation.command("a", [*[Send("b", bytes(100))] * 4, Drop("b", "enough")])
    simulation.run_until(10.0)
    assert a.inputs() == [PeerLeft("b", "enough")]


def test_a_machine_can_hold_a_peer_back() -> None:
    simulation, a, b = pair(Link(latency=0.1, queue=1000, high_water=20, low_water=10))
    simulation.command("b", [HoldPeer("a", True)])
    simulation.command("a", [Send("b", bytes([number] * 10)) for number in range(3)])
    simulation.run_until(5.0)
    assert b.packets() == []
    assert a.lines == [(0.0, Writable("b", False))]
    simulation.command("b", [HoldPeer("a", False), HoldPeer("a", False)])
    simulation.run_until(6.0)
    assert [packet[0] for packet in b.packets()] == [0, 1, 2]
    assert a.lines[1:] == [(5.0, Writable("b", True))]


# ---- parting


def test_who_drops_a_peer_is_told_at_once_and_the_peer_after_what_was_sent_before() -> None:
    simulation, a, b = pair(Link(latency=0.1))
    simulation.command("b", [Send("a", b"too late")])
    simulation.command("a", [Send("b", b"last words"), Drop("b", "bored")])
    simulation.run_until(1.0)
    assert a.lines == [(0.0, PeerLeft("b", "bored"))]
    assert b.lines == [(0.1, Received("a", b"last words")), (0.1, PeerLeft("a", "closed"))]
    assert dropped(simulation) == [(0.1, "b", "a", "disconnected", 8)]
    assert simulation.connected("a") == simulation.connected("b") == []


def test_disconnecting_parts_both_at_once_and_loses_what_is_under_way() -> None:
    simulation, a, b = pair()
    simulation.command("a", [Send("b", b"lost")])
    simulation.disconnect("b", "a", "cable cut")
    assert a.inputs() == [PeerLeft("b", "cable cut")]
    assert b.inputs() == [PeerLeft("a", "cable cut")]
    simulation.run_until(1.0)
    assert dropped(simulation) == [(0.05, "a", "b", "disconnected", 4)]


def test_a_new_connection_ends_what_is_left_of_the_old_one() -> None:
    simulation, a, b = pair(Link(latency=0.1))
    simulation.command("a", [Drop("b", "bored")])
    simulation.run_until(0.01)
    simulation.connect("b", "a")
    simulation.command("b", [Send("a", b"again")])
    simulation.run_until(1.0)
    assert b.inputs() == [PeerLeft("a", "closed"), PeerJoined("a", "/test/1", True)]
    assert a.inputs()[1:] == [PeerJoined("b", "/test/1", False), Received("b", b"again")]
    assert simulation.connected("b") == ["a"]


# ---- partitions


def test_a_partition_holds_packets_until_it_heals() -> None:
    simulation, _, b = pair(Link(latency=0.1))
    simulation.command("a", [Send("b", b"under way")])
    simulation.run_until(0.05)
    simulation.partition([["a"], ["b"]])
    simulation.command("a", [Send("b", b"held")])
    simulation.run_until(5.0)
    assert b.lines == []
    simulation.heal()
    simulation.command("a", [Send("b", b"after")])
    simulation.run_until(6.0)
    assert b.lines == [
        (5.1, Received("a", b"under way")),
        (5.1, Received("a", b"held")),
        (5.1, Received("a", b"after")),
    ]
    assert not simulation.drops


def test_order_survives_partitions_in_quick_succession() -> None:
    simulation, _, b = pair(Link(latency=0.1))
    for number in range(100):
        simulation.at(
            number * 0.03,
            lambda number=number: simulation.command("a", [Send("b", bytes([number]))]),  # type: ignore[misc]
        )
    for number in range(10):
        simulation.at(0.1 + number * 0.3, lambda: simulation.partition([["a"]]))
        simulation.at(0.25 + number * 0.3, simulation.heal)
    simulation.run_until(10.0)
    assert b.packets() == [bytes([number]) for number in range(100)]


def test_a_partition_that_comes_back_before_the_retransmission_holds_on() -> None:
    simulation, _, b = pair(Link(latency=0.1))
    simulation.partition([["a"]])
    simulation.command("a", [Send("b", b"held")])
    simulation.run_until(2.0)
    simulation.heal()
    simulation.run_until(2.05)
    simulation.partition([["a"]])
    simulation.run_until(3.0)
    assert b.packets() == []
    simulation.heal()
    simulation.run_until(4.0)
    assert b.lines == [(3.1, Received("a", b"held"))]


def test_a_long_partition_ends_the_connection_and_healing_brings_it_back() -> None:
    simulation, a, b = pair(tcp_timeout=20.0)
    simulation.partition([["a"]])
    simulation.command("a", [Send("b", b"never")])
    simulation.run_until(30.0)
    assert a.lines == [(20.0, PeerLeft("b", "timeout"))]
    assert b.lines == [(20.0, PeerLeft("a", "timeout"))]
    assert dropped(simulation) == [(20.0, "a", "b", "disconnected", 5)]
    simulation.heal()
    assert a.lines[1:] == [(30.0, PeerJoined("b", "/test/1", True))]
    assert b.lines[1:] == [(30.0, PeerJoined("a", "/test/1", False))]


def test_a_partition_that_heals_in_time_ends_nothing() -> None:
    simulation, a, _ = pair(tcp_timeout=20.0)
    simulation.partition([["a"]])
    simulation.run_until(15.0)
    simulation.heal()
    simulation.run_until(16.0)
    simulation.partition([["b"]])
    simulation.run_until(30.0)
    assert a.lines == []


def test_nodes_in_no_group_are_a_group() -> None:
    simulation, (a, b, c) = network("a", "b", "c")
    for near, far in (("a", "b"), ("b", "c"), ("c", "a")):
        simulation.connect(near, far)
    simulation.partition([["a"]])
    simulation.command("b", [Send("c", b"1"), Send("a", b"1")])
    simulation.run_until(1.0)
    assert (c.packets(), a.packets()) == ([b"1"], [])
    simulation.partition([["a", "b"], ["c"]])  # another one takes the place of the first
    simulation.command("b", [Send("c", b"2"), Send("a", b"2")])
    simulation.run_until(2.0)
    assert (c.packets(), a.packets()) == ([b"1"], [b"1", b"2"])
    assert b.inputs(PeerLeft) == []


def test_datagrams_get_lost_in_a_partition() -> None:
    simulation, a, b = pair(Link(reliable=False))
    simulation.partition([["a"]])
    simulation.command("a", [Send("b", b"x")])
    simulation.run_until(100.0)
    assert simulation.drops == {"partitioned": 1}
    simulation.heal()
    simulation.command("a", [Send("b", b"y")])
    simulation.run_until(101.0)
    assert b.packets() == [b"y"]
    assert a.inputs(PeerLeft) == []


def test_connecting_across_a_partition_takes_effect_when_it_is_over() -> None:
    simulation, (a, b) = network("a", "b")
    simulation.partition([["a"]])
    simulation.connect("a", "b")
    assert (a.lines, b.lines) == ([], [])
    simulation.heal()
    assert a.inputs(PeerJoined) == [PeerJoined("b", "/test/1", True)]


def test_wrong_groups_are_refused() -> None:
    simulation, _ = network("a", "b")
    with pytest.raises(LocalProtocolError, match="no node 'x'"):
        simulation.partition([["a", "x"]])
    with pytest.raises(LocalProtocolError, match="two groups"):
        simulation.partition([["a"], ["a", "b"]])


# ---- crashes


def test_a_crash_is_a_reset_to_the_peers_and_silence_of_the_node() -> None:
    simulation, a, b = pair(Link(latency=0.1))
    simulation.command("b", [Send("a", b"anyone?")])
    simulation.crash("a")
    simulation.run_until(1.0)
    assert a.lines == []
    assert b.lines == [(0.1, PeerLeft("a", "reset"))]
    assert dropped(simulation) == [(0.1, "b", "a", "disconnected", 7)]
    with pytest.raises(LocalProtocolError, match="'a' has crashed"):
        simulation.command("a", [])
    with pytest.raises(LocalProtocolError, match="'a' has crashed"):
        simulation.connect("b", "a")


def test_a_silent_crash_shows_only_after_the_time_out() -> None:
    simulation, _, b = pair(tcp_timeout=20.0)
    simulation.crash("a", silent=True)
    simulation.run_until(19.9)
    assert b.lines == []
    simulation.run_until(20.1)
    assert b.lines == [(20.0, PeerLeft("a", "timeout"))]


def test_a_restarted_node_is_joined_with_its_old_peers() -> None:
    simulation, _, b = pair()
    simulation.crash("a")
    simulation.run_until(1.0)
    again = Peer()
    simulation.restart("a", again)
    assert again.inputs() == [PeerJoined("b", "/test/1", True)]
    assert b.inputs() == [PeerLeft("a", "reset"), PeerJoined("a", "/test/1", False)]
    assert simulation.machine("a") is again


def test_a_quick_restart_ends_the_old_connection_first() -> None:
    simulation, _, b = pair(Link(latency=0.5))
    simulation.crash("a")
    simulation.restart("a", Peer())
    simulation.run_until(5.0)
    assert b.inputs() == [PeerLeft("a", "closed"), PeerJoined("a", "/test/1", False)]
    assert simulation.connected("b") == ["a"]


def test_a_node_can_come_back_alone() -> None:
    simulation, _, b = pair()
    simulation.crash("a")
    simulation.run_until(1.0)
    simulation.restart("a", Peer(), reconnect=False)
    simulation.heal()
    assert b.inputs() == [PeerLeft("a", "reset")]


def test_two_crashed_neighbours_are_joined_when_both_are_back() -> None:
    simulation, _, _ = pair()
    simulation.crash("a")
    simulation.crash("b")
    first, second = Peer(), Peer()
    simulation.restart("a", first)
    assert first.lines == []
    simulation.restart("b", second)
    assert first.inputs() == [PeerJoined("b", "/test/1", True)]
    assert second.inputs() == [PeerJoined("a", "/test/1", False)]


def test_what_was_parted_on_purpose_stays_apart() -> None:
    simulation, a, _ = pair()
    simulation.disconnect("a", "b")
    simulation.crash("b")
    simulation.restart("b", Peer())
    simulation.heal()
    assert a.inputs() == [PeerLeft("b", "closed")]


def test_a_peer_that_was_dropped_stays_apart_even_if_it_crashes_before_it_hears() -> None:
    simulation, a, _ = pair(Link(latency=0.1))
    simulation.command("a", [Drop("b", "bored")])
    simulation.run_until(0.05)
    simulation.crash("b")
    simulation.run_until(1.0)
    again = Peer()
    simulation.restart("b", again)
    simulation.heal()
    assert a.inputs() == [PeerLeft("b", "bored")]
    assert again.inputs() == []


def test_a_living_node_cannot_be_restarted_nor_added_twice() -> None:
    simulation, _ = network("a")
    with pytest.raises(LocalProtocolError, match="has not crashed"):
        simulation.restart("a", Peer())
    with pytest.raises(LocalProtocolError, match="already"):
        simulation.add_node("a", Peer())


def test_what_the_script_does_is_in_the_trace() -> None:
    simulation, _, _ = pair()
    simulation.partition([["a"]])
    simulation.heal()
    simulation.crash("a", silent=True)
    simulation.restart("a", Peer())
    assert [(event.node, event.event, dict(event.fields)) for event in simulation.trace] == [
        ("simulation", PARTITIONED, {"groups": 1}),
        ("simulation", HEALED, {}),
        ("a", NODE_CRASHED, {"silent": True}),
        ("a", NODE_RESTARTED, {"life": 1}),
    ]


# ---- rests


def test_while_a_peer_rests_nothing_of_it_is_handed_on_and_then_everything_in_order() -> None:
    simulation, a, b = pair(Link(latency=0.1))
    simulation.command("a", [Send("b", b"before")])
    simulation.run_until(0.2)
    simulation.command("b", [RestPeer("a", 1.0)])
    simulation.command("a", [Send("b", b"one"), Send("b", b"two")])
    simulation.command("b", [Send("a", b"the other way")])
    simulation.run_until(1.1)
    assert b.packets() == [b"before"]
    assert a.packets() == [b"the other way"]
    simulation.run_until(2.0)
    # First nothing at all: the machine goes on with what it may have kept.
    sent = (b"", b"one", b"two")
    assert b.lines[-3:] == [(1.2, Received("a", packet)) for packet in sent]


def test_a_shorter_rest_does_not_end_a_longer_one_and_a_longer_one_puts_the_end_off() -> None:
    simulation, _, b = pair(Link(latency=0.0))
    simulation.command("b", [RestPeer("a", 1.0), RestPeer("a", 0.1)])
    simulation.command("a", [Send("b", b"late")])
    simulation.run_until(0.5)
    simulation.command("b", [RestPeer("a", 2.0)])
    simulation.run_until(2.4)
    assert b.packets() == []
    simulation.run_until(2.6)
    assert b.lines == [(2.5, Received("a", b"")), (2.5, Received("a", b"late"))]


def test_who_sends_on_while_it_rests_is_told_to_wait_and_loses_nothing() -> None:
    simulation, a, b = pair(Link(latency=0.0, queue=1000, high_water=500, low_water=100))
    simulation.command("b", [RestPeer("a", 1.0)])
    simulation.command("a", [Send("b", bytes(300)), Send("b", bytes(300))])
    simulation.run_until(0.5)
    assert a.inputs(Writable) == [Writable("b", False)]
    simulation.run_until(1.5)
    assert a.inputs(Writable) == [Writable("b", False), Writable("b", True)]
    assert b.packets() == [b"", bytes(300), bytes(300)]
    assert simulation.drops == {}


def test_a_rest_of_somebody_who_is_not_there_is_nothing() -> None:
    simulation, _, b = pair()
    simulation.command("b", [RestPeer("nobody", 1.0)])
    simulation.disconnect("a", "b")
    simulation.command("b", [RestPeer("a", 1.0)])
    simulation.run_until(2.0)
    assert b.packets() == []
