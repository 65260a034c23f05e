"""A go-libp2p node as a test peer: ``tests/interop/peers/go``.

Built once for each version of its sources, into the cache outside the tree.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

from tests.helpers.interop.finding_peer import FindingPeer
from tests.helpers.interop.peer_process import Event
from tests.helpers.interop.real_peers import SOURCES, cached, require_tools, run_build

PROGRAM = "rumormill-go-peer"
ECHO = "/rumormill/echo/1.0.0"


class GoPeer(FindingPeer):
    """One running go node. Leaving the context stops it."""

    language = "go"

    @classmethod
    async def start(
        cls,
        program: Path,
        *,
        window: int | None = None,
        topic_discovery: bool = False,
        more: Sequence[str] = (),
        **arguments: Any,
    ) -> Self:
        """Start a node and wait until it is ready.

        ``window`` is yamux's largest, in bytes. With ``topic_discovery`` its router looks for
        peers of its topics by itself, in the DHT.
        """
        words = ["--window", str(window)] if window else []
        words += ["--topic-discovery", "on"] if topic_discovery else []
        return await super().start(program, more=[*words, *more], **arguments)

    async def control_of(self, peer: str) -> Event:
        """What a peer has sent: how many ``grafts`` and so on, ``prunes``, ``extensions``."""
        return await self._command("control", id=peer)

    async def connections(self, peer: str) -> int:
        """How many connections it has with a peer."""
        counts = [len(each["addresses"]) for each in await self.peers() if each["id"] == peer]
        return sum(counts)

    async def close_connection(self, peer: str, which: int = 1) -> int:
        """Close the first, second, ... connection to a peer; returns how many are left."""
        answer = await self._command("close_connection", id=peer, which=which)
        return int(answer["left"])

    async def ping(self, peer: str, count: int = 1) -> list[float]:
        """Ping a connected peer; returns the round trips in milliseconds."""
        answer = await self._command("ping", id=peer, count=count)
        times: list[float] = answer["round_trips_ms"]
        return times

    async def echo(
        self, peer: str, *, streams: int, size: int, chunk: int = 0, timeout: float = 70
    ) -> Event:
        """Send ``size`` bytes on each of ``streams`` streams at once and compare what comes back.

        ``chunk`` bytes are written at a time, 32 KiB unless given.
        """
        fields = {"id": peer, "streams": streams, "bytes": size, "chunk": chunk}
        return await self._command("echo", timeout, **fields)


class SingleThreadGoPeer(GoPeer):
    """The same on one thread: Go spreads its work over all cores otherwise."""

    language = "go-1"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run."""
        return [str(program), "--threads", "1"]


StartGoPeer: TypeAlias = Callable[..., Awaitable[GoPeer]]
"""The fixture ``start_go_peer``: :meth:`GoPeer.start` without the program."""


def built_program() -> Path:
    """The program, compiled; skips or fails the test if there is no way."""
    return built("go")


def built(peer: str, environment: Mapping[str, str] | None = None) -> Path:
    """The program of ``tests/interop/peers/<peer>``, which is in Go, compiled."""
    require_tools(peer, "go")

    def build(folder: Path) -> None:
        package = folder / "package"
        shutil.copytree(SOURCES / peer, package, dirs_exist_ok=True)
        # The package is no checkout of its own, so there is no commit to stamp it with.
        command = ["go", "build", "-buildvcs=false", "-o", str(folder / PROGRAM), "."]
        run_build(peer, command, package, timeout=900, environment=environment)

    sources = sorted(path for path in (SOURCES / peer).iterdir() if path.is_file())
    return cached(peer, sources, build) / PROGRAM
