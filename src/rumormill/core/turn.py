"""One turn of a machine that has parts: each adds effects, and the machine hands them out."""

from __future__ import annotations

from rumormill.core.trace import TraceEvent, type_of_field


class Turn:
    """What comes of one input, and when that is.

    >>> turn = Turn("node-a")
    >>> turn.begin(12.5)
    >>> turn.trace("peer_left", peer="node-b", reason="closed")
    >>> [(event.time, event.event) for event in turn.take()]
    [(12.5, 'peer_left')]
    """

    __slots__ = ("_effects", "name", "now")

    def __init__(self, name: str) -> None:
        self.name = name
        """What this node is called in trace events."""
        self.now = 0.0
        self._effects: list[object] = []

    def begin(self, now: float) -> None:
        """An input came at ``now``."""
        self.now = now

    def add(self, effect: object) -> None:
        """Want something done."""
        self._effects.append(effect)

    def trace(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        peer: str | None = None,
        **fields: type_of_field,
    ) -> None:
        """Something has happened."""
        self._effects.append(
            TraceEvent(self.now, self.name, event, topic, message_id, peer, fields)
        )

    def take(self) -> list[object]:
        """All that came of it; the next turn begins with nothing."""
        effects, self._effects = self._effects, []
        return effects
