"""The options of ``format("rumormill")``, read and checked; a wrong one is named.

The names and meanings are those of Spark's Kafka source wherever the meaning is the same. An
option that there is not is refused, with the nearest that there is.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture.schema import KINDS, MESSAGES
from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.places import StreamPlace, read_place
from rumormill.pipeline.source.positions import Position, by_time, by_topic, named

SOURCE_OPTIONS: Final = (
    "spool", "node", "path", "kind", "token", "subscribe", "subscribePattern",
    "startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp",
    "startingOffsetsByTimestampStrategy", "place", "maxOffsetsPerTrigger", "availableNow",
    "maxRecordsPerPartition", "minPartitions", "failOnDataLoss", "includeHeaders", "retrySeconds",
)  # fmt: skip

NOT_OURS: Final = {
    "kafka.bootstrap.servers": "there is no broker; 'spool' or 'node' says where the records are",
    "kafka.group.id": "there are no consumer groups; a stream's place is in its checkpoint",
    "groupIdPrefix": "there are no consumer groups; a stream's place is in its checkpoint",
    "assign": "offsets count over all topics of a spool; choose topics with 'subscribe'",
    "startingOffsetsByTimestamp": "one time for all: 'startingTimestamp'",
    "endingOffsetsByTimestamp": "one time for all: 'endingTimestamp'",
    "minOffsetsPerTrigger": "a trigger with an interval has the same effect",
    "maxTriggerDelay": "a trigger with an interval has the same effect",
}
"""Options of Kafka's source that have no meaning here, and what to use instead."""

ONLY_BATCHES: Final = {
    "endingOffsets": "a stream has no end; only a batch can be given one",
    "endingTimestamp": "a stream has no end; only a batch can be given one",
    "place": "a stream keeps its place in its checkpoint; only a batch can be given one",
}
ONLY_STREAMS: Final = {
    "maxOffsetsPerTrigger": "a batch has no triggers; it reads everything",
    "availableNow": "a batch has no triggers; it reads everything",
}
"""Options that one of the two ways of reading has not, and why."""

DEFAULT_PARTITION_ROWS: Final = 100_000
"""Rows that one task reads unless told: enough to pay for the task, few enough to share them."""


@dataclass(frozen=True)
class SourceOptions:
    """What to read, from where, and how much of it at once."""

    sources: tuple[str, ...]
    """Folders and addresses; the place of each is its partition."""
    kind: str = MESSAGES
    token: str | None = None
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    starting: Position | None = None
    """None: what is usual, the earliest for a batch and the latest for a stream."""
    ending: Position | None = None
    place: StreamPlace | None = None
    """The very ranges that a batch reads."""
    late_start: str = "error"
    """What to do when nothing is as late as ``startingTimestamp``: ``error`` or ``latest``."""
    rows_per_trigger: int | None = None
    available_now: bool = False
    rows_per_partition: int = DEFAULT_PARTITION_ROWS
    least_partitions: int = 1
    fail_on_data_loss: bool = True
    headers: bool = False
    retry_seconds: float = 30.0


