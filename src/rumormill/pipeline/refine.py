"""From bronze to silver and gold: range of minutes by range of minutes, or all at once.

While a stream runs, a minute is *sealed* when the watermark has passed it by the margin that copies
of its messages may take. Silver is refined once for each range of sealed minutes, from the files of
bronze that hold those times and no others. What comes later still reaches bronze, is counted as
late, and enters silver when everything is refined anew (``rumormill pipeline run --once``).

Gold is about all minutes and is made from silver, never from bronze.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from rumormill.capture.schema import TRACE
from rumormill.pipeline import tables
from rumormill.pipeline.bronze import BronzeIndex, FileFacts
from rumormill.pipeline.frames import location
from rumormill.pipeline.lake import GOLD, SILVER, Lake
from rumormill.pipeline.late import count_late, late_rows
from rumormill.pipeline.publication import Publication
from rumormill.pipeline.refined import STATE, Refined, load_refined, time_of
from rumormill.pipeline.staging import Staging, read_folder
from rumormill.pipeline.tables.traffic import activity
from rumormill.pipeline.watermark import MINUTE, SECOND, Watermark, minute_of

BY_MINUTE: Final = ("publications", "deliveries", "traffic", "counters")
"""The silver tables that grow; the others are about all of the trace, and small."""

LAST: Final = ("mesh", "deliveries", "traffic")
"""The silver tables that no other silver table is made of."""

OTHERS_NEED: Final = ("links", "mesh_minutes")
"""The gold tables that other gold tables are made of."""

ByMinute = Callable[..., DataFrame]
"""Writes a table by its minutes: its place, its rows, the column that tells the time."""

HISTORY_TABLE: Final = "_history"
"""Rare events that later ranges have to know of: who subscribed, who was grafted."""

ACTIVITY_TABLE: Final = "_activity"
"""In which minutes each node did anything; for later ranges, too."""

LEAST_PATIENCE: Final = 10.0
"""Seconds that a silent spool is waited for, at least."""


class Refiner:
    """Makes silver and gold in a folder of tables; the caller is its writer."""

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        *,
        delay: float,
        margin: float,
        stage: Callable[[str], None] = lambda table: None,
    ) -> None:
        self._spark = spark
        self._lake = lake
        self._delay_us = round(delay * SECOND)
        self._margin_us = round(margin * SECOND)
        self._watermark = Watermark(delay, patience=max(delay, LEAST_PATIENCE))
        self._index = BronzeIndex(lake, TRACE)
        self._seen = -1
        self._stage = stage
        self.refined = load_refined(lake.folder)

    def forget_files(self) -> None:
        """The files of bronze are others now: they were compacted."""
        self._index.forget()

    # ---- silver

    def seal(self) -> bool:
        """Refine the minutes that are over; whether there were any."""
        files = self._look()
        watermark = self._watermark.at(time.monotonic())
        if not files or watermark is None:
            return False
        since = self.refined.sealed_us
        if since is None:
            since = minute_of(min(facts.first_us for facts in files))
        until = minute_of(watermark - self._margin_us)
        if until <= since:
            return False
        with self._publishing() as publication:
            self._refine_range(publication, since, until)
            frontier = until + self._margin_us
            known = self._count_late(files)
            refined = replace(known, sealed_us=until, frontier_us=frontier, gold=False)
            refined.save(publication.stage(STATE))
        return True

    def everything(self) -> bool:
        """Refine all of bronze anew, the minutes that are not over provisionally."""
        files = self._look()
        if not files:
            return False
        oldest = min(facts.first_us for facts in files)
        newest = max(facts.last_us for facts in files)
        sealed = max(minute_of(newest - self._delay_us - self._margin_us), minute_of(oldest))
        until = minute_of(newest) + MINUTE
        with (
            self._publishing() as publication,
            Staging(self._spark, self._lake, publication, None) as staging,
        ):

            def by_minute(table: str, frame: DataFrame, column: str) -> DataFrame:
                return staging.split(table, frame, column, sealed, until)

            tables.silver(
                self._read(files),
                files=_trace_files(files),
                keep=self._keeping(staging, by_minute, minute_of(oldest), until),
            )
            refined = Refined(sealed, sealed + self._margin_us, self._seen, gold=False)
            refined.save(publication.stage(STATE))
        return True

    def _refine_range(self, publication: Publication, since: int, until: int) -> None:
        margin = self._margin_us
        files = self._index.between(since - margin, until + margin)
        if not files:
            return
        with Staging(self._spark, self._lake, publication, since) as staging:

            def by_minute(table: str, frame: DataFrame, column: str) -> DataFrame:
                return staging.range(table, frame, until)

            tables.silver(
                self._read(files).where(_between(since - margin, until + margin)),
                files=_trace_files(files),
                window=tables.Window(
                    time_of(since), time_of(until), timedelta(microseconds=margin)
                ),
                history=self._earlier(HISTORY_TABLE, tables.HISTORY, "time", since),
                past=self._earlier(ACTIVITY_TABLE, tables.SILVER["counters"], "minute", since),
                keep=self._keeping(staging, by_minute, since, until),
            )  # fmt: skip

    def _keeping(
        self, staging: Staging, by_minute: ByMinute, since: int, until: int
    ) -> tables.Keep:
        """What is done with each silver table of a range of minutes as it comes."""

        def keep(name: str, table: DataFrame) -> DataFrame:
            place = f"{SILVER}/{name}"
            self._stage(place)
            if name.startswith("_"):  # on the way to others, and no table of its own
                return staging.scratch(name, table)
            if name == "history":
                kept = staging.scratch(name, table)
                rare = kept.where("event != 'published'").where(_between(since, until))
                staging.aside(by_minute, HISTORY_TABLE, rare, "time")
                return kept
            write, by = (by_minute, ["minute"]) if name in BY_MINUTE else (staging.whole, [])
            if name in LAST:
                staging.aside(write, place, table, *by)
                return table
            kept = write(place, table, *by)
            if name == "counters":
                staging.aside(by_minute, ACTIVITY_TABLE, activity_of(kept), "minute")
            return kept

        return keep

    # ---- gold

    def make_gold(self) -> None:
        """Make all gold tables from silver."""
        with (
            self._publishing() as publication,
            Staging(self._spark, self._lake, publication, None) as staging,
        ):

            def keep(name: str, table: DataFrame) -> DataFrame:
                place = f"{GOLD}/{name}"
                self._stage(place)
                if name.startswith("_"):  # as above
                    return staging.scratch(name, table)
                if name == "problems":
                    table = table.unionByName(self._late_problems())
                if name in OTHERS_NEED:
                    return staging.whole(place, table)
                staging.aside(staging.whole, place, table)
                return table

            files = tables.ParquetFiles.under(self._lake.folder / SILVER / "deliveries")
            tables.gold(self._silver(), files=files, keep=keep)
            replace(self.refined, gold=True).save(publication.stage(STATE))

    def _silver(self) -> tables.Silver:
        return tables.Silver(
            **{
                name: read_folder(self._spark, self._lake.folder / SILVER / name, schema)
                for name, schema in tables.SILVER.items()
            }
        )

    def _late_problems(self) -> DataFrame:
        rows = late_rows(self.refined.late)
        return self._spark.createDataFrame(rows, tables.GOLD["problems"])

    # ---- bronze

    def _look(self) -> list[FileFacts]:
        """All files of the trace; new ones move the watermark."""
        self._index.refresh()
        files = list(self._index.files())
        new = [facts for facts in files if facts.batch > self._seen]
        self._watermark.saw_files(new, time.monotonic())
        self._seen = max(self._seen, self._index.last_batch)
        return files

    def _count_late(self, files: Sequence[FileFacts]) -> Refined:
        """What is known with the late events of all batches that came since the last time."""
        known = self.refined
        if known.frontier_us is None:
            return replace(known, batch=self._seen)
        new = [facts for facts in files if facts.batch > known.batch]
        late = count_late(new, known.frontier_us, known.late)
        return replace(known, batch=self._seen, late=late)

    def _read(self, files: Sequence[FileFacts]) -> DataFrame:
        paths = [location(facts.path) for facts in files]
        return self._spark.read.schema(tables.TRACE).parquet(*paths)

    def _earlier(self, table: str, schema: StructType, column: str, before_us: int) -> DataFrame:
        """The rows that earlier ranges left for later ones."""
        folder = self._lake.folder / table
        folder.mkdir(exist_ok=True)
        return read_folder(self._spark, folder, schema).where(f.col(column) < _time(before_us))

    # ---- state

    @contextlib.contextmanager
    def _publishing(self) -> Iterator[Publication]:
        publication = self._lake.publication()
        try:
            yield publication
            with self._lake.publishing:
                publication.commit()
        except BaseException:
            publication.discard()
            raise
        self.refined = load_refined(self._lake.folder)


def _trace_files(files: Sequence[FileFacts]) -> tables.ParquetFiles:
    groups = {facts.path: facts.groups for facts in files}
    return tables.ParquetFiles.of(groups, sum(facts.rows for facts in files))


def activity_of(counters: DataFrame) -> DataFrame:
    """Counters summed up to what says in which minutes a node did anything."""
    active = activity(counters)
    return active.select(
        *[
            f.col(field.name) if field.name in active.columns
            else f.lit(None).cast(field.dataType).alias(field.name)
            for field in tables.SILVER["counters"]
        ]
    )  # fmt: skip


def _time(time_us: int) -> Column:
    return f.lit(time_of(time_us))


def _between(since_us: int, until_us: int) -> Column:
    return (f.col("time") >= _time(since_us)) & (f.col("time") < _time(until_us))
