"""Timers, livelocks and effects that nobody knows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Deliver, PeerJoined, Received, Send
from rumormill.core.message import Message
from rumormill.simulate import Link, LivelockError, Simulation, UnknownEffectError


class Alarm:
    """Wakes at the times that it is told; every input is a new list of times."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)
        self.woken: list[float] = []

    def handle(self, input: Any, now: float) -> list[object]:
        self.times = list(input)
        return []

    def wake(self, now: float) -> list[object]:
        self.woken.append(now)
        self.times = [time for time in self.times if time > now]
        return []

    def next_wake(self) -> float | None:
        return min(self.times, default=None)


class Stubborn(Alarm):
    """Never moves its timer on."""

    def wake(self, now: float) -> list[object]:
        self.woken.append(now)
        return []


class Creeper(Alarm):
    """Moves its timer on by less than anything."""

    def wake(self, now: float) -> list[object]:
        self.times = [math.nextafter(now, math.inf)]
        return []


class PingPong:
    """Sends back every packet, at once, for ever."""

    def handle(self, input: Any, now: float) -> list[object]:
        if isinstance(input, PeerJoined) and input.outbound:
            return [Send(input.peer, b"ping")]
        return [Send(input.peer, input.packet)] if isinstance(input, Received) else []

    def wake(self, now: float) -> list[object]:
        return []

    def next_wake(self) -> float | None:
        return None


class Says:
    """Returns its inputs as effects."""

    def handle(self, input: Any, now: float) -> list[object]:
        return input if isinstance(input, list) else []

    def wake(self, now: float) -> list[object]:
        return []

    def next_wake(self) -> float | None:
        return None


class Shout(NamedTuple):
    """An effect of nobody's."""

    text: str


def test_a_machine_is_woken_at_its_times_and_at_no_others() -> None:
    simulation, alarm = Simulation(1), Alarm(1.0, 2.5, 2.5, 7.0)
    simulation.add_node("a", alarm)
    simulation.run_until(100.0)
    assert alarm.woken == [1.0, 2.5, 7.0]


def test_a_timer_can_be_put_off_moved_up_and_called_off() -> None:
    simulation, alarm = Simulation(1), Alarm(5.0)
    simulation.add_node("a", alarm)
    simulation.command("a", [8.0])
    simulation.run_until(6.0)
    assert alarm.woken == []
    simulation.command("a", [7.0])
    simulation.run_until(7.5)
    assert alarm.woken == [7.0]
    simulation.command("a", [9.0])
    simulation.command("a", [])
    assert simulation.run_until_idle(100.0)
    assert alarm.woken == [7.0]


def test_a_time_in_the_past_wakes_at_once_but_after_what_is_due() -> None:
    simulation, alarm = Simulation(1, start=50.0), Alarm()
    simulation.add_node("a", alarm)
    simulation.at(60.0, lambda: simulation.command("a", [3.0]))
    simulation.at(60.0, lambda: order.append(list(alarm.woken)))
    order: list[list[float]] = []
    simulation.run_until(70.0)
    assert (order, alarm.woken) == ([[]], [60.0])


def test_moving_a_timer_to_and_fro_does_not_fill_the_queue() -> None:
    simulation, alarm = Simulation(1), Alarm(100.0)
    simulation.add_node("a", alarm)
    for number in range(1000):
        time = 1 + number / 100
        simulation.at(time, lambda time=time: simulation.command("a", [time, 100.0]))  # type: ignore[misc]
    simulation.run_until(50.0)
    assert len(alarm.woken) == 1000
    assert len(simulation.clock.queue) == 1


def test_never_is_no_time_and_not_a_number_is_an_error() -> None:
    simulation = Simulation(1)
    simulation.add_node("never", Alarm(math.inf))
    assert simulation.run_until_idle(10.0)
    with pytest.raises(LocalProtocolError, match="nan"):
        simulation.add_node("broken", Alarm(math.nan))


@pytest.mark.parametrize("machine", [Stubborn(3.0), Creeper(3.0)])
def test_a_machine_that_never_lets_the_time_advance_is_a_livelock(machine: Alarm) -> None:
    simulation = Simulation(1, livelock_limit=1000)
    simulation.add_node("honest", Alarm(1.0, 2.0, 3.0))
    simulation.add_node("stuck", machine)
    with pytest.raises(LivelockError) as caught:
        simulation.run_until(10.0)
    assert (caught.value.node, caught.value.times) == ("stuck", 1001)
    assert caught.value.time == pytest.approx(3.0)


