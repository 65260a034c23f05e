"""``rumormill score explain``: what conduct on a topic should be worth, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from rumormill.cli.options import DEFAULT_NETWORK, Json, Network
from rumormill.cli.words.sentences import UsageError

score_app = typer.Typer(
    name="score",
    help="Work with the scores that a node gives its peers.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
    rich_markup_mode=None,
)


@score_app.callback(invoke_without_command=True)
def score(context: typer.Context) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@score_app.command()
def explain(
    rate: Annotated[
        float,
        typer.Option(
            "--rate", metavar="R", help="Messages a second of others that arrive on the topic."
        ),
    ],
    topic: Annotated[
        str, typer.Option("--topic", metavar="T", help="The topic, for the tables that are shown.")
    ] = "TOPIC",
    mesh_size: Annotated[
        int, typer.Option("--mesh-size", metavar="N", help="Peers that a mesh has.")
    ] = 6,
    steady: Annotated[
        bool,
        typer.Option("--steady", help="Messages come day and night: ask each peer for its share."),
    ] = False,
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Propose the score's parameters for a topic, each with its reason, and tables for node.toml.

    Example: rumormill score explain --rate 5 --topic weather
    """
    return run_explain(network, topic, rate, mesh_size, steady, json)


def run_explain(
    network: str, topic: str, rate: float, mesh_size: int, steady: bool, as_json: bool
) -> int:
    """Print what the network's family proposes."""
    from rumormill.cli.words.render import json_line
    from rumormill.live.family.families import family_of

    advice = family_of(network).score_advice(network, topic, rate, mesh_size, steady)
    if advice is None:
        raise UsageError(f"{network} keeps no scores")
    if as_json:
        fields = {"topic": topic, "parameters": advice.parameters}
        print(json_line("advice", {**fields, "explanation": list(advice.explanation)}))
    else:
        for line in advice.explanation:
            print(f"# {line}")
        print(f"\n{advice.tables}")
    return 0
