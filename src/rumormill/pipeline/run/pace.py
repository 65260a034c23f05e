"""Settings of Spark for work with few rows, where preparing it takes longer than doing it.

Spark compiles each plan to Java code of its own, and deals rows out to tasks: right for millions of
rows, and most of the time for thousands, in the first queries of a process above all. Times stand
in the code as constants, so what was compiled for one minute does not serve the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

FEW_ROWS: Final = 150_000
"""With fewer, the plans that read events take less time if they are not compiled."""

QUICK: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    # Rows that the driver holds: one task for them, not one for each core.
    "spark.sql.leafNodeDefaultParallelism": "1",
    # Looks through each plan once more, for a copy of few rows that it may save.
    "spark.sql.execution.removeRedundantProjects": "false",
}


@contextmanager
def paced(spark: SparkSession, rows: int) -> Iterator[None]:
    """With :data:`QUICK` settings while few rows are worked on; for all threads of the session."""
    if rows >= FEW_ROWS:
        yield
        return
    before = {key: spark.conf.get(key, None) for key in QUICK}
    for key, value in QUICK.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, given in before.items():
            if given is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, given)
