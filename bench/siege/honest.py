"""The honest sides of the siege, one for each family: started, and asked what became of them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from bench.siege.nodes import Node
from bench.siege.processes import Program
from tests.helpers.libp2p.siege_payloads import TOPIC

Row = dict[str, Any]

STARTING = 30.0
SETTLING = 0.5
SLACK = 15.0
"""Seconds beyond what a measurement should take, after which nobody answers any more."""


@dataclass(frozen=True)
class Load:
    """What the honest side does."""

    count: int = 100
    rate: float = 50.0
    size: int = 1024
    patience: float = 10.0
    """Seconds after the last that the rest may arrive in."""

    @property
    def seconds(self) -> float:
        """That it takes to send."""
        return self.count / self.rate


class Honest(Protocol):
    """The honest side of a family."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    async def prepare(self, run: int, load: Load) -> None:
        """Do beforehand what is not to be measured."""
        ...

    async def measure(self, run: int, load: Load, newcomer: bool) -> Row:
        """Send; returns how much arrived, and how late."""
        ...


class _Programs:
    """Programs that end with the context."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._stack = AsyncExitStack()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def prepare(self, run: int, load: Load) -> None:
        """Nothing."""

    async def _start(self, what: str, module: str, *arguments: str) -> Program:
        program = Program.module(what, f"bench.siege.{module}", *arguments)
        return await self._stack.enter_async_context(program)


class GossipsubPair(_Programs):
    """A publisher and a subscriber who know the attacked node and not each other."""

    async def __aenter__(self) -> Self:
        address = self._node.address
        module = "honest_gossipsub"
        try:
            self._subscriber = await self._start(
                "the subscriber", module, "subscriber", address, TOPIC
            )
            self._publisher = await self._start(
                "the publisher", module, "publisher", address, TOPIC
            )
            for program in (self._subscriber, self._publisher):
                await program.expect("ready", STARTING)
        except BaseException:
            await self._stack.aclose()
            raise
        # They have asked to be in the node's mesh, and are let in at once.
        await asyncio.sleep(SETTLING)
        return self

    async def measure(self, run: int, load: Load, newcomer: bool) -> Row:
        """What the subscriber got of what the publisher sent."""
        await self._publisher.say(
            do="publish", run=run, count=load.count, rate=load.rate, size=load.size
        )
        if newcomer:
            await self._publisher.say(do="newcomer", timeout=load.seconds)
        row: Row = {}
        waiting = {"sent", "newcomer"} if newcomer else {"sent"}
        while waiting:
            said = await self._publisher.line(load.seconds + SLACK)
            waiting.discard(str(said.get("event")))
            if said.get("event") == "newcomer":
                row["newcomer_s"] = said["seconds"]
            elif said.get("event") == "sent":
                row["unheard"] = said["failed"]
                row["publisher_late_ms"] = said["latest_ms"]
            elif said.get("event") == "error":
                row.setdefault("errors", []).append(said["problem"])
                waiting.discard("sent")
        await self._subscriber.say(do="report", run=run, count=load.count, patience=load.patience)
        received = await self._subscriber.expect("received", load.patience + SLACK)
        return {**row, **{name: received[name] for name in received if name != "event"}}


class DhtUsers(_Programs):
    """Those who put values at the attacked node, and those who ask it for them."""

    kind = "topic"

    async def __aenter__(self) -> Self:
        try:
            self._users = await self._start(
                "the users", "honest_bep50", self._node.address, self.kind
            )
            await self._users.expect("ready", STARTING)
        except BaseException:
            await self._stack.aclose()
            raise
        self._prepared: set[int] = set()
        return self

    async def prepare(self, run: int, load: Load) -> None:
        """Get tokens while there is peace."""
        await self._users.say(do="prepare", run=run, count=load.count, rate=load.rate)
        await self._users.expect("prepared", STARTING)
        self._prepared.add(run)

    async def measure(self, run: int, load: Load, newcomer: bool) -> Row:
        """What could be asked for of what was put."""
        if run not in self._prepared:
            await self.prepare(run, load)
        await self._users.say(
            do="publish", run=run, count=load.count, rate=load.rate, patience=load.patience
        )
        received = await self._users.expect("received", load.seconds + load.patience + SLACK)
        return {name: received[name] for name in received if name != "event"}


class MainDhtUsers(DhtUsers):
    """The same without a topic in each packet."""

    kind = "main"


class HttpClient(GossipsubPair):
    """A client of the HTTP side, and the pair beside it."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        try:
            self._client = await self._start("the client", "honest_http", self._node.http, TOPIC)
            await self._client.expect("ready", STARTING)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def measure(self, run: int, load: Load, newcomer: bool) -> Row:
        """What was answered by 200; ``beside``, what the pair got meanwhile."""
        await self._client.say(
            do="publish", run=run, count=load.count, rate=load.rate, patience=load.patience
        )
        beside = await super().measure(run, load, newcomer)
        received = await self._client.expect("received", load.seconds + load.patience + SLACK)
        row = {name: received[name] for name in received if name != "event"}
        return {**row, "newcomer_s": beside.get("newcomer_s"), "beside": beside}
