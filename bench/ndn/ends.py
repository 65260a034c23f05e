"""Publishers and subscribers, ours and the original's, behind one set of words."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from bench.siege.processes import Program, SiegeError
from rumormill.ndn.live.key_file import create_key
from tests.helpers.interop.ndn_python import PythonProgram
from tests.helpers.interop.peer_process import PeerProcessError

STARTING = 30.0
"""Seconds that a program may take until it is ready."""
PATIENCE = 240.0
"""Seconds for one measurement."""

CONTESTANTS = ("original", "ours")
SIGNERS = ("digest", "ecdsa")


class End(Protocol):
    """A publisher or a subscriber."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        ...

    async def receive(self, topic: str) -> None:
        """Subscribe."""
        ...

    async def publish(self, topic: str, count: int, size: int, window: int) -> dict[str, Any]:
        """Publish; returns ``seconds``, ``times_ms`` and ``outcomes``: how many were confirmed."""
        ...

    async def numbers(self) -> list[int]:
        """The first eight bytes of what came since the last time, as a number."""
        ...


class OurEnd:
    """See :mod:`bench.ndn.our_pubsub`."""

    def __init__(self, program: Program, addresses: Sequence[str]) -> None:
        self._program = program
        self.addresses = addresses

    @property
    def pid(self) -> int:
        """See :class:`End`."""
        return self._program.pid

    async def _tell(self, do: str, **fields: Any) -> dict[str, Any]:
        await self._program.say(do=do, **fields)
        return await self._program.expect(do, PATIENCE)

    async def receive(self, topic: str) -> None:
        """See :class:`End`."""
        await self._tell("receive", topic=topic)

    async def publish(self, topic: str, count: int, size: int, window: int) -> dict[str, Any]:
        """See :class:`End`."""
        return await self._tell("publish", topic=topic, count=count, size=size, window=window)

    async def numbers(self) -> list[int]:
        """See :class:`End`."""
        found: list[int] = (await self._tell("report"))["numbers"]
        return found


class OriginalEnd:
    """The PubSub of ndn-python-repo, in an environment of its own."""

    def __init__(self, program: PythonProgram) -> None:
        self._program = program

    @property
    def pid(self) -> int:
        """See :class:`End`."""
        return self._program.process_id

    async def receive(self, topic: str) -> None:
        """See :class:`End`."""
        await self._program.tell("bench_receive", topic=topic)

    async def publish(self, topic: str, count: int, size: int, window: int) -> dict[str, Any]:
        """See :class:`End`."""
        fields = {"topic": topic, "count": count, "size": size, "window": window}
        return await self._program.tell("bench_publish", PATIENCE, **fields)

    async def numbers(self) -> list[int]:
        """See :class:`End`."""
        raise NotImplementedError


def words_of(error: PeerProcessError | SiegeError) -> str:
    """What went wrong, in one line."""
    return str(error).splitlines()[0]


async def start_pair(
    stack: contextlib.AsyncExitStack, contestant: str, signer: str, forwarder: str, folder: Path
) -> tuple[End, End]:
    """A publisher and a subscriber on a forwarder, which know each other's keys."""
    if contestant == "original":
        return (
            await start_original(stack, "/bench/publisher", signer, forwarder),
            await start_original(stack, "/bench/subscriber", signer, forwarder),
        )
    options = options_of(signer, folder)
    there = ["--forwarder", forwarder]
    return (
        await start_ours(stack, "/bench/publisher", *there, *options["publisher"]),
        await start_ours(stack, "/bench/subscriber", *there, *options["subscriber"]),
    )


async def start_inside(
    stack: contextlib.AsyncExitStack, signer: str, folder: Path
) -> tuple[End, End]:
    """A publisher of ours, and a subscriber that is its forwarder, too."""
    options = options_of(signer, folder)
    here = ["--listen", "tcp://127.0.0.1:0"]
    subscriber = await start_ours(stack, "/bench/subscriber", *here, *options["subscriber"])
    there = ["--forwarder", subscriber.addresses[0]]
    publisher = await start_ours(stack, "/bench/publisher", *there, *options["publisher"])
    return publisher, subscriber


async def start_original(
    stack: contextlib.AsyncExitStack, prefix: str, signer: str, forwarder: str
) -> OriginalEnd:
    """One program of the original's."""
    program = await PythonProgram.start(forwarder, prefix, signer=signer)
    return OriginalEnd(await stack.enter_async_context(program))


async def start_ours(stack: contextlib.AsyncExitStack, prefix: str, *options: str) -> OurEnd:
    """One program of ours."""
    program = Program.module(f"ours at {prefix}", "bench.ndn.our_pubsub", prefix, *options)
    await stack.enter_async_context(program)
    ready = await program.expect("ready", STARTING)
    return OurEnd(program, ready["addresses"])


def options_of(signer: str, folder: Path) -> dict[str, list[str]]:
    """Options by which each end has its own key, of this kind, and trusts the other's."""
    roles = ("publisher", "subscriber")
    if signer == "digest":
        return {role: [] for role in roles}
    for role in roles:
        file = folder / f"{role}.json"
        if not file.exists():
            create_key(file, f"/bench/{role}", signer)
    return {
        role: ["--key-file", f"{folder / role}.json", "--trust", f"{folder / other}.pub"]
        for role, other in zip(roles, reversed(roles), strict=True)
    }


async def until_delivered(publisher: End, topic: str, size: int) -> None:
    """Publish until something arrives: then all routes stand."""
    async with asyncio.timeout(STARTING):
        while confirmed(await publisher.publish(topic, 1, size, 1)) < 1:
            await asyncio.sleep(0.1)


def confirmed(done: dict[str, Any]) -> int:
    """How many of the messages the publisher knows to have arrived."""
    if "delivered" in done:
        return int(done["delivered"])
    return int(done["outcomes"].count("delivered"))
