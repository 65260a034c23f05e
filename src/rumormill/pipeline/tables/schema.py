"""The columns of every table, and their version; in words: ``docs/tables.md``.

Bronze is what was captured, silver what happened to each message, gold what one wants to know.
Times are in UTC, with microseconds; ``minute`` is a time with neither seconds nor less.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

VERSION: Final = 3
"""Of all tables together; raised when a column changes its name, type or meaning."""

_TYPES: Final[dict[str, DataType]] = {
    "string": StringType(),
    "binary": BinaryType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "double": DoubleType(),
    "time": TimestampType(),
    "times": MapType(StringType(), TimestampType()),
}


def _table(**columns: str) -> StructType:
    return StructType([StructField(name, _TYPES[kind]) for name, kind in columns.items()])


TRACE: Final = _table(
    time="time",
    network="string",
    node="string",
    event="string",
    topic="string",
    message_id="binary",
    peer="string",
    size="long",
    count="long",
    reason="string",
    sender="string",
    fields="string",
)
"""What the tables read of ``bronze/trace``; further columns (spool, offset...) do no harm."""

HISTORY: Final = StructType(
    [
        TRACE[name]
        for name in (
            "time",
            "network",
            "node",
            "event",
            "topic",
            "message_id",
            "peer",
            "size",
            "reason",
            "fields",
        )
    ]
)
"""What is kept of rare events."""

SILVER: Final = {
    "publications": _table(
        network="string",
        topic="string",
        message_id="binary",
        publisher="string",
        time="time",
        size="long",
        expected="long",
        minute="time",
        message="long",
        to_one="boolean",
    ),
    "deliveries": _table(
        network="string",
        topic="string",
        message_id="binary",
        publisher="string",
        node="string",
        peer="string",
        time="time",
        published_at="time",
        latency_ms="double",
        hop="int",
        first="boolean",
        expected="boolean",
        recovered="boolean",
        size="long",
        minute="time",
        duplicates="long",
        message="long",
    ),
    "mesh": _table(
        network="string",
        topic="string",
        node="string",
        peer="string",
        since="time",
        until="time",
        by="string",
        reason="string",
    ),
    "subscriptions": _table(
        network="string",
        topic="string",
        node="string",
        since="time",
        until="time",
        expected_since="time",
        expected_until="time",
        known_to="times",
    ),
    "traffic": _table(
        network="string",
        node="string",
        peer="string",
        minute="time",
        sent_packets="long",
        sent_bytes="long",
        received_packets="long",
        received_bytes="long",
        messages="long",
        ihave="long",
        iwant="long",
        graft="long",
        prune="long",
        dropped="long",
        published="long",
        delivered="long",
        duplicates="long",
        rejected="long",
        ignored="long",
    ),
    "counters": _table(
        network="string",
        node="string",
        peer="string",
        minute="time",
        event="string",
        count="long",
        bytes="long",
        lost="long",
        uncaptured="long",
        messages="long",
        ihave="long",
        iwant="long",
        graft="long",
        prune="long",
        first_at="time",
        last_at="time",
    ),
    "skew": _table(
        network="string",
        node="string",
        offset_ms="double",
        uncertainty_ms="double",
        links="int",
        estimated="boolean",
        applied="boolean",
    ),
}
"""``publications``, ``deliveries``, ``traffic`` and ``counters`` grow by the minute; the others are
about the whole trace and are small."""

_TOPIC = {
    "published": "long",
    "expected": "long",
    "delivered": "long",
    "unexpected": "long",
    "ratio": "double",
    "latency_p50": "double",
    "latency_p90": "double",
    "latency_p99": "double",
    "latency_max": "double",
    "duplicates": "long",
    "duplicates_per_delivery": "double",
    "hops_mean": "double",
    "hops_max": "int",
    "bytes_per_delivery": "double",
    "recoveries": "long",
}

GOLD: Final = {
    "topics": _table(network="string", topic="string", **_TOPIC),
    "topic_minutes": _table(network="string", topic="string", minute="time", **_TOPIC),
    "peers": _table(
        network="string",
        node="string",
        published="long",
        expected="long",
        missing="long",
        delivered="long",
        duplicates="long",
        first_sent="long",
        repeat_sent="long",
        rejected_by_others="long",
        rejected_here="long",
        ignored_here="long",
        dropped_here="long",
        contribution="double",
    ),
    "mesh_minutes": _table(
        network="string",
        topic="string",
        minute="time",
        nodes="long",
        degree_mean="double",
        degree_min="long",
        degree_max="long",
        components="long",
        largest="long",
        grafts="long",
        prunes="long",
    ),
    "latency_cdf": _table(network="string", topic="string", latency_ms="double", share="double"),
    "hops": _table(
        network="string", topic="string", hop="int", deliveries="long", latency_p50="double"
    ),
    "links": _table(network="string", node="string", peer="string", first="long", repeated="long"),
    "events": _table(network="string", event="string", count="long"),
    "skew": _table(
        network="string",
        node="string",
        offset_ms="double",
        links="int",
        estimated="boolean",
        uncertainty_ms="double",
        applied="boolean",
    ),
    "alerts": _table(
        network="string",
        topic="string",
        minute="time",
        kind="string",
        node="string",
        detail="string",
    ),
    "problems": _table(
        network="string", topic="string", kind="string", count="long", detail="string"
    ),
}
"""All of it is made anew from silver. ``minute`` is null in an alert about the whole trace."""

COMPARISON: Final = _table(
    network="string",
    topic="string",
    metric="string",
    before="double",
    after="double",
    change="double",
    change_share="double",
)
"""Two runs side by side, one row a figure."""
