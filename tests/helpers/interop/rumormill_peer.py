"""A node of our own as a test peer: ``tests/interop/peers/rumormill``.

It speaks the language of the other peers, so that a mixed mesh or a benchmark need not tell them
apart. ``RumormillPeer`` has PyNaCl for its signatures, ``NativeRumormillPeer`` rumormill-native.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, TypeAlias

from tests.helpers.interop.peer_process import RouterPeer
from tests.helpers.interop.real_peers import SOURCES, missing_peer


class RumormillPeer(RouterPeer):
    """One running node of ours. Leaving the context stops it."""

    language = "rumormill"
    native: ClassVar[bool] = False

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the interpreter."""
        peer = SOURCES / "rumormill" / "peer.py"
        return [str(program), str(peer), "--native", str(int(cls.native))]

    async def profile(self, file: Path) -> None:
        """Profile the next stretch that it measures: a session of pyinstrument in ``file``."""
        await self._command("profile", file=str(file))


class NativeRumormillPeer(RumormillPeer):
    """The same with the extension in ``native/``."""

    language = "rumormill-native"
    native = True


StartRumormillPeer: TypeAlias = Callable[..., Awaitable[RumormillPeer]]
""":meth:`RumormillPeer.start` without the program."""


def installed_program() -> Path:
    """The interpreter that runs our own peers: this one."""
    return Path(sys.executable)


def installed_native_program() -> Path:
    """The same, if rumormill-native is there; skips or fails the test if it is not."""
    if importlib.util.find_spec("rumormill_native") is None:
        missing_peer("rumormill-native is not installed: make native")
    return installed_program()
