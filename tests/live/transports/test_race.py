from __future__ import annotations

import asyncio
import socket
from functools import partial

import pytest

from rumormill.core.addresses import Endpoint
from rumormill.live.transports import race
from rumormill.live.transports.names import interleaved, look_up
from rumormill.live.transports.race import first_to_connect
from tests.helpers.live.names import Names


class Field:
    """Attempts whose ends the test decides, and the order in which they were made."""

    def __init__(self, *names: str) -> None:
        loop = asyncio.get_running_loop()
        self.ends: dict[str, asyncio.Future[None]] = {name: loop.create_future() for name in names}
        self.begun: list[str] = []
        self.given_up: list[str] = []

    def attempts(self) -> list[race.Attempt]:
        return [partial(self._attempt, name) for name in self.ends]

    async def _attempt(self, name: str) -> None:
        self.begun.append(name)
        try:
            await self.ends[name]
        except asyncio.CancelledError:
            self.given_up.append(name)
            raise

    async def until_begun(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.begun) < count:
                await asyncio.sleep(0.001)


@pytest.fixture
def no_stagger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "STAGGER", 0.001)


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "STAGGER", 3600.0)


def test_the_next_attempt_is_made_after_the_time_that_the_standard_recommends() -> None:
    assert race.STAGGER == 0.25


async def test_an_attempt_that_hangs_does_not_hide_the_next(no_stagger: None) -> None:
    field = Field("black hole", "second", "third")
    running = asyncio.ensure_future(first_to_connect(field.attempts()))
    await field.until_begun(3)
    field.ends["second"].set_result(None)
    await running
    assert field.begun == ["black hole", "second", "third"]
    assert field.given_up == ["black hole", "third"]


async def test_an_attempt_that_fails_makes_way_at_once(no_hurry: None) -> None:
    field = Field("refused", "second", "third")
    field.ends["refused"].set_exception(ConnectionRefusedError())
    field.ends["second"].set_result(None)
    async with asyncio.timeout(10):
        await first_to_connect(field.attempts())
    assert field.begun == ["refused", "second"]


async def test_a_first_attempt_that_succeeds_is_the_only_one(no_hurry: None) -> None:
    field = Field("first", "second")
    field.ends["first"].set_result(None)
    await first_to_connect(field.attempts())
    assert field.begun == ["first"]


async def test_when_all_fail_the_first_error_is_told(no_stagger: None) -> None:
    field = Field("first", "second", "third")
    running = asyncio.ensure_future(first_to_connect(field.attempts()))
    await field.until_begun(3)
    field.ends["third"].set_exception(OSError("third"))
    field.ends["second"].set_exception(OSError("second"))
    await asyncio.sleep(0)
    field.ends["first"].set_exception(OSError("first"))
    with pytest.raises(OSError, match="first"):
        await running


async def test_who_is_cancelled_gives_up_every_attempt(no_stagger: None) -> None:
    field = Field("first", "second")
    running = asyncio.ensure_future(first_to_connect(field.attempts()))
    await field.until_begun(2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert field.given_up == ["first", "second"]


async def test_the_versions_of_ip_take_turns(names: Names) -> None:
    six, four = ["2001:db8::1", "2001:db8::2", "2001:db8::3"], ["192.0.2.1", "192.0.2.2"]
    names.answer("six.example", *six, *four)
    names.answer("four.example", four[0], *six, four[1])

    async def hosts(name: str) -> list[str]:
        answers = await look_up(Endpoint(name, 1), socket.SOCK_STREAM)
        return [each.place[0] for each in interleaved(answers)]

    assert await hosts("six.example") == [six[0], four[0], six[1], four[1], six[2]]
    assert await hosts("four.example") == [four[0], six[0], four[1], six[1], six[2]]
