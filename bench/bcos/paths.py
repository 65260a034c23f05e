"""The two paths that are measured, each of four processes: ours and the bare one."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from bench import process_tree
from bench.bcos.nodes import STARTING, start_node
from bench.siege.processes import Program

HOPS = ("publisher", "publisher's node", "subscriber's node", "subscriber")

PATIENCE = 120.0
"""Seconds for one measurement."""


class Case(NamedTuple):
    """What is sent."""

    kind: str
    in_flight: int

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.in_flight} in flight"


CASES = (Case("unicast", 1), Case("unicast", 64), Case("multicast", 64))

Sample = dict[str, Any]


class FourProcesses:
    """Four running processes, in the order of :data:`HOPS`."""

    def __init__(self, programs: dict[str, Program]) -> None:
        self._programs = programs

    async def measure(self, case: Case, count: int) -> Sample:
        """Send so many, until the last has come back or arrived."""
        publisher, subscriber = (self._programs[hop] for hop in ("publisher", "subscriber"))
        before = self._cpu_seconds()
        await publisher.say(kind=case.kind, in_flight=case.in_flight, count=count)
        done = await publisher.expect("done", PATIENCE)
        cpu = {hop: after - before[hop] for hop, after in self._cpu_seconds().items()}
        if case.kind == "multicast":
            await subscriber.say()
            done = await subscriber.expect("report", PATIENCE) | {"seconds": done["seconds"]}
        return sample_of(count, done, cpu)

    def _cpu_seconds(self) -> dict[str, float]:
        return {hop: cpu_seconds(program.pid) for hop, program in self._programs.items()}


def sample_of(count: int, done: dict[str, Any], cpu: dict[str, float]) -> Sample:
    """One measurement, by message."""
    hops = {hop: seconds / count * 1e6 for hop, seconds in cpu.items()}
    return {
        "sent": count,
        "received": done["count"],
        "seconds": done["seconds"],
        "per_second": count / done["seconds"],
        "p50_us": done["p50_us"],
        "p99_us": done["p99_us"],
        "hops_us": hops,
        "cpu_us": sum(hops.values()),
    }


def cpu_seconds(pid: int) -> float:
    """Processor time that a process took so far, threads and kernel included."""
    try:
        # The clock of another process, as clock_getcpuclockid(3) makes it: exact, and free.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return process_tree.cpu_seconds(pid)


@contextlib.asynccontextmanager
async def bare_path(tls: str, certificates: Path, folder: Path) -> AsyncIterator[FourProcesses]:
    """Relays instead of nodes; ``tls`` as in :mod:`bench.bcos.bare_lines`."""
    pipe = folder / f"bare-{tls}.pipe"
    os.mkfifo(pipe)
    nodes, sdks = certificates / "nodes", certificates / "sdks"
    async with contextlib.AsyncExitStack() as stack:

        async def start(hop: str, *arguments: object) -> Program:
            words = [str(argument) for argument in arguments]
            program = Program.module(f"the bare {hop}", "bench.bcos.bare", tls, *words)
            return await stack.enter_async_context(program)

        second = await start("subscriber's relay", "relay", nodes / "1")
        between, for_subscriber = (await second.expect("ready", STARTING))["addresses"]
        first = await start("publisher's relay", "relay", nodes / "0", between)
        (for_publisher,) = (await first.expect("ready", STARTING))["addresses"]
        subscriber = await start("subscriber", "subscriber", sdks / "1", for_subscriber, pipe)
        await subscriber.expect("ready", STARTING)
        publisher = await start("publisher", "publisher", sdks / "0", for_publisher, pipe)
        await publisher.expect("ready", STARTING)
        yield FourProcesses(dict(zip(HOPS, (publisher, first, second, subscriber), strict=True)))


@contextlib.asynccontextmanager
async def our_path(certificates: Path, folder: Path) -> AsyncIterator[FourProcesses]:
    """Nodes as the command line starts them, and SDKs of the public API."""
    pipe = folder / "ours.pipe"
    os.mkfifo(pipe)
    nodes, sdks = certificates / "nodes", certificates / "sdks"
    async with contextlib.AsyncExitStack() as stack:

        async def start(role: str, number: int, channel: str) -> Program:
            words = [role, str(sdks / str(number)), channel, str(pipe)]
            program = Program.module(f"our {role}", "bench.bcos.ours", *words)
            await stack.enter_async_context(program)
            await program.expect("ready", STARTING)
            return program

        second = await start_node(stack, "the subscriber's node", nodes / "1")
        first = await start_node(stack, "the publisher's node", nodes / "0", second.address)
        subscriber = await start("subscriber", 1, second.channel)
        publisher = await start("publisher", 0, first.channel)
        programs = (publisher, first.program, second.program, subscriber)
        yield FourProcesses(dict(zip(HOPS, programs, strict=True)))
