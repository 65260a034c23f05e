"""A million rows of 1 KiB, read by Spark from a spool, and from what one would use otherwise.

The rows are the same for everybody. Every contestant gets a session of its own, in a new process,
once for batches and once for streams: the first query pays for what is loaded and compiled, the
others are warm. CPU is that of the whole process tree, Java and its Python workers; that of a
server that answers (our node, Kafka's broker) is beside it.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from bench.kafka import install
from bench.kafka.broker import running_broker
from bench.progress import Progress
from bench.spark.process import SparkFailedError, SparkProcess
from bench.spark.readers import (
    KAFKA_COLUMNS,
    Entrant,
    did_not_take_part,
    kafka_reader,
    no_java,
    node_reader,
    parquet_reader,
    running_node,
    spool_reader,
    versions_of,
)
from bench.spark.rows import TOPIC, Rows
from rumormill.capture.open import open_log
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import MESSAGES
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.message import Message
from rumormill.pipeline.session import BRIEF
from rumormill.pipeline.source.columns import arrow_schema, spark_schema
from rumormill.pipeline.source.ranges import Range
from rumormill.pipeline.source.reading import ReadPlan, read_range

HOWS = ("stream", "batch")
BEGAN = 1_700_000_000.0
FILE_ROWS = 100_000
METRICS = {"rows_per_second": max, "cpu_us": min, "server_us": min, "total_us": min}
"""What is measured, and which of several values is the best."""

Row = dict[str, Any]
Sample = dict[str, float]


@dataclass(frozen=True)
class SourcePlan:
    """How much is measured."""

    rows: int = 1_000_000
    size: int = 1024
    rounds: int = 1
    """New sessions for everybody."""
    warm: int = 4
    """Queries of each session after the first."""
    partitions: int = 4
    """Of the topic in Kafka: two for each core suited it best."""
    entrants: tuple[str, ...] = ("spool", "columns", "node", "parquet", "kafka")
    hows: tuple[str, ...] = HOWS
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Java: its own, unless nobody looks at the figures."""


QUICK = SourcePlan(
    rows=20_000,
    rounds=1,
    warm=1,
    entrants=("spool", "parquet", "kafka"),
    hows=("stream",),
    settings=BRIEF,
)


async def run(plan: SourcePlan, progress: Progress) -> Row:
    """Measure; returns the part ``source`` of the results."""
    measured = Measured()
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        progress.begin("source", len(plan.entrants) * (1 + plan.rounds * len(plan.hows)))
        with contextlib.ExitStack() as stack:
            if missing := no_java():
                entrants = [Entrant(name, missing=missing) for name in plan.entrants]
            else:
                entrants = list(_entrants(plan, Path(scratch), stack, progress))
            for number in range(plan.rounds):
                # Whoever comes first in one round comes later in the next.
                turn = number % len(entrants)
                for entrant in entrants[turn:] + entrants[:turn]:
                    for how in plan.hows:
                        words = f"round {number + 1} of {plan.rounds}, {entrant.name} {how}"
                        progress.step(f"source: {words}")
                        _measure(entrant, how, plan, measured)
    return {
        "rows_read": plan.rows,
        "size": plan.size,
        "rounds": plan.rounds,
        "warm": plan.warm,
        "partitions": plan.partitions,
        "versions": versions_of(entrants),
        "missing": {each.name: each.missing for each in entrants if each.missing},
        "rows": [row_of(each, how, measured) for how in plan.hows for each in entrants],
    }


# ---- who takes part, and the rows


def _entrants(
    plan: SourcePlan, scratch: Path, stack: contextlib.ExitStack, progress: Progress
) -> Iterator[Entrant]:
    spool = scratch / "spool"
    progress.step("source: writing the spool")
    fill_spool(spool, plan.rows, plan.size)
    yield Entrant("spool", spool_reader(spool))
    if "columns" in plan.entrants:
        yield Entrant("columns", spool_reader(spool, KAFKA_COLUMNS))
    if "node" in plan.entrants:
        progress.step("source: starting a node")
        node = stack.enter_context(running_node(spool))
        yield Entrant("node", node_reader(node.http), server=node.pid)
    if "parquet" in plan.entrants:
        progress.step("source: writing Parquet")
        fill_parquet(scratch / "parquet", spool, plan.rows)
        yield Entrant("parquet", parquet_reader(scratch / "parquet"))
    if "kafka" in plan.entrants:
        progress.step("source: filling Kafka")
        yield _kafka(plan, scratch, stack)


