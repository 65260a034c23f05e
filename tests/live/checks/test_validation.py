from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rumormill.core.errors import ClosedError, ConfigError, LocalProtocolError, RejectedError
from rumormill.core.message import Message
from rumormill.live.checks.validation import (
    ACCEPTED,
    Accept,
    Ignore,
    Opinion,
    Reject,
    ValidatorFunction,
    Validators,
    gravest,
)

MESSAGE = Message("weather", b"rain at noon")


@pytest.fixture
def validators() -> Validators:
    return Validators()


def add(
    validators: Validators,
    function: Callable[[Message], Any],
    timeout: float = 5.0,
    concurrency: int = 10,
) -> None:
    validators.add("weather", function, timeout=timeout, concurrency=concurrency)


async def judge(validators: Validators) -> Opinion:
    return gravest([await settled(each) for each in validators.judge(MESSAGE)] or [ACCEPTED])


async def settled(judged: Opinion | asyncio.Task[Opinion]) -> Opinion:
    return judged if isinstance(judged, Opinion) else await judged


def later(answer: object) -> Callable[[Message], Awaitable[object]]:
    async def function(message: Message) -> object:
        await asyncio.sleep(0)
        return answer

    return function


ANSWERS = [
    (Accept, "accept"),
    (True, "accept"),
    (Reject, "reject"),
    (False, "reject"),
    (Ignore, "ignore"),
]


@pytest.mark.parametrize(("answer", "verdict"), ANSWERS)
async def test_each_answer_has_its_verdict(
    validators: Validators, answer: object, verdict: str
) -> None:
    add(validators, lambda _: answer)
    assert (await judge(validators)).verdict == verdict


@pytest.mark.parametrize(("answer", "verdict"), ANSWERS)
async def test_an_async_validator_is_awaited(
    validators: Validators, answer: object, verdict: str
) -> None:
    add(validators, later(answer))
    assert (await judge(validators)).verdict == verdict


async def test_a_topic_without_validator_is_accepted(validators: Validators) -> None:
    assert (await judge(validators)).verdict == "accept"


async def test_the_validator_sees_the_message(validators: Validators) -> None:
    seen: list[Message] = []

    def judge_and_keep(message: Message) -> bool:
        seen.append(message)
        return True

    add(validators, judge_and_keep)
    await judge(validators)
    assert seen == [MESSAGE]


@pytest.mark.parametrize("answer", [None, 1, "accept"])
async def test_an_answer_that_is_none_counts_as_a_failure(
    validators: Validators, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    add(validators, lambda _: answer)
    with caplog.at_level(logging.WARNING, "rumormill"):
        assert await judge(validators) == ("ignore", "validator_failed")
    assert repr(answer) in caplog.text


async def _fail_later(message: Message) -> bool:
    await asyncio.sleep(0)
    raise ValueError("no good")


def _fail(message: Message) -> bool:
    raise ValueError("no good")


async def _cancel_later(message: Message) -> bool:
    await asyncio.sleep(0)
    raise asyncio.CancelledError("no good")


def _cancel(message: Message) -> bool:
    raise asyncio.CancelledError("no good")


def _cancelled(message: Message) -> Awaitable[bool]:
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    answer.cancel("no good")
    return answer


@pytest.mark.parametrize("function", [_fail, _fail_later, _cancel, _cancel_later, _cancelled])
async def test_a_validator_that_raises_ignores_and_warns_once(
    validators: Validators, function: ValidatorFunction, caplog: pytest.LogCaptureFixture
) -> None:
    add(validators, function)
    with caplog.at_level(logging.WARNING, "rumormill"):
        assert await judge(validators) == ("ignore", "validator_failed")
        assert await judge(validators) == ("ignore", "validator_failed")
    assert len(caplog.records) == 1
    assert "no good" in caplog.text


async def test_a_validator_that_takes_too_long_ignores(validators: Validators) -> None:
    async def forever(message: Message) -> bool:
        await asyncio.Event().wait()
        return True

    add(validators, forever, timeout=0.01)
    assert await judge(validators) == ("ignore", "validator_timeout")
    assert validators.running == 0


async def test_past_its_concurrency_a_topic_is_overloaded(validators: Validators) -> None:
    gate = asyncio.Event()

    async def wait(message: Message) -> bool:
        await gate.wait()
        return True

    add(validators, wait, concurrency=2)
    first, second, third = (validators.judge(MESSAGE)[0] for _ in range(3))
    assert third == ("overloaded", "validator_overloaded")
    gate.set()
    assert isinstance(first, asyncio.Task) and isinstance(second, asyncio.Task)
    assert [(await each).verdict for each in (first, second)] == ["accept", "accept"]
    await asyncio.sleep(0)
    assert (await judge(validators)).verdict == "accept"


async def test_all_topics_together_have_a_bound() -> None:
    validators = Validators(total_concurrency=1)
    gate = asyncio.Event()

    async def wait(message: Message) -> bool:
        return await gate.wait()

    validators.add("weather", wait, timeout=5, concurrency=10)
    validators.add("sport", wait, timeout=5, concurrency=10)
    first = asyncio.ensure_future(judge(validators))
    await asyncio.sleep(0)
    assert validators.judge(Message("sport", b"")) == [("overloaded", "validator_overloaded")]
    gate.set()
    assert (await first).verdict == "accept"


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda _: False, "the validator of 'weather' rejected the message"),
        (lambda _: Ignore, "the validator of 'weather' ignored the message"),
        (later(Reject), "the validator of 'weather' rejected the message"),
        (_fail, "the validator of 'weather' failed on the message"),
    ],
)
async def test_our_own_message_is_refused_with_a_sentence(
    validators: Validators, function: ValidatorFunction, sentence: str
) -> None:
    add(validators, function)
    with pytest.raises(RejectedError) as caught:
        await validators.judge_own(MESSAGE)
    assert str(caught.value) == sentence


