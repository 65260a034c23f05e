"""What has gone through the forwarder so far."""

from __future__ import annotations


class Statistics:
    """Packets of all faces since the start, and what became of Interests."""

    __slots__ = (
        "in_data", "in_interests", "in_nacks", "out_data", "out_interests", "out_nacks",
        "satisfied", "stored", "unsatisfied", "unsolicited",
    )  # fmt: skip

    def __init__(self) -> None:
        self.in_interests = 0
        self.in_data = 0
        self.in_nacks = 0
        self.out_interests = 0
        self.out_data = 0
        self.out_nacks = 0
        self.satisfied = 0
        """Interests that were answered by who was asked."""
        self.stored = 0
        """Interests that were answered by the content store."""
        self.unsatisfied = 0
        """Interests that ended without Data."""
        self.unsolicited = 0
        """Data that nobody waited for."""
