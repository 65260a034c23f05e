"""Validators: the application's say in what is passed on.

A validator is a function of a message, plain or ``async``. It answers :data:`Accept`,
:data:`Reject` (not passed on, and whoever sent it pays) or :data:`Ignore` (not passed on, nobody
pays); True and False stand for accept and reject. One that fails or takes too long ignores the
message: it never stops the node.

    def short(message):
        return len(message.data) < 200

    network.add_validator("weather", short)
    network.add_validator(None, known_author)  # for all topics, asked before that of the topic

What several say of one message: one that rejects it counts most, then one that has no time for it,
then one that ignores it. Whom the first rejects at once, the second is not asked about.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from rumormill.core.errors import ClosedError, ConfigError, LocalProtocolError, RejectedError
from rumormill.core.machine import Verdict
from rumormill.core.message import Message
from rumormill.core.topic import check_topic

log = logging.getLogger("rumormill")


class Validation(enum.Enum):
    """What a validator may answer."""

    ACCEPT = Verdict.ACCEPT
    REJECT = Verdict.REJECT
    IGNORE = Verdict.IGNORE


Accept, Reject, Ignore = Validation.ACCEPT, Validation.REJECT, Validation.IGNORE

Answer: TypeAlias = Validation | bool
ValidatorFunction: TypeAlias = Callable[[Message], Answer | Awaitable[Answer]]


class Opinion(NamedTuple):
    """A validator's answer as the machine wants it: a verdict, and why if it is not to accept."""

    verdict: str
    detail: str = ""


ACCEPTED = Opinion(Verdict.ACCEPT)
REJECTED = Opinion(Verdict.REJECT, "validator")
OPINIONS: dict[object, Opinion] = {
    Accept: ACCEPTED,
    True: ACCEPTED,
    Reject: REJECTED,
    False: REJECTED,
    Ignore: Opinion(Verdict.IGNORE, "validator"),
}
FAILED = Opinion(Verdict.IGNORE, "validator_failed")
TIMED_OUT = Opinion(Verdict.IGNORE, "validator_timeout")
OVERLOADED = Opinion(Verdict.OVERLOADED, "validator_overloaded")

GRAVITY = (Verdict.REJECT, Verdict.OVERLOADED, Verdict.IGNORE, Verdict.ACCEPT)
"""Which verdict counts when a message has several validators, or topics, and they differ."""


class _Validator:
    """The validator of one topic, or of all."""

    __slots__ = ("concurrency", "function", "of", "running", "timeout", "warned")

    def __init__(
        self, of: str, function: ValidatorFunction, timeout: float, concurrency: int
    ) -> None:
        self.of = of
        """Whose validator it is, for sentences."""
        self.function = function
        self.timeout = timeout
        self.concurrency = concurrency
        self.running = 0
        self.warned = False

    def failed(self, problem: BaseException | str) -> Opinion:
        """The answer of a validator that gave none; said once, then only counted."""
        if not self.warned:
            self.warned = True
            log.warning(
                "the validator of %s failed, its message is ignored; "
                "further failures are only counted: %s",
                self.of,
                problem,
                exc_info=problem if isinstance(problem, BaseException) else None,
            )
        return FAILED

    def opinion(self, answer: object) -> Opinion:
        """What an answer means."""
        known = OPINIONS.get(answer) if isinstance(answer, bool | Validation) else None
        return known or self.failed(f"it answered {answer!r}, not Accept, Reject, Ignore or a bool")

    async def wait(self, answer: Awaitable[object]) -> Opinion:
        """The answer of an ``async`` validator, within its time."""
        try:
            async with asyncio.timeout(self.timeout):
                return self.opinion(await answer)
        except TimeoutError:
            return TIMED_OUT
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # we were told to stop; else it is the validator's own way to fail
            return self.failed(error)
        except Exception as error:
            return self.failed(error)


