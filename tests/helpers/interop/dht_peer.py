"""A bittorrent-dht node as a test peer: ``tests/interop/peers/dht/peer.mjs``."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

from tests.helpers.interop import npm_program
from tests.helpers.interop.peer_process import Event, PeerProcess


class StoredValue(NamedTuple):
    """What a node of the main DHT found: the number and the bencoded value."""

    seq: int
    value: bytes


class DhtPeer(PeerProcess):
    """One running bittorrent-dht node. Leaving the context stops it."""

    language = "bittorrent-dht"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run."""
        return ["node", str(program)]

    @classmethod
    async def start(
        cls, program: Path, *, listen: str = "127.0.0.1:0", nodes: Sequence[str] = ()
    ) -> Self:
        """Start a node that knows ``nodes`` and no others, and wait until it is ready."""
        return await cls.launch(program, [], listen=listen, dial=nodes)

    async def get(self, target: bytes, salt: bytes = b"") -> StoredValue | None:
        """The newest value that it finds, its signature checked."""
        answer = await self._command("get", target=target.hex(), salt_base64=_text(salt))
        if answer["value_base64"] is None:
            return None
        return StoredValue(answer["seq"], base64.b64decode(answer["value_base64"]))

    async def put(
        self, seed: bytes, seq: int, value: bytes, salt: bytes = b"", cas: int | None = None
    ) -> int:
        """Sign and put a bencoded value; returns how many nodes took it."""
        fields: Event = {"seed": seed.hex(), "seq": seq, "value_base64": _text(value)}
        fields |= {"salt_base64": _text(salt)} | ({} if cas is None else {"cas": cas})
        answer = await self._command("put", **fields)
        return int(answer["stored"])

    async def announce(self, target: bytes, port: int) -> None:
        """Say that it takes part in something, at this port."""
        await self._command("announce", target=target.hex(), port=port)

    async def lookup(self, target: bytes) -> list[str]:
        """Who takes part, as announced."""
        answer = await self._command("lookup", target=target.hex())
        found: list[str] = answer["peers"]
        return found


StartDhtPeer: TypeAlias = Callable[..., Awaitable[DhtPeer]]
"""The fixture ``start_dht_peer``: :meth:`DhtPeer.start` without the program."""


def installed_program() -> Path:
    """The program with its packages beside it; skips or fails the test if there is no way."""
    return npm_program.installed("dht")


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
