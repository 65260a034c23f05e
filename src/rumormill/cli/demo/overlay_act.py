"""The second act of a demo: a topic on the BitTorrent DHT, whose newest value is everywhere.

A handful of nodes, one of which has the key and publishes value after value. One of the others is
killed, misses some, and comes back: it asks for the newest value and has it. What was in between
is gone by then; that is what this network promises.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from rumormill.cli.demo.cast import RETURN_TIMEOUT, Cast
from rumormill.cli.demo.process import WorkerProcess
from rumormill.cli.demo.progress import Reporter

JOIN_TIMEOUT = 30.0
NEWEST_TIMEOUT = 20.0
LISTEN = "127.0.0.1:0"


class OverlayPlan(NamedTuple):
    """What happens in the act."""

    nodes: int = 6
    values: int = 40
    rate: float = 10.0
    victim: int = 3
    kill_after: int = 10
    return_after: int = 20
    hold_after: int = 30
    """Values published at most before the killed node is back."""


class OverlayAct(Cast):
    """The act at work. :meth:`run` does it all; :meth:`close` leaves no process behind."""

    def __init__(self, plan: OverlayPlan, reporter: Reporter, folder: Path) -> None:
        super().__init__(plan.nodes, reporter)
        self.plan = plan
        self.caught_up_after: float | None = None
        """Seconds from the start of the killed node's new process until it had the newest value of
        that moment."""
        self._folder = folder
        self._topic = ""

    async def run(self) -> None:
        """From the first process to the last count."""
        self._topic = self._make_key()
        await self._start_all()
        await self._join_all()
        await self._publish_all()
        await self._wait_for_the_newest()
        await self._count()
        self.reporter.done()

    @property
    def newest(self) -> list[int | None]:
        """The number of the newest value that each node has, as it told last."""
        return [worker.newest for worker in self._workers]

    # ---- the stages

    def _make_key(self) -> str:
        from rumormill.bep50.live.key_file import create_item_key

        return create_item_key(self._key_file).public_key.hex()

    @property
    def _key_file(self) -> Path:
        return self._folder / "publisher.key"

    async def _start_all(self) -> None:
        count = self.plan.nodes
        self.reporter.stage(f"bep50: starting {count} processes", count)
        await self._all_move(lambda worker: self._start(worker, LISTEN))
        self._tell_ready()

    async def _start(self, worker: WorkerProcess, listen: str) -> None:
        await self._start_one(worker, {
            "network": "bep50",
            "listen": listen,
            "key_file": str(self._key_file) if worker.node == 0 else None,
            "topic": self._topic,
        })  # fmt: skip

    async def _join_all(self) -> None:
        """All but the first are told of the first; they find each other through it."""
        self.reporter.stage(
            f"joining the overlay of {self._topic[:8]}.., all through node 0", self.plan.nodes
        )
        async with asyncio.TaskGroup() as tasks:
            for worker in self._workers[1:]:
                tasks.create_task(self._connect(worker, [0]))
        await self._until(
            lambda: all(self._knows_all(worker) for worker in self._workers),
            JOIN_TIMEOUT,
            "the nodes did not find each other",
            progress=lambda: sum(self._knows_all(worker) for worker in self._workers),
        )

    def _knows_all(self, worker: WorkerProcess) -> bool:
        others = {other.address for other in self._workers if other is not worker}
        return others <= set(worker.status.get("mesh", ()))

    async def _publish_all(self) -> None:
        plan = self.plan
        self.reporter.stage(f"node 0 publishes {plan.values} values, {plan.rate:g} a second",
                            plan.values)  # fmt: skip
        await self._publish_steadily(plan, plan.values, lambda number: 0)

    # ---- the killed node

    async def _return(self) -> None:
        """Bring the killed node back with nothing but the topic and the address of node 0."""
        worker = self._workers[self.plan.victim]
        began, wanted = time.monotonic(), self._workers[0].newest or 0
        self.reporter.note(f"node {worker.node} is started again, it knows nothing")
        await self._start(worker, worker.address)
        await self._connect(worker, [0])
        await self._until(
            lambda: (worker.newest or 0) >= wanted and self._known_again(worker),
            RETURN_TIMEOUT,
            f"node {worker.node} did not catch up",
        )
        self.caught_up_after = time.monotonic() - began
        self.ledger.returned(worker.node, time.monotonic())
        self.reporter.note(
            f"node {worker.node} has value {worker.newest}, {self.caught_up_after:.1f} s after "
            "its process was started"
        )

    def _known_again(self, worker: WorkerProcess) -> bool:
        """Whether others will tell it of new values, as far as they told us."""
        others = [other for other in self._workers if other is not worker]
        return bool(worker.status) and any(
            worker.address in other.status["mesh"] and other.address in worker.status["mesh"]
            for other in others
        )

    # ---- the end

    async def _wait_for_the_newest(self) -> None:
        self.reporter.stage("waiting until all have the newest value", self.plan.nodes)
        newest = max(worker.published for worker in self._workers)

        def have_it() -> int:
            return sum((worker.newest or 0) >= newest for worker in self._workers)

        await self._until(
            lambda: have_it() == self.plan.nodes,
            NEWEST_TIMEOUT,
            f"value {newest} is not everywhere",
            progress=have_it,
        )
