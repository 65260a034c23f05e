"""A py-libp2p node as a test peer: ``tests/interop/peers/python``.

Its packages are installed into an environment of its own in the cache outside the tree, once for
each version of ``requirements.txt``.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from tests.helpers.interop.peer_process import RouterPeer
from tests.helpers.interop.real_peers import SOURCES, cached, run_build


class PyPeer(RouterPeer):
    """One running py node. Leaving the context stops it."""

    language = "py"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the interpreter of the environment."""
        return [str(program), str(SOURCES / "python" / "peer.py")]


StartPyPeer: TypeAlias = Callable[..., Awaitable[PyPeer]]
"""The fixture ``start_py_peer``: :meth:`PyPeer.start` without the program."""


def installed_program() -> Path:
    """The interpreter with py-libp2p; skips or fails the test if there is no way."""
    return pip_installed(f"py{sys.version_info.major}.{sys.version_info.minor}", "python")


def pip_installed(name: str, peer: str) -> Path:
    """The interpreter of an environment with the requirements of ``tests/interop/peers/<peer>``."""
    requirements = SOURCES / peer / "requirements.txt"
    folder = cached(name, [requirements], lambda folder: _pip_install(requirements, folder))
    return folder / "environment" / "bin" / "python"


def _pip_install(requirements: Path, folder: Path) -> None:
    run_build("py", [sys.executable, "-m", "venv", "environment"], folder, timeout=120)
    options = ["--quiet", "--disable-pip-version-check", "--requirement", str(requirements)]
    command = [str(folder / "environment" / "bin" / "python"), "-m", "pip", "install", *options]
    run_build("py", command, folder, timeout=600)
