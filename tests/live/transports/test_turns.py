"""Turns: whoever costs much waits for the others, and nobody waits for long."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from rumormill.live.transports import turns as module
from rumormill.live.transports.turns import FORGIVEN_AFTER, PASSES, ROUND, SLICE, Line, Turns


class Clock:
    """Time that passes only when work is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Lines whose work takes as long as a test says, and what was handed on in which order."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.turns = Turns()
        self.turns.lines = 1  # somebody who sends nothing
        self.order: list[tuple[str, int, float]] = []
        self.got: dict[str, bytes] = defaultdict(bytes)
        self.on_data: Callable[[str], None] = lambda _: None

    def line(self, name: str, cost_per_byte: float) -> tuple[Line, FakeSocket]:
        def hand_on(data: bytes) -> None:
            self.clock.now += len(data) * cost_per_byte
            self.order.append((name, len(data), self.clock.now))
            self.got[name] += data
            self.on_data(name)

        socket = FakeSocket()
        return Line(self.turns, socket, hand_on), socket


class FakeSocket:
    def __init__(self) -> None:
        self.reading = True

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    yield Bench(clock)


async def settle() -> None:
    """Let everything that is due soon happen."""
    for _ in range(1000):
        await asyncio.sleep(0)


async def test_what_costs_little_is_handed_on_at_once(bench: Bench) -> None:
    line, socket = bench.line("light", SLICE / 10_000)
    line.take(b"x" * 1000)
    assert bench.got["light"] == b"x" * 1000
    assert socket.reading


async def test_who_has_used_its_slice_is_read_again_only_after_others_had_their_turn(
    bench: Bench,
) -> None:
    line, socket = bench.line("heavy", SLICE / 100)
    line.take(b"x" * 150)
    assert not socket.reading
    await settle()
    assert socket.reading


async def test_what_costs_much_is_cut_into_pieces_of_about_a_slice(bench: Bench) -> None:
    line, _ = bench.line("heavy", SLICE / 1000)
    line.take(b"x" * 100_000)  # nobody knows yet what it costs
    await settle()
    bench.order.clear()
    line.take(b"y" * 100_000)
    await settle()
    assert bench.got["heavy"] == b"x" * 100_000 + b"y" * 100_000
    assert max(size for _, size, _ in bench.order) <= 2000


async def test_one_that_sends_without_end_keeps_another_waiting_for_a_slice_at_most(
    bench: Bench,
) -> None:
    heavy, _ = bench.line("heavy", SLICE / 1000)
    light, _ = bench.line("light", SLICE / 1000)
    heavy.take(b"x" * 100_000)
    await asyncio.sleep(0)
    heavy.take(b"x" * 100_000)
    asked = bench.clock.now
    light.take(b"y" * 10)
    await settle()
    served = next(at for name, _, at in bench.order if name == "light")
    assert served - asked <= ROUND + 2 * SLICE


@pytest.mark.parametrize("floods", [8, 100])
async def test_floods_however_many_do_not_keep_a_light_one_waiting(
    bench: Bench, floods: int
) -> None:
    lines = [bench.line(f"flood{number}", SLICE / 1000)[0] for number in range(floods)]
    light, _ = bench.line("light", SLICE / 1000)
    waits: list[float] = []
    for _ in range(20):
        for line in lines:
            line.take(b"x" * 20_000)
        asked = bench.clock.now
        light.take(b"y" * 10)
        while not any(name == "light" and at >= asked for name, _, at in bench.order):
            await asyncio.sleep(0)
        waits.append(next(at for name, _, at in bench.order if name == "light") - asked)
        bench.order.clear()
        bench.clock.now += FORGIVEN_AFTER * 2
    # The first piece of a flood may cost anything: it is what tells that it is one.
    assert max(waits[1:]) <= ROUND + 3 * SLICE


async def test_floods_among_each_other_get_equal_time(bench: Bench) -> None:
    costs = {"dear": SLICE / 1000, "dearer": SLICE / 100}
    lines = {name: bench.line(name, cost) for name, cost in costs.items()}
    for _ in range(3000):
        for line, socket in lines.values():
            if socket.reading:
                line.take(b"x" * 5000)
        await asyncio.sleep(0)
    spent: dict[str, float] = defaultdict(float)
    for name, size, _ in bench.order:
        spent[name] += size * costs[name]
    assert spent["dear"] > 100 * SLICE
    assert abs(spent["dear"] - spent["dearer"]) <= 0.1 * spent["dear"]


