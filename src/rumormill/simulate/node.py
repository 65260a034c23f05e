"""A node: one machine, its timer, and the rule that it must let the time advance."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Machine
from rumormill.simulate.clock import SAME_INSTANT, Clock, LivelockError

if TYPE_CHECKING:
    from rumormill.simulate.connection import End


class UnknownEffectError(LocalProtocolError):
    """A machine returned an effect that nobody carries out."""

    def __init__(self, node: str, effect: object) -> None:
        name = f"{type(effect).__module__}.{type(effect).__qualname__}"
        super().__init__(
            f"{node} returned a {name}, which the simulation does not carry out; "
            f"give it a handler with on_effect({type(effect).__qualname__}, ...)"
        )
        self.node = node
        self.effect = effect


class Handlers(dict[type, "Handler"]):
    """What is done for each type of effect; a type that is missing is an error."""

    def __missing__(self, effect_type: type) -> Handler:
        """The handler of a type that has none."""
        return self._unknown

    @staticmethod
    def _unknown(node: Node, effect: object) -> None:
        raise UnknownEffectError(node.name, effect)


class Node:
    """A machine at work under a name. A restart makes a new node of the same name."""

    __slots__ = (
        "_handle", "_limit", "_next_wake", "_random", "_random_source", "_still_times",
        "_still_until", "_wakes", "address", "alive", "busy_until", "clock", "credentials", "ends",
        "handlers", "life", "machine", "name", "services", "vanished",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        machine: Machine[Any, object],
        clock: Clock,
        handlers: Handlers,
        random_source: Callable[[], random.Random],
        livelock_limit: int,
        life: int = 0,
    ) -> None:
        self.name = name
        self.machine = machine
        self.clock = clock
        self.handlers = handlers
        self.life = life
        """How often it was restarted."""
        self.alive = True
        self.vanished = False
        """Crashed without a last word: nobody answers for it, not even to refuse."""
        self.address = ""
        self.credentials = b""
        """What others see in ``TransportOpened.credentials``."""
        self.services: Mapping[str, int] = {}
        """The ports of further listeners, by the name of the service."""
        self.ends: dict[Any, End] = {}
        """Its side of every connection, by what its machine calls the other side."""
        self.busy_until = clock.now
        """Its one processor is checking messages until then."""
        self._random_source = random_source
        self._random: random.Random | None = None
        self._limit = livelock_limit
        self._handle = machine.handle
        self._next_wake = machine.next_wake
        self._wakes: list[float] = []  # times of our wakes in the queue, the earliest last
        self._still_until = -math.inf
        self._still_times = 0
        self._arm(machine.next_wake())

    @property
    def random(self) -> random.Random:
        """What chance does to the links of this node; not the source that its machine has."""
        if self._random is None:  # most nodes never need it, and it has 2.5 kB
            self._random = self._random_source()
        return self._random

    def feed(self, input: object) -> Sequence[Any]:
        """Give ``input`` to the machine and carry out what follows."""
        if not self.alive:
            return []
        clock = self.clock
        now = clock.now
        if now <= self._still_until:
            self._count_still(now)
        else:
            self._still_until = now + SAME_INSTANT
            self._still_times = 1
        try:
            effects = self._handle(input, now)
            if effects:
                # As _carry_out, spelled out: this runs for every packet.
                handlers = self.handlers
                clock.acting = True
                for effect in effects:
                    handlers[type(effect)](self, effect)
                clock.acting = False
            wake = self._next_wake()
        except Exception as error:
            clock.acting = False
            self._annotate(error, type(input).__name__)
            raise
        if wake is not None and (not self._wakes or wake < self._wakes[-1]):
            self._arm(wake)
        return effects

    def _due(self, _: None) -> None:
        """A wake has come up in the queue; the machine may have put it off meanwhile."""
        if not self.alive:
            return
        self._wakes.pop()
        now = self.clock.now
        wake = self._next_wake()
        if wake is not None and wake <= now:
            if now <= self._still_until:
                self._count_still(now)
            else:
                self._still_until, self._still_times = now + SAME_INSTANT, 1
            try:
                effects = self.machine.wake(now)
                if effects:
                    self._carry_out(effects)
                wake = self._next_wake()
            except Exception as error:
                self._annotate(error, "wake")
                raise
        self._arm(wake)

    def _arm(self, wake: float | None) -> None:
        """Schedule a wake, unless one that is as early is scheduled already.

        The times in ``_wakes`` fall strictly, so the queue never holds two wakes of a node for
        the same time, however often a timer is moved.
        """
        if wake is None or wake == math.inf:
            return
        if wake <= self.clock.now:
            wake = self.clock.now
        if not self._wakes or wake < self._wakes[-1]:
            self.clock.schedule(wake, self._due)
            self._wakes.append(wake)

    def _carry_out(self, effects: Sequence[object]) -> None:
        handlers = self.handlers
        self.clock.acting = True
        try:
            for effect in effects:
                handlers[type(effect)](self, effect)
        finally:
            self.clock.acting = False

    def _count_still(self, now: float) -> None:
        """Count what is done at one instant, and give up when there is no end to it."""
        self._still_times += 1
        if self._still_times > self._limit:
            raise LivelockError(self.name, now, self._still_times)

    def _annotate(self, error: Exception, occasion: str) -> None:
        error.add_note(f"in the simulation: node {self.name!r} at {self.clock.now} s, {occasion}")


Handler: TypeAlias = Callable[[Node, Any], object]
