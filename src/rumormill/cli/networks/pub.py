"""``rumormill pub``: publish a text, a file, or the lines of stdin, each as one message."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import rumormill
from rumormill.cli.networks.plan import NetworkPlan
from rumormill.cli.networks.session import Session, run_session
from rumormill.cli.networks.spool import SpoolPlan
from rumormill.cli.networks.status import Member, show_status_meanwhile
from rumormill.cli.words.output import warn
from rumormill.cli.words.sentences import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_UNKNOWN
from rumormill.core.errors import MessageTooLargeError, NotReadyError
from rumormill.core.receipt import Outcome, Receipt
from rumormill.core.trace import PUBLISHED, TraceEvent
from rumormill.core.words import plural

LINES_AHEAD = 100
"""Lines of stdin that are read before they are published."""

READ_SIZE = 1 << 16

PATIENCE = 60.0
"""Seconds that a peer may take to make room for a message, and for the last ones to leave."""


class Tally:
    """What became of the messages."""

    def __init__(self) -> None:
        self.published = 0
        self.to_nobody = 0
        self.unknown = 0
        """Messages of which nobody can say whether they arrived."""
        self.left_behind = 0
        """Copies that still waited for a peer when it left, or when we had waited long enough."""

    def count(self, receipt: Receipt) -> None:
        """One more was published."""
        self.published += 1
        if receipt.outcome == Outcome.UNKNOWN:
            self.unknown += 1
        else:
            self.to_nobody += not (receipt or receipt.fields.get("stored"))


def run_pub(
    plan: NetworkPlan,
    data: str | None,
    file: Path | None,
    ready: float,
    as_json: bool,
    trace: Path | None,
    cas: int | None = None,
    spool: SpoolPlan | None = None,
    status: float | None = None,
) -> int:
    """Publish everything; 0 only if each message is on its way to somebody, or has arrived where
    subscribers say so.
    """
    if file is not None:
        file.open("rb").close()  # before anything is opened and anyone is called
    tally = Tally()

    async def work(session: Session) -> None:
        await publish_all(session, plan, data, file, ready, tally, cas, status)

    finished = run_session(work, as_json=as_json, trace=trace, spool=spool)
    if not finished:
        warn(f"interrupted after {plural(tally.published, 'message')}.")
        return EXIT_INTERRUPTED
    if tally.to_nobody:
        warn(f"{tally.to_nobody} of {plural(tally.published, 'message')} went to nobody.")
        return EXIT_FAILED
    if tally.left_behind:
        warn(f"{tally.left_behind} copies of messages never left: their peers were gone too early.")
        return EXIT_FAILED
    if tally.unknown:
        warn(
            f"{tally.unknown} of {plural(tally.published, 'message')} may have arrived or not: a "
            "subscriber began to take it, and no acknowledgement came."
        )
        return EXIT_UNKNOWN
    return 0


class PublishClock:
    """When the last message was published, as the trace has it: waiting for others is not in it."""

    def __init__(self, network: rumormill.Network) -> None:
        self.at = 0.0
        network.on_trace(self._see)

    def _see(self, event: TraceEvent) -> None:
        if event.event == PUBLISHED:
            self.at = event.time


async def publish_all(
    session: Session,
    plan: NetworkPlan,
    data: str | None,
    file: Path | None,
    ready: float,
    tally: Tally,
    cas: int | None = None,
    status: float | None = None,
) -> None:
    """Open the network and publish one message after the other; closing waits until all left.

    ``cas`` is the number of the value that the first message replaces, where values have such;
    ``status`` seconds are between two lines that tell how the node stands.
    """
    (topic,) = plan.topics
    async with session.open(plan) as network:
        await session.show_ready(network, plan.name)
        clock = PublishClock(network)
        largest = network.capabilities.largest_message
        async with show_status_meanwhile(session, Member(plan, network), status):
            async for message in messages_from(data, file, largest):
                try:
                    receipt = await publish_one(
                        network, plan.handle(topic), message, ready, tally, cas
                    )
                except NotReadyError as error:
                    if error.receipt is not None:
                        await session.show(session.renderer.published(error.receipt, clock.at))
                    raise
                if cas is not None:
                    cas = receipt.fields["seq"]  # the next message replaces this one
                tally.count(receipt)
                await session.show(session.renderer.published(receipt, clock.at))
    tally.left_behind = network.counters.get("dropped.peer_left", 0)


async def publish_one(
    network: rumormill.Network,
    topic: Any,
    message: bytes,
    ready: float,
    tally: Tally,
    cas: int | None,
) -> Receipt:
    """Publish a message; who finds nobody to publish to is told how to wait longer."""
    swap = {} if cas is None else {"cas": cas}
    try:
        return await network.publish(topic, message, ready=ready, timeout=PATIENCE, **swap)
    except NotReadyError as error:
        raise NotReadyError(
            f"{error}: {plural(tally.published, 'message')} published (--ready waits longer)",
            error.receipt,
        ) from error


async def messages_from(data: str | None, file: Path | None, largest: int) -> AsyncIterator[bytes]:
    """The messages to publish, whatever they come from."""
    if data is not None:
        yield data.encode("utf-8", "surrogateescape")
    elif file is not None:
        yield read_message(file, largest)
    else:
        if sys.stdin.isatty():
            print("Type messages, one a line; Ctrl-D ends.", file=sys.stderr)
        async for line in lines_of(sys.stdin.fileno(), largest):
            yield line


def read_message(path: Path, largest: int) -> bytes:
    """A file as one message; one that no peer would take is not read at all."""
    with path.open("rb") as stream:
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise MessageTooLargeError(max(path.stat().st_size, len(data)), largest)
    return data


async def lines_of(descriptor: int, largest: int) -> AsyncIterator[bytes]:
    """Lines without their ends, read by a thread: waiting for a person must not stop the node."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
    room = threading.Semaphore(LINES_AHEAD)

    def hand_over() -> None:
        last: Exception | None = None
        try:
            for line in read_lines(descriptor, largest):
                room.acquire()
                loop.call_soon_threadsafe(lines.put_nowait, line)
        except (OSError, MessageTooLargeError) as error:
            last = error
        loop.call_soon_threadsafe(lines.put_nowait, last)

    def run() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody wants more lines
            hand_over()

    threading.Thread(target=run, name="stdin", daemon=True).start()
    while (line := await lines.get()) is not None:
        if isinstance(line, Exception):
            raise line
        room.release()
        yield line


def read_lines(descriptor: int, largest: int) -> Iterator[bytes]:
    """Cut what comes from a descriptor into lines; none is longer than ``largest``.

    Read past Python's own buffer, whose lock would keep the process from ending while a thread
    waits for input.
    """
    begun: list[bytes] = []  # of a line without its end: put together once, when that comes
    size = 0
    while chunk := os.read(descriptor, READ_SIZE):
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join((*begun, whole[0]))
            begun, size = [], 0
        for line in whole:
            yield line.removesuffix(b"\r")
        begun.append(rest)
        size += len(rest)
        if size > largest + 1:
            raise MessageTooLargeError(size, largest)
    if size:
        yield b"".join(begun)
