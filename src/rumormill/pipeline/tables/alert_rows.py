"""From when on something is an alert, and what a row about one looks like."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.core.errors import ConfigError
from rumormill.pipeline.tables.columns import in_order
from rumormill.pipeline.tables.schema import GOLD


@dataclass(frozen=True)
class AlertParameters:
    """From when on something is an alert. Shares are between 0 and 1."""

    partition_nodes: int = 2
    """Partition: so many nodes of a topic's mesh, at least, are cut off from its largest part."""

    eclipse_peers: int = 2
    """Eclipse: a node has nearly all copies of messages in a minute, first ones and further ones,
    from so many peers..."""
    eclipse_share: float = 0.95
    """... namely this share of them..."""
    eclipse_usual: float = 0.75
    """... while for the node in the middle that share is at most this..."""
    eclipse_deliveries: int = 50
    """... counting only nodes that got so many messages in that minute."""

    censorship_gap: float = 0.2
    """Censorship: a publisher's messages are delivered that much less often than the others'..."""
    censorship_sigmas: float = 5.0
    """... by so many standard deviations..."""
    censorship_expected: int = 100
    """... of at least so many expected deliveries..."""
    censorship_drops: float = 0.5
    """... and it dropped fewer packets for each of them itself: more would explain the loss."""
    censorship_copies: float = 0.1
    """Or: a peer hands on less than this share of the copies that the peer in the middle does..."""
    censorship_deliveries: int = 100
    """... though it got so many messages..."""
    censorship_mesh: int = 3
    """... and so many nodes, at least, had it in their mesh."""

    spam_share: float = 0.5
    """Spam: this share of what a peer sent in a minute was rejected or ignored..."""
    spam_factor: float = 5.0
    """... and so many times the share of the others'..."""
    spam_events: int = 50
    """... and so many pieces of it, at least."""
    spam_copies: float = 2.0
    """Or: it sent a node so many times more copies than the node had messages in that minute..."""
    spam_least_copies: int = 100
    """... and so many copies, at least."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 0:
                raise ConfigError(name, f"must not be below 0, not {value}")


def alert(
    found: DataFrame,
    kind: str,
    words: Column,
    *,
    topic: Column | None = None,
    minute: Column | None = None,
    node: Column | None = None,
) -> DataFrame:
    """Rows of the table ``alerts``: one for each row of ``found``, with ``words`` about it."""
    nothing = F.lit(None)
    rows = found.select(
        "network",
        (nothing if topic is None else topic).alias("topic"),
        (nothing if minute is None else minute).alias("minute"),
        F.lit(kind).alias("kind"),
        (nothing if node is None else node).alias("node"),
        words.alias("detail"),
    )
    return in_order(rows, GOLD["alerts"])
