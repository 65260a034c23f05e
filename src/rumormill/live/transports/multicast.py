"""Datagrams to everybody on a local network: one socket for each interface and version of IP.

    multicast = Multicast({4: "224.0.0.251", 6: "ff02::fb"}, 5353, take, lost)
    for link in multicast.look(): ...   # new and lost interfaces; call it now and then
    multicast.send("eth0/4", b"...")
    multicast.close()

Each socket hears what is said on its own interface, our own words included, and shares its port
with other programs of this machine that do the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rumormill.live.transports.listening import without_zone
from rumormill.live.transports.losses import Losses, Lost
from rumormill.live.transports.words import reason_of, words_for

READ_AT_ONCE = 64
"""Datagrams that are read of one socket before others get their turn."""
LARGEST_DATAGRAM = 9000
"""Bytes; a longer one is dropped, counted."""
MOST_LINKS = 64
"""Sockets: a machine with more interfaces has made most of them itself, for containers."""
HOPS = 255
"""As RFC 6762 wants it: who sees less knows that it came from elsewhere."""

SIOCGIFADDR = 0x8915
"""Linux: the address of an interface."""

# Linux gives a socket also what others have joined, unless told otherwise. Python has no names.
IP_MULTICAST_ALL, IPV6_MULTICAST_ALL = 49, 29

Take = Callable[[str, str, bytes], None]
"""Called with the link, the IP address of the sender, and what it said."""


class LinkState(NamedTuple):
    """A link that has come, with our own address on it; or that has gone, without."""

    link: str
    host: str | None


class _Interface(NamedTuple):
    """An interface with an address of one version of IP."""

    number: int
    version: int
    host: str


class Multicast:
    """The sockets of one group on all interfaces of this machine that have it."""

    def __init__(self, groups: Mapping[int, str], port: int, take: Take, lost: Lost) -> None:
        """``groups``: its address by the version of IP."""
        self._groups = groups
        self._port = port
        self._take = take
        self._losses = Losses(lost)
        self._sockets: dict[str, socket.socket] = {}
        self._places: dict[str, _Interface] = {}
        self._loop = asyncio.get_running_loop()
        self.problem = ""
        """Why the last interface that could not be used could not."""

    def look(self) -> list[LinkState]:
        """Look at the interfaces: those that are new are joined, those that are gone are left, and
        those with another address are both.

        One that cannot be used is tried again the next time.
        """
        found = self._interfaces()
        changes = [
            self._leave(link)
            for link, place in list(self._places.items())
            if found.get(link) != place
        ]
        for link, place in found.items():
            room = link not in self._sockets and len(self._sockets) < MOST_LINKS
            if room and self._join(link, place):
                changes.append(LinkState(link, place.host))
        return changes

    def _interfaces(self) -> dict[str, _Interface]:
        """Those that have an address, by version of IP, with it."""
        found: dict[str, _Interface] = {}
        try:
            names = socket.if_nameindex()
        except OSError as error:
            self.problem = words_for(error)
            return found
        for index, name in names:
            for version, group in self._groups.items():
                try:
                    host = _own_host(name, index, version, (group, self._port))
                except OSError as error:
                    self.problem = f"{name}/{version}: {words_for(error)}"
                    continue
                if host is not None:
                    found[f"{name}/{version}"] = _Interface(index, version, host)
        return found

    def _join(self, link: str, place: _Interface) -> bool:
        try:
            sock = _joined(place.number, place.version, self._groups[place.version], self._port)
        except OSError as error:
            self.problem = f"{link}: {words_for(error)}"
            return False
        self._sockets[link], self._places[link] = sock, place
        self._loop.add_reader(sock.fileno(), self._readable, link, sock)
        return True

    def _leave(self, link: str) -> LinkState:
        sock = self._sockets.pop(link)
        del self._places[link]
        self._loop.remove_reader(sock.fileno())
        sock.close()
        return LinkState(link, None)

    def _readable(self, link: str, sock: socket.socket) -> None:
        for _ in range(READ_AT_ONCE):
            if sock.fileno() < 0:
                return  # closed by what was said
            try:
                packet, place = sock.recvfrom(LARGEST_DATAGRAM + 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._losses.add(reason_of(error), None)
                return
            host = without_zone(str(place[0]))
            if len(packet) > LARGEST_DATAGRAM:
                self._losses.add("datagram_too_large", host)
            else:
                self._take(link, host, packet)

    def send(self, link: str, packet: bytes) -> None:
        """Say something on a link; what the system does not take is lost, and counted."""
        sock = self._sockets.get(link)
        if sock is None:
            self._losses.add("no_such_link", link)
            return
        try:
            sock.sendto(packet, (self._groups[self._places[link].version], self._port))
        except OSError as error:  # a full buffer too: mDNS says everything again
            self._losses.add(reason_of(error), link)

    def close(self) -> None:
        """Leave all links."""
        for link in list(self._sockets):
            self._leave(link)
        self._losses.report()


def _own_host(name: str, index: int, version: int, place: tuple[str, int]) -> str | None:
    """The address that our datagrams on an interface bear; None on loopback, and if it has none."""
    if version == 4 and sys.platform == "linux":
        host = _ipv4_of(name)
    else:
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            _speak_on(probe, index, version)
            probe.connect(place if version == 4 else (*place, 0, index))  # sends nothing
            host = without_zone(str(probe.getsockname()[0]))
    address = ipaddress.ip_address(host)
    return None if address.is_loopback or address.is_unspecified else host


def _ipv4_of(name: str) -> str:
    """The IPv4 address of just this interface: one without is not given that of another."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return "0.0.0.0"
            raise
    return socket.inet_ntoa(answer[20:24])


def _joined(index: int, version: int, group: str, port: int) -> socket.socket:
    """A socket that hears a group on one interface, and speaks there."""
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        # Both: some programs set the one, some the other, and all must agree.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        packed = socket.inet_pton(family, group)
        if version == 4:
            sock.bind(("", port))
            sock.setsockopt(
                socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                packed + socket.inet_aton("0.0.0.0") + struct.pack("@i", index),
            )  # fmt: skip
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, HOPS)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            _only_what_we_joined(sock, socket.IPPROTO_IP, IP_MULTICAST_ALL)
        else:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind(("", port))
            membership = packed + struct.pack("@I", index)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, HOPS)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1)
            _only_what_we_joined(sock, socket.IPPROTO_IPV6, IPV6_MULTICAST_ALL)
        _speak_on(sock, index, version)
    except BaseException:
        sock.close()
        raise
    return sock


def _only_what_we_joined(sock: socket.socket, level: int, option: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # kernels before 4.20, for IPv6
            sock.setsockopt(level, option, 0)


def _speak_on(sock: socket.socket, index: int, version: int) -> None:
    if version == 4:
        anywhere = socket.inet_aton("0.0.0.0")
        choice = anywhere + anywhere + struct.pack("@i", index)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, choice)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
