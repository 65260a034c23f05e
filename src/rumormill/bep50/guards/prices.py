"""What each kind of packet costs its source: microseconds of one core, and something for the line.

What is of use is not in this table: an answer to a query of ours, a new value with a good
signature. With the default allowance (``work_share``, ``work_burst``) a source gets 200 answers a
second and 1000 at once.
"""

from __future__ import annotations

from typing import NamedTuple


class Price(NamedTuple):
    """Of one packet."""

    kind: str
    """Its name in the trace."""
    cost: float
    blame: bool = False
    """Whether no honest node sends such: then it is worn out sooner."""


ANSWER = Price("queries", 100.0)
"""A query that is answered: half of it is our time, half that others may ask in its name."""

VALUE = Price("values", 900.0)
"""A value in the answer to who did not show its token: the address may be another's, which would
get nine times as much as was sent."""

UNKNOWN_TOPIC = Price("unknown_topics", 100.0)
"""A query in a topic that we take no part in: honest only from those who knew us when we did."""

UNWANTED_QUERY = Price("unwanted_queries", 50.0)
"""One that is read and not answered: of the main DHT, or to a read-only node."""

UNASKED_ANSWER = Price("unasked_answers", 50.0)
"""An answer to nothing, or one that came too late."""

BAD_QUERY = Price("bad_queries", 100.0, blame=True)
"""A query whose form is wrong, and the error that it is answered with."""

UNREADABLE = Price("unreadable_packets", 5_000.0, blame=True)
"""Bytes that are no packet. Much more than it takes to see that: nobody sends many."""

COPY = Price("copies", 5.0)
"""A value that we have, from a neighbour: on a fast topic there are many."""

REFUSED_PUT = Price("refused_puts", 100.0)
"""A put with a bad token, of the wrong item, or of an old value, and the answer."""

UNWANTED_ITEM = Price("unwanted_items", 100.0)
"""A genuine value that a validator of the user does not want."""

FORGED_ITEM = Price("forged_items", 10_000.0, blame=True)
"""A value with a wrong signature. A node checks before it passes on, so only who forges has
such: it costs far more than the check."""
