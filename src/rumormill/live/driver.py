"""One driver for every machine: feeds it inputs, carries out its effects, keeps its timer.

The way of a message is straight: a transport calls :meth:`Driver.feed`, the machine returns
effects, and each is handed to the handler of its type, in a plain loop. Inputs that come up while
effects are being carried out (a check answered at once, a socket that became full) wait in a
queue until the effects of the first input are done, so a machine sees them in order.

    driver = Driver(machine)
    driver.on(Deliver, on_deliver)
    tcp.attach(driver)
    driver.start()
    driver.feed(Subscribe("weather"))
    receipt = driver.ask(Publish(("weather",), b"rain at noon"), Published).receipt
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from rumormill.core.errors import ClosedError, LocalProtocolError
from rumormill.core.machine import InputT, Machine
from rumormill.core.trace import TraceEvent

TraceListener = Callable[[TraceEvent], object]

Kind = TypeVar("Kind")
"""One type of effect: the same for a handler and what it is registered for."""

SHORTEST_TIMER = 0.001
"""Seconds. Event loops count in milliseconds; a shorter timer would fire early, again and again."""

SLOW_WAKE = 0.1
"""Seconds that what a machine puts off to the end of a turn may take, heartbeats among it, before
that is counted: everything else waits meanwhile."""

STALLED = 1.0
"""From so many on, whoever runs it is told, once: whole heartbeats are missed."""

SOON = float("-inf")
"""When a timer is due that fires at the end of this turn: before any other time."""

log = logging.getLogger("rumormill")


class Driver(Generic[InputT]):
    """Runs one machine on the current event loop."""

    def __init__(self, machine: Machine[InputT, object]) -> None:
        self._handle, self._wake, self._next_wake = machine.handle, machine.wake, machine.next_wake
        self._handlers: dict[type, Callable[[Any], object]] = {TraceEvent: self.trace}
        # The wall clock is asked once; from then on the machine's time cannot jump.
        self._offset = time.time() - monotonic()
        self._inbox: deque[InputT] = deque()
        self._late: list[object] = []
        """Effects of what was asked while others were being carried out: they come after those."""
        self._busy = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.Handle | None = None
        self._timer_at = float("inf")
        self._listeners: tuple[TraceListener, ...] = ()
        self._counters: Counter[str] = Counter()
        self.counters: Mapping[str, int] = MappingProxyType(self._counters)
        """How often each event happened: ``event``, and ``event.reason`` where it has one."""

    def on(self, kind: type[Kind], handler: Callable[[Kind], object]) -> None:
        """Let ``handler`` carry out the effects of one type; a second one takes its place."""
        self._handlers[kind] = handler

    def now(self) -> float:
        """The machine's time: seconds since the epoch, without jumps."""
        return monotonic() + self._offset

    def start(self) -> None:
        """Begin to keep the machine's timer; call it on the loop that will run the machine."""
        self._loop = asyncio.get_running_loop()
        self._arm()

    def stop(self) -> None:
        """Keep the timer no longer, and let go of the handlers; inputs are ignored from now on."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, float("inf")
        self._loop = None
        self._inbox.clear()

    # ---- inputs

    def feed(self, input: InputT, then_wake: bool = False) -> None:
        """Give the machine one input and carry out what follows.

        ``then_wake``: and let it do at once what it put off to the end of the turn, which saves a
        turn of the loop; for an input that comes after all others of the turn.
        """
        if self._busy:
            self._inbox.append(input)
            return
        if self._loop is None:
            return
        self._busy = True
        try:
            handlers = self._handlers
            now = monotonic() + self._offset
            # As _carry_out, spelled out: this runs for every packet.
            for effect in self._handle(input, now):
                try:
                    handlers[type(effect)](effect)
                except (Exception, asyncio.CancelledError):
                    self._left_undone(effect)
            if self._inbox or self._late:
                self._carry_out(())
            if then_wake and (due := self._next_wake()) is not None and due <= now:
                self._carry_out(self._wake(now))
        finally:
            self._busy = False
            if self._timer_at != SOON:
                self._arm()

    def ask(self, input: InputT, answer: type[Kind]) -> Kind:
        """Give the machine one input; return the effect of type ``answer`` that it brings.

        That effect is the caller's, and no handler sees it; the others are carried out. From within
        an event too: then they are carried out after those at hand.
        """
        if self._loop is None:
            raise ClosedError("the machine has stopped")
        if self._busy:
            self._catch_up()
            found, effects = _parted(self._handle(input, monotonic() + self._offset), answer)
            self._late += effects
        else:
            self._busy = True
            try:
                found, effects = _parted(self._handle(input, monotonic() + self._offset), answer)
                self._carry_out(effects)
            finally:
                self._busy = False
                self._arm()
        if found is None:
            names = type(input).__name__, answer.__name__
            raise LocalProtocolError("the input {} was not answered with {}".format(*names))
        return found

    def _catch_up(self) -> None:
        """Show the machine what was fed since; what follows of it is carried out later."""
        while self._inbox:
            try:
                self._late += self._handle(self._inbox.popleft(), monotonic() + self._offset)
            except Exception as error:
                # Not the fault of who asks now, and who fed it is no longer there.
                context = {"message": "an input of a machine failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)

    def wake(self) -> None:
        """Let the machine do what is due, and what was put off to the end of the turn."""
        if self._busy or self._loop is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, float("inf")
        self._busy = True
        began = monotonic()
        try:
            self._carry_out(self._wake(began + self._offset))
        finally:
            self._busy = False
            self._arm()
            took = monotonic() - began
            if took > SLOW_WAKE:
                self._was_slow(took)

    def _carry_out(self, effects: Sequence[object]) -> None:
        handlers, inbox = self._handlers, self._inbox
        while True:
            for effect in effects:
                try:
                    handlers[type(effect)](effect)
                except (Exception, asyncio.CancelledError):
                    self._left_undone(effect)
            if self._late:
                effects, self._late = self._late, []
            elif inbox:
                effects = self._handle(inbox.popleft(), monotonic() + self._offset)
            else:
                return

    def _left_undone(self, effect: object) -> None:
        """Count an effect that has no handler, or whose handler raised the error at hand."""
        name = type(effect).__name__
        if type(effect) not in self._handlers:
            self._counters[f"unhandled.{name}"] += 1
            if self._counters[f"unhandled.{name}"] == 1:
                log.warning("the effect %s has no handler and is left undone", name)
            return
        self._counters["handler_failed"] += 1
        self._counters[f"handler_failed.{name}"] += 1
        if self._counters[f"handler_failed.{name}"] == 1:
            log.warning(
                "the effect %s could not be carried out; further failures are only counted",
                name,
                exc_info=True,
            )

    def _was_slow(self, seconds: float) -> None:
        """Count that everything had to wait for so long."""
        self._counters["slow_wake"] += 1
        if seconds < STALLED:
            return
        self._counters["slow_wake.stalled"] += 1
        if self._counters["slow_wake.stalled"] == 1:
            log.warning(
                "one turn took %.1f s, and all else waited; further ones are only counted", seconds
            )

    # ---- the timer

    def _arm(self) -> None:
        """See to it that :meth:`wake` is called in time.

        A timer that is due earlier than needed stays: waking early is harmless, and cheaper than
        a new timer after every input.
        """
        if self._loop is None or self._timer_at == SOON:
            return
        due = 0.0 if self._inbox else self._next_wake()
        if due is None or due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        delay = due - self.now()
        if delay <= 0.0:
            # At the end of this turn of the loop: more inputs may come before it, one wake
            # serves them all. No later input needs an earlier one.
            self._timer_at = SOON
            self._timer = self._loop.call_soon(self.wake)
        else:
            self._timer = self._loop.call_later(max(delay, SHORTEST_TIMER), self.wake)

    # ---- trace events

    def trace(self, event: TraceEvent) -> None:
        """Count an event and show it to the listeners."""
        counters = self._counters
        fields = event.fields
        count = fields.get("count", 1) if fields else 1
        if type(count) is not int:
            count = 1
        counters[event.event] += count
        if fields and (reason := fields.get("reason")):
            counters[f"{event.event}.{reason}"] += count
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                self.listener_failed(listener)

    def listener_failed(self, listener: object) -> None:
        """Count a listener that raised; to be called while the error is being handled."""
        self._counters["listener_failed"] += 1
        if self._counters["listener_failed"] == 1:
            log.warning(
                "the listener %r failed; further failures are only counted",
                listener,
                exc_info=True,
            )

    def on_trace(self, listener: TraceListener) -> Callable[[], None]:
        """Call ``listener`` with every trace event from now on; returns how to stop that."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

        return stop


def _parted(effects: Sequence[object], kind: type[Kind]) -> tuple[Kind | None, Sequence[object]]:
    """The first effect of a type, and all others."""
    for index, effect in enumerate(effects):
        if isinstance(effect, kind):
            return effect, [*effects[:index], *effects[index + 1 :]]
    return None, effects
