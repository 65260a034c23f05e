"""``pipeline run`` and ``pipeline upkeep``: spools into tables, and tables looked after."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rumormill.cli.options import Json
from rumormill.cli.pipeline import DEFAULT_MASTER, parse_conf, run_pipeline, run_upkeep


class Kind(StrEnum):
    """The kinds of records that a spool has."""

    messages = "messages"
    trace = "trace"


pipeline_app = typer.Typer(
    name="pipeline",
    help="Turn what was captured into tables (needs Java; pip install 'rumormill[spark]').",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Tables = Annotated[
    str,
    typer.Option(
        "--tables",
        metavar="DIR|URI|CATALOG",
        help="Where the tables are: a folder, a URI such as s3://bucket/path, or catalog:NAME of "
        "your Spark; made if need be.",
    ),
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
KeepDays = Annotated[
    float,
    typer.Option(
        "--keep-days", min=0, metavar="DAYS", help="How long bronze keeps its rows; 0: for ever."
    ),
]
Spools = Annotated[
    list[str],
    typer.Option(
        "--spool",
        metavar="DIR|URL",
        help="A spool's folder, or the address of a node that serves one, as "
        "http://127.0.0.1:7700; can be given again.",
    ),
]
Once = Annotated[
    bool,
    typer.Option("--once", help="Read what there is, refine what is new, and end."),
]
Kinds = Annotated[
    list[Kind] | None,
    typer.Option("--kind", help="Only records of this kind; can be given again."),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token", metavar="TOKEN", envvar="RUMORMILL_TOKEN", help="What the nodes ask for."
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        "--margin",
        min=0.001,
        metavar="SECONDS",
        help="How long after its publication a copy of a message still counts.",
    ),
]
Interval = Annotated[
    float,
    typer.Option("--interval", min=0, metavar="SECONDS", help="Time between two batches."),
]
Batch = Annotated[
    int, typer.Option("--batch", min=1, metavar="N", help="Records of a batch at most.")
]
Gold = Annotated[
    list[str] | None,
    typer.Option(
        "--gold", metavar="MODULE", help="A module with gold tables of your own; repeatable."
    ),
]
SkipLost = Annotated[
    bool,
    typer.Option(
        "--skip-lost", help="Go on past records that are gone or spoilt; they are counted."
    ),
]


@pipeline_app.callback(invoke_without_command=True)
def pipeline(context: typer.Context) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@pipeline_app.command()
def run(
    spool: Spools,
    tables: Tables,
    once: Once = False,
    kind: Kinds = None,
    token: Token = None,
    margin: Margin = 120.0,
    interval: Interval = 1.0,
    batch: Batch = 5_000_000,
    gold: Gold = None,
    keep_days: KeepDays = 30.0,
    skip_lost: SkipLost = False,
    master: Master = DEFAULT_MASTER,
    conf: SparkSetting = None,
    json: Json = False,
) -> int:
    """Fill tables from spools, until Ctrl-C or, with --once, until all is read.

    Example: rumormill pipeline run --spool spool --tables tables --once
    """
    from rumormill.pipeline.extra import require_spark

    require_spark()
    from rumormill.pipeline.run.parameters import RunParameters

    parameters = RunParameters(
        spools=tuple(spool),
        tables=tables,
        once=once,
        kinds=tuple(each.value for each in kind or Kind),
        token=token,
        margin=margin,
        interval=interval,
        rows_per_batch=batch,
        gold=tuple(gold or ()),
        keep_days=keep_days or None,
        fail_on_data_loss=not skip_lost,
    )
    settings = parse_conf(conf or [])
    return run_pipeline(parameters, master, settings, json)


@pipeline_app.command("upkeep")
def upkeep_command(
    tables: Tables,
    keep_days: KeepDays = 30.0,
    master: Master = DEFAULT_MASTER,
    conf: SparkSetting = None,
    json: Json = False,
) -> int:
    """Remove old rows of bronze and old snapshots, and put small files together.

    Example: rumormill pipeline upkeep --tables tables
    """
    from rumormill.pipeline.extra import require_spark

    require_spark()
    return run_upkeep(tables, keep_days, master, parse_conf(conf or []), json)
