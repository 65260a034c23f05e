"""``keygen`` and ``id``: identities made, and what says who somebody is."""

from __future__ import annotations

from typing import Annotated

import typer

from rumormill.cli.commands.key_options import KeyPlace, KeySetting, with_key_options
from rumormill.cli.networks.plan import parse_settings
from rumormill.cli.options import DEFAULT_NETWORK, Json, Network

Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")]
WhatToShow = Annotated[
    str,
    typer.Argument(
        metavar="FILE|ADDR|TOPIC",
        help="A key file, a certificate, the address of a node, or a topic that says something.",
    ),
]


@with_key_options
def keygen(
    out: KeyPlace,
    network: Network = DEFAULT_NETWORK,
    force: Force = False,
    setting: KeySetting = None,
    json: Json = False,
    **counts: int | None,
) -> int:
    """Make an identity for a node, or whatever keys the network has, and print their ids.

    Example: rumormill keygen --out node.key
    """
    from rumormill.cli.keys import run_keygen

    return run_keygen(network, out, force, json, counts, parse_settings(setting or ()))


def show_id(
    what: WhatToShow,
    json: Json = False,
) -> int:
    """Print who a key file is, or what an address or a topic says.

    Example: rumormill id node.key
    """
    from rumormill.cli.keys import run_id

    return run_id(what, json)
