"""A listener of a spool's writer that a test waits on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any


class Told:
    """What the writer tells, and when it has told it."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._happened = threading.Condition()

    def __call__(self, event: str, fields: Mapping[str, Any]) -> None:
        with self._happened:
            self.events.append((event, dict(fields)))
            self._happened.notify_all()

    def wait_for(self, event: str, **expected: Any) -> dict[str, Any]:
        """The fields of the last event of that name, with these among its fields."""

        def found() -> list[dict[str, Any]]:
            return [
                fields
                for name, fields in self.events
                if name == event and expected.items() <= fields.items()
            ]

        with self._happened:
            assert self._happened.wait_for(found, 60), self.events
            return found()[-1]

    def names_of(self, kind: str) -> list[str]:
        """The names of all events about that kind of records, and of those about losses."""
        return [name for name, fields in self.events if fields.get("kind", kind) == kind]

    @property
    def names(self) -> list[str]:
        return [event for event, _ in self.events]