def check_names(options: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise :class:`ConfigError` for the first option that there is not."""
    names = {name.lower(): name for name in known}
    refused = {name.lower(): (name, why) for name, why in NOT_OURS.items()}
    for key in options:
        if key.lower() in names:
            continue
        if key.lower() in refused:
            name, why = refused[key.lower()]
            raise ConfigError(name, f"rumormill has no such option: {why}")
        if key.lower().startswith("kafka."):
            raise ConfigError(key, "rumormill has no such option, as it does not speak Kafka")
        near = difflib.get_close_matches(key.lower(), names, n=1)
        hint = f"did you mean {names[near[0]]}?" if near else f"there are: {', '.join(known)}"
        raise ConfigError(key, f"rumormill has no such option; {hint}")


def read_source_options(options: Mapping[str, str], *, streaming: bool | None) -> SourceOptions:
    """The options of a source; ``options`` ignores the case of its keys, as Spark's do.

    ``streaming``: None as long as nobody knows.
    """
    check_names(options, SOURCE_OPTIONS)
    kind = options.get("kind", MESSAGES)
    if kind not in KINDS:
        raise ConfigError("kind", f"must be one of {', '.join(KINDS)}, not {kind!r}")
    for wrong, problems in ((True, ONLY_BATCHES), (False, ONLY_STREAMS)):
        for key, problem in problems.items():
            if key in options and streaming is wrong:
                raise ConfigError(key, problem)
    topics, pattern = _topics(options)
    rows = options.get("maxOffsetsPerTrigger")
    return SourceOptions(
        sources=_sources(options),
        kind=kind,
        token=options.get("token"),
        topics=topics,
        pattern=pattern,
        starting=_position(options, "starting", forbidden="latest" if streaming is False else None),
        ending=_position(options, "ending", forbidden="earliest"),
        place=_place(options, kind),
        late_start=_choice(
            options, "startingOffsetsByTimestampStrategy", ("error", "latest"), "error"
        ),
        rows_per_trigger=None if rows is None else _whole(options, "maxOffsetsPerTrigger", 1),
        available_now=_truth(options, "availableNow", False),
        rows_per_partition=_whole(options, "maxRecordsPerPartition", DEFAULT_PARTITION_ROWS),
        least_partitions=_whole(options, "minPartitions", 1),
        fail_on_data_loss=_truth(options, "failOnDataLoss", True),
        headers=_truth(options, "includeHeaders", False),
        retry_seconds=seconds(options, "retrySeconds", 30.0),
    )


def _sources(options: Mapping[str, str]) -> tuple[str, ...]:
    """Folders first, then nodes; ``load(path)`` is a folder, too."""
    if "path" in options and "spool" in options:
        raise ConfigError("path", "say load(FOLDER) or the option 'spool', not both")
    folders = _list(options, "spool" if "spool" in options else "path")
    # Tasks may have another working folder than the driver.
    folders = tuple(os.path.abspath(folder) for folder in folders)
    sources = (*folders, *_nodes(options))
    if not sources:
        raise ConfigError("spool", "say what to read: 'spool' (a folder) or 'node' (an address)")
    return sources


def one_node(options: Mapping[str, str]) -> str:
    """The option ``node`` of a sink."""
    nodes = _nodes(options)
    if len(nodes) != 1:
        raise ConfigError("node", "say through which node to publish, as http://127.0.0.1:7700")
    return nodes[0]


def _nodes(options: Mapping[str, str]) -> tuple[str, ...]:
    nodes = _list(options, "node")
    for node in nodes:
        if not node.startswith(("http://", "https://")):
            raise ConfigError("node", f"must be an address as http://127.0.0.1:7700, not {node!r}")
    return tuple(node.rstrip("/") for node in nodes)


def _list(options: Mapping[str, str], key: str) -> tuple[str, ...]:
    """Texts separated by commas, or a JSON list where a text has a comma in it."""
    text = options.get(key, "").strip()
    if text.startswith("["):
        try:
            items = json.loads(text)
        except ValueError as error:
            raise ConfigError(key, f"begins like a JSON list but is none: {error}") from error
        if not all(isinstance(item, str) for item in items):
            raise ConfigError(key, "must be a list of texts")
    else:
        items = [item.strip() for item in text.split(",")] if text else []
    if not all(items):
        raise ConfigError(key, f"has an empty place in it: {text!r}")
    return tuple(items)


def _topics(options: Mapping[str, str]) -> tuple[tuple[str, ...] | None, str | None]:
    if "subscribe" in options and "subscribePattern" in options:
        raise ConfigError("subscribe", "give it or subscribePattern, not both")
    if "subscribe" in options:
        topics = _list(options, "subscribe")
        if not topics:
            raise ConfigError("subscribe", "names no topic; leave it out to read all of them")
        return topics, None
    pattern = options.get("subscribePattern")
    if pattern is None:
        return None, None
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise ConfigError("subscribePattern", f"{pattern!r} is no pattern: {error}") from error
    return None, f"^(?:{pattern})$"


def _position(options: Mapping[str, str], which: str, forbidden: str | None) -> Position | None:
    offsets, time = f"{which}Offsets", f"{which}Timestamp"
    if offsets in options and time in options:
        raise ConfigError(time, f"give it or {offsets}, not both")
    if time in options:
        return by_time(_whole(options, time, 0, least=0))
    text = options.get(offsets)
    if text is None:
        return None
    if text.lower() in ("earliest", "latest"):
        if text.lower() == forbidden:
            raise ConfigError(offsets, f"nothing could be read with {forbidden!r}")
        return named(text.lower())
    return by_topic(offsets, text)


def _place(options: Mapping[str, str], kind: str) -> StreamPlace | None:
    text = options.get("place")
    if text is None:
        return None
    for which in ("starting", "ending"):
        for key in (f"{which}Offsets", f"{which}Timestamp"):
            if key in options:
                raise ConfigError(key, "give it or place, not both")
    try:
        return read_place(json.loads(text), kind)
    except (ValueError, AttributeError):
        raise ConfigError("place", f"must be a place as JSON, not {text!r}") from None


def _choice(options: Mapping[str, str], key: str, choices: tuple[str, ...], default: str) -> str:
    value = options.get(key, default).lower()
    if value not in choices:
        raise ConfigError(key, f"must be {' or '.join(choices)}, not {value!r}")
    return value


def _whole(options: Mapping[str, str], key: str, default: int, least: int = 1) -> int:
    text = options.get(key)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        raise ConfigError(key, f"must be a whole number, not {text!r}") from None
    if number < least:
        raise ConfigError(key, f"must be at least {least}, not {number}")
    return number


def seconds(options: Mapping[str, str], key: str, default: float) -> float:
    """An option that is a time."""
    text = options.get(key)
    try:
        found = default if text is None else float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ConfigError(key, f"must be a number of seconds, not {text!r}")
    return found


def _truth(options: Mapping[str, str], key: str, default: bool) -> bool:
    text = options.get(key, "true" if default else "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(key, f"must be true or false, not {text!r}")
    return text == "true"
