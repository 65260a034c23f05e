"""Spark in a process of its own, driven by JSON lines: one session, fresh from the start.

    python -m bench.spark.program

The first line describes the session, each further one something to do; each is answered by a line.
Everything ends with stdin. :mod:`bench.spark.process` is the other end.

A reader is ``{"format": ..., "options": {...}, "schema": ...}``. The sink is
``noop``, which asks for every row and does nothing with it; for latency, ``foreachBatch``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.process_tree import cpu_seconds
from bench.spark.asking import ask
from bench.spark.refining import Tables
from bench.spark.rows import STAMP_SIZE, stamp_of
from rumormill.core.percentiles import percentile
from rumormill.pipeline.java import set_java_home
from rumormill.pipeline.session import LOCAL, LOGGING, spark_session
from rumormill.pipeline.source import RumormillSource
from rumormill.system.tables_location import parse_tables

Row = dict[str, Any]


def make_session(job: Row) -> SparkSession:
    """With the settings that we recommend, or with Spark's own."""
    settings: dict[str, str] = {**job.get("settings", {}), "spark.ui.showConsoleProgress": "false"}
    if job["recommended"]:
        tables = job.get("tables")
        location = parse_tables(tables) if tables else None
        return spark_session("bench", job["master"], location=location, **settings)
    set_java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("LOG4J_CONFIGURATION_FILE", str(LOGGING))
    builder = SparkSession.builder.appName("bench").master(job["master"])
    for key, value in {**LOCAL, "spark.ui.enabled": "false", **settings}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(RumormillSource)
    return spark


class Meter:
    """Time and processor time of this process and its children; of a server, too."""

    def __init__(self, server: int | None) -> None:
        self._pids = (os.getpid(), *([] if server is None else [server]))
        self._began = time.perf_counter()
        self._cpu = [cpu_seconds(pid) for pid in self._pids]

    def read(self) -> Row:
        """What it took since the beginning."""
        seconds = time.perf_counter() - self._began
        ours, *server = (
            cpu_seconds(pid) - before for pid, before in zip(self._pids, self._cpu, strict=True)
        )
        return {
            "seconds": seconds,
            "cpu_seconds": ours,
            "server_cpu_seconds": server[0] if server else None,
        }


class Program:
    """The session and what runs in it."""

    def __init__(self, spark: SparkSession, scratch: Path, tables: str | None) -> None:
        self._spark = spark
        self._tables = Tables(spark, tables) if tables else None
        self._scratch = scratch
        self._checkpoints = 0
        self._latency: Latency | None = None

    def do(self, job: Row) -> Row:
        """One job; its answer."""
        actions: dict[str, Callable[[Row], Row]] = {
            "batch": self.batch,
            "stream": self.stream,
            "count": self.count,
            "listen": self.listen,
            "settled": self.settled,
            "report": self.report,
            "clear": self.clear,
            "ingest": self.ingest,
            "refine": self.refine,
            "keep_up": self.keep_up,
            "question": self.question,
        }
        return actions[job["do"]](job)

    def batch(self, job: Row) -> Row:
        """Read everything once."""
        meter = Meter(job.get("server"))
        self._frame(job["reader"]).write.format("noop").mode("overwrite").save()
        return meter.read()

    def stream(self, job: Row) -> Row:
        """Read everything that is there, as a stream."""
        meter = Meter(job.get("server"))
        frame = self._frame(job["reader"], streaming=True)
        writer = frame.writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", self._checkpoint()).start()
        query.awaitTermination()
        return {
            **meter.read(),
            "rows": sum(each.numInputRows for each in query.recentProgress),
            "batches": len(query.recentProgress),
            "batch_seconds": sum(
                each.durationMs["triggerExecution"] / 1000 for each in query.recentProgress
            ),
        }

    def count(self, job: Row) -> Row:
        """How many rows and bytes there are, and how many of the rows differ."""
        (found,) = (
            self._frame(job["reader"])
            .selectExpr("count(*)", "sum(length(value))", f"count(DISTINCT {_stamp()})")
            .collect()
        )
        return {"rows": found[0], "bytes": found[1], "distinct": found[2]}

    # ---- tables

    @property
    def tables(self) -> Tables:
        """Those that the session was made for."""
        assert self._tables is not None, "the session was given no tables"
        return self._tables

    def clear(self, job: Row) -> Row:
        """Remove layers of tables; what is told of time is of no interest."""
        self.tables.clear(*job["layers"])
        return {}

    def ingest(self, job: Row) -> Row:
        """What a spool has more, into bronze."""
        meter = Meter(None)
        found = self.tables.ingest(job["spool"])
        return {**found, **meter.read()}

    def refine(self, job: Row) -> Row:
        """What bronze has more, into silver and gold."""
        meter = Meter(None)
        found = self.tables.refine()
        return {**found, **meter.read()}

    def keep_up(self, job: Row) -> Row:
        """What a stream does every hour."""
        meter = Meter(None)
        found = self.tables.keep_up(job["snapshots"])
        return {**found, **meter.read()}

    def question(self, job: Row) -> Row:
        """A question to silver."""
        meter = Meter(None)
        found = ask(self._spark, job["name"])
        return {**found, **meter.read()}

    # ---- rows

    def _frame(self, reader: Row, streaming: bool = False) -> DataFrame:
        source = self._spark.readStream if streaming else self._spark.read
        if reader["format"] == "parquet" and streaming:
            # A stream of files must be told what is in them.
            source = source.schema(self._frame(reader).schema)
        elif reader.get("schema"):
            source = source.schema(reader["schema"])
        return source.format(reader["format"]).options(**reader["options"]).load()

    def _checkpoint(self) -> str:
        self._checkpoints += 1
        return str(self._scratch / f"checkpoint-{self._checkpoints}")

    # ---- latency

    def listen(self, job: Row) -> Row:
        """Start a query that notes when each row arrives."""
        latency = Latency(job.get("server"))
        frame = self._frame(job["reader"], streaming=True).selectExpr(f"{_stamp()} AS stamp")
        writer = frame.writeStream.foreachBatch(latency.arrived)
        latency.query = writer.option("checkpointLocation", self._checkpoint()).start()
        self._latency = latency
        return {}

    def settled(self, job: Row) -> Row:
        """From now on processor time counts: the warm-up is over."""
        assert self._latency is not None
        self._latency.settled()
        return {}

    def report(self, job: Row) -> Row:
        """Wait for the last row, end the query, and tell the latency of those made later."""
        assert self._latency is not None
        return self._latency.report(job["rows"], job["since_us"], job["patience"])


