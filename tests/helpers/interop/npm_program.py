"""Programs on Node: their packages are installed by name into a cache outside the tree, once for
each version of ``package.json``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from tests.helpers.interop.real_peers import SOURCES, cached, missing_peer, require_tools, run_build

OLDEST_NODE = 20


def installed(peer: str) -> Path:
    """The program of ``tests/interop/peers/<peer>`` with its packages beside it.

    Skips or fails the test if there is no way.
    """
    require_tools(peer, "node", "npm")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0] or 0) < OLDEST_NODE:
        found = version or "none"
        missing_peer(f"{peer} peer: Node {OLDEST_NODE} or newer is needed, this is {found}")
    manifest = SOURCES / peer / "package.json"
    return _copy(peer, cached(peer, [manifest], lambda folder: _install(peer, manifest, folder)))


def _install(peer: str, manifest: Path, folder: Path) -> None:
    (folder / "package.json").write_bytes(manifest.read_bytes())
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    # A machine without a network should not wait minutes to learn it.
    options += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    run_build(peer, ["npm", "install", *options, "--loglevel=error"], folder, timeout=240)


def _copy(peer: str, folder: Path) -> Path:
    # Node looks for packages in the folders above the program. The name holds the content's hash:
    # another checkout that shares the cache may have another version of it.
    sources = {path.name: path.read_bytes() for path in sorted((SOURCES / peer).glob("*.mjs"))}
    digest = hashlib.sha256(b"".join(sources.values())).hexdigest()
    program = folder / f"program-{digest[:16]}"
    program.mkdir(exist_ok=True)
    for name, content in sources.items():
        unfinished = program / f"{name}.{os.getpid()}"
        unfinished.write_bytes(content)
        unfinished.replace(program / name)
    return program / "peer.mjs"
