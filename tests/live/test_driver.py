from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from rumormill.core.errors import ClosedError, LocalProtocolError
from rumormill.core.trace import TraceEvent
from rumormill.live.driver import Driver


class Note(NamedTuple):
    text: str


class FakeMachine:
    """Answers as told, and keeps what it was given."""

    def __init__(self) -> None:
        self.inputs: list[object] = []
        self.times: list[float] = []
        self.wakes = 0
        self.due: float | None = None
        self.answer: Callable[[Any], list[object]] = lambda _: []
        self.on_wake: Callable[[], list[object]] = lambda: []

    def handle(self, input: object, now: float) -> list[object]:
        self.inputs.append(input)
        self.times.append(now)
        return self.answer(input)

    def wake(self, now: float) -> list[object]:
        self.wakes += 1
        self.times.append(now)
        self.due = None
        return self.on_wake()

    def next_wake(self) -> float | None:
        return self.due


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def started(machine: FakeMachine, handlers: dict[type, Callable[[Any], None]]) -> Driver[object]:
    driver = Driver(machine)
    for kind, handler in handlers.items():
        driver.on(kind, handler)
    driver.start()
    return driver


async def test_effects_of_one_input_are_carried_out_in_order(machine: FakeMachine) -> None:
    done: list[str] = []
    machine.answer = lambda input: [Note(f"{input}1"), Note(f"{input}2")]
    driver = started(machine, {Note: lambda note: done.append(note.text)})
    driver.feed("a")
    driver.feed("b")
    assert done == ["a1", "a2", "b1", "b2"]


async def test_an_input_during_effects_waits_until_they_are_done(machine: FakeMachine) -> None:
    done: list[str] = []
    machine.answer = lambda input: [Note(f"{input}1"), Note(f"{input}2")]

    def carry_out(note: Note) -> None:
        if note.text == "a1":
            driver.feed("nested")
            driver.feed("more")
            driver.feed("yet more")
        done.append(note.text)

    driver = started(machine, {Note: carry_out})
    driver.feed("a")
    assert done[:4] == ["a1", "a2", "nested1", "nested2"]
    assert machine.inputs == ["a", "nested", "more", "yet more"]


async def test_time_is_that_of_the_epoch_and_never_goes_back(machine: FakeMachine) -> None:
    driver = started(machine, {})
    driver.feed("a")
    driver.feed("b")
    assert abs(machine.times[0] - time.time()) < 5
    assert machine.times == sorted(machine.times)


async def test_many_inputs_of_one_turn_are_flushed_by_one_wake(machine: FakeMachine) -> None:
    driver = started(machine, {})
    for number in range(100):
        machine.due = 0.0
        driver.feed(number)
    assert machine.wakes == 0
    await turns()
    assert machine.wakes == 1


async def test_a_wake_that_is_due_again_at_once_leaves_room_for_others(
    machine: FakeMachine,
) -> None:
    def busy() -> list[object]:
        machine.due = 0.0 if machine.wakes < 5 else None
        return []

    machine.on_wake = busy
    driver = started(machine, {})
    machine.due = 0.0
    driver.feed("a")
    seen = []
    for _ in range(20):
        await asyncio.sleep(0)
        seen.append(machine.wakes)
    assert machine.wakes == 5
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(seen))


async def test_the_timer_wakes_the_machine_when_it_is_due(machine: FakeMachine) -> None:
    woken = asyncio.Event()
    machine.on_wake = lambda: [Note("woken")]
    driver = started(machine, {Note: lambda _: woken.set()})
    machine.due = due = driver.now() + 0.02
    driver.feed("a")
    async with asyncio.timeout(5):
        await woken.wait()
    assert machine.times[-1] >= due - 0.002


