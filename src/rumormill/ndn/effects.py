"""Inputs and effects of this family's two machines, the node and the client.

What they share with others is in :mod:`rumormill.core.machine` and :mod:`rumormill.core.transport`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Hold, NetworkInput, Received, Shutdown
from rumormill.core.receipt import Outcome, Receipt
from rumormill.core.transport import Dial, TransportInput

__all__ = ["Forget", "NdnInput", "Outcome", "Publication", "PublicationEnded"]

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

    ``receipt.outcome`` is one of :class:`~rumormill.core.receipt.Outcome`: a message is delivered
    when a subscriber has acknowledged it, unknown when somebody has fetched it and nothing more was
    heard, and had no subscriber when nobody has fetched it and nobody can any more.
    """

    token: int
    receipt: Receipt


NdnInput: TypeAlias = (
    NetworkInput | Hold | Shutdown | TransportInput | Received | Dial | Publication | Forget
)
"""What both machines take."""
