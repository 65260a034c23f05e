"""UDP for a machine that speaks in datagrams: one socket for IPv4, one for IPv6.

The machine sees addresses instead of sockets: each datagram that comes is :class:`Received`, each
:class:`Send` is a datagram that leaves. A machine answers from the address it was asked at, so
there is one socket for each of the two and no more. The family's
:class:`~rumormill.core.addresses.Addresses` reads and writes what stands for them.

A flood takes nobody's turn: who is turned away at the machine's gate
(:class:`~rumormill.core.gate.Gatekeeper`) costs us the reading of its datagrams and no more; when
many come that are not, their sources take turns; and after a slice of time the rest of the node has
its turn.

    udp = Udp(driver.feed, addresses, on_lost, machine.gate, driver.now)
    udp.attach(driver)
    listening = await udp.listen(["127.0.0.1:0", "[::1]:0"])
    ...
    udp.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from time import monotonic
from typing import NamedTuple, Never

from rumormill.core.addresses import Addresses, Endpoint
from rumormill.core.errors import ConfigError, ConnectError, LocalProtocolError
from rumormill.core.gate import Gatekeeper
from rumormill.core.machine import Received, Send
from rumormill.live.driver import Driver
from rumormill.live.transports.datagram_lanes import DatagramLanes
from rumormill.live.transports.listening import listen_at, without_zone
from rumormill.live.transports.losses import Losses, Lost
from rumormill.live.transports.names import Answer, Place, look_up
from rumormill.live.transports.words import reason_of, words_for

READ_BURST = 64
"""Datagrams that are handed on as they came; of more than that, sources take turns."""

READ_AT_ONCE = 1024
"""Datagrams that are read, and perhaps turned away, before other sockets and timers get their turn:
about two milliseconds."""

SLICE = 0.002
"""Seconds for which datagrams that wait are handed on before others get their turn."""

LARGEST_DATAGRAM = 4096
"""Bytes, unless the family says otherwise; a longer datagram is dropped, counted."""

RECEIVE_BUFFER = 4 * 1024 * 1024
"""Bytes that the system is asked to hold for us while we are busy; it may give less."""

MOST_WAITING = 1024
"""Datagrams that wait while the system takes none; past it the newest are lost, counted."""

REMEMBERED = 1 << 14
"""Addresses whose other form is kept at hand."""

EVERYWHERE = {4: "0.0.0.0", 6: "::"}
"""Where a socket is bound that nobody is told of, by the version of IP: at any port."""

VERSIONS = {socket.AF_INET: 4, socket.AF_INET6: 6}

Feed = Callable[[Received], None]


class Udp:
    """The sockets of one node."""

    def __init__(
        self,
        feed: Feed,
        addresses: Addresses,
        lost: Lost,
        gate: Gatekeeper | None = None,
        now: Callable[[], float] = monotonic,
        largest: int = LARGEST_DATAGRAM,
    ) -> None:
        """``now`` is the machine's clock, which its ``gate`` goes by; ``largest``: bytes of a
        datagram that is taken.
        """
        self._door = _Door(feed, gate, now, largest)
        self._addresses = addresses
        self._losses = Losses(lost)
        self._lost = self._losses.add
        self._sockets: dict[int | None, _Socket] = {}
        # Each address is needed again and again.
        self._way_to = lru_cache(REMEMBERED)(self._way)
        self._peer_at = lru_cache(REMEMBERED)(self._peer)

    def attach(self, driver: Driver[Never]) -> None:
        """Carry out what the driver's machine wants of its transport."""
        driver.on(Send, self.send)

    def _way(self, peer: str) -> tuple[int | None, Place]:
        """The version of IP that a peer is reached over, None if it is a name; and its place."""
        host, port, version = self._addresses.parse(peer)
        return version, (host, port)

    def _peer(self, place: Place) -> str:
        return self._addresses.text(without_zone(place[0]), place[1])

    @property
    def waiting(self) -> int:
        """Datagrams that the system has not taken yet."""
        return sum(len(each.waiting) for each in self._sockets.values())

    def has_family(self, peer: str) -> bool:
        """Whether there is a socket that could reach the peer."""
        return self._way_to(peer)[0] in self._sockets

    def address_towards(self, peer: str) -> str | None:
        """The address that our datagrams to the peer bear; None if there is no way to it."""
        version, place = self._way_to(peer)
        each = self._sockets.get(version)
        own = None if each is None else each.place_towards(place)
        return None if own is None else self._peer(own)

    # ---- listening

    async def listen(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Open a socket at each address; returns where others can reach them."""
        return await listen_at(addresses, self._addresses, self._listen)

    async def listen_anywhere(self) -> tuple[str, ...]:
        """Open sockets at any free port, for IPv4 and IPv6 as far as this machine has them."""
        found: list[str] = []
        problem: ConfigError | None = None
        for host in EVERYWHERE.values():
            try:
                found += await self.listen([self._addresses.text(host, 0)])
            except ConfigError as error:
                problem = error
        if problem is not None and not found:
            raise problem
        return tuple(found)

    async def _listen(self, text: str, endpoint: Endpoint) -> list[Place]:
        answer = (await look_up(endpoint, socket.SOCK_DGRAM))[0]
        version = VERSIONS[answer.family]
        if version in self._sockets:
            raise ConfigError(
                "listen", f"{text} is the second IPv{version} address; there can be one of each"
            )
        sock = _bound(answer)
        self._sockets[version] = _Socket(sock, self._door, self._peer_at, self._lost)
        return [sock.getsockname()]

    # ---- names

    async def resolve_all(self, text: str) -> tuple[str, ...]:
        """Every peer that an address stands for and that a socket of ours could reach, in order.

        Raises :class:`ConnectError` if there is none; see :func:`resolve_all`.
        """
        found = await resolve_all(text, self._addresses)
        peers = tuple(peer for peer in found if self.has_family(peer))
        if not peers:
            raise ConnectError(f"could not reach {text}: we have no socket of its IP version")
        return peers

    # ---- sending

    def send(self, effect: Send) -> None:
        """Send one datagram now, or as soon as the system takes it."""
        peer = effect.peer
        version, place = self._way_to(peer)
        each = self._sockets.get(version)
        if each is not None:
            each.send(peer, place, effect.packet)
        elif version is None:
            self._lost("not_an_ip_address", peer)
        else:
            self._lost("no_socket_of_that_family", peer)

    def close(self) -> None:
        """Close the sockets; what still waits is lost."""
        for each in self._sockets.values():
            each.close()
        self._sockets.clear()
        self._losses.report()


class _Door(NamedTuple):
    """The way to the machine."""

    feed: Feed
    gate: Gatekeeper | None
    now: Callable[[], float]
    largest: int


class _Socket:
    """One socket: reads in bursts, writes at once."""

    __slots__ = (
        "_door", "_feed", "_lanes", "_loop", "_lost", "_peer_at", "_scheduled", "_socket",
        "waiting",
    )  # fmt: skip

    def __init__(
        self,
        sock: socket.socket,
        door: _Door,
        peer_at: Callable[[Place], str],
        lost: Callable[[str, str | None], None],
    ) -> None:
        self._socket = sock
        self._door = door
        self._feed = door.feed
        self._peer_at = peer_at
        self._lost = lost
        self._lanes = DatagramLanes()
        self._scheduled = False
        self._loop = asyncio.get_running_loop()
        self.waiting: deque[tuple[str, Place, bytes]] = deque()
        self._loop.add_reader(sock.fileno(), self._readable)

    def _readable(self) -> None:
        if self._lanes:
            self._read_more()
            return
        came = self._read(READ_BURST)
        feed, sock = self._feed, self._socket
        until = monotonic() + SLICE
        for number, (_, datagram) in enumerate(came, 1):
            feed(datagram)
            if sock.fileno() < 0:
                return  # closed by what the datagram led to
            if monotonic() >= until and number < len(came):
                self._let_wait(came[number:])
                break
        if len(came) == READ_BURST:
            # There is more, perhaps much more, and of one source.
            self._read_more()

    def _read_more(self) -> None:
        """Take out what the system holds, and let sources have their turns."""
        room = min(self._lanes.room, READ_AT_ONCE)
        if room > 0:
            self._let_wait(self._read(room))

    def _let_wait(self, came: list[tuple[Place, Received]]) -> None:
        lanes = self._lanes
        for place, datagram in came:
            if not lanes.add(place, datagram):
                self._lost("too_many_of_one_source", datagram.peer)
        self._serve_soon()

    def _serve_soon(self) -> None:
        if self._lanes and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._serve)

    def _serve(self) -> None:
        """Hand on what waits, for a slice of time."""
        self._scheduled = False
        lanes, sock = self._lanes, self._socket
        feed, gate, now, _ = self._door
        until = monotonic() + SLICE
        while lanes and sock.fileno() >= 0:
            datagram = lanes.take()
            # Its source may have used up its allowance with what was handed on since it came.
            if gate is None or not gate.alert or gate.admits(*datagram, now()):
                feed(datagram)
            if monotonic() >= until:
                break
        self._serve_soon()

    def _read(self, most: int) -> list[tuple[Place, Received]]:
        """What has come and may come in, up to so many; who is turned away does not count."""
        receive, peer_at = self._socket.recvfrom, self._peer_at
        _, gate, now, largest = self._door
        came: list[tuple[Place, Received]] = []
        for _ in range(READ_AT_ONCE):
            try:
                packet, place = receive(largest + 1)
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                # What a datagram of ours met on its way; a machine learns it from the silence.
                self._lost(reason_of(error), None)
                continue
            if len(packet) > largest:
                self._lost("datagram_too_large", None)
            elif place[1] == 0:
                self._lost("source_port_0", None)  # nobody is there to be answered
            else:
                peer = peer_at(place)
                if gate is not None and gate.alert and not gate.admits(peer, packet, now()):
                    continue
                came.append((place, Received(peer, packet)))
                if len(came) >= most:
                    break
        return came

    def place_towards(self, place: Place) -> Place | None:
        """Our own place as the peer at ``place`` sees it, unless it is changed on the way."""
        own: Place = self._socket.getsockname()
        if own[0] not in EVERYWHERE.values():
            return own  # bound to one address, the system has no choice
        with (
            contextlib.suppress(OSError),
            socket.socket(self._socket.family, socket.SOCK_DGRAM) as probe,
        ):
            probe.connect(place)  # sends nothing
            return probe.getsockname()[0], own[1]
        return None

    def send(self, peer: str, place: Place, packet: bytes) -> None:
        """Send now, or behind those that wait."""
        if self.waiting or not self._sent(peer, place, packet):
            if len(self.waiting) >= MOST_WAITING:
                self._lost("send_buffer_full", peer)
                return
            if not self.waiting:
                self._loop.add_writer(self._socket.fileno(), self._writable)
            self.waiting.append((peer, place, packet))

    def _sent(self, peer: str, place: Place, packet: bytes) -> bool:
        """Hand one datagram to the system; False if it takes none at present."""
        try:
            self._socket.sendto(packet, place)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._lost(reason_of(error), peer)
        return True

    def _writable(self) -> None:
        waiting = self.waiting
        while waiting:
            if not self._sent(*waiting[0]):
                return
            waiting.popleft()
        self._loop.remove_writer(self._socket.fileno())

    def close(self) -> None:
        """Read and write no more."""
        self._loop.remove_reader(self._socket.fileno())
        self._lanes.clear()
        if self.waiting:
            self._loop.remove_writer(self._socket.fileno())
            for peer, _, _ in self.waiting:
                self._lost("closed", peer)
            self.waiting.clear()
        self._socket.close()


# ---- addresses


async def resolve_all(text: str, addresses: Addresses) -> tuple[str, ...]:
    """Every peer at an address as a user writes it, whose host may be a name, in order.

    Raises :class:`LocalProtocolError` for what is no address, and :class:`ConnectError` for a name
    that nobody knows.
    """
    endpoint = addresses.parse(text)
    if endpoint.port == 0:
        raise LocalProtocolError(f"cannot use the address {text!r}: port 0 is nobody's")
    try:
        answers = await look_up(endpoint, socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise ConnectError(f"could not reach {text}: {words_for(error)}") from None
    hosts = (without_zone(str(answer.place[0])) for answer in answers)
    return tuple(dict.fromkeys(addresses.text(host, endpoint.port) for host in hosts))


def _bound(answer: Answer) -> socket.socket:
    sock = socket.socket(answer.family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if answer.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        sock.bind(answer.place)
    except BaseException:
        sock.close()
        raise
    return sock
