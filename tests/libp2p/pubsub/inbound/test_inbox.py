"""What a peer sent is read in slices: others get their turn, and nothing is lost or reordered."""

from __future__ import annotations

from rumormill.core.machine import Check, PeerLeft, Received
from rumormill.core.trace import DROPPED, TraceEvent
from rumormill.core.transport import RestPeer
from rumormill.libp2p.pubsub.inbound.inbox import MOST_FRAMES, SLICE
from rumormill.libp2p.wire import Control, IWant, Rpc, Subscription
from rumormill.libp2p.wire.frames import length_prefixed
from tests.helpers.core.machines import AnyEffect
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.siege_payloads import iwant, unknown_grafts
from tests.helpers.libp2p.workbench import Workbench, signed

TOPIC = "weather"
MANY = 3 * MOST_FRAMES


def bench_with(*peers: str) -> Workbench:
    bench = Workbench(answer_checks=False)
    bench.subscribe(TOPIC)
    for peer in peers:
        bench.join(peer, TOPIC)
    return bench


def messages(count: int) -> bytes:
    rpcs = [
        Rpc(messages=(signed("alice", TOPIC, b"%d" % number, number),)) for number in range(count)
    ]
    return b"".join(length_prefixed(encode_rpc(rpc)) for rpc in rpcs)


def checked(effects: list[AnyEffect]) -> list[bytes]:
    return [effect.subject.data for effect in effects if isinstance(effect, Check)]


def rests(effects: list[AnyEffect]) -> list[RestPeer]:
    return [effect for effect in effects if isinstance(effect, RestPeer)]


def test_many_messages_of_one_packet_are_read_in_slices_and_in_order() -> None:
    bench = bench_with("alice")
    effects = bench.pubsub.handle(Received("alice", messages(MANY)), 0.0)
    assert checked(effects) == [b"%d" % number for number in range(MOST_FRAMES)]
    assert rests(effects) == [RestPeer("alice", 0.0)]
    while rests(effects)[-1:] == [RestPeer("alice", 0.0)]:
        more = bench.pubsub.handle(Received("alice", b""), 0.0)
        effects = effects[:-1] + more
    assert checked(effects) == [b"%d" % number for number in range(MANY)]
    assert bench.pubsub.sizes()["unread_bytes"] == 0


def test_what_comes_while_something_is_unread_is_read_after_it() -> None:
    bench = bench_with("alice")
    first, second = messages(MANY)[:-50], messages(MANY)[-50:]
    bench.pubsub.handle(Received("alice", first), 0.0)
    bench.pubsub.handle(Received("alice", second), 0.0)
    effects = bench.pubsub.handle(Received("alice", b""), 0.0)
    assert checked(effects)[-1] == b"%d" % (MANY - 1)


def test_one_rpc_that_costs_more_than_a_slice_is_read_and_then_others_have_their_turn() -> None:
    bench = bench_with("eve")
    assert unknown_grafts(1000).units * 4 > SLICE
    packet = unknown_grafts(1000).data + length_prefixed(
        encode_rpc(Rpc(subscriptions=(Subscription(True, "late"),)))
    )
    effects = bench.pubsub.handle(Received("eve", packet), 0.0)
    assert rests(effects) == [RestPeer("eve", 0.0)]
    assert "eve" not in bench.pubsub.subscribers("late")
    bench.pubsub.handle(Received("eve", b""), 0.0)
    assert "eve" in bench.pubsub.subscribers("late")


def test_a_packet_that_costs_little_asks_for_no_turn() -> None:
    bench = bench_with("alice")
    effects = bench.pubsub.handle(Received("alice", messages(10)), 0.0)
    assert len(checked(effects)) == 10
    assert rests(effects) == []


def test_who_leaves_is_read_to_the_end_first() -> None:
    bench = bench_with("alice")
    effects = bench.pubsub.handle(Received("alice", messages(MANY)), 0.0)
    effects = effects + bench.pubsub.handle(PeerLeft("alice"), 0.0)
    assert len(checked(effects)) == MANY


def test_who_leaves_in_debt_is_not_read_to_the_end_and_that_is_traced() -> None:
    bench = bench_with("eve")
    wants = length_prefixed(encode_rpc(Rpc(control=Control((IWant((b"x",)),)))))
    packet = iwant().data * 30 + wants
    bench.pubsub.handle(Received("eve", packet), 0.0)
    for _ in range(50):
        bench.pubsub.handle(Received("eve", b""), 0.0)
        if bench.pubsub.toll.owes(bench.pubsub.peers["eve"]):
            break
    unread = bench.pubsub.sizes()["unread_bytes"]
    assert unread
    effects = bench.pubsub.handle(PeerLeft("eve"), 0.0)
    dropped = [each for each in effects if isinstance(each, TraceEvent) and each.event == DROPPED]
    assert [(each.peer, each.fields) for each in dropped] == [
        ("eve", {"what": "packet", "reason": "peer_left", "size": unread})
    ]
