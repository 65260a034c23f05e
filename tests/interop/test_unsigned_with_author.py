"""Unsigned messages that name an author all the same: go's StrictNoSign, unless told otherwise."""

from __future__ import annotations

from tests.helpers.interop.conversation import acquainted
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, contents, eventually
from tests.helpers.interop.peer_process import numbered_payloads

COUNT = 50


async def test_unsigned_messages_with_an_author_are_refused_and_the_reason_is_counted(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    go = await start_go_peer(topics=[TOPIC], policy="StrictNoSignWithAuthor")
    # Without a score: it would stop reading after the first few.
    node = await open_node(signing="StrictNoSign", score=False, bootstrap=[go.address])
    await acquainted(node, go)
    await go.publish_many(TOPIC, COUNT, size=100)
    counters = node.network.counters
    await eventually(lambda: counters["rejected"] == COUNT, "all of them are refused")
    assert counters["rejected.unexpected_author"] == COUNT
    assert node.messages.pending == 0

    await node.publish(b"without an author")
    (there,) = await go.messages(TOPIC, 1, timeout=PATIENCE)
    assert (there["data"], there["from"]) == (b"without an author", None)


async def test_unsigned_messages_with_an_author_are_taken_if_we_say_so(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    go = await start_go_peer(topics=[TOPIC], policy="StrictNoSignWithAuthor")
    settings = {"signing": "StrictNoSign", "unsigned_authors": True}
    node = await open_node(**settings, bootstrap=[go.address])
    await acquainted(node, go)
    await go.publish_many(TOPIC, COUNT, size=100)
    assert contents(await node.received(COUNT)) == numbered_payloads(COUNT, size=100)
    assert node.network.counters["rejected"] == 0
