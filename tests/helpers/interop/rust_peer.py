"""A rust-libp2p node as a test peer: ``tests/interop/peers/rust``.

Built once for each version of its sources, into the cache outside the tree. The crates are
compiled once for each version of ``Cargo.toml``: some minutes on a small machine.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

from tests.helpers.interop.finding_peer import LONGEST_SEARCH, FindingPeer
from tests.helpers.interop.parts import PartsPeer
from tests.helpers.interop.peer_process import Event
from tests.helpers.interop.real_peers import SOURCES, cached, require_tools, run_build

PROGRAM = "rumormill-rust-peer"
# On one core, with other things to do.
LONGEST_BUILD = 1500


class RustPeer(FindingPeer, PartsPeer):
    """One running rust node. Leaving the context stops it."""

    language = "rust"

    @classmethod
    async def start(
        cls,
        program: Path,
        *,
        rendezvous: str | None = None,
        more: Sequence[str] = (),
        **arguments: Any,
    ) -> Self:
        """Start a node and wait until it is ready; ``rendezvous`` is ``client`` or ``server``."""
        words = ["--rendezvous", rendezvous] if rendezvous else []
        return await super().start(program, more=[*words, *more], **arguments)

    async def subscribe_hashed(self, name: str) -> str:
        """Subscribe by its ``Sha256Topic``; returns the topic's id."""
        answer = await self._command("subscribe_hashed", name=name)
        return str(answer["topic"])

    # ---- rendezvous

    async def register(self, point: str, namespace: str, *, ttl: int | None = None) -> int:
        """Register with a meeting point that it is connected to; returns the seconds it holds."""
        fields = {"id": point, "namespace": namespace} | ({} if ttl is None else {"ttl": ttl})
        answer = await self._command("register", LONGEST_SEARCH, **fields)
        return int(answer["ttl"])

    async def unregister(self, point: str, namespace: str) -> None:
        """Take the registration back; the meeting point does not answer."""
        await self._command("unregister", id=point, namespace=namespace)

    async def discover(
        self, point: str, namespace: str | None = None, *, limit: int | None = None
    ) -> list[Event]:
        """Who is registered, in all namespaces if none is named.

        Each has ``id``, ``addresses``, ``namespace`` and ``ttl``.
        """
        fields: Event = {"id": point}
        fields |= {} if namespace is None else {"namespace": namespace}
        fields |= {} if limit is None else {"limit": limit}
        answer = await self._command("discover", LONGEST_SEARCH, **fields)
        registrations: list[Event] = answer["registrations"]
        return registrations


StartRustPeer: TypeAlias = Callable[..., Awaitable[RustPeer]]
"""The fixture ``start_rust_peer``: :meth:`RustPeer.start` without the program."""


def built_program() -> Path:
    """The program, compiled; skips or fails the test if there is no way."""
    require_tools("rust", "cargo")
    folder = SOURCES / "rust"
    sources = [folder / "Cargo.toml", *sorted((folder / "src").glob("*.rs"))]
    return cached("rust", sources, _cargo_build) / PROGRAM


def _cargo_build(folder: Path) -> None:
    # The crates stay where the next version of the program finds them compiled.
    shared = cached("rust-crates", [SOURCES / "rust" / "Cargo.toml"], lambda _: None)
    package = folder / "package"
    shutil.copytree(SOURCES / "rust", package, dirs_exist_ok=True)
    with (shared / "building").open("w") as lock:
        # Two versions that are built at once would end up under one name.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build_with(shared, package)
        shutil.copy(shared / "target" / "release" / PROGRAM, folder)


def _build_with(shared: Path, package: Path) -> None:
    # Versions of crates that Cargo.toml does not name were chosen by the first build.
    chosen = shared / "Cargo.lock"
    if chosen.exists():
        shutil.copy(chosen, package)
    # cargo takes sources that are older than its last build for built, wherever they stand, and
    # the last build may have been that of another version.
    for source in (package / "src").iterdir():
        source.touch()
    command = ["cargo", "build", "--release", "--quiet"]
    environment = {"CARGO_TARGET_DIR": str(shared / "target")}
    run_build("rust", command, package, timeout=LONGEST_BUILD, environment=environment)
    shutil.copy(package / "Cargo.lock", chosen)
