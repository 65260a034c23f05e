"""Carries out ``Check``: is the signature right, and what do the validators say?

Signatures are what a message costs. The checks of one turn of the loop are taken together: a few
are done on the spot; from :data:`GROUP_FROM` on, worker threads help. The loop's own thread works
along instead of waiting: the crypto library releases the interpreter's lock, but a thread that
only waits for a busy interpreter gets it every five milliseconds, and verifies nothing. Measured
with 20 us of other work per message: 109 us inline, 94 us handed over, 62 us shared.

Peers take turns (:mod:`~rumormill.live.checks.lanes`). Answers are fed in the order of a peer's
checks and all of a turn at once, except where an ``async`` validator takes its time, or a check is
dear.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

from rumormill.core.machine import Check, Checked, Peer, Verdict
from rumormill.core.message import Message
from rumormill.live.checks.lanes import Lanes
from rumormill.live.checks.validation import ACCEPTED, FAILED, Opinion, Validators, gravest

GROUP_FROM = 16
"""Checks in one turn from which on it pays to share them with a thread."""

SHARE = 4
"""Checks that a thread takes at a time."""

MOST_HELPERS = 3

FORGED = Opinion(Verdict.FORGED, "bad_signature")
CHECK_FAILED = Opinion(Verdict.FORGED, "check_failed")
"""The check itself raised: nobody knows whose message it is, so it must not count as seen."""

Outcome: TypeAlias = bool | BaseException
"""Whether a message is by its author, or what was raised when that was looked at."""

log = logging.getLogger("rumormill")


class Subject(NamedTuple):
    """How the checker deals with the family's form of a message."""

    genuine: Callable[[Any], bool]
    """Whether it is by its author; called in any thread."""
    messages: Callable[[Any, Peer | None], Iterable[Message]]
    """The message as validators see it, once per topic that has one; and who sent it to us."""


