"""UDP for a machine that speaks in datagrams: one socket for IPv4, one for IPv6.

The machine sees addresses instead of sockets: each datagram that comes is :class:`Received`, each
:class:`Send` is a datagram that leaves. A machine answers from the address it was asked at, so
there is one socket for each of the two and no more.

    udp = Udp(driver.feed, on_lost)
    driver.on(udp.handlers)
    addresses = await udp.listen(["127.0.0.1:0", "[::1]:0"])
    ...
    udp.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rumormill.bep50.wire.addresses import is_ipv6, parse_address, parse_peer, peer_text
from rumormill.core.errors import ConfigError, ConnectError, LocalProtocolError
from rumormill.core.machine import Input, Received, Send
from rumormill.live.transports.words import own_hosts, reason_of, words_for

READ_BURST = 64
"""Datagrams that are read before other sockets and timers get their turn."""

LARGEST_DATAGRAM = 4096
"""Bytes. No packet of this family has more than half of it; a longer one is dropped, counted."""

RECEIVE_BUFFER = 4 * 1024 * 1024
"""Bytes that the system is asked to hold for us while we are busy; it may give less."""

MOST_WAITING = 1024
"""Datagrams that wait while the system takes none; past it the newest are lost, counted."""

REMEMBERED = 1 << 14
"""Addresses whose other form is kept at hand."""

EVERYWHERE = {socket.AF_INET: "0.0.0.0:0", socket.AF_INET6: "[::]:0"}
"""Where a socket is bound that nobody is told of: any port."""

Place = tuple[Any, ...]
Lost = Callable[[str, str | None], None]
"""Called for a datagram that was lost on our side: why, and the peer if it is known."""


class Udp:
    """The sockets of one node."""

    def __init__(self, feed: Callable[[Input], None], lost: Lost) -> None:
        self._feed = feed
        self._lost = lost
        self._sockets: dict[bool, _Socket] = {}
        self.handlers: dict[type, Callable[[Any], None]] = {Send: self.send}

    @property
    def waiting(self) -> int:
        """Datagrams that the system has not taken yet."""
        return sum(len(each.waiting) for each in self._sockets.values())

    def has_family(self, peer: str) -> bool:
        """Whether there is a socket that could reach the peer."""
        return is_ipv6(peer) in self._sockets

    def address_towards(self, peer: str) -> str | None:
        """The address that our datagrams to the peer bear; None if there is no way to it."""
        each = self._sockets.get(is_ipv6(peer))
        return None if each is None else each.address_towards(peer)

    # ---- listening

    async def listen(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Open a socket at each address; returns where others can reach them."""
        found: dict[str, None] = {}
        for address in addresses:
            for each in await self._listen(address):
                found[each] = None
        return tuple(found)

    async def listen_anywhere(self) -> tuple[str, ...]:
        """Open sockets at any free port, for IPv4 and IPv6 as far as this machine has them."""
        found: list[str] = []
        problem: ConfigError | None = None
        for address in EVERYWHERE.values():
            try:
                found += await self._listen(address)
            except ConfigError as error:
                problem = error
        if problem is not None and not found:
            raise problem
        return tuple(found)

    async def _listen(self, text: str) -> list[str]:
        try:
            host, port = parse_address(text)
        except LocalProtocolError as error:
            raise ConfigError("listen", str(error)) from None
        try:
            family, place = await _place_of(host, port)
            ipv6 = family == socket.AF_INET6
            if ipv6 in self._sockets:
                version = "IPv6" if ipv6 else "IPv4"
                raise ConfigError(
                    "listen", f"{text} is the second {version} address; there can be one of each"
                )
            sock = _bound(family, place)
        except (OSError, UnicodeError) as error:
            problem = words_for(error)
            raise ConfigError("listen", f"cannot listen on {text}: {problem}") from None
        self._sockets[ipv6] = _Socket(sock, self._feed, self._lost)
        name = sock.getsockname()
        return [peer_text(each, name[1]) for each in own_hosts(name[0])]

    async def resolve_all(self, text: str) -> tuple[str, ...]:
        """Every peer that an address stands for and that a socket of ours could reach, in order.

        Raises :class:`ConnectError` if there is none; see :func:`resolve_all`.
        """
        peers = tuple(peer for peer in await resolve_all(text) if self.has_family(peer))
        if not peers:
            raise ConnectError(f"could not reach {text}: we have no socket of its IP version")
        return peers

    # ---- sending

    def send(self, effect: Send) -> None:
        """Send one datagram now, or as soon as the system takes it."""
        peer = effect.peer
        each = self._sockets.get(peer[0] == "[")
        if each is None:
            self._lost("no_socket_of_that_family", peer)
        else:
            each.send(peer, effect.packet)

    def close(self) -> None:
        """Close the sockets; what still waits is lost."""
        for each in self._sockets.values():
            each.close()
        self._sockets.clear()


