"""``rumormill topic``: topics that say in a file who may publish on them and who can read them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from rumormill.cli.keys import show
from rumormill.cli.options import DEFAULT_NETWORK, Json, Network
from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import RumormillError
from rumormill.live.family import TopicWish, TrustWish
from rumormill.live.family.families import family_of

HELP = {"help_option_names": ["-h", "--help"]}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

topic_app = typer.Typer(
    name="topic",
    help="Make topics that say who may publish on them and who can read them.",
    context_settings=HELP,
    no_args_is_help=False,
    rich_markup_mode=None,
)
trust_app = typer.Typer(
    name="trust",
    help="Say on a topic's web of trust whom you trust, or take it back.",
    context_settings={**HELP, "token_normalize_func": str.lower},  # ADD and REVOKE will do, too
    no_args_is_help=False,
    rich_markup_mode=None,
)
topic_app.add_typer(trust_app)

TopicPlace = Annotated[
    Path, typer.Option("--topic-file", metavar="FILE", help="The topic, as 'create' made it.")
]
Signer = Annotated[
    Path,
    typer.Option("--key-file", metavar="FILE", help="The key of who says it, a trusted one."),
]
Subject = Annotated[
    str, typer.Argument(metavar="PEER", help="Whom it is about: a peer id, or a key file.")
]


@topic_app.callback(invoke_without_command=True)
def topic(context: typer.Context) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@trust_app.callback(invoke_without_command=True)
def trust(context: typer.Context) -> None:
    """Without a command: show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@topic_app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call the topic.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Where it goes, as in weather.topic; keys go beside it."
        ),
    ],
    auth: Annotated[
        str,
        typer.Option(
            "--auth",
            metavar="none|key|wot",
            help="Who may publish: anyone; the peers given; these, and whom they trust.",
        ),
    ] = "none",
    publisher: Annotated[
        list[str] | None,
        typer.Option(
            "--publisher",
            metavar="PEER",
            help="May publish: a peer id, or a key file; can be given again.",
        ),
    ] = None,
    enc: Annotated[
        str,
        typer.Option(
            "--enc",
            metavar="none|shared-key|wot",
            help="Who can read: anyone; who has a key; trusted peers.",
        ),
    ] = "none",
    keys: Annotated[
        int,
        typer.Option(
            "--keys", min=1, metavar="N", help="Shared keys to make, all but one for later."
        ),
    ] = 2,
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Make a topic, and the keys that it needs, in files of their own.

    Example: rumormill topic create weather --auth key --publisher ann.key --enc shared-key --out
    weather.topic
    """
    wish = TopicWish(name, out, auth, tuple(publisher or ()), enc, keys)
    try:
        made = family_of(network).create_topic(wish)
    except FileExistsError as error:
        problem = f"{error.filename or error.args[0]} exists; a topic's files are never overwritten"
        raise RumormillError(problem) from None
    show("topic", made, json)
    return 0


@topic_app.command(name="show")
def show_topic(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As 'create' made it.")],
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Print what a topic says, and what is there beside it; no key is shown.

    Example: rumormill topic show weather.topic
    """
    show("topic", family_of(network).describe_topic(file), json)
    return 0


@topic_app.command()
def rotate(
    topic_file: TopicPlace,
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Put the next shared key into use, beside those that are: nodes that run notice it.

    Give the new file of keys to who only reads first, then to who writes.

    Example: rumormill topic rotate --topic-file weather.topic
    """
    show("topic", family_of(network).rotate_topic(topic_file), json)
    return 0


@trust_app.command()
def add(
    peer: Subject,
    topic_file: TopicPlace,
    key_file: Signer,
    until: Annotated[
        str,
        typer.Option(
            "--until", metavar="WHEN", help="As in 30d, 12h, or 2030-01-31 (UTC); a year if not."
        ),
    ] = "365d",
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Trust a peer: it may publish, and its own trust counts. Nodes with the file tell it on.

    Example: rumormill topic trust add 12D3Koo... --topic-file weather.topic --key-file ann.key
    """
    return _change(TrustWish(topic_file, key_file, peer, read_end(until)), network, json)


@trust_app.command()
def revoke(
    peer: Subject,
    topic_file: TopicPlace,
    key_file: Signer,
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Trust a peer no longer, nor whom only it has trusted. Nodes with the file tell it on.

    Example: rumormill topic trust revoke 12D3Koo... --topic-file weather.topic --key-file ann.key
    """
    return _change(TrustWish(topic_file, key_file, peer), network, json)


def _change(wish: TrustWish, network: str, as_json: bool) -> int:
    said: Mapping[str, Any] = family_of(network).change_trust(wish)
    if not as_json and said.get("until") is not None:
        end = datetime.fromtimestamp(said["until"], UTC)
        said = {**said, "until": f"{end:%Y-%m-%d %H:%M} UTC"}
    show("trust", said, as_json)
    return 0


def read_end(text: str, now: float | None = None) -> float:
    """The time that a text stands for: so long from now, or a day.

    >>> read_end("12h", now=0.0), read_end("1970-01-02", now=0.0)
    (43200.0, 86400.0)
    """
    now = time.time() if now is None else now
    number, unit = text[:-1], text[-1:]
    if number.isascii() and number.isdigit() and len(number) < 12 and unit in UNITS:
        return now + int(number) * UNITS[unit]
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"--until takes 30d, 12h or 2030-01-31, not {text!r}") from None
