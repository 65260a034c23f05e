"""The command ``rumormill``, put together: how each is typed is in :mod:`rumormill.cli.commands`.

Nothing heavy is imported before a command runs: ``--help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from rumormill.cli.commands import keys, messages, node, report, trials
from rumormill.cli.commands.pipeline import pipeline_app
from rumormill.cli.score import score_app
from rumormill.cli.topic import topic_app
from rumormill.cli.trace import trace_app

app = typer.Typer(
    name="rumormill",
    help="Publish and subscribe without a broker, on peer-to-peer networks.\n\n"
    "Try it: 'rumormill demo', or 'rumormill sub weather' in one terminal and the 'pub' that it "
    "proposes in another.",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(messages.sub)
app.command()(messages.pub)
app.command()(node.node)
app.command()(keys.keygen)
app.command(name="id")(keys.show_id)
app.command()(report.report)
app.command()(trials.attack)
app.command()(trials.demo)
app.add_typer(trace_app)
app.add_typer(pipeline_app)
app.add_typer(score_app)
app.add_typer(topic_app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"rumormill {version('rumormill')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def rumormill(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())
