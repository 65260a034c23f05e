"""The columns of ``format("rumormill")`` as Spark sees them.

Messages have the columns of Spark's Kafka source first, in its order, and then what only a
peer-to-peer network knows. Trace events have theirs, after where they stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rumormill.capture.schema import MESSAGES, SCHEMAS
from rumormill.core.errors import ConfigError

LOG_APPEND_TIME: Final = 1
"""``timestampType``: the timestamp is that of the delivery here, not the sender's."""

HEADERS_TYPE: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)

MESSAGE_COLUMNS: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": HEADERS_TYPE,
    "sender": StringType(),
    "message_id": BinaryType(),
    "network": StringType(),
    "node": StringType(),
    "received_from": StringType(),
    "spool": StringType(),
}

TRACE_COLUMNS: Final[dict[str, DataType]] = {
    "spool": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "time": TimestampType(),
    "network": StringType(),
    "node": StringType(),
    "event": StringType(),
    "topic": StringType(),
    "message_id": BinaryType(),
    "peer": StringType(),
    "size": LongType(),
    "count": LongType(),
    "reason": StringType(),
    "sender": StringType(),
    "fields": StringType(),
}

ADDED_TYPES: Final = {
    "partition": pa.int32(), "offset": pa.int64(), "timestampType": pa.int32(),
    "spool": pa.string(),
}  # fmt: skip
"""Columns that are not stored."""


def spark_schema(kind: str, headers: bool) -> StructType:
    """The schema that is read unless the user gives one."""
    columns = MESSAGE_COLUMNS if kind == MESSAGES else TRACE_COLUMNS
    return StructType(
        [StructField(name, data) for name, data in columns.items() if headers or name != "headers"]
    )


def arrow_schema(kind: str, names: Iterable[str]) -> pa.Schema:
    """The same columns as they are handed to Spark, in the order of ``names``."""
    stored = {field.name: field.type for field in SCHEMAS[kind]}
    return pa.schema([(name, stored.get(name) or ADDED_TYPES[name]) for name in names])


def check_schema(kind: str, schema: StructType) -> None:
    """A schema that the user gave may leave columns out; it cannot invent or change any.

    Fewer columns are read faster: ``spark.read.schema("value binary").format("rumormill")``.
    """
    columns = MESSAGE_COLUMNS if kind == MESSAGES else TRACE_COLUMNS
    for field in schema.fields:
        if field.name not in columns:
            raise ConfigError(
                "schema", f"{kind} have no column {field.name!r}; there are {', '.join(columns)}"
            )
        expected = columns[field.name].simpleString()
        if field.dataType.simpleString() != expected:
            raise ConfigError(
                "schema",
                f"column {field.name!r} is {expected}, not {field.dataType.simpleString()}",
            )
