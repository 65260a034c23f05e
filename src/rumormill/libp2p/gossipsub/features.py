"""What a peer can do, by the version of the protocol that it speaks.

Names, not version numbers, are what parts ask for: a router that speaks a further version adds a
row for it (:attr:`~rumormill.libp2p.gossipsub.router.GossipsubRouter.features`), and a part of its
own may bring a feature of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from rumormill.libp2p.pubsub.floodsub import FLOODSUB

Feature: TypeAlias = str

MESH: Feature = "mesh"
"""Understands GRAFT and PRUNE. Who does not gets every message of its topics."""

GOSSIP: Feature = "gossip"
"""Understands IHAVE and IWANT."""

EXCHANGE: Feature = "exchange"
"""Understands peers in a PRUNE: where else there is a mesh to join."""

DONT_WANT: Feature = "dont_want"
"""Understands IDONTWANT."""

EXTENSIONS: Feature = "extensions"
"""Says in its first RPC which extensions it understands."""

MESHSUB_1_0 = "/meshsub/1.0.0"
MESHSUB_1_1 = "/meshsub/1.1.0"
MESHSUB_1_2 = "/meshsub/1.2.0"
MESHSUB_1_3 = "/meshsub/1.3.0"

FeatureTable: TypeAlias = Mapping[str, frozenset[Feature]]

_1_0 = frozenset((MESH, GOSSIP))
_1_1 = _1_0 | {EXCHANGE}
_1_2 = _1_1 | {DONT_WANT}
_1_3 = _1_2 | {EXTENSIONS}

FEATURES: FeatureTable = {
    FLOODSUB: frozenset(),
    MESHSUB_1_0: _1_0,
    MESHSUB_1_1: _1_1,
    MESHSUB_1_2: _1_2,
    MESHSUB_1_3: _1_3,
}
"""What speakers of the protocols that we know can do."""
