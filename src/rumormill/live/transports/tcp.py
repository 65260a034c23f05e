"""TCP for a machine that speaks in connections: listens, dials, moves bytes.

The machine sees numbers instead of sockets: :class:`TransportOpened` tells it a new one, and it
answers with :class:`WriteBytes` and :class:`CloseTransport`. IPv4, IPv6 and names alike.

    tcp = Tcp(driver.feed)
    driver.on(tcp.handlers)
    addresses = await tcp.listen(["/ip4/127.0.0.1/tcp/0"])
    ...
    await tcp.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Callable, Sequence
from typing import Any, cast

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Input
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    OpenTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.live.transports.words import multiaddr_of, own_addresses, reason_of, words_for

WRITE_HIGH, WRITE_LOW = 256 * 1024, 64 * 1024
"""Bytes waiting for the socket above which the machine is told to wait, and below to go on."""

LINGER = 1.0
"""Seconds that a closed connection stays open for the other end to read our last bytes."""

MOST_LINGERING = 64
"""Past this many, connections are closed at once: an attacker must not collect our sockets."""

BACKLOG = 256

FAMILIES = {
    "ip4": socket.AF_INET,
    "ip6": socket.AF_INET6,
    "dns": socket.AF_UNSPEC,
    "dns4": socket.AF_INET,
    "dns6": socket.AF_INET6,
}


class Tcp:
    """All TCP connections of one node."""

    def __init__(self, feed: Callable[[Input], None], *, close_timeout: float = 5.0) -> None:
        self._feed = feed
        self._close_timeout = close_timeout
        self._numbers = itertools.count(1)
        self._servers: list[asyncio.Server] = []
        self._connections: dict[int, _Connection] = {}
        self._dials: dict[int, asyncio.Task[None]] = {}
        self._lingering = 0
        self._closing = False
        self._gone: asyncio.Future[None] | None = None
        self.handlers: dict[type, Callable[[Any], None]] = {
            OpenTransport: self.open,
            CancelTransport: self.cancel,
            WriteBytes: self.write,
            CloseTransport: self.finish,
        }

    @property
    def connections(self) -> int:
        """How many sockets are open, those that are just being closed included."""
        return len(self._connections)

    # ---- listening

    async def listen(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Listen on each address; returns what others can dial, with the real ports."""
        found: dict[str, None] = {}
        for address in addresses:
            for each in await self._listen(address):
                found[each] = None
        return tuple(found)

    async def _listen(self, text: str) -> list[str]:
        try:
            address = Multiaddr.parse(text)
        except LocalProtocolError as error:
            raise ConfigError("listen", str(error)) from None
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(
                lambda: _Connection(self, None),
                address.host,
                address.port,
                family=FAMILIES[address.family],
                backlog=BACKLOG,
            )
        except (OSError, UnicodeError) as error:
            problem = words_for(error)
            raise ConfigError("listen", f"cannot listen on {text}: {problem}") from None
        self._servers.append(server)
        return [each for sock in server.sockets for each in own_addresses(sock.getsockname())]

    # ---- dialing

    def open(self, effect: OpenTransport) -> None:
        """Dial; the answer is fed to the machine."""
        task = asyncio.get_running_loop().create_task(self._dial(effect.dial, effect.address))
        self._dials[effect.dial] = task

    def cancel(self, effect: CancelTransport) -> None:
        """Give up a dial; nothing is fed to the machine."""
        task = self._dials.pop(effect.dial, None)
        if task is not None:
            task.cancel()

    async def _dial(self, dial: int, text: str) -> None:
        try:
            address = Multiaddr.parse(text)
            await self._connect(dial, address.host, address.port, FAMILIES[address.family])
        except LocalProtocolError:
            self._dial_failed(dial, "bad_address")
        except (OSError, UnicodeError) as error:
            self._dial_failed(dial, reason_of(error))

    def _dial_failed(self, dial: int, reason: str) -> None:
        if self._dials.pop(dial, None) is not None:
            self._feed(TransportFailed(dial, reason))

    async def _connect(self, dial: int, host: str, port: int, family: int) -> None:
        """Try every address that the name stands for; the first error is the one to tell."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        problem: OSError | None = None
        for each_family, _, _, _, place in found:
            try:
                await loop.create_connection(
                    lambda: _Connection(self, dial), str(place[0]), port, family=each_family
                )
                return
            except OSError as error:
                problem = problem or error
        raise problem or OSError("the name has no address")

    # ---- connections

    def admit(self, connection: _Connection, address: str, dial: int | None) -> int:
        """Number a new connection; 0 if nobody wants it any more."""
        if self._closing or (dial is not None and self._dials.pop(dial, None) is None):
            return 0
        number = next(self._numbers)
        self._connections[number] = connection
        return number

    def opened(self, number: int, address: str, dial: int | None) -> None:
        """Tell the machine of a connection that was admitted."""
        self._feed(TransportOpened(number, address, dial))

    def write(self, effect: WriteBytes) -> None:
        """Write; what the socket does not take is kept, and the machine told to wait."""
        connection = self._connections.get(effect.connection)
        if connection is not None:
            connection.transport.write(effect.data)

    def finish(self, effect: CloseTransport) -> None:
        """Close a connection once what was written has left."""
        connection = self._connections.get(effect.connection)
        if connection is not None:
            linger = self._lingering < MOST_LINGERING
            self._lingering += connection.finish(self._close_timeout, linger=linger)

    def lost(self, number: int, error: Exception | None, *, lingered: bool) -> None:
        """A connection is gone."""
        del self._connections[number]
        self._lingering -= lingered
        self._feed(TransportClosed(number, "closed" if error is None else reason_of(error)))
        if not self._connections and self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    async def close(self, timeout: float | None = None) -> None:
        """Stop listening and dialing, close every connection, wait until all sockets are gone.

        What could not be written within ``timeout`` seconds is lost.
        """
        self._closing = True
        if timeout is not None:
            self._close_timeout = timeout
        for server in self._servers:
            server.close()
        dials = list(self._dials.values())
        self._dials.clear()
        for task in dials:
            task.cancel()
        for number in list(self._connections):
            self.finish(CloseTransport(number, "closed"))
        if self._connections:
            self._gone = asyncio.get_running_loop().create_future()
            await self._gone
        await asyncio.gather(*dials, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()


class _Connection(asyncio.Protocol):
    """One socket."""

    __slots__ = (
        "_dial", "_feed", "_finished", "_lingering", "_number", "_tcp", "_timer", "transport",
    )  # fmt: skip

    transport: asyncio.Transport

    def __init__(self, tcp: Tcp, dial: int | None) -> None:
        self._tcp = tcp
        self._feed = tcp._feed
        self._dial = dial
        self._number = 0
        self._finished = False
        self._lingering = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        address = multiaddr_of(transport.get_extra_info("peername"))
        if address is not None:
            self._number = self._tcp.admit(self, address, self._dial)
        if address is None or not self._number:
            self.transport.abort()
            return
        # Event loops differ in whether they do this on their own.
        with contextlib.suppress(OSError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.transport.set_write_buffer_limits(WRITE_HIGH, WRITE_LOW)
        self._tcp.opened(self._number, address, self._dial)

    def data_received(self, data: bytes) -> None:
        if not self._finished:
            self._feed(BytesReceived(self._number, data))

    def pause_writing(self) -> None:
        self._feed(WriteReady(self._number, False))

    def resume_writing(self) -> None:
        self._feed(WriteReady(self._number, True))

    def eof_received(self) -> bool:
        return False

    def finish(self, timeout: float, *, linger: bool) -> bool:
        """Close when everything is written; True if it waits for the other end to see it.

        A socket closed with bytes unread resets the connection, and the other end loses what we
        wrote last. So only our half is closed, and the rest when the other end closes its own.
        """
        if self._finished:
            return False
        self._finished = True
        loop = asyncio.get_running_loop()
        waiting = self.transport.get_write_buffer_size() > 0
        self._timer = loop.call_later(timeout if waiting else min(LINGER, timeout), self._abort)
        self._lingering = linger and not self.transport.is_closing()
        if self._lingering:
            with contextlib.suppress(OSError):
                self.transport.write_eof()
        else:
            self.transport.close()
        return self._lingering

    def _abort(self) -> None:
        self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._number:
            self._tcp.lost(self._number, error, lingered=self._lingering)
