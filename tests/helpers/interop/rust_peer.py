"""A rust-libp2p node as a test peer: ``tests/interop/peers/rust``.

Built once for each version of its sources, into the cache outside the tree. The crates are
compiled once for each version of ``Cargo.toml``: some minutes on a small machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from tests.helpers.interop.parts import PartsPeer
from tests.helpers.interop.real_peers import SOURCES, cached, require_tools, run_build

PROGRAM = "rumormill-rust-peer"
# On one core, with other things to do.
LONGEST_BUILD = 1500


class RustPeer(PartsPeer):
    """One running rust node. Leaving the context stops it."""

    language = "rust"


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
    # Versions of crates that Cargo.toml does not name were chosen by the first build.
    chosen = shared / "Cargo.lock"
    if chosen.exists():
        shutil.copy(chosen, package)
    command = ["cargo", "build", "--release", "--quiet"]
    environment = {"CARGO_TARGET_DIR": str(shared / "target")}
    run_build("rust", command, package, timeout=LONGEST_BUILD, environment=environment)
    shutil.copy(package / "Cargo.lock", chosen)
    shutil.copy(shared / "target" / "release" / PROGRAM, folder)
