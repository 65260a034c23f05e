"""Forwarders of NDN in processes of their own: ndnd, that of NDNts, and ours.

    async with await start_forwarder("ndnd", folder) as forwarder:
        forwarder.tcp, forwarder.unix

Each can be stopped and started again at the same addresses.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Self

from tests.helpers.interop import go_peer, npm_program
from tests.helpers.interop.our_process import OurProcess
from tests.helpers.interop.peer_process import PeerProcess
from tests.helpers.ports import HOST, own_port

FORWARDERS = ("ours", "ndnd", "NDNts")


class Places(NamedTuple):
    """Where a forwarder listens."""

    tcp_port: int
    path: Path

    @property
    def tcp(self) -> str:
        """Its address by TCP."""
        return f"tcp://{HOST}:{self.tcp_port}"

    @property
    def udp(self) -> str:
        """Its address by UDP."""
        return f"udp://{HOST}:{self.tcp_port}"

    @property
    def unix(self) -> str:
        """Its address by a Unix socket."""
        return f"unix://{self.path}"


def new_places(folder: Path) -> Places:
    """Addresses that nobody else has."""
    port = own_port()
    return Places(port, folder / f"{port}.sock")


class GoForwarder(PeerProcess):
    """One running forwarder of ndnd."""

    language = "ndnd"


class JsForwarder(PeerProcess):
    """One running forwarder of NDNts."""

    language = "NDNts"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run."""
        return ["node", str(program)]


class OurForwarder(OurProcess):
    """One running ``rumormill node`` of ours."""

    language = "rumormill node"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the interpreter."""
        return [str(program), "-m", "rumormill.cli", "node", "--network", "ndn", "--json"]


class RunningForwarder:
    """A forwarder at its addresses, through several lives."""

    def __init__(self, kind: str, places: Places) -> None:
        self.kind = kind
        self.tcp, self.udp, self.unix = places.tcp, places.udp, places.unix
        self._places = places
        self._process: PeerProcess | None = None

    @property
    def process_id(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.process_id

    async def start(self) -> Self:
        """Begin, or begin again."""
        self._process = await STARTERS[self.kind](self._places)
        return self

    async def stop(self) -> None:
        """End; its addresses are free."""
        if self._process is not None:
            await self._process.stop()
        self._process = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()


async def start_forwarder(kind: str, folder: Path) -> RunningForwarder:
    """Start one of :data:`FORWARDERS`; its Unix socket is in the folder."""
    return await RunningForwarder(kind, new_places(folder)).start()


async def _start_go(places: Places) -> PeerProcess:
    port = str(places.tcp_port)
    arguments = ["--tcp", port, "--udp", port, "--unix", str(places.path)]
    return await GoForwarder.launch(go_peer.built("ndn-forwarder-go"), arguments)


async def _start_js(places: Places) -> PeerProcess:
    arguments = ["--tcp", str(places.tcp_port), "--unix", str(places.path)]
    return await JsForwarder.launch(npm_program.installed("ndn-forwarder-js"), arguments)


async def _start_ours(places: Places) -> PeerProcess:
    addresses = [places.tcp, places.udp, places.unix]
    arguments = [word for address in addresses for word in ("--listen", address)]
    return await OurForwarder.launch(Path(sys.executable), arguments)


STARTERS: dict[str, Callable[[Places], Awaitable[PeerProcess]]] = {
    "ours": _start_ours,
    "ndnd": _start_go,
    "NDNts": _start_js,
}
