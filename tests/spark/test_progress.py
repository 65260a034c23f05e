from __future__ import annotations

import io
import re
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.progress import Line, progress, short_number


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0 k"), (9_949, "9.9 k"), (10_000, "10 k"),
     (999_000, "999 k"), (5_500_000, "5.5 M"), (7e9, "7.0 G"), (7e12, "7000 G")],
)  # fmt: skip
def test_numbers_are_read_at_a_glance(number: float, text: str) -> None:
    assert short_number(number) == text


def test_a_line_says_what_it_knows_and_no_more() -> None:
    line = Line("report")
    assert line.text((0, 0), line._began + 3) == "report: 3 s"
    line.say("gold")
    assert line.text((1, 2), line._began + 3) == "report: gold, task 1 of 2, 3 s"


def test_the_rate_is_that_since_the_last_line() -> None:
    line = Line("stream")
    line.count(1000)
    assert "1.0 k rows, 500 rows/s, 2 s" in line.text((0, 0), line._began + 2)
    line.count(2000)
    assert "3.0 k rows, 2.0 k rows/s, 3 s" in line.text((0, 0), line._began + 3)


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


def test_a_line_that_fails_does_not_end_the_job(spark: SparkSession) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("gone")

    with progress(spark, "counting", stream=Broken(), every=0.01):
        assert spark.range(10).count() == 10
