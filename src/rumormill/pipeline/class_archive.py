"""Spark's classes as Java has loaded them once, kept for the next start: it takes a third less.

Java calls it class data sharing. The archive is made by ``make setup`` (``python -m
rumormill.pipeline.class_archive``) from a session that does a little of everything, and lies in the
user's cache, 190 MB of it. It fits one Java and one path of classes; where it does not fit, or is
not there, Java starts as ever.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Final

import pyspark

QUIET: Final = "-Xlog:disable -Xlog:all=off"
"""Java would name thousands of classes that it does not keep."""

MAKING: Final = "RUMORMILL_CLASS_ARCHIVE"
"""Set in the process that makes it."""


def archive_options(java: Path, class_path: str) -> str:
    """Options of Java by which it uses the archive, or makes it; empty if there is none."""
    path = archive_path(java, class_path)
    if os.environ.get(MAKING):
        path.parent.mkdir(parents=True, exist_ok=True)
        return f"{QUIET} -XX:ArchiveClassesAtExit={path}"
    return f"{QUIET} -XX:SharedArchiveFile={path}" if path.is_file() else ""


def archive_path(java: Path, class_path: str) -> Path:
    """Where the archive for this Java, this pyspark and these jars is."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    fits = f"{java.resolve()} {pyspark.__file__} {pyspark.__version__} {class_path}"
    return cache / "rumormill" / "classes" / f"{zlib.crc32(fits.encode()):08x}.jsa"


def main() -> int:
    """Make the archive for tables in a folder of this machine."""
    os.environ[MAKING] = "1"
    from pyspark.sql import functions as F

    from rumormill.core.errors import ConfigError
    from rumormill.pipeline.session import BRIEF, spark_session
    from rumormill.system.tables_location import parse_tables

    with tempfile.TemporaryDirectory() as folder:
        try:
            spark = spark_session("classes", "local[2]", location=parse_tables(folder), **BRIEF)
        except ConfigError as error:
            sys.stderr.write(f"{error.problem}\n")
            return 1
        rows = spark.range(1000).select(
            F.timestamp_seconds(F.col("id")).alias("time"), (F.col("id") % 7).alias("number"),
            F.col("id").cast("string").alias("name"),
        )  # fmt: skip
        spark.sql("create namespace lake.gold")
        spark.sql(
            "create table lake.gold.some (time timestamp, number bigint, name string)"
            " using iceberg partitioned by (hours(time))"
        )
        rows.writeTo("lake.gold.some").append()
        some = spark.table("lake.gold.some")
        counted = some.groupBy("number").agg(F.min_by("name", "time").alias("first"), F.count("*"))
        some.join(counted, "number").orderBy("name").collect()
        rows.writeTo("lake.gold.some").overwrite(F.col("time").isNotNull())
        process = getattr(spark.sparkContext._gateway, "proc", None)
        spark.stop()
        if process is not None:  # it writes the archive when it ends, for some seconds
            process.stdin.close()
            process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
