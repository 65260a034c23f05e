"""The course of an act: start the commands, publish, kill one, bring it back, count.

All that is known of the nodes is what their commands print with ``--json``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from rumormill.cli.demo.ledger import Ledger
from rumormill.cli.demo.node import Node
from rumormill.cli.demo.plan import Plan
from rumormill.cli.demo.process import Command, DemoError, Event
from rumormill.cli.demo.progress import Reporter
from rumormill.live.family.families import find_family

PATIENCE = 60.0
"""Seconds for a step that should take one or two."""

DRAIN_TIMEOUT = 20.0
STATUS_INTERVAL = 0.25
POLL = 0.05


class Play:
    """One act at work. :meth:`run` does it all; :meth:`close` leaves no process behind."""

    def __init__(self, plan: Plan, reporter: Reporter, folder: Path, keep: bool) -> None:
        self.plan = plan
        self.ledger = Ledger(plan.act.nodes, plan.subscribers)
        self.topic = plan.act.topic
        self.killed_after = self.away = 0.0
        """Seconds: from the first message to the kill, and from there to the return."""
        self.spools = [folder / f"spool-{number}" for number in range(plan.act.nodes)]
        """Where each node keeps what happens to it, if it is to ``keep`` that."""
        self._keep = keep
        self._family = find_family(plan.act.network)
        self._made = folder / "identity"
        """The key or the folder that keygen makes."""
        self._reporter = reporter
        self._nodes = [Node(number, self._heard) for number in range(plan.act.nodes)]
        self._victim = self._nodes[plan.victim]

    @property
    def ids(self) -> list[str]:
        """The nodes' names on the network."""
        return [node.ready["id"] for node in self._nodes]

    @property
    def every_message(self) -> bool:
        """Whether the network promises every message, or the newest only; as the nodes say."""
        return bool(self._nodes[0].ready["capabilities"]["every_message"])

    async def run(self) -> None:
        """From the first process to the last."""
        await self._make_key()
        await self._start_all()
        await self._settle()
        await self._publish_all()
        await self._wait_for_stragglers()
        self._reporter.stage("stopping them", 1)
        await asyncio.gather(*(node.command.stop() for node in self._nodes))
        self._reporter.done()

    async def close(self) -> None:
        """End every process that we started."""
        await asyncio.gather(*(node.command.kill() for node in self._nodes))

    def _heard(self, number: int, event: Event) -> None:
        if event["event"] == "published":
            self.ledger.published(number, event)
        elif event["event"] == "message":
            self.ledger.arrived(number, event)

    # ---- the commands

    async def _make_key(self) -> None:
        """The publisher's, where a topic belongs to a key; that of the node to be killed; or those
        of all.
        """

        def made(event: Event) -> None:
            self.topic = self.topic or event["id"]

        words = ("--network", self.plan.act.network, "--out", str(self._made), "--json")
        more = self._family.keygen_options(self.plan.act.nodes)
        await Command("rumormill keygen", ("keygen", *words, *more), made).run()

    def _words(self, node: Node) -> list[str]:
        """The command of a node."""
        act, publishes = self.plan.act, node.number in self.plan.publishers
        words = ["pub" if publishes else "sub", self.topic, "--network", act.network, "--json"]
        for other in self.plan.links[node.number]:
            words += ["--peer", self._nodes[other].address]
        if not publishes:
            words += ["--listen", node.address or self._family.listen]
        if not publishes or act.all_linked:
            words += ["--status", str(STATUS_INTERVAL)]
        for key, value in act.settings.items():
            words += ["--set", f"{key}={value}"]
        if act.certified or (node is self._victim if act.topic else publishes):
            words += self._family.identity_options(self._made, node.number)
        if self._keep:
            words += ["--spool", str(self.spools[node.number])]
        return words

    async def _start(self, node: Node) -> None:
        await node.start(self._words(node))
        await self._until(lambda: bool(node.ready), f"node {node.number} was not ready")

    # ---- the stages

    async def _start_all(self) -> None:
        act, count = self.plan.act, len(self.plan.publishers)
        self._reporter.stage(
            f"starting {act.nodes} nodes: {act.nodes - count} x rumormill sub, "
            f"{count} x rumormill pub", act.nodes,
        )  # fmt: skip
        for wave in self.plan.waves:
            async with asyncio.TaskGroup() as tasks:
                for number in wave:
                    tasks.create_task(self._start(self._nodes[number]))
            self._reporter.move(sum(bool(node.ready) for node in self._nodes))
        self._reporter.ready([node.describe() for node in self._nodes])

    async def _settle(self) -> None:
        """Wait until those who are connected know of each other's subscription."""
        subscribers = [self._nodes[number] for number in self.plan.subscribers]
        self._reporter.stage("waiting until they know each other", len(subscribers))

        def settled() -> bool:
            count = sum(map(self._knows_others, subscribers))
            self._reporter.move(count)
            return count == len(subscribers) and self._publishers_know_all()

        await self._until(settled, "the nodes did not find each other")

    def _knows_others(self, node: Node) -> bool:
        if self.plan.act.all_linked and node.peers < self.plan.neighbours(node.number):
            return False
        return node.subscribers >= max(1, len(self.plan.links[node.number]))

    def _publishers_know_all(self) -> bool:
        """Where nobody passes messages on, a publisher has to know of each subscriber itself."""
        wanted = len(self.plan.subscribers) if self.plan.act.all_linked else 0
        return all(self._nodes[each].subscribers >= wanted for each in self.plan.publishers)

    async def _publish_all(self) -> None:
        """Publish steadily while one node is killed and comes back."""
        plan, act = self.plan, self.plan.act
        self._reporter.stage(f"publishing {act.messages} messages, {act.rate:g} a second",
                             act.messages)  # fmt: skip
        returning: asyncio.Task[None] | None = None
        began = due = time.monotonic()
        try:
            for number in range(act.messages):
                await asyncio.sleep(due - time.monotonic())
                due += 1 / act.rate
                if number == plan.kill_after:
                    self.killed_after = time.monotonic() - began
                    returning = asyncio.create_task(self._kill_and_return(plan.absence))
                elif number == plan.hold_after and returning is not None:
                    if not returning.done():
                        self._reporter.note("publishing waits for it")
                    await returning
                    due = max(due, time.monotonic())
                self._check_alive()
                self._nodes[plan.publisher_of(number)].command.write(f"message {number}")
                self._reporter.move(number + 1)
        finally:
            if returning is not None:
                returning.cancel()
        published = "not every message was published"
        await self._until(lambda: self.ledger.count == act.messages, published)

    async def _kill_and_return(self, seconds: float) -> None:
        """Kill one with SIGKILL, and start it again: same command, key and port."""
        node, name, killed_at = self._victim, f"node {self._victim.number}", time.time()
        before = node.ready["id"]
        await node.kill()
        self.ledger.killed(node.number, killed_at)
        self._reporter.note(f"{name} was killed with SIGKILL")
        await asyncio.sleep(seconds)
        self._reporter.note(f"{name} is started again, same command, same port")
        for publisher in self.plan.publishers:
            self._nodes[publisher].subscribers = 0  # what they know is to be told anew
        await self._start(node)
        if self.plan.act.topic and node.ready["id"] != before:
            raise DemoError(f"{name} came back as {node.ready['id']}, it was {before}")
        # Where only the newest message is promised, that is what a node comes back for.
        await self._until(
            lambda: (
                self._knows_others(node)
                and self._publishers_know_all()
                and (self.every_message or self.ledger.has_any(node.number))
            ),
            f"{name} did not find the others again",
        )
        self.away = time.time() - killed_at
        self.ledger.returned(node.number, time.time())
        self._reporter.note(f"{name} is back")

    async def _wait_for_stragglers(self) -> None:
        """Not for ever: what is missing after a while is missing."""
        self._reporter.stage("waiting for the last deliveries", 1)
        deadline = time.monotonic() + DRAIN_TIMEOUT
        while time.monotonic() < deadline:
            figures = self.ledger.figures()
            if not (figures.missing if self.every_message else figures.behind):
                break
            await asyncio.sleep(POLL)

    # ---- waiting

    async def _until(self, condition: Callable[[], bool], problem: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self._check_alive()
            if time.monotonic() > deadline:
                raise DemoError(f"{problem} within {PATIENCE:g} s")
            await asyncio.sleep(POLL)

    def _check_alive(self) -> None:
        for node in self._nodes:
            node.check_alive()
