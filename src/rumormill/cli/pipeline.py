"""``rumormill pipeline run`` and ``compact``: spools into tables, tables into fewer files."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rumormill.cli.options import Json
from rumormill.cli.output import warn
from rumormill.cli.sentences import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from rumormill.pipeline.parameters import RunParameters
    from rumormill.pipeline.session import SparkSession

Tell = Callable[[str, dict[str, object]], None]
OnStop = Callable[[Callable[[], None]], None]
"""Takes what is to be called when a signal comes."""


class Kind(StrEnum):
    """The kinds of records that a spool has."""

    messages = "messages"
    trace = "trace"


DEFAULT_MASTER = "local[*,4]"
"""All cores of this machine; a task whose Python worker dies is tried up to four times."""

pipeline_app = typer.Typer(
    name="pipeline",
    help="Turn what was captured into tables (needs Java; pip install 'rumormill[spark]').",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Tables = Annotated[
    Path, typer.Option("--tables", metavar="DIR", help="The folder of tables; made if need be.")
]
Master = Annotated[
    str,
    typer.Option("--master", metavar="URL", help="Where Spark runs: local[*], spark://HOST:PORT."),
]
SparkSetting = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="A setting of Spark's own; can be given again."
    ),
]


@pipeline_app.callback(invoke_without_command=True)
def pipeline(context: typer.Context) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@pipeline_app.command()
def run(
    spool: Annotated[
        list[str],
        typer.Option(
            "--spool",
            metavar="DIR|URL",
            help="A spool's folder, or the address of a node that serves one, as "
            "http://127.0.0.1:7700; can be given again.",
        ),
    ],
    tables: Tables,
    once: Annotated[
        bool,
        typer.Option("--once", help="Read what there is, refine all of it anew, and end."),
    ] = False,
    kind: Annotated[
        list[Kind] | None,
        typer.Option("--kind", help="Only records of this kind; can be given again."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", metavar="TOKEN", envvar="RUMORMILL_TOKEN", help="What the nodes ask for."
        ),
    ] = None,
    delay: Annotated[
        float,
        typer.Option(
            "--delay", min=0, metavar="SECONDS", help="How late an event may be, by event time."
        ),
    ] = 30.0,
    margin: Annotated[
        float,
        typer.Option(
            "--margin",
            min=0.001,
            metavar="SECONDS",
            help="How long after its publication a copy of a message still counts.",
        ),
    ] = 120.0,
    interval: Annotated[
        float,
        typer.Option("--interval", min=0, metavar="SECONDS", help="Time between two batches."),
    ] = 1.0,
    batch: Annotated[
        int, typer.Option("--batch", min=1, metavar="N", help="Records of a batch at most.")
    ] = 1_000_000,
    skip_lost: Annotated[
        bool,
        typer.Option(
            "--skip-lost", help="Go on past records that are gone or spoilt; they are counted."
        ),
    ] = False,
    master: Master = DEFAULT_MASTER,
    conf: SparkSetting = None,
    json: Json = False,
) -> int:
    """Fill tables from spools, until Ctrl-C or, with --once, until all is read.

    Example: rumormill pipeline run --spool spool --tables tables --once
    """
    from rumormill.pipeline.extra import require_spark

    require_spark()
    from rumormill.pipeline.parameters import RunParameters

    parameters = RunParameters(
        spools=tuple(spool),
        tables=tables,
        once=once,
        kinds=tuple(each.value for each in kind or Kind),
        token=token,
        delay=delay,
        margin=margin,
        interval=interval,
        rows_per_batch=batch,
        fail_on_data_loss=not skip_lost,
    )
    settings = parse_conf(conf or [])
    return run_pipeline(parameters, master, settings, json)


@pipeline_app.command()
def compact(
    tables: Tables,
    master: Master = DEFAULT_MASTER,
    conf: SparkSetting = None,
    json: Json = False,
) -> int:
    """Put the many small files of the tables into few; the rows stay the same.

    Example: rumormill pipeline compact --tables tables
    """
    from rumormill.pipeline.extra import require_spark

    require_spark()
    return run_compact(tables, master, parse_conf(conf or []), json)


def parse_conf(pairs: list[str]) -> dict[str, str]:
    """``key=value`` pairs as a mapping.

    >>> parse_conf(["spark.driver.memory=4g"])
    {'spark.driver.memory': '4g'}
    """
    from rumormill.cli.sentences import UsageError

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
    from rumormill.pipeline.lake import Lake
    from rumormill.pipeline.runner import Runner

    Lake(parameters.tables)  # what is wrong with the folder is said before Spark takes its time

    def work(spark: SparkSession, on_stop: OnStop) -> None:
        with teller(spark, "pipeline", as_json) as tell:
            runner = Runner(spark, parameters, tell)
            on_stop(runner.stop)
            runner.run()

    with_spark("rumormill pipeline run", master, settings, work)
    return 0


def run_compact(tables: Path, master: str, settings: dict[str, str], as_json: bool) -> int:
    """Compact every table that has something to compact."""
    from rumormill.pipeline.compaction import compact_all
    from rumormill.pipeline.lake import Lake, TablesError

    if not tables.is_dir():
        raise TablesError(f"{tables}: there is no such folder")
    lake = Lake(tables)

    def work(spark: SparkSession, on_stop: OnStop) -> None:
        on_stop(spark.sparkContext.cancelAllJobs)
        with lake.writing(spark), teller(spark, "compaction", as_json) as tell:
            for done in compact_all(spark, lake):
                tell("compacted", done._asdict())

    with_spark("rumormill pipeline compact", master, settings, work)
    return 0


def with_spark(
    name: str,
    master: str,
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
    spark = spark_session(name, master, **{**THROUGHPUT, **settings})
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
    """Each event as a line."""
    from rumormill.cli.render import json_line

    print(json_line(event, fields), flush=True)


def tell_people(event: str, fields: dict[str, object]) -> None:
    """What a person wants to know of, on stderr."""
    match event:
        case "restarting":
            warn(f"{fields['reason']}; reading {fields['kind']} again in {fields['seconds']:g} s.")
        case "skipped":
            warn(f"{fields['kind']}: {fields['offsets']} offsets brought no record (--skip-lost).")
        case "compacted":
            warn(
                f"{fields['table']}: {fields['files_before']} files became "
                f"{fields['files_after']}, {fields['rows']} rows."
            )
        case "empty":
            warn("no trace event was captured so far, so there is neither silver nor gold.")
        case "refined":
            late = f", {fields['late']} events came late" if fields["late"] else ""
            warn(f"silver and gold are made; closed up to {fields['sealed_until']}{late}.")
