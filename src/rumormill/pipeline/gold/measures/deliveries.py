"""What a row of ``deliveries`` counts as."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

FIRST: Final = "first"
_EXPECTED: Final = "expected"


def delivered() -> Column:
    """A first copy, at a node other than the publisher."""
    return F.col(FIRST)


def came() -> Column:
    """A first copy that was expected."""
    return F.col(FIRST) & F.col(_EXPECTED)


def unexpected() -> Column:
    """A first copy at a node of which it was not expected, or of an unknown publication."""
    return F.col(FIRST) & ~F.col(_EXPECTED)


def missing() -> Column:
    """Expected, and neither it came nor a newer value of the topic."""
    return F.col(_EXPECTED) & ~F.col(FIRST) & F.col("superseded_at").isNull()


def skipped() -> Column:
    """Expected, and a newer value of the topic came instead."""
    return F.col(_EXPECTED) & ~F.col(FIRST) & F.col("superseded_at").isNotNull()


def copies() -> Column:
    """All copies of the message that came to the node."""
    return F.col(FIRST).cast("long") + F.coalesce("duplicates", F.lit(0))
