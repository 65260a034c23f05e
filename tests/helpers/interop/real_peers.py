"""Peers of other implementations: where they are kept, and what a missing one means."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tests.helpers.places import TESTS

SOURCES = TESTS / "interop" / "peers"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def peer_cache() -> Path:
    """The folder outside the tree in which built and installed peers are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "rumormill" / "peers"


def missing_peer(reason: str) -> NoReturn:
    """Skip the test by name and with the reason; fail it where all peers are required."""
    if os.environ.get("RUMORMILL_REQUIRE_PEERS") == "1":
        pytest.fail(f"{reason} (RUMORMILL_REQUIRE_PEERS=1)", pytrace=False)
    pytest.skip(reason)


def require_tools(peer: str, *tools: str) -> None:
    """Skip or fail the test if one of the programs that the peer is built with is not there."""
    for tool in tools:
        if shutil.which(tool) is None:
            missing_peer(f"{peer} peer: {tool} is not installed")


def cached(peer: str, sources: Sequence[Path], build: Callable[[Path], None]) -> Path:
    """The folder that ``build`` filled for these versions of the sources, now or earlier."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = peer_cache() / f"{peer}-{digest[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with (folder / "lock").open("w") as lock:
        # Test processes that start together build once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            build(folder)
            done.touch()
    return folder


def run_build(
    peer: str,
    command: Sequence[str],
    folder: Path,
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run one step of a build in the folder; a failure is a missing peer, with the reason."""
    name = " ".join(command[:2])
    try:
        result = subprocess.run(
            # Whatever else the machine is doing comes first.
            ["nice", "-n", "10", *command],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        missing_peer(f"{peer} peer: {name} did not end within {timeout:.0f} s")
    if result.returncode != 0:
        missing_peer(f"{peer} peer: {name} failed: {_reason(result.stderr, result.stdout)}")


def _reason(stderr: str, stdout: str) -> str:
    # Maven complains on stdout, and leaves nothing but colours on stderr.
    said = COLOURS.sub("", stderr).strip() or COLOURS.sub("", stdout)
    # Compilers name the error first and count the errors last; before it come the downloads.
    lines = [line for line in said.splitlines() if line.strip()]
    errors = (at for at, line in enumerate(lines) if "error" in line.lower())
    first = next(errors, max(len(lines) - 4, 0))
    return " ".join(lines[first : first + 4]) or "it did not say why"
