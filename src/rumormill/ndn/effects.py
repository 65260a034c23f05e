"""Inputs and effects of this family's two machines, the node and the client.

What they share with others is in :mod:`rumormill.core.machine` and :mod:`rumormill.core.transport`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Hold, NetworkInput, Received, Shutdown
from rumormill.core.receipt import Receipt
from rumormill.core.transport import Dial, TransportInput

# ---- inputs


class Publication(NamedTuple):
    """The application publishes ``data``; it ends with a :class:`PublicationEnded` of its token."""

    token: int
    topic: str
    data: bytes


class Forget(NamedTuple):
    """Nobody waits any more for what has this token; what was sent stays sent."""

    token: int


# ---- effects


class PublicationEnded(NamedTuple):
    """What became of a :class:`Publication`.

    ``receipt.fields["outcome"]`` is one of :class:`Outcome`.
    """

    token: int
    receipt: Receipt


class Outcome:
    """What a publisher can know of a message. Plain strings, as they go into traces and JSON."""

    DELIVERED = "delivered"
    """A subscriber has acknowledged it."""
    UNKNOWN = "unknown"
    """A subscriber has fetched it, and its acknowledgement never came."""
    NO_SUBSCRIBER = "no_subscriber"
    """Nobody has fetched it, and nobody can any more: it was not delivered."""


NdnInput: TypeAlias = (
    NetworkInput | Hold | Shutdown | TransportInput | Received | Dial | Publication | Forget
)
"""What both machines take."""