def test_packets_that_go_round_without_delay_are_a_livelock() -> None:
    simulation = Simulation(1, livelock_limit=1000, link=Link(latency=0))
    simulation.add_node("a", PingPong())
    simulation.add_node("b", PingPong())
    simulation.connect("a", "b")
    with pytest.raises(LivelockError, match=r"^b acted 1001 times at 0\.0 s"):
        simulation.run_until(10.0)


def test_packets_that_go_round_with_delay_are_not() -> None:
    simulation = Simulation(1, livelock_limit=3, link=Link(latency=0.01))
    simulation.add_node("a", PingPong())
    simulation.add_node("b", PingPong())
    simulation.connect("a", "b")
    simulation.run_until(10.0)
    assert 990 <= simulation.events <= 1001


def test_a_script_that_calls_itself_for_ever_is_a_livelock() -> None:
    simulation = Simulation(1, livelock_limit=100)

    def again() -> None:
        simulation.at(simulation.now, again)

    simulation.at(1.0, again)
    with pytest.raises(LivelockError, match=r"^simulation acted 101 times"):
        simulation.run_until(10.0)


def test_many_nodes_may_act_at_one_instant() -> None:
    simulation = Simulation(1, livelock_limit=3)
    alarms = [Alarm(1.0, 2.0) for _ in range(100)]
    for number, alarm in enumerate(alarms):
        simulation.add_node(str(number), alarm)
    simulation.run_until(3.0)
    assert all(alarm.woken == [1.0, 2.0] for alarm in alarms)


def test_an_unknown_effect_is_an_error_that_names_type_and_node() -> None:
    simulation = Simulation(1)
    simulation.add_node("a", Says())
    with pytest.raises(UnknownEffectError, match=r"a returned a .*\.Shout") as caught:
        simulation.command("a", [Shout("hello")])
    assert caught.value.node == "a"
    assert any("node 'a' at 0.0 s" in note for note in caught.value.__notes__)
    simulation.command("a", [Deliver(Message("t", b"and on it goes"))])
    assert len(simulation.deliveries["a"]) == 1


def test_an_effect_of_the_other_level_is_unknown() -> None:
    simulation = Simulation(1, level="transports")
    simulation.add_node("a", Says())
    with pytest.raises(UnknownEffectError, match="Send"):
        simulation.command("a", [Send("b", b"")])


def test_a_handler_makes_an_effect_known_and_listens_to_known_ones() -> None:
    simulation = Simulation(1)
    heard: list[tuple[str, object]] = []
    message = Message("weather", b"rain")
    simulation.add_node("a", Says())
    simulation.on_effect(Shout, lambda node, effect: heard.append((node, effect)))
    simulation.on_effect(Deliver, lambda node, effect: heard.append((node, effect)))
    simulation.command("a", [Shout("hello"), Deliver(message)])
    assert heard == [("a", Shout("hello")), ("a", Deliver(message))]
    assert simulation.deliveries["a"] == [message]


def test_a_command_from_a_handler_waits_for_the_rest_of_the_effects() -> None:
    simulation = Simulation(1)
    simulation.add_node("a", Says())
    first, second = Message("t", b"first"), Message("t", b"second")

    def answer(node: str, effect: Shout) -> None:
        assert simulation.command("a", [Deliver(second)]) == []

    simulation.on_effect(Shout, answer)
    simulation.command("a", [Shout("hello"), Deliver(first)])
    assert simulation.deliveries["a"] == [first]
    simulation.run_until(0.0)
    assert simulation.deliveries["a"] == [first, second]


def test_an_error_of_a_machine_says_where_it_happened_and_leaves_the_rest_usable() -> None:
    class Broken(Says):
        def handle(self, input: Any, now: float) -> list[object]:
            raise ZeroDivisionError

    simulation = Simulation(1)
    simulation.add_node("broken", Broken())
    simulation.add_node("a", Says())
    with pytest.raises(ZeroDivisionError) as caught:
        simulation.command("broken", ["anything"])
    assert caught.value.__notes__ == ["in the simulation: node 'broken' at 0.0 s, list"]
    assert simulation.command("a", [Deliver(Message("t", b""))])
