"""The application's answers to unicast messages: a function for each topic."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from rumormill.bcos.effects import Request
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.message import Message

ResponderFunction: TypeAlias = Callable[[Message], bytes | Awaitable[bytes]]

log = logging.getLogger("rumormill")


class _Responder:
    """The function of one topic."""

    __slots__ = ("concurrency", "function", "running", "timeout", "warned")

    def __init__(self, function: ResponderFunction, timeout: float, concurrency: int) -> None:
        self.function = function
        self.timeout = timeout
        self.concurrency = concurrency
        self.running = 0
        self.warned = False


class Responders:
    """Calls them. ``respond`` takes an answer to where it belongs; ``lost`` hears of each message
    that has none, and why. Who has no answer says nothing: another subscriber may be asked then.
    """

    def __init__(
        self, respond: Callable[[int, bytes], None], lost: Callable[[Message, str], None]
    ) -> None:
        self._respond = respond
        self._lost = lost
        self._by_topic: dict[str, _Responder] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many answers are being made."""
        return len(self._tasks)

    def add(
        self, topic: str, function: ResponderFunction, timeout: float, concurrency: int
    ) -> None:
        """Let ``function`` answer the messages of ``topic``."""
        if topic in self._by_topic:
            raise LocalProtocolError(f"the topic {topic!r} has a responder; end it first")
        if timeout <= 0:
            raise ConfigError("timeout", f"must be above 0, not {timeout}")
        if concurrency < 1:
            raise ConfigError("concurrency", f"must be at least 1, not {concurrency}")
        self._by_topic[topic] = _Responder(function, timeout, concurrency)

    def remove(self, topic: str) -> bool:
        """Ask the function no more; False if there is none."""
        return self._by_topic.pop(topic, None) is not None

    def request(self, effect: Request) -> None:
        """A message waits for its answer."""
        message = effect.message
        responder = self._by_topic.get(message.topic)
        if responder is None:
            self._lost(message, "no_responder")
        elif responder.running >= responder.concurrency:
            self._lost(message, "responder_busy")
        else:
            self._call(responder, effect)

    def _call(self, responder: _Responder, effect: Request) -> None:
        try:
            answer = responder.function(effect.message)
        except (Exception, asyncio.CancelledError) as error:
            self._failed(responder, effect.message, error)
            return
        if not inspect.isawaitable(answer):
            self._answer(responder, effect, answer)
            return
        task = asyncio.ensure_future(self._wait(responder, effect, answer))
        responder.running += 1
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            responder.running -= 1
            self._tasks.discard(task)
            if task.cancelled() and inspect.iscoroutine(answer):
                answer.close()  # it may not have begun

        task.add_done_callback(done)

    async def _wait(self, responder: _Responder, effect: Request, answer: Awaitable[bytes]) -> None:
        try:
            async with asyncio.timeout(responder.timeout):
                data = await answer
        except TimeoutError:
            self._lost(effect.message, "responder_timeout")
        except Exception as error:
            self._failed(responder, effect.message, error)
        else:
            self._answer(responder, effect, data)

    def _answer(self, responder: _Responder, effect: Request, data: object) -> None:
        if isinstance(data, bytes | bytearray | memoryview):
            self._respond(effect.token, bytes(data))
        else:
            problem = LocalProtocolError(f"an answer is bytes, not {type(data).__name__}")
            self._failed(responder, effect.message, problem)

    def _failed(self, responder: _Responder, message: Message, error: BaseException) -> None:
        """Said once, then only counted."""
        self._lost(message, "responder_failed")
        if not responder.warned:
            responder.warned = True
            log.warning(
                "the responder of %r failed, its message has no answer; "
                "further failures are only counted",
                message.topic,
                exc_info=error,
            )

    async def close(self) -> None:
        """Stop all."""
        self._by_topic.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
