from __future__ import annotations

import io
import re
import threading
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from rumormill.pipeline.progress import Line, Sample, Watch, describe, progress, short_number
from tests.helpers.capture.spools import make_spool


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0 k"), (9_949, "9.9 k"), (10_000, "10 k"),
     (999_000, "999 k"), (5_500_000, "5.5 M"), (7e9, "7.0 G"), (7e12, "7000 G")],
)  # fmt: skip
def test_numbers_are_read_at_a_glance(number: float, text: str) -> None:
    assert short_number(number) == text


def test_a_line_says_what_it_knows_and_no_more() -> None:
    assert describe("report", "", Sample(), 0, 3) == "report: 3 s"
    assert describe("report", "gold", Sample(tasks_done=1, tasks=2), 0, 3) == (
        "report: gold, task 1 of 2, 3 s"
    )


def test_the_rate_is_that_since_the_last_line() -> None:
    line = Line("stream")
    began = line._began
    assert "1.0 k rows, 500 rows/s, 2 s" in line.text(Sample(1000), began + 2)
    assert "3.0 k rows, 2.0 k rows/s, 3 s" in line.text(Sample(3000), began + 3)
    line.say("deliveries")
    assert line.text(Sample(3000, doing="waiting"), began + 4).startswith("stream: deliveries, ")


class Waiting(io.StringIO):
    """A file that says when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


def test_plain_lines_tell_of_a_batch_job(spark: SparkSession, tmp_path: Path) -> None:
    stream = Waiting()
    release = tmp_path / "release"

    def wait(batches):  # type: ignore[no-untyped-def]
        import time

        while not release.exists():
            time.sleep(0.02)
        yield from batches

    frame = spark.range(0, 100, 1, 2).mapInArrow(wait, "id long")
    job = threading.Thread(target=frame.count)
    with progress(spark, "counting", stream=stream, every=0.05) as line:
        line.say("by hand")
        job.start()
        try:
            while "task 0 of 2" not in stream.getvalue():
                assert stream.written.wait(60)
                stream.written.clear()
        finally:
            release.touch()
            job.join(60)
    assert re.search(r"^counting: by hand, task 0 of 2, \d+ s$", stream.getvalue(), re.MULTILINE)


def test_rows_of_files_are_counted_and_what_was_before_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = str(tmp_path / "rows")
    spark.range(0, 1000, 1, 2).write.parquet(folder)
    spark.read.parquet(folder).groupBy("id").count().collect()
    watch = Watch(spark)
    assert watch.sample() == Sample()
    for total in (1000, 2000):
        spark.read.parquet(folder).groupBy("id").count().collect()
        assert watch.sample().rows == total


def test_rows_of_a_stream_are_counted(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather"] * 50)
    watch = Watch(spark)
    samples = []

    def look(batch: DataFrame, number: int) -> None:
        batch.count()
        samples.append(watch.sample())

    query = (
        spark.readStream.format("rumormill").option("spool", str(spool.folder))
        .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "10").load()
        .writeStream.foreachBatch(look).option("checkpointLocation", checkpoint)
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    assert [sample.rows for sample in samples] == [0, 10, 20, 30, 40]


def test_a_line_that_fails_does_not_end_the_job(spark: SparkSession) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("gone")

    with progress(spark, "counting", stream=Broken(), every=0.01):
        assert spark.range(10).count() == 10
