"""Nacks: which reason is told to those who wait, and about which Interest."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.ndn.forwarder.tables.pit_entry import InRecord, PitEntry
from rumormill.ndn.wire.interest import Interest, with_nonce
from rumormill.ndn.wire.link import NackReason


def least_severe(reasons: Iterable[int | None]) -> int:
    """What is told if several could not answer: the reason that is likeliest to pass.

    >>> least_severe([NackReason.NO_ROUTE, NackReason.CONGESTION]), least_severe([])
    (50, 150)
    """
    found = [reason for reason in reasons if reason is not None]
    if not found:
        return NackReason.NO_ROUTE  # all who were asked are gone
    return min((reason for reason in found if reason), default=NackReason.NONE)


def as_asked(entry: PitEntry, record: InRecord) -> Interest:
    """The Interest as one who waits has sent it: with its own nonce."""
    interest = entry.interest
    return interest if interest.nonce == record.nonce else with_nonce(interest, record.nonce)
