"""The rows of a batch that is to be published: an Arrow IPC stream, checked and taken apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa

from rumormill.capture.envelope import encode
from rumormill.capture.schema import HEADERS
from rumormill.core.errors import LocalProtocolError
from rumormill.core.topic import check_topic
from rumormill.node.arrow_body import check_stream
from rumormill.node.guard import Refusal

BATCH_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
    ]
)

MOST_ROWS: Final = 100_000
MOST_HEADERS: Final = 200_000
"""In one batch, over all rows: an empty one is 8 bytes of it, and some hundred in Python."""


class Row(NamedTuple):
    """One message to be published: a topic, and the data as it goes out."""

    topic: str
    data: bytes


class Rows(NamedTuple):
    """All of a batch, and what they are known by."""

    rows: list[Row]
    digest: bytes


def decode_rows(body: bytes | bytearray, largest: int) -> Rows:
    """The rows of a body, all of which can be published; a :class:`Refusal` names the first bad."""
    check_stream(body)
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            if not stream.schema.equals(BATCH_SCHEMA):
                names = ", ".join(f"{field.name} {field.type}" for field in BATCH_SCHEMA)
                raise Refusal(400, f"the columns must be {names}, and no others")
            batches = list(stream)
        for batch in batches:
            batch.validate(full=True)  # places that point out of the body would end the node
    except (pa.ArrowException, OSError) as error:
        raise Refusal(400, f"the body is no Arrow IPC stream: {error}") from error
    check_sizes(batches, len(body))
    digest = hashlib.sha256()
    rows = []
    for number, fields in enumerate(_fields(batches)):
        row = _checked(number, *fields, largest)
        topic = row.topic.encode()
        digest.update(b"%d %d " % (len(topic), len(row.data)))
        digest.update(topic)
        digest.update(row.data)
        rows.append(row)
    return Rows(rows, digest.digest())


def check_sizes(batches: list[pa.RecordBatch], sent: int) -> None:
    """That the rows, as objects of Python, are not many times what was sent."""
    count = sum(batch.num_rows for batch in batches)
    if count > MOST_ROWS:
        raise Refusal(413, f"{count} rows, at most {MOST_ROWS} go into one batch")
    # Columns can point to the same bytes, and each would get its own copy of them.
    if sum(batch.nbytes for batch in batches) > sent:
        raise Refusal(413, "the columns of the batch share their bytes; send each its own")
    headers = sum(len(batch.column("headers").flatten()) for batch in batches)
    if headers > MOST_HEADERS:
        raise Refusal(413, f"{headers} headers, at most {MOST_HEADERS} go into one batch")


def make_data(value: bytes | None, key: bytes | None, headers: Any) -> bytes:
    """What goes out: the value as it is, or an envelope around it if there is more to say."""
    pairs: list[tuple[str, bytes | None]] = []
    for each in headers or ():
        if each is None or each["key"] is None:
            raise LocalProtocolError("a header has no name")
        pairs.append((each["key"], each["value"]))
    return encode(value, key, pairs)


def _fields(batches: list[pa.RecordBatch]) -> Iterator[tuple[Any, Any, Any, Any]]:
    for batch in batches:
        topics, keys, values, headers = (column.to_pylist() for column in batch.columns)
        yield from zip(topics, keys, values, headers, strict=True)


def _checked(number: int, topic: Any, key: Any, value: Any, headers: Any, largest: int) -> Row:
    try:
        check_topic(topic)
        data = make_data(value, key, headers)
    except LocalProtocolError as error:
        raise Refusal(422, f"row {number}: {error}") from error
    if len(data) > largest:
        raise Refusal(
            422, f"row {number}: {len(data)} bytes, this network carries at most {largest}"
        )
    return Row(topic, data)
