"""Bronze: what was captured, one folder for each batch of the stream, and where a time is found.

A batch that Spark runs again after a crash has the same number and the same offsets, and replaces
its folder: so every record is in the table exactly once. The statistics in the files' footers say
which files hold which times and spools; nothing is read twice to learn that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from rumormill.capture.schema import MESSAGES, TRACE
from rumormill.pipeline.frames import write_frame
from rumormill.pipeline.lake import BATCH, BRONZE, Lake, TablesError

TIME_COLUMNS: Final = {MESSAGES: "timestamp", TRACE: "time"}


class FileFacts(NamedTuple):
    """What the footer of a bronze file tells."""

    path: Path
    batch: int
    rows: int
    groups: int
    """Of rows, as Parquet lays them out."""
    spool: str | None
    """None if it holds records of several."""
    first_us: int
    last_us: int


class BronzeWriter:
    """Writes the batches of one kind of records; given to ``foreachBatch``."""

    def __init__(
        self,
        lake: Lake,
        kind: str,
        published: Callable[[str, int, int], None] = lambda kind, batch, rows: None,
    ) -> None:
        self._lake = lake
        self._kind = kind
        self._published = published

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write one batch; it is there as a whole, or not at all."""
        publication = self._lake.publication()
        folder = publication.stage(f"{BRONZE}/{self._kind}/{BATCH}{batch}")
        try:
            self._lake.refuse_compacted(self._kind, batch)
            write_frame(frame, folder)
            rows = sum(facts.rows for facts in look_at_batch(folder, batch, self._kind))
            with self._lake.publishing:
                publication.commit()
        except BaseException:
            publication.discard()
            raise
        self._published(self._kind, batch, rows)


class BronzeIndex:
    """Which files of a bronze table hold which times."""

    def __init__(self, lake: Lake, kind: str) -> None:
        self._lake = lake
        self._kind = kind
        self._batches: dict[int, tuple[FileFacts, ...]] = {}

    def refresh(self) -> None:
        """Look at the batches that are new, forget those that are gone."""
        found = self._lake.batches(self._kind)
        self._batches = {
            batch: self._batches.get(batch) or tuple(look_at_batch(folder, batch, self._kind))
            for batch, folder in found.items()
        }

    def forget(self) -> None:
        """Look at everything anew: the files were compacted."""
        self._batches.clear()

    def files(self) -> Iterator[FileFacts]:
        """All files that hold records, in the order of their batches."""
        for batch in self._batches.values():
            yield from batch

    def between(self, since_us: int, until_us: int) -> list[FileFacts]:
        """The files that may hold records of a range of time."""
        return [
            facts
            for facts in self.files()
            if facts.first_us < until_us and facts.last_us >= since_us
        ]

    @property
    def last_batch(self) -> int:
        """The number of the newest batch; -1 before the first."""
        return max(self._batches, default=-1)


def look_at_batch(folder: Path, batch: int, kind: str) -> Iterator[FileFacts]:
    """The facts of a batch's files that hold records."""
    for path in sorted(folder.glob("*.parquet")):
        facts = look_at_file(path, batch, TIME_COLUMNS[kind])
        if facts is not None:
            yield facts


def look_at_file(path: Path, batch: int, time_column: str) -> FileFacts | None:
    """The facts of one file; None if it is empty."""
    with pq.ParquetFile(path) as file:
        footer = file.metadata
    if footer.num_rows == 0:
        return None
    columns = footer.row_group(0)
    names = [columns.column(place).path_in_schema for place in range(columns.num_columns)]
    time, spool = names.index(time_column), names.index("spool")
    first, last, spools = [], [], set()
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        times, origin = group.column(time).statistics, group.column(spool).statistics
        if times is None or not times.has_min_max or origin is None or not origin.has_min_max:
            raise TablesError(f"{path}: its footer does not say which times it holds")
        first.append(times.min_raw)
        last.append(times.max_raw)
        spools |= {origin.min, origin.max}
    only = spools.pop() if len(spools) == 1 else None
    return FileFacts(
        path, batch, footer.num_rows, footer.num_row_groups, only, min(first), max(last)
    )
