"""The processes of one act of a demo: all of them at once, and waiting for what they tell."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from rumormill.cli.demo.ledger import Ledger, Traffic
from rumormill.cli.demo.process import DemoError, WorkerProcess
from rumormill.cli.demo.progress import JsonReporter, Reporter

START_TIMEOUT = 60.0
CONNECT_TIMEOUT = 20.0
CONFIRM_TIMEOUT = 15.0
RETURN_TIMEOUT = 40.0
COUNT_TIMEOUT = 10.0
STOP_TIMEOUT = 3.0
POLL = 0.05


class Script(Protocol):
    """When what happens while messages are published; counted in messages."""

    @property
    def rate(self) -> float:
        """Messages a second."""

    @property
    def victim(self) -> int:
        """The node that is killed."""

    @property
    def kill_after(self) -> int:
        """When it is killed."""

    @property
    def return_after(self) -> int:
        """When it is started again."""

    @property
    def hold_after(self) -> int:
        """When publishing waits until it is back."""


class Cast(ABC):
    """The workers of one act, led step by step; what they tell is in ``ledger``."""

    def __init__(self, nodes: int, reporter: Reporter) -> None:
        self.reporter = reporter
        self.ledger = Ledger(nodes)
        self.began = 0.0
        self._counted = False
        self._workers = [WorkerProcess(node, self._heard) for node in range(nodes)]

    @property
    def ids(self) -> list[str]:
        """The nodes' names on the network, in order."""
        return [worker.id for worker in self._workers]

    @abstractmethod
    async def run(self) -> None:
        """Play the act, from the first process to the last count."""

    @abstractmethod
    async def _return(self) -> None:
        """Bring the killed node back, and wait until it takes part again."""

    async def close(self) -> None:
        """End every process that we started."""
        await asyncio.gather(*(worker.kill() for worker in self._workers))

    # ---- what the workers tell

    def _heard(self, node: int, event: dict[str, Any]) -> None:
        match event["event"]:
            case "delivered":
                self.ledger.delivered(node, event["number"], event["latency"])
            case "published":
                self.ledger.published(event["number"], node, event["at"])
            case "status" | "count":
                self._note_status(node, event)

    def _note_status(self, node: int, event: dict[str, Any]) -> None:
        if not self._counted:
            self.ledger.counted(node, Traffic(event["delivered"], event["duplicates"]))
            self.ledger.degrees[node] = len(event["mesh"])

    # ---- steps

    def _tell_ready(self) -> None:
        if isinstance(self.reporter, JsonReporter):
            self.reporter.ready([worker.describe() for worker in self._workers])

    async def _start_one(self, worker: WorkerProcess, orders: dict[str, Any]) -> None:
        await worker.start({"node": worker.node, **orders})
        ready = await worker.answer("ready", START_TIMEOUT, "starting")
        worker.id, worker.address = ready["id"], ready["addresses"][0]

    async def _connect(self, worker: WorkerProcess, others: Sequence[int]) -> None:
        addresses = [self._workers[other].address for other in others]
        worker.send({"do": "connect", "addresses": addresses})
        answer = await worker.answer("connected", CONNECT_TIMEOUT, "connecting")
        if answer["failed"]:
            raise DemoError(f"node {worker.node} could not connect: {answer['failed'][0]}")

    async def _publish_steadily(
        self, script: Script, count: int, publisher_of: Callable[[int], int]
    ) -> None:
        """Publish so many messages while one node is killed and comes back."""
        returning: asyncio.Task[None] | None = None
        self.began = due = time.monotonic()
        try:
            for number in range(count):
                await asyncio.sleep(due - time.monotonic())
                due += 1 / script.rate
                if number == script.kill_after:
                    await self._kill(script.victim)
                elif number == script.return_after:
                    returning = asyncio.create_task(self._return())
                elif number == script.hold_after and returning is not None:
                    if not returning.done():
                        self.reporter.note("publishing waits for it")
                    await returning
                    due = max(due, time.monotonic())
                self._publish(publisher_of(number), number)
        finally:
            if returning is not None:
                returning.cancel()
        await self._confirmed(count)

    def _publish(self, publisher: int, number: int) -> None:
        self._check_alive()
        self._workers[publisher].send({"do": "publish", "number": number})
        self.reporter.move(number + 1)

    async def _confirmed(self, messages: int) -> None:
        await self._until(
            lambda: self.ledger.count == messages,
            CONFIRM_TIMEOUT,
            "not every message was published",
        )

    async def _kill(self, node: int) -> None:
        self.ledger.killed(node, time.monotonic())
        await self._workers[node].kill()
        self.reporter.note(f"node {node} was killed with SIGKILL")

    async def _count(self) -> None:
        """Ask all for their last numbers before the first of them leaves the tables of others."""
        self.reporter.stage("counting", len(self._workers))
        await self._all_move(self._count_one)
        self._counted = True
        self.reporter.stage("stopping the processes", len(self._workers))
        await self._all_move(lambda worker: worker.stop(STOP_TIMEOUT))

    async def _count_one(self, worker: WorkerProcess) -> None:
        worker.send({"do": "count"})
        await worker.answer("count", COUNT_TIMEOUT, "counting")

    # ---- waiting

    async def _all_move(self, step: Callable[[WorkerProcess], Awaitable[None]]) -> None:
        """Do one step with every worker at once; the bar moves as they finish."""
        done = 0

        async def one(worker: WorkerProcess) -> None:
            nonlocal done
            await step(worker)
            done += 1
            self.reporter.move(done)

        async with asyncio.TaskGroup() as tasks:
            for worker in self._workers:
                tasks.create_task(one(worker))

    async def _until(
        self,
        condition: Callable[[], bool],
        timeout: float,
        problem: str,
        progress: Callable[[], int] | None = None,
    ) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            self._check_alive()
            if time.monotonic() > deadline:
                raise DemoError(f"{problem} within {timeout:g} s")
            if progress is not None:
                self.reporter.move(progress())
            await asyncio.sleep(POLL)

    def _check_alive(self) -> None:
        for worker in self._workers:
            away = worker.node in self.ledger.absences  # it may be between two lives
            if not away and not worker.running:
                raise DemoError(f"node {worker.node} ended by itself: {worker.last_words()}")
