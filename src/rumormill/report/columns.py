"""The columns of the report's tables: what a figure is called, means, and looks like.

A figure is named by its place in the JSON form: ``latency_ms.p50`` is ``["latency_ms"]["p50"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rumormill.report.words import count, digits, milliseconds, percent, size, text


@dataclass(frozen=True)
class Column:
    """One figure of a topic or of a peer."""

    figure: str
    heading: str
    hint: str = ""
    show: Callable[[Any], str] = count
    style: str = ""
    """``bad``: red if it is not zero; ``meter``: with a bar; ``text``: not a number."""
    better: int = 0
    """1 if more is better, -1 if less is, 0 if neither."""
    title: str = ""
    """What it is called where no other column explains it."""

    @property
    def name(self) -> str:
        """What it is called in a list of figures."""
        return self.title or self.heading

    def of(self, figures: Mapping[str, Any]) -> Any:
        """The value in an object of the JSON form."""
        value: Any = figures
        for part in self.figure.split("."):
            value = None if value is None else value[part]
        return value


TOPICS = (
    Column("ratio", "ratio", "the share of what was promised that happened: expected deliveries, "
           "or times that a subscriber had this value or a newer one", percent, "meter", 1),
    Column("missing", "missing", "expected and not delivered; of newest values, neither it nor a "
           "newer one in time", count, "bad", -1),
    Column("skipped", "skipped", "values that a newer one overtook: as it should be where the "
           "newest value is promised"),
    Column("latency_ms.p50", "p50", "half took at most this", milliseconds, "", -1, "latency p50"),
    Column("latency_ms.p90", "p90", "nine tenths took at most this", milliseconds, "", -1,
           "latency p90"),
    Column("latency_ms.p99", "p99", "99 of 100 took at most this", milliseconds, "", -1,
           "latency p99"),
    Column("latency_ms.max", "max", "the slowest", milliseconds, "", -1, "latency max"),
    Column("published", "published", "messages published"),
    Column("expected", "expected", "deliveries owed, over all messages: one for each peer "
           "subscribed at publish time without the publisher, or one for each message where one "
           "subscriber is promised"),
    Column("delivered", "delivered", "first copies that reached a peer other than the publisher"),
    Column("duplicates_per_delivery", "duplicates / delivery",
           "copies of what a peer already had, for each first copy", digits, "", -1),
    Column("spared", "spared", "copies that were not sent, as the peer had said that it has it "
           "(IDONTWANT)"),
    Column("hops.mean", "hops", "from the publisher, on average", digits, "", -1, "hops mean"),
    Column("hops.max", "most hops", "the longest way", count, "", -1),
    Column("bytes_per_delivery", "bytes / delivery", "bytes received for each delivery", size, "",
           -1),
    Column("recoveries", "by gossip", "deliveries that a peer had to ask for (IWANT)"),
)  # fmt: skip

SCORES = (
    Column("score", "score", "the lowest of what others think of it in the end", digits, "", 1),
    Column("lowest", "lowest", "the lowest that anybody thought of it", digits, "", 1),
    Column("highest", "highest", "the highest that anybody thought of it", digits, "", 1),
)

PEERS = (
    Column("published", "published", "messages of its own"),
    Column("delivered", "delivered", "messages that reached it"),
    Column("missing", "missing", "messages that it should have got", count, "bad", -1),
    Column("latency_mean", "latency, mean", "from publishing to its first copies, on average",
           milliseconds, "", -1),
    Column("duplicates", "duplicates", "copies of what it already had"),
    Column("first_sent", "handed on", "first copies that others got from it"),
    Column("repeat_sent", "repeated", "copies that others already had"),
    Column("contribution", "contribution", "its share of all first copies", percent, "meter"),
    Column("rejected_by_others", "refused by others", "its messages that others rejected", count,
           "bad"),
    Column("rejected_here", "rejected", "messages that it rejected"),
    Column("ignored_here", "ignored", "messages that it ignored"),
    Column("dropped_here", "dropped", "what it dropped for want of room", count, "bad"),
    Column("skew.offset_ms", "clock", "how far its clock is ahead of the others'", milliseconds),
    Column("agent", "runs", "what it says it runs", text, "text"),
)  # fmt: skip

COMPARED_OF_PEERS = ("published", "delivered", "duplicates", "first_sent", "repeat_sent",
                     "latency_mean", "contribution")  # fmt: skip
