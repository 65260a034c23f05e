"""A main DHT of our own: ten libtorrent nodes on loopback, which know each other and nobody else.

Each has an address of its own, in a corner of 127.0.0.0/8 that is drawn by lot, so that test
processes do not meet.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import random
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pytest

from rumormill.bep50.live.libtorrent_dht import LibtorrentDht, session_settings
from rumormill.bep50.main_dht.effects import PeersFound, TableSize
from rumormill.bep50.wire.addresses import parse_peer
from rumormill.bep50.wire.bencode import encode
from tests.helpers.interop.dht_peer import StoredValue
from tests.helpers.interop.real_peers import missing_peer

if TYPE_CHECKING:
    import libtorrent

NODES = 10
PATIENCE = 30.0


class LibtorrentNode(LibtorrentDht):
    """One node; reads and puts items as the applications on libtorrent do."""

    def __init__(self, host: str) -> None:
        settings = session_settings(f"{host}:0", public=False, private=True)
        self._waiting: list[tuple[bytes, bytes, int, asyncio.Future[Any]]] = []
        self._announced: dict[bytes, dict[str, None]] = {}
        self.size = 0
        super().__init__(settings, self._note)
        self._settings["alert_mask"] = self._libtorrent.alert_category.dht

    @property
    def peer(self) -> str:
        return self.peers[0]

    async def put(self, seed: bytes, public_key: bytes, text: bytes, salt: bytes = b"") -> int:
        """Put a string; libtorrent chooses the number. Returns how many nodes took it."""
        assert self._session is not None
        stored = self._expect(public_key, salt, at_least=-1)
        self._session.dht_put_mutable_item(libtorrent_secret(seed), public_key, text, salt)
        answer: libtorrent.dht_put_alert = await asyncio.wait_for(stored, PATIENCE)
        return answer.num_success

    async def get(self, public_key: bytes, salt: bytes = b"", *, at_least: int = 0) -> StoredValue:
        """The first value that it finds with a number that is high enough."""
        assert self._session is not None
        found = self._expect(public_key, salt, at_least)
        self._session.dht_get_mutable_item(public_key, salt)
        alert: libtorrent.dht_mutable_item_alert = await asyncio.wait_for(found, PATIENCE)
        return StoredValue(alert.seq, encode(_plain(alert.item)))

    async def poll(self, public_key: bytes, salt: bytes = b"", *, at_least: int) -> StoredValue:
        """Ask again and again until the value is there: what a reader of BEP 46 does."""
        assert self._session is not None
        found = self._expect(public_key, salt, at_least)
        async with asyncio.timeout(PATIENCE):
            while not found.done():
                self._session.dht_get_mutable_item(public_key, salt)
                await asyncio.wait([found], timeout=0.5)
        alert: libtorrent.dht_mutable_item_alert = await found
        return StoredValue(alert.seq, encode(_plain(alert.item)))

    def announced(self, target: bytes) -> Sequence[str]:
        """What its own searches found under the target."""
        return list(self._announced.get(target, ()))

    def search(self, target: bytes) -> None:
        """Search for who was announced."""
        assert self._session is not None
        self._session.dht_get_peers(self._libtorrent.sha1_hash(target))

    def _note(self, told: PeersFound | TableSize) -> None:
        if isinstance(told, TableSize):
            self.size = max(self.size, told.nodes)
        else:
            self._announced.setdefault(told.target, {}).update(dict.fromkeys(told.peers))

    def _expect(self, public_key: bytes, salt: bytes, at_least: int) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((public_key, salt, at_least, future))
        return future

    def _heard(self, alert: libtorrent.alert) -> None:
        module = self._libtorrent
        if isinstance(alert, module.dht_put_alert):
            self._answer(alert.public_key, alert.salt, -1, alert)
        elif isinstance(alert, module.dht_mutable_item_alert) and alert.item is not None:
            self._answer(alert.key, alert.salt, alert.seq, alert)
        else:
            super()._heard(alert)

    def _answer(self, public_key: bytes, salt: bytes, seq: int, alert: Any) -> None:
        kept = []
        for wanted in self._waiting:
            key, wanted_salt, at_least, future = wanted
            # A put (-1) is answered by a put alone.
            fits = seq >= at_least and (seq < 0) == (at_least < 0)
            if (key, wanted_salt) == (bytes(public_key), bytes(salt)) and fits:
                if not future.done():
                    future.set_result(alert)
            else:
                kept.append(wanted)
        self._waiting = kept


class PrivateDht:
    """The ten nodes, made and joined by entering the context; with IPv6 all on one address."""

    def __init__(self, ipv6: bool = False) -> None:
        require_libtorrent()
        self._corner = f"127.{random.randrange(1, 255)}.{random.randrange(256)}"
        hosts = [f"{self._corner}.{number + 1}" for number in range(NODES)]
        self.nodes = [LibtorrentNode("[::1]" if ipv6 else host) for host in hosts]

    @property
    def peers(self) -> list[str]:
        """The addresses of all nodes."""
        return [node.peer for node in self.nodes]

    def host(self, number: int) -> str:
        """Another address in the same corner, for nodes of the test itself."""
        return f"{self._corner}.{100 + number}"

    async def __aenter__(self) -> Self:
        await asyncio.gather(*(node.start() for node in self.nodes))
        everybody = [parse_peer(node.peer) for node in self.nodes]
        async with asyncio.timeout(PATIENCE):
            while True:
                for node in self.nodes:
                    node.add_nodes(each for each in everybody if each != parse_peer(node.peer))
                    node.ask_table_size()
                await asyncio.sleep(0.1)
                if min(node.size for node in self.nodes) >= len(self.nodes) - 1:
                    return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.gather(*(node.close() for node in self.nodes))


def require_libtorrent() -> None:
    """Skip or fail the test by name where there is no libtorrent, or no second loopback address."""
    if importlib.util.find_spec("libtorrent") is None:
        missing_peer("libtorrent peer: libtorrent is not installed")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.1.2.3", 0))
        except OSError:
            missing_peer("libtorrent peer: this system has no loopback addresses but 127.0.0.1")


def require_ipv6() -> None:
    """Skip the test on a machine that has no IPv6: not even loopback."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")


def libtorrent_secret(seed: bytes) -> bytes:
    """The secret key as libtorrent keeps it: the expanded seed."""
    expanded = bytearray(hashlib.sha512(seed).digest())
    expanded[0] &= 248
    expanded[31] &= 63
    expanded[31] |= 64
    return bytes(expanded)


def _plain(entry: Any) -> Any:
    """A value of libtorrent with bytes for all texts."""
    if isinstance(entry, str):
        return entry.encode()
    if isinstance(entry, dict):
        return {_plain(key): _plain(value) for key, value in entry.items()}
    if isinstance(entry, list):
        return [_plain(each) for each in entry]
    return entry
