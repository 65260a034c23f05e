"""Topics with descriptors on live networks: keys and trust out of files, and what is told."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill import (
    ConfigError,
    Libp2pNetwork,
    LocalProtocolError,
    Message,
    TopicDescriptor,
    TopicFile,
)
from rumormill.libp2p.descriptor.shared_keys import new_keys
from rumormill.libp2p.live import topic_watch
from rumormill.libp2p.live.key_file import create_key
from rumormill.libp2p.live.topic_file import KEYS, TRUST, keys_content, load_edges, load_topic
from rumormill.libp2p.live.topic_maker import change_trust, create_topic, rotate_topic
from rumormill.live.family import TopicWish, TrustWish

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


@pytest.fixture(autouse=True)
def quick_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_watch, "INTERVAL", 0.05)


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Key files of ann, bob and cid: their peer ids."""
    return {name: create_key(tmp_path / f"{name}.key").peer for name in ("ann", "bob", "cid")}


def made(folder: Path, **wish: Any) -> TopicFile:
    """A new topic that ann may publish on."""
    out = folder / "weather.topic"
    create_topic(TopicWish("weather", out, publishers=(str(folder / "ann.key"),), **wish))
    return load_topic(out)


@asynccontextmanager
async def nodes(folder: Path, *names: str, **settings: Any) -> AsyncIterator[list[Libp2pNetwork]]:
    """Networks with the keys of these, each connected to the one before."""
    opened: list[Libp2pNetwork] = []
    try:
        for name in names:
            network = await rumormill.open(
                "gossipsub", listen=LOOPBACK, key_file=folder / f"{name}.key",
                heartbeat_interval=0.1, **settings,
            )  # fmt: skip
            if opened:
                await network.connect(opened[-1].addresses[0])
            opened.append(network)
        yield opened
    finally:
        await asyncio.gather(*(network.close() for network in opened))


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_private_topic_is_used_like_any_other_and_an_outsider_cannot_read_it(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="key", encryption="shared-key", keys=1)
    async with nodes(tmp_path, "ann", "bob", "cid") as (ann, outsider, cid):
        seen, messages = outsider.subscribe(topic.topic_id), cid.subscribe(topic)
        await until(lambda: outsider.mesh(topic.topic_id) == (cid.id,))
        await ann.publish(topic, b"rain at noon", ready=10)
        message = await messages.get(timeout=10)
        assert (message.data, message.sender) == (b"rain at noon", keys["ann"])
        assert message.topic == topic.topic_id
        assert b"rain" not in (await seen.get(timeout=10)).data
        with pytest.raises(LocalProtocolError, match="may not publish"):
            await cid.publish(topic, b"snow")
        await outsider.publish(topic.topic_id, b"snow")
        await until(lambda: cid.counters["rejected.untrusted_author"])
        receipts = await ann.publish_many(topic, [b"1", b"2", b"3"])
        assert len(receipts) == 3
        assert sorted([(await messages.get(timeout=10)).data for _ in "123"]) == [b"1", b"2", b"3"]


async def test_a_descriptor_alone_is_enough_to_relay_and_not_to_read(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="key", encryption="shared-key", keys=1)
    async with nodes(tmp_path, "ann", "bob", "cid") as (ann, relay, cid):
        with pytest.raises(LocalProtocolError, match="none of its keys is here"):
            relay.subscribe(topic.descriptor)
        async with relay.relay(topic.descriptor), cid.subscribe(topic) as messages:
            await until(lambda: relay.mesh(topic) == (cid.id,))
            await ann.publish(topic, b"rain", ready=10)
            assert (await messages.get(timeout=10)).data == b"rain"
            await cid.wait_for_peers(topic, timeout=10)
            assert cid.subscribers(topic) == (relay.id,)


