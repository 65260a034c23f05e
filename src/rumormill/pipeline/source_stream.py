"""Reading for ever: trigger by trigger, from where the checkpoint says.

Spark keeps one reader on the driver for the life of the query; it only ever asks for bounds. The
tasks get ranges with everything in them, so a batch that is replayed reads the same rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from rumormill.capture.log import Bounds, DataLostError, Log, SpoolError
from rumormill.pipeline.offsets import SpoolPlace, StreamPlace, read_place
from rumormill.pipeline.options import SourceOptions
from rumormill.pipeline.positions import named, starting_place
from rumormill.pipeline.ranges import Range, deal, split
from rumormill.pipeline.reading import ReadPlan, put_together, read_range
from rumormill.pipeline.spools import open_all

log = logging.getLogger("rumormill.pipeline")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """``spark.readStream.format("rumormill")``."""

    def __init__(self, options: SourceOptions, plan: ReadPlan) -> None:
        self._options = options
        self._plan = plan
        self._logs: dict[str, Log] = {}
        self._target: dict[str, int] | None = None

    # ---- on the driver

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins."""
        options = self._options
        place = StreamPlace(options.kind)
        for number, spool in enumerate(self._spools().values()):
            start = starting_place(
                options.starting or named("latest"), spool, number, options.topics,
                options.late_start,
            )  # fmt: skip
            place.spools[spool.spool_id] = SpoolPlace(
                number, start.offset, start.offset, dict(start.topics)
            )
        return place.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """``maxOffsetsPerTrigger``, if it was given."""
        rows = self._options.rows_per_trigger
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def prepareForTriggerAvailableNow(self) -> None:
        """Read up to what there is now, however much comes meanwhile."""
        self._target = {spool: each.bounds().latest for spool, each in self._spools().items()}

    def reportLatestOffset(self) -> dict[str, Any]:
        """What there is, read or not: how far a query is behind is seen in its progress."""
        return {spool: each.bounds().latest for spool, each in self._spools().items()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next batch ends: everything there is, or each spool's share of the limit."""
        before = read_place(start, self._options.kind)
        after = StreamPlace(before.kind, lost=before.lost)
        self._check_missing(before)
        backlogs: dict[str, int] = {}
        for spool, place in before.spools.items():
            after.spools[spool] = SpoolPlace(
                place.partition, place.end, place.end, _ahead(place, place.end)
            )
        for spool, each in self._spools().items():
            bounds = each.bounds()
            mine = after.spools.get(spool)
            if mine is None:  # a spool that was added to the list: all of it is new
                number = after.free_partition()
                mine = SpoolPlace(number, bounds.earliest, bounds.earliest)
                after.spools[spool] = mine
            after.lost += self._skip_what_is_gone(each, mine, bounds)
            backlogs[spool] = max(0, self._latest(spool, bounds) - mine.begin)
        shares = list(backlogs.values())
        if isinstance(limit, ReadMaxRows):
            # Every offset that was read moves the turn on, so no spool is always the last.
            turn = sum(place.begin for place in after.spools.values())
            shares = deal(shares, limit.max_rows, turn % max(1, len(shares)))
        for spool, share in zip(backlogs, shares, strict=True):
            after.spools[spool].end = after.spools[spool].begin + share
        # Spark takes any other object for new data.
        return after.to_json() if any(shares) else start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of one batch, cut for the tasks."""
        place = read_place(end, self._options.kind)
        self._check_missing(place)
        spools = self._spools()
        ranges = [
            Range(
                spools[spool].source, spool, mine.partition, mine.begin, mine.end,
                _ahead(mine, mine.begin),
            )
            for spool, mine in place.spools.items()
            if mine.begin < mine.end and spool in spools
        ]  # fmt: skip
        if start == end:
            return []
        return split(ranges, self._options.least_partitions, self._options.rows_per_partition)

    def _spools(self) -> dict[str, Log]:
        if not self._logs:
            spools = open_all(self._options.sources, self._plan)
            self._logs = {each.spool_id: each for each in spools}
        return self._logs

    def _latest(self, spool: str, bounds: Bounds) -> int:
        if self._target is None:
            return bounds.latest
        return min(bounds.latest, self._target.get(spool, bounds.latest))

    def _check_missing(self, place: StreamPlace) -> None:
        """A spool of the checkpoint that is not in the list: moved, or forgotten."""
        missing = {
            spool: mine for spool, mine in place.spools.items() if spool not in self._spools()
        }
        if not missing or not self._options.fail_on_data_loss:
            return
        spool, mine = next(iter(missing.items()))
        given = ", ".join(f"{each.source} ({each.spool_id})" for each in self._spools().values())
        raise SpoolError(
            f"the checkpoint has read spool {spool} up to offset {mine.end}, but it is not among "
            f"those given: {given}; was it moved? Name it, or go on without it with "
            "failOnDataLoss=false"
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

    # ---- in the tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        assert isinstance(partition, Range)
        return put_together(read_range(self._plan, partition))


def _ahead(place: SpoolPlace, offset: int) -> dict[str, int]:
    """The floors of the topics, while one of them is still ahead."""
    return place.floors if any(floor > offset for floor in place.floors.values()) else {}
