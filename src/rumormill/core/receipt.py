"""What a publisher gets back: where the message went, and where it did not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rumormill.core.message import NO_FIELDS, bytes_as_json


class Outcome:
    """What a publisher can know where subscribers acknowledge. Plain strings, as they go into
    traces and JSON.
    """

    DELIVERED = "delivered"
    """A subscriber has acknowledged it."""
    UNKNOWN = "unknown"
    """It may have arrived: a subscriber has begun to take it, and nothing more was heard."""
    NO_SUBSCRIBER = "no_subscriber"
    """It was not delivered, and will not be: nobody has asked for it."""


class Receipt(NamedTuple):
    """Whom a message was handed to.

    >>> receipt = Receipt(b"\\x01", "weather", reached=("a", "b"), dropped={"c": "queue_full"})
    >>> receipt.peers, bool(receipt)
    (('a', 'b'), True)
    """

    id: bytes
    topic: str
    reached: tuple[str, ...] = ()
    """Peers whose line was free: the message leaves with the next write."""
    queued: tuple[str, ...] = ()
    """Peers that have older packets waiting; the message is behind them."""
    dropped: Mapping[str, str] = NO_FIELDS
    """Peers that should have got it and will not, each with the reason."""
    fields: Mapping[str, Any] = NO_FIELDS
    """What this family adds, such as ``seq`` (bep50)."""

    @property
    def outcome(self) -> str | None:
        """What became of it, as one of :class:`Outcome`; None where the network cannot tell."""
        return self.fields.get("outcome")

    @property
    def peers(self) -> tuple[str, ...]:
        """All peers that the message is on its way to."""
        return self.reached + self.queued

    def __bool__(self) -> bool:
        """True if it is on its way to anyone."""
        return bool(self.reached or self.queued)

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON object; bytes among its fields as in a message."""
        fields: dict[str, Any] = {}
        for name, value in self.fields.items():
            fields |= bytes_as_json(name, value) if isinstance(value, bytes) else {name: value}
        return {
            "id": self.id.hex(),
            "topic": self.topic,
            "reached": list(self.reached),
            "queued": list(self.queued),
            "dropped": dict(self.dropped),
            **fields,
        }
