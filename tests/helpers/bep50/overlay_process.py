"""A node of ours on a topic's overlay in a process of its own: the command ``rumormill sub``."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self, TypeAlias

from tests.helpers.interop.our_process import OurProcess
from tests.helpers.interop.peer_process import Event


class OverlayProcess(OurProcess):
    """One running ``rumormill sub``. Leaving the context stops it."""

    language = "rumormill sub"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the interpreter."""
        return [str(program), "-m", "rumormill.cli", "sub", "--network", "bep50", "--json"]

    @classmethod
    async def start(cls, topic: str, *, host: str, main_dht_nodes: Sequence[str]) -> Self:
        """Subscribe to the topic, knowing the main DHT and no member."""
        nodes = f"main_dht_nodes={','.join(main_dht_nodes)}"
        arguments = [topic, "--set", "main_dht=true", "--set", nodes]
        return await cls.launch(Path(sys.executable), arguments, listen=f"{host}:0", dial=())

    async def message(self, seq: int, *, timeout: float = 30) -> Event:
        """Wait for the message with this number; those before may be missing."""
        return await self.expect("message", seq=seq, timeout=timeout)


StartOverlayProcess: TypeAlias = Callable[..., Awaitable[OverlayProcess]]
"""The fixture ``start_overlay_process``: :meth:`OverlayProcess.start`."""
