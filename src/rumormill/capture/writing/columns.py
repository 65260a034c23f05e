"""Records into columns: messages and trace events as Arrow record batches.

This runs for everything that happens on a node, with the event loop waiting for its turn, so it
works by whole columns: one call into Arrow for a column of a batch instead of one for each value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from json.encoder import encode_basestring
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture import envelope
from rumormill.capture.schema import HEADERS, MESSAGE_SCHEMA, TIME, TRACE_SCHEMA
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent, type_of_field

MessageRecord = tuple[Message, str]
"""A message, and the node that captured it."""

TraceRecord = tuple[TraceEvent, str]
"""A trace event, and the network that it happened on."""

Record = TypeVar("Record", MessageRecord, TraceRecord)

_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""What Arrow raises for values that a column cannot hold; wrong text is a ValueError."""


# The first array that is made imports pandas, if it is there. That takes half a second: better now
# than with the first batch of a node at work, or at the end of a program, when it is too late.
pa.array([0])


class Converted(NamedTuple):
    """A batch, and what the index says about it."""

    batch: pa.RecordBatch
    times: tuple[int, int]
    """The earliest and the latest, in microseconds."""


def batch_times(batch: pa.RecordBatch) -> tuple[int, int]:
    """The earliest and the latest time of a batch of either kind, in microseconds."""
    name = "timestamp" if "timestamp" in batch.schema.names else "time"
    ends = pc.min_max(batch.column(name).cast(pa.int64()))
    return ends["min"].as_py(), ends["max"].as_py()


# ---- messages


def messages_batch(records: Sequence[MessageRecord]) -> Converted:
    """A batch of messages, their envelopes opened."""
    messages, nodes = zip(*records, strict=True)
    topics, data, senders, ids, networks, peers, times, fields = zip(*messages, strict=True)
    keys: list[bytes | None] | None = None
    values: Sequence[bytes | None] = data
    packed: dict[int, envelope.Headers] = {}
    magic = envelope.MAGIC
    for number, content in enumerate(data):
        if content[:8] == magic and (opened := envelope.decode(content)) is not None:
            if keys is None:
                keys, values = [None] * len(data), list(data)
            keys[number], values[number] = opened.key, opened.value  # type: ignore[index]
            packed[number] = opened.headers
    stamps = _microseconds(times)
    columns = [
        pa.nulls(len(data), pa.binary()) if keys is None else pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        _texts(topics),
        pa.array(stamps, TIME),
        _headers(fields, packed),
        _texts(senders),
        pa.array([each or None for each in ids], pa.binary()),
        _texts(networks),
        _texts(nodes),
        _texts(peers),
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)
    return Converted(batch, (min(stamps), max(stamps)))