async def test_an_earlier_time_replaces_the_timer(machine: FakeMachine) -> None:
    woken = asyncio.Event()
    machine.on_wake = lambda: [Note("woken")]
    driver = started(machine, {Note: lambda _: woken.set()})
    machine.due = driver.now() + 3600
    driver.feed("a")
    machine.due = driver.now() + 0.01
    driver.feed("b")
    async with asyncio.timeout(5):
        await woken.wait()


async def test_a_stopped_driver_does_nothing(machine: FakeMachine) -> None:
    driver = started(machine, {})
    machine.due = 0.0
    driver.feed("a")
    driver.stop()
    driver.feed("b")
    await turns()
    assert (machine.inputs, machine.wakes) == (["a"], 0)


async def test_events_are_counted_by_kind_and_by_reason(machine: FakeMachine) -> None:
    machine.answer = lambda fields: [TraceEvent(0.0, "n", "dropped", fields=fields)]
    driver = started(machine, {})
    driver.feed({"reason": "queue_full", "count": 3})
    driver.feed({"reason": "peer_left"})
    driver.feed({})
    assert dict(driver.counters) == {
        "dropped": 5,
        "dropped.queue_full": 3,
        "dropped.peer_left": 1,
    }
    assert driver.counters["delivered"] == 0


async def test_listeners_see_events_until_they_stop(machine: FakeMachine) -> None:
    machine.answer = lambda kind: [TraceEvent(0.0, "n", kind)]
    driver = started(machine, {})
    seen: list[str] = []
    stop = driver.on_trace(lambda event: seen.append(event.event))
    driver.feed("one")
    stop()
    stop()
    driver.feed("two")
    assert seen == ["one"]


