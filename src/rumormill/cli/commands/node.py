"""``node``: a lasting node, by options or by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rumormill.cli.networks.plan import all_settings, plan_network
from rumormill.cli.options import (
    DEFAULT_NETWORK,
    Certificates,
    Json,
    KeyFile,
    Listen,
    OptionalNetwork,
    Peer,
    Setting,
    Spool,
    Trace,
)
from rumormill.cli.words.sentences import UsageError
from rumormill.live.family.families import find_family

Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", metavar="T", help="Subscribe to this topic, and relay it; again for more."
    ),
]
Relays = Annotated[
    list[str] | None,
    typer.Option(
        "--relay",
        metavar="T",
        help="Relay this topic for others, and keep nothing of it; can be given again.",
    ),
]
TopicFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--topic-file",
        metavar="FILE",
        help="Subscribe to the topic of this file, and relay it; can be given again.",
    ),
]
RelayFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--relay-file",
        metavar="FILE",
        help="Relay the topic of this file; its keys are not needed. Can be given again.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A TOML file with a [[network]] table for each network: name, listen, bootstrap, "
        "topics, relays, key_file, certificates, and any setting. In place of other options.",
    ),
]
Http = Annotated[
    str | None,
    typer.Option(
        "--http",
        metavar="HOST:PORT",
        help="Answer over HTTP, as at 127.0.0.1:7700: Spark reads and publishes there.",
    ),
]
HttpTokenFile = Annotated[
    Path | None,
    typer.Option(
        "--http-token-file",
        metavar="FILE",
        help="Its first line is what callers must bring; made if there is none. Needed where "
        "others can reach --http.",
    ),
]
StatusInterval = Annotated[
    float,
    typer.Option("--status", min=0.1, metavar="SECONDS", help="Print a status line so often."),
]


def node(
    network: OptionalNetwork = None,
    listen: Listen = None,
    peer: Peer = None,
    topic: Topics = None,
    relay: Relays = None,
    topic_file: TopicFiles = None,
    relay_file: RelayFiles = None,
    config: ConfigFile = None,
    key_file: KeyFile = None,
    certificates: Certificates = None,
    setting: Setting = None,
    spool: Spool = None,
    http: Http = None,
    http_token_file: HttpTokenFile = None,
    status: StatusInterval = 10.0,
    trace: Trace = None,
    json: Json = False,
) -> int:
    """Run a lasting node that relays topics, until Ctrl-C.

    Example: rumormill node --listen /ip4/0.0.0.0/tcp/4001 --topic weather --key-file node.key
    """
    from rumormill.cli.networks.config import NodePlan, load_config
    from rumormill.cli.networks.node import http_settings, run_node
    from rumormill.cli.networks.spool import spool_plan

    if config is not None:
        who = (key_file, certificates)
        what = (topic, relay, topic_file, relay_file)
        if any((network, listen, peer, *what, *who, setting, spool, http, http_token_file)):
            raise UsageError("--config says it all: --network, --listen, --peer, --topic, "
                             "--relay, --key-file, --certificates, --set, --spool and --http go "
                             "into the file")  # fmt: skip
        whole = load_config(config)
    else:
        name = network or DEFAULT_NETWORK
        settings = all_settings(name, setting, certificates)
        plan = plan_network(
            name,
            topics=topic or (),
            relays=relay or (),
            topic_files=topic_file or (),
            relay_files=relay_file or (),
            listen=listen or find_family(name).default_listen(settings),
            peers=peer,
            key_file=key_file,
            settings=settings,
        )
        whole = NodePlan((plan,), http_settings(http, http_token_file), spool_plan(spool))
    return run_node(whole, status, json, trace)
