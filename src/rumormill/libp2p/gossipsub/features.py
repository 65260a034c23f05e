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

EXTENSIONS: Feature = "extensions"
"""Says in the first RPC which extensions it has, and takes the same of us."""

MESHSUB_1_0 = "/meshsub/1.0.0"
MESHSUB_1_3 = "/meshsub/1.3.0"

FeatureTable: TypeAlias = Mapping[str, frozenset[Feature]]

FEATURES: FeatureTable = {
    FLOODSUB: frozenset(),
    MESHSUB_1_0: frozenset((MESH, GOSSIP)),
    MESHSUB_1_3: frozenset((MESH, GOSSIP, EXTENSIONS)),
}
"""What speakers of the protocols that we know can do."""
