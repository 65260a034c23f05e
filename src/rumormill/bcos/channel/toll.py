"""The toll: what SDKs pay for what they make the node do for nothing.

An SDK that leaves in debt and comes again has nothing at once: debts are kept for the certificate
that it came with. Others may have the same; an honest one needs little of its allowance, and hardly
notices.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from rumormill.bcos.channel.session import Session
from rumormill.core import trace
from rumormill.core.limits import WORN_OUT, Work, WorkLimits
from rumormill.core.transport import RestTransport
from rumormill.core.turn import Turn

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

MOST_DEBTORS = 1024
"""Certificates that somebody left in debt with, whose accounts are kept."""


class Toll:
    """Charges the sessions of a node; ``drop`` ends one that does nothing else."""

    def __init__(self, turn: Turn, drop: Callable[[Session, str], None]) -> None:
        self._turn = turn
        self._drop = drop
        self._burst = WorkLimits().burst_cost
        self._debtors: OrderedDict[bytes, Work] = OrderedDict()

    def came(self, session: Session) -> None:
        """An SDK is there: perhaps it has been here before."""
        earlier = self._debtors.pop(session.account, None)
        if earlier is not None:
            owed = min(earlier.owed(self._turn.now), self._burst)
            session.work.spend("debts", owed, blame=False)

    def left(self, session: Session) -> None:
        """An SDK is gone: if it owes something, its account waits for it."""
        if session.work.owed(self._turn.now) > self._burst / 2:
            self._debtors[session.account] = session.work
            self._debtors.move_to_end(session.account)
            if len(self._debtors) > MOST_DEBTORS:
                self._debtors.popitem(last=False)

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
                trace.PROTOCOL_ERROR, peer=session.peer, reason="too_much_work",
                detail=f"it has been held back too long, mostly for {session.work.reason}",
            )  # fmt: skip
            self._drop(session, "too_much_work")
        elif seconds:
            reason = session.work.reason
            self._turn.trace(trace.HELD_BACK, peer=session.peer, reason=reason, seconds=seconds)
            self._turn.add(RestTransport(session.connection, seconds))

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {"debtors": len(self._debtors)}
