"""Virtual time: a queue of what is to happen, and a clock that jumps from one to the next.

Things that happen at the same time happen in the order in which they were scheduled; nothing
else, and above all no hash, decides on the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias

from rumormill.core.errors import LocalProtocolError, RumormillError

Action: TypeAlias = Callable[[Any], object]

SAME_INSTANT = 1e-9
"""Seconds. A machine that creeps ahead in smaller steps than this stands still."""


class LivelockError(RumormillError):
    """A node (or the script) kept acting while the time stood still.

    >>> print(LivelockError("node-a", 2.5, 1000))
    node-a acted 1000 times at 2.5 s and the time does not advance
    """

    def __init__(self, node: str, time: float, times: int) -> None:
        super().__init__(f"{node} acted {times} times at {time} s and the time does not advance")
        self.node = node
        self.time = time
        self.times = times


class Clock:
    """The time, and everything that is still to happen.

    >>> clock = Clock(start=100.0)
    >>> clock.schedule(102.0, print, "two")
    >>> clock.schedule(101.0, print, "one")
    >>> clock.run_until(110.0)
    one
    two
    >>> clock.now, clock.events
    (110.0, 2)
    """

    __slots__ = ("_running", "acting", "events", "now", "queue", "sequence")

    def __init__(self, start: float = 0.0) -> None:
        self.now = start
        self.events = 0
        """How many actions have run."""
        self.acting = False
        """True while the effects of a machine are being carried out; see :meth:`soon`."""
        self.queue: list[tuple[float, int, Action, Any]] = []
        self.sequence = count()
        self._running = False

    @property
    def idle(self) -> bool:
        """True if nothing is left to happen."""
        return not self.queue

    def schedule(self, time: float, action: Action, argument: Any = None) -> None:
        """Call ``action(argument)`` at ``time``, after all that is scheduled for it by now."""
        if not self.now <= time < math.inf:
            raise LocalProtocolError(f"nothing can be scheduled for {time} s at {self.now} s")
        heappush(self.queue, (time, next(self.sequence), action, argument))

    def soon(self, action: Action, argument: Any = None) -> None:
        """Call ``action(argument)`` now, or right after the effects that are being carried out.

        Inside a list of effects it has to wait: what it brings about must not overtake the rest
        of the list.
        """
        if self.acting:
            self.schedule(self.now, action, argument)
        else:
            action(argument)

    def step(self) -> bool:
        """Let the next thing happen; False if there is none."""
        if not self.queue:
            return False
        self._run(self.queue[0][0], at_most=1)
        return True

    def run_until(self, time: float) -> None:
        """Let everything happen that is due up to ``time``, and stand at ``time`` then."""
        if not self.now <= time < math.inf:
            raise LocalProtocolError(f"cannot run until {time} s: it is {self.now} s")
        self._run(time)
        self.now = time

    def run_until_idle(self, limit: float) -> bool:
        """Run until nothing is left; False if at the time ``limit`` something still is."""
        if not self.now <= limit < math.inf:
            raise LocalProtocolError(f"cannot run until {limit} s: it is {self.now} s")
        self._run(limit)
        if self.queue:
            self.now = limit
        return not self.queue

    def _run(self, time: float, at_most: float = math.inf) -> None:
        if self._running:
            raise LocalProtocolError("the simulation is running already: this call came from it")
        queue, events = self.queue, 0
        self._running = True
        try:
            while queue and queue[0][0] <= time and events < at_most:
                self.now, _, action, argument = heappop(queue)
                events += 1
                action(argument)
        finally:
            self._running = False
            self.events += events
