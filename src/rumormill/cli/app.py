"""The commands, their options and their help; what they do is in a file of its own each.

Nothing heavy is imported before a command runs: ``--help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rumormill.cli.key_options import KeyPlace, KeySetting, with_key_options
from rumormill.cli.options import (
    DEFAULT_NETWORK,
    NETWORK_OPTION,
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
    all_settings,
    one_topic,
    parse_settings,
    plan_network,
)
from rumormill.cli.pipeline import pipeline_app
from rumormill.cli.score import score_app
from rumormill.cli.sentences import UsageError
from rumormill.cli.topic import topic_app
from rumormill.cli.trace import trace_app
from rumormill.live.families import find_family

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


@app.command()
def sub(
    topic: OptionalTopic = None,
    network: Network = DEFAULT_NETWORK,
    listen: Listen = None,
    peer: Peer = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="End after N messages.")
    ] = None,
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
    from rumormill.cli.spool import spool_plan
    from rumormill.cli.sub import run_sub

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


@app.command()
def pub(
    topic: OptionalTopic = None,
    network: Network = DEFAULT_NETWORK,
    peer: Peer = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen", metavar="ADDR", help="Let others connect, instead of or besides --peer."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="TEXT", help="Publish this text.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Publish the bytes of this file, whole."),
    ] = None,
    ready: Annotated[
        float,
        typer.Option(
            "--ready", min=0, metavar="SECONDS", help="Wait so long for the first subscriber."
        ),
    ] = 10.0,
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
    from rumormill.cli.pub import PATIENCE, run_pub
    from rumormill.cli.spool import spool_plan

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


@app.command()
def node(
    network: Annotated[str | None, NETWORK_OPTION] = None,
    listen: Listen = None,
    peer: Peer = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", metavar="T", help="Subscribe to this topic, and relay it; again for more."
        ),
    ] = None,
    relay: Annotated[
        list[str] | None,
        typer.Option(
            "--relay",
            metavar="T",
            help="Relay this topic for others, and keep nothing of it; can be given again.",
        ),
    ] = None,
    topic_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--topic-file",
            metavar="FILE",
            help="Subscribe to the topic of this file, and relay it; can be given again.",
        ),
    ] = None,
    relay_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--relay-file",
            metavar="FILE",
            help="Relay the topic of this file; its keys are not needed. Can be given again.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A TOML file with a [[network]] table for each network: name, listen, bootstrap, "
            "topics, relays, key_file, certificates, and any setting. In place of other options.",
        ),
    ] = None,
    key_file: KeyFile = None,
    certificates: Certificates = None,
    setting: Setting = None,
    spool: Spool = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="Answer over HTTP, as at 127.0.0.1:7700: Spark reads and publishes there.",
        ),
    ] = None,
    http_token_file: Annotated[
        Path | None,
        typer.Option(
            "--http-token-file",
            metavar="FILE",
            help="Its first line is what callers must bring; made if there is none. Needed where "
            "others can reach --http.",
        ),
    ] = None,
    status: Annotated[
        float,
        typer.Option("--status", min=0.1, metavar="SECONDS", help="Print a status line so often."),
    ] = 10.0,
    trace: Trace = None,
    json: Json = False,
) -> int:
    """Run a lasting node that relays topics, until Ctrl-C.

    Example: rumormill node --listen /ip4/0.0.0.0/tcp/4001 --topic weather --key-file node.key
    """
    from rumormill.cli.config import NodePlan, load_config
    from rumormill.cli.node import http_settings, run_node
    from rumormill.cli.spool import spool_plan

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


@app.command()
@with_key_options
def keygen(
    out: KeyPlace,
    network: Network = DEFAULT_NETWORK,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the file if there is one.")
    ] = False,
    setting: KeySetting = None,
    json: Json = False,
    **counts: int | None,
) -> int:
    """Make an identity for a node, or whatever keys the network has, and print their ids.

    Example: rumormill keygen --out node.key
    """
    from rumormill.cli.keys import run_keygen

    return run_keygen(network, out, force, json, counts, parse_settings(setting or ()))


@app.command(name="id")
def show_id(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE|ADDR|TOPIC",
            help="A key file, a certificate, the address of a node, or a topic that says "
            "something.",
        ),
    ],
    json: Json = False,
) -> int:
    """Print who a key file is, or what an address or a topic says.

    Example: rumormill id node.key
    """
    from rumormill.cli.keys import run_id

    return run_id(what, json)


@app.command()
def report(
    tables: Annotated[
        str,
        typer.Option(
            "--tables",
            metavar="PLACE",
            help="The tables, as 'pipeline run' makes them: a folder, a URI, or catalog:NAME.",
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots, for any browser."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="DIR", help="Write each gold table as a CSV file."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option("--compare", metavar="PLACE", help="The tables of another run, beside it."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", help="Only this topic; may be given again."),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option("--network", help="Only this network; may be given again."),
    ] = None,
    minutes: Annotated[
        int,
        typer.Option("--minutes", min=1, help="How many of the last minutes to show by time."),
    ] = 1440,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with all figures.")
    ] = False,
) -> int:
    """Show what a network did: did everything arrive, how fast, and what is wrong.

    Example: rumormill report --tables tables --html report.html
    """
    from rumormill.cli.report import Ask, run_report

    ask = Ask(tables, json, html, csv, compare, topic or (), network or (), minutes)
    return run_report(ask)


@app.command()
def attack(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Only these, such as cold-boot or calm.", show_default=False
        ),
    ] = None,
    nodes: Annotated[
        int, typer.Option("--nodes", min=4, max=1000, metavar="N", help="Honest nodes.")
    ] = 20,
    sybils: Annotated[
        int,
        typer.Option(
            "--sybils",
            min=1,
            max=100,
            metavar="K",
            help="Attackers for each honest node; of spammers, a few in all.",
        ),
    ] = 20,
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds",
            "--seed",
            metavar="S",
            help="Chance: the same seed, the same run; 1-5 or 1,4,9: each attack with each.",
        ),
    ] = "1",
    score: Annotated[
        bool, typer.Option("--score/--no-score", help="Let honest nodes keep scores of peers.")
    ] = True,
    spool: Annotated[
        Path | None,
        typer.Option(
            "--spool",
            metavar="DIR",
            help="Keep what the honest nodes trace in this folder, each attack as a network.",
        ),
    ] = None,
    alerts: Annotated[
        bool,
        typer.Option("--alerts", help="Say which alerts the pipeline raises (needs Java)."),
    ] = False,
    network: Network = DEFAULT_NETWORK,
    json: Json = False,
) -> int:
    """Attack a network in virtual time, and print whether it holds: two minutes for all attacks.

    Honest nodes are the real ones, on links that are made up; no packet leaves this process.

    Example: rumormill attack cold-boot eclipse-of-one --nodes 30
    """
    from rumormill.cli.attack import parse_seeds, run_attacks
    from rumormill.live.family import AttackWish

    wish = AttackWish(tuple(name or ()), nodes, sybils, parse_seeds(seeds), score, spool)
    return run_attacks(network, wish, json, alerts)


@app.command()
def demo(
    nodes: Annotated[
        int | None,
        typer.Option("--nodes", min=3, max=50, metavar="N", help="Processes to start."),
    ] = None,
    messages: Annotated[
        int | None,
        typer.Option("--messages", min=10, metavar="N", help="Messages to publish in all."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.1, max=1000, metavar="R", help="Messages a second."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=1, metavar="S", help="Publish so long.")
    ] = None,
    network: Annotated[str | None, NETWORK_OPTION] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Who connects to whom, who is killed.")
    ] = 1,
    spark: Annotated[
        bool,
        typer.Option("--spark/--no-spark", help="Let Spark make tables of it, and report."),
    ] = True,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the report as a page, with plots."),
    ] = None,
    json: Json = False,
) -> int:
    """Watch it work: nodes on this machine publish and subscribe, lose one and get it back.

    There is an act for each kind of network, or only those of --network. Every node is a command
    that you can type yourself, 'rumormill sub' or 'rumormill pub', in a process of its own. One is
    killed with SIGKILL and comes back with the same key and port. Then it is counted what the
    network promises: that every message came to everyone who was there, or that everyone has the
    newest one. Where every message is promised, Spark makes tables of what the nodes kept and
    reports; without Java there is no report, and everything else works.

    Example: rumormill demo --nodes 6 --seconds 10
    """
    from rumormill.cli.demo import run_demo
    from rumormill.cli.demo.plan import Wishes

    wishes = Wishes(nodes, messages, rate, seconds, seed)
    return run_demo(network, wishes, json, spark, html)
