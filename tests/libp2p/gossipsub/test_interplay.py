"""floodsub peers in a gossipsub network: guests that get everything and say little."""

from __future__ import annotations

from rumormill.libp2p.gossipsub.features import MESHSUB_1_3
from tests.helpers.libp2p.workbench import (
    FLOODSUB,
    MESHSUB_1_0,
    Workbench,
    gossipsub,
    items,
    signed,
)


def mixed(**parameters: object) -> Workbench:
    """A gossipsub node with three peers of each kind that listen to t."""
    bench = gossipsub(**parameters)  # type: ignore[arg-type]
    bench.subscribe("t")
    for index in range(3):
        bench.join(f"mesh{index}", "t")
        bench.join(f"flood{index}", "t", protocol=FLOODSUB)
    bench.forget()
    return bench


FLOODERS = {"flood0", "flood1", "flood2"}


def test_gossipsub_speaks_floodsub_too_but_prefers_its_own() -> None:
    assert gossipsub().pubsub.protocols == (MESHSUB_1_3, MESHSUB_1_0, FLOODSUB)


def test_we_publish_to_floodsub_peers_besides_the_mesh() -> None:
    bench = mixed()
    assert set(bench.publish("t").peers) == FLOODERS | {"mesh0", "mesh1", "mesh2"}


def test_floodsub_peers_do_not_count_against_d() -> None:
    bench = mixed(D=2, D_low=1, D_high=3)
    receipt = bench.publish("t")
    assert set(receipt.peers) >= FLOODERS
    assert len(receipt.peers) == 5


def test_what_we_pass_on_goes_to_floodsub_peers_too_but_not_back() -> None:
    bench = mixed()
    bench.send_message("mesh0", signed("author", "t", b"rain", 1))
    assert set(bench.sent) == FLOODERS | {"mesh1", "mesh2"}
    bench.forget()
    bench.send_message("flood0", signed("author", "t", b"snow", 2))
    assert set(bench.sent) == {"flood1", "flood2", "mesh0", "mesh1", "mesh2"}


def test_floodsub_peers_that_listen_elsewhere_get_nothing() -> None:
    bench = gossipsub()
    bench.join("flood", "other", protocol=FLOODSUB)
    assert not bench.publish("t")


def test_floodsub_peers_are_never_in_a_mesh_a_fanout_or_a_round_of_gossip() -> None:
    bench = mixed(D=12)
    bench.publish("t")
    bench.publish("u")
    bench.run_until(5.0)
    assert set(bench.pubsub.mesh("t")) == {"mesh0", "mesh1", "mesh2"}
    said = {item[0] for peer in FLOODERS for rpc in bench.sent.get(peer, []) for item in items(rpc)}
    assert said == {"message"}


def test_a_floodsub_peer_is_never_sent_control() -> None:
    bench = mixed()
    bench.subscribe("u")
    bench.unsubscribe("u")
    bench.unsubscribe("t")
    bench.run_until(5.0)
    for peer in FLOODERS:
        assert all(rpc.control is None for rpc in bench.sent.get(peer, []))


def test_without_gossipsub_peers_floodsub_peers_still_get_everything() -> None:
    bench = gossipsub()
    bench.join("flood", "t", protocol=FLOODSUB)
    assert bench.publish("t").peers == ("flood",)
    bench.subscribe("t")
    assert bench.publish("t").peers == ("flood",)


def test_on_topics_we_are_not_in_floodsub_peers_get_our_messages_too() -> None:
    bench = gossipsub()
    for index in range(8):
        bench.join(f"mesh{index}", "t")
    bench.join("flood", "t", protocol=FLOODSUB)
    receipt = bench.publish("t")
    assert "flood" in receipt.peers
    assert len(receipt.peers) == 7


def test_a_peer_that_comes_back_with_another_protocol_is_treated_by_it() -> None:
    bench = mixed()
    bench.leave("flood0")
    bench.join("flood0", "t", protocol=MESHSUB_1_0)
    assert "flood0" in bench.pubsub.mesh("t")
    bench.leave("mesh0")
    bench.join("mesh0", "t", protocol=FLOODSUB)
    assert "mesh0" not in bench.pubsub.mesh("t")
    assert "mesh0" in bench.publish("t").peers
