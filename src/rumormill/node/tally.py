"""What the HTTP side refused, closed or gave up on: counted at once, traced once a second.

A flood of connections must not become a flood of trace events: what repeats within a second is one
event, with its ``count``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from rumormill.core.trace import type_of_field

CLOSED: Final = "http_closed"
"""A connection was closed by us, or not taken; fields: reason, address, count."""
REFUSED: Final = "http_refused"
"""A request was answered with an error; fields: reason (the status), address, count."""

MOST_ADDRESSES: Final = 32
"""That are named within a second; of further ones only the sum is told."""

Emit = Callable[..., None]
"""As :meth:`rumormill.Network.emit`."""


class Tally:
    """Counters of the HTTP side.

    >>> tally = Tally()
    >>> tally.add(CLOSED, "idle_timeout", "192.0.2.1")
    >>> dict(tally.counters)
    {'http_closed': 1, 'http_closed.idle_timeout': 1}
    """

    def __init__(self, emit: Emit | None = None) -> None:
        self._emit = emit
        self._counters: Counter[str] = Counter()
        self.counters: Mapping[str, int] = MappingProxyType(self._counters)
        """How often each thing happened: ``http_closed.evicted``; 0 if never."""
        self._untold: Counter[tuple[str, str, str | None]] = Counter()
        self._named: set[str] = set()

    def add(self, event: str, reason: str, address: str | None = None) -> None:
        """Something happened, with a connection from this address."""
        self._counters[event] += 1
        self._counters[f"{event}.{reason}"] += 1
        if address is not None and address not in self._named:
            if len(self._named) < MOST_ADDRESSES:
                self._named.add(address)
            else:
                address = None
        self._untold[event, reason, address] += 1

    def tell(self) -> None:
        """Trace what happened since the last time."""
        untold = list(self._untold.items())
        self._untold.clear()
        self._named.clear()
        if self._emit is None:
            return
        for (event, reason, address), count in untold:
            fields: dict[str, type_of_field] = {"reason": reason, "address": address}
            self._emit(event, **fields, count=count)
