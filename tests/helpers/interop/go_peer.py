"""A go-libp2p node as a test peer: ``tests/interop/peers/go``. It has no router.

Built once for each version of its sources, into the cache outside the tree.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self, TypeAlias

from tests.helpers.interop.peer_process import Event, PeerProcess
from tests.helpers.interop.real_peers import SOURCES, cached, require_tools, run_build

PROGRAM = "rumormill-go-peer"
ECHO = "/rumormill/echo/1.0.0"


class GoPeer(PeerProcess):
    """One running go node. Leaving the context stops it."""

    language = "go"

    @classmethod
    async def start(
        cls,
        program: Path,
        *,
        listen: str = "/ip4/127.0.0.1/tcp/0",
        dial: Sequence[str] = (),
        window: int | None = None,
    ) -> Self:
        """Start a node and wait until it is ready; ``window`` is yamux's largest, in bytes."""
        arguments = ["--window", str(window)] if window else []
        return await cls.launch(program, arguments, listen=listen, dial=dial)

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


StartGoPeer: TypeAlias = Callable[..., Awaitable[GoPeer]]
"""The fixture ``start_go_peer``: :meth:`GoPeer.start` without the program."""


def built_program() -> Path:
    """The program, compiled; skips or fails the test if there is no way."""
    require_tools("go", "go")
    sources = sorted(path for path in (SOURCES / "go").iterdir() if path.is_file())
    return cached("go", sources, _go_build) / PROGRAM


def _go_build(folder: Path) -> None:
    package = folder / "package"
    shutil.copytree(SOURCES / "go", package, dirs_exist_ok=True)
    # The package is no checkout of its own, so there is no commit to stamp it with.
    command = ["go", "build", "-buildvcs=false", "-o", str(folder / PROGRAM), "."]
    run_build("go", command, package, timeout=900)