class Checker:
    """Checks the messages of one network."""

    def __init__(
        self,
        answer: Callable[[list[Checked]], None],
        subject: Subject,
        validators: Validators,
        helpers: int | None = None,
    ) -> None:
        self._answer_all = answer
        self._subject = subject
        self._validators = validators
        spare = (os.cpu_count() or 1) - 1 if helpers is None else helpers
        self._helpers = min(spare, MOST_HELPERS)
        self._pool: ThreadPoolExecutor | None = None
        self._queue = Lanes()
        self._batch: _Batch | None = None
        self._answers: list[Checked] = []
        self._scheduled = False
        self._flushing = False
        self._closed = False
        self._warned = False

    @property
    def pending(self) -> int:
        """Checks whose signature was not looked at yet."""
        return len(self._queue) + (0 if self._batch is None else len(self._batch.checks))

    def check(self, effect: Check) -> None:
        """Take a check; it is done at the end of this turn of the loop, with all others."""
        self._queue.add(effect)
        if not self._scheduled and self._batch is None and not self._closed:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        queue = self._queue
        if self._batch is not None or not queue or self._closed:
            return
        checks = queue.take()
        size = len(checks)
        if size == 1 and not queue:
            check = checks[0]
            answer = self._answer(check, _outcome(check, self._subject.genuine))
            if answer is not None:
                self._answer_all([answer])
            return
        if size >= GROUP_FROM and self._helpers:
            self._batch = _Batch(checks, self._subject.genuine)
            self._share(self._batch)
        else:
            genuine = self._subject.genuine
            self._answer_all_of(checks, [_outcome(check, genuine) for check in checks])

    def _share(self, batch: _Batch) -> None:
        """Do the batch with the helpers, and come back when the last of them is done."""
        pool = self._pool
        if pool is None:
            pool = self._pool = ThreadPoolExecutor(self._helpers, "rumormill-check")
        futures = [pool.submit(batch.work) for _ in range(self._helpers)]
        batch.work()
        # What did not begin by now has nothing left to do.
        running = [future for future in futures if not future.cancel() and not future.done()]
        if not running:
            self._finish()
            return
        batch.running = len(running)
        loop = asyncio.get_running_loop()

        def done(_: Future[None]) -> None:
            loop.call_soon_threadsafe(self._helper_done)

        for future in running:
            future.add_done_callback(done)

    def _helper_done(self) -> None:
        if self._batch is not None:
            self._batch.running -= 1
            if self._batch.running == 0:
                self._finish()

    def _finish(self) -> None:
        """The signatures of the batch are looked at."""
        batch, self._batch = self._batch, None
        if batch is not None and not self._closed:
            self._answer_all_of(batch.checks, batch.outcomes)

    def _answer_all_of(self, checks: list[Check], outcomes: list[Outcome]) -> None:
        """On to the validators and the answers; what came meanwhile has its turn after that."""
        if self._queue and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)
        answers, judged = [], bool(self._validators)
        for check, outcome in zip(checks, outcomes, strict=True):
            if outcome is True and not judged:
                answers.append(Checked(check.token, Verdict.ACCEPT))
            elif (answer := self._answer(check, outcome)) is not None:
                answers.append(answer)
        if answers:
            self._answer_all(answers)

    # ---- validators

    def _answer(self, check: Check, outcome: Outcome) -> Checked | None:
        """What to tell the machine; None if a validator needs time."""
        if not outcome:
            return Checked(check.token, *FORGED)
        if outcome is not True and isinstance(outcome, BaseException):
            self._failed(outcome)
            return Checked(check.token, *CHECK_FAILED)
        if not self._validators:
            return Checked(check.token, Verdict.ACCEPT)
        try:
            opinions, tasks = self._opinions(check)
        except (Exception, asyncio.CancelledError) as error:
            self._failed(error)
            return Checked(check.token, *FAILED)
        if not tasks:
            return Checked(check.token, *(gravest(opinions) if opinions else ACCEPTED))
        remaining = len(tasks)

        def one_done(_: asyncio.Task[Opinion]) -> None:
            nonlocal remaining
            remaining -= 1
            if remaining == 0:
                self._later(check.token, tasks, opinions)

        for task in tasks:
            task.add_done_callback(one_done)
        return None

    def _opinions(self, check: Check) -> tuple[list[Opinion], list[asyncio.Task[Opinion]]]:
        """What the validators of a message say at once, and who needs time."""
        opinions: list[Opinion] = []
        tasks: list[asyncio.Task[Opinion]] = []
        for message in self._subject.messages(check.subject, check.peer):
            for opinion in self._validators.judge(message):
                if isinstance(opinion, Opinion):
                    opinions.append(opinion)
                else:
                    tasks.append(opinion)
        return opinions, tasks

    def _failed(self, error: BaseException) -> None:
        """A check that raised: said once, then only counted by its answer."""
        if not self._warned:
            self._warned = True
            log.warning(
                "a message could not be checked and is not passed on; "
                "further failures are only counted",
                exc_info=error,
            )

    def _later(
        self, token: int, tasks: list[asyncio.Task[Opinion]], opinions: list[Opinion]
    ) -> None:
        """An answer that took time; all of one turn are fed together."""
        outcomes = [self._validators.outcome(task) for task in tasks]
        found = [outcome for outcome in outcomes if outcome is not None]
        if self._closed or len(found) < len(tasks):
            return
        self._answers.append(Checked(token, *gravest(opinions + found)))
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        answers, self._answers = self._answers, []
        if answers and not self._closed:
            self._answer_all(answers)

    def close(self) -> None:
        """Stop; checks that are under way get no answer."""
        self._closed = True
        self._queue.clear()
        if self._batch is not None:
            self._batch.stop()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


class _Batch:
    """Checks that several threads do together, each taking the next few that nobody took."""

    __slots__ = ("_genuine", "_shares", "checks", "outcomes", "running")

    def __init__(self, checks: list[Check], genuine: Callable[[Any], bool]) -> None:
        self.checks = checks
        self.outcomes: list[Outcome] = [False] * len(checks)
        self.running = 0
        self._genuine = genuine
        self._shares = deque(range(0, len(checks), SHARE))

    def stop(self) -> None:
        """Begin no further share."""
        self._shares.clear()

    def work(self) -> None:
        """Do shares until none is left."""
        shares, checks, genuine = self._shares, self.checks, self._genuine
        while True:
            try:
                start = shares.popleft()
            except IndexError:
                return
            share = slice(start, start + SHARE)
            self.outcomes[share] = [_outcome(check, genuine) for check in checks[share]]


def _outcome(check: Check, genuine: Callable[[Any], bool]) -> Outcome:
    """Whether a message is by its author, or why nobody can say."""
    try:
        return genuine(check.subject)
    except (Exception, asyncio.CancelledError) as error:
        return error
