"""A js-libp2p node as a test peer: ``tests/interop/peers/js/peer.mjs``.

The Node packages are installed by name into a cache outside the tree, once for each version of
``package.json``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from peer_process import Event, PeerProcessError, RouterPeer, numbered_payloads
from real_peers import SOURCES, cached, missing_peer, require_tools, run_build

__all__ = [
    "Event",
    "JsPeer",
    "JsPeerError",
    "StartJsPeer",
    "installed_program",
    "numbered_payloads",
]

OLDEST_NODE = 20

JsPeerError = PeerProcessError


class JsPeer(RouterPeer):
    """One running js node. Leaving the context stops it."""

    language = "js"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run."""
        return ["node", str(program)]


StartJsPeer: TypeAlias = Callable[..., Awaitable[JsPeer]]
"""The fixture ``start_js_peer``: :meth:`JsPeer.start` without the program."""


def installed_program() -> Path:
    """The js program with its packages beside it; skips or fails the test if there is no way."""
    require_tools("js", "node", "npm")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0] or 0) < OLDEST_NODE:
        missing_peer(f"js peer: Node {OLDEST_NODE} or newer is needed, this is {version or 'none'}")
    return _copy_program(cached("js", [SOURCES / "js" / "package.json"], _npm_install))


def _npm_install(folder: Path) -> None:
    (folder / "package.json").write_bytes((SOURCES / "js" / "package.json").read_bytes())
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    # A machine without a network should not wait minutes to learn it.
    options += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    run_build("js", ["npm", "install", *options, "--loglevel=error"], folder, timeout=240)


def _copy_program(folder: Path) -> Path:
    # Node looks for packages in the folders above the program. The name holds the content's hash:
    # another checkout that shares the cache may have another version of it.
    sources = {path.name: path.read_bytes() for path in sorted((SOURCES / "js").glob("*.mjs"))}
    digest = hashlib.sha256(b"".join(sources.values())).hexdigest()
    program = folder / f"program-{digest[:16]}"
    program.mkdir(exist_ok=True)
    for name, content in sources.items():
        unfinished = program / f"{name}.{os.getpid()}"
        unfinished.write_bytes(content)
        unfinished.replace(program / name)
    return program / "peer.mjs"
