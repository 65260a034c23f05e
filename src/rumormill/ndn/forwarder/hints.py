"""Forwarding hints: where an Interest goes whose own name nobody here knows a way for.

1. A node that is in a region (setting ``regions``) that a name of the hint is a prefix of takes the
   hint off: from here on the name itself is looked up.
2. A route for a prefix of the name wins, if it is not the one for everything.
3. Else the first name of the hint that has such a route is followed.
4. Else the route for everything is followed.
5. An application on this machine that a name of the hint led to gets the Interest without it: it
   is who the Interest is for, and could only be misled by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rumormill.ndn.forwarder.tables.fib import Fib, NextHop, Origin
from rumormill.ndn.wire.interest import FORWARDING_HINT, INTEREST, Interest, decode_interest
from rumormill.ndn.wire.name import Name, is_prefix
from rumormill.ndn.wire.tlv import read_head, tlv

APPLICATIONS: Final = (Origin.APPLICATION, Origin.CLIENT)
"""Origins of the routes that programs have made for themselves."""


def leads_here(hint: Sequence[Name], regions: Sequence[Name]) -> bool:
    """Whether a hint has led to its goal: one of its names is a prefix of one of the regions."""
    return any(is_prefix(name, region) for name in hint for region in regions)


def next_hops(fib: Fib, interest: Interest) -> tuple[NextHop, ...]:
    """The next hops of an Interest with a hint."""
    found = fib.specific_hops(interest.name)
    if found:
        return found
    for name in interest.forwarding_hint:
        found = fib.specific_hops(name)
        if found:
            return found
    return fib.next_hops(interest.name)


def is_for(hop: NextHop) -> bool:
    """Whether a next hop is an application on this machine."""
    return hop.face.local and hop.origin in APPLICATIONS


def without_hint(interest: Interest) -> Interest:
    """The same Interest without its hint. No signature covers it, nor does any digest."""
    raw = interest.raw
    _, start, end = read_head(raw, 0, len(raw))
    at = start
    while at < end:
        kind, _, stop = read_head(raw, at, end)
        if kind == FORWARDING_HINT:
            changed = tlv(INTEREST, raw[start:at] + raw[stop:end])
            return decode_interest(changed, len(changed))
        at = stop
    return interest