class Validators:
    """The validators of a network: at most one for each topic, and one for all topics."""

    def __init__(self, total_concurrency: int = 8192) -> None:
        self._validators: dict[str, _Validator] = {}
        self._of_all: _Validator | None = None
        self._total = total_concurrency
        self._tasks: set[asyncio.Task[Opinion]] = set()
        self._closed = False

    def __contains__(self, topic: str) -> bool:
        return topic in self._validators or self._of_all is not None

    def __bool__(self) -> bool:
        return bool(self._validators) or self._of_all is not None

    @property
    def running(self) -> int:
        """How many ``async`` validators are at work."""
        return len(self._tasks)

    def add(
        self, topic: str | None, function: ValidatorFunction, *, timeout: float, concurrency: int
    ) -> None:
        """Let ``function`` judge the messages of ``topic`` from now on; of every topic, if None."""
        if topic is not None:
            check_topic(topic)
        if self._of_all is not None if topic is None else topic in self._validators:
            who = "all topics have" if topic is None else f"the topic {topic!r} has"
            raise LocalProtocolError(f"{who} a validator; remove it first")
        if timeout <= 0:
            raise ConfigError("timeout", f"must be above 0, not {timeout}")
        if concurrency < 1:
            raise ConfigError("concurrency", f"must be at least 1, not {concurrency}")
        if topic is None:
            self._of_all = _Validator("all topics", function, timeout, concurrency)
        else:
            self._validators[topic] = _Validator(repr(topic), function, timeout, concurrency)

    def remove(self, topic: str | None) -> None:
        """Forget the validator of ``topic``, or with None that of all topics."""
        if topic is not None:
            if self._validators.pop(topic, None) is None:
                raise LocalProtocolError(f"the topic {topic!r} has no validator")
        elif self._of_all is None:
            raise LocalProtocolError("there is no validator of all topics")
        else:
            self._of_all = None

    def judge(self, message: Message) -> list[Opinion | asyncio.Task[Opinion]]:
        """Ask the validators of the message: an opinion of each, or a task if it takes time."""
        validator = self._validators.get(message.topic)
        if self._of_all is None:
            return [] if validator is None else [self._ask(validator, message)]
        first = self._ask(self._of_all, message)
        if validator is None or first == REJECTED:
            return [first]
        return [first, self._ask(validator, message)]

    def _ask(self, validator: _Validator, message: Message) -> Opinion | asyncio.Task[Opinion]:
        full = validator.running >= validator.concurrency or len(self._tasks) >= self._total
        if full or self._closed:
            return OVERLOADED
        try:
            answer = validator.function(message)
        except (Exception, asyncio.CancelledError) as error:
            return validator.failed(error)
        if not inspect.isawaitable(answer):
            return validator.opinion(answer)
        return self._begin(validator, answer)

    def _begin(self, validator: _Validator, answer: Awaitable[object]) -> asyncio.Task[Opinion]:
        """Wait for an answer. Counted from here on, not from when the task gets its turn."""
        task = asyncio.ensure_future(validator.wait(answer))
        validator.running += 1
        self._tasks.add(task)

        def done(task: asyncio.Task[Opinion]) -> None:
            validator.running -= 1
            self._tasks.discard(task)
            if task.cancelled() and inspect.iscoroutine(answer):
                answer.close()  # it may not have begun

        task.add_done_callback(done)
        return task

    def outcome(self, task: asyncio.Task[Opinion]) -> Opinion | None:
        """What came of a task of :meth:`judge` that is done; None if :meth:`close` stopped it."""
        if not task.cancelled():
            return task.result()
        return None if self._closed else FAILED

    async def judge_own(self, message: Message) -> None:
        """Ask about a message of our own; raises :class:`RejectedError` unless it is accepted.

        Raises :class:`ClosedError` if we are closed meanwhile.
        """
        for validator in (self._of_all, self._validators.get(message.topic)):
            if validator is None:
                continue
            judged = self._ask(validator, message)
            opinion = judged if isinstance(judged, Opinion) else await self._own_outcome(judged)
            if opinion is None:
                raise ClosedError(
                    f"the network was closed before the validator of {validator.of} answered"
                )
            if opinion.verdict != Verdict.ACCEPT:
                why = OWN_PROBLEMS.get(opinion, "refused the message")
                raise RejectedError(f"the validator of {validator.of} {why}")

    async def _own_outcome(self, task: asyncio.Task[Opinion]) -> Opinion | None:
        try:
            # Not awaited as it is: whether it or we were cancelled would look the same.
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            task.cancel()
            raise
        return self.outcome(task)

    async def close(self, timeout: float | None = None) -> None:
        """Stop what is at work; what has not stopped after ``timeout`` seconds is left alone."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, stubborn = await asyncio.wait(tasks, timeout=timeout)
        if stubborn:
            log.warning("%d validators did not stop when told to, and go on", len(stubborn))


OWN_PROBLEMS = {
    REJECTED: "rejected the message",
    OPINIONS[Ignore]: "ignored the message",
    FAILED: "failed on the message",
    TIMED_OUT: "took too long over the message",
    OVERLOADED: "has too many messages to look at",
}


def gravest(opinions: list[Opinion]) -> Opinion:
    """The opinion that counts.

    >>> gravest([ACCEPTED, Opinion("ignore", "validator")]).verdict
    'ignore'
    """
    return min(opinions, key=lambda opinion: GRAVITY.index(opinion.verdict))
