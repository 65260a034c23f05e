"""What a peer pays for frames that carry little: the allowance of work of one connection.

A frame costs us as much to open and to read with one byte in it as with a kilobyte. Those that
carry a kilobyte are free, whatever they carry: who reads it charges for it, as pubsub does.
"""

from __future__ import annotations

from collections.abc import Callable

from rumormill.core import trace
from rumormill.core.limits import WORN_OUT, Work, WorkLimits
from rumormill.core.transport import RestTransport
from rumormill.libp2p.host.table import Link, Turn

FRAME = 1.0
"""Microseconds that a frame costs, of Noise or of yamux."""

BYTES_PER_FRAME = 512
"""Bytes that come with each frame of a peer that wastes nothing: there are two layers of them."""


class FrameToll:
    """Charges the connections of a host.

    ``close`` ends one that does nothing else; ``tell`` says who is held back, for what and how
    long.
    """

    def __init__(
        self,
        turn: Turn,
        limits: WorkLimits,
        close: Callable[[Link, str, float], None],
        tell: Callable[[str, str, float, float], None],
    ) -> None:
        self._turn = turn
        self._limits = limits
        self._burst = limits.burst_cost
        self._close = close
        self._tell = tell

    def charge(self, link: Link, size: int, now: float) -> None:
        """So many bytes came on the connection, and were taken apart."""
        frames = link.connection.frames
        cost = (frames - link.frames - size / BYTES_PER_FRAME) * FRAME
        link.frames = frames
        if cost <= 0.0:
            return
        if link.work is None:
            link.work = Work(self._limits, now)
        link.work.spend("frames", cost)
        if link.work.debt > self._burst and not link.gone:
            self._hold_back(link, link.work, now)

    def _hold_back(self, link: Link, work: Work, now: float) -> None:
        seconds = work.rest(now)
        if seconds == WORN_OUT:
            reason, detail = "too_much_work", "held back too long for frames that carry little"
            self._turn.trace(now, trace.PROTOCOL_ERROR, link.peer, reason=reason, detail=detail)
            self._close(link, reason, now)
        elif seconds:
            self._turn.trace(
                now, trace.HELD_BACK, link.peer, address=link.address,
                reason=work.reason, seconds=seconds,
            )  # fmt: skip
            self._turn.effects.append(RestTransport(link.id, seconds))
            if link.peer:
                self._tell(link.peer, work.reason, seconds, now)