class _Socket:
    """One socket: reads in bursts, writes at once."""

    __slots__ = ("_feed", "_loop", "_lost", "_socket", "waiting")

    def __init__(self, sock: socket.socket, feed: Callable[[Input], None], lost: Lost) -> None:
        self._socket = sock
        self._feed = feed
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self.waiting: deque[tuple[str, bytes]] = deque()
        self._loop.add_reader(sock.fileno(), self._readable)

    def _readable(self) -> None:
        feed, receive = self._feed, self._socket.recvfrom
        for _ in range(READ_BURST):
            try:
                packet, place = receive(LARGEST_DATAGRAM + 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if self._socket.fileno() < 0:
                    return  # closed by what the last datagram led to
                # What a datagram of ours met on its way; a machine learns it from the silence.
                self._lost(reason_of(error), None)
                continue
            if len(packet) > LARGEST_DATAGRAM:
                self._lost("datagram_too_large", None)
            elif place[1] == 0:
                self._lost("source_port_0", None)  # nobody is there to be answered
            else:
                feed(Received(peer_of(place), packet))

    def address_towards(self, peer: str) -> str | None:
        """Our address as the peer sees it, unless it is changed on the way."""
        place = self._socket.getsockname()
        if place[0] not in ("0.0.0.0", "::"):
            return peer_of(place)  # bound to one address, the system has no choice
        with (
            contextlib.suppress(OSError),
            socket.socket(self._socket.family, socket.SOCK_DGRAM) as probe,
        ):
            probe.connect(place_of(peer))  # sends nothing
            return peer_text(probe.getsockname()[0].partition("%")[0], place[1])
        return None

    def send(self, peer: str, packet: bytes) -> None:
        """Send now, or behind those that wait."""
        if self.waiting or not self._sent(peer, packet):
            if len(self.waiting) >= MOST_WAITING:
                self._lost("send_buffer_full", peer)
                return
            if not self.waiting:
                self._loop.add_writer(self._socket.fileno(), self._writable)
            self.waiting.append((peer, packet))

    def _sent(self, peer: str, packet: bytes) -> bool:
        """Hand one datagram to the system; False if it takes none at present."""
        try:
            self._socket.sendto(packet, place_of(peer))
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
        if self.waiting:
            self._loop.remove_writer(self._socket.fileno())
            for peer, _ in self.waiting:
                self._lost("closed", peer)
            self.waiting.clear()
        self._socket.close()


# ---- addresses


async def resolve(text: str) -> str:
    """The peer at an address as a user writes it, whose host may be a name.

    Raises :class:`LocalProtocolError` for what is no address, and :class:`ConnectError` for a name
    that nobody knows.
    """
    host, port = parse_address(text)
    if port == 0:
        raise LocalProtocolError(f"cannot use the address {text!r}: port 0 is nobody's")
    try:
        _, place = await _place_of(host, port)
    except (OSError, UnicodeError) as error:
        raise ConnectError(f"could not reach {text}: {words_for(error)}") from None
    return peer_text(str(place[0]).partition("%")[0], port)


async def resolve_all(text: str) -> tuple[str, ...]:
    """Every peer at an address as a user writes it, whose host may be a name, in order.

    Raises what :func:`resolve` raises.
    """
    host, port = parse_address(text)
    if port == 0:
        raise LocalProtocolError(f"cannot use the address {text!r}: port 0 is nobody's")
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise ConnectError(f"could not reach {text}: {words_for(error)}") from None
    hosts = dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found)
    return tuple(peer_text(each, port) for each in hosts)


async def _place_of(host: str, port: int) -> tuple[socket.AddressFamily, Place]:
    """The first socket address that a host stands for."""
    with contextlib.suppress(ValueError):
        literal = ipaddress.ip_address(host)
        if literal.version == 4:
            return socket.AF_INET, (host, port)
        return socket.AF_INET6, (host, port, 0, 0)
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    if not found:
        raise OSError("the name has no address")
    family, _, _, _, place = found[0]
    return family, place


def _bound(family: socket.AddressFamily, place: Place) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        sock.bind(place)
    except BaseException:
        sock.close()
        raise
    return sock


@lru_cache(maxsize=REMEMBERED)
def place_of(peer: str) -> tuple[str, int]:
    """The socket address of a peer.

    >>> place_of("[::1]:6881")
    ('::1', 6881)
    """
    return parse_peer(peer)


@lru_cache(maxsize=REMEMBERED)
def peer_of(place: Place) -> str:
    """The peer at a socket address.

    >>> peer_of(("127.0.0.1", 6881)), peer_of(("fe80::1%eth0", 6881, 0, 2))
    ('127.0.0.1:6881', '[fe80::1]:6881')
    """
    return peer_text(place[0].partition("%")[0], place[1])
