"""Our node and one real peer: each dials, each publishes, all of it arrives, and nothing twice."""

from __future__ import annotations

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import ROUTER_PEERS, StartPeer, connected, exchange
from tests.helpers.interop.dialects import Dialect, dialect
from tests.helpers.interop.interop_matrix import THEY_DIAL, WE_DIAL, row
from tests.helpers.interop.our_node import OpenNode

HIGHEST = {
    "rust": "/meshsub/1.3.0", "go": "/meshsub/1.3.0", "js": "/meshsub/1.2.0",
    "py": "/meshsub/1.2.0",
}  # fmt: skip
"""Of those that the peer speaks; we speak all."""

every_peer = pytest.mark.parametrize("peer", ROUTER_PEERS)
every_direction = pytest.mark.parametrize("direction", [WE_DIAL, THEY_DIAL])


async def exchange_100(
    open_node: OpenNode, start_peer: StartPeer, speech: Dialect, direction: str
) -> None:
    node, peer = await connected(open_node, start_peer, speech, direction)
    await exchange(node, peer, signed=speech.signing == "StrictSign")
    (described,) = await peer.peers()
    protocol = "/floodsub/1.0.0" if speech.router == "floodsub" else HIGHEST[speech.peer]
    assert described["sends_on"] == protocol
    assert described["receives_on"] in (protocol, None), "None: the library does not tell"


@row(matrix.GOSSIPSUB_SIGNED)
@every_direction
@every_peer
async def test_gossipsub_signed(
    open_node: OpenNode, start_peer: StartPeer, peer: str, direction: str
) -> None:
    await exchange_100(open_node, start_peer, dialect(peer), direction)


@row(matrix.GOSSIPSUB_UNSIGNED)
@every_direction
@every_peer
async def test_gossipsub_unsigned(
    open_node: OpenNode, start_peer: StartPeer, peer: str, direction: str
) -> None:
    speech = dialect(peer, signing="StrictNoSign")
    await exchange_100(open_node, start_peer, speech, direction)


@row(matrix.FLOODSUB_SIGNED)
@every_direction
@every_peer
async def test_floodsub_signed(
    open_node: OpenNode, start_peer: StartPeer, peer: str, direction: str
) -> None:
    await exchange_100(open_node, start_peer, dialect(peer, "floodsub"), direction)


@row(matrix.FLOODSUB_UNSIGNED)
@every_direction
@pytest.mark.parametrize("peer", ["rust", "py", "go"])
async def test_floodsub_unsigned(
    open_node: OpenNode, start_peer: StartPeer, peer: str, direction: str
) -> None:
    speech = dialect(peer, "floodsub", "StrictNoSign")
    await exchange_100(open_node, start_peer, speech, direction)
