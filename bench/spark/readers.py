"""Who is read by Spark, side by side: our spool, a node of ours, Parquet, Kafka."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
from bench.kafka import install
from bench.spark.rows import TOPIC
from rumormill.core.errors import ConfigError
from rumormill.pipeline.java import java_home

LABELS = {
    "spool": "rumormill, a folder",
    "columns": "rumormill, Kafka's columns",
    "node": "rumormill, a node over HTTP",
    "parquet": "Parquet, built into Spark",
    "kafka": "Kafka, Spark's own source",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Entrant:
    """Somebody whose rows Spark reads; or the reason why it cannot."""

    name: str
    reader: Row | None = None
    """As :mod:`bench.spark.program` wants it."""
    jars: str = ""
    server: int | None = None
    """The process that answers, if there is one."""
    missing: str = ""


KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int"
)
"""The columns that Kafka's source has."""


def spool_reader(folder: Path, schema: str | None = None) -> Row:
    """A spool in a folder; all columns, or some."""
    options = {"spool": str(folder), "subscribe": TOPIC, "startingOffsets": "earliest"}
    return {"format": "rumormill", "options": options, "schema": schema}


def node_reader(address: str) -> Row:
    """A spool that a node keeps."""
    options = {"node": address, "subscribe": TOPIC, "startingOffsets": "earliest"}
    return {"format": "rumormill", "options": options}


def parquet_reader(folder: Path) -> Row:
    """Parquet files in a folder."""
    return {"format": "parquet", "options": {"path": str(folder)}}


def kafka_reader(servers: str, topic: str = TOPIC) -> Row:
    """A topic of a broker."""
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    return {"format": "kafka", "options": options}


@dataclass(frozen=True)
class Node:
    """A running node of ours."""

    pid: int
    address: str
    """Where others dial it."""
    http: str


@contextlib.contextmanager
def running_node(folder: Path) -> Iterator[Node]:
    """``rumormill node`` with a spool and HTTP, until the block ends."""
    command = [
        sys.executable, "-m", "rumormill.cli", "node", "--topic", TOPIC,
        "--listen", "/ip4/127.0.0.1/tcp/0", "--http", "127.0.0.1:0",
        "--spool", str(folder), "--json", "--status", "3600",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=bench.ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline() or "{}")
        if ready.get("event") != "ready":
            raise RuntimeError(f"the node did not start: {ready}")
        yield Node(process.pid, ready["addresses"][0], ready["http"])
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def no_java() -> str:
    """Why nobody can take part, if Spark cannot run here."""
    try:
        java_home()
    except ConfigError:
        return did_not_take_part("no Java")
    return ""


def did_not_take_part(problem: object) -> str:
    """What stands in the table."""
    return f"did not take part: {problem}"


def versions_of(entrants: Iterable[Entrant]) -> dict[str, dict[str, str]]:
    """What those who take part are made of."""
    packages = ("rumormill", "pyspark", "pyarrow")
    found = {"spark": {name: importlib.metadata.version(name) for name in packages}}
    if any(entrant.name == "kafka" and not entrant.missing for entrant in entrants):
        found["kafka"] = install.find().versions()
    return found
