"""Bronze batches: whole or absent, replaced when run again, compacted without loss."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from rumormill.pipeline import bronze, compaction
from rumormill.pipeline.bronze import BronzeIndex, BronzeWriter, look_at_batch
from rumormill.pipeline.compaction import compact, compact_all, find_jobs
from rumormill.pipeline.lake import FORMAT, Lake, TablesError
from rumormill.pipeline.refined import Refined
from tests.helpers.spark.other_readers import ask_duckdb

EPOCH_US = 1_700_000_000_000_000


@pytest.fixture
def lake(tmp_path: Path, spark: SparkSession) -> Iterator[Lake]:
    lake = Lake(tmp_path / "tables")
    with lake.writing(spark):
        yield lake


def frame(
    spark: SparkSession, first: int, rows: int, spool: str = "a", parts: int = 2
) -> DataFrame:
    """Records with the columns that matter here, one a second."""
    return spark.range(first, first + rows, 1, parts).selectExpr(
        f"'{spool}' spool", "0 partition", "id offset",
        f"timestamp_micros({EPOCH_US} + id * 1000000) time", "concat('value ', id) reason",
    )  # fmt: skip


def commit(lake: Lake, last: int) -> None:
    """As if Spark had committed all batches up to this one, and all had been refined."""
    for name in ("offsets", "commits"):
        folder = lake.checkpoint("trace") / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(last)).touch()
    publication = lake.publication()
    Refined(batch=last).save(publication.stage("_state"))
    publication.commit()


def rows_by_duckdb(lake: Lake) -> list[tuple[Any, ...]]:
    files = lake.bronze("trace") / "**/*.parquet"
    columns = 'spool, "offset", epoch_us(time), reason'
    return ask_duckdb(f"select {columns} from read_parquet('{files}') order by all")


def rows_by_spark(spark: SparkSession, lake: Lake) -> list[tuple[Any, ...]]:
    table = spark.read.parquet(str(lake.bronze("trace")))
    rows = table.selectExpr("spool", "offset", "unix_micros(time)", "reason").collect()
    return sorted(tuple(row) for row in rows)


def expected(*ranges: tuple[int, int], spool: str = "a") -> list[tuple[Any, ...]]:
    return [
        (spool, number, EPOCH_US + number * 1_000_000, f"value {number}")
        for first, end in ranges
        for number in range(first, end)
    ]


def test_all_readers_see_the_same_rows(spark: SparkSession, lake: Lake) -> None:
    writer = BronzeWriter(lake, "trace")
    writer(frame(spark, 0, 10), 0)
    writer(frame(spark, 10, 5), 1)
    assert rows_by_duckdb(lake) == rows_by_spark(spark, lake) == expected((0, 15))
    by_pandas = pandas.read_parquet(lake.bronze("trace"))
    assert sorted(by_pandas["offset"]) == list(range(15))
    assert str(by_pandas["time"].dtype.tz) == "UTC"  # type: ignore[union-attr]


def test_a_batch_that_is_run_again_replaces_itself(spark: SparkSession, lake: Lake) -> None:
    writer = BronzeWriter(lake, "trace")
    writer(frame(spark, 0, 10), 0)
    writer(frame(spark, 10, 5), 1)
    writer(frame(spark, 10, 7), 1)
    assert rows_by_duckdb(lake) == rows_by_spark(spark, lake) == expected((0, 17))


def test_a_batch_that_fails_half_way_leaves_nothing_behind(spark: SparkSession, lake: Lake) -> None:
    BronzeWriter(lake, "trace")(frame(spark, 0, 10), 0)
    failing = frame(spark, 10, 10).selectExpr(
        "spool", "partition", "offset", "time",
        "if(offset < 17, reason, raise_error('no more')) reason",
    )  # fmt: skip
    with pytest.raises(Exception, match="no more"):
        BronzeWriter(lake, "trace")(failing, 1)
    assert rows_by_duckdb(lake) == expected((0, 10))
    assert not list((lake.folder / "_staging").iterdir())


def test_nothing_of_an_unfinished_batch_is_seen(spark: SparkSession, lake: Lake) -> None:
    seen: list[list[tuple[Any, ...]]] = []

    def look(folder: Path, batch: int, kind: str) -> Any:
        seen.append(rows_by_duckdb(lake))  # written, not yet published
        return look_at_batch(folder, batch, kind)

    BronzeWriter(lake, "trace")(frame(spark, 0, 10), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bronze, "look_at_batch", look)
        BronzeWriter(lake, "trace")(frame(spark, 10, 10), 1)
    assert seen == [expected((0, 10))]


def test_the_number_of_rows_is_told(spark: SparkSession, lake: Lake) -> None:
    told: list[tuple[str, int, int]] = []
    BronzeWriter(lake, "trace", lambda *facts: told.append(facts))(frame(spark, 0, 10), 4)
    assert told == [("trace", 4, 10)]


def test_every_file_carries_the_format(spark: SparkSession, lake: Lake) -> None:
    BronzeWriter(lake, "trace")(frame(spark, 0, 10), 0)
    for path in lake.bronze("trace").rglob("*.parquet"):
        metadata = pq.read_metadata(path).metadata[b"org.apache.spark.sql.parquet.row.metadata"]
        fields = json.loads(metadata)["fields"]
        assert fields[0]["metadata"] == {"rumormill.tables": FORMAT}


def test_the_index_knows_the_times_and_spools_of_files(spark: SparkSession, lake: Lake) -> None:
    writer = BronzeWriter(lake, "trace")
    writer(frame(spark, 0, 60, parts=1), 0)
    writer(frame(spark, 60, 60, "b", parts=1), 1)
    writer(frame(spark, 0, 0), 2)
    writer(frame(spark, 120, 1).union(frame(spark, 120, 1, "b")).coalesce(1), 3)
    index = BronzeIndex(lake, "trace")
    index.refresh()
    second = 1_000_000
    assert [(facts.batch, facts.rows, facts.spool) for facts in index.files()] == [
        (0, 60, "a"), (1, 60, "b"), (3, 2, None)
    ]  # fmt: skip
    found = index.between(EPOCH_US + 59 * second, EPOCH_US + 60 * second)
    assert [facts.batch for facts in found] == [0]
    found = index.between(EPOCH_US + 59 * second, EPOCH_US + 60 * second + 1)
    assert [facts.batch for facts in found] == [0, 1]
    assert index.last_batch == 3


# ---- compaction


def many_batches(spark: SparkSession, lake: Lake, batches: int) -> None:
    writer = BronzeWriter(lake, "trace")
    for batch in range(batches):
        spool = "ab"[batch % 2]
        writer(frame(spark, batch * 10, 10, spool), batch)
    commit(lake, batches - 1)


def test_compaction_keeps_every_row_and_leaves_few_files(spark: SparkSession, lake: Lake) -> None:
    many_batches(spark, lake, 7)
    before = rows_by_duckdb(lake)
    (done,) = compact_all(spark, lake)
    assert (done.rows, done.files_before, done.files_after) == (60, 12, 1)
    assert rows_by_duckdb(lake) == rows_by_spark(spark, lake) == before
    # All but the newest batch are in one folder; the newest might be run again.
    assert list(lake.batches("trace")) == [5, 6]
    (file,) = (lake.bronze("trace") / "batch_id=5").glob("*.parquet")
    table = pq.read_table(file, columns=["spool", "offset"], partitioning=None)
    order = list(zip(*(table[name].to_pylist() for name in ("spool", "offset")), strict=True))
    assert order == sorted(order)


def test_compacted_files_have_a_bounded_size_and_are_not_rewritten(
    spark: SparkSession, lake: Lake
) -> None:
    many_batches(spark, lake, 9)
    before = rows_by_duckdb(lake)
    size = sum(path.stat().st_size for path in lake.bronze("trace").rglob("*.parquet"))
    (done,) = compact_all(spark, lake, target_bytes=size // 4)
    assert 2 <= done.files_after <= 5
    kept = {path.name for path in (lake.bronze("trace") / "batch_id=7").glob("*.parquet")}
    BronzeWriter(lake, "trace")(frame(spark, 90, 10), 9)
    BronzeWriter(lake, "trace")(frame(spark, 100, 10), 10)
    commit(lake, 10)
    compact_all(spark, lake, target_bytes=1000)  # everything is large enough already
    now = {path.name for path in (lake.bronze("trace") / "batch_id=9").glob("*.parquet")}
    assert kept < now
    assert rows_by_duckdb(lake) == sorted([*before, *expected((90, 110))])


def test_a_batch_that_was_compacted_is_not_written_again(spark: SparkSession, lake: Lake) -> None:
    many_batches(spark, lake, 4)
    compact_all(spark, lake)
    before = rows_by_duckdb(lake)
    for batch in (0, 2):
        with pytest.raises(TablesError, match=f"batch {batch} cannot be written again"):
            BronzeWriter(lake, "trace")(frame(spark, 0, 1), batch)
    assert rows_by_duckdb(lake) == before
    BronzeWriter(lake, "trace")(frame(spark, 30, 10, "b"), 3)
    assert rows_by_duckdb(lake) == before


def test_batches_that_were_not_committed_or_refined_are_left_alone(
    spark: SparkSession, lake: Lake
) -> None:
    many_batches(spark, lake, 5)
    commit(lake, 1)
    (lake.checkpoint("trace") / "commits" / "4").unlink()
    assert find_jobs(lake) == []
    commit(lake, 3)
    assert [job.last for job in find_jobs(lake)] == [2]


def test_a_batch_that_comes_while_files_are_put_together_is_kept(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_batches(spark, lake, 4)
    before = rows_by_duckdb(lake)
    real = compaction._merge

    def merge(*arguments: Any) -> None:
        real(*arguments)
        BronzeWriter(lake, "trace")(frame(spark, 40, 10), 4)

    monkeypatch.setattr(compaction, "_merge", merge)
    compact_all(spark, lake)
    assert rows_by_duckdb(lake) == sorted([*before, *expected((40, 50))])


def test_a_compaction_that_would_lose_rows_changes_nothing(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_batches(spark, lake, 4)
    before = rows_by_duckdb(lake)
    real = compaction._merge
    monkeypatch.setattr(
        compaction, "_merge", lambda spark, files, *rest: real(spark, files[1:], *rest)
    )
    with pytest.raises(TablesError, match="nothing was changed"):
        compact(spark, lake, find_jobs(lake)[0])
    assert rows_by_duckdb(lake) == before
