"""Upkeep takes old rows, small files and snapshots beyond number; never the offsets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rumormill.core.errors import ConfigError
from rumormill.pipeline.lake import offsets as told_offsets
from rumormill.pipeline.lake import upkeep as upkeeping
from rumormill.pipeline.lake.location import Location
from rumormill.pipeline.lake.offsets import OFFSETS, mark, properties, read_offsets
from rumormill.pipeline.lake.schema import BATCHES, TRACE, Layout, Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.lake.trimmed import trimmed_until
from rumormill.pipeline.lake.upkeep import Policy, upkeep, upkeep_due
from rumormill.system.times import micros_of

EAGER = Policy(small_files=2, snapshots=2, snapshot_hours=0.0, manifests=2)
"""Everything is due."""

PLAIN = Table("plain", "gold", "minute timestamp, network string", Layout.HOUR)

NOW = datetime.now(UTC).replace(minute=30, second=0, microsecond=0)


def append(spark: SparkSession, lake: Lake, first: int, count: int, at: datetime = NOW) -> None:
    """Rows of one batch, with the offsets behind it."""
    names = [part.split()[0].strip("`") for part in TRACE.columns.split(", ")]
    known = {
        "spool": F.lit("s"), "partition": F.lit(0), "offset": F.col("id"),
        "time": F.lit(at), "class": F.lit("copies"), "event": F.lit("delivered"),
    }  # fmt: skip
    lake.ensure(TRACE)
    types = dict(spark.table(lake.name(TRACE)).dtypes)
    rows = spark.range(first, first + count, 1, 1).select(
        *(known.get(name, F.lit(None)).cast(types[name]).alias(name) for name in names)
    )
    end = first + count
    lake.append(TRACE, rows, properties(end, f'{{"s": {end}}}'))


def refined(spark: SparkSession, lake: Lake) -> None:
    """The ledger says that all of bronze is refined."""
    row = {"batch": 1, "snapshot": lake.snapshot(TRACE)}
    lake.ensure(BATCHES)
    fields = spark.table(lake.name(BATCHES)).dtypes
    columns = [F.lit(row.get(name)).cast(kind).alias(name) for name, kind in fields]
    lake.replace_whole(BATCHES, spark.range(1).select(*columns))


def offsets_of(spark: SparkSession, name: str) -> list[int]:
    rows = spark.table(name).select("offset").orderBy("offset").collect()
    return [row["offset"] for row in rows]


def files_of(spark: SparkSession, name: str) -> int:
    return spark.table(f"{name}.files").count()


def count(spark: SparkSession, name: str, what: str) -> int:
    return spark.table(f"{name}.{what}").count()


@pytest.fixture
def lake(spark: SparkSession, place: Location) -> Lake:
    return Lake(spark, place)


@pytest.fixture
def trace(spark: SparkSession, lake: Lake) -> str:
    """Bronze with five small batches, all refined."""
    for batch in range(5):
        append(spark, lake, batch * 10, 10)
    refined(spark, lake)
    return lake.name(TRACE)


def test_offsets_and_rows_outlast_compaction_and_expiry(
    spark: SparkSession, lake: Lake, place: Location, trace: str
) -> None:
    told: list[tuple[str, dict[str, object]]] = []
    for _ in range(3):
        upkeep(spark, place, [TRACE], EAGER, lambda *what: told.append(what))
        assert read_offsets(spark, trace) == '{"s": 50}'
        refined(spark, lake)
    assert offsets_of(spark, trace) == list(range(50))
    assert files_of(spark, trace) == 1
    assert count(spark, trace, "snapshots") <= EAGER.snapshots
    assert told[0][0] == "upkeep" and told[0][1]["files_joined"] == 5
    append(spark, lake, 50, 10)
    assert read_offsets(spark, trace) == '{"s": 60}'


STEPS = ("join_files", "mark", "join_manifests", "expire_snapshots", "remove_orphans")


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_after_any_step_loses_neither_rows_nor_offsets(
    spark: SparkSession, lake: Lake, place: Location, trace: str, monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:  # fmt: skip
    real = getattr(upkeeping, step)

    def crash(*arguments: Any) -> None:
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upkeeping, step, crash)
        with pytest.raises(KeyboardInterrupt):
            upkeep(spark, place, [TRACE], EAGER, lambda *what: None)
    assert read_offsets(spark, trace) == '{"s": 50}'
    refined(spark, lake)
    upkeep(spark, place, [TRACE], EAGER, lambda *what: None)
    assert read_offsets(spark, trace) == '{"s": 50}'
    assert offsets_of(spark, trace) == list(range(50))
    assert files_of(spark, trace) == 1


def test_what_is_not_refined_yet_can_still_be_read_as_an_increment(
    spark: SparkSession, lake: Lake, place: Location, trace: str
) -> None:
    since = lake.snapshot(TRACE)
    for batch in range(5, 9):
        append(spark, lake, batch * 10, 10)
    upkeep(spark, place, [TRACE], EAGER, lambda *what: None)
    until = lake.snapshot(TRACE)
    assert since is not None and until is not None and lake.has_snapshot(TRACE, since)
    new = lake.added(TRACE, since, until).select("offset").collect()
    assert sorted(row["offset"] for row in new) == list(range(50, 90))


def test_nothing_of_bronze_is_forgotten_before_anything_was_refined(
    spark: SparkSession, lake: Lake, place: Location
) -> None:
    for batch in range(4):
        append(spark, lake, batch, 1)
    before = count(spark, lake.name(TRACE), "snapshots")
    upkeep(spark, place, [TRACE], EAGER, lambda *what: None)
    assert count(spark, lake.name(TRACE), "snapshots") >= before


def test_old_rows_of_bronze_go_in_whole_hours_by_metadata_alone(
    spark: SparkSession, lake: Lake, place: Location
) -> None:
    append(spark, lake, 0, 10, NOW - timedelta(days=40))
    append(spark, lake, 10, 10, NOW - timedelta(days=1))
    name = lake.name(TRACE)
    files = {row["file_path"] for row in spark.table(f"{name}.files").collect()}
    upkeep(spark, place, [TRACE], Policy(), lambda *what: None)
    assert offsets_of(spark, name) == list(range(10, 20))
    left = {row["file_path"] for row in spark.table(f"{name}.files").collect()}
    assert len(left) == 1 and left < files  # no file was written
    assert read_offsets(spark, name) == '{"s": 20}'
    upkeep(spark, place, [TRACE], Policy(bronze_days=None), lambda *what: None)
    assert offsets_of(spark, name) == list(range(10, 20))


def test_up_to_when_rows_go_is_told_before_they_do_and_never_goes_back(
    spark: SparkSession, lake: Lake, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(spark, lake, 0, 10, NOW - timedelta(days=80))
    append(spark, lake, 10, 10, NOW)
    name, real = lake.name(TRACE), SparkSession.sql

    def killed(session: SparkSession, text: str, **options: Any) -> DataFrame:
        if text.startswith("delete"):
            raise KeyboardInterrupt
        return real(session, text, **options)

    assert trimmed_until(spark, name) is None
    with monkeypatch.context() as patch:
        patch.setattr(SparkSession, "sql", killed)
        with pytest.raises(KeyboardInterrupt):
            upkeep(spark, place, [TRACE], Policy(), lambda *what: None, orphans=False)
    border = micros_of(NOW.replace(minute=0) - timedelta(days=30))
    assert offsets_of(spark, name) == list(range(20))
    assert trimmed_until(spark, name) == border
    upkeep(spark, place, [TRACE], Policy(bronze_days=60), lambda *what: None, orphans=False)
    assert offsets_of(spark, name) == list(range(10, 20))
    assert trimmed_until(spark, name) == border


def test_a_trace_of_last_year_stays_and_the_future_makes_nothing_older(
    spark: SparkSession, lake: Lake, place: Location
) -> None:
    append(spark, lake, 0, 10, NOW - timedelta(days=400))
    append(spark, lake, 10, 10, NOW - timedelta(days=390))
    upkeep(spark, place, [TRACE], Policy(), lambda *what: None, orphans=False)
    assert offsets_of(spark, lake.name(TRACE)) == list(range(20))
    append(spark, lake, 20, 10, NOW)
    append(spark, lake, 30, 10, NOW + timedelta(days=4000))
    upkeep(spark, place, [TRACE], Policy(), lambda *what: None, orphans=False)
    assert offsets_of(spark, lake.name(TRACE)) == list(range(20, 40))


def test_tables_that_are_replaced_keep_few_snapshots_and_files(
    spark: SparkSession, lake: Lake, place: Location
) -> None:
    for number in range(6):
        rows = spark.range(number + 1).select(
            F.lit(NOW).alias("minute"), F.col("id").cast("string").alias("network")
        )
        lake.replace_whole(PLAIN, rows)
    policy = replace(EAGER, snapshots=3)
    upkeep(spark, place, [PLAIN], policy, lambda *what: None)
    assert count(spark, lake.name(PLAIN), "snapshots") == 3
    assert spark.table(lake.name(PLAIN)).count() == 6


def test_what_a_killed_writer_left_goes_after_days_and_not_before(
    spark: SparkSession, lake: Lake, place: Location, trace: str
) -> None:
    import os

    folder = Path(place.table_folder("bronze", "trace")) / "data"
    old, new = folder / "old.parquet", folder / "new.parquet"
    for path in (old, new):
        path.write_bytes(b"left behind")
    days_ago = (datetime.now() - timedelta(days=5)).timestamp()
    os.utime(old, (days_ago, days_ago))
    upkeep(spark, place, [TRACE], Policy(), lambda *what: None, orphans=False)
    assert old.exists()
    upkeep(spark, place, [TRACE], Policy(), lambda *what: None)
    assert not old.exists() and new.exists()
    assert offsets_of(spark, trace) == list(range(50))


def test_nothing_is_done_and_said_where_nothing_is_due(
    spark: SparkSession, lake: Lake, place: Location, trace: str
) -> None:
    told: list[str] = []
    before = lake.snapshot(TRACE)
    upkeep(spark, place, [TRACE, PLAIN], Policy(), lambda name, about: told.append(name))
    assert told == [] and lake.snapshot(TRACE) == before
    assert not upkeep_due(spark, place, [TRACE, PLAIN])
    assert upkeep_due(spark, place, [TRACE, PLAIN], replace(Policy(), snapshots=2))


def test_marking_twice_adds_one_commit(
    spark: SparkSession, lake: Lake, place: Location, trace: str
) -> None:
    spark.sql(f"delete from {trace} where `offset` = 3")
    assert mark(spark, trace, 1) and not mark(spark, trace, 1)
    assert read_offsets(spark, trace) == '{"s": 50}'
    assert OFFSETS == "rumormill.offsets"


def test_offsets_are_not_repeated_while_a_commit_that_has_them_is_kept(
    spark: SparkSession, lake: Lake, place: Location, trace: str
) -> None:
    spark.sql(f"delete from {trace} where `offset` = 3")
    assert not mark(spark, trace, 2)


def test_upkeep_beside_a_writer_moves_no_offsets_back(
    spark: SparkSession, lake: Lake, place: Location, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"delete from {trace} where `offset` = 3")

    def meanwhile(*arguments: Any) -> dict[str, str]:
        append(spark, lake, 50, 10)
        return properties(*arguments)

    monkeypatch.setattr(told_offsets, "properties", meanwhile)
    assert mark(spark, trace, 1)
    newest = spark.table(f"{trace}.snapshots").orderBy(F.col("committed_at").desc()).first()
    assert newest is not None and newest.summary[OFFSETS] == '{"s": 50}'
    assert read_offsets(spark, trace) == '{"s": 60}'


def test_a_table_that_was_never_read_into_has_no_offsets(spark: SparkSession, lake: Lake) -> None:
    lake.ensure(TRACE)
    assert read_offsets(spark, lake.name(TRACE)) is None
    assert not mark(spark, lake.name(TRACE), 1)


@pytest.mark.parametrize("wrong", [{"bronze_days": 0.0}, {"orphan_days": 0.5}])
def test_a_policy_that_would_remove_what_is_in_use_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Policy(**wrong)  # type: ignore[arg-type]
