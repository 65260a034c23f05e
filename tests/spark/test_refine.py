"""Silver and gold, range by range while a stream runs, equal those of all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline import publication
from rumormill.pipeline.bronze import BronzeWriter
from rumormill.pipeline.compaction import compact_all
from rumormill.pipeline.lake import Lake
from rumormill.pipeline.refine import BY_MINUTE, Refiner
from rumormill.pipeline.refined import load_refined
from rumormill.pipeline.tables import TRACE
from tests.helpers.spark.other_readers import ask_duckdb
from tests.helpers.spark.small_network import BEGIN, event, trace_rows

COLUMNS = [f"{field.name} {field.dataType.simpleString()}" for field in TRACE]
ROW = ", ".join(["spool string", "partition int", "offset long", *COLUMNS])
DELAY, MARGIN = 10.0, 60.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


class Stream:
    """Tables that are filled and refined step by step."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self.spark = spark
        self.lake = lake
        self.refiner = Refiner(spark, lake, delay=DELAY, margin=MARGIN)
        self._batch = 0

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        frame = self.spark.createDataFrame(rows, ROW).coalesce(1)
        BronzeWriter(self.lake, "trace")(frame, self._batch)
        for name in ("offsets", "commits"):
            folder = self.lake.checkpoint("trace") / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / str(self._batch)).touch()
        self._batch += 1

    def sealed(self) -> float | None:
        """Minutes after the beginning."""
        sealed = load_refined(self.lake.folder).sealed_us
        return None if sealed is None else (sealed / 1e6 - BEGIN.timestamp()) / 60

    def rows(self, table: str, until: float | None = None) -> list[tuple[Any, ...]]:
        """All rows of a table, or those of the first minutes, as DuckDB reads them."""
        where = ""
        if until is not None:
            where = f"where minute < timestamptz '{BEGIN + timedelta(minutes=until)}'"
        return ask_duckdb(
            f"select columns(lambda c: c not in ('until_minute', 'batch_id')) "
            f"from read_parquet('{self.lake.folder}/{table}/**/*.parquet') {where} order by all"
        )


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Iterator[Stream]:
    lake = Lake(tmp_path / "tables")
    with lake.writing(spark):
        yield Stream(spark, lake)


def before(rows: Sequence[dict[str, Any]], minutes: float) -> list[dict[str, Any]]:
    return [row for row in rows if row["time"] < BEGIN + timedelta(minutes=minutes)]


def between(rows: Sequence[dict[str, Any]], since: float, until: float) -> list[dict[str, Any]]:
    return [row for row in before(rows, until) if row not in before(rows, since)]


def silence(seconds: float) -> dict[str, Any]:
    """An event of which no table takes notice, but the clock does."""
    return event(seconds, "ann", "heartbeat", spool="s" * 32, partition=0, offset=10**6)


def silver_tables(stream: Stream, until: float) -> dict[str, list[tuple[Any, ...]]]:
    return {name: stream.rows(f"silver/{name}", until) for name in BY_MINUTE}


def test_ranges_refined_one_by_one_equal_everything_at_once(stream: Stream) -> None:
    rows = trace_rows(8)
    sealed = []
    for step in ((0, 3), (3, 4.5), (4.5, 8)):
        stream.add(between(rows, *step))
        assert stream.refiner.seal()
        sealed.append(stream.sealed())
        if len(sealed) == 2:
            compact_and_check(stream)
    # The newest event less the delay and the margin, in whole minutes.
    assert sealed == [1, 3, 6]
    assert list(stream.lake.ranges("silver/deliveries")) == [202603011203, 202603011206]
    one_by_one = silver_tables(stream, 6)
    assert all(one_by_one.values())
    assert one_by_one == silver_tables(stream, 100)  # nothing of what is not over
    assert not stream.refiner.refined.late
    assert stream.refiner.everything()
    assert silver_tables(stream, 6) == one_by_one
    # The minutes that are not over came in provisionally, and the next range replaces them.
    assert len(stream.rows("silver/publications")) == sum(r["event"] == "published" for r in rows)
    assert list(stream.lake.ranges("silver/deliveries")) == [202603011206, 202603011208]
    all_at_once = silver_tables(stream, 7)
    stream.add([silence(9 * 60.0)])
    assert stream.refiner.seal() and stream.sealed() == 7
    assert list(stream.lake.ranges("silver/deliveries")) == [202603011206, 202603011207]
    assert silver_tables(stream, 7) == all_at_once


def compact_and_check(stream: Stream) -> None:
    """Compaction changes no row, and what is refined later is none the wiser."""
    before = silver_tables(stream, 100), stream.rows("bronze/trace")
    done = compact_all(stream.spark, stream.lake)
    stream.refiner.forget_files()
    assert {each.table for each in done} >= {"silver/deliveries", "_history", "_activity"}
    assert list(stream.lake.ranges("silver/deliveries")) == [202603011203]
    assert (silver_tables(stream, 100), stream.rows("bronze/trace")) == before


def test_late_events_reach_bronze_are_counted_and_enter_when_all_is_refined(
    stream: Stream,
) -> None:
    rows = before(trace_rows(5), 5)
    late = [row for row in between(rows, 1, 2) if row["event"] == "published"][:7]
    stream.add([row for row in rows if row not in late])
    assert stream.refiner.seal() and stream.sealed() == 3
    assert not stream.refiner.refined.late
    stream.add([*late, silence(380.0)])
    assert stream.refiner.seal() and stream.sealed() == 5
    assert len(stream.rows("bronze/trace")) == len(rows) + 1
    assert stream.refiner.refined.late == {"gossipsub": {"2026-03-01T12:01Z": 7}}
    published = len([row for row in rows if row["event"] == "published"])
    assert len(stream.rows("silver/publications", 5)) == published - 7
    stream.refiner.make_gold()
    problems = ask_duckdb(
        "select network, count, detail from "
        f"read_parquet('{stream.lake.folder}/gold/problems/*.parquet') where kind = 'late'"
    )
    assert [problem[:2] for problem in problems] == [("gossipsub", 7)]
    assert "2026-03-01T12:01Z" in problems[0][2]
    stream.refiner.everything()
    assert len(stream.rows("silver/publications", 5)) == published
    assert not stream.refiner.refined.late


def test_a_refinement_that_is_cut_short_is_done_again_with_the_same_result(
    stream: Stream, spark: SparkSession
) -> None:
    rows = before(trace_rows(4), 4)
    stream.add(rows)

    class Killed(BaseException):
        pass

    def killed(*arguments: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "finish", killed)
        patch.setattr(publication.Publication, "discard", lambda self: None)
        with pytest.raises(Killed):
            stream.refiner.seal()
    assert stream.sealed() is None
    publication.recover(stream.lake.folder)  # as the next writer does
    assert stream.sealed() == 2
    finished = silver_tables(stream, 100)
    assert all(finished.values())
    published = [row for row in before(rows, 2) if row["event"] == "published"]
    assert len(finished["publications"]) == len(published)
    again = Refiner(spark, stream.lake, delay=DELAY, margin=MARGIN)
    assert not again.seal()


def test_nothing_captured_is_nothing_refined(stream: Stream) -> None:
    assert not stream.refiner.seal()
    assert not stream.refiner.everything()
