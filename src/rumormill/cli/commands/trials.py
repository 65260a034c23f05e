"""``attack`` and ``demo``: networks that are tried out, in virtual time and in processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rumormill.cli.options import DEFAULT_NETWORK, Json, Network, OptionalNetwork

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME", help="Only these, such as cold-boot or calm.", show_default=False
    ),
]
HonestNodes = Annotated[
    int, typer.Option("--nodes", min=4, max=1000, metavar="N", help="Honest nodes.")
]
Sybils = Annotated[
    int,
    typer.Option(
        "--sybils",
        min=1,
        max=100,
        metavar="K",
        help="Attackers for each honest node; of spammers, a few in all.",
    ),
]
Seeds = Annotated[
    str,
    typer.Option(
        "--seeds",
        "--seed",
        metavar="S",
        help="Chance: the same seed, the same run; 1-5 or 1,4,9: each attack with each.",
    ),
]
Score = Annotated[
    bool, typer.Option("--score/--no-score", help="Let honest nodes keep scores of peers.")
]
AttackSpool = Annotated[
    Path | None,
    typer.Option(
        "--spool",
        metavar="DIR",
        help="Keep what the honest nodes trace in this folder, each attack as a network.",
    ),
]
Alerts = Annotated[
    bool,
    typer.Option("--alerts", help="Say which alerts the pipeline raises (needs Java)."),
]
Processes = Annotated[
    int | None,
    typer.Option("--nodes", min=3, max=50, metavar="N", help="Processes to start."),
]
Messages = Annotated[
    int | None,
    typer.Option("--messages", min=10, metavar="N", help="Messages to publish in all."),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", min=0.1, max=1000, metavar="R", help="Messages a second."),
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", min=1, metavar="S", help="Publish so long.")
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", help="Who connects to whom, who is killed.")
]
Spark = Annotated[
    bool,
    typer.Option("--spark/--no-spark", help="Let Spark make tables of it, and report."),
]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report as a page, with plots."),
]


def attack(
    name: Names = None,
    nodes: HonestNodes = 20,
    sybils: Sybils = 20,
    seeds: Seeds = "1",
    score: Score = True,
    spool: AttackSpool = None,
    alerts: Alerts = False,
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


def demo(
    nodes: Processes = None,
    messages: Messages = None,
    rate: Rate = None,
    seconds: Seconds = None,
    network: OptionalNetwork = None,
    seed: Seed = 1,
    spark: Spark = True,
    html: Page = None,
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
