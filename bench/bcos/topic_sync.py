"""What two nodes tell each other of their topics, when one of them has many SDKs.

The SDKs, all in one process, listen to so many topics on the first node. The second knows the first
by a wiretap, where packets are counted. It joins (the first exchange); then single topics are
added one after the other, each once the nodes are quiet again; then as many at once, each by
another SDK; then nothing happens for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.bcos.nodes import STARTING, Node, start_node
from bench.bcos.paths import cpu_seconds
from bench.bcos.wiretap import Traffic, Wiretap
from bench.progress import Progress
from bench.siege.processes import Program, SiegeError

Row = dict[str, Any]

SETTLED = 0.25
"""Seconds without a packet after which the nodes are said to agree."""
PATIENCE = 60.0


@dataclass(frozen=True)
class SyncPlan:
    """How much is measured."""

    sdks: int = 100
    topics: tuple[int, ...] = (100, 10_000)
    """In all; the same is measured with each."""
    changes: int = 100
    quiet_seconds: float = 20.0


QUICK = SyncPlan(sdks=10, topics=(10, 100), changes=5, quiet_seconds=6.0)


async def run(certificates: Path, plan: SyncPlan, progress: Progress) -> Row:
    """Measure with few topics and with many."""
    rows: list[Row] = []
    for topics in plan.topics:
        progress.step(f"bcos: {plan.sdks} SDKs, {topics} topics")
        row: Row = {"topics": topics, "missing": ""}
        try:
            row |= await _measure(certificates, topics, plan)
        except (SiegeError, TimeoutError) as error:
            row["missing"] = str(error) or "the nodes did not come to an agreement in time"
        rows.append(row)
    return {
        "sdks": plan.sdks,
        "changes": plan.changes,
        "quiet_seconds": plan.quiet_seconds,
        "rows": rows,
    }


async def _measure(certificates: Path, topics: int, plan: SyncPlan) -> Row:
    async with contextlib.AsyncExitStack() as stack:
        first = await start_node(stack, "the node of the SDKs", certificates / "nodes" / "0")
        crowd = await _start_crowd(stack, certificates, first, topics, plan)
        tap = await stack.enter_async_context(_tapped(first.address))
        await start_node(stack, "the other node", certificates / "nodes" / "1", tap.address)
        joined = await tap.quiet(SETTLED * 4, Traffic(), PATIENCE)
        cpu, began = cpu_seconds(first.program.pid), time.monotonic()
        for number in range(plan.changes):
            before = tap.traffic()
            await crowd.say(sdks=[number % plan.sdks], topic=f"single-{number}")
            await tap.quiet(SETTLED, before, PATIENCE)
        single = tap.traffic().since(joined)
        cpu, seconds = cpu_seconds(first.program.pid) - cpu, time.monotonic() - began
        before = tap.traffic()
        await crowd.say(sdks=list(range(plan.changes)), topic="burst")
        burst = (await tap.quiet(SETTLED * 4, before, PATIENCE)).since(before)
        before, idle = tap.traffic(), cpu_seconds(first.program.pid)
        await asyncio.sleep(plan.quiet_seconds)
        quiet = tap.traffic().since(before)
        # What the SDKs take by being there: they say that they are, and ask who listens.
        idle = (cpu_seconds(first.program.pid) - idle) / plan.quiet_seconds
        return {
            "joining": joined._asdict(),
            "single": single._asdict(),
            "burst": burst._asdict(),
            "quiet": quiet._asdict(),
            "idle_cpu": idle,
            "cpu_us_per_change": max(cpu - idle * seconds, 0.0) / plan.changes * 1e6,
        }


async def _start_crowd(
    stack: contextlib.AsyncExitStack, certificates: Path, node: Node, topics: int, plan: SyncPlan
) -> Program:
    words = (certificates / "sdks" / "0", node.channel, plan.sdks, topics // plan.sdks)
    program = Program.module("the crowd", "bench.bcos.crowd", *map(str, words))
    crowd = await stack.enter_async_context(program)
    await crowd.expect("ready", STARTING + PATIENCE)
    return crowd


@contextlib.asynccontextmanager
async def _tapped(target: str) -> AsyncIterator[Wiretap]:
    tap = Wiretap(target)
    await tap.start()
    try:
        yield tap
    finally:
        await tap.close()
