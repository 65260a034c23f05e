from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from rumormill.core.machine import Check, Checked
from rumormill.core.message import Message
from rumormill.live.checks.checker import GROUP_FROM, Checker, Subject
from rumormill.live.checks.lanes import MOST_CHECKS
from rumormill.live.checks.validation import Validators

UNDER_CHECK = 512
"""Checks that a peer may have under way before it is held."""


class Letter(NamedTuple):
    """What a check is about in these tests."""

    genuine: bool = True
    topics: tuple[str, ...] = ("weather",)


class Bench:
    """A checker with everything around it."""

    def __init__(self, helpers: int = 2) -> None:
        self.validators = Validators()
        self.batches: list[list[Checked]] = []
        self.threads: set[int] = set()
        self.pause = 0.0
        self.broken: dict[Letter, type[BaseException]] = {}
        self.unreadable: set[Letter] = set()
        self.answered = asyncio.Event()
        subject = Subject(self._genuine, self._messages)
        self.checker = Checker(self._feed_all, subject, self.validators, helpers)

    def _genuine(self, letter: Letter) -> bool:
        self.threads.add(threading.get_ident())
        if self.pause:
            time.sleep(self.pause)  # releases the interpreter's lock, as cryptography does
        if letter in self.broken:
            raise self.broken[letter]
        return letter.genuine

    def _messages(self, letter: Letter, peer: str | None) -> Iterator[Message]:
        if letter in self.unreadable:
            raise ZeroDivisionError
        topics = (topic for topic in letter.topics if topic in self.validators)
        return (Message(topic, b"", received_from=peer) for topic in topics)

    def _feed_all(self, answers: list[Checked]) -> None:
        self.batches.append(answers)
        self.answered.set()

    @property
    def answers(self) -> list[Checked]:
        return [answer for batch in self.batches for answer in batch]

    def check(self, *letters: Letter) -> None:
        start = len(self.answers)
        for token, letter in enumerate(letters, start):
            self.checker.check(Check(token, letter))

    async def until(self, count: int) -> list[Checked]:
        async with asyncio.timeout(10):
            while len(self.answers) < count:
                self.answered.clear()
                await self.answered.wait()
        return self.answers


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_few_checks_are_done_on_the_spot_in_one_batch(bench: Bench) -> None:
    bench.check(Letter(), Letter(genuine=False), Letter())
    assert bench.batches == []
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bench.batches == [
        [Checked(0, "accept"), Checked(1, "forged", "bad_signature"), Checked(2, "accept")]
    ]
    assert bench.threads == {threading.get_ident()}


async def test_many_checks_are_shared_with_threads_and_answered_in_order(bench: Bench) -> None:
    bench.pause = 0.001
    count = 4 * GROUP_FROM
    letters = [Letter(genuine=number % 3 != 0) for number in range(count)]
    bench.check(*letters)
    answers = await bench.until(count)
    assert len(bench.threads) > 1
    assert [answer.token for answer in answers] == list(range(count))
    assert [answer.verdict == "accept" for answer in answers] == [
        letter.genuine for letter in letters
    ]
    bench.checker.close()


async def test_without_helpers_everything_is_done_by_the_loop() -> None:
    bench = Bench(helpers=0)
    bench.check(*[Letter()] * (4 * GROUP_FROM))
    await bench.until(4 * GROUP_FROM)
    assert bench.threads == {threading.get_ident()}


async def test_a_flood_is_done_in_batches_with_turns_for_others_between(bench: Bench) -> None:
    count = 3 * MOST_CHECKS
    bench.check(*[Letter()] * count)
    assert bench.checker.pending == count
    await bench.until(count)
    assert [len(batch) for batch in bench.batches] == [MOST_CHECKS] * 3
    assert bench.checker.pending == 0
    bench.checker.close()


async def test_checks_that_come_while_threads_work_are_done_after(bench: Bench) -> None:
    bench.pause = 0.002
    bench.check(*[Letter()] * GROUP_FROM)
    await asyncio.sleep(0)
    for token in range(GROUP_FROM, GROUP_FROM + 5):
        bench.checker.check(Check(token, Letter()))
    answers = await bench.until(GROUP_FROM + 5)
    assert [answer.token for answer in answers] == list(range(GROUP_FROM + 5))
    bench.checker.close()


async def test_a_forged_message_is_shown_to_no_validator(bench: Bench) -> None:
    seen: list[Message] = []

    def judge(message: Message) -> bool:
        seen.append(message)
        return True

    bench.validators.add("weather", judge, timeout=1, concurrency=1)
    bench.check(Letter(genuine=False), Letter())
    await bench.until(2)
    assert len(seen) == 1


