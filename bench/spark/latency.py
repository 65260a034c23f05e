"""From the publisher's clock to the application behind Spark, at a steady rate.

Ours: a publisher, a peer-to-peer network, a node that captures what is delivered, Spark. Kafka's: a
producer, the broker, Spark. The same rows, the same query (``foreachBatch``, as often as it can),
the same settings of Spark: its own, and those that we recommend. A row has arrived when it is in
the program that ``foreachBatch`` calls.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import bench
from bench.kafka import install
from bench.kafka.broker import Broker, running_broker
from bench.progress import Progress
from bench.spark.process import SparkFailedError, SparkProcess
from bench.spark.readers import (
    Entrant,
    did_not_take_part,
    kafka_reader,
    no_java,
    node_reader,
    running_node,
    spool_reader,
    versions_of,
)
from bench.spark.rows import TOPIC
from rumormill.pipeline.session import BRIEF

METRICS = ("p50", "p90", "p99", "max", "cores", "server_cores", "batches_per_second")
"""Of all of them, the lower is the better one; except that nobody minds many batches."""

Row = dict[str, Any]
Sample = dict[str, float]


class Case(NamedTuple):
    """Whose rows, and with which settings of Spark."""

    contestant: str
    settings: str
    """``recommended``, or ``default``."""


CASES = (
    Case("spool", "default"),
    Case("kafka", "default"),
    Case("spool", "recommended"),
    Case("kafka", "recommended"),
    Case("node", "recommended"),
)


@dataclass(frozen=True)
class LatencyPlan:
    """How much is measured."""

    rate: int = 1000
    size: int = 1024
    rounds: int = 1
    warm_up_seconds: float = 15.0
    """At the same rate, before what counts."""
    seconds: float = 20.0
    patience: float = 60.0
    """Seconds after the last row in which the rest may arrive."""
    cases: tuple[Case, ...] = CASES
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Java: its own, unless nobody looks at the figures."""


QUICK = LatencyPlan(
    rounds=1,
    warm_up_seconds=4.0,
    seconds=3.0,
    cases=(Case("spool", "recommended"), Case("kafka", "recommended")),
    settings=BRIEF,
)


@dataclass(frozen=True)
class Stage:
    """Everything of one measurement but Spark: who is read, and who writes."""

    entrant: Entrant
    write: Callable[[int], subprocess.Popen[str]]
    """Starts a program that writes so many rows and tells how many."""


async def run(plan: LatencyPlan, progress: Progress) -> Row:
    """Measure; returns the part ``latency`` of the results."""
    samples: dict[Case, list[Sample]] = {}
    failures: dict[Case, str] = {}
    progress.begin("latency", plan.rounds * len(plan.cases))
    for number in range(plan.rounds):
        for case in plan.cases:
            words = f"round {number + 1} of {plan.rounds}, {case.contestant}, {case.settings}"
            progress.step(f"latency: {words}")
            if missing := no_java():
                failures[case] = missing
                continue
            try:
                samples.setdefault(case, []).append(_measure(case, plan))
            except install.MissingKafkaError as problem:
                failures[case] = did_not_take_part(problem)
            except (SparkFailedError, LostRowsError) as problem:
                failures.setdefault(case, str(problem))
    entrants = [Entrant(case.contestant, missing=failures.get(case, "")) for case in plan.cases]
    return {
        "rate": plan.rate,
        "size": plan.size,
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "versions": versions_of(entrants),
        "missing": {each.name: each.missing for each in entrants if each.missing},
        "rows": [
            row_of(case, samples.get(case, []), failures.get(case, "")) for case in plan.cases
        ],
    }


class LostRowsError(Exception):
    """Not every row arrived once."""


def _measure(case: Case, plan: LatencyPlan) -> Sample:
    """One session that reads, one program that writes."""
    count = int(plan.rate * (plan.warm_up_seconds + plan.seconds))
    with (
        tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch,
        _stage(case, plan, Path(scratch)) as stage,
    ):
        entrant = stage.entrant
        recommended = case.settings == "recommended"
        with SparkProcess(
            recommended=recommended, jars=entrant.jars, settings=plan.settings
        ) as spark:
            spark.ask("listen", reader=entrant.reader, server=entrant.server)
            writer = stage.write(count)
            since_us = time.time_ns() // 1000 + int(plan.warm_up_seconds * 1e6)
            with writer:
                assert writer.stdout is not None
                time.sleep(plan.warm_up_seconds)
                spark.ask("settled")
                written = json.loads(writer.stdout.read() or "{}")
            found = spark.ask("report", rows=count, since_us=since_us, patience=plan.patience)
    return sample_of(found, written, count)


def sample_of(found: Row, written: Row, count: int) -> Sample:
    """The figures of one session; :class:`LostRowsError` if rows are missing or came twice."""
    if written.get("rows") != count or written.get("left") or written.get("failed"):
        raise LostRowsError(f"the publisher said {written} instead of {count} rows")
    if found["rows"] != count or found["copies"]:
        raise LostRowsError(f"{found['rows']} of {count} rows arrived, {found['copies']} twice")
    sample: Sample = {
        **found["latency_ms"],
        "cores": found["cpu_seconds"] / found["seconds"],
        "batches_per_second": found["batches"] / found["seconds"],
    }
    if found["server_cpu_seconds"] is not None:
        sample["server_cores"] = found["server_cpu_seconds"] / found["seconds"]
    return sample


def row_of(case: Case, samples: list[Sample], failure: str) -> Row:
    """What the tables and the goals are made from."""
    row: Row = {
        "contestant": case.contestant,
        "settings": case.settings,
        "missing": "" if samples else failure,
        "failed_rounds": failure,
        "samples": samples,
    }
    for metric in METRICS:
        values = [sample[metric] for sample in samples if metric in sample]
        if values:
            row[metric] = {"best": min(values), "median": statistics.median(values)}
    return row


# ---- everything but Spark


@contextlib.contextmanager
def _stage(case: Case, plan: LatencyPlan, scratch: Path) -> Iterator[Stage]:
    if case.contestant == "kafka":
        kafka = install.find()
        with running_broker(kafka, scratch / "kafka") as broker:
            # One partition: with so few rows, a second one is a second task for nothing.
            broker.produce("topic", TOPIC, 1)
            reader = kafka_reader(broker.servers)
            entrant = Entrant("kafka", reader, kafka.connector_jars, broker.pid)
            yield Stage(entrant, lambda count: _producer(broker, plan, count))
        return
    with running_node(scratch / "spool") as node:
        remote = case.contestant == "node"
        reader = node_reader(node.http) if remote else spool_reader(scratch / "spool")
        entrant = Entrant(case.contestant, reader, server=node.pid)
        yield Stage(entrant, lambda count: _publisher(node.address, plan, count))


def _producer(broker: Broker, plan: LatencyPlan, count: int) -> subprocess.Popen[str]:
    return broker.producer("rate", TOPIC, plan.rate, count, plan.size)


def _publisher(address: str, plan: LatencyPlan, count: int) -> subprocess.Popen[str]:
    words = [str(each) for each in (address, plan.rate, count, plan.size)]
    command = [sys.executable, "-m", "bench.spark.publisher", *words]
    return subprocess.Popen(command, cwd=bench.ROOT, stdout=subprocess.PIPE, text=True)
