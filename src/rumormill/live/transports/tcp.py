"""TCP for a machine that speaks in connections: listens, dials, moves bytes.

The machine sees numbers instead of sockets: :class:`TransportOpened` tells it a new one, and it
answers with :class:`WriteBytes` and :class:`CloseTransport`. IPv4, IPv6 and names alike; the
family's :class:`~rumormill.core.addresses.Addresses` reads and writes what stands for them.

    tcp = Tcp(driver.feed, addresses)
    tcp.attach(driver)
    listening = await tcp.listen(["127.0.0.1:0"])
    ...
    await tcp.close()
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Never

from rumormill.core.addresses import Addresses, Endpoint
from rumormill.core.errors import LocalProtocolError
from rumormill.core.transport import (
    CancelTransport,
    CloseTransport,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportInput,
    TransportOpened,
    WriteBytes,
)
from rumormill.live.driver import Driver
from rumormill.live.transports.descriptors import Listener, listening_sockets
from rumormill.live.transports.listening import listen_at, without_zone
from rumormill.live.transports.names import Answer, Place, interleaved, look_up
from rumormill.live.transports.race import first_to_connect
from rumormill.live.transports.tcp_connection import Connection
from rumormill.live.transports.turns import Turns
from rumormill.live.transports.words import reason_of

MOST_LINGERING = 64
"""Past this many, connections are closed at once: an attacker must not collect our sockets."""

BACKLOG = 256


class Tcp:
    """All TCP connections of one node."""

    def __init__(
        self,
        feed: Callable[[TransportInput], None],
        addresses: Addresses,
        *,
        close_timeout: float = 5.0,
        on_short: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_short`` hears of each connection for which there was no file descriptor."""
        self.feed = feed
        self.turns = Turns()
        """Whose turn it is to be read, among all connections."""
        self._addresses = addresses
        self._close_timeout = close_timeout
        self._numbers = itertools.count(1)
        self._listeners: list[Listener] = []
        self._connections: dict[int, Connection] = {}
        self._dials: dict[int, asyncio.Task[None]] = {}
        self._lingering = 0
        self._late_writes = 0
        self._on_short = on_short
        self._closing = False
        self._gone: asyncio.Future[None] | None = None

    def attach(self, driver: Driver[Never]) -> None:
        """Carry out what the driver's machine wants of its transport."""
        driver.on(OpenTransport, self.open)
        driver.on(CancelTransport, self.cancel)
        driver.on(WriteBytes, self.write)
        driver.on(CloseTransport, self.finish)
        driver.on(RestTransport, self.rest)

    def sizes(self) -> dict[str, int]:
        """How much there is: open sockets, those of them that wait for the other end to close,
        dials under way; and how many writes came after the end of their connection.
        """
        return {
            "connections": len(self._connections),
            "lingering": self._lingering,
            "dials": len(self._dials),
            "late_writes": self._late_writes,
        }

    # ---- listening

    async def listen(self, addresses: Sequence[str], service: str = "") -> tuple[str, ...]:
        """Listen on each address; returns what others can dial, with the real ports.

        ``service``: what the machine is told of each connection that comes in there.
        """
        return await listen_at(addresses, self._addresses, partial(self._listen, service))

    async def _listen(self, service: str, text: str, endpoint: Endpoint) -> list[Place]:
        sockets = listening_sockets(await look_up(endpoint, socket.SOCK_STREAM), BACKLOG)
        self._accept(sockets, lambda: Connection(self, None, service))
        return [sock.getsockname() for sock in sockets]

    def _accept(self, sockets: Sequence[socket.socket], factory: Callable[[], Connection]) -> None:
        """Take what comes to sockets that listen, from now on."""
        listener = Listener(sockets, factory, self._short)
        self._listeners.append(listener)
        listener.start()

    def _short(self) -> bool:
        self._on_short()
        return False  # nobody was closed for it

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
            await self._connect(dial, text)
        except LocalProtocolError:
            self._dial_failed(dial, "bad_address")
        except (OSError, UnicodeError) as error:
            self._dial_failed(dial, reason_of(error))

    def _dial_failed(self, dial: int, reason: str) -> None:
        if self._dials.pop(dial, None) is not None:
            self.feed(TransportFailed(dial, reason))

    async def _connect(self, dial: int, text: str) -> None:
        """Try every address that the name stands for; the first error is the one to tell."""
        endpoint = self._addresses.parse(text)
        answers = interleaved(await look_up(endpoint, socket.SOCK_STREAM))
        await first_to_connect([partial(self._attempt, dial, answer) for answer in answers])

    async def _attempt(self, dial: int, answer: Answer) -> None:
        # By host and port, though we could bring a socket: uvloop loses track of one whose
        # transport is closed in the same turn. Of several that connect, the first is admitted.
        host, port = answer.place[:2]
        loop = asyncio.get_running_loop()
        await loop.create_connection(
            lambda: Connection(self, dial), host, port, family=answer.family
        )

    # ---- connections

    def admit(self, connection: Connection, place: object, dial: int | None, service: str) -> None:
        """Number a new connection and tell the machine, unless nobody wants it any more."""
        if self._closing or (dial is not None and self._dials.pop(dial, None) is None):
            connection.refuse()
            return
        address = connection.address or self._address(place)
        if address is None:  # it was gone before we looked
            connection.refuse()
            if dial is not None:
                self.feed(TransportFailed(dial, "connection_reset"))
            return
        connection.number = number = next(self._numbers)
        self._connections[number] = connection
        self.feed(TransportOpened(number, address, dial, service))

    def _address(self, place: object) -> str | None:
        if not isinstance(place, tuple):
            return None
        return self._addresses.text(without_zone(place[0]), place[1])

    def write(self, effect: WriteBytes) -> None:
        """Write; what the socket does not take is kept, and the machine told to wait."""
        connection = self._connections.get(effect.connection)
        if connection is None or connection.finished:
            self._late_writes += 1
        else:
            connection.transport.write(effect.data)

    def finish(self, effect: CloseTransport) -> None:
        """Close a connection once what was written has left."""
        connection = self._connections.get(effect.connection)
        if connection is not None:
            linger = self._lingering < MOST_LINGERING
            self._lingering += connection.finish(self._close_timeout, linger=linger)

    def cut(self, number: int) -> None:
        """End a connection at once; what was written and has not left is lost."""
        connection = self._connections.get(number)
        if connection is not None:
            connection.refuse()

    def rest(self, effect: RestTransport) -> None:
        """Read nothing of a connection for a while."""
        connection = self._connections.get(effect.connection)
        if connection is not None:
            connection.rest(effect.seconds)

    def lost(self, connection: Connection, error: Exception | None) -> None:
        """A connection is gone."""
        del self._connections[connection.number]
        self._lingering -= connection.lingering
        reason = "closed" if error is None else reason_of(error)
        self.feed(TransportClosed(connection.number, reason))
        if not self._connections and self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    async def close(self, timeout: float | None = None) -> None:
        """Stop listening and dialing, close every connection, wait until all sockets are gone.

        What could not be written within ``timeout`` seconds is lost, on connections too that were
        given more time before.
        """
        self._closing = True
        if timeout is not None:
            self._close_timeout = timeout
        for listener in self._listeners:
            listener.close()
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
        for listener in self._listeners:
            await listener.wait_closed()
