"""A private topic with a real peer in the middle: it relays what it cannot read.

Our nodes know each other only through the peer, which knows nothing of descriptors: to it these are
two topics like any other, and messages of bytes.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill import Libp2pNetwork, TopicDescriptor
from rumormill.libp2p.descriptor.commands import KnowTopic
from rumormill.libp2p.descriptor.control_message import SUFFIX
from rumormill.libp2p.descriptor.shared_keys import new_keys
from rumormill.libp2p.live.key_file import create_key
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import StartPeer
from tests.helpers.interop.interop_matrix import OURS, row
from tests.helpers.interop.our_node import LISTEN, PATIENCE, eventually
from tests.helpers.interop.peer_process import RouterPeer
from tests.helpers.interop.rust_peer import StartRustPeer

OPTIONS: dict[str, dict[str, Any]] = {
    "rust": {"heartbeat_initial_delay": 0.5, "heartbeat_interval": 0.5},
}
KEYS, HASHES = new_keys(2, random.Random(1))
in_the_middle = pytest.mark.parametrize("peer", ["rust", "js", "go"])

OpenOurs = Callable[[str], Awaitable[Libp2pNetwork]]


@pytest.fixture
async def open_ours(tmp_path: Path) -> AsyncIterator[OpenOurs]:
    """Opens nodes of ours by their names, and closes them after the test."""
    async with AsyncExitStack() as stack:

        async def open_one(name: str) -> Libp2pNetwork:
            return await stack.enter_async_context(
                rumormill.open("gossipsub", listen=LISTEN, key_file=tmp_path / f"{name}.key")
            )

        yield open_one


def ids(folder: Path, *names: str) -> tuple[str, ...]:
    return tuple(create_key(folder / f"{name}.key").peer for name in names)


def in_mesh(node: Libp2pNetwork, topic: str, peer: str) -> bool:
    return node.mesh(topic) == (peer,)


async def placed(
    start_peer: StartPeer, peer: str, topic: TopicDescriptor, *nodes: Libp2pNetwork
) -> RouterPeer:
    """The peer, in the middle of our nodes, each in its mesh of the topic."""
    topics = [topic.topic_id, topic.topic_id + SUFFIX]
    middle = await start_peer(
        topics=topics, message_id="origin_bytes", options=OPTIONS.get(peer, {})
    )
    for node in nodes:
        await node.connect(middle.address)
    for node in nodes:
        await eventually(partial(in_mesh, node, topic.topic_id, middle.id), "it is in our mesh")
        await middle.meshes(node.id, topic.topic_id, timeout=PATIENCE)
    return middle


@row(matrix.PRIVATE_TOPIC, OURS)
@in_the_middle
async def test_a_peer_in_the_middle_relays_what_it_cannot_read(
    open_ours: OpenOurs, start_peer: StartPeer, peer: str, tmp_path: Path
) -> None:
    ann_id, _, _ = ids(tmp_path, "ann", "eve", "mallory")
    topic = TopicDescriptor.make(
        "weather", auth="key", publishers=(ann_id,), encryption="shared-key", key_hashes=HASHES
    )
    ann, eve, mallory = [await open_ours(name) for name in ("ann", "eve", "mallory")]
    for node in (ann, eve):
        node._tell(KnowTopic(topic, KEYS[:1]))
    ann.subscribe(topic), mallory.subscribe(topic.topic_id)
    messages = eve.subscribe(topic)
    middle = await placed(start_peer, peer, topic, ann, eve, mallory)
    secrets = [b"secret %d" % number for number in range(20)]
    for data in secrets:
        await ann.publish(topic, data)
    got = [await messages.get(timeout=PATIENCE) for _ in secrets]
    assert sorted(each.data for each in got) == sorted(secrets)
    assert {(each.sender, each.received_from) for each in got} == {(ann.id, middle.id)}
    relayed = await middle.messages(topic.topic_id, len(secrets), timeout=PATIENCE)
    assert not any(b"secret" in each["data"] for each in relayed)
    await mallory.publish(topic.topic_id, b"forbidden")
    await eventually(lambda: eve.counters["rejected.untrusted_author"] > 0, "eve refuses it")
    assert messages.pending == 0


@row(matrix.PRIVATE_TOPIC, OURS)
@in_the_middle
async def test_trust_and_sealed_keys_pass_through_a_peer_in_the_middle(
    open_ours: OpenOurs, start_peer: StartPeer, peer: str, tmp_path: Path
) -> None:
    ann_id, eve_id = ids(tmp_path, "ann", "eve")
    topic = TopicDescriptor.make("club", auth="wot", publishers=(ann_id,), encryption="wot")
    ann, eve = [await open_ours(name) for name in ("ann", "eve")]
    own, messages = ann.subscribe(topic), eve.subscribe(topic)
    middle = await placed(start_peer, peer, topic, ann, eve)
    control = topic.topic_id + SUFFIX
    await eventually(lambda: ann.mesh(control) == (middle.id,), "the control topic has a mesh")
    await middle.meshes(eve.id, control, timeout=PATIENCE)
    ann.trust(topic, eve_id)
    await eventually(lambda: eve_id in eve.trusted(topic), "eve has heard that she is trusted")
    await ann.publish(topic, b"secret of ann")
    await eve.publish(topic, b"secret of eve")
    for read in (own, messages):
        got = {(await read.get(timeout=PATIENCE)).data for _ in "12"}
        assert got == {b"secret of ann", b"secret of eve"}
    relayed = await middle.messages(topic.topic_id, 2, timeout=PATIENCE)
    assert not any(b"secret" in each["data"] for each in relayed)
    ann.revoke(topic, eve_id)
    await eventually(lambda: eve_id not in eve.trusted(topic), "eve has heard that she is not")


@pytest.mark.parametrize("name", ["weather", "test", "Wetter in Köln", "x" * 300])
async def test_the_hashed_topic_of_rust_is_the_descriptor_with_its_name_alone(
    open_ours: OpenOurs, start_rust_peer: StartRustPeer, name: str
) -> None:
    topic = TopicDescriptor.make(name)
    rust = await start_rust_peer(options=OPTIONS["rust"])
    assert await rust.subscribe_hashed(name) == topic.topic_id
    ours = await open_ours("ann")
    messages = ours.subscribe(topic)
    await ours.connect(rust.address)
    await rust.meshes(ours.id, topic.topic_id, timeout=PATIENCE)
    await rust.publish(topic.topic_id, b"from rust")
    assert (await messages.get(timeout=PATIENCE)).data == b"from rust"
