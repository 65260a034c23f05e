"""``rumormill pipeline run`` and ``upkeep``: spools into tables, and what keeps tables small."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rumormill.cli.words.output import warn
from rumormill.cli.words.sentences import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from rumormill.pipeline.run.parameters import RunParameters
    from rumormill.pipeline.session import SparkSession
    from rumormill.system.tables_location import Location

Tell = Callable[[str, dict[str, object]], None]
OnStop = Callable[[Callable[[], None]], None]
"""Takes what is to be called when a signal comes."""

DEFAULT_MASTER = "local[*,4]"
"""All cores of this machine; a task whose Python worker dies is tried up to four times."""

FEW_RECORDS = 1_000_000
"""Of fewer than these, Java has compiled what it runs just when all is done."""

ONE_LINE = threading.Lock()

PATIENCE = 3.0
"""Seconds for a node to answer before Spark is started for what it has."""


def parse_conf(pairs: list[str]) -> dict[str, str]:
    """``key=value`` pairs as a mapping.

    >>> parse_conf(["spark.driver.memory=4g"])
    {'spark.driver.memory': '4g'}
    """
    from rumormill.cli.words.sentences import UsageError

    settings = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise UsageError(f"--conf {pair}: must be KEY=VALUE")
        settings[key] = value
    return settings


def run_pipeline(
    parameters: RunParameters, master: str, settings: dict[str, str], as_json: bool
) -> int:
    """Run until it is done or a signal comes."""
    from rumormill.pipeline.run.runner import Runner, import_gold
    from rumormill.system.tables_location import parse_tables

    # What is wrong with these is said before Spark takes its time.
    location = parse_tables(parameters.tables)
    for module in parameters.gold:
        import_gold(module)
    settings = {**quick_settings(parameters), **settings}

    def work(spark: SparkSession, on_stop: OnStop) -> None:
        with teller(spark, "pipeline", as_json) as tell:
            if location.state is not None:
                tell("catalog", {"file": str(location.state)})
            runner = Runner(spark, parameters, tell)
            on_stop(runner.stop)
            runner.run()

    with_spark("rumormill pipeline run", master, location, settings, work)
    return 0


def quick_settings(parameters: RunParameters) -> dict[str, str]:
    """For what sort of work Java is set up: a spool that is read within seconds, or any other.

    A spool that cannot be read is told of here, before Spark takes its time.
    """
    from rumormill.pipeline.run.pace import FEW_ROWS, QUICK
    from rumormill.pipeline.session import BRIEF, THROUGHPUT

    if not parameters.once:
        return THROUGHPUT
    records = records_of(parameters)
    if records < FEW_ROWS:
        return {**BRIEF, **QUICK}
    return BRIEF if records < FEW_RECORDS else THROUGHPUT


def records_of(parameters: RunParameters) -> int:
    """How many records the spools have; as many as that can be new."""
    from rumormill.pipeline.source import SpoolReader

    readers = [
        SpoolReader(
            kind,
            folders=parameters.folders,
            nodes=parameters.nodes,
            token=parameters.token,
            fail_on_data_loss=parameters.fail_on_data_loss,
            retry_seconds=PATIENCE,
        )
        for kind in parameters.kinds
    ]
    return sum(reader.next_place().rows for reader in readers)


def run_upkeep(
    tables: str, keep_days: float, master: str, settings: dict[str, str], as_json: bool
) -> int:
    """Look after every table that is there."""
    from rumormill.pipeline.gold import HOUSE
    from rumormill.pipeline.lake.schema import BRONZE, SILVER
    from rumormill.pipeline.lake.upkeep import Policy, upkeep
    from rumormill.system.tables_location import parse_tables

    location, policy = parse_tables(tables), Policy(bronze_days=keep_days or None)
    every = [*BRONZE, *SILVER, *(each.table for each in HOUSE.tables.values())]

    def work(spark: SparkSession, on_stop: OnStop) -> None:
        on_stop(spark.sparkContext.cancelAllJobs)
        with teller(spark, "upkeep", as_json) as tell:
            upkeep(spark, location, every, policy, tell)

    with_spark("rumormill pipeline upkeep", master, location, settings, work)
    return 0


def with_spark(
    name: str,
    master: str,
    location: Location,
    settings: dict[str, str],
    work: Callable[[SparkSession, OnStop], None],
) -> None:
    """Do the work on a thread of its own, so that a signal finds this one free to stop it."""
    from rumormill.pipeline.failures import (
        PipelineError,
        java_has_ended,
        sentence_of,
        silence_foreign_logs,
    )
    from rumormill.pipeline.session import THROUGHPUT, spark_session

    if not os.environ.get("RUMORMILL_TRACEBACK"):
        silence_foreign_logs()
        settings = {"spark.log.level": "OFF", **settings}
    spark = spark_session(name, master, location=location, **{**THROUGHPUT, **settings})
    stops: list[Callable[[], None]] = []
    stopped = threading.Event()
    failures: list[BaseException] = []

    def on_signal(number: int, frame: object) -> None:
        if stopped.is_set():  # a second time: at once; the tables stand that
            os._exit(EXIT_INTERRUPTED)
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)  # Spark has put its own there

    def run() -> None:
        try:
            work(spark, stops.append)
        except BaseException as error:
            failures.append(error)
        finally:
            stopped.set()

    worker = threading.Thread(target=run, name="pipeline", daemon=True)
    worker.start()
    stopped.wait()
    for stop in stops if worker.is_alive() else ():
        stop()
    worker.join()
    if failures and java_has_ended(spark):
        raise PipelineError("Spark's Java process has ended: killed, or out of memory")
    spark.stop()
    if failures:
        raise PipelineError(sentence_of(failures[0])) from failures[0]


@contextlib.contextmanager
def teller(spark: SparkSession, what: str, as_json: bool) -> Iterator[Tell]:
    """Where it is told what happens: JSON lines, or a progress line and a few sentences."""
    if as_json:
        yield tell_json
        return
    from rumormill.pipeline.progress import progress

    with progress(spark, what) as line:

        def tell(event: str, fields: dict[str, object]) -> None:
            if event == "stage":
                line.say(str(fields["stage"]))
            else:
                line.say("")
                tell_people(event, fields)

        yield tell


def tell_json(event: str, fields: dict[str, object]) -> None:
    """Each event as a line; tables are made, and told of, by several threads."""
    from rumormill.cli.words.render import json_line

    with ONE_LINE:
        print(json_line(event, fields), flush=True)


def tell_people(event: str, fields: dict[str, object]) -> None:
    """What a person wants to know of, on stderr."""
    match event:
        case "catalog":
            warn(f"which tables there are stands in {fields['file']}.")
        case "restarting":
            warn(f"{fields['reason']}; trying again in {fields['seconds']:g} s.")
        case "skipped":
            warn(f"{fields['kind']}: {fields['offsets']} offsets brought no record (--skip-lost).")
        case "too_late":
            warn(
                f"{fields['events']:,} trace events are older than what bronze still holds whole:"
                " they are in bronze, but not in silver and gold."
            )
        case "upkeep":
            done = [f"{key.replace('_', ' ')}: {value}" for key, value in fields.items()]
            warn("; ".join(done))
        case "unchanged":
            warn("nothing is new, so nothing was done.")
        case "refined":
            warn(
                f"{fields['events']:,} new trace events are in silver and gold;"
                f" {fields['minutes']} minutes were made anew, the last {fields['last_minute']}."
            )
