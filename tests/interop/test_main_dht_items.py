"""Items on the main DHT: libtorrent and bittorrent-dht read what we put, and we read theirs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from tests.helpers.bep50.main_dht_user import MainDhtUser
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.dht_peer import StartDhtPeer, StoredValue
from tests.helpers.interop.interop_matrix import BOTH, OURS, THEIRS, row
from tests.helpers.interop.private_dht import PrivateDht, libtorrent_secret, require_ipv6

pytestmark = pytest.mark.asyncio(loop_scope="module")

SALTS = [b"", b"weather", bytes(range(64))]
STRING = encode(b"rain at noon")
DICT = encode({b"ih": b"h" * 20, b"name": b"a torrent", b"parts": [1, 2, {b"deep": b""}]})
LARGEST = encode(b"x" * 995)
VALUES = {"string": STRING, "dict": DICT, "999 bytes": LARGEST}

every_salt = pytest.mark.parametrize("salt", SALTS, ids=["no salt", "salt", "64 bytes of salt"])
every_value = pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())


def every_kind(seed: bytes, seq: int) -> list[Item]:
    """An item for each salt, each with another value."""
    key = ItemKey.from_seed(seed)
    pairs = zip(SALTS, VALUES.values(), strict=True)
    return [key.item(salt, seq, value) for salt, value in pairs]


@pytest.fixture
def seed() -> bytes:
    return os.urandom(32)


@pytest.fixture
def key(seed: bytes) -> ItemKey:
    return ItemKey.from_seed(seed)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def us(private_dht: PrivateDht) -> AsyncIterator[MainDhtUser]:
    """Our client, which was told of one node."""
    async with MainDhtUser(private_dht.peers[:1]) as user:
        yield user


@asynccontextmanager
async def untouched_dht() -> AsyncIterator[tuple[PrivateDht, MainDhtUser]]:
    """Nodes that we have put nothing on yet.

    libtorrent takes whoever puts into its table, read-only or not, and its own puts then wait 15 s
    for the answer of our client, which gives none.
    """
    async with PrivateDht() as dht, MainDhtUser(dht.peers[:1]) as us:
        yield dht, us


# ---- libtorrent


@row(matrix.ITEMS, OURS, "libtorrent")
@every_salt
@every_value
async def test_libtorrent_reads_what_we_put(
    private_dht: PrivateDht, us: MainDhtUser, key: ItemKey, salt: bytes, value: bytes
) -> None:
    written = await us.write(key.item(salt, 7, value))
    assert (written.stored, written.refused, written.silent) == (8, {}, 0)
    found = await private_dht.nodes[4].get(key.public_key, salt)
    assert found == StoredValue(7, value)


@row(matrix.ITEMS, OURS, "libtorrent")
async def test_libtorrent_reads_what_we_put_over_ipv6(key: ItemKey) -> None:
    require_ipv6()
    item = key.item(b"salt", 7, DICT)
    async with PrivateDht(ipv6=True) as dht, MainDhtUser(dht.peers[:1]) as us:
        assert (await us.write(item)).stored == 8
        assert await us.read(key.public_key, b"salt") == item
        assert await dht.nodes[4].get(key.public_key, b"salt") == StoredValue(7, DICT)


@row(matrix.ITEMS, THEIRS, "libtorrent")
@every_salt
async def test_we_read_what_libtorrent_puts(seed: bytes, key: ItemKey, salt: bytes) -> None:
    async with untouched_dht() as (dht, us):
        # Its binding for Python puts strings only.
        assert await dht.nodes[3].put(seed, key.public_key, b"rain at noon", salt) == 8
        found = await us.read(key.public_key, salt)
    assert found is not None
    assert (found.value, found.seq, found.salt) == (STRING, 1, salt)


@row(matrix.CAS, OURS, "libtorrent")
async def test_a_key_of_libtorrent_signs_for_us_too(seed: bytes, key: ItemKey) -> None:
    same = ItemKey.from_expanded(libtorrent_secret(seed))
    assert same.public_key == key.public_key
    async with untouched_dht() as (dht, us):
        assert await dht.nodes[0].put(seed, key.public_key, b"snow") == 8
        assert (await us.write(same.item(b"", 2, STRING), cas=1)).stored == 8
        assert await dht.nodes[1].get(key.public_key, at_least=2) == StoredValue(2, STRING)


@row(matrix.CAS, OURS, "libtorrent")
async def test_libtorrent_holds_us_to_compare_and_swap(us: MainDhtUser, key: ItemKey) -> None:
    # Where nothing is stored there is nothing to compare with.
    assert (await us.write(key.item(b"", 5, STRING), cas=1)).stored == 8
    assert (await us.write(key.item(b"", 6, STRING), cas=4)).refused == {301: 8}
    assert (await us.write(key.item(b"", 6, STRING), cas=5)).stored == 8


@row(matrix.CAS, OURS, "libtorrent")
async def test_libtorrent_says_why_it_refuses_a_put(us: MainDhtUser, key: ItemKey) -> None:
    forged = key.item(b"", 5, STRING)._replace(signature=bytes(64))
    assert (await us.write(forged)).refused == {206: 8}
    too_large = key.item(b"", 5, encode(b"x" * 997))
    assert (await us.write(too_large)).refused == {205: 8}
    assert await us.read(key.public_key) is None


@row(matrix.REPUT, OURS, "libtorrent")
async def test_a_repetition_keeps_the_value_and_a_newer_one_is_brought_back(
    seed: bytes, key: ItemKey
) -> None:
    async with untouched_dht() as (dht, us):
        assert await dht.nodes[2].put(seed, key.public_key, b"snow") == 8
        overtaken = await us.write(key.item(b"", 0, STRING), refresh=True)
        assert overtaken.newer == key.item(b"", 1, encode(b"snow"))
        assert (overtaken.stored, overtaken.refused) == (0, {})
        # Held by eight, and BEP 44 leaves a repetition out only if there are more.
        repeated = await us.write(overtaken.newer, refresh=True)
        assert (repeated.skipped, repeated.stored) == (False, 8)
        assert await us.read(key.public_key) == overtaken.newer


# ---- bittorrent-dht


@row(matrix.ITEMS, OURS, "bittorrent-dht")
async def test_bittorrent_dht_reads_what_we_put(start_dht_peer: StartDhtPeer, seed: bytes) -> None:
    async with untouched_dht() as (dht, us):
        for item in every_kind(seed, 7):
            assert (await us.write(item)).stored == 8
        webtorrent = await start_dht_peer(nodes=dht.peers[:3])
        for item in every_kind(seed, 7):
            assert await webtorrent.get(item.target, item.salt) == StoredValue(7, item.value)


@row(matrix.ITEMS, THEIRS, "bittorrent-dht")
async def test_we_read_what_bittorrent_dht_puts(start_dht_peer: StartDhtPeer, seed: bytes) -> None:
    async with untouched_dht() as (dht, us):
        webtorrent = await start_dht_peer(nodes=dht.peers[:3])
        for item in every_kind(seed, 9):
            assert await webtorrent.put(seed, 9, item.value, item.salt) >= 8
        for item in every_kind(seed, 9):
            assert await us.read(item.public_key, item.salt) == item


@row(matrix.IN_TURN, BOTH, "libtorrent bittorrent-dht")
async def test_three_implementations_write_one_item_in_turn(
    start_dht_peer: StartDhtPeer, seed: bytes, key: ItemKey
) -> None:
    async with untouched_dht() as (dht, us):
        assert await dht.nodes[6].put(seed, key.public_key, b"snow", b"s") == 8
        webtorrent = await start_dht_peer(nodes=dht.peers[:3])
        assert await webtorrent.put(seed, 2, DICT, b"s", cas=1) >= 8
        found = await us.read(key.public_key, b"s")
        assert found == key.item(b"s", 2, DICT)
        assert (await us.write(key.item(b"s", 3, LARGEST), cas=2)).stored == 8
        assert await webtorrent.get(found.target, b"s") == StoredValue(3, LARGEST)
        for node in dht.nodes:
            assert await node.get(key.public_key, b"s", at_least=3) == StoredValue(3, LARGEST)


# ---- a DHT of bittorrent-dht nodes alone: they answer `get` with a value and no nodes


@row(matrix.ITEMS, OURS, "bittorrent-dht")
@row(matrix.CAS, OURS, "bittorrent-dht")
async def test_bittorrent_dht_stores_what_we_put(
    start_dht_peer: StartDhtPeer, seed: bytes, key: ItemKey
) -> None:
    first = await start_dht_peer()
    others = [await start_dht_peer(nodes=first.addresses) for _ in range(2)]
    async with MainDhtUser(first.addresses) as us:
        for item in every_kind(seed, 3):
            assert (await us.write(item)).stored == 3
            assert await us.read(item.public_key, item.salt) == item
        refused = await us.write(key.item(b"", 4, STRING), cas=2)
        assert refused.refused == {301: 3}
    stored = every_kind(seed, 3)[0]
    for node in (first, *others):
        assert await node.get(stored.target) == StoredValue(3, stored.value)
