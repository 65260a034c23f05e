"""``rumormill.open``: where everything begins.

import rumormill

async def main():
    async with rumormill.open(NETWORK, listen=ADDRESS) as network:
        print(network.addresses)

rumormill.run(main())
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from rumormill.core.errors import LocalProtocolError
from rumormill.live.collector import freeze_loaded
from rumormill.live.configuration.settings import read_settings
from rumormill.live.family import Settings
from rumormill.live.family.families import family_of
from rumormill.live.network import Network

NetworkType = TypeVar("NetworkType", bound=Network, covariant=True)


class Opening(Generic[NetworkType]):
    """A network that is about to be opened: ``async with`` it, or await it and close it later."""

    def __init__(self, build: Callable[[], NetworkType], spool: Path | None = None) -> None:
        self._build = build
        self._spool = spool
        self._network: NetworkType | None = None

    def __await__(self) -> Generator[Any, None, NetworkType]:
        return self._open().__await__()

    async def _open(self) -> NetworkType:
        if self._network is not None:
            raise LocalProtocolError("this network was opened before; call rumormill.open again")
        self._network = self._build()
        if self._spool is not None:
            await self._capture(self._network, self._spool)
        return await self._network.start()

    async def _capture(self, network: Network, folder: Path) -> None:
        """Keep what happens, from the first event to the last."""
        from rumormill.capture.tap import attach, open_spool

        async with AsyncExitStack() as stack:
            attach(network, await stack.enter_async_context(open_spool(folder)))
            network.at_close(stack.pop_all().aclose)

    async def __aenter__(self) -> NetworkType:
        return await self._open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._network is not None:
            await self._network.close()


def open(
    network: str,
    *,
    listen: str | Sequence[str] | None = None,
    bootstrap: str | Sequence[str] = (),
    key_file: str | Path | None = None,
    spool: str | Path | None = None,
    **settings: Any,
) -> Opening[Network]:
    """Open a network, by the name that its family gives it.

    ``listen`` is where others can reach us; without it, nobody is told of us. ``bootstrap`` are
    addresses to call at once, in the background, and again whenever they are lost. ``key_file``
    keeps our key: who we are, or what signs what we publish, as the family has it. ``spool`` is a
    folder in which all delivered messages and trace events are kept. Everything else is a key of
    the network's settings (:func:`rumormill.known_keys` lists them).

    Nothing happens before the result is awaited or entered, except that wrong settings raise
    :class:`ConfigError` here.
    """
    own = {"listen": listen, "bootstrap": bootstrap, "key_file": key_file, "spool": spool}
    checked = read_settings(network, {**settings, **own})
    return Opening(lambda: _make(network, checked), checked.live.spool)


def _make(network: str, settings: Settings) -> Network:
    loaded = len(sys.modules)
    made = family_of(network).make(network, settings)
    if len(sys.modules) != loaded:
        freeze_loaded()
    return made
