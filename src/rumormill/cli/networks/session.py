"""What every command that opens a network does: open, connect, trace, end on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rumormill
from rumormill.capture.tap import attach
from rumormill.cli.networks.plan import NetworkPlan
from rumormill.cli.networks.spool import SpoolPlan, spooling, warn_of_spool
from rumormill.cli.words.output import LineWriter, warn
from rumormill.cli.words.render import Ready, Renderer, renderer_for
from rumormill.cli.words.sentences import full_stop, innermost, one_line
from rumormill.core.errors import ConnectError, NotReadyError
from rumormill.core.trace import TraceEvent

if TYPE_CHECKING:
    from rumormill.capture.writing.writer import SpoolWriter

FLUSH_INTERVAL = 0.5
"""Seconds that a trace event may wait in memory before it is in the file."""

SUBSCRIBED_WITHIN = 5.0
"""Seconds until a person is told that no message can come yet."""


class Session:
    """A command at work: how it prints, and where its trace goes."""

    def __init__(
        self,
        writer: LineWriter,
        renderer: Renderer,
        trace: TraceFile | None,
        spool: SpoolWriter | None = None,
    ) -> None:
        self.renderer = renderer
        self._writer = writer
        self._trace = trace
        self._spool = spool

    async def show(self, line: str) -> None:
        """Print what the renderer made, if it made anything."""
        if line:
            await self._writer.write(line)

    async def show_ready(
        self, network: rumormill.Network, name: str, http: str | None = None
    ) -> None:
        """Say that the node is up, and where it answers over HTTP."""
        ready = Ready(
            name, network.id, network.addresses, network.capabilities, network.services, http
        )
        await self.show(self.renderer.ready(ready))

    @contextlib.asynccontextmanager
    async def open(
        self, plan: NetworkPlan, patient: bool = False
    ) -> AsyncIterator[rumormill.Network]:
        """Open the network of a plan, connected to its peers; ``patient``: or soon to be."""
        async with rumormill.open(
            plan.name,
            listen=plan.listen,
            bootstrap=plan.bootstrap,
            key_file=plan.key_file,
            **plan.settings,
        ) as network:
            if self._trace is not None:
                network.on_trace(self._trace.write)
            if self._spool is not None:
                network.on_trace(warn_of_spool)
                attach(network, self._spool)
            for topic in plan.topics:
                network.join(plan.handle(topic))
            await connect_all(network, plan.peers, patient)
            yield network


async def connect_all(
    network: rumormill.Network, peers: Sequence[str], patient: bool = False
) -> None:
    """Connect to every peer; those that fail are warned of, unless all do: then it is an error.

    ``patient``: not even then. All of them are tried again as long as the network is open.
    """
    outcomes = await asyncio.gather(
        *(network.connect(address, keep=True) for address in peers), return_exceptions=True
    )
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for failure in failures:
        if not isinstance(failure, ConnectError) or (len(peers) == 1 and not patient):
            raise failure
    if failures and len(failures) == len(peers) and not patient:
        raise ConnectError(f"none of {len(peers)} peers could be reached; the first: {failures[0]}")
    what = "It is tried again." if patient else "Going on with the others."
    for failure in failures:
        warn(f"{full_stop(one_line(str(failure)))} {what}")


async def wait_subscribed(network: rumormill.Network, topic: str) -> None:
    """Wait until messages of the topic come to us; if that takes long, say so and go on."""
    try:
        await network.wait_subscribed(topic, SUBSCRIBED_WITHIN)
    except NotReadyError as error:
        warn(f"{full_stop(one_line(str(error)))} It is tried again.")


class TraceFile:
    """Trace events as JSON lines; a disk that fails costs the trace, not the node."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8", buffering=1 << 16)
        self._flushed = time.monotonic()
        self._failed = False

    def write(self, event: TraceEvent) -> None:
        """Append one event."""
        if self._failed:
            return
        try:
            self._file.write(event.to_json_line() + "\n")
            if time.monotonic() - self._flushed > FLUSH_INTERVAL:
                self._file.flush()
                self._flushed = time.monotonic()
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Write what is left."""
        try:
            self._file.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if not self._failed:
            self._failed = True
            warn(f"the trace ends here, {self._path} cannot be written: {error.strerror}.")


@contextlib.contextmanager
def trace_file(path: Path | None) -> Iterator[TraceFile | None]:
    """The trace file of a command, if it was given one."""
    if path is None:
        yield None
        return
    file = TraceFile(path)
    try:
        yield file
    finally:
        file.close()


def run_session(
    work: Callable[[Session], Coroutine[Any, Any, None]],
    *,
    as_json: bool,
    trace: Path | None,
    spool: SpoolPlan | None = None,
) -> bool:
    """Run ``work``: True if it came to its end, False if a signal or a gone reader ended it."""

    async def main() -> bool:
        writer = LineWriter()
        renderer = renderer_for(as_json, sys.stdout.isatty())
        try:
            with trace_file(trace) as file:
                async with spooling(spool) as kept:
                    session = Session(writer, renderer, file, kept)
                    return await until_stopped(work(session), writer)
        finally:
            await writer.close()

    return rumormill.run(main())


async def until_stopped(work: Coroutine[Any, Any, None], writer: LineWriter | None = None) -> bool:
    """Await ``work``, or cancel it at Ctrl-C, SIGTERM, or when nobody reads its lines any more."""
    task = asyncio.ensure_future(work)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    if writer is not None:
        writer.on_broken = stop
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
        return False
    except Exception as error:
        if not isinstance(innermost(error), BrokenPipeError):
            raise
        return False
    return True
