"""The life of the pubsub stream that we write to one peer: asked for, open, full, broken."""

from __future__ import annotations

import enum

from rumormill.libp2p.host.table import Link


class Phase(enum.Enum):
    """Where the stream stands."""

    ABSENT = "absent"
    """There is none, and none will be asked for unless something changes."""
    ASKED = "asked"
    """The peer has been asked for one and has not answered."""
    OPEN = "open"
    """The peer has agreed: it takes bytes."""
    FULL = "full"
    """So much waits for the peer's window that pubsub is to wait."""
    BROKEN = "broken"
    """The last one is gone; the next is asked for when its time has come."""


FOLLOWS: dict[Phase, frozenset[Phase]] = {
    Phase.ABSENT: frozenset({Phase.ASKED}),
    Phase.ASKED: frozenset({Phase.OPEN, Phase.BROKEN, Phase.ABSENT}),
    Phase.OPEN: frozenset({Phase.FULL, Phase.BROKEN, Phase.ABSENT}),
    Phase.FULL: frozenset({Phase.OPEN, Phase.BROKEN, Phase.ABSENT}),
    Phase.BROKEN: frozenset({Phase.ASKED, Phase.ABSENT}),
}
"""Which phase may follow which; everything else is a fault of ours."""


class OutboundStream:
    """One after the other, the streams that we write to a peer; at most one at a time."""

    __slots__ = (
        "_mark", "agreed_at", "attempts", "link", "number", "phase", "retry_at", "stall_at",
        "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.phase = Phase.ABSENT
        self.link: Link | None = None
        """The connection of the one that there is, or was last."""
        self.number = 0
        """Its number on that connection."""
        self.attempts = 0
        """How often one was asked for since the last that lasted."""
        self.agreed_at: float | None = None
        """When the peer agreed to the last one; None if it never did."""
        self.retry_at: float | None = None
        """When the next one is to be asked for; set while BROKEN."""
        self.stall_at: float | None = None
        """When to look whether the peer's window has moved; set while bytes wait for it."""
        self.written = 0
        self._mark = 0

    # ---- transitions

    def ask(self, link: Link, number: int) -> None:
        """The peer was asked for a stream."""
        self._enter(Phase.ASKED)
        self.link, self.number = link, number
        self.attempts += 1
        self.written = 0

    def agree(self, now: float) -> None:
        """The peer took it."""
        self._enter(Phase.OPEN)
        self.agreed_at = now

    def fill(self) -> None:
        """More waits for the peer's window than there should."""
        if self.phase is Phase.OPEN:
            self._enter(Phase.FULL)

    def drain(self) -> None:
        """Everything that waited for the peer's window has left."""
        self.stall_at = None
        if self.phase is Phase.FULL:
            self._enter(Phase.OPEN)

    def break_off(self, retry_at: float) -> None:
        """The stream is gone; another is to be asked for at ``retry_at``."""
        self._enter(Phase.BROKEN)
        self.retry_at = retry_at

    def give_up(self) -> None:
        """There is no stream, and there will be none for now."""
        if self.phase is not Phase.ABSENT:
            self._enter(Phase.ABSENT)

    def _enter(self, phase: Phase) -> None:
        assert phase in FOLLOWS[self.phase], f"{self.phase.name} to {phase.name}"
        self.phase = phase
        if phase is not Phase.FULL and phase is not Phase.OPEN:
            self.stall_at = None
        self.retry_at = None

    # ---- what there is

    @property
    def agreed(self) -> bool:
        """Whether there is a stream that the peer has agreed to."""
        return self.phase is Phase.OPEN or self.phase is Phase.FULL

    @property
    def alive(self) -> bool:
        """Whether there is a stream, or the peer is just being asked for one."""
        return self.phase not in (Phase.ABSENT, Phase.BROKEN)

    def on(self, link: Link) -> bool:
        """Whether it is on this connection."""
        return self.link is link and self.alive

    def ready(self) -> bool:
        """Whether pubsub may hand us more."""
        return self.phase is Phase.OPEN and self.link is not None and self.link.write_ready

    # ---- does it move?

    def watch(self, unsent: int, until: float) -> None:
        """Bytes wait for the peer's window; by ``until`` some of them should have left."""
        self._mark = self.written - unsent
        self.stall_at = until

    def moved(self, unsent: int) -> bool:
        """Whether any byte has left since :meth:`watch`."""
        return self.written - unsent > self._mark

    def next_wake(self) -> float | None:
        """When it wants to be looked at: to be asked for again, or to see whether it moves."""
        return self.stall_at if self.retry_at is None else self.retry_at
