"""The beginning of a network's trace: ``network_opened`` first, whatever happens before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rumormill.core import trace
from rumormill.core.topic import Capabilities
from rumormill.core.trace import TraceEvent
from rumormill.live.driver import Driver


class TraceBeginning:
    """Tells that the network is open, once under each name of its node."""

    def __init__(self, driver: Driver[Any], capabilities: Capabilities) -> None:
        self._driver = driver
        self._capabilities = capabilities
        self._opened: dict[str, TraceEvent] = {}
        """By the name of the node: how we have told that the network is open."""
        self._waiting: list[Callable[[], None]] = []
        """Events of ours that wait for that: until then our name may be unknown."""

    @property
    def told(self) -> bool:
        """Whether the network was said to be open."""
        return bool(self._opened)

    @property
    def events(self) -> tuple[TraceEvent, ...]:
        """What a listener has to know that comes later."""
        return tuple(self._opened.values())

    def watch(self) -> None:
        """Open the trace before the first event of the machine, at the latest."""
        self._driver.on(TraceEvent, self._first_event)

    def _first_event(self, event: TraceEvent) -> None:
        """Carry out the first trace event of the machine, behind the one that opens the trace."""
        self.say_opened(event.node)
        self._driver.trace(event)

    def say_opened(self, node: str) -> None:
        """Say what the network promises, once under each name; a family whose nodes are called
        otherwise once they know their address says it again.
        """
        self._driver.on(TraceEvent, self._driver.trace)
        if node not in self._opened:
            event = trace.network_opened(self._driver.now(), node, self._capabilities)
            self._opened[node] = event
            self._driver.trace(event)
        self.say_what_waited()

    def later(self, say: Callable[[], None]) -> None:
        """Call ``say`` once the network was said to be open, or is closed."""
        self._waiting.append(say)

    def say_what_waited(self) -> None:
        """Tell the events that came before the beginning."""
        waited, self._waiting = self._waiting, []
        for say in waited:
            say()
