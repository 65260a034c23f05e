"""The toll: what SDKs pay for what they make the node do for nothing."""

from __future__ import annotations

from collections.abc import Callable

from rumormill.bcos.channel.session import Session
from rumormill.bcos.links.turn import Turn
from rumormill.core import trace
from rumormill.core.limits import WORN_OUT
from rumormill.core.transport import RestTransport

JUNK = 50.0
"""Microseconds for a packet that is of no use to anybody."""
BYTES_PER_MICROSECOND = 2048
"""Of a packet: it was put together, and copied."""
BYTES_PER_RPC_MICROSECOND = 32
"""Of an answer in JSON, which is made anew for each who asks."""
ANSWER = 20.0
"""For a question that the node answers by itself."""
TOPIC = 2.0
"""For a subscription that begins or ends."""
NAMED_TOPIC = 0.2
"""For a topic in a list that brings nothing new, or that the SDK is told."""
SMALL_READ = 10.0
"""For a few bytes of a packet that they do not finish."""


class Toll:
    """Charges the sessions of a node; ``drop`` ends one that does nothing else."""

    def __init__(self, turn: Turn, drop: Callable[[Session, str], None]) -> None:
        self._turn = turn
        self._drop = drop

    def junk(self, session: Session, kind: str, size: int) -> None:
        """The SDK sent something that is of no use."""
        session.work.spend(kind, JUNK + size / BYTES_PER_MICROSECOND)

    def service(self, session: Session, kind: str, cost: float) -> None:
        """The SDK wanted something that it may want, but not all the time."""
        session.work.spend(kind, cost, blame=False)

    def collect(self, session: Session) -> None:
        """Hold the SDK back if it has used up its allowance."""
        seconds = session.work.rest(self._turn.now)
        if seconds == WORN_OUT:
            self._turn.trace(
                trace.PROTOCOL_ERROR, peer=session.name, reason="too_much_work",
                detail=f"it has been held back too long, mostly for {session.work.reason}",
            )  # fmt: skip
            self._drop(session, "too_much_work")
        elif seconds:
            reason = session.work.reason
            self._turn.trace(trace.HELD_BACK, peer=session.name, reason=reason, seconds=seconds)
            self._turn.add(RestTransport(session.connection, seconds))
