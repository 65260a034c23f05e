"""One address that is dialed or kept, and where it stands."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """Where an address stands."""

    WAITING = "waiting"
    """To be dialed when its time comes."""
    OPENING = "opening"
    """The transport is being opened."""
    SHAKING = "shaking"
    """The transport stands, the handshake is under way."""
    CONNECTED = "connected"


class Target:
    """One address that somebody wants us to be connected to."""

    __slots__ = (
        "address", "attempt", "connected_at", "dial", "expected", "hearsay", "keep", "owed",
        "peer", "phase", "visit",
    )  # fmt: skip

    def __init__(self, address: str, expected: str | None) -> None:
        self.address = address
        self.expected = expected
        """The peer that the address names."""
        self.peer = expected
        """Who was there last. At an address that names nobody, another may be there next time."""
        self.keep = False
        self.hearsay = False
        """Others told us of it: if it fails, the next of the peer's addresses is tried."""
        self.visit = False
        """Only to ask something: it is left again, and counts among visits."""
        self.owed = False
        """The user has not heard yet how the dial went."""
        self.phase = Phase.WAITING
        self.dial = 0
        self.attempt = 0
        """Dials put off since the last connection that lasted."""
        self.connected_at = float("inf")
