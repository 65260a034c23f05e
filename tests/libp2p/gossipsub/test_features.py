"""Which versions a node offers, and what their speakers can do."""

from __future__ import annotations

import itertools

import pytest

from rumormill.core.errors import ConfigError
from rumormill.libp2p.gossipsub import (
    DONT_WANT,
    EXCHANGE,
    EXTENSIONS,
    FEATURES,
    GOSSIP,
    MESH,
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    MESHSUB_1_3,
    GossipsubRouter,
)
from tests.helpers.libp2p.workbench import FLOODSUB, gossipsub

VERSIONS = [FLOODSUB, MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3]


def test_each_version_can_what_the_one_before_it_can_and_more() -> None:
    assert all(FEATURES[old] < FEATURES[new] for old, new in itertools.pairwise(VERSIONS))


def test_each_version_brought_its_own_features() -> None:
    brought = [FEATURES[new] - FEATURES[old] for old, new in itertools.pairwise(VERSIONS)]
    assert brought == [{MESH, GOSSIP}, {EXCHANGE}, {DONT_WANT}, {EXTENSIONS}]


def test_all_versions_of_the_router_are_offered_the_highest_first() -> None:
    offered = gossipsub().pubsub.protocols
    assert offered == GossipsubRouter.protocols
    assert sorted(offered, key=VERSIONS.index, reverse=True) == list(offered)


def test_a_user_may_offer_fewer_and_the_order_is_the_routers() -> None:
    bench = gossipsub(protocols=[FLOODSUB, MESHSUB_1_0])
    assert bench.pubsub.protocols == (MESHSUB_1_0, FLOODSUB)


@pytest.mark.parametrize(
    ("protocols", "problem"),
    [
        (["/meshsub/9.0.0"], "'/meshsub/9.0.0' is none of /meshsub/"),
        ([], "there must be one at least"),
    ],
)
def test_what_cannot_be_offered_is_refused_with_its_key(protocols: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        gossipsub(protocols=protocols)
    assert caught.value.key == "protocols"
