"""One end of a transport for tests: what it told its machine, and how to wait for more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from rumormill.core.transport import BytesReceived, TransportInput

InputType = TypeVar("InputType")


class Ear:
    """Hears what a machine would be fed."""

    def __init__(self) -> None:
        self.inputs: list[TransportInput] = []
        self._news = asyncio.Event()

    def feed(self, input: TransportInput) -> None:
        self.inputs.append(input)
        self._news.set()

    def all(self, kind: type[InputType]) -> list[InputType]:
        return [each for each in self.inputs if isinstance(each, kind)]

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def first(self, kind: type[InputType]) -> InputType:
        await self.until(lambda: self.all(kind))
        return self.all(kind)[0]

    @property
    def received(self) -> bytes:
        return b"".join(each.data for each in self.all(BytesReceived))