async def test_trust_and_revocation_reach_other_nodes_and_their_files(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="wot")
    other = tmp_path / "other"
    other.mkdir()
    theirs = TopicFile(other / "weather.topic", topic.descriptor)
    async with nodes(tmp_path, "ann", "bob") as (ann, bob):
        messages, _ = ann.subscribe(topic), bob.subscribe(theirs)
        with pytest.raises(LocalProtocolError, match="trusts it not"):
            await bob.publish(theirs, b"snow")
        ann.trust(topic, keys["bob"], until=time.time() + 600)
        await until(lambda: keys["bob"] in bob.trusted(theirs))
        await bob.publish(theirs, b"snow", ready=10)
        assert (await messages.get(timeout=10)).data == b"snow"
        ann.revoke(topic, keys["bob"])
        await until(lambda: keys["bob"] not in bob.trusted(theirs))
        with pytest.raises(LocalProtocolError, match="trusts it not"):
            await bob.publish(theirs, b"snow")
        await until(lambda: load_edges(theirs.beside(TRUST), topic.descriptor))
    (edge,) = load_edges(theirs.beside(TRUST), topic.descriptor)
    assert edge.revokes
    async with nodes(tmp_path, "bob") as (bob,):
        bob.join(theirs)
        assert bob.trusted(theirs) == (keys["ann"],)  # it has not forgotten


async def test_whoever_is_trusted_elsewhere_hears_of_it_before_it_publishes(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="wot")
    async with nodes(tmp_path, "ann", "bob") as (ann, bob):
        messages = ann.subscribe(topic)
        ann.trust(topic, keys["bob"])
        # All that bob has is the descriptor, and ann's address.
        assert (await bob.publish(topic.descriptor, b"rain", ready=30)).reached
        assert (await messages.get(timeout=10)).data == b"rain"
        ann.revoke(topic, keys["bob"])
        await until(lambda: keys["bob"] not in bob.trusted(topic.descriptor))
        with pytest.raises(LocalProtocolError, match="trusts it not"):
            await bob.publish(topic.descriptor, b"snow", ready=0.1)


async def test_what_the_commands_write_is_noticed_by_a_node_that_runs(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="wot", encryption="shared-key", keys=2)
    async with nodes(tmp_path, "ann", "bob") as (ann, bob):
        theirs, messages = ann.subscribe(topic), bob.subscribe(topic)
        change_trust(TrustWish(topic.path, tmp_path / "ann.key", keys["bob"], time.time() + 600))
        await until(lambda: keys["bob"] in ann.trusted(topic))
        await until(lambda: keys["bob"] in bob.trusted(topic))
        await bob.publish(topic, b"under the first key", ready=10)
        assert (await theirs.get(timeout=10)).data == b"under the first key"
        rotate_topic(topic.path)
        await until(lambda: ann.counters["key_learned"] >= 2 and bob.counters["key_learned"] >= 2)
        await ann.publish(topic, b"under the second key")
        assert (await messages.get(timeout=10)).data == b"under the first key"
        assert (await messages.get(timeout=10)).data == b"under the second key"


async def test_messages_of_trusted_peers_alone_can_read_each_other(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="wot", encryption="wot").descriptor
    async with nodes(tmp_path, "ann", "bob", "cid") as (ann, bob, cid):
        own, read, unread = ann.subscribe(topic), bob.subscribe(topic), cid.subscribe(topic)
        await until(lambda: len(bob.mesh(topic)) == len(bob.mesh(f"{topic.topic_id}/trust")) == 2)
        ann.trust(topic, keys["bob"])
        await until(lambda: keys["bob"] in cid.trusted(topic))
        await ann.publish(topic, b"for bob", ready=10)
        await bob.publish(topic, b"for ann", ready=10)
        assert {(await read.get(timeout=10)).data for _ in "12"} == {b"for bob", b"for ann"}
        assert {(await own.get(timeout=10)).data for _ in "12"} == {b"for bob", b"for ann"}
        await until(lambda: cid.counters["relayed"] >= 2)
        with pytest.raises(TimeoutError):
            await unread.get(timeout=0.2)


async def test_a_validator_sees_what_can_be_read(tmp_path: Path, keys: dict[str, str]) -> None:
    topic = made(tmp_path, auth="key", encryption="shared-key", keys=1)
    judged: list[bytes] = []

    def short(message: Message) -> bool:
        judged.append(message.data)
        return len(message.data) < 10

    async with nodes(tmp_path, "ann", "bob") as (ann, bob):
        messages = bob.subscribe(topic)
        bob.add_validator(topic, short)
        await ann.publish(topic, b"far too long", ready=10)
        await ann.publish(topic, b"short")
        assert (await messages.get(timeout=10)).data == b"short"
        assert judged == [b"far too long", b"short"]
        assert bob.counters["rejected.validator"] == 1


