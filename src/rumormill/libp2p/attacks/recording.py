"""Attacks in a spool: what the honest nodes trace, each attack as a network of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from rumormill.capture.log import require_pyarrow
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.attacks.arena import START
from rumormill.libp2p.attacks.scenario import Scenario

FIRST_TIME = 1_767_225_600.0
"""When the first attack begins, in seconds since 1970: fixed, as equal seeds give equal rows."""
MINUTE = 60.0


class Recording:
    """Writes traces to a spool, one attack after the other, each from a whole minute on.

    Readers that go by time, as the pipeline does, then find no attack before the last one's end.
    """

    def __init__(self, folder: Path) -> None:
        require_pyarrow()
        from rumormill.capture.writer import SpoolWriter

        self._writer = SpoolWriter(folder, live=False)
        self._begins = FIRST_TIME

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.close()

    def sink(self, scenario: Scenario, seconds: float) -> Callable[[TraceEvent], None]:
        """Where the events of the next attack go, which lasts so many seconds."""
        shift, network, trace = self._begins - START, network_name(scenario), self._writer.trace
        self._begins += MINUTE * (math.ceil(seconds / MINUTE) + 1)

        def keep(event: TraceEvent) -> None:
            trace(event._replace(time=event.time + shift), network)

        return keep


def network_name(scenario: Scenario) -> str:
    """What an attack is called in tables.

    >>> from rumormill.libp2p.attacks import find_attack
    >>> network_name(find_attack("cold boot"))
    'attack/cold-boot'
    """
    return f"attack/{scenario.name.replace(' ', '-')}"