class Latency:
    """When the rows of a query arrived, by the clock that they were stamped with."""

    query: StreamingQuery

    def __init__(self, server: int | None) -> None:
        self._arrivals: dict[int, tuple[int, int]] = {}
        self._copies = 0
        self._some = threading.Condition()
        self._server = server
        self._meter = Meter(server)
        self._batches = 0

    def settled(self) -> None:
        """Count from here on."""
        self._meter = Meter(self._server)
        self._batches = 0

    def arrived(self, frame: DataFrame, batch: int) -> None:
        """What ``foreachBatch`` calls: the rows are here when they are in this program."""
        stamps = [stamp_of(bytes(row.stamp)) for row in frame.collect()]
        now = time.time_ns() // 1000
        with self._some:
            for made, number in stamps:
                self._copies += number in self._arrivals
                self._arrivals.setdefault(number, (made, now))
            self._batches += 1
            self._some.notify_all()

    def report(self, rows: int, since_us: int, patience: float) -> Row:
        """Wait for so many rows, and end."""
        deadline = time.monotonic() + patience
        with self._some:
            while len(self._arrivals) < rows and time.monotonic() < deadline:
                self._some.wait(timeout=0.5)
                if self.query.exception() is not None:
                    break
        used = self._meter.read()
        self.query.stop()
        waited = sorted(now - made for made, now in self._arrivals.values() if made >= since_us)
        return {
            **used,
            "rows": len(self._arrivals),
            "copies": self._copies,
            "measured": len(waited),
            "batches": self._batches,
            "latency_ms": {
                name: (percentile(waited, share) or 0) / 1000 for name, share in PERCENTILES.items()
            },
        }


PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def _stamp() -> str:
    return f"substring(value, 1, {STAMP_SIZE})"


def end_session(spark: SparkSession) -> None:
    """Stop it, and wait for Java: whoever is not waited for is nobody's processor time."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)


def main() -> None:
    """Do what stdin says."""
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(found: Row) -> None:
        print(json.dumps(found), file=answers, flush=True)

    described = json.loads(sys.stdin.readline())
    spark = make_session(described)
    answer({"spark": spark.version})
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        program = Program(spark, Path(scratch), described.get("tables"))
        for line in sys.stdin:
            try:
                answer(program.do(json.loads(line)))
            except Exception as error:
                answer({"error": f"{type(error).__name__}: {error}".splitlines()[0][:500]})
        with contextlib.suppress(Exception):
            end_session(spark)


if __name__ == "__main__":
    main()
