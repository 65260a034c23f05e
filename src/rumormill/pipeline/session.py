"""A Spark session as the pipeline wants it: Java found, quiet, and quick with small batches."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from rumormill.pipeline.java import set_java_home
from rumormill.pipeline.worker_python import worker_python

__all__ = ["THROUGHPUT", "SparkSession", "spark_session"]

SETTINGS: Final = {
    # The default forks a process about 18 times a batch to ask for symbolic links.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager",
    # Between Java and its Python workers: a fifth of the time per task that TCP takes.
    "spark.python.unix.domain.socket.enabled": "true",
    # Percentiles by collected lists stay in the hash map instead of falling back to a sort.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
    # All tables together have more plans than the default of 100: each would be compiled anew.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Times in tables are those of the trace, wherever the driver stands.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What differs from Spark's defaults, and why; any of it can be given otherwise."""

THROUGHPUT: Final = {
    # Java's usual collector of garbage runs beside the tasks, and takes cores from them.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.executor.extraJavaOptions": "-XX:+UseParallelGC",
}
"""For sessions that make tables: ``spark_session("tables", **THROUGHPUT)``."""

LOGGING: Final = Path(__file__).with_name("log4j2.properties")

LOCAL: Final = {
    # One machine: nothing listens where others could reach it.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def spark_session(
    name: str = "rumormill", master: str = "local[*]", **settings: str | int | bool
) -> SparkSession:
    """A session that knows ``format("rumormill")``; the one that runs already, if there is one.

    Further settings are Spark's own:
    ``spark_session("report", **{"spark.driver.memory": "4g"})``.
    """
    from rumormill.pipeline.source import RumormillSource

    set_java_home()
    # Workers must be the Python that has rumormill, not the first one on the path.
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", str(worker_python()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("LOG4J_CONFIGURATION_FILE", str(LOGGING))
    chosen: dict[str, str | int | bool] = dict(SETTINGS)
    if master.startswith("local"):
        chosen.update(LOCAL)
    chosen.update(settings)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(RumormillSource)
    return spark
