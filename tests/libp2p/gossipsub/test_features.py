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


def test_a_version_can_be_spoken_under_a_name_of_ones_own_and_under_no_other() -> None:
    names = {"/house/2": MESHSUB_1_2, "/house/1": MESHSUB_1_0, "/house/flood": FLOODSUB}
    bench = gossipsub(protocol_names=names)
    assert bench.pubsub.protocols == tuple(names)
    bench.subscribe("weather")
    for peer, protocol in (("ann", "/house/2"), ("bob", "/house/1"), ("cyd", "/house/flood")):
        bench.join(peer, "weather", protocol=protocol)
    assert set(bench.pubsub.mesh("weather")) == {"ann", "bob"}
    assert set(bench.publish("weather").peers) == {"ann", "bob", "cyd"}


def test_own_names_and_usual_ones_can_be_offered_together() -> None:
    bench = gossipsub(protocol_names={"/house/1": MESHSUB_1_0}, protocols=[MESHSUB_1_1, "/house/1"])
    assert bench.pubsub.protocols == ("/house/1", MESHSUB_1_1)


@pytest.mark.parametrize(
    ("names", "key", "problem"),
    [
        ({"/house/1": "/meshsub/9.0.0"}, "protocol_names./house/1", "'/meshsub/9.0.0' is none of"),
        ({MESHSUB_1_0: MESHSUB_1_1}, "protocol_names", "is no name of your own"),
        ({"house": MESHSUB_1_1}, "protocol_names", "'house' is no name of your own"),
        ({"/a house": MESHSUB_1_1}, "protocol_names", "is no name of your own"),
    ],
)
def test_what_cannot_be_a_name_is_refused(names: dict[str, str], key: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        gossipsub(protocol_names=names)
    assert caught.value.key == key


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
