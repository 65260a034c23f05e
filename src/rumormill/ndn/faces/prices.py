"""What it costs to send us what is of no use: microseconds of one core.

Interests, Data and Nacks that can be read cost nothing here: what they are worth, only who gets
them can say.
"""

from __future__ import annotations

from typing import Final

JUNK: Final = 50.0
"""For a packet that cannot be read, beside its bytes. More than it takes to see that: nobody sends
many."""

BYTES_PER_MICROSECOND: Final = 500
"""Of such a packet: to check a digest takes longest."""

EMPTY: Final = 5.0
"""For a link packet without a packet: acknowledgements of links, which we ask for none of."""

FRAGMENT: Final = 5.0
"""For each fragment of a packet that never became whole. Links lose datagrams, so that nobody is to
blame."""

SMALL_READ: Final = 10.0
"""For a few bytes of a packet that they do not finish."""

SMALL_READ_BYTES: Final = 512

REFUSED: Final = 20.0
"""For a packet of a stranger for whom there is no room."""


def junk(size: int) -> float:
    """The price of so many bytes that cannot be read.

    >>> junk(1000)
    52.0
    """
    return JUNK + size / BYTES_PER_MICROSECOND
