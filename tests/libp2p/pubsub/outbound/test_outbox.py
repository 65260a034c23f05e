"""The way out: one packet a turn for each peer, and what happens when a line is not free."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.machine import RoomAgain, Send
from rumormill.libp2p.pubsub.outbound.outbox import MOST_BYTES_PER_SEND
from rumormill.libp2p.wire import Graft, Rpc
from tests.helpers.libp2p.workbench import Workbench, floodsub, gossipsub, signed


def data_to(bench: Workbench, peer: str) -> list[bytes]:
    return [message.data for rpc in bench.took(peer) for message in rpc.messages]


def test_all_that_waits_for_a_peer_leaves_as_one_packet() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.join("bob", "t")
    bench.forget()
    messages = tuple(signed("author", "t", b"%d" % number, number) for number in range(10))
    bench.say("ann", Rpc(messages=messages))
    assert [each.peer for each in bench.of(Send)] == ["bob"]
    assert data_to(bench, "bob") == [b"%d" % number for number in range(10)]


def test_a_line_that_is_not_free_keeps_messages_back_in_order() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.writable("ann", False)
    for number in range(3):
        bench.publish("t", b"%d" % number)
    assert bench.took("ann") == []
    assert bench.pubsub.next_wake() != bench.now, "nothing to do until the line is free"
    bench.writable("ann", True)
    assert data_to(bench, "ann") == [b"0", b"1", b"2"]


def test_a_slow_peer_does_not_hold_up_the_others() -> None:
    bench = floodsub(queue_messages=2)
    bench.join_many(2, "t")
    bench.writable("peer0", False)
    for number in range(5):
        bench.publish("t", b"%d" % number)
    assert len(data_to(bench, "peer1")) == 5
    bench.writable("peer0", True)
    assert data_to(bench, "peer0") == [b"0", b"1"]


def test_every_message_that_finds_no_room_is_counted() -> None:
    bench = floodsub(queue_messages=2)
    bench.join("ann", "t")
    bench.writable("ann", False)
    for _ in range(5):
        bench.publish("t")
    dropped = bench.events(trace.DROPPED, peer="ann", what="message", reason="queue_full")
    assert sum(int(each.fields["count"] or 0) for each in dropped) == 3


def test_forwarded_messages_that_find_no_room_are_counted_too() -> None:
    bench = floodsub(queue_messages=2)
    bench.subscribe("t")
    bench.join_many(2, "t")
    bench.writable("peer1", False)
    messages = tuple(signed("author", "t", b"x", number) for number in range(5))
    bench.say("peer0", Rpc(messages=messages))
    assert len(bench.delivered()) == 5, "a full queue costs a copy, not our own delivery"
    assert len(bench.events(trace.DROPPED, peer="peer1", reason="queue_full")) == 3


def test_a_publisher_hears_when_there_is_room_again() -> None:
    bench = floodsub(queue_messages=4)
    bench.join("ann", "t")
    bench.writable("ann", False)
    for _ in range(4):
        bench.publish("t")
    assert bench.pubsub.room.full(("t",))
    bench.pubsub.room.watch(("t",))
    assert not bench.of(RoomAgain)
    bench.writable("ann", True)
    assert bench.of(RoomAgain) == [RoomAgain("ann")]
    assert not bench.pubsub.room.full(("t",))


def test_a_publisher_is_not_told_of_room_that_nobody_missed() -> None:
    bench = floodsub(queue_messages=4)
    bench.join("ann", "t")
    bench.publish("t")
    assert not bench.of(RoomAgain)


def test_a_publisher_that_waits_for_a_peer_hears_that_it_left() -> None:
    bench = floodsub(queue_messages=1)
    bench.join("ann", "t")
    bench.writable("ann", False)
    bench.publish("t")
    assert bench.pubsub.room.full(("t",))
    bench.pubsub.room.watch(("t",))
    bench.leave("ann")
    assert bench.of(RoomAgain) == [RoomAgain("ann")]
    (dropped,) = bench.events(trace.DROPPED, peer="ann", reason="peer_left")
    assert dropped.fields["count"] == 1


def test_a_large_backlog_leaves_in_several_turns() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.writable("ann", False)
    for _ in range(10):
        bench.publish("t", bytes(100_000))
    bench.forget()
    bench.writable("ann", True)
    packets = [each.packet for each in bench.of(Send)]
    assert len(packets) > 3
    assert max(map(len, packets)) < MOST_BYTES_PER_SEND + 101_000
    assert len(data_to(bench, "ann")) == 10


def test_a_line_that_closes_between_two_turns_keeps_the_rest() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.writable("ann", False)
    for _ in range(10):
        bench.publish("t", bytes(100_000))
    bench.pubsub.outbox.writable("ann", True)
    bench._carry_out(bench.pubsub.wake(bench.now))
    bench.writable("ann", False)
    assert 0 < len(data_to(bench, "ann")) < 10
    assert bench.pubsub.sizes()["queued"] > 0


def test_control_leaves_before_messages_that_waited_longer() -> None:
    bench = gossipsub()
    bench.join("ann", "t")
    bench.writable("ann", False)
    for _ in range(3):
        bench.publish("t", bytes(1000))
    bench.subscribe("t")
    bench.writable("ann", True)
    first = bench.took("ann")[0]
    assert first.subscriptions
    assert first.control is not None
    assert first.control.of(Graft)


def test_control_is_never_lost_to_a_full_queue() -> None:
    bench = gossipsub(queue_messages=1)
    bench.join("ann", "t")
    bench.writable("ann", False)
    for _ in range(5):
        bench.publish("t")
    bench.subscribe("t")
    bench.writable("ann", True)
    kinds = [each[0] for each in bench.took_items("ann")]
    assert kinds.count("subscribe") == kinds.count("graft") == kinds.count("message") == 1


def test_an_unknown_peer_cannot_become_writable() -> None:
    bench = floodsub()
    bench.writable("nobody", True)
    assert bench.pubsub.next_wake() is None
