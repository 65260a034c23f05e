"""Where a reader begins or ends: words, times and offsets, made into offsets of each spool.

``earliest``, ``latest``, a time, or offsets by topic and partition as Kafka's source takes them,
``{"weather": {"0": 23, "1": -2}}``: -2 is the earliest, -1 the latest, and the topic ``"*"`` is
every topic that is not named. Offsets count over all topics of a spool, so a topic that begins
later than the others gets a floor of its own (and one that ends earlier, a ceiling).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow.compute as pc

from rumormill.capture.log import Bounds, Log
from rumormill.capture.schema import MESSAGES
from rumormill.core.errors import ConfigError

EVERY_TOPIC: Final = "*"
EARLIEST: Final = -2
LATEST: Final = -1


@dataclass(frozen=True)
class Position:
    """One of: a word, a time, offsets by topic and partition."""

    word: str | None = None
    time_ms: int | None = None
    topics: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    option: str = ""
    """The option that said it, for error messages."""


@dataclass(frozen=True)
class Place:
    """Where one spool begins or ends, and the topics that do so elsewhere."""

    offset: int
    topics: Mapping[str, int] = field(default_factory=dict)


def named(word: str) -> Position:
    """``earliest`` or ``latest``."""
    return Position(word=word)


def by_time(time_ms: int) -> Position:
    """The first record that is not older than this: milliseconds since the epoch."""
    return Position(time_ms=time_ms)


def by_topic(option: str, text: str) -> Position:
    """Offsets as JSON.

    >>> by_topic("startingOffsets", '{"weather": {"0": 23}}').topics
    {'weather': {0: 23}}
    """
    example = '{"weather": {"0": 23}}'
    problem = f"must be earliest, latest, or offsets as {example}, not {text!r}"
    try:
        topics = json.loads(text)
        offsets = {
            topic: {int(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in topics.items()
        }
    except (ValueError, AttributeError):
        raise ConfigError(option, problem) from None
    for partitions in offsets.values():
        for offset in partitions.values():
            if type(offset) is not int or offset < EARLIEST:
                raise ConfigError(option, problem)
    if not offsets:
        raise ConfigError(option, problem)
    return Position(topics=offsets, option=option)


def starting_place(
    position: Position, log: Log, partition: int, topics: tuple[str, ...] | None, late: str
) -> Place:
    """Where to begin in one spool."""
    bounds = log.bounds()
    if position.time_ms is not None:
        offset = first_at(log, position.time_ms * 1000, bounds)
        if offset == bounds.latest and late == "error":
            raise ConfigError(
                "startingTimestamp",
                f"nothing in {log.source} is as late as {position.time_ms}; "
                "startingOffsetsByTimestampStrategy=latest waits for what comes",
            )
        return Place(offset)
    if position.word is not None:
        return Place(bounds.earliest if position.word == "earliest" else bounds.latest)
    named_topics, rest = _split(position, partition, bounds, bounds.earliest, topics)
    # Each begins where it was told; the spool is read from the first of these.
    offsets = [*named_topics.values(), *([] if rest is None else [rest])]
    start = min(offsets, default=bounds.earliest)
    floors = {topic: offset for topic, offset in named_topics.items() if offset > start}
    if rest is not None and rest > start:
        floors[EVERY_TOPIC] = rest
        floors.update(named_topics)
    return Place(start, floors)


def ending_place(
    position: Position, log: Log, partition: int, topics: tuple[str, ...] | None
) -> Place:
    """Where to end in one spool: one past the last."""
    bounds = log.bounds()
    if position.time_ms is not None:
        return Place(first_at(log, position.time_ms * 1000, bounds))
    if position.word is not None:
        return Place(bounds.latest)
    named_topics, rest = _split(position, partition, bounds, bounds.latest, topics)
    offsets = [*named_topics.values(), *([] if rest is None else [rest])]
    end = max(offsets, default=bounds.latest)
    ceilings = {topic: offset for topic, offset in named_topics.items() if offset < end}
    if rest is not None and rest < end:
        ceilings[EVERY_TOPIC] = rest
        ceilings.update(named_topics)
    return Place(end, ceilings)


def _split(
    position: Position,
    partition: int,
    bounds: Bounds,
    default: int,
    topics: tuple[str, ...] | None,
) -> tuple[dict[str, int], int | None]:
    """The offsets of the topics that are named, and that of all others, if there are others."""

    def offset_of(name: str, partitions: Mapping[int, int]) -> int:
        offset = partitions.get(partition, default)
        if offset > bounds.latest:
            raise ConfigError(
                position.option,
                f"{name!r} is given offset {offset} of partition {partition}, "
                f"where the latest is {bounds.latest}",
            )
        return {EARLIEST: bounds.earliest, LATEST: bounds.latest}.get(offset, offset)

    given = {name: offset_of(name, each) for name, each in position.topics.items()}
    rest: int | None = given.pop(EVERY_TOPIC, default)
    if topics is None:
        return given, rest
    strangers = sorted(set(given) - set(topics))
    if strangers:
        raise ConfigError(
            position.option, f"gives offsets of {strangers[0]!r}, which is not subscribed to"
        )
    return given, rest if set(topics) - set(given) else None


def first_at(log: Log, time_us: int, bounds: Bounds) -> int:
    """The first offset whose record is not older; the latest if all are."""
    offset = max(log.offset_at(time_us), bounds.earliest)
    column = "timestamp" if log.kind == MESSAGES else "time"
    for first, batch in log.read(offset, bounds.latest):
        late = pc.greater_equal(batch.column(column).cast("int64"), time_us)
        place = pc.index(late, True).as_py()
        if place >= 0:
            return first + int(place)
    return bounds.latest
