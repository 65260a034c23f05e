"""Joins a spool to a live network: what it delivers and what happens on it are kept.

    async with open_spool("spool") as writer:
        async with rumormill.open(NETWORK, ...) as network:
            attach(network, writer)

``rumormill.open(..., spool="spool")`` does the same. A writer may be attached to several networks:
each record says which one it is of.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from rumormill.capture.log import require_pyarrow
from rumormill.capture.parameters import SpoolParameters
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent, type_of_field

if TYPE_CHECKING:
    from rumormill.capture.writing.writer import SpoolWriter

SPOOL_RECOVERED: Final = "spool_recovered"
"""At the start: a torn tail was cut off, or offsets were skipped. Fields: kind, file, bytes, rows,
reason; or kind, gap, reason."""


class Tappable(Protocol):
    """What of a live network is needed here."""

    name: str

    @property
    def trace_name(self) -> str:
        """What the node is called; it may not be known before the network is open."""
        ...

    def on_deliver(self, listener: Callable[[Message], object]) -> Callable[[], None]:
        """Call ``listener`` with every message that is delivered."""
        ...

    def on_trace(self, listener: Callable[[TraceEvent], object]) -> Callable[[], None]:
        """Call ``listener`` with every trace event."""
        ...

    def emit(self, event: str, **fields: type_of_field) -> None:
        """Add a trace event."""
        ...


def attach(network: Tappable, writer: SpoolWriter) -> Callable[[], None]:
    """Keep what happens on the network from now on; returns a function that ends it.

    To be called on the event loop of the network. The network tells what becomes of the spool:
    ``spool_recovered``, ``spool_failed``, ``spool_resumed``, and ``dropped`` for records that were
    lost are trace events of it.
    """
    loop = asyncio.get_running_loop()
    name = network.name

    def report(event: str, fields: Mapping[str, type_of_field]) -> None:
        """On the writer's thread, perhaps after the loop has ended."""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(partial(network.emit, event, **fields))

    stops: list[Callable[[], None]] = []
    if "messages" in writer.parameters.records:
        stops.append(
            network.on_deliver(lambda message: writer.message(message, network.trace_name))
        )
    if "trace" in writer.parameters.records:
        stops.append(network.on_trace(lambda event: writer.trace(event, name)))
    if writer.listener is None:
        writer.listener = report
        for fields in recovery_events(writer):
            network.emit(SPOOL_RECOVERED, **fields)

    def stop() -> None:
        for each in stops:
            each()
        if writer.listener is report:
            writer.listener = None

    return stop


def recovery_events(writer: SpoolWriter) -> list[dict[str, type_of_field]]:
    """What was found wrong when the spool was opened: the fields of one event each."""
    events: list[dict[str, type_of_field]] = []
    for kind, found in writer.recovered.items():
        events += [{"kind": kind, **cut._asdict()} for cut in found.cuts]
        if gap := found.next - found.previous_end:
            reason = "the last writer did not close the spool"
            events.append({"kind": kind, "gap": gap, "reason": reason})
    return events


@contextlib.asynccontextmanager
async def open_spool(
    folder: str | Path, parameters: SpoolParameters | None = None
) -> AsyncIterator[SpoolWriter]:
    """A writer that is opened and closed without holding up the event loop."""
    require_pyarrow()
    from rumormill.capture.writing.writer import SpoolWriter

    writer = await asyncio.to_thread(SpoolWriter, folder, parameters)
    try:
        yield writer
    finally:
        await asyncio.shield(asyncio.to_thread(writer.close))
