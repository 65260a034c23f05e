"""A validator of all topics: asked of every message, before the validator of its topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rumormill.core.errors import LocalProtocolError, RejectedError
from rumormill.core.message import Message
from rumormill.live.checks.validation import (
    ACCEPTED,
    Accept,
    Ignore,
    Opinion,
    Reject,
    Validators,
    gravest,
)

RAIN, GOAL = Message("weather", b"rain"), Message("sport", b"goal")


def add(validators: Validators, topic: str | None, function: Callable[[Message], Any]) -> None:
    validators.add(topic, function, timeout=5.0, concurrency=1)


async def judge(validators: Validators, message: Message = RAIN) -> str:
    found = [ACCEPTED]
    for each in validators.judge(message):
        found.append(each if isinstance(each, Opinion) else await each)
    return gravest(found).verdict


def says(answer: object, later: bool = False) -> Callable[[Message], Any]:
    async def after_a_while(message: Message) -> object:
        await asyncio.sleep(0)
        return answer

    return after_a_while if later else lambda message: answer


async def test_it_judges_the_messages_of_every_topic() -> None:
    validators = Validators()
    assert "weather" not in validators
    assert not validators
    add(validators, None, lambda message: message.topic != "sport")
    assert "weather" in validators
    assert validators
    assert await judge(validators, RAIN) == "accept"
    assert await judge(validators, GOAL) == "reject"


async def test_it_is_asked_before_the_one_of_the_topic() -> None:
    asked: list[str] = []
    validators = Validators()

    def asks(name: str) -> Callable[[Message], bool]:
        def note(message: Message) -> bool:
            asked.append(name)
            return True

        return note

    add(validators, "weather", asks("weather"))
    add(validators, None, asks("all"))
    assert await judge(validators) == "accept"
    assert asked == ["all", "weather"]


async def test_what_it_rejects_at_once_the_other_is_not_asked_about() -> None:
    asked: list[Message] = []
    validators = Validators()
    add(validators, None, says(Reject))
    add(validators, "weather", asked.append)
    assert await judge(validators) == "reject"
    assert asked == []


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize(
    ("of_all", "of_the_topic", "verdict"),
    [
        (Accept, Accept, "accept"),
        (Accept, Reject, "reject"),
        (Ignore, Accept, "ignore"),
        (Accept, Ignore, "ignore"),
        (Ignore, Reject, "reject"),
        (Reject, Ignore, "reject"),
    ],
)
async def test_to_reject_counts_more_than_to_ignore_and_that_more_than_to_accept(
    of_all: object, of_the_topic: object, verdict: str, later: bool
) -> None:
    for first_later in (False, True):
        validators = Validators()
        add(validators, None, says(of_all, first_later))
        add(validators, "weather", says(of_the_topic, later))
        assert await judge(validators) == verdict


@pytest.mark.parametrize(
    ("other", "verdict"), [(Reject, "reject"), (Ignore, "overloaded"), (Accept, "overloaded")]
)
async def test_to_have_no_time_counts_more_than_to_ignore_and_less_than_to_reject(
    other: object, verdict: str
) -> None:
    validators = Validators()
    add(validators, "weather", says(other))
    done = asyncio.Event()

    async def busy(_: Message) -> bool:
        return await done.wait()

    add(validators, None, busy)
    (at_work,) = validators.judge(GOAL)  # one at a time is all that it may do
    assert await judge(validators) == verdict
    done.set()
    assert isinstance(at_work, asyncio.Task)
    assert (await at_work).verdict == "accept"


async def test_our_own_messages_need_both_and_the_error_says_whose_no_it_was() -> None:
    validators = Validators()
    add(validators, None, lambda message: message.data != b"spam")
    add(validators, "weather", lambda message: message.data != b"fog")
    await validators.judge_own(RAIN)
    with pytest.raises(RejectedError, match="the validator of all topics rejected"):
        await validators.judge_own(Message("weather", b"spam"))
    with pytest.raises(RejectedError, match="the validator of 'weather' rejected"):
        await validators.judge_own(Message("weather", b"fog"))


async def test_there_is_one_and_it_can_be_removed() -> None:
    validators = Validators()
    with pytest.raises(LocalProtocolError, match="no validator of all topics"):
        validators.remove(None)
    add(validators, None, says(Reject))
    with pytest.raises(LocalProtocolError, match="all topics have a validator"):
        add(validators, None, says(Accept))
    validators.remove(None)
    assert not validators
    assert await judge(validators) == "accept"
