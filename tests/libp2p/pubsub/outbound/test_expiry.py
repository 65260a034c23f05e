"""Messages that wait too long for a peer are lost, and whoever is concerned hears of it."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.machine import RoomAgain
from tests.helpers.libp2p.workbench import Workbench, floodsub, gossipsub, origin_id, signed


def stuck(**parameters: float) -> Workbench:
    """A floodsub node with two peers; the line to ``bob`` is not free."""
    bench = floodsub(**parameters)
    bench.subscribe("t")
    for peer in ("ann", "bob"):
        bench.join(peer, "t")
    bench.writable("bob", False)
    bench.forget()
    return bench


def data_to(bench: Workbench, peer: str) -> list[bytes]:
    return [message.data for rpc in bench.took(peer) for message in rpc.messages]


def test_a_message_of_another_waits_five_seconds_and_our_own_a_minute() -> None:
    bench = stuck()
    rain = signed("author", "t", b"rain", 1)
    bench.send_message("ann", rain)
    receipt = bench.publish("t", b"ours")
    bench.run_until(4.9)
    assert bench.events(trace.DROPPED) == []
    bench.run_until(5.1)
    (lost,) = bench.events(trace.DROPPED)
    assert (lost.time, lost.peer, lost.topic, lost.message_id) == (5.0, "bob", "t", origin_id(rain))
    assert lost.fields == {"what": "message", "reason": "expired", "count": 1}
    bench.run_until(59.9)
    assert len(bench.events(trace.DROPPED)) == 1
    bench.run_until(60.1)
    assert bench.events(trace.DROPPED)[1].message_id == receipt.id
    bench.writable("bob", True)
    assert data_to(bench, "bob") == []


def test_how_long_is_the_users_choice() -> None:
    bench = stuck(publish_queue_seconds=2.0, forward_queue_seconds=1.0)
    bench.send_message("ann", signed("author", "t", b"rain", 1))
    bench.publish("t", b"ours")
    bench.run_until(10.0)
    assert [event.time for event in bench.events(trace.DROPPED, reason="expired")] == [1.0, 2.0]


def test_with_infinite_patience_nothing_expires() -> None:
    bench = stuck(publish_queue_seconds=float("inf"))
    bench.publish("t", b"ours")
    bench.run_until(1e6)
    bench.writable("bob", True)
    assert data_to(bench, "bob") == [b"ours"]


def test_what_leaves_in_time_leaves_whole_and_in_order() -> None:
    bench = stuck()
    for number in range(3):
        bench.run_until(float(number))
        bench.publish("t", b"%d" % number)
    bench.run_until(59.0)
    bench.writable("bob", True)
    assert data_to(bench, "bob") == [b"0", b"1", b"2"]
    assert bench.pubsub.sizes()["behind"] == 1
    bench.run_until(200.0)
    assert bench.events(trace.DROPPED) == []
    assert bench.pubsub.sizes()["behind"] == 0


def test_only_the_old_ones_of_a_queue_expire() -> None:
    bench = stuck(forward_queue_seconds=5.0)
    for number in range(10):
        bench.run_until(float(number))
        bench.send_message("ann", signed("author", "t", b"%d" % number, number + 1))
    bench.writable("bob", True)
    assert data_to(bench, "bob") == [b"5", b"6", b"7", b"8", b"9"]
    assert len(bench.events(trace.DROPPED, reason="expired")) == 5


def test_a_free_line_is_never_late() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.publish("t")
    assert bench.pubsub.outbox.expires == float("inf")


def test_a_publisher_hears_of_the_room_that_expiry_makes() -> None:
    bench = stuck(queue_messages=2, publish_queue_seconds=10.0)
    for _ in range(2):
        bench.publish("t")
    bench.pubsub.room.watch(("t",))
    bench.run_until(11.0)
    assert bench.of(RoomAgain) == [RoomAgain("bob")]
    assert not bench.pubsub.room.full(("t",))


def test_a_peer_that_left_needs_no_timer_any_more() -> None:
    bench = stuck()
    bench.publish("t")
    bench.leave("bob")
    bench.run_until(120.0)
    assert [event.fields["reason"] for event in bench.events(trace.DROPPED)] == ["peer_left"]
    assert bench.pubsub.outbox.expires == float("inf")


def test_answers_to_a_peer_wait_as_long_as_messages_of_others() -> None:
    bench = gossipsub(forward_queue_seconds=2.0)
    bench.subscribe("t")
    bench.join("ann", "t")
    receipt = bench.publish("t")
    bench.writable("ann", False)
    bench.iwant("ann", receipt.id)
    bench.run_until(3.0)
    assert len(bench.events(trace.DROPPED, peer="ann", reason="expired")) == 1


def test_answers_do_not_delay_our_own_messages() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    asked = bench.publish("t", b"asked for")
    bench.forget()
    bench.writable("ann", False)
    bench.iwant("ann", asked.id)
    bench.publish("t", b"news")
    bench.writable("ann", True)
    assert data_to(bench, "ann") == [b"news", b"asked for"]
