"""The course of a demo: start, connect, form a mesh, publish, kill, return, count, analyse."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from rumormill.cli.demo.analysis import Analysis
from rumormill.cli.demo.cast import POLL, RETURN_TIMEOUT, Cast
from rumormill.cli.demo.plan import DemoPlan
from rumormill.cli.demo.process import DemoError, WorkerProcess
from rumormill.cli.demo.progress import Reporter
from rumormill.live.families import find_family

MESH_TIMEOUT = 30.0
DRAIN_TIMEOUT = 15.0

STAGES = ("bronze", "silver", "gold")
"""What Spark makes in the end, one from the other."""

LOW_DEGREE = 4
"""Peers in the mesh from which on a node counts as well connected (fewer if it has fewer links)."""


class Demo(Cast):
    """One demo at work. :meth:`run` does it all; :meth:`close` leaves no process behind."""

    def __init__(
        self,
        plan: DemoPlan,
        reporter: Reporter,
        folder: Path,
        analysis: Analysis | None = None,
    ) -> None:
        super().__init__(plan.nodes, reporter)
        self.plan = plan
        self._folder = folder
        self._analysis = analysis
        self._reading: asyncio.Task[None] | None = None

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

    async def close(self) -> None:
        """End every process that we started."""
        if self._reading is not None:
            self._reading.cancel()
        if self._analysis is not None:
            await self._analysis.kill()
        await super().close()

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

    def _check_alive(self) -> None:
        super()._check_alive()
        if self._reading is not None and self._reading.done():
            self._reading.result()
        if self._analysis is not None:
            self._analysis.check()

    # ---- the stages

    async def _start_all(self) -> None:
        self.reporter.stage(f"starting {self.plan.nodes} processes", self.plan.nodes)
        await self._all_move(
            lambda worker: self._start(worker, find_family(self.plan.network).listen)
        )
        if self._analysis is not None:
            self._reading = asyncio.create_task(self._read_spools(self._analysis))
        self._tell_ready()

    async def _start(self, worker: WorkerProcess, listen: str) -> None:
        await self._start_one(worker, {
            "network": self.plan.network,
            "listen": listen,
            "key_file": str(self._folder / f"node-{worker.node}.key"),
            "spool": None if self._analysis is None else self._analysis.spool_of(worker.node),
        })  # fmt: skip

    async def _connect_all(self) -> None:
        count = self.plan.connections
        self.reporter.stage(f"connecting them, {count} connections", self.plan.nodes)
        await self._all_move(lambda worker: self._connect(worker, self.plan.links[worker.node]))

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
        await self._publish_steadily(plan, plan.messages, plan.publisher_of)

    # ---- the killed node

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
