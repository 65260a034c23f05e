"""``rumormill sub``: print the messages of a topic."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import rumormill
from rumormill.cli.networks.plan import NetworkPlan
from rumormill.cli.networks.session import Session, run_session, wait_subscribed
from rumormill.cli.networks.spool import SpoolPlan
from rumormill.cli.networks.status import Member, show_status_meanwhile
from rumormill.cli.options import DEFAULT_NETWORK
from rumormill.cli.words.output import warn
from rumormill.live.family.families import find_family


def run_sub(
    plan: NetworkPlan,
    count: int | None,
    as_json: bool,
    trace: Path | None,
    spool: SpoolPlan | None = None,
    status: float | None = None,
) -> int:
    """Print messages until there were ``count``, or a signal comes; how the node stands, every
    ``status`` seconds.
    """

    async def work(session: Session) -> None:
        await print_messages(session, plan, count, explain=not as_json, status=status)

    run_session(work, as_json=as_json, trace=trace, spool=spool)
    return 0


async def print_messages(
    session: Session,
    plan: NetworkPlan,
    count: int | None,
    explain: bool,
    status: float | None = None,
) -> None:
    """Open the network, subscribe, and print what comes."""
    (topic,) = plan.topics
    async with session.open(plan) as network, network.subscribe(plan.handle(topic)) as messages:
        await wait_subscribed(network, topic)
        await session.show_ready(network, plan.name)
        if explain:
            say_how_to_publish(network, plan)
        member = Member(plan, network)
        async with show_status_meanwhile(session, member, status):
            left = count
            async for message in messages:
                member.messages[topic] += 1
                await session.show(session.renderer.message(message))
                if left is not None:
                    left -= 1
                    if not left:
                        break


def say_how_to_publish(network: rumormill.Network, plan: NetworkPlan) -> None:
    """What a person wants to know next; on stderr, because stdout is for messages."""
    topic = shlex.quote(plan.topics[0])
    file = getattr(plan.handle(plan.topics[0]), "path", None)
    said = topic if file is None else f"--topic-file {shlex.quote(str(file))} --key-file FILE"
    warn(f"waiting for messages on {topic} as {network.id}; Ctrl-C ends.")
    if network.addresses and sys.stderr.isatty():
        kind = "" if plan.name == DEFAULT_NETWORK else f" --network {plan.name}"
        kind += find_family(plan.name).publisher_options
        print(
            f"From another terminal:\n"
            f"  rumormill pub {said}{kind} --peer {network.addresses[0]} --data hello",
            file=sys.stderr,
        )
