"""Spark's classes as Java has loaded them once, kept for the next start: it takes a third less.

Java calls it class data sharing. The archive is made by ``make setup`` (``python -m
rumormill.pipeline.class_archive``) from a run of the pipeline on a handful of events, and lies in
the user's cache, 200 MB of it. It fits one Java and one path of classes; where it does not fit, or
is not there, Java starts as ever.
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
    from rumormill.core.errors import ConfigError
    from rumormill.pipeline.run.parameters import RunParameters
    from rumormill.pipeline.run.runner import Runner
    from rumormill.pipeline.session import BRIEF, spark_session
    from rumormill.system.tables_location import parse_tables

    with tempfile.TemporaryDirectory() as folder:
        tables = str(Path(folder, "tables"))
        spool = write_events(Path(folder, "spool"))
        try:
            spark = spark_session("classes", "local[2]", location=parse_tables(tables), **BRIEF)
        except ConfigError as error:
            sys.stderr.write(f"{error.problem}\n")
            return 1
        Runner(spark, RunParameters(spools=(str(spool),), tables=tables, once=True)).run()
        process = getattr(spark.sparkContext._gateway, "proc", None)
        spark.stop()
        if process is not None:  # it writes the archive when it ends, for some seconds
            process.stdin.close()
            process.wait()
    return 0


def write_events(folder: Path) -> Path:
    """A spool of a few events: one message from one node to another, twice."""
    from rumormill.capture.writing.writer import SpoolWriter
    from rumormill.core import trace
    from rumormill.core.message import Message
    from rumormill.core.topic import Capabilities
    from rumormill.core.trace import TraceEvent

    message = b"id"
    events = [
        *(trace.network_opened(0.0, node, Capabilities(1000)) for node in "ab"),
        *(TraceEvent(0.1, node, trace.SUBSCRIBED, "news") for node in "ab"),
        *(TraceEvent(0.2, node, trace.PEER_JOINED, peer=peer) for node, peer in ("ab", "ba")),
        *(TraceEvent(0.3, node, trace.GRAFTED, "news", peer=peer) for node, peer in ("ab", "ba")),
        TraceEvent(1.0, "a", trace.PUBLISHED, "news", message, fields={"size": 5}),
        TraceEvent(1.1, "a", trace.PACKET_SENT, peer="b", fields={"size": 50, "messages": 1}),
        TraceEvent(1.2, "b", trace.DELIVERED, "news", message, "a", {"size": 5, "sender": "a"}),
        TraceEvent(1.3, "b", trace.DUPLICATE, "news", message, "a"),
        TraceEvent(2.0, "b", trace.PRUNED, "news", peer="a", fields={"by": "us"}),
    ]
    with SpoolWriter(folder, live=False) as writer:
        for event in events:
            writer.trace(event, network="classes")
        writer.message(Message("news", b"hello", "a", message, "classes", "a", 1.2), node="b")
    return folder


if __name__ == "__main__":
    sys.exit(main())
