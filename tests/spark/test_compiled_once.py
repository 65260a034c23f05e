"""What Spark compiled for one step serves the next: it is not compiled anew for each minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.helpers.second_opinion.pipeline import frame, new_lake
from tests.helpers.spark.small_network import BEGIN, trace_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPILING: Final = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.optimizer.inSetConversionThreshold": "0",
}
"""As a session of ours has it where there is much to do."""

READINGS: Final = 15
"""Of the trace in one step, whose times are part of what is compiled."""


def compiled(spark: SparkSession) -> int:
    """How many pieces of code Spark has compiled so far."""
    java: Any = spark.sparkContext._jvm
    metrics = java.org.apache.spark.metrics.source.CodegenMetrics
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


@pytest.fixture
def compiling(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    monkeypatch.setattr("rumormill.pipeline.run.pace.FEW_ROWS", 0)
    monkeypatch.setattr("rumormill.pipeline.run.increment.FEW_ROWS", 0)
    before = {key: spark.conf.get(key, None) for key in COMPILING}
    for key, value in COMPILING.items():
        spark.conf.set(key, value)
    yield spark
    for key, given in before.items():
        if given is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, given)


def test_the_third_minute_needs_no_code_that_the_second_did_not_have(
    compiling: SparkSession,
) -> None:
    from rumormill.pipeline.lake.schema import TRACE
    from rumormill.pipeline.run.increment import Increment
    from rumormill.pipeline.run.ingest import with_class

    lake, trace, counts = new_lake(compiling), trace_rows(3), []
    increment = Increment(lake)
    for minute in range(3):
        begin = BEGIN + timedelta(minutes=minute)
        rows = [row for row in trace if begin <= row["time"] < begin + timedelta(minutes=1)]
        before = compiled(compiling)
        lake.append(TRACE, with_class(frame(compiling, rows)), {})
        increment.run()
        counts.append(compiled(compiling) - before)
    # Driver and task compile each piece for themselves.
    assert counts[-1] <= 2 * READINGS < sum(counts[:2])
