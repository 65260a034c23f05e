"""``rumormill trace import``: traces of other implementations, into a spool."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rumormill.cli.options import DEFAULT_NETWORK, Json
from rumormill.cli.words.sentences import one_line
from rumormill.core.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from rumormill.capture.foreign import Progress, SpoolImport

trace_app = typer.Typer(
    name="trace",
    help="Work with traces of other implementations.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
    rich_markup_mode=None,
)


@trace_app.callback(invoke_without_command=True)
def trace(context: typer.Context) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@trace_app.command(name="import")
def import_(
    file: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Traces of go-libp2p-pubsub (JSON lines, protobuf, batches of the remote tracer) "
            "or of Hermes (JSON lines, Parquet), packed with gzip or not.",
            show_default=False,
        ),
    ],
    spool: Annotated[
        Path, typer.Option("--spool", metavar="DIR", help="The spool that they go into.")
    ],
    network: Annotated[
        str,
        typer.Option("--network", metavar="NAME", help="The network that they are said to be of."),
    ] = DEFAULT_NETWORK,
    each: Annotated[
        bool, typer.Option("--each", help="A spool for each file, in a folder below DIR.")
    ] = False,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Add to a spool that holds records; files that are in it are skipped."
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Turn foreign traces into trace events, in the order of time.

    Example: rumormill trace import node*.json.gz --spool spool
    """
    return run_import(file, spool, network, each, append, json)


def run_import(
    files: Sequence[Path], spool: Path, network: str, each: bool, append: bool, as_json: bool
) -> int:
    """Import, and say what came of it; what could not be used is said on stderr."""
    from rumormill.capture.log import require_pyarrow

    require_pyarrow()
    from rumormill.capture.foreign import import_traces
    from rumormill.cli.words.render import json_line

    with progress_bar() as tell:
        results = import_traces(files, spool, network=network, each=each, append=append, tell=tell)
    for result in results:
        if as_json:
            print(json_line("imported", result.to_json()))
        else:
            show(result)
    return 0


def show(result: SpoolImport) -> None:
    """What was imported, in words."""
    from rumormill.cli.words.output import warn

    for path in result.already_there:
        warn(one_line(f"{path}: was imported before, and is not imported again"))
    for findings in result.files:
        for problem in findings.problems:
            warn(one_line(problem.sentence()))
        if findings.more_problems:
            warn(one_line(f"{findings.file}: {findings.more_problems} more problems like these"))
    if result.late_rows:
        warn(f"{result.spool}: {result.late_rows} trace events stand behind later ones")
    events = sum(findings.events for findings in result.files)
    print(
        f"{plural(events, 'event')} of {plural(len(result.files), 'file')} became "
        f"{plural(result.rows, 'trace event')} in {result.spool}"
    )
    for words, counts in left_out(result).items():
        print(f"{words}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))


def left_out(result: SpoolImport) -> dict[str, dict[str, Any]]:
    """What has no place in our schema, of all files together."""
    kinds: dict[str, int] = {}
    for findings in result.files:
        for kind, count in findings.left_out.items():
            kinds[one_line(kind)] = kinds.get(one_line(kind), 0) + count
    fields = sum(findings.unknown_fields for findings in result.files)
    found = {"events left out, by kind": kinds, "left out": {"unknown fields": fields}}
    return {words: counts for words, counts in found.items() if any(counts.values())}


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], object]]:
    """A bar on a terminal; elsewhere nothing, so that logs stay short."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("import"), BarColumn(bar_width=30), DownloadColumn(),
        TextColumn("{task.fields[events]} events"), TimeRemainingColumn(),
    )  # fmt: skip
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None, events=0)
        yield lambda progress: bars.update(
            task, completed=progress.done, total=progress.total, events=progress.events
        )
