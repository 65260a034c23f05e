"""For the tests of a folder: each asynchronous one runs on asyncio's own loop and on uvloop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import uvloop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(autouse=True)
def no_callback_fails(request: pytest.FixtureRequest) -> Any:
    """An exception in a callback of the loop is a failure of the test."""
    if "_asyncio_loop_factory" not in request.fixturenames:
        yield
        return
    problems: list[dict[str, Any]] = []
    request.getfixturevalue("watch_loop")(problems)
    yield
    assert problems == []


@pytest.fixture
async def watch_loop() -> Callable[[list[dict[str, Any]]], None]:
    loop = asyncio.get_running_loop()

    def watch(problems: list[dict[str, Any]]) -> None:
        loop.set_exception_handler(lambda _, context: problems.append(context))

    return watch


__all__ = ["no_callback_fails", "pytest_asyncio_loop_factories", "watch_loop"]
