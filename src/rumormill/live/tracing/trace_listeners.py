"""Who listens to the trace of a network: spools, files, applications.

They see what repeats summed up (:mod:`rumormill.live.tracing.summaries`), so that no stranger
decides how much they have to take. Counters, and whatever waits for something to happen, are told
of each event by the driver itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rumormill.core.trace import TraceEvent
from rumormill.live.driver import Driver, TraceListener
from rumormill.live.tracing.summaries import Summaries


class TraceListeners:
    """The listeners of one network; costs nothing while there are none."""

    def __init__(
        self,
        driver: Driver[Any],
        *,
        each: int,
        more: Collection[str],
        peers: Callable[[], Collection[str]],
    ) -> None:
        self._driver = driver
        self._summaries = Summaries(self._show, each=each, more=more, peers=peers)
        self._listeners: tuple[TraceListener, ...] = ()
        self._stop: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._listeners)

    def add(
        self, listener: TraceListener, earlier: Sequence[TraceEvent] = ()
    ) -> Callable[[], None]:
        """Call ``listener`` from now on; returns how to stop that.

        ``earlier``: what it has missed and has to know.
        """
        for event in earlier:
            self._tell(listener, event)
        self._listeners = (*self._listeners, listener)
        if self._stop is None:
            self._stop = self._driver.on_trace(self._see)

        def stop() -> None:
            if listener in self._listeners:
                self._summaries.flush()  # some of what waits is of its time
            self._listeners = tuple(each for each in self._listeners if each is not listener)
            if not self._listeners and self._stop is not None:
                self._stop()
                self._stop = None

        return stop

    def _see(self, event: TraceEvent) -> None:
        if self._closed:
            self._show(event)
            return
        self._summaries.see(event)
        if self._timer is None and self._summaries.due is not None:
            delay = max(0.0, self._summaries.due - self._driver.now())
            self._timer = asyncio.get_running_loop().call_later(delay, self._turn)

    def _turn(self) -> None:
        """The second is over."""
        self._timer = None
        self._summaries.flush()

    def _show(self, event: TraceEvent) -> None:
        for listener in self._listeners:
            self._tell(listener, event)

    def _tell(self, listener: TraceListener, event: TraceEvent) -> None:
        try:
            listener(event)
        except Exception:
            self._driver.listener_failed(listener)

    def close(self) -> None:
        """Show what waits; what comes from now on passes as it is, as nobody shows it later."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._summaries.flush()
