"""mDNS with rust, js and go-libp2p, on a local network that the test makes: multicast stays in it.

Who finds whom is told apart: a node that listens nowhere can only find, one that dials nobody on
the word of others can only be found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rumormill.libp2p.discovery.events import DISCOVERY_CONNECTED
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.js_peer import StartJsPeer
from tests.helpers.interop.network_namespace import NetworkNamespace
from tests.helpers.interop.our_node import TOPIC, OpenNode, contents
from tests.helpers.interop.rust_peer import StartRustPeer

IMPLEMENTATIONS = ["rust", "js", "go"]


@row(matrix.MDNS, THEIRS)
@pytest.mark.parametrize("peer", IMPLEMENTATIONS)
async def test_we_find_a_peer_of_each_implementation(
    start_peer: Callable[..., Any], lan: NetworkNamespace, open_node: OpenNode
) -> None:
    ours = await open_node(listen=[], discovery=["mdns"])
    other = await start_peer(listen=f"/ip4/{lan.address}/tcp/0", topics=[TOPIC], mdns=True)
    await ours.sees(other.id)
    await other.sees(ours.id, TOPIC)
    assert ours.network.counters[DISCOVERY_CONNECTED] == 1
    await other.meshes(ours.id, TOPIC)
    await other.publish(TOPIC, b"from the other")
    assert contents(await ours.received(1)) == [b"from the other"]


@row(matrix.MDNS, OURS)
@pytest.mark.parametrize("peer", IMPLEMENTATIONS)
async def test_we_are_found_by_a_peer_of_each_implementation(
    start_peer: Callable[..., Any], lan: NetworkNamespace, open_node: OpenNode
) -> None:
    listen = f"/ip4/{lan.address}/tcp/0"
    ours = await open_node(listen=listen, discovery=["mdns"], max_told_connections=0)
    other = await start_peer(listen=listen, topics=[TOPIC], mdns=True)
    told = await other.found("mdns", ours.id)
    assert any(each.startswith(f"/ip4/{lan.address}/tcp/") for each in told["addresses"])
    await other.sees(ours.id, TOPIC)
    await ours.sees(other.id)
    assert ours.network.counters[DISCOVERY_CONNECTED] == 0
    await ours.publish(b"from us")
    (message,) = await other.messages(TOPIC, 1)
    assert message["data"] == b"from us"


async def test_one_network_of_all_implementations_without_a_word_of_configuration(
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_go_peer: StartGoPeer,
    lan: NetworkNamespace,
    open_node: OpenNode,
) -> None:
    listen = f"/ip4/{lan.address}/tcp/0"
    ours = await open_node(listen=listen, discovery=["mdns"])
    for start in (start_rust_peer, start_js_peer, start_go_peer):
        other = await start(listen=listen, topics=[TOPIC], mdns=True)
        await ours.sees(other.id)
    assert len(ours.network.peers) == len(IMPLEMENTATIONS)
