"""libtorrent's DHT node on the event loop, with real sessions on loopback."""

from __future__ import annotations

import asyncio

import pytest

from rumormill.bep50.live.libtorrent_dht import LibtorrentDht, session_settings
from rumormill.bep50.main_dht.effects import (
    AddNodes,
    Announce,
    AskTableSize,
    LibtorrentOrder,
    PeersFound,
    SearchPeers,
    TableSize,
)
from rumormill.core.errors import ConfigError
from rumormill.live.driver import Driver
from tests.helpers.core.notebook import Notebook
from tests.helpers.interop.private_dht import require_ipv6, require_libtorrent

PATIENCE = 30.0
TARGET = b"t" * 20


@pytest.fixture(autouse=True)
def libtorrent() -> None:
    require_libtorrent()


class Reports:
    """What a node has told."""

    def __init__(self) -> None:
        self.size = 0
        self.found: list[PeersFound] = []

    def __call__(self, told: PeersFound | TableSize) -> None:
        if isinstance(told, TableSize):
            self.size = max(self.size, told.nodes)
        else:
            self.found.append(told)


def node(listen: str, told: Reports | None = None) -> LibtorrentDht:
    return LibtorrentDht(session_settings(listen, public=False, private=True), told or Reports())


def order(made: LibtorrentDht, wanted: LibtorrentOrder) -> None:
    machine = Notebook()
    driver = Driver(machine)
    made.attach(driver)
    driver.start()
    driver.feed([wanted])
    driver.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
async def test_who_announced_himself_is_found_by_another(host: str) -> None:
    if host == "[::1]":
        require_ipv6()
    reports = [Reports(), Reports()]
    nodes = [node(f"{host}:0", each) for each in reports]
    try:
        for each in nodes:
            await each.start()
        async with asyncio.timeout(PATIENCE):
            while not all(each.size for each in reports):
                for each, other in (nodes, nodes[::-1]):
                    order(each, AddNodes(other.peers[:1]))
                    order(each, AskTableSize())
                await asyncio.sleep(0.01)
            order(nodes[0], Announce(TARGET, 7001))
            # The first search may come before the announcement has arrived.
            while not reports[1].found:
                order(nodes[1], SearchPeers(TARGET))
                await asyncio.sleep(0.05)
        assert reports[1].found[0] == PeersFound(TARGET, (f"{host}:7001",))
    finally:
        for each in nodes:
            await each.close()


async def test_an_address_that_is_not_ours_is_told_with_the_key() -> None:
    with pytest.raises(ConfigError, match=r"main_dht_listen: libtorrent cannot .*192\.0\.2\.1"):
        await node("192.0.2.1:0").start()


async def test_nothing_happens_before_the_start_and_after_the_end() -> None:
    told = Reports()
    made = node("127.0.0.1:0", told)
    orders: list[LibtorrentOrder] = [
        Announce(TARGET, 7001), SearchPeers(TARGET), AskTableSize(), AddNodes(("127.0.0.1:6881",)),
    ]  # fmt: skip
    for each in orders:
        order(made, each)
    await made.start()
    await made.close()
    for each in orders:
        order(made, each)
    await made.close()
    assert (told.size, told.found) == (0, [])


def test_a_private_dht_asks_no_public_node() -> None:
    assert session_settings("127.0.0.1:0", public=False)["dht_bootstrap_nodes"] == ""
    assert "dht_bootstrap_nodes" not in session_settings("0.0.0.0:0", public=True)
    restricted = session_settings("0.0.0.0:0", public=True)
    assert "dht_restrict_routing_ips" not in restricted