async def test_while_it_rests_nothing_is_handed_on_and_nothing_read(bench: Bench) -> None:
    line, socket = bench.line("resting", SLICE / 1000)
    line.rest(30.0)
    line.take(b"abc")
    line.rest(0.0)  # a shorter one does not end the longer
    await settle()
    assert bench.got["resting"] == b""
    assert not socket.reading
    line.end()


async def test_after_its_rest_it_has_its_turn_and_is_read_again(bench: Bench) -> None:
    line, socket = bench.line("resting", SLICE / 1000)
    line.rest(0.001)
    line.take(b"abc")
    async with asyncio.timeout(10):
        while not socket.reading:
            await asyncio.sleep(0.001)
    assert bench.got["resting"] == b"abc"


async def test_a_turn_after_a_rest_begins_without_bytes_and_what_came_waits_for_the_next(
    bench: Bench,
) -> None:
    line, _ = bench.line("unfinished", SLICE / 1000)
    turns_left = 3

    def ask_for_more(_: str) -> None:
        nonlocal turns_left
        if turns_left:
            turns_left -= 1
            line.rest(0.0)

    bench.on_data = ask_for_more
    line.take(b"abc")
    line.take(b"def")
    await settle()
    assert [size for _, size, _ in bench.order] == [3, 0, 0, 0, 3]
    assert bench.got["unfinished"] == b"abcdef"


async def test_between_two_turns_of_those_that_use_much_a_message_gets_through(
    bench: Bench,
) -> None:
    lines = [bench.line(f"flood{number}", SLICE / 100)[0] for number in range(8)]
    for line in lines:
        line.take(b"x" * 1000)
    await settle()  # the first of each has told that it is a flood
    for line in lines:
        line.take(b"x" * 50_000)
    for _ in range(100):
        await asyncio.sleep(0)
    steps: list[float] = []
    for _ in range(PASSES):  # a message: it is read, checked, queued, written
        before = len(bench.order)
        await asyncio.sleep(0)
        steps.append(len(bench.order) - before)
    assert sum(map(bool, steps)) <= 1, "only one step of the four waited for a flood"


async def test_one_that_is_alone_is_read_without_a_break(bench: Bench) -> None:
    bench.turns.lines = 0
    line, socket = bench.line("alone", SLICE / 100)
    line.take(b"x" * 150)
    assert socket.reading
    line.end()
    line.end()
    assert bench.turns.lines == 0


async def test_a_rest_that_begins_while_it_is_being_served_keeps_the_rest_of_it_back(
    bench: Bench,
) -> None:
    line, socket = bench.line("resting", SLICE / 1000)
    bench.on_data = lambda _: line.rest(30.0)
    line._piece = 10
    line.take(b"0123456789abcdef")
    await settle()
    assert bench.got["resting"] == b"0123456789"
    assert not socket.reading
    line.end()


async def test_after_the_end_nothing_is_handed_on_and_the_socket_is_drained(bench: Bench) -> None:
    line, socket = bench.line("ended", SLICE / 1000)
    line.rest(30.0)
    line.take(b"abc")
    line.end()
    await settle()
    assert bench.got["ended"] == b""
    assert socket.reading


async def test_nothing_is_lost_or_reordered_whatever_it_costs(bench: Bench) -> None:
    lines = [bench.line(str(number), SLICE / (10**number)) for number in range(1, 5)]
    sent: dict[str, bytes] = defaultdict(bytes)
    for turn in range(200):
        for number, (line, socket) in enumerate(lines, start=1):
            if socket.reading:
                data = bytes((turn,)) * (turn * 7 % 300 + 1)
                sent[str(number)] += data
                line.take(data)
        await asyncio.sleep(0)
    await settle()
    assert bench.got == sent


async def test_who_takes_little_of_the_time_never_waits_however_long_it_goes_on(
    bench: Bench,
) -> None:
    line, socket = bench.line("steady", SLICE / 1000)
    for _ in range(200):
        line.take(b"x" * 100)  # a tenth of a slice
        assert socket.reading
        bench.clock.now += FORGIVEN_AFTER / 2


async def test_who_takes_much_of_it_waits_though_it_pauses_now_and_then(bench: Bench) -> None:
    line, socket = bench.line("busy", SLICE / 1000)
    waited = 0
    for _ in range(50):
        line.take(b"x" * 900)
        waited += not socket.reading
        await settle()
        bench.clock.now += SLICE
    assert waited > 10