async def test_a_plain_validator_answers_in_the_same_batch(bench: Bench) -> None:
    bench.validators.add("weather", lambda _: False, timeout=1, concurrency=1)
    bench.check(Letter(), Letter(topics=("sport",)))
    await bench.until(2)
    assert bench.batches == [[Checked(0, "reject", "validator"), Checked(1, "accept")]]


async def test_async_validators_hold_up_nobody_else(bench: Bench) -> None:
    gate = asyncio.Event()
    bench.validators.add("weather", lambda _: gate.wait(), timeout=5, concurrency=9)
    bench.check(Letter(), Letter(topics=("sport",)), Letter())
    assert await bench.until(1) == [Checked(1, "accept")]
    gate.set()
    await bench.until(3)
    # What became ready in one turn is fed at once.
    assert [len(batch) for batch in bench.batches] == [1, 2]


async def test_of_several_topics_the_gravest_opinion_counts(bench: Bench) -> None:
    async def reject(message: Message) -> bool:
        await asyncio.sleep(0)
        return False

    async def accept(message: Message) -> bool:
        return True

    bench.validators.add("weather", reject, timeout=5, concurrency=9)
    bench.validators.add("sport", accept, timeout=5, concurrency=9)
    bench.validators.add("music", lambda _: True, timeout=5, concurrency=9)
    bench.check(Letter(topics=("music", "weather", "sport")), Letter(topics=("music",)))
    answers = await bench.until(2)
    assert sorted(answers) == [Checked(0, "reject", "validator"), Checked(1, "accept")]


# ---- what fails

ODD = Letter(topics=("odd",))


@pytest.mark.parametrize("error", [ZeroDivisionError, asyncio.CancelledError])
@pytest.mark.parametrize("others", [0, 3, 4 * GROUP_FROM])
async def test_a_signature_check_that_raises_counts_as_forged_and_the_rest_goes_on(
    bench: Bench, others: int, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    bench.broken[ODD] = error
    with caplog.at_level(logging.WARNING, "rumormill"):
        for _ in range(2):
            bench.check(ODD, *[Letter()] * others)
            await bench.until(len(bench.answers) + 1 + others)
    verdicts = ["forged"] + ["accept"] * others
    assert [answer.verdict for answer in bench.answers] == 2 * verdicts
    assert {answer.detail for answer in bench.answers if answer.detail} == {"check_failed"}
    assert bench.checker.pending == 0
    assert len(caplog.records) == 1
    bench.checker.close()


async def test_a_message_that_cannot_be_shown_to_its_validator_is_ignored(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.validators.add("weather", lambda _: True, timeout=5, concurrency=9)
    bench.unreadable.add(ODD)
    bench.check(Letter(), ODD, Letter())
    with caplog.at_level(logging.WARNING, "rumormill"):
        answers = await bench.until(3)
    assert [answer.verdict for answer in answers] == ["accept", "ignore", "accept"]
    assert answers[1].detail == "validator_failed"
    assert len(caplog.records) == 1


async def test_validators_that_raise_cancelled_leave_no_check_without_an_answer(
    bench: Bench,
) -> None:
    async def give_up(message: Message) -> bool:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    bench.validators.add("weather", give_up, timeout=5, concurrency=2 * UNDER_CHECK)
    bench.check(*[Letter()] * UNDER_CHECK)
    answers = await bench.until(UNDER_CHECK)
    assert {answer[1:] for answer in answers} == {("ignore", "validator_failed")}
    bench.checker.close()


async def test_a_validator_that_cancels_its_own_task_is_answered_for(bench: Bench) -> None:
    async def cancel_myself(message: Message) -> bool:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return True

    bench.validators.add("weather", cancel_myself, timeout=5, concurrency=9)
    bench.validators.add("sport", lambda _: True, timeout=5, concurrency=9)
    bench.check(Letter(), Letter(topics=("sport", "weather")))
    answers = await bench.until(2)
    assert {answer[1:] for answer in answers} == {("ignore", "validator_failed")}


async def test_checks_whose_validators_were_stopped_by_the_close_get_no_answer(
    bench: Bench,
) -> None:
    bench.validators.add("weather", lambda _: asyncio.Event().wait(), timeout=5, concurrency=9)
    bench.check(Letter())
    await asyncio.sleep(0.01)
    await bench.validators.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bench.answers == []


async def test_a_closed_checker_answers_nothing(bench: Bench) -> None:
    bench.check(Letter())
    bench.checker.close()
    bench.checker.check(Check(1000, Letter()))
    await asyncio.sleep(0.01)
    assert bench.batches == []


async def test_closing_in_the_midst_of_a_batch_leaves_no_thread(bench: Bench) -> None:
    bench.pause = 0.005
    bench.check(*[Letter()] * MOST_CHECKS)
    asyncio.get_running_loop().call_soon(bench.checker.close)
    await asyncio.sleep(0.01)
    assert not [each for each in threading.enumerate() if each.name.startswith("rumormill-check")]
