"""Unix sockets beside TCP, for a machine that speaks in connections: ``unix:///PATH``.

One object serves both: what an address looks like says which it is, and the machine sees no other
difference. Who connects to a Unix socket has no address of its own, so it is called by ours and a
number: ``unix:///run/node.sock#3``.

A path that is in use stays with its owner. A socket that nobody answers at was left behind by a
process that was killed, and is replaced; what is no socket is left alone. At the end the file is
removed, if it is still ours. **Who may write to it may connect**: its mode is what the umask
leaves, so with the usual one (022) that is its owner alone, and with 002 the owner's group.

    streams = Streams(driver.feed, addresses)
    streams.attach(driver)
    listening = await streams.listen(["127.0.0.1:0", "unix:///run/node.sock"])
    ...
    await streams.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rumormill.core.addresses import Addresses
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.transport import TransportInput
from rumormill.live.transports.tcp import BACKLOG, Tcp
from rumormill.live.transports.tcp_connection import Connection
from rumormill.live.transports.words import words_for

SCHEME: Final = "unix://"

LONGEST_PATH: Final = 107 if sys.platform == "linux" else 103
"""Bytes of a path: the system has a field of one more for it."""

REFUSED: Final = frozenset((errno.ECONNREFUSED, errno.ENOENT))
"""What connecting to a socket says that nobody listens at any more."""


def unix_path(text: str) -> str | None:
    """The path of a Unix socket's address; None if it is an address of another kind.

    Raises :class:`LocalProtocolError` for one that cannot be used.

    >>> unix_path("unix:///run/node.sock")
    '/run/node.sock'
    >>> unix_path("127.0.0.1:4001")
    """
    if not text.startswith("unix:"):
        return None
    path = text.removeprefix(SCHEME)
    if not text.startswith(SCHEME) or not path.startswith("/") or path.endswith("/"):
        raise LocalProtocolError(
            f"cannot use the address {text[:200]!r}: it must be unix:///PATH, with a whole path"
        )
    if "\0" in path:
        raise LocalProtocolError(f"cannot use the address {text[:200]!r}: no path has a NUL in it")
    size = len(os.fsencode(path))
    if size > LONGEST_PATH:
        raise LocalProtocolError(
            f"cannot use the address {text[:200]!r}: its path has {size} bytes, the system allows "
            f"{LONGEST_PATH}"
        )
    return path


class _Own(NamedTuple):
    """A file of ours, told from others that came to have its name."""

    path: str
    device: int
    number: int

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino) == (self.device, self.number):
                os.unlink(self.path)


class Streams(Tcp):
    """All connections of one node, by TCP and by Unix sockets."""

    def __init__(
        self,
        feed: Callable[[TransportInput], None],
        addresses: Addresses,
        *,
        close_timeout: float = 5.0,
        on_short: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(feed, addresses, close_timeout=close_timeout, on_short=on_short)
        self._files: list[_Own] = []

    async def listen(self, addresses: Sequence[str], service: str = "") -> tuple[str, ...]:
        """Listen on each address; returns what others can dial, with the real ports.

        Raises :class:`ConfigError` about the key ``listen``.
        """
        found: dict[str, None] = {}
        for text in addresses:
            try:
                path = unix_path(text)
            except LocalProtocolError as error:
                raise ConfigError("listen", str(error)) from None
            if path is None:
                found |= dict.fromkeys(await super().listen([text], service))
            else:
                self._listen_unix(text, path, service)
                found[text] = None
        return tuple(found)

    def _listen_unix(self, text: str, path: str, service: str) -> None:
        try:
            sock = listening_socket(path)
        except OSError as error:
            problem = _problem(error, path)
            raise ConfigError("listen", f"cannot listen on {text}: {problem}") from None
        status = os.lstat(path)
        self._files.append(_Own(path, status.st_dev, status.st_ino))
        numbers = itertools.count(1)
        self._accept([sock], lambda: Connection(self, None, service, f"{text}#{next(numbers)}"))

    async def _connect(self, dial: int, text: str) -> None:
        path = unix_path(text)
        if path is None:
            await super()._connect(dial, text)
            return
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: Connection(self, dial, address=text), path)

    async def close(self, timeout: float | None = None) -> None:
        """See :meth:`Tcp.close`; files of sockets are removed."""
        files, self._files = self._files, []
        for file in files:
            file.remove()
        await super().close(timeout)


def listening_socket(path: str) -> socket.socket:
    """A socket that listens at a path; one that was left behind there is replaced.

    Raises :class:`OSError`, with EADDRINUSE if somebody answers there, and with ENOTSOCK if there
    is something else.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        _make_way(path)
        sock.bind(path)
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def _make_way(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.ENOTSOCK, "not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        problem = probe.connect_ex(path)
    if problem not in REFUSED:
        # Also where it could not be found out: what may be somebody's is left alone.
        raise OSError(problem if problem == errno.EACCES else errno.EADDRINUSE, "in use")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _problem(error: OSError, path: str) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no folder {os.path.dirname(path)}"
    if error.errno == errno.ENOTSOCK:
        return "there is something that is no socket"
    if error.errno == errno.EADDRINUSE:
        return "somebody answers there already"
    return words_for(error)
