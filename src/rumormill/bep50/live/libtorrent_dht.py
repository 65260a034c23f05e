"""libtorrent's DHT node on the event loop: carries out orders, and reports what it hears.

What to announce, to search and when is up to :class:`~rumormill.bep50.main_dht.MainSession`.

libtorrent works on threads of its own and keeps what it has to say in a queue. It writes a byte to
a socket of ours when the queue is no longer empty, so nobody polls and no thread of its calls us.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from rumormill.bep50.main_dht.effects import (
    AddNodes,
    Announce,
    AskTableSize,
    PeersFound,
    SearchPeers,
    TableSize,
)
from rumormill.bep50.wire.addresses import parse_peer, peer_text
from rumormill.core.errors import ConfigError
from rumormill.live.driver import Driver

if TYPE_CHECKING:
    import libtorrent

START_TIMEOUT = 10.0
"""Seconds that libtorrent has to open its sockets."""

Told = Callable[[PeersFound | TableSize], None]
"""Called with what libtorrent has found out."""


def import_libtorrent() -> Any:
    """The module; :class:`ConfigError` says what to do where it is not installed."""
    try:
        import libtorrent
    except ImportError as error:
        raise ConfigError(
            "main_dht",
            f"libtorrent cannot be used ({error}); pip install 'rumormill[bep50]' brings it",
        ) from None
    return libtorrent


def session_settings(listen: str, *, public: bool, private: bool = False) -> dict[str, Any]:
    """Settings of a session that is a DHT node and nothing else.

    ``public``: it joins the DHT of the whole Internet by libtorrent's own list of nodes; else it
    knows those that it is told of and no others. ``private``: the DHT is one of private addresses,
    where many nodes of one network, or of one host, are no sign of an attack.
    """
    settings: dict[str, Any] = {
        "listen_interfaces": listen,
        "enable_dht": True,
        "enable_lsd": False,
        "enable_upnp": False,
        "enable_natpmp": False,
        "enable_incoming_tcp": False,
        "enable_outgoing_tcp": False,
        "enable_incoming_utp": False,
        "enable_outgoing_utp": False,
    }
    if not public:
        settings["dht_bootstrap_nodes"] = ""
    if private:
        settings |= {
            "dht_restrict_routing_ips": False,
            "dht_restrict_search_ips": False,
            "dht_block_ratelimit": 100_000,
            "dht_upload_rate_limit": 10_000_000,
        }
    return settings


def is_private(hosts: Iterable[str]) -> bool:
    """Whether all these IP addresses are of private networks, or of this machine.

    >>> is_private(["127.0.0.1", "10.1.2.3"]), is_private(["10.1.2.3", "8.8.8.8"])
    (True, False)
    """
    found = [ip_address(host) for host in hosts]
    return all(each.is_private and not each.is_unspecified for each in found)


class LibtorrentDht:
    """One DHT node. ``told`` is called with what a search finds, several times for each."""

    def __init__(self, settings: Mapping[str, Any], told: Told) -> None:
        self._libtorrent = import_libtorrent()
        self._settings = dict(settings)
        self._told = told
        self._session: libtorrent.session | None = None
        self._bell, self._bell_rope = socket.socketpair()
        self._listening: asyncio.Future[None] | None = None
        self.peers: tuple[str, ...] = ()
        """Where our DHT node listens."""

    def attach(self, driver: Driver[Any]) -> None:
        """Carry out the orders of the machine that ``driver`` runs."""
        driver.on(AddNodes, lambda order: self.add_nodes(map(parse_peer, order.peers)))
        driver.on(Announce, lambda order: self.announce(order.target, order.port))
        driver.on(AskTableSize, lambda order: self.ask_table_size())
        driver.on(SearchPeers, lambda order: self.search(order.target))

    # ---- come and go

    async def start(self) -> None:
        """Open the sockets; :class:`ConfigError` says why that did not work."""
        loop = asyncio.get_running_loop()
        self._listening = loop.create_future()
        for end in (self._bell, self._bell_rope):
            end.setblocking(False)
        category = self._libtorrent.alert_category
        mask = category.status | category.error | category.dht_operation
        mask |= self._settings.pop("alert_mask", 0)
        session: libtorrent.session = await asyncio.to_thread(
            self._libtorrent.session, {**self._settings, "alert_mask": mask}
        )
        loop.add_reader(self._bell, self._rung)
        session.set_alert_fd(self._bell_rope.fileno())
        self._session = session
        del session
        # What it said before it knew whom to ring.
        self._read_alerts()
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await self._listening
        except TimeoutError:
            await self.close()
            raise ConfigError("main_dht_listen", "libtorrent did not begin to listen") from None
        except ConfigError:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session and its threads."""
        session, self._session = self._session, None
        if session is not None:
            asyncio.get_running_loop().remove_reader(self._bell)
            # libtorrent waits for its threads when the last one lets go of the session.
            await asyncio.to_thread(_let_go, [session])
            del session
        self._bell.close()
        self._bell_rope.close()

    # ---- what it can do

    def add_nodes(self, nodes: Iterable[tuple[str, int]]) -> None:
        """Tell it of nodes of the DHT; each is asked, and taken into the table if it answers."""
        if self._session is not None:
            for node in nodes:
                self._session.add_dht_node(node)

    def announce(self, info_hash: bytes, port: int) -> None:
        """Search for who was announced, and announce this ``port`` of ours."""
        if self._session is not None:
            self._session.dht_announce(self._libtorrent.sha1_hash(info_hash), port)

    def search(self, info_hash: bytes) -> None:
        """Search for who was announced, and say nothing of ourselves."""
        if self._session is not None:
            self._session.dht_get_peers(self._libtorrent.sha1_hash(info_hash))

    def ask_table_size(self) -> None:
        """Ask how many nodes its routing tables have; each table that has any tells."""
        if self._session is not None:
            self._session.post_dht_stats()

    # ---- what it says

    def _rung(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.recv(4096)
        self._read_alerts()

    def _read_alerts(self) -> None:
        if self._session is None:
            return
        for alert in self._session.pop_alerts():
            self._heard(alert)

    def _heard(self, alert: libtorrent.alert) -> None:
        module = self._libtorrent
        if isinstance(alert, module.dht_get_peers_reply_alert):
            self._found(alert)
        elif isinstance(alert, module.dht_stats_alert):
            self._told(TableSize(sum(bucket["num_nodes"] for bucket in alert.routing_table)))
        elif isinstance(alert, module.listen_succeeded_alert):
            self._opened(alert)
        elif isinstance(alert, module.listen_failed_alert):
            self._not_opened(alert)

    def _found(self, alert: libtorrent.dht_get_peers_reply_alert) -> None:
        found = tuple(peer_text(host, port) for host, port in alert.peers() if port)
        if found:
            self._told(PeersFound(alert.info_hash.to_bytes(), found))

    def _opened(self, alert: libtorrent.listen_succeeded_alert) -> None:
        kinds = self._libtorrent.socket_type_t
        # It names the socket of the DHT after the other protocol that it carries.
        if alert.socket_type not in (kinds.udp, kinds.utp) or not alert.port:
            return
        self.peers = (*self.peers, peer_text(alert.address, alert.port))
        if self._listening is not None and not self._listening.done():
            self._listening.set_result(None)

    def _not_opened(self, alert: libtorrent.listen_failed_alert) -> None:
        if self._listening is not None and not self._listening.done():
            problem = f"libtorrent cannot listen: {alert.message()}"
            self._listening.set_exception(ConfigError("main_dht_listen", problem))


def _let_go(held: list[Any]) -> None:
    held.clear()
