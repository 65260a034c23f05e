"""Writing to ``format("rumormill")``: the rows of a DataFrame are published through a node.

    (
        df.select("topic", "value").write.format("rumormill").mode("append")
        .option("node", "http://127.0.0.1:7700").save()
    )

Columns as in Spark's Kafka sink: ``value`` (binary or string), ``topic`` (or the option of that
name), and if you like ``key`` and ``headers``. Every row is published at least once. Each part
that a task hands over has a key made of the query, the batch, the partition and its number, by
which the node recognises it when Spark replays a batch: then it is not published again.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import BinaryType, StringType, StructType

from rumormill.capture.reading.node_client import NodeClient
from rumormill.capture.schema import HEADERS
from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.columns import HEADERS_TYPE
from rumormill.pipeline.source.options import check_names, one_node, seconds

log = logging.getLogger("rumormill.pipeline")

SINK_OPTIONS: Final = ("node", "token", "topic", "network", "ready", "retrySeconds")
SPARK_OWN: Final = ("checkpointLocation", "queryName", "path")
"""Options that Spark hands on though they are its own."""

PART_BYTES: Final = 2 << 20
PART_ROWS: Final = 4096
"""What is handed over at once, at most; a row that is larger goes alone."""

CONTENT_TYPE: Final = "application/vnd.apache.arrow.stream"

PART_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
    ]
)


@dataclass(frozen=True)
class SinkOptions:
    """Where to, and as what."""

    node: str
    token: str | None = None
    topic: str | None = None
    """For every row, whatever a column of that name says."""
    network: str | None = None
    ready: float = 10.0
    retry_seconds: float = 30.0


@dataclass
class Published(WriterCommitMessage):
    """What became of the rows of one task."""

    published: int = 0
    repeated: int = 0
    unheard: int = 0
    dropped: int = 0

    def add(self, answer: Mapping[str, Any]) -> None:
        """Count one answer of the node."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + int(answer.get(name, 0)))


def read_sink_options(
    options: Mapping[str, str], schema: StructType, overwrite: bool
) -> SinkOptions:
    """The options of a sink; :class:`ConfigError` names the option or the column."""
    check_names(options, (*SINK_OPTIONS, *SPARK_OWN))
    if overwrite:
        raise ConfigError("mode", "what was published cannot be taken back; use append")
    found = SinkOptions(
        node=one_node(options),
        token=options.get("token"),
        topic=options.get("topic"),
        network=options.get("network"),
        ready=seconds(options, "ready", 10.0),
        retry_seconds=seconds(options, "retrySeconds", 30.0),
    )
    _check_columns(schema, found)
    return found


def _check_columns(schema: StructType, options: SinkOptions) -> None:
    types = {column.name: column.dataType for column in schema.fields}
    if "value" not in types:
        raise ConfigError("value", f"there is no such column, only {', '.join(types) or 'none'}")
    if options.topic is None and "topic" not in types:
        raise ConfigError("topic", "give it as a column or as an option")
    for name, allowed in (
        ("topic", (StringType,)), ("key", (StringType, BinaryType)),
        ("value", (StringType, BinaryType)),
    ):  # fmt: skip
        if name in types and not isinstance(types[name], allowed):
            words = " or ".join(each().simpleString() for each in allowed)
            raise ConfigError(name, f"the column must be {words}, not {types[name].simpleString()}")
    headers = types.get("headers", HEADERS_TYPE)
    if headers.simpleString() != HEADERS_TYPE.simpleString():
        raise ConfigError(
            "headers",
            f"the column must be {HEADERS_TYPE.simpleString()}, not {headers.simpleString()}",
        )


class BatchSink(DataSourceArrowWriter):
    """``df.write.format("rumormill")``."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        # One for all tasks and their repetitions, another one for the next write.
        self._write = uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        """Publish the rows of one task."""
        context = _task()
        return publish(self._options, f"{self._write}/0/{context.partitionId()}", iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Say what was not heard."""
        _report(messages, self._options)


class StreamSink(DataSourceStreamArrowWriter):
    """``stream.writeStream.format("rumormill")``."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        """Publish the rows of one task of one batch."""
        context = _task()
        query = context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        if query is None or batch is None:
            raise ConfigError("checkpointLocation", "this Spark does not say which batch it writes")
        return publish(self._options, f"{query}/{batch}/{context.partitionId()}", iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Say what was not heard."""
        _report(messages, self._options)


def publish(options: SinkOptions, key: str, batches: Iterator[pa.RecordBatch]) -> Published:
    """Hand rows to the node, part by part; ``key`` is the same when they come again."""
    client = NodeClient(options.node, token=options.token, retry_seconds=options.retry_seconds)
    query: dict[str, int | str] = {"ready": f"{options.ready:g}"}
    if options.network is not None:
        query["network"] = options.network
    done = Published()
    try:
        for number, part in enumerate(parts(batches, options.topic)):
            answer = client.post(
                "/v1/publish/batch", encode(part), CONTENT_TYPE, key=f"{key}/{number}", **query
            )
            done.add(answer.json())
    finally:
        client.close()
    return done


def parts(batches: Iterator[pa.RecordBatch], topic: str | None) -> Iterator[pa.RecordBatch]:
    """The rows in the columns that a node takes, in parts that it takes at once."""
    for batch in batches:
        whole = as_messages(batch, topic)
        for start in range(0, whole.num_rows, PART_ROWS):
            yield from _small_enough(whole.slice(start, PART_ROWS))


def _small_enough(part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if part.nbytes <= PART_BYTES or part.num_rows <= 1:
        yield part
        return
    half = part.num_rows // 2
    yield from _small_enough(part.slice(0, half))
    yield from _small_enough(part.slice(half))


def as_messages(batch: pa.RecordBatch, topic: str | None) -> pa.RecordBatch:
    """The four columns of a message, whatever else there is."""
    names = batch.schema.names
    arrays = []
    for column in PART_SCHEMA:
        if column.name == "topic" and topic is not None:
            arrays.append(pa.repeat(pa.scalar(topic, column.type), batch.num_rows))
        elif column.name in names:
            arrays.append(batch.column(column.name).cast(column.type))
        else:
            arrays.append(pa.nulls(batch.num_rows, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=PART_SCHEMA)


def encode(part: pa.RecordBatch) -> bytes:
    """An Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, PART_SCHEMA) as writer:
        writer.write_batch(part)
    return bytes(sink.getvalue().to_pybytes())


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark calls this in a task"
    return context


def _report(messages: Sequence[WriterCommitMessage | None], options: SinkOptions) -> None:
    total = Published()
    for message in messages:
        if isinstance(message, Published):
            total.add(vars(message))
    if total.unheard:
        log.warning("%s: nobody listened to %d of the rows", options.node, total.unheard)
    if total.dropped:
        log.warning("%s: %d times a peer's queue was full", options.node, total.dropped)
