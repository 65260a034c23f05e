"""The ways to find peers of a live node, and what they need of it: sockets, a file, somebody who
hears what went wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from rumormill.core.trace import DROPPED, IGNORED, type_of_field
from rumormill.libp2p.discovery.effects import OfSockets, SendDatagram
from rumormill.libp2p.discovery.events import DISCOVERY_FAILED
from rumormill.libp2p.discovery.mdns.way import Mdns
from rumormill.libp2p.discovery.remembered import Remembered
from rumormill.libp2p.live.discovery import make_discovery, way_of
from rumormill.libp2p.live.local_network import LocalNetwork
from rumormill.libp2p.live.peers_file import PeersFile
from rumormill.libp2p.live.settings import Libp2pSettings
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.live.driver import Driver


class Emit(Protocol):
    """Adds a trace event of the node."""

    def __call__(self, event: str, **fields: type_of_field) -> None:
        """At this time."""
        ...


class Finding:
    """The discovery of one node, and its hands."""

    def __init__(self, settings: Libp2pSettings, identity: PrivateKey, pubsub: Pubsub) -> None:
        """Reads the file of peers; :class:`ConfigError` if that must not be used."""
        path = settings.live.remember_peers
        self._file = None if path is None else PeersFile(path)
        remembered = () if self._file is None else self._file.peers
        self.machine = make_discovery(settings, identity, pubsub, remembered)
        """None where nobody is to be found but those whom the user named."""
        self._local: LocalNetwork | None = None

    def attach(self, driver: Driver[OfSockets], emit: Emit) -> None:
        """Carry out what the machine wants of sockets."""
        self._now, self._emit = driver.now, emit
        if way_of(self.machine, Mdns) is not None:
            self._local = LocalNetwork(driver.feed, self._datagram_lost, self._no_link)
            driver.on(SendDatagram, self._local.send)

    def start(
        self, bound: Sequence[str], at_close: Callable[[Callable[[], Awaitable[None]]], None]
    ) -> None:
        """Begin, now that it is known where we listen."""
        if self._local is not None:
            self._local.start(bound)
        remembered = way_of(self.machine, Remembered)
        if self._file is not None and remembered is not None:
            if self._file.problem:
                self._emit(IGNORED, reason="bad_peers_file", detail=self._file.problem)
            self._file.start(lambda: remembered.state(self._now()), self._not_saved)
            at_close(self._file.close)

    def leave(self) -> None:
        """Take leave of those who are near."""
        if self._local is not None:
            self._local.close()

    # ---- what goes wrong

    def _datagram_lost(self, reason: str, link: str | None, count: int) -> None:
        self._emit(DROPPED, what="datagram", reason=reason, count=count, link=link)

    def _no_link(self, problem: str) -> None:
        self._emit(DISCOVERY_FAILED, way=Mdns.name, reason="no_link", detail=problem)

    def _not_saved(self, error: OSError) -> None:
        """Who we know could not be written: it is tried again."""
        self._emit(DROPPED, what="peers", reason="not_saved", detail=str(error), count=1)
