"""floodsub: every message to every peer that listens."""

from __future__ import annotations

from typing import ClassVar

from rumormill.core.machine import Subscribe
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.wire import Control, Graft, IHave, IWant, Prune, Rpc
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, floodsub, identity, items, signed


def messages_to(bench: Workbench, peer: str) -> list[bytes]:
    return [each[1] for each in bench.took_items(peer) if each[0] == "message"]


def test_it_speaks_floodsub_and_nothing_else() -> None:
    assert floodsub().pubsub.protocols == ("/floodsub/1.0.0",)


def test_we_publish_to_everyone_who_listens_and_to_nobody_else() -> None:
    bench = floodsub()
    for peer, topic in [("ann", "t"), ("bob", "other"), ("cyd", "t")]:
        bench.join(peer, topic, protocol=FLOODSUB)
    assert bench.publish("t").peers == ("ann", "cyd")
    assert messages_to(bench, "bob") == []


def test_we_pass_on_to_everyone_but_sender_and_author() -> None:
    bench = floodsub()
    bench.subscribe("t")
    author = identity("author").peer
    peers = [*bench.join_many(5, "t"), bench.join(author, "t")]
    message = signed("author", "t", b"rain", 1)
    bench.send_message("peer2", message)
    got = [peer for peer in peers if messages_to(bench, peer)]
    assert got == ["peer0", "peer1", "peer3", "peer4"]


def test_what_was_seen_is_not_passed_on_again() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join_many(3, "t")
    message = signed("author", "t", b"rain", 1)
    bench.send_message("peer0", message)
    bench.forget()
    bench.send_message("peer1", message)
    bench.send_message("peer0", message)
    assert all(messages_to(bench, f"peer{index}") == [] for index in range(3))


def test_a_topic_we_do_not_listen_to_is_not_relayed() -> None:
    bench = floodsub()
    bench.join_many(2, "t")
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert messages_to(bench, "peer1") == []


def test_everyone_who_listens_is_a_full_message_peer() -> None:
    bench = floodsub()
    bench.join_many(20, "t")
    assert len(bench.pubsub.mesh("t")) == 20


def test_control_messages_mean_nothing_to_floodsub() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.publish("t", b"rain")
    bench.forget()
    control = Control((IHave("t", (b"id",)), IWant((b"id",)), Graft("t"), Prune("t", 60)))
    bench.say("ann", Rpc(control=control))
    assert bench.took("ann") == []
    assert bench.publish("t").peers == ("ann",)


def test_it_sends_no_control_and_needs_no_heartbeat() -> None:
    bench = floodsub()
    bench.join_many(3, "t")
    bench.subscribe("t")
    bench.publish("t")
    said = [item for rpcs in bench.sent.values() for rpc in rpcs for item in items(rpc)]
    assert {each[0] for each in said} == {"subscribe", "message"}
    assert bench.router.next_wake() is None


def test_the_author_is_not_the_peer_that_handed_it_over() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join("relay", "t")
    bench.send_message("relay", signed("author", "t", b"rain", 1))
    (message,) = bench.delivered()
    assert (message.sender, message.received_from) == (identity("author").peer, "relay")


def test_floodsub_can_be_spoken_under_another_name() -> None:
    class HouseFlood(FloodsubRouter):
        protocols: ClassVar[tuple[str, ...]] = ("/house/flood/1.0.0",)

    bench = Workbench(HouseFlood())
    assert bench.pubsub.protocols == ("/house/flood/1.0.0",)
    bench.feed(Subscribe("t"))
    bench.join("ann", "t", protocol="/house/flood/1.0.0")
    assert bench.publish("t").peers == ("ann",)


def test_a_message_on_several_topics_goes_to_listeners_of_any() -> None:
    bench = floodsub(multi_topic=True)
    bench.join("ann", "a")
    bench.join("bob", "b")
    bench.join("cyd", "b", "a")
    assert bench.publish(("a", "b")).peers == ("ann", "cyd", "bob")
