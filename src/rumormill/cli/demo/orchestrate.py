"""The course of a demo: start, connect, form a mesh, publish, kill, return, count, analyse."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from rumormill.cli.demo.analysis import Analysis
from rumormill.cli.demo.ledger import Ledger, Traffic
from rumormill.cli.demo.plan import DemoPlan
from rumormill.cli.demo.process import DemoError, WorkerProcess
from rumormill.cli.demo.progress import JsonReporter, Reporter
from rumormill.cli.options import LOOPBACK

START_TIMEOUT = 60.0
CONNECT_TIMEOUT = 20.0
MESH_TIMEOUT = 30.0
RETURN_TIMEOUT = 40.0
CONFIRM_TIMEOUT = 15.0
DRAIN_TIMEOUT = 15.0
COUNT_TIMEOUT = 10.0
STOP_TIMEOUT = 3.0
POLL = 0.05

STAGES = ("bronze", "silver", "gold")
"""What Spark makes in the end, one from the other."""

LOW_DEGREE = 4
"""Peers in the mesh from which on a node counts as well connected (fewer if it has fewer links)."""


class Demo:
    """One demo at work. :meth:`run` does it all; :meth:`close` leaves no process behind."""

    def __init__(
        self,
        plan: DemoPlan,
        reporter: Reporter,
        folder: Path,
        analysis: Analysis | None = None,
    ) -> None:
        self.plan = plan
        self.ledger = Ledger(plan.nodes)
        self.began = 0.0
        self._counted = False
        self.reporter = reporter
        self._folder = folder
        self._analysis = analysis
        self._reading: asyncio.Task[None] | None = None
        self._workers = [WorkerProcess(node, self._heard) for node in range(plan.nodes)]

    async def run(self) -> None:
        """From the first process to the last count."""
        if self._analysis is not None:
            await self._analysis.start()
        await self._start_all()
        await self._connect_all()
        await self._form_mesh()
        await self._wait_for_spark()
        await self._publish_all()
        await self._wait_for_stragglers()
        await self._count()
        await self._analyse()
        self.reporter.done()

    @property
    def ids(self) -> list[str]:
        """The nodes' names on the network, in order."""
        return [worker.id for worker in self._workers]

    async def close(self) -> None:
        """End every process that we started."""
        if self._reading is not None:
            self._reading.cancel()
        if self._analysis is not None:
            await self._analysis.kill()
        await asyncio.gather(*(worker.kill() for worker in self._workers))

    # ---- Spark

    async def _read_spools(self, analysis: Analysis) -> None:
        await analysis.read()
        count = self.plan.nodes
        self.reporter.note(f"Spark is up and streams the spools of {count} nodes into tables")

    async def _wait_for_spark(self) -> None:
        """Publish nothing before Spark is up: it is to read while the nodes run."""
        if self._reading is not None and not self._reading.done():
            self.reporter.stage("waiting for Spark", 1)
            await self._reading

    async def _analyse(self) -> None:
        """Let Spark read the rest, and make of it what the report shows."""
        analysis = self._analysis
        if analysis is None or self._reading is None:
            return
        self.reporter.note(
            f"Spark had {analysis.rows} records in {analysis.batches} batches while the nodes ran"
        )
        self.reporter.stage("Spark makes bronze, silver and gold of them", len(STAGES))
        refining = asyncio.create_task(analysis.refine())
        while not refining.done():
            self.reporter.move(STAGES.index(analysis.layer))
            await asyncio.wait((refining,), timeout=POLL)
        await refining
        self.reporter.move(len(STAGES))
        await analysis.stop()

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

    # ---- the stages

    async def _start_all(self) -> None:
        self.reporter.stage(f"starting {self.plan.nodes} processes", self.plan.nodes)
        await self._all_move(lambda worker: self._start(worker, LOOPBACK))
        if self._analysis is not None:
            self._reading = asyncio.create_task(self._read_spools(self._analysis))
        if isinstance(self.reporter, JsonReporter):
            self.reporter.ready([worker.describe() for worker in self._workers])

    async def _start(self, worker: WorkerProcess, listen: str) -> None:
        await worker.start({
            "node": worker.node,
            "network": self.plan.network,
            "listen": listen,
            "key_file": str(self._folder / f"node-{worker.node}.key"),
            "spool": None if self._analysis is None else self._analysis.spool_of(worker.node),
        })  # fmt: skip
        ready = await worker.answer("ready", START_TIMEOUT, "starting")
        worker.id, worker.address = ready["id"], ready["addresses"][0]

    async def _connect_all(self) -> None:
        count = self.plan.connections
        self.reporter.stage(f"connecting them, {count} connections", self.plan.nodes)
        await self._all_move(lambda worker: self._connect(worker, self.plan.links[worker.node]))

    async def _connect(self, worker: WorkerProcess, others: tuple[int, ...]) -> None:
        addresses = [self._workers[other].address for other in others]
        worker.send({"do": "connect", "addresses": addresses})
        answer = await worker.answer("connected", CONNECT_TIMEOUT, "connecting")
        if answer["failed"]:
            raise DemoError(f"node {worker.node} could not connect: {answer['failed'][0]}")

    async def _form_mesh(self) -> None:
        self.reporter.stage("forming the mesh", self.plan.nodes)
        await self._until(
            lambda: all(self._settled(worker) for worker in self._workers),
            MESH_TIMEOUT,
            "the mesh did not form",
            progress=lambda: sum(self._settled(worker) for worker in self._workers),
        )

    def _settled(self, worker: WorkerProcess) -> bool:
        """Whether a node has all the neighbours that one could wish."""
        neighbours = len(self.plan.neighbours(worker.node))
        wanted = min(LOW_DEGREE, neighbours) if self.plan.network == "gossipsub" else neighbours
        return len(worker.status.get("mesh", ())) >= wanted

    async def _publish_all(self) -> None:
        plan = self.plan
        self.reporter.stage(
            f"publishing {plan.messages} messages from {len(plan.publishers)} nodes, "
            f"{plan.rate:g} a second", plan.messages,
        )  # fmt: skip
        returning: asyncio.Task[None] | None = None
        self.began = due = time.monotonic()
        try:
            for number in range(plan.messages):
                await asyncio.sleep(due - time.monotonic())
                due += 1 / plan.rate
                if number == plan.kill_after:
                    await self._kill()
                elif number == plan.return_after:
                    returning = asyncio.create_task(self._return())
                elif number == plan.hold_after and returning is not None:
                    if not returning.done():
                        self.reporter.note("publishing waits for it")
                    await returning
                    due = max(due, time.monotonic())
                self._publish(number)
        finally:
            if returning is not None:
                returning.cancel()
        await self._confirmed()

    def _publish(self, number: int) -> None:
        self._check_alive()
        self._workers[self.plan.publisher_of(number)].send({"do": "publish", "number": number})
        self.reporter.move(number + 1)

    async def _confirmed(self) -> None:
        await self._until(
            lambda: self.ledger.count == self.plan.messages,
            CONFIRM_TIMEOUT,
            "not every message was published",
        )

    # ---- the killed node

    async def _kill(self) -> None:
        worker = self._workers[self.plan.victim]
        self.ledger.killed(worker.node, time.monotonic())
        await worker.kill()
        self.reporter.note(f"node {worker.node} was killed with SIGKILL")

    async def _return(self) -> None:
        worker = self._workers[self.plan.victim]
        before, port = worker.id, worker.address.partition("/p2p/")[0]
        self.reporter.note(f"node {worker.node} is started again, same key, {port}")
        await self._start(worker, port)
        if worker.id != before:
            raise DemoError(f"node {worker.node} came back as {worker.id}, it was {before}")
        await self._connect(worker, self.plan.neighbours(worker.node))
        await self._until(
            lambda: self._back_at(worker) is not None,
            RETURN_TIMEOUT,
            f"node {worker.node} did not come back into the mesh",
        )
        back_at = self._back_at(worker)
        assert back_at is not None
        self.ledger.returned(worker.node, back_at)
        self.reporter.note(f"node {worker.node} is back in the mesh")

    def _back_at(self, worker: WorkerProcess) -> float | None:
        """When a killed node and others had each other again, as far as we were told."""
        mesh = worker.status.get("mesh", ())
        neighbours = [self._workers[node] for node in self.plan.neighbours(worker.node)]
        mutual = [
            max(other.status["at"], worker.status["at"])
            for other in neighbours
            if worker.id in other.status["mesh"] and other.id in mesh
        ]
        if self.plan.network == "gossipsub":
            return min(mutual, default=None)  # one is enough, it passes on what it gets
        return max(mutual) if len(mutual) == len(neighbours) else None

    # ---- the end

    async def _wait_for_stragglers(self) -> None:
        outstanding = self.ledger.outstanding()
        if not outstanding:
            return
        self.reporter.stage("waiting for the last deliveries", outstanding)
        deadline = time.monotonic() + DRAIN_TIMEOUT
        while (left := self.ledger.outstanding()) and time.monotonic() < deadline:
            self.reporter.move(outstanding - left)
            await asyncio.sleep(POLL)

    async def _count(self) -> None:
        """Ask all for their last numbers before the first of them leaves the mesh of the others."""
        self.reporter.stage("counting", self.plan.nodes)
        await self._all_move(self._count_one)
        self._counted = True
        self.reporter.stage("stopping the processes", self.plan.nodes)
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
        if self._reading is not None and self._reading.done():
            self._reading.result()
        if self._analysis is not None:
            self._analysis.check()
