"""What a node knows, kept in a file over a restart: its id, its neighbours, the newest values.

The file is replaced as a whole, now and then and at the end. A disk that fails costs the state, not
the node: that is traced, and tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import random
from collections.abc import Callable, Iterable
from pathlib import Path

from rumormill.bep50.overlay.saved.saved_state import saved_id
from rumormill.bep50.wire.addresses import ID_SIZE, parse_address
from rumormill.bep50.wire.node_ids import make_id
from rumormill.core.errors import ConfigError
from rumormill.live.files.private import read_private, replace_whole
from rumormill.system.private_files import UnsafeFileError

LARGEST_STATE = 256 * 1024 * 1024

log = logging.getLogger("rumormill")


def read_state(path: Path | None) -> bytes | None:
    """What was kept; None if there is no such file yet."""
    if path is None:
        return None
    try:
        raw = read_private(path, "state_file", LARGEST_STATE, secret=False)
    except FileNotFoundError:
        return None
    if len(raw) > LARGEST_STATE:
        raise not_a_state(path)
    return raw


def not_a_state(path: Path) -> ConfigError:
    """The error for a file that holds something else, and that we must not overwrite."""
    return ConfigError("state_file", f"{path} is not the state of a bep50 node")


def own_node_id(state: bytes | None, path: Path | None, listen: Iterable[str]) -> bytes:
    """Our node id: the one we had, or a new one that fits the address we listen on (BEP 42)."""
    if state is not None and path is not None:
        known = saved_id(state)
        if known is None:
            raise not_a_state(path)
        return known
    entropy = random.SystemRandom()
    for address in listen:
        with contextlib.suppress(ValueError):
            host = ipaddress.ip_address(parse_address(address)[0])
            if host.is_global:
                return make_id(str(host), entropy)
    return entropy.randbytes(ID_SIZE)


class StateFile:
    """Writes what ``state`` gives whenever it has changed."""

    def __init__(
        self,
        path: Path,
        interval: float,
        state: Callable[[], bytes],
        failed: Callable[[str], None],
    ) -> None:
        self._path = path
        self._interval = interval
        self._state = state
        self._failed = failed
        self._written: bytes | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._warned = False

    async def start(self) -> None:
        """Write for the first time; :class:`ConfigError` if that cannot be done."""
        state = self._state()
        try:
            await asyncio.to_thread(replace_whole, self._path, state)
        except UnsafeFileError as error:
            raise ConfigError("state_file", str(error)) from None
        except OSError as error:
            problem = f"cannot write {self._path}: {error.strerror}"
            raise ConfigError("state_file", problem) from None
        self._written = state
        self._task = asyncio.create_task(self._again_and_again())

    async def _again_and_again(self) -> None:
        while not self._ending.is_set():
            await self.save(self._state())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._ending.wait()

    async def save(self, state: bytes) -> None:
        """Write, unless nothing has changed."""
        if state == self._written:
            return
        try:
            await asyncio.to_thread(replace_whole, self._path, state)
        except OSError as error:
            self._failed(error.strerror or "os_error")
            if not self._warned:
                self._warned = True
                log.warning("the state cannot be written to %s: %s", self._path, error.strerror)
        else:
            self._written = state

    async def close(self, state: bytes) -> None:
        """Write for the last time."""
        if self._task is None:
            return  # it was never written, so whatever is there is not ours
        self._ending.set()  # not cancelled: what is being written must not come after the last
        await self._task
        await self.save(state)
