"""What ``refuse_replays`` remembers, in a file: a restart does not make old messages new."""

from __future__ import annotations

import asyncio
import stat
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumormill
from rumormill import ConfigError, Libp2pNetwork
from rumormill.libp2p.live import author_file
from rumormill.libp2p.live.author_file import MAGIC, AuthorFile, decode_authors, encode_authors
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.signing import signed_message
from tests.helpers.libp2p.workbench import identity

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
AUTHOR = identity("author")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "authors"


# ---- the file


@given(st.dictionaries(st.binary(max_size=60), st.integers(0, 2**64 - 1), max_size=20))
def test_what_is_written_is_read(numbers: dict[bytes, int]) -> None:
    ordered = OrderedDict(numbers)
    assert list(decode_authors(encode_authors(ordered)).items()) == list(ordered.items())


@given(st.binary(max_size=80))
def test_whatever_the_file_holds_it_is_read_or_refused(tail: bytes) -> None:
    try:
        numbers = decode_authors(MAGIC + tail)
    except ValueError:
        return
    assert all(0 <= number < 2**64 for number in numbers.values())


async def test_it_is_there_again_for_the_next_one(path: Path) -> None:
    first = AuthorFile(path, most=10)
    assert isinstance(first, AuthorStore)
    first.reached(b"ann", 7)
    first.reached(b"ann", 9)
    await first.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = AuthorFile(path, most=10)
    assert (second.highest(b"ann"), second.highest(b"bob")) == (9, None)


async def test_it_is_bounded_and_who_was_heard_last_stays(path: Path) -> None:
    store = AuthorFile(path, most=2)
    for author in (b"a", b"b", b"a", b"c"):
        store.reached(author, 7)
    store.reached(bytes(5000), 7)
    assert len(store) == 2 and store.highest(b"b") is None
    await store.close()
    assert list(decode_authors(path.read_bytes())) == [b"a", b"c"]
    assert len(AuthorFile(path, most=1)) == 1, "fewer than there were"


async def test_nothing_is_written_unless_something_changed(path: Path) -> None:
    store = AuthorFile(path, most=10)
    await store.save()
    assert not path.exists()
    store.reached(b"ann", 7)
    await store.save()
    path.unlink()
    await store.save()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"something else", MAGIC + b"\x05ann", MAGIC + b"\xff"])
def test_another_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=r"replay_store: .* is no file of authors"):
        AuthorFile(path, most=10)
    assert path.read_bytes() == content


async def test_what_cannot_be_written_is_told_and_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(author_file, "INTERVAL", 0.01)
    store, failures = AuthorFile(path, most=10), asyncio.Queue[OSError]()
    store.reached(b"ann", 7)
    path.mkdir()
    store.start(failures.put_nowait)
    await asyncio.wait_for(failures.get(), 10)
    path.rmdir()
    await store.close()
    assert AuthorFile(path, most=10).highest(b"ann") == 7


# ---- a node


@pytest.mark.parametrize("store", ["authors", 7])
def test_a_store_needs_to_be_one_and_of_use(store: Any) -> None:
    with pytest.raises(ConfigError, match="replay_store"):
        rumormill.open("gossipsub", replay_store=store)


async def sent(node: Libp2pNetwork, relay: Libp2pNetwork, author: PrivateKey, *numbers: int) -> int:
    """Let a relay send messages of an author, then wait until the last one is there.

    How many were ignored as replays.
    """
    async with node.subscribe("weather") as messages:
        await relay.connect(node.addresses[0])
        await relay.wait_for_peers("weather", timeout=10)
        for number in numbers:
            message = signed_message(author, b"%d" % number, ("weather",), number)
            relay._pubsub.outbox.message(node.id, message)
        relay._driver.wake()
        while (await messages.get(timeout=10)).data != b"%d" % numbers[-1]:
            pass
    return node.counters["ignored.replay"]


async def test_a_node_that_is_opened_again_ignores_what_it_had_before(path: Path) -> None:
    settings: dict[str, Any] = {
        "listen": LOOPBACK, "refuse_replays": True, "replay_store": path, "close_timeout": 2.0,
    }  # fmt: skip
    async with rumormill.open("floodsub", listen=LOOPBACK) as relay:
        async with rumormill.open("floodsub", **settings) as node:
            assert await sent(node, relay, AUTHOR, 7, 8) == 0
        async with rumormill.open("floodsub", **settings) as node:
            assert await sent(node, relay, AUTHOR, 7, 8, 9) == 2
    assert decode_authors(path.read_bytes()) == {AUTHOR.peer_id: 9}
