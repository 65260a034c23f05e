"""How a node stands on its networks, told again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import rumormill
from rumormill.cli.networks.plan import NetworkPlan
from rumormill.cli.networks.session import Session
from rumormill.cli.words.render import Status, TopicStatus
from rumormill.core.trace import RELAYED


class Member:
    """One network of the node, and how many messages came on each of its topics."""

    def __init__(self, plan: NetworkPlan, network: rumormill.Network) -> None:
        self.plan = plan
        self.network = network
        self.messages: Counter[str] = Counter()

    async def relay(self, topic: str, messages: rumormill.Subscription) -> None:
        """Take part in a topic: being subscribed is what makes the network pass it on."""
        async for _ in messages:
            self.messages[topic] += 1

    def count_relayed(self, event: rumormill.TraceEvent) -> None:
        """Count what was passed on of topics that nobody here listens to."""
        if event.event == RELAYED and event.topic is not None:
            self.messages[event.topic] += 1

    def status(self) -> Status:
        """How things stand."""
        network = self.network
        topics = {
            topic: TopicStatus(
                subscribers=len(network.subscribers(topic)),
                mesh=len(network.mesh(topic)),
                messages=self.messages[topic],
            )
            for topic in (*self.plan.topics, *self.plan.relays)
        }
        return Status(
            self.plan.name, network.id, len(network.peers), topics, dict(network.counters)
        )


async def show_status(session: Session, members: Sequence[Member], interval: float) -> None:
    """Print a line for each network, again and again."""
    while True:
        for member in members:
            await session.show(session.renderer.status(member.status()))
        await asyncio.sleep(interval)


@contextlib.asynccontextmanager
async def show_status_meanwhile(
    session: Session, member: Member, interval: float | None
) -> AsyncIterator[None]:
    """Print a status line every ``interval`` seconds, if any, the first one after the first."""
    if interval is None:
        yield
        return

    async def tell() -> None:
        await asyncio.sleep(interval)
        await show_status(session, [member], interval)

    task = asyncio.create_task(tell())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
