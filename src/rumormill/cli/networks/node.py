"""``rumormill node``: a lasting node that relays topics, on one network or several."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from rumormill.cli.networks.config import NodePlan
from rumormill.cli.networks.plan import NetworkPlan
from rumormill.cli.networks.session import Session, run_session, wait_subscribed
from rumormill.cli.networks.status import Member, show_status
from rumormill.cli.words.output import warn
from rumormill.cli.words.sentences import UsageError
from rumormill.live.family.families import find_family
from rumormill.node.settings import HttpSettings, read_http_settings, require_http


def run_node(plan: NodePlan, interval: float, as_json: bool, trace: Path | None) -> int:
    """Run until a signal comes."""
    if plan.http is not None:
        require_http()

    async def work(session: Session) -> None:
        async with contextlib.AsyncExitStack() as stack:
            members = [await start_member(session, stack, each) for each in plan.networks]
            http = await start_http(stack, plan, members)
            for member in members:
                await session.show_ready(member.network, member.plan.name, http)
                if not as_json:
                    say_where(member)
            if http is not None and not as_json:
                warn(f"answering on {http}")
            await show_status(session, members, interval)

    run_session(work, as_json=as_json, trace=trace, spool=plan.spool)
    return 0


def http_settings(listen: str | None, token_file: Path | None) -> HttpSettings | None:
    """What ``--http`` and ``--http-token-file`` say."""
    if listen is None:
        if token_file is not None:
            raise UsageError("--http-token-file is for --http HOST:PORT, which is not given")
        return None
    return read_http_settings(listen, token_file)


async def start_http(
    stack: contextlib.AsyncExitStack, plan: NodePlan, members: Sequence[Member]
) -> str | None:
    """Answer over HTTP until the stack is closed; the address, if it was asked for."""
    if plan.http is None:
        return None
    from rumormill.node.app import NodeParts
    from rumormill.node.server import serve

    spool = None if plan.spool is None else plan.spool.folder
    parts = NodeParts([member.network for member in members], spool)
    return await stack.enter_async_context(serve(parts, plan.http))


async def start_member(
    session: Session, stack: contextlib.AsyncExitStack, plan: NetworkPlan
) -> Member:
    """Open one network, subscribe to its topics and relay others, until the stack is closed."""
    patient = find_family(plan.name).patient
    network = await stack.enter_async_context(session.open(plan, patient))
    member = Member(plan, network)
    for topic in plan.topics:
        messages = await stack.enter_async_context(
            network.subscribe(plan.handle(topic), when_full="drop_oldest")
        )
        task = asyncio.create_task(member.relay(topic, messages))
        stack.callback(task.cancel)
        await wait_subscribed(network, topic)
    for topic in plan.relays:
        await stack.enter_async_context(network.relay(plan.handle(topic)))
    if plan.relays:
        stack.callback(network.on_trace(member.count_relayed))
    return member


def say_where(member: Member) -> None:
    """For people, on stderr: who we are and where we can be reached."""
    warn(f"{member.plan.name} node {member.network.id} is up; Ctrl-C ends.")
    for address in member.network.addresses:
        warn(f"listening on {address}")
    for service, addresses in member.network.services.items():
        warn(f"{service} on {', '.join(addresses)}")
