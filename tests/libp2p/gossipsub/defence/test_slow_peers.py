"""Slow peers: the score and the user hear of them once a heartbeat."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.defence.slow_peers import SlowPeers
from rumormill.libp2p.gossipsub.router import GossipsubRouter
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices
from tests.helpers.libp2p.workbench import Workbench, gossipsub, signed


class Ledger(Standing):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.slowness: list[tuple[Peer, int]] = []

    def slow(self, peer: Peer, lost: int) -> None:
        self.slowness.append((peer, lost))


class WithLedger(GossipsubRouter):
    """Keeps a ledger in place of a score."""

    def attach(self, pubsub: PubsubServices) -> None:
        super().attach(pubsub)
        self.ledger = Ledger()
        self._slow_peers = SlowPeers(pubsub, self.ledger)


def with_slow(bench: Workbench) -> Workbench:
    """``slow`` takes nothing; ``ann`` does."""
    bench.subscribe("t")
    for peer in ("ann", "slow"):
        bench.join(peer, "t")
    bench.writable("slow", False)
    bench.heartbeat()
    bench.forget()
    return bench


def test_what_our_own_messages_lose_is_told_once_a_heartbeat() -> None:
    router = WithLedger()
    bench = with_slow(Workbench(router, queue_messages=2))
    for _ in range(5):
        bench.publish("t")
    assert bench.events(trace.SLOW_PEER) == []
    bench.heartbeat()
    (event,) = bench.events(trace.SLOW_PEER)
    assert (event.peer, event.fields) == ("slow", {"lost": 3})
    assert router.ledger.slowness == [("slow", 3)]
    bench.heartbeat()
    assert len(bench.events(trace.SLOW_PEER)) == 1, "nothing more was lost"


def test_what_others_messages_lose_is_told_too() -> None:
    bench = with_slow(gossipsub(queue_messages=2))
    for number in range(5):
        bench.send_message("ann", signed("author", "t", b"x", number + 1))
    bench.heartbeat()
    (event,) = bench.events(trace.SLOW_PEER)
    assert event.fields == {"lost": 3}


def test_what_expires_is_told_too() -> None:
    bench = with_slow(gossipsub(forward_queue_seconds=1.0, publish_queue_seconds=3.0))
    bench.send_message("ann", signed("author", "t", b"x", 1))
    bench.publish("t")
    bench.run_until(bench.now + 10.0)
    assert [event.fields["lost"] for event in bench.events(trace.SLOW_PEER)] == [1, 1]


def test_what_was_asked_for_and_found_no_room_is_told_too() -> None:
    bench = with_slow(gossipsub(queue_messages=1))
    receipts = [bench.publish("t").id for _ in range(3)]
    bench.heartbeat()
    bench.forget()
    bench.iwant("slow", *receipts)
    bench.heartbeat()
    (event,) = bench.events(trace.SLOW_PEER)
    assert event.fields == {"lost": 3}


def test_ids_that_find_no_room_are_told_too() -> None:
    bench = with_slow(gossipsub(D=0, D_low=0, D_high=0, D_lazy=5, message_id=_long_id))
    for number in range(3000):
        bench.publish("t", b"%d" % number)
    bench.heartbeat()
    bench.heartbeat()
    assert bench.events(trace.DROPPED, peer="slow", what="ihave")
    assert bench.events(trace.SLOW_PEER, peer="slow")


def _long_id(message: object) -> bytes:
    return (getattr(message, "sequence", None) or b"").rjust(1024, b"i")


def test_a_peer_that_is_taken_out_of_a_queue_for_leaving_is_not_slow() -> None:
    bench = with_slow(gossipsub(queue_messages=1))
    for _ in range(3):
        bench.publish("t")
    bench.leave("slow")
    bench.heartbeat()
    assert bench.events(trace.SLOW_PEER) == []
    assert bench.pubsub.outbox.take_losses() == {}


def test_what_a_peer_does_not_want_is_no_loss() -> None:
    bench = with_slow(gossipsub())
    ids = {bench.publish("t").id}
    bench.pubsub.outbox.withdraw("slow", ids)
    bench.heartbeat()
    assert bench.pubsub.sizes()["queued"] == 0
    assert bench.events(trace.SLOW_PEER) == []
