"""libtorrent's DHT node on the event loop, with real sessions on loopback."""

from __future__ import annotations

import asyncio

import pytest

from rumormill.bep50.live.libtorrent_dht import LibtorrentDht, session_settings
from rumormill.bep50.wire.addresses import parse_peer
from rumormill.core.errors import ConfigError
from tests.helpers.interop.private_dht import require_ipv6, require_libtorrent

PATIENCE = 30.0
TARGET = b"t" * 20


@pytest.fixture(autouse=True)
def libtorrent() -> None:
    require_libtorrent()


def node(listen: str, found: asyncio.Queue[str] | None = None) -> LibtorrentDht:
    def on_peers(target: bytes, peers: tuple[str, ...]) -> None:
        assert target == TARGET
        for peer in peers:
            if found is not None:
                found.put_nowait(peer)

    return LibtorrentDht(session_settings(listen, public=False, private=True), on_peers)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
async def test_who_announced_himself_is_found_by_another(host: str) -> None:
    if host == "[::1]":
        require_ipv6()
    found: asyncio.Queue[str] = asyncio.Queue()
    nodes = [node(f"{host}:0"), node(f"{host}:0", found)]
    try:
        for each in nodes:
            await each.start()
        for each, other in (nodes, nodes[::-1]):
            each.add_nodes([parse_peer(other.peers[0])])
        async with asyncio.timeout(PATIENCE):
            while not await nodes[1].table_size() or not await nodes[0].table_size():
                await asyncio.sleep(0.01)
            nodes[0].announce(TARGET, 7001)
            # The first search may come before the announcement has arrived.
            while found.empty():
                nodes[1].announce(TARGET, 7002)
                await asyncio.sleep(0.05)
        assert found.get_nowait() == f"{host}:7001"
    finally:
        for each in nodes:
            await each.close()


async def test_an_address_that_is_not_ours_is_told_with_the_key() -> None:
    with pytest.raises(ConfigError, match=r"main_dht_listen: libtorrent cannot .*192\.0\.2\.1"):
        await node("192.0.2.1:0").start()


async def test_nothing_happens_before_the_start_and_after_the_end() -> None:
    made = node("127.0.0.1:0")
    made.announce(TARGET, 7001)
    assert await made.table_size() == 0
    await made.start()
    await made.close()
    made.announce(TARGET, 7001)
    made.add_nodes([("127.0.0.1", 6881)])
    assert await made.table_size() == 0
    await made.close()


def test_a_private_dht_asks_no_public_node() -> None:
    assert session_settings("127.0.0.1:0", public=False)["dht_bootstrap_nodes"] == ""
    assert "dht_bootstrap_nodes" not in session_settings("0.0.0.0:0", public=True)
    restricted = session_settings("0.0.0.0:0", public=True)
    assert "dht_restrict_routing_ips" not in restricted
