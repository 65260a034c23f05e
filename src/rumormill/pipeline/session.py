"""A Spark session as the pipeline wants it: Java found, quiet, and quick with small batches.

For source and sink, or for tables too:

    spark = spark_session("weather")
    spark = spark_session("weather", location=parse_tables("tables"))  # lake.gold.topics
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from rumormill.pipeline.class_archive import archive_options
from rumormill.pipeline.java import set_java_home
from rumormill.pipeline.lake.jars import local_jars, needed
from rumormill.pipeline.lake.location import Location, catalog_settings, prepare
from rumormill.pipeline.worker_python import worker_python

__all__ = ["BRIEF", "THROUGHPUT", "SparkSession", "spark_session"]

SETTINGS: Final = {
    # The default forks a process about 18 times a batch to ask for symbolic links.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager",
    # Between Java and its Python workers: a fifth of the time per task that TCP takes.
    "spark.python.unix.domain.socket.enabled": "true",
    # It says nothing when Java lets an idle worker go.
    "spark.python.daemon.module": "rumormill.pipeline.worker_daemon",
    # When a reader has enough, its worker finds nobody to say so to: that is no fault to be told.
    "spark.python.daemon.killWorkerOnFlushFailure": "false",
    "spark.sql.execution.pyspark.udf.daemonKillWorkerOnFlushFailure": "false",
    # So that the source can leave out what a query does not want.
    "spark.sql.python.filterPushdown.enabled": "true",
    # Aggregates of objects (lists, sketches) stay in the hash map, and are not sorted.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
    # Sets of minutes are no part of the code that is compiled, however few they are.
    "spark.sql.optimizer.inSetConversionThreshold": "0",
    # All tables together have more plans than the default of 100: each would be compiled anew.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Times in tables are those of the trace, wherever the driver stands.
    "spark.sql.session.timeZone": "UTC",
    # Rows of a trace are small: the default of 128 MB would give a handful of tasks.
    "spark.sql.files.maxPartitionBytes": "20m",
    # Who looks at no plans need not have each of them written down.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
    # Who wrote which expression where: asked for at each of thousands, in seven calls to Java.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
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

BRIEF: Final = {
    # Compiling well takes longer than running, where each piece of code runs a few times only:
    # the first dozen queries of a process take half the processor time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    # The default for so simple a compiler runs full, and then nothing is compiled any more.
    " -XX:ReservedCodeCacheSize=256m",
}
"""For sessions that live for seconds, with up to a million rows."""

# Hadoop starts a program for each file that it makes in a folder, to set its permissions: hundreds
# of them in a run. This way of starting one takes half the time; only Linux has it.
SPAWNING: Final = "-Djdk.lang.Process.launchMechanism=VFORK" if sys.platform == "linux" else ""

LOGGING: Final = Path(__file__).with_name("log4j2.properties")

LOCAL: Final = {
    # One machine: nothing listens where others could reach it.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # What each reading of a table sends to the tasks stays in this process.
    "spark.broadcast.compress": "false",
}

JARS: Final = "spark.jars"
CLASS_PATH: Final = "spark.driver.extraClassPath"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
REPOSITORIES: Final = "spark.jars.repositories"
OWN_JARS: Final = (JARS, "spark.jars.packages", CLASS_PATH)
"""Where users name jars of their own."""

LOOKED_UP: Final = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
)
"""Java's classes by the names that PySpark has for them, which it looks up for each expression."""


def spark_session(
    name: str = "rumormill",
    master: str = "local[*]",
    *,
    location: Location | None = None,
    **settings: str | int | bool,
) -> SparkSession:
    """A session that knows ``format("rumormill")``; the one that runs already, if there is one.

    With a ``location`` it knows the tables there, too. Further settings are Spark's own:
    ``spark_session("report", **{"spark.driver.memory": "4g"})``.
    """
    from rumormill.pipeline.source import RumormillSource

    java = set_java_home()
    local = master.startswith("local")
    # Workers must be the Python that has rumormill, not the first one on the path.
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", str(worker_python()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("LOG4J_CONFIGURATION_FILE", str(LOGGING))
    chosen: dict[str, str | int | bool] = dict(SETTINGS)
    if local:
        chosen |= LOCAL
        # A cluster keeps Spark's own number, and joins what turns out to be small.
        chosen["spark.sql.shuffle.partitions"] = 2 * cores_of(master)
        # Plans are small and told by hints what is small: to plan them anew after each stage takes
        # longer than it saves.
        chosen["spark.sql.adaptive.enabled"] = False
    if location is not None:
        prepare(location)
        chosen |= catalog_settings(location)
    chosen |= settings
    if location is not None:
        chosen |= jar_settings(location, local, settings)
    if local:
        archive = archive_options(java, str(chosen.get(CLASS_PATH, "")))
        chosen[JAVA_OPTIONS] = f"{chosen.get(JAVA_OPTIONS, '')} {archive} {SPAWNING}".strip()
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(RumormillSource)
    _keep_classes(spark)
    if local and location is not None:
        _without_checksum_files(spark)
    return spark


def _keep_classes(spark: SparkSession) -> None:
    """Look them up once: a step of the pipeline does so for each of thousands of expressions, and
    Java goes through all its jars, since a short name could be of any package that PySpark imports.
    """
    java: Any = spark.sparkContext._jvm
    for name in LOOKED_UP:
        found = getattr(java, name)
        if isinstance(found, JavaClass):
            vars(java)[name] = found


def _without_checksum_files(spark: SparkSession) -> None:
    """Let Hadoop write no file of checksums beside each file of a table: only it reads them."""
    java: Any = spark.sparkContext._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    java.org.apache.hadoop.fs.FileSystem.getLocal(settings).setWriteChecksum(False)


def cores_of(master: str) -> int:
    """How many tasks a local master runs at once.

    >>> cores_of("local"), cores_of("local[2]"), cores_of("local[3,4]")
    (1, 2, 3)
    """
    said = master.removeprefix("local").strip("[]").split(",")[0]
    if said == "*":
        return os.cpu_count() or 1
    return int(said) if said.isdigit() else 1


def jar_settings(
    location: Location, local: bool, settings: Mapping[str, str | int | bool]
) -> dict[str, str]:
    """How Java gets the table format: on the path of this machine, or sent to the executors.

    What the user's own settings name is neither looked for nor fetched.
    """
    key, between = (CLASS_PATH, os.pathsep) if local else (JARS, ",")
    own = " ".join(str(settings[each]) for each in OWN_JARS if each in settings)
    paths = local_jars(needed(location, own), str(settings.get(REPOSITORIES, "")))
    if not paths:
        return {}
    given = [str(settings[key])] if key in settings else []
    return {key: between.join([*given, *map(str, paths)])}
