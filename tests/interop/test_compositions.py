"""Ten nodes in two scenarios of libp2p's own interoperability suite, whoever the ten are.

Each node has four neighbours, two on either side of a circle. What arrives is the same for every
composition, and so, within a range, is how often it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import StartPeer
from tests.helpers.interop.interop_matrix import BOTH, row
from tests.helpers.interop.our_node import PATIENCE
from tests.helpers.interop.peer_process import RouterPeer, numbered_payloads

COMPOSITIONS: Mapping[str, tuple[str, ...]] = {
    "ours": ("rumormill",) * 10,
    "rust and ours": ("rust", "rumormill") * 5,
    "js and ours": ("js", "rumormill", "rumormill") * 3 + ("js",),
    "rust, js and ours": ("rust", "js", "rumormill") * 3 + ("rumormill",),
    "rust, js, go and ours": ("rust", "js", "go", "rumormill") * 2 + ("go", "rumormill"),
}
OPTIONS: Mapping[str, dict[str, Any]] = {
    "rust": {
        "heartbeat_initial_delay": 0.5,
        "heartbeat_interval": 0.5,
        "max_transmit_size": 4 * 1024 * 1024,
    },
}
NEWS, EVEN, ODD, UNUSED = "news", "blob-even", "blob-odd", "unused"
MESSAGES, MESSAGE = 20, 2048
BLOBS, BLOB = 3, 32 * 1024
MOST_OF_NEWS, MOST_OF_BLOBS = 31 / 9, 6 / 4
"""Copies for each node at most, where nobody sends a message back to whom it came from. Of 16 links
among nine nodes, five bring a message first, and the others may carry it both ways; four come from
the publisher. In a subnet five links make a circle, and one of them may carry it both ways."""


def _rows(kinds: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    others = " ".join(sorted({*kinds} - {"rumormill"}))
    return [row(matrix.COMPOSITION, BOTH, peer=others)] if others else []


every_composition = pytest.mark.parametrize(
    "composition",
    [pytest.param(name, marks=_rows(kinds)) for name, kinds in COMPOSITIONS.items()],
)


@pytest.fixture
def members(request: pytest.FixtureRequest, composition: str) -> list[tuple[str, StartPeer]]:
    """The kind of each node, and how it is started."""
    kinds = COMPOSITIONS[composition]
    starters = {kind: request.getfixturevalue(f"start_{kind}_peer") for kind in set(kinds)}
    return [(kind, starters[kind]) for kind in kinds]


def neighbours(index: int, count: int) -> list[int]:
    """Two on either side."""
    return sorted((index + step) % count for step in (-2, -1, 1, 2))


async def circle(
    members: Sequence[tuple[str, StartPeer]], topics: Sequence[str | None]
) -> list[RouterPeer]:
    """The nodes, each in the mesh of its topic with those neighbours that have it too."""
    count = len(members)
    nodes = await asyncio.gather(
        *(
            start(
                topics=[topic] if topic else [],
                message_id="origin_bytes",
                options=OPTIONS.get(kind, {}),
            )
            for (kind, start), topic in zip(members, topics, strict=True)
        )
    )
    for index, node in enumerate(nodes):
        for other in neighbours(index, count):
            if other > index:
                await node.dial(nodes[other].address)
    for index, node in enumerate(nodes):
        for other in neighbours(index, count):
            topic = topics[other]
            if topic is not None:
                await node.sees(nodes[other].id, topic, timeout=PATIENCE)
                if topic == topics[index]:
                    await node.meshes(nodes[other].id, topic, timeout=PATIENCE)
    # On a topic of which nothing comes: only the copies of all topics are of interest.
    await asyncio.gather(*(node.bench_reset(UNUSED) for node in nodes))
    return nodes


async def copies_for_each(nodes: Sequence[RouterPeer], received: int) -> float:
    """How often a message came on average, when what was sent twice has come too."""
    await asyncio.sleep(0.3)
    reports = await asyncio.gather(*(node.bench_report() for node in nodes))
    return sum(int(report["copies"]) for report in reports) / received


@every_composition
async def test_fanout_reaches_every_subscriber_once(
    members: list[tuple[str, StartPeer]],
) -> None:
    publisher, *subscribers = await circle(members, [None] + [NEWS] * (len(members) - 1))
    await publisher.publish_many(NEWS, MESSAGES, size=MESSAGE)
    expected = numbered_payloads(MESSAGES, size=MESSAGE)
    for node in subscribers:
        messages = await node.messages(NEWS, MESSAGES, timeout=PATIENCE)
        assert sorted(each["data"] for each in messages) == expected, node.language
    copies = await copies_for_each(subscribers, MESSAGES * len(subscribers))
    assert 1 <= copies <= MOST_OF_NEWS
    for node in (publisher, *subscribers):
        assert node.pending("message") == [], node.language


@every_composition
async def test_blobs_reach_their_subnet_and_nobody_else(
    members: list[tuple[str, StartPeer]],
) -> None:
    topics = [EVEN, ODD] * (len(members) // 2)
    nodes = await circle(members, topics)
    await asyncio.gather(
        *(
            node.publish_many(topic, BLOBS, size=BLOB, prefix=node.id)
            for node, topic in zip(nodes, topics, strict=True)
        )
    )
    received = 0
    for node, topic in zip(nodes, topics, strict=True):
        senders = [other.id for other, its in zip(nodes, topics, strict=True) if its == topic]
        expected = [
            data
            for sender in senders
            if sender != node.id
            for data in numbered_payloads(BLOBS, size=BLOB, prefix=sender)
        ]
        messages = await node.messages(topic, len(expected), timeout=PATIENCE)
        assert sorted(each["data"] for each in messages) == sorted(expected), node.language
        received += len(expected)
    copies = await copies_for_each(nodes, received)
    assert 1 <= copies <= MOST_OF_BLOBS
    for node in nodes:
        assert node.pending("message") == [], node.language
