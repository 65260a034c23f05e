"""Accepting connections by ourselves, so that running out of file descriptors is seen.

The event loops cannot be asked for it. libuv, under uvloop, takes and closes every connection that
waits and tells nobody; asyncio writes a traceback for each. Here the connections wait in the
system's queue until descriptors are free again, whoever listens is told each time, and people read
one sentence.

    listener = Listener(sockets, Connection, on_short=count)
    listener.start()
    ...
    listener.close()
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rumormill.live.transports.names import Answer

log = logging.getLogger("rumormill")

NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""What the system says when it has no descriptor, or no memory for one."""

AT_ONCE: Final = 8
"""Connections that are taken in one turn of the loop: whoever came before is to be read first."""

RETRY: Final = 0.25
"""Seconds after which it is tried again."""

RETRY_FREED: Final = 0.01
"""Seconds, if somebody was just closed for it."""

RECOVERED: Final = 60.0
"""Seconds without a shortage after which the next one is told again."""


def descriptor_limit() -> int:
    """How many descriptors this process may have; a number for systems that do not say."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else int(soft)


class Shortage:
    """Counts how often there was no descriptor, and says so once.

    >>> shortage = Shortage(print, clock=iter([0.0, 1.0, 99.0]).__next__, limit=lambda: 64)
    >>> shortage.happened()
    all 64 file descriptors are in use: new connections wait until some are closed; 'ulimit -n' raises the limit
    >>> shortage.happened()
    >>> shortage.happened()
    all 64 file descriptors are in use: new connections wait until some are closed; 'ulimit -n' raises the limit
    >>> shortage.count
    3
    """  # noqa: E501

    def __init__(
        self,
        say: Callable[[str], None] = log.warning,
        clock: Callable[[], float] = time.monotonic,
        limit: Callable[[], int] = descriptor_limit,
    ) -> None:
        self._say = say
        self._clock = clock
        self._limit = limit
        self._last = float("-inf")
        self.count = 0
        """How often."""

    def happened(self) -> None:
        """There was none."""
        now = self._clock()
        self.count += 1
        if now - self._last > RECOVERED:
            self._say(
                f"all {self._limit()} file descriptors are in use: new connections wait until "
                "some are closed; 'ulimit -n' raises the limit"
            )
        self._last = now


SHORTAGE: Final = Shortage()
"""Of this process: all who listen share its descriptors, and say it once together."""


class Listener:
    """Sockets that listen, and whose connections are taken one by one.

    ``on_short`` is called each time that there is no descriptor for a connection. If it closes
    something it returns True, and the connection is tried again at once.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        factory: Callable[[], asyncio.BaseProtocol],
        on_short: Callable[[], bool],
        shortage: Shortage = SHORTAGE,
    ) -> None:
        self.sockets = tuple(sockets)
        self._factory = factory
        self._on_short = on_short
        self._shortage = shortage
        self._loop = asyncio.get_running_loop()
        self._retries: dict[socket.socket, asyncio.TimerHandle] = {}
        self._taking: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Take what comes, from now on."""
        for sock in self.sockets:
            sock.setblocking(False)
            self._loop.add_reader(sock, self._take, sock)

    def close(self) -> None:
        """Take nothing more; connections that were taken live on."""
        if self._closed:
            return
        self._closed = True
        for timer in self._retries.values():
            timer.cancel()
        for sock in self.sockets:
            self._loop.remove_reader(sock)
            sock.close()

    async def wait_closed(self) -> None:
        """Wait for connections that were just being taken."""
        await asyncio.gather(*self._taking, return_exceptions=True)

    def _take(self, listening: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                accepted, _place = listening.accept()
            except OSError as error:
                if error.errno in NONE_LEFT:
                    self._pause(listening)
                # Anything else is about that connection alone: it is gone, or there is none.
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._hand_over(accepted))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)

    async def _hand_over(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._factory, accepted)
        except OSError:  # it was gone before it began
            accepted.close()

    def _pause(self, listening: socket.socket) -> None:
        """Look again later: the loop would call us without a pause until there is a descriptor."""
        self._shortage.happened()
        self._loop.remove_reader(listening)
        delay = RETRY_FREED if self._on_short() else RETRY
        self._retries[listening] = self._loop.call_later(delay, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        del self._retries[listening]
        self._loop.add_reader(listening, self._take, listening)
        self._take(listening)


def listening_sockets(answers: Iterable[Answer], backlog: int) -> list[socket.socket]:
    """A socket that listens for each of the addresses; all of them or :class:`OSError`."""
    found: list[socket.socket] = []
    try:
        for family, place in answers:
            found.append(socket.create_server(place, family=family, backlog=backlog))
    except BaseException:
        for sock in found:
            sock.close()
        raise
    return found