async def test_a_topic_with_a_descriptor_has_no_parts(tmp_path: Path, keys: dict[str, str]) -> None:
    topic = made(tmp_path, auth="key")
    async with nodes(tmp_path, "ann", partial_messages=True) as (ann,):
        ann.join(topic)
        with pytest.raises(LocalProtocolError, match="no parts of it"):
            ann.partial_topic(topic.topic_id)


async def test_what_is_no_topic_is_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    async with nodes(tmp_path, "ann") as (ann,):
        with pytest.raises(LocalProtocolError, match="a text or a descriptor"):
            ann.subscribe(7)  # type: ignore[arg-type]
        with pytest.raises(LocalProtocolError, match="in the future"):
            ann.trust(made(tmp_path, auth="wot"), keys["bob"], until=1.0)


# ---- files


def test_keys_that_others_can_read_are_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    topic = made(tmp_path, auth="key", encryption="shared-key", keys=1)
    assert oct(topic.beside(KEYS).stat().st_mode)[-3:] == "600"
    topic.beside(KEYS).chmod(0o644)
    with pytest.raises(ConfigError, match="can be read or changed by others"):
        load_topic(topic.path)


def test_a_topic_that_others_can_change_is_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    topic = made(tmp_path, auth="key")
    topic.path.chmod(0o666)
    with pytest.raises(ConfigError, match="can be changed by others"):
        load_topic(topic.path)
    topic.path.chmod(0o644)
    assert load_topic(topic.path).topic_id == topic.topic_id


def test_a_file_whose_id_is_not_the_descriptors_is_refused(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="key")
    other = TopicDescriptor("another").topic_id
    topic.path.write_text(topic.path.read_text().replace(topic.topic_id, other))
    with pytest.raises(ConfigError, match="holds no topic: bad_descriptor: it is the one of"):
        load_topic(topic.path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", 'with "type": "topic"'),
        ('{"type": "ed25519"}', 'with "type": "topic"'),
        ('{"type": "topic"}', "holds no topic"),
        ('{"type": "topic", "topic": "x", "descriptor": "?"}', "is not base64"),
        ('{"type": "topic", "topic": "x", "descriptor": 7}', "is missing"),
        ('{"type": "topic", "topic": "x", "descriptor": "/w=="}', "bad_descriptor"),
    ],
)
def test_what_is_no_topic_file_is_told_in_a_sentence(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "weather.topic"
    path.write_text(content)
    with pytest.raises(ConfigError, match=words) as raised:
        load_topic(path)
    assert raised.value.key == "topic_file" and str(path) in str(raised.value)
    with pytest.raises(ConfigError, match="there is no file"):
        load_topic(tmp_path / "none.topic")


def test_keys_and_trust_of_another_topic_are_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    topic = made(tmp_path, auth="wot", encryption="shared-key", keys=1)
    change_trust(TrustWish(topic.path, tmp_path / "ann.key", keys["bob"], time.time() + 60))
    (edge,) = load_edges(topic.beside(TRUST), topic.descriptor)
    another = TopicDescriptor("another")
    with pytest.raises(ConfigError, match="belongs to another topic"):
        load_edges(topic.beside(TRUST), another)
    secret, _ = new_keys(1, random.Random(1))
    os.unlink(topic.beside(KEYS))
    topic.beside(KEYS).touch(0o600)
    topic.beside(KEYS).write_bytes(keys_content(topic.descriptor, secret))
    with pytest.raises(ConfigError, match="none of those that the topic lists"):
        load_topic(topic.path)
    text = topic.beside(TRUST).read_text()
    forged = edge._replace(sequence=edge.sequence + 1)
    old, new = (base64.b64encode(each.encode()).decode() for each in (edge, forged))
    topic.beside(TRUST).write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match="is not signed by its issuer"):
        load_edges(topic.beside(TRUST), topic.descriptor)


async def test_a_file_that_goes_bad_while_a_node_runs_is_counted_and_costs_nothing(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    topic = made(tmp_path, auth="wot")
    async with nodes(tmp_path, "ann") as (ann,):
        messages = ann.subscribe(topic)
        topic.beside(TRUST).write_text("nonsense")
        await until(lambda: ann.counters["dropped.not_read_or_saved"])
        await ann.publish(topic, b"rain")
        assert (await messages.get(timeout=10)).data == b"rain"
        topic.beside(TRUST).unlink()
