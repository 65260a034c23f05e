"""Expressions that several tables share: minutes, keys, kinds of events."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from rumormill.pipeline.tables.schema import HISTORY

MINUTE_US: Final = 60_000_000
TOPIC_BITS: Final = 0x7FFFFFFF

RARE: Final = (
    "published",
    "subscribed",
    "unsubscribed",
    "peer_joined",
    "peer_subscribed",
    "peer_left",
    "grafted",
    "pruned",
    "node_crashed",
    "node_restarted",
)
"""Kinds of events that are rare, and that tables need from all time."""


CONTROL: Final = ("messages", "ihave", "iwant", "graft", "prune")
"""What a packet may hold, as its event's ``fields`` count it."""


def history(trace: DataFrame) -> DataFrame:
    """The rare events of a trace, batch or stream: few enough to be kept and read again."""
    return trace.where(F.col("event").isin(*RARE)).select(*HISTORY.names)


def minute_of(time: Column) -> Column:
    """The minute that a time is in.

    ``date_trunc`` asks for the time zone at each row and is several times slower.
    """
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(MINUTE_US)))


def id_key() -> Column:
    """A number for a message id: joins and shuffles by it are far cheaper than by a long id.

    64 bits: among ten million messages the chance that any two share one is one in 400,000.
    """
    return F.xxhash64("network", "message_id")


def topic_key() -> Column:
    """A small number for a topic; it need only differ among messages of one id."""
    return F.xxhash64("topic").bitwiseAND(F.lit(TOPIC_BITS)).cast("int")


def message_key() -> Column:
    """A number for a message, which is known by its id and its topic."""
    return F.xxhash64(id_key(), topic_key())


def node_key(name: str) -> Column:
    """The same for a node of a network; null for nobody."""
    return F.when(F.col(name).isNotNull(), F.xxhash64("network", name))


def is_other(peer: str, node: str = "node") -> Column:
    """Whether ``peer`` is somebody else: own messages come from nobody, or from oneself."""
    return F.col(peer).isNotNull() & (F.col(peer) != F.col(node))


def share(part: Column, whole: Column) -> Column:
    """A part of a whole; null of nothing, where Spark would raise."""
    return F.when(whole > 0, part / whole)


def in_order(table: DataFrame, schema: StructType) -> DataFrame:
    """The columns of a table as its schema says, with their types."""
    return table.select(
        *[F.col(field.name).cast(field.dataType).alias(field.name) for field in schema]
    )
