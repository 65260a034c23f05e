"""Who waits for a dial, by address: the machine dials once, however many asked."""

from __future__ import annotations

import asyncio

from rumormill.core.errors import ConnectError
from rumormill.core.transport import Dial, DialEnded
from rumormill.live.driver import Driver


class Dials:
    """The dials of one network that somebody waits for."""

    def __init__(self, driver: Driver[Dial]) -> None:
        self._driver = driver
        self._waiting: dict[str, list[asyncio.Future[str]]] = {}
        driver.on(DialEnded, self._ended)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def dial(self, address: str, keep: bool = False) -> str:
        """Have the machine dial ``address``, as it will name it in its answer; return who is there.

        Raises :class:`ConnectError` with the machine's own words.
        """
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, []).append(ended)
        self._driver.feed(Dial(address, keep))
        return await ended

    def close(self) -> None:
        """Nobody will hear of a dial any more."""
        for address in list(self._waiting):
            for ended in self._waiting.pop(address):
                ended.cancel()

    def _ended(self, effect: DialEnded) -> None:
        for ended in self._waiting.pop(effect.address, ()):
            if ended.done():
                continue  # whoever asked was cancelled
            if effect.peer is not None:
                ended.set_result(effect.peer)
            else:
                ended.set_exception(ConnectError(effect.problem))
