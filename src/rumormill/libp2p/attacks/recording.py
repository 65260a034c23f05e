"""Attacks in a spool: what the honest nodes trace, each attack as a network of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from rumormill.capture.log import require_pyarrow
from rumormill.core.trace import PEER_JOINED, PEER_LEFT, TraceEvent
from rumormill.libp2p.attacks.arena import START
from rumormill.libp2p.attacks.scenario import Scenario
from rumormill.live.tracing.summaries import Summaries

FIRST_TIME = 1_767_225_600.0
"""When the first attack begins, in seconds since 1970: fixed, as equal seeds give equal rows."""
MINUTE = 60.0


class Recording:
    """Writes traces to a spool, one attack after the other, each from a whole minute on.

    Readers that go by time, as the pipeline does, then find no attack before the last one's end.
    """

    def __init__(self, folder: Path) -> None:
        require_pyarrow()
        from rumormill.capture.writing.writer import SpoolWriter

        self._writer = SpoolWriter(folder, live=False)
        self._begins = FIRST_TIME
        self._nodes: dict[str, Summing] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._flush()
        self._writer.close()

    def sink(self, network: str, seconds: float) -> Callable[[TraceEvent], None]:
        """Where the events of the next run go, which lasts so many seconds.

        What repeats is summed up as a live node does it, or a flood would be the whole of the
        spool: see docs/traces.md.
        """
        self._flush()
        shift, trace = self._begins - START, self._writer.trace
        self._begins += MINUTE * (math.ceil(seconds / MINUTE) + 1)

        def keep(event: TraceEvent) -> None:
            trace(event, network)

        def see(event: TraceEvent) -> None:
            of_node = self._nodes.get(event.node)
            if of_node is None:
                of_node = self._nodes[event.node] = Summing(keep)
            of_node.see(event._replace(time=event.time + shift))

        return see

    def _flush(self) -> None:
        """The run is over."""
        for of_node in self._nodes.values():
            of_node.flush()
        self._nodes = {}


class Summing(Summaries):
    """What repeats in the trace of one node is summed up; it knows its peers from the trace."""

    def __init__(self, show: Callable[[TraceEvent], object]) -> None:
        super().__init__(show, peers=lambda: self._present)
        self._present: dict[str, None] = {}

    def see(self, event: TraceEvent) -> None:
        """One more event."""
        if event.event == PEER_JOINED and event.peer is not None:
            self._present[event.peer] = None
        elif event.event == PEER_LEFT and event.peer is not None:
            self._present.pop(event.peer, None)
        super().see(event)


def network_name(scenario: Scenario, seed: int | None = None) -> str:
    """What a run is called in tables, with its seed if there are several.

    >>> from rumormill.libp2p.attacks import find_attack
    >>> network_name(find_attack("cold boot")), network_name(find_attack("calm"), seed=3)
    ('attack/cold-boot', 'attack/calm/3')
    """
    name = f"attack/{scenario.name.replace(' ', '-')}"
    return name if seed is None else f"{name}/{seed}"