async def test_a_listener_that_fails_is_warned_of_once_and_counted(
    machine: FakeMachine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.answer = lambda kind: [TraceEvent(0.0, "n", kind), Note("after")]
    done: list[Note] = []
    driver = started(machine, {Note: done.append})
    driver.on_trace(lambda event: 1 // 0)
    with caplog.at_level(logging.WARNING, "rumormill"):
        driver.feed("one")
        driver.feed("two")
    assert len(done) == 2
    assert driver.counters["listener_failed"] == 2
    assert len(caplog.records) == 1


async def test_an_effect_that_nobody_handles_is_counted_and_the_rest_carried_out(
    machine: FakeMachine, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[Note] = []
    machine.answer = lambda _: [object(), Note("after"), object()]
    driver = started(machine, {Note: done.append})
    with caplog.at_level(logging.WARNING, "rumormill"):
        driver.feed("a")
    assert done == [Note("after")]
    assert driver.counters["unhandled.object"] == 2
    assert len(caplog.records) == 1


async def test_a_machine_that_raises_leaves_the_driver_working(machine: FakeMachine) -> None:
    def answer(input: str) -> list[object]:
        if input == "bad":
            raise ZeroDivisionError
        return [Note(input)]

    done: list[str] = []
    machine.answer = answer

    def carry_out(note: Note) -> None:
        done.append(note.text)
        if note.text == "first":
            driver.feed("bad")
            driver.feed("queued behind it")

    driver = started(machine, {Note: carry_out})
    with pytest.raises(ZeroDivisionError):
        driver.feed("first")
    await turns()
    driver.feed("next")
    assert done == ["first", "queued behind it", "next"]


async def test_a_handler_that_fails_costs_its_own_effect_only(
    machine: FakeMachine, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def carry_out(note: Note) -> None:
        if note.text.startswith("bad"):
            raise ZeroDivisionError
        if note.text.startswith("cancelled"):
            raise asyncio.CancelledError
        done.append(note.text)

    machine.answer = lambda input: [
        Note(f"{word} {input}") for word in ("bad", "cancelled", "good")
    ]
    machine.on_wake = lambda: [Note("bad"), Note("woken")]
    driver = started(machine, {Note: carry_out})
    with caplog.at_level(logging.WARNING, "rumormill"):
        driver.feed("one")
        driver.feed("two")
        driver.wake()
    assert done == ["good one", "good two", "woken"]
    assert driver.counters["handler_failed"] == driver.counters["handler_failed.Note"] == 5
    assert len(caplog.records) == 1
    assert "Note" in caplog.text and "ZeroDivisionError" in caplog.text


async def test_a_handler_that_fails_does_not_hold_up_what_it_fed(machine: FakeMachine) -> None:
    done: list[str] = []

    def carry_out(note: Note) -> None:
        done.append(note.text)
        if note.text == "first":
            driver.feed("fed by the first")
            raise ZeroDivisionError

    machine.answer = lambda input: [Note(input)]
    driver = started(machine, {Note: carry_out})
    driver.feed("first")
    assert done == ["first", "fed by the first"]


# ---- questions


class Answer(NamedTuple):
    to: object


async def test_turns_that_take_long_are_counted_and_the_first_stall_is_warned_of(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [time.monotonic()]
    monkeypatch.setattr("rumormill.live.driver.monotonic", lambda: clock[0])
    driver = started(machine, {})

    def take(seconds: float) -> list[object]:
        clock[0] += seconds
        return []

    for seconds in (0.05, 0.3, 2.0, 3.0):
        machine.on_wake = lambda seconds=seconds: take(seconds)  # type: ignore[misc]
        driver.wake()
    assert driver.counters["slow_wake"] == 3
    assert driver.counters["slow_wake.stalled"] == 2
    (record,) = caplog.records
    assert record.message.startswith("one turn took 2.0 s")
    driver.stop()


async def test_a_question_returns_the_effect_that_answers_it(machine: FakeMachine) -> None:
    done: list[str] = []
    machine.answer = lambda input: [Note("before"), Answer(input), Note("after"), Answer("later")]
    driver = started(machine, {Note: lambda note: done.append(note.text), Answer: done.append})
    assert driver.ask("a", Answer) == Answer("a")
    # The answer is the caller's: nobody else carries it out.
    assert done == ["before", "after", Answer("later")]


async def test_a_question_without_an_answer_is_an_error(machine: FakeMachine) -> None:
    done: list[Note] = []
    machine.answer = lambda _: [Note("carried out")]
    driver = started(machine, {Note: done.append})
    with pytest.raises(LocalProtocolError, match="the input str was not answered with Answer"):
        driver.ask("a", Answer)
    assert done == [Note("carried out")]


async def test_what_the_machine_raises_about_a_question_is_raised_to_who_asks(
    machine: FakeMachine,
) -> None:
    def answer(input: str) -> list[object]:
        raise LocalProtocolError("too long")

    machine.answer = answer
    driver = started(machine, {})
    with pytest.raises(LocalProtocolError, match="too long"):
        driver.ask("a", Answer)
    machine.answer = lambda input: [Answer(input)]
    assert driver.ask("b", Answer) == Answer("b")


async def test_a_question_from_within_an_event_is_answered_in_its_order(
    machine: FakeMachine,
) -> None:
    done: list[str] = []
    answers: list[Answer] = []

    def answer(input: str) -> list[object]:
        return [Note(f"{input}1"), Answer(input), Note(f"{input}2")]

    def carry_out(note: Note) -> None:
        done.append(note.text)
        if note.text == "a1":
            driver.feed("b")
            answers.append(driver.ask("c", Answer))
            driver.feed("d")

    machine.answer = answer
    driver = started(machine, {Note: carry_out, Answer: lambda _: None})
    driver.feed("a")
    assert answers == [Answer("c")]
    assert machine.inputs == ["a", "b", "c", "d"]
    # What the machine wanted first is done first: bytes of one connection must keep their order.
    assert done == ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"]


async def test_a_question_to_a_driver_that_stopped_is_refused(machine: FakeMachine) -> None:
    machine.answer = lambda input: [Answer(input)]
    driver = started(machine, {})
    driver.stop()
    with pytest.raises(ClosedError):
        driver.ask("a", Answer)
    assert machine.inputs == []
