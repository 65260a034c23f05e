"""Options that several commands take, and their help, which is made of what is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from rumormill.live.family import Family
from rumormill.live.family.families import (
    default_network,
    families,
    find_family,
    network_names,
)


def _first_and_others(words: Callable[[Family], str]) -> str:
    """What the first family says, and behind it in brackets what the others say."""
    said = {family.name: word for family in families() if (word := words(family))}
    first, *others = said
    brackets = f" ({'; '.join(f'{name}: {said[name]}' for name in others)})" if others else ""
    return said[first] + brackets


def in_brackets(words: Callable[[Family], str]) -> str:
    """What families say, in brackets, each with its name; nothing if none says anything."""
    said = [f"{family.name}: {word}" for family in families() if (word := words(family))]
    return f" ({'; '.join(said)})" if said else ""


def _known_network(name: str) -> str:
    find_family(name)
    return name


def _replacing_networks() -> str:
    return ", ".join(name for name in network_names() if find_family(name).replaces)


DEFAULT_NETWORK = default_network()

Topic = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC",
        help="Name of the topic" + in_brackets(lambda family: family.topic_help) + ".",
    ),
]
OptionalTopic = Annotated[
    str | None,
    typer.Argument(
        metavar="TOPIC",
        help="Name of the topic"
        + in_brackets(lambda family: family.topic_help)
        + "; or give --topic-file.",
    ),
]
TopicFile = Annotated[
    Path | None,
    typer.Option(
        "--topic-file",
        metavar="FILE",
        help="The topic out of a file, as 'rumormill topic create' makes it"
        + in_brackets(lambda family: family.topic_file_help)
        + ".",
    ),
]
NETWORK_OPTION = typer.Option(
    "--network",
    metavar=f"[{'|'.join(network_names())}]",
    help="Which network to speak.",
    parser=_known_network,
)
Network = Annotated[str, NETWORK_OPTION]
OptionalNetwork = Annotated[str | None, NETWORK_OPTION]
Listen = Annotated[
    list[str] | None,
    typer.Option(
        "--listen",
        metavar="ADDR",
        help="Listen here, as in "
        + _first_and_others(lambda family: family.listen_example)
        + "; can be given again. Without it: any free port on this machine.",
    ),
]
Peer = Annotated[
    list[str] | None,
    typer.Option(
        "--peer",
        metavar="ADDR",
        help="Connect to this node, as in "
        + _first_and_others(lambda family: family.peer_example)
        + "; can be given again.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The node's identity, as 'rumormill keygen' makes it. Without it: a new one."
        + in_brackets(lambda family: family.key_help),
    ),
]
Certificates = Annotated[
    Path | None,
    typer.Option(
        "--certificates",
        metavar="DIR",
        help="The folder of a node's or a user's certificates, where the network has such.",
    ),
]
ReplacedNumber = Annotated[
    int | None,
    typer.Option(
        "--cas",
        min=0,
        metavar="SEQ",
        help=f"Publish only if the newest value has this seq ({_replacing_networks()}).",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of the network, as in D=8; can be given again.",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Write every trace event, one JSON line each."),
]
Spool = Annotated[
    Path | None,
    typer.Option(
        "--spool",
        metavar="DIR",
        help="Keep delivered messages and trace events in this folder, for Spark and for later.",
    ),
]
Status = Annotated[
    float | None,
    typer.Option("--status", min=0.1, metavar="SECONDS", help="Print a status line so often."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
