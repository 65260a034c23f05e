"""Churn: nodes that leave and come back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TypeAlias

from rumormill.core.errors import ConfigError
from rumormill.simulate.randomness import derive_random
from rumormill.simulate.simulation import AnyMachine, Simulation

Factory: TypeAlias = Callable[[str, random.Random], AnyMachine]
"""Makes the machine of a node that comes back, from its name and a random source."""


class Churn:
    """Lets each of ``names`` stay and be away for random times, until it is stopped.

    Times are exponentially distributed around ``mean_uptime`` and ``mean_downtime`` seconds, and
    depend for each node on the seed and its name alone. ``returned(name)`` is called when a node
    is back, to subscribe it again, say.
    """

    def __init__(
        self,
        simulation: Simulation,
        names: Iterable[str],
        factory: Factory,
        *,
        mean_uptime: float,
        mean_downtime: float,
        silent: bool = False,
        returned: Callable[[str], object] | None = None,
    ) -> None:
        for key, value in (("mean_uptime", mean_uptime), ("mean_downtime", mean_downtime)):
            if not value > 0:
                raise ConfigError(key, f"must be above 0, not {value}")
        self.leaves = 0
        self.returns = 0
        self._simulation = simulation
        self._factory = factory
        self._mean_uptime = mean_uptime
        self._mean_downtime = mean_downtime
        self._silent = silent
        self._returned = returned
        self._stopped = False
        self._lives: dict[str, int] = {}
        for name in names:
            self._lives[name] = 0
            self._schedule_leave(name, derive_random(simulation.seed, "churn", name))

    def stop(self) -> None:
        """Nobody leaves any more; those who are away still come back."""
        self._stopped = True

    def _schedule_leave(self, name: str, entropy: random.Random) -> None:
        stays = entropy.expovariate(1 / self._mean_uptime)
        simulation = self._simulation
        simulation.at(simulation.now + stays, lambda: self._leave(name, entropy))

    def _leave(self, name: str, entropy: random.Random) -> None:
        simulation = self._simulation
        if self._stopped:
            return
        if simulation.alive(name):  # the script may have crashed it itself
            simulation.crash(name, silent=self._silent)
            self.leaves += 1
        away = entropy.expovariate(1 / self._mean_downtime)
        simulation.at(simulation.now + away, lambda: self._return(name, entropy))

    def _return(self, name: str, entropy: random.Random) -> None:
        simulation = self._simulation
        if not simulation.alive(name):
            self._lives[name] += 1
            source = simulation.random_for(name, self._lives[name])
            simulation.restart(name, self._factory(name, source))
            self.returns += 1
            if self._returned is not None:
                self._returned(name)
        self._schedule_leave(name, entropy)
