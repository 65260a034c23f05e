"""``sub`` and ``pub``: messages of one topic, read and published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rumormill.cli.networks.plan import all_settings, one_topic, plan_network
from rumormill.cli.options import (
    DEFAULT_NETWORK,
    Certificates,
    Json,
    KeyFile,
    Listen,
    Network,
    OptionalTopic,
    Peer,
    ReplacedNumber,
    Setting,
    Spool,
    Status,
    TopicFile,
    Trace,
)
from rumormill.cli.words.sentences import UsageError
from rumormill.live.family.families import find_family

Count = Annotated[
    int | None, typer.Option("--count", min=1, metavar="N", help="End after N messages.")
]
Reachable = Annotated[
    list[str] | None,
    typer.Option(
        "--listen", metavar="ADDR", help="Let others connect, instead of or besides --peer."
    ),
]
Data = Annotated[str | None, typer.Option("--data", metavar="TEXT", help="Publish this text.")]
DataFile = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Publish the bytes of this file, whole."),
]
Ready = Annotated[
    float,
    typer.Option(
        "--ready",
        min=0,
        metavar="SECONDS",
        help="Wait so long for the first subscriber, and on a web of trust to be trusted.",
    ),
]


def sub(
    topic: OptionalTopic = None,
    network: Network = DEFAULT_NETWORK,
    listen: Listen = None,
    peer: Peer = None,
    count: Count = None,
    topic_file: TopicFile = None,
    key_file: KeyFile = None,
    certificates: Certificates = None,
    setting: Setting = None,
    spool: Spool = None,
    status: Status = None,
    trace: Trace = None,
    json: Json = False,
) -> int:
    """Print the messages of a topic, until Ctrl-C.

    Example: rumormill sub weather --peer /ip4/192.0.2.7/tcp/4001/p2p/12D3Koo...
    """
    from rumormill.cli.networks.spool import spool_plan
    from rumormill.cli.networks.sub import run_sub

    topics, topic_files = one_topic(topic, topic_file)
    settings = all_settings(network, setting, certificates)
    plan = plan_network(
        network,
        topics=topics,
        topic_files=topic_files,
        listen=listen or find_family(network).default_listen(settings, peer or ()),
        peers=peer,
        key_file=key_file,
        settings=settings,
    )
    return run_sub(plan, count, json, trace, spool_plan(spool), status)


def pub(
    topic: OptionalTopic = None,
    network: Network = DEFAULT_NETWORK,
    peer: Peer = None,
    listen: Reachable = None,
    data: Data = None,
    file: DataFile = None,
    ready: Ready = 10.0,
    cas: ReplacedNumber = None,
    topic_file: TopicFile = None,
    key_file: KeyFile = None,
    certificates: Certificates = None,
    setting: Setting = None,
    spool: Spool = None,
    status: Status = None,
    trace: Trace = None,
    json: Json = False,
) -> int:
    """Publish a text, a file, or each line of stdin, and end when all has left.

    Example: rumormill pub weather --peer /ip4/127.0.0.1/tcp/4001 --data "rain at noon"
    """
    from rumormill.cli.networks.pub import PATIENCE, run_pub
    from rumormill.cli.networks.spool import spool_plan

    if data is not None and file is not None:
        raise UsageError("give --data or --file, not both")
    topics, topic_files = one_topic(topic, topic_file)
    settings = all_settings(network, setting, certificates)
    family = find_family(network)
    if not peer and not listen and not family.finds_peers(settings):
        raise UsageError(
            "whom to publish to? Give --peer ADDR, or --listen ADDR to wait for others"
        )
    if cas is not None and not family.replaces:
        raise UsageError(f"--cas is not for {network}: its messages do not replace each other")
    plan = plan_network(
        network,
        topics=topics,
        topic_files=topic_files,
        listen=listen,
        peers=peer,
        key_file=key_file,
        settings={
            "close_timeout": PATIENCE,
            **({} if listen else family.visitor),
            **settings,
        },
    )
    return run_pub(plan, data, file, ready, json, trace, cas, spool_plan(spool), status)
