"""A js-libp2p node as a test peer: ``tests/interop/peers/js/peer.mjs``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from tests.helpers.interop import npm_program
from tests.helpers.interop.finding_peer import FindingPeer
from tests.helpers.interop.peer_process import Event, PeerProcessError, numbered_payloads

__all__ = [
    "Event",
    "JsPeer",
    "JsPeerError",
    "StartJsPeer",
    "installed_program",
    "numbered_payloads",
]

JsPeerError = PeerProcessError


class JsPeer(FindingPeer):
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
    return npm_program.installed("js")
