"""Topics as Ethereum has them, with a rust peer: snappy, its ids, nobody's name, and large ones."""

from __future__ import annotations

import hashlib
from typing import Any

from rumormill import SnappyTransform
from tests.helpers.interop.conversation import NO_MESH, acquainted
from tests.helpers.interop.dialects import OUR_RESTLESS, RESTLESS
from tests.helpers.interop.our_node import PATIENCE, OpenNode, contents, eventually
from tests.helpers.interop.peer_process import numbered_payloads
from tests.helpers.interop.rust_peer import StartRustPeer

TOPIC = "/eth2/4a26c58b/beacon_block/ssz_snappy"
MIB = 1024 * 1024
OURS: dict[str, Any] = {
    "topic": TOPIC,
    "transforms": {TOPIC: SnappyTransform()},
    "message_id": "ethereum",
    "signing": "StrictNoSign",
}
THEIRS: dict[str, Any] = {
    "topics": [TOPIC],
    "policy": "StrictNoSign",
    "message_id": "ethereum",
}


def noise(size: int) -> bytes:
    """What nobody can compress."""
    blocks = (hashlib.sha256(b"%d" % at).digest() for at in range(size // 32 + 1))
    return b"".join(blocks)[:size]


async def test_each_reads_what_the_other_packs(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    rust = await start_rust_peer(**THEIRS, options={"snappy": True})
    node = await open_node(**OURS, bootstrap=[rust.address])
    await acquainted(node, rust)
    payloads = [b"", b"rain", b"rain " * 5000, noise(20_000)]
    for data in payloads:
        await rust.publish(TOPIC, data)
    here = await node.received(len(payloads))
    assert contents(here) == sorted(payloads)
    assert all(message.sender is None for message in here)
    await node.publish(*(data + b"!" for data in payloads))
    there = await rust.messages(TOPIC, len(payloads), timeout=PATIENCE)
    assert [message["data"] for message in there] == [data + b"!" for data in payloads]
    assert node.network.counters["rejected"] == 0


async def test_both_have_the_same_ids_so_gossip_brings_what_was_missed(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    """Of three in a row the last wants no mesh: what it gets it has asked the rust peer for."""
    rust = await start_rust_peer(**THEIRS, options={**RESTLESS["rust"], "snappy": True})
    ours = {**OURS, **OUR_RESTLESS, "bootstrap": [rust.address]}
    first = await open_node(**ours)
    await acquainted(first, rust)
    last = await open_node(**ours, **NO_MESH)
    await last.sees(rust.id)
    await rust.sees(last.id, TOPIC, timeout=PATIENCE)
    await eventually(lambda: last.transcript.pruned(TOPIC, ours=True), "we prune the peer")
    payloads = numbered_payloads(5, size=3000)
    receipts = await first.publish(*payloads)
    assert contents(await last.received(5)) == payloads
    assert {receipt.id for receipt in receipts} <= last.transcript.wanted(ours=True)
    assert last.network.counters["rejected"] == 0


async def test_what_is_not_packed_is_refused_and_the_reason_is_counted(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    rust = await start_rust_peer(**THEIRS, options={"snappy": False})
    # Without a score: it would stop reading after the first few.
    node = await open_node(**OURS, score=False, bootstrap=[rust.address])
    await acquainted(node, rust)
    await rust.publish_many(TOPIC, 10, size=100)
    counters = node.network.counters
    await eventually(lambda: counters["rejected"] == 10, "all of them are refused")
    assert counters["rejected.bad_snappy"] == 10
    assert node.messages.pending == 0


async def test_a_topic_of_its_own_size_carries_large_messages_both_ways(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    # rust reads no frame above the first, whatever the topics say.
    sizes = {"max_transmit_size": 5 * MIB, "topic_max_transmit_size": {TOPIC: 4 * MIB}}
    rust = await start_rust_peer(**THEIRS, options={"snappy": True, **sizes})
    node = await open_node(**OURS, topic_sizes={TOPIC: 4 * MIB}, bootstrap=[rust.address])
    await acquainted(node, rust)
    large = noise(3 * MIB)
    await rust.publish(TOPIC, large)
    (here,) = await node.received(1)
    assert here.data == large
    await node.publish(large + b"!")
    (there,) = await rust.messages(TOPIC, 1, timeout=PATIENCE)
    assert there["data"] == large + b"!"
