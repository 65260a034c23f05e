"""Which records the next batch has: decided on the driver, from what the spools say of themselves.

Offsets that never held a record (a writer that ended uncleanly leaves some out, a few thousand or
billions) are passed over: they count neither for a limit nor as work for a task.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rumormill.capture.log import Bounds, DataLostError, Log, Span, SpoolError
from rumormill.capture.open import open_log
from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.options import SourceOptions
from rumormill.pipeline.source.places import SpoolPlace, StreamPlace
from rumormill.pipeline.source.positions import ending_place, named, starting_place
from rumormill.pipeline.source.ranges import Range, Task, deal, share_out

log = logging.getLogger("rumormill.pipeline")


class Planner:
    """The spools of one query, opened when they are first needed."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._spools: dict[str, Log] = {}

    @property
    def spools(self) -> Mapping[str, Log]:
        """By their ids; the same spool twice is an error that names both."""
        if not self._spools:
            options, found = self._options, dict[str, Log]()
            for source in options.sources:
                spool = open_log(
                    source, options.kind, token=options.token, retry_seconds=options.retry_seconds
                )
                other = found.setdefault(spool.spool_id, spool)
                if other is not spool:
                    raise ConfigError(
                        "spool", f"{source} and {other.source} are the same spool, {spool.spool_id}"
                    )
            self._spools = found
        return self._spools

    def latest(self) -> dict[str, int]:
        """How far each spool reaches now."""
        return {spool: each.bounds().latest for spool, each in self.spools.items()}

    # ---- batch after batch

    def initial_place(self) -> StreamPlace:
        """Where a new stream begins."""
        options, place = self._options, StreamPlace(self._options.kind)
        for number, (spool, each) in enumerate(self.spools.items()):
            start = starting_place(
                options.starting or named("latest"), each, number, options.topics,
                options.late_start,
            )  # fmt: skip
            place.spools[spool] = SpoolPlace(number, start.offset, start.offset, dict(start.topics))
        return place

    def next_place(
        self,
        before: StreamPlace | None = None,
        limit: int | None = None,
        until: Mapping[str, int] | None = None,
    ) -> StreamPlace:
        """What comes after ``before``: everything, or ``limit`` rows dealt fairly over the spools.

        ``before`` itself if there is nothing new. ``until``: offsets not to go beyond.
        """
        if before is None:
            before = self.initial_place()
        self.check_missing(before)
        after = StreamPlace(before.kind, lost=before.lost)
        for spool, place in before.spools.items():
            after.spools[spool] = SpoolPlace(
                place.partition, place.end, place.end, floors_ahead(place, place.end)
            )
        new: dict[str, list[Span]] = {}
        for spool, each in self.spools.items():
            bounds = each.bounds()
            mine = after.spools.get(spool)
            if mine is None:  # a spool that was added to the list: all of it is new
                mine = SpoolPlace(after.free_partition(), bounds.earliest, bounds.earliest)
                after.spools[spool] = mine
            after.lost += self._skip_what_is_gone(each, mine, bounds)
            latest = min(bounds.latest, (until or {}).get(spool, bounds.latest))
            new[spool] = each.spans(mine.begin, latest) if mine.begin < latest else []
        shares = [sum(end - start for start, end in spans) for spans in new.values()]
        if limit is not None:
            # Every offset that was read moves the turn on, so no spool is always the last.
            turn = sum(place.begin for place in after.spools.values())
            shares = deal(shares, limit, turn % max(1, len(shares)))
        for (spool, spans), share in zip(new.items(), shares, strict=True):
            after.spools[spool].end = _advance(after.spools[spool].begin, spans, share)
        after.rows = sum(shares)
        return after if after.rows else before

    def check_missing(self, place: StreamPlace) -> None:
        """Raise for a spool that was read and is not in the list: moved, or forgotten."""
        missing = [spool for spool in place.spools if spool not in self.spools]
        if not missing or not self._options.fail_on_data_loss:
            return
        given = ", ".join(f"{each.source} ({each.spool_id})" for each in self.spools.values())
        raise SpoolError(
            f"spool {missing[0]} was read up to offset {place.spools[missing[0]].end}, but it is "
            f"not among those given: {given}; was it moved? Name it, or go on without it: with "
            "failOnDataLoss=false, or --skip-lost of the pipeline"
        )

    def _skip_what_is_gone(self, spool: Log, mine: SpoolPlace, bounds: Bounds) -> int:
        """Begin at what is there; the number of offsets that were lost."""
        if bounds.earliest <= mine.begin <= bounds.latest:
            return 0
        if mine.begin < bounds.earliest:
            lost, reason = bounds.earliest - mine.begin, "removed by retention before it was read"
            error = DataLostError(spool.source, spool.kind, mine.begin, bounds.earliest, reason)
            new = bounds.earliest
        else:
            lost, reason = 0, "read before, but no longer there: the spool has lost its end"
            error = DataLostError(spool.source, spool.kind, bounds.latest, mine.begin, reason)
            new = bounds.latest
        if self._options.fail_on_data_loss:
            raise error
        log.warning("skipped (failOnDataLoss=false): %s", error)
        mine.begin = mine.end = new
        return lost

    # ---- the tasks of a batch

    def tasks_of(self, place: StreamPlace) -> list[Task]:
        """What ``place`` says, cut for the tasks."""
        self.check_missing(place)
        return self._cut(
            Range(
                self.spools[spool].source, spool, mine.partition, mine.begin, mine.end,
                floors_ahead(mine, mine.begin),
            )
            for spool, mine in place.spools.items()
            if spool in self.spools
        )  # fmt: skip

    def tasks_of_everything(self) -> list[Task]:
        """What lies between the starting and the ending place of the options."""
        options, ranges = self._options, []
        for number, (spool, each) in enumerate(self.spools.items()):
            start = starting_place(
                options.starting or named("earliest"), each, number, options.topics,
                options.late_start,
            )  # fmt: skip
            end = ending_place(options.ending or named("latest"), each, number, options.topics)
            ranges.append(
                Range(
                    each.source, spool, number, start.offset, max(start.offset, end.offset),
                    start.topics, end.topics,
                )
            )  # fmt: skip
        return self._cut(ranges)

    def _cut(self, ranges: Iterable[Range]) -> list[Task]:
        """Without what never held a record: a mark of billions of lost offsets costs no task."""
        dense = [
            replace(each, start=start, end=end)
            for each in ranges
            if each.start < each.end
            for start, end in self.spools[each.spool].spans(each.start, each.end)
        ]
        return share_out(dense, self._options.least_partitions, self._options.rows_per_partition)


def floors_ahead(place: SpoolPlace, offset: int) -> dict[str, int]:
    """The floors of the topics, while one of them is still ahead."""
    return place.floors if any(floor > offset for floor in place.floors.values()) else {}


def _advance(begin: int, spans: list[Span], rows: int) -> int:
    """The offset behind the first ``rows`` records of the spans.

    >>> _advance(5, [Span(5, 10), Span(1000, 1010)], 7)
    1002
    """
    for start, end in spans:
        if rows == 0:
            break
        begin = min(end, start + rows)
        rows -= begin - start
    return begin