async def test_our_own_message_that_is_accepted_passes(validators: Validators) -> None:
    asked: list[Message] = []

    async def accept(message: Message) -> bool:
        await asyncio.sleep(0)
        asked.append(message)
        return True

    add(validators, accept)
    await validators.judge_own(MESSAGE)
    assert asked == [MESSAGE]
    assert validators.running == 0


@pytest.mark.parametrize("begun", [True, False])
async def test_our_own_message_that_waits_for_its_validator_ends_with_the_close(
    validators: Validators, begun: bool
) -> None:
    add(validators, lambda _: asyncio.Event().wait())
    asking = asyncio.ensure_future(validators.judge_own(MESSAGE))
    for _ in range(3 if begun else 1):
        await asyncio.sleep(0)
    await validators.close()
    with pytest.raises(ClosedError, match="closed before the validator of 'weather' answered"):
        await asking


async def test_who_is_cancelled_while_a_validator_is_asked_stays_cancelled(
    validators: Validators, caplog: pytest.LogCaptureFixture
) -> None:
    stopped: list[str] = []

    async def forever(message: Message) -> bool:
        try:
            return await asyncio.Event().wait()
        finally:
            stopped.append("stopped")

    add(validators, forever)
    asking = asyncio.ensure_future(validators.judge_own(MESSAGE))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (stopped, validators.running, caplog.records) == (["stopped"], 0, [])


def test_a_topic_has_one_validator(validators: Validators) -> None:
    add(validators, lambda _: True)
    with pytest.raises(LocalProtocolError, match="'weather' has a validator"):
        add(validators, lambda _: True)
    validators.remove("weather")
    with pytest.raises(LocalProtocolError, match="'weather' has no validator"):
        validators.remove("weather")


@pytest.mark.parametrize(("timeout", "concurrency"), [(0.0, 1), (1.0, 0)])
def test_impossible_bounds_are_refused(
    validators: Validators, timeout: float, concurrency: int
) -> None:
    with pytest.raises(ConfigError):
        add(validators, lambda _: True, timeout, concurrency)


async def test_closing_stops_validators_at_work(validators: Validators) -> None:
    async def forever(message: Message) -> bool:
        return await asyncio.Event().wait()

    add(validators, forever)
    (at_work,) = validators.judge(MESSAGE)
    await asyncio.sleep(0)
    (not_begun,) = validators.judge(MESSAGE)
    await validators.close()
    for task in (at_work, not_begun):
        assert isinstance(task, asyncio.Task)
        assert task.cancelled()
    assert validators.running == 0
    assert validators.judge(MESSAGE) == [("overloaded", "validator_overloaded")]


async def test_closing_does_not_wait_for_a_validator_that_will_not_stop(
    validators: Validators, caplog: pytest.LogCaptureFixture
) -> None:
    gate = asyncio.Event()

    async def stubborn(message: Message) -> bool:
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await gate.wait()
        return True

    add(validators, stubborn)
    validators.judge(MESSAGE)
    await asyncio.sleep(0)
    with caplog.at_level(logging.WARNING, "rumormill"):
        async with asyncio.timeout(10):
            await validators.close(timeout=0.01)
    assert "1 validator" in caplog.text
    gate.set()
    while validators.running:
        await asyncio.sleep(0)


def test_the_gravest_opinion_counts() -> None:
    verdicts = ["accept", "ignore", "overloaded", "reject"]
    for index, verdict in enumerate(verdicts):
        opinions = [Opinion(each) for each in verdicts[: index + 1]]
        assert gravest(opinions).verdict == verdict