def _headers(
    fields: Sequence[Mapping[str, Any]], packed: Mapping[int, envelope.Headers]
) -> pa.Array:
    """Headers of envelopes first, then the family's own fields as text."""
    offsets: list[int] = [0]
    keys: list[str] = []
    values: list[bytes | None] = []
    for number, own in enumerate(fields):
        if packed and number in packed:
            for key, value in packed[number]:
                keys.append(key)
                values.append(value)
        if own:
            for key, content in own.items():
                keys.append(key)
                values.append(_as_text(content))
        offsets.append(len(keys))
    if not keys:
        return pa.nulls(len(fields), HEADERS)
    entries = pa.StructArray.from_arrays(
        [pa.array(keys, pa.string()), pa.array(values, pa.binary())], fields=_HEADER_FIELDS
    )
    mask = None
    if len(offsets) != len(set(offsets)):  # some have none: null, as in Kafka's source
        mask = pa.array([a == b for a, b in pairwise(offsets)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries, type=HEADERS, mask=mask)


_HEADER_FIELDS = list(HEADERS.value_type)


def _as_text(content: Any) -> bytes | None:
    if type(content) is int:
        return b"%d" % content
    if isinstance(content, str):
        return content.encode("utf-8", "replace")
    if isinstance(content, bytes):
        return content.hex().encode()
    if content is None:
        return None
    return json.dumps(content, separators=(",", ":"), default=str).encode()


# ---- trace events


def trace_batch(records: Sequence[TraceRecord]) -> Converted:
    """A batch of trace events."""
    events, networks = zip(*records, strict=True)
    times, nodes, kinds, topics, ids, peers, fields = zip(*events, strict=True)
    sizes, counts, reasons, senders, others = _split_fields(fields)
    stamps = _microseconds(times)
    columns = [
        pa.array(stamps, TIME),
        _texts(networks),
        _texts(nodes),
        pa.array(kinds, pa.string()),
        _texts(topics),
        pa.array(ids, pa.binary()),
        _texts(peers),
        pa.array(sizes, pa.int64()),
        pa.array(counts, pa.int64()),
        _texts(reasons),
        _texts(senders),
        _texts(others),
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=TRACE_SCHEMA)
    return Converted(batch, (min(stamps), max(stamps)))


_OWN_COLUMNS = {"size": int, "count": int, "reason": str, "sender": str}
"""Fields that have a column of their own, if they are of that type."""


def _split_fields(all_fields: Sequence[Mapping[str, type_of_field]]) -> tuple[list[Any], ...]:
    """Fields that have a column of their own, and the others as JSON."""
    sizes: list[Any] = []
    counts: list[Any] = []
    reasons: list[Any] = []
    senders: list[Any] = []
    others: list[str | None] = []
    for fields in all_fields:
        size = count = reason = sender = other = None
        if fields:
            get, left = fields.get, len(fields)
            if type(size := get("size")) is int:
                left -= 1
            if type(count := get("count")) is int:
                left -= 1
            if type(reason := get("reason")) is str:
                left -= 1
            if type(sender := get("sender")) is str:
                left -= 1
            if left and (other := _numbers(fields, left)) is None:
                size, count, reason, sender, other = _one_by_one(fields)
        sizes.append(size)
        counts.append(count)
        reasons.append(reason)
        senders.append(sender)
        others.append(other)
    return sizes, counts, reasons, senders, others


def _numbers(fields: Mapping[str, type_of_field], left: int) -> str | None:
    """JSON of the ``left`` fields without a column, if all are integers.

    Packets are the most frequent of all events, and theirs are.
    """
    others, pick, template = _form(tuple(fields))
    if others != left:
        return None  # one that has a column is not of its type
    values = pick(fields)
    for value in values:
        if type(value) is not int:
            return None
    return template % values


@lru_cache(maxsize=1024)
def _form(keys: tuple[str, ...]) -> tuple[int, Callable[[Any], tuple[Any, ...]], str]:
    """Of fields with these names: how many have no column, how to get at them, how to write them.

    There are few such sets of names: they are in our own code.
    """
    others = [key for key in keys if key not in _OWN_COLUMNS]
    template = ",".join(encode_basestring(key).replace("%", "%%") + ":%d" for key in others)
    if len(others) == 1:
        return 1, lambda fields: (fields[others[0]],), f"{{{template}}}"
    return len(others), itemgetter(*others) if others else lambda _: (), f"{{{template}}}"


def _one_by_one(fields: Mapping[str, type_of_field]) -> list[Any]:
    """The same for fields of any types: four for columns, and the JSON of the others."""
    others = {key: _plain(value) for key, value in fields.items()}
    found: list[Any] = []
    for key, kind in _OWN_COLUMNS.items():
        value = others.get(key)
        found.append(value if type(value) is kind else None)
        if value is None or type(value) is kind:
            others.pop(key, None)
    found.append(_encode_fields(others) if others else None)
    return found


def _plain(value: type_of_field) -> type_of_field:
    """JSON knows no infinity, nor what is not a number."""
    return value if not isinstance(value, float) or isfinite(value) else str(value)


_encode_fields = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


# ---- columns


def _texts(values: Sequence[str | None]) -> pa.Array:
    """A column of text; quick where all values are one and the same."""
    first = values[0]
    if values.count(first) == len(values):
        if first is None:
            return pa.nulls(len(values), pa.string())
        return pa.repeat(pa.scalar(first, pa.string()), len(values))
    return pa.array(values, pa.string())


def _microseconds(seconds: Sequence[float]) -> list[int]:
    """Not by Arrow: small batches are the most frequent, and there it costs more to ask it."""
    return [round(each * 1e6) for each in seconds]


# ---- records that do not fit


def converted(
    records: Sequence[Record],
    convert: Callable[[Sequence[Record]], Converted],
    mend: Callable[[Record], Record],
) -> tuple[Converted | None, int]:
    """The records as a batch, and how many of them could not be part of it.

    Text that is no Unicode, and numbers that are too large, are mended one by one: what a peer or a
    program put into one message must not cost the others.
    """
    try:
        return convert(records), 0
    except _UNFIT:
        fit = [mended for record in records if (mended := _mended(record, convert, mend))]
    return (convert(fit) if fit else None), len(records) - len(fit)


def _mended(
    record: Record,
    convert: Callable[[Sequence[Record]], Converted],
    mend: Callable[[Record], Record],
) -> Record | None:
    """The record, mended if it must be; None if that does not help."""
    for change in (None, mend):
        try:
            found = record if change is None else change(record)
            convert([found])
        except _UNFIT:
            continue
        return found
    return None


def mend_message(record: MessageRecord) -> MessageRecord:
    """The same message with text that can be stored."""
    message, node = record
    fields = {_text(str(key)): value for key, value in message.fields.items()}
    return (
        message._replace(
            topic=_text(message.topic),
            sender=_text_or_none(message.sender),
            network=_text(message.network),
            received_from=_text_or_none(message.received_from),
            fields=fields,
        ),
        _text(node),
    )


def mend_trace(record: TraceRecord) -> TraceRecord:
    """The same event with text and numbers that can be stored."""
    event, network = record
    fields: dict[str, type_of_field] = {}
    for key, value in event.fields.items():
        if isinstance(value, str):
            value = _text(value)
        elif isinstance(value, int | float | None):
            value = str(value) if isinstance(value, int) and abs(value) >= 2**63 else value
        else:
            value = str(value)
        fields[_text(str(key))] = value
    return (
        event._replace(
            node=_text(event.node),
            event=_text(event.event),
            topic=_text_or_none(event.topic),
            peer=_text_or_none(event.peer),
            fields=fields,
        ),
        _text(network),
    )


def _text(text: str) -> str:
    """The same text, with ``?`` for what is no Unicode."""
    return text.encode("utf-8", "replace").decode()


def _text_or_none(text: str | None) -> str | None:
    return None if text is None else _text(text)
