"""Many small files become few: the same rows, sorted, in files of a bounded size.

A stream leaves a folder for every batch and every range of minutes. Compaction puts all of them but
the newest into one folder, named after the newest of them: ``batch_id=117/`` then holds batches 0
to 117. The table's folder changes places with the new one at once, so a reader sees the old files
or the new ones; one that had listed the old ones and comes too late gets an error that a file is
missing, never wrong rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rumormill.capture.schema import KINDS, TRACE
from rumormill.pipeline.frames import location, writer
from rumormill.pipeline.lake import BATCH, BRONZE, COMPACTED, RANGE, SILVER, Lake, TablesError
from rumormill.pipeline.publication import Publication, link_file
from rumormill.pipeline.refine import ACTIVITY_TABLE, BY_MINUTE, HISTORY_TABLE
from rumormill.pipeline.refined import label_of, load_refined

TARGET_BYTES: Final = 256 * 1024 * 1024
"""Of a compacted file, about; one of half that size is not touched again."""


class Job(NamedTuple):
    """A table to compact: its folders up to ``last``, in their order."""

    table: str
    prefix: str
    last: int
    folders: Sequence[Path]
    order: Sequence[str]
    """The columns that its rows are sorted by."""


class Compacted(NamedTuple):
    """What a compaction did to one table."""

    table: str
    rows: int
    files_before: int
    files_after: int


def find_jobs(lake: Lake, least: int = 2) -> list[Job]:
    """The tables that have at least so many folders which nobody will write again."""
    refined = load_refined(lake.folder)
    jobs = []
    for kind in KINDS:
        # The newest batch may be run again, and what is not refined is still looked at by number.
        last = lake.committed(kind) - 1
        if kind == TRACE:
            last = min(last, refined.batch)
        jobs.append(_job(lake, f"{BRONZE}/{kind}", BATCH, last, ("spool", "offset")))
    sealed = -1 if refined.sealed_us is None else label_of(refined.sealed_us)
    for name in BY_MINUTE:
        jobs.append(_job(lake, f"{SILVER}/{name}", RANGE, sealed, ("minute", "network")))
    jobs.append(_job(lake, HISTORY_TABLE, RANGE, sealed, ("time",)))
    jobs.append(_job(lake, ACTIVITY_TABLE, RANGE, sealed, ("minute",)))
    return [job for job in jobs if len(job.folders) >= least]


def compact(
    spark: SparkSession, lake: Lake, job: Job, target_bytes: int = TARGET_BYTES
) -> Compacted:
    """Compact one table; the caller is the writer of the tables.

    The rows are put together while a stream may add further folders; only then, for a moment,
    nothing else is published.
    """
    files = [file for folder in job.folders for file in sorted(folder.glob("*.parquet"))]
    sizes = {file: file.stat().st_size for file in files}
    small = [file for file, size in sizes.items() if size < target_bytes // 2]
    publication = lake.publication()
    try:
        folder = publication.stage(job.table)
        merged = folder / f"{job.prefix}{job.last}"
        if small:
            parts = -(-sum(sizes[file] for file in small) // target_bytes)
            _merge(spark, small, merged, parts, job.order)
        merged.mkdir(parents=True, exist_ok=True)
        for file in sizes.keys() - set(small):
            link_file(file, merged / file.name)
        (merged / COMPACTED).touch()
        after = sorted(merged.glob("*.parquet"))
        rows = _count_rows(files)
        if _count_rows(after) != rows:
            raise TablesError(
                f"{lake.folder / job.table}: compaction made {_count_rows(after)} rows of {rows}; "
                "nothing was changed"
            )
        with lake.publishing:
            _keep_others(lake, job, publication)
            publication.commit()
    except BaseException:
        publication.discard()
        raise
    return Compacted(job.table, rows, len(files), len(after))


def compact_all(
    spark: SparkSession, lake: Lake, least: int = 2, target_bytes: int = TARGET_BYTES
) -> list[Compacted]:
    """Compact every table that has something to compact."""
    return [compact(spark, lake, job, target_bytes) for job in find_jobs(lake, least)]


def _job(lake: Lake, table: str, prefix: str, last: int, order: Sequence[str]) -> Job:
    numbered = lake.numbered(table, prefix)
    chosen = {number: folder for number, folder in numbered.items() if number <= last}
    return Job(table, prefix, max(chosen, default=-1), list(chosen.values()), order)


def _merge(
    spark: SparkSession, files: Sequence[Path], folder: Path, parts: int, order: Sequence[str]
) -> None:
    frame = spark.read.parquet(*(location(file) for file in files))
    frame = frame.coalesce(1) if parts == 1 else frame.repartitionByRange(parts, *order)
    writer(frame.sortWithinPartitions(*order)).parquet(location(folder))


def _keep_others(lake: Lake, job: Job, publication: Publication) -> None:
    """The folders that the job is not about stay as they are."""
    done = set(job.folders)
    for folder in lake.numbered(job.table, job.prefix).values():
        if folder not in done:
            publication.keep(f"{job.table}/{folder.name}", folder)


def _count_rows(files: Sequence[Path]) -> int:
    rows = 0
    for file in files:
        with pq.ParquetFile(file) as parquet:
            rows += parquet.metadata.num_rows
    return rows
