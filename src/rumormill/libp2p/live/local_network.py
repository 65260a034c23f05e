"""The sockets of mDNS, and where on each local network we can be dialed.

mDNS is a help and no more: an interface that cannot be used costs what could be found there, and is
said once; the node goes on.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Sequence

from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.discovery.effects import DatagramReceived, LinkChanged, SendDatagram
from rumormill.libp2p.discovery.mdns.nearness import EVERYWHERE, announced
from rumormill.libp2p.discovery.mdns.way import Mdns
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.live.transports.losses import Lost
from rumormill.live.transports.multicast import Multicast
from rumormill.live.transports.tcp import Tcp
from rumormill.live.transports.words import own_hosts

GROUPS = {4: "224.0.0.251", 6: "ff02::fb"}
PORT = 5353
LOOK_INTERVAL = 10.0
"""Seconds between two looks at the interfaces: a cable or a wireless network may come and go."""

log = logging.getLogger("rumormill")

Feed = Callable[[DatagramReceived | LinkChanged], None]


class LocalNetwork:
    """mDNS on every interface of this machine. ``failed`` hears why there is none, if so."""

    def __init__(self, feed: Feed, lost: Lost, failed: Callable[[str], None]) -> None:
        self._feed = feed
        self._lost = lost
        self._failed = failed
        self._bound: tuple[Multiaddr, ...] = ()
        self._hosts: dict[str, str] = {}
        self._multicast: Multicast | None = None
        self._looking: asyncio.Task[None] | None = None
        self._told = False

    def start(self, bound: Sequence[str]) -> None:
        """Begin to listen and to speak; ``bound`` is where we listen, see :func:`as_bound`."""
        self._bound = tuple(map(Multiaddr.parse, bound))
        self._multicast = Multicast(GROUPS, PORT, self._take, self._lost)
        self._look()
        self._looking = asyncio.ensure_future(self._look_again_and_again())

    async def _look_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL)
            self._look()

    def _look(self) -> None:
        multicast = self._multicast
        assert multicast is not None
        for link, host in multicast.look():
            if host is None:
                del self._hosts[link]
                self._feed(LinkChanged(Mdns.name, link, None))
            else:
                self._hosts[link] = host
                addresses = announced(self._bound, _dialed_at(host))
                self._feed(LinkChanged(Mdns.name, link, host, tuple(map(str, addresses))))
        if not self._hosts and not self._told:
            self._told = True
            problem = multicast.problem or "no interface has an address and multicast"
            log.warning("mDNS finds nobody here, it is tried again: %s", problem)
            self._failed(problem)

    def _take(self, link: str, host: str, packet: bytes) -> None:
        self._feed(DatagramReceived(Mdns.name, host, packet, link))

    def send(self, effect: SendDatagram) -> None:
        """Say something on a link."""
        if self._multicast is not None:
            self._multicast.send(effect.destination, effect.data)

    def close(self) -> None:
        """Take leave, and close the sockets."""
        if self._looking is not None:
            self._looking.cancel()
        for link, host in self._hosts.items():
            self._feed(LinkChanged(Mdns.name, link, host))
        if self._multicast is not None:
            self._multicast.close()
            self._multicast = None


async def listen_each(tcp: Tcp, texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Listen at each address; where others can reach us, and where we are bound."""
    listening: dict[str, None] = {}
    bound: dict[str, None] = {}
    for text in texts:
        reachable = await tcp.listen([text])
        listening.update(dict.fromkeys(reachable))
        bound.update(dict.fromkeys(as_bound(text, reachable)))
    return tuple(listening), tuple(bound)


def _dialed_at(host: str) -> str:
    """Our address on a link by which others dial us: of IPv6, ours there is of no use to them."""
    if not ipaddress.ip_address(host).is_link_local:
        return host
    outward = own_hosts("::" if ":" in host else "0.0.0.0")[1:]
    return outward[0] if outward else host


def as_bound(text: str, listening: Sequence[str]) -> tuple[str, ...]:
    """Where a listener is bound, of what the user wrote and where others can reach it.

    >>> as_bound("/ip4/0.0.0.0/tcp/0", ["/ip4/127.0.0.1/tcp/4001", "/ip4/10.0.0.1/tcp/4001"])
    ('/ip4/0.0.0.0/tcp/4001',)
    """
    try:
        address = Multiaddr.parse(text)
    except LocalProtocolError:
        return tuple(listening)
    if address.host != EVERYWHERE.get(address.family) or not listening:
        return tuple(listening)
    return (str(Multiaddr(address.family, address.host, Multiaddr.parse(listening[0]).port)),)