def _kafka(plan: SourcePlan, scratch: Path, stack: contextlib.ExitStack) -> Entrant:
    try:
        kafka = install.find()
        broker = stack.enter_context(running_broker(kafka, scratch / "kafka"))
        broker.produce("fill", TOPIC, plan.partitions, plan.rows, plan.size)
    except install.MissingKafkaError as problem:
        return Entrant("kafka", missing=did_not_take_part(problem))
    reader = kafka_reader(broker.servers)
    return Entrant("kafka", reader, kafka.connector_jars, broker.pid)


def fill_spool(folder: Path, count: int, size: int) -> None:
    """Messages as a node of a libp2p network delivers them."""
    chance, rows = random.Random(1), Rows(size)
    peers = ["12D3KooW" + f"{chance.getrandbits(176):044x}" for _ in range(12)]
    with SpoolWriter(folder, SpoolParameters(fsync="never"), live=False) as writer:
        for number in range(count):
            sender = peers[number % 11]
            message = Message(
                TOPIC,
                rows.value(number),
                sender,
                sender[:38].encode() + number.to_bytes(8, "big"),
                "gossipsub",
                peers[number % 7],
                BEGAN + number * 1e-3,
                {"sequence": number},
            )
            writer.message(message, peers[-1])


def fill_parquet(folder: Path, spool: Path, count: int) -> None:
    """The same rows in the same columns, in files as large as Spark itself would write."""
    schema = arrow_schema(MESSAGES, spark_schema(MESSAGES, headers=False).names)
    identity = open_log(spool, MESSAGES).spool_id
    folder.mkdir()
    for start in range(0, count, FILE_ROWS):
        wanted = Range(str(spool), identity, 0, start, min(count, start + FILE_ROWS))
        table = pa.Table.from_batches(read_range(ReadPlan(MESSAGES, schema), wanted), schema)
        parquet.write_table(table, folder / f"{start:08}.parquet")


# ---- measuring


class Measured:
    """The samples of all rounds."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], list[Sample]] = {}
        self.warm: dict[tuple[str, str], list[Sample]] = {}
        self.failures: dict[tuple[str, str], str] = {}


def _measure(entrant: Entrant, how: str, plan: SourcePlan, measured: Measured) -> None:
    """One session: the first query, the warm ones, and whether every row was there."""
    if entrant.missing:
        return
    key = (entrant.name, how)
    try:
        with SparkProcess(jars=entrant.jars, settings=plan.settings) as spark:
            for number in range(1 + plan.warm):
                said = spark.ask(how, reader=entrant.reader, server=entrant.server)
                if said.get("rows", plan.rows) != plan.rows:
                    raise SparkFailedError(f"read {said['rows']} rows instead of {plan.rows}")
                samples = measured.warm if number else measured.first
                samples.setdefault(key, []).append(sample_of(said, plan.rows))
            counted = spark.ask("count", reader=entrant.reader)
    except SparkFailedError as problem:
        measured.failures.setdefault(key, str(problem))
        return
    if (counted["rows"], counted["distinct"]) != (plan.rows, plan.rows):
        measured.failures.setdefault(key, f"read {counted} instead of {plan.rows} rows")


def sample_of(said: Row, rows: int) -> Sample:
    """The figures of one query."""
    server = said["server_cpu_seconds"]
    sample = {
        "rows_per_second": rows / said["seconds"],
        "cpu_us": said["cpu_seconds"] / rows * 1e6,
        "total_us": (said["cpu_seconds"] + (server or 0.0)) / rows * 1e6,
    }
    if server is not None:
        sample["server_us"] = server / rows * 1e6
    return sample


def row_of(entrant: Entrant, how: str, measured: Measured) -> Row:
    """What the tables and the goals are made from."""
    key = (entrant.name, how)
    first, warm = measured.first.get(key, []), measured.warm.get(key, [])
    failure = measured.failures.get(key, "")
    row: Row = {
        "contestant": entrant.name,
        "how": how,
        "missing": entrant.missing or failure,
        "first": first,
        "samples": warm,
    }
    if row["missing"]:
        return row
    for metric, better in METRICS.items():
        values = [sample[metric] for sample in warm if metric in sample]
        if values:
            row[metric] = {"best": better(values), "median": statistics.median(values)}
    rates = [sample["rows_per_second"] for sample in first]
    row["first_rows_per_second"] = {"best": max(rates), "median": statistics.median(rates)}
    return row
