"""The heartbeat: when it beats, and in which order it works."""

from __future__ import annotations

from rumormill.core import trace
from tests.helpers.libp2p.workbench import Workbench, gossipsub, items, signed


def beats(bench: Workbench, until: float) -> list[float]:
    """The times at which the router wants to be woken, up to ``until``."""
    found = []
    while (due := bench.router.next_wake()) is not None and due <= until:
        found.append(round(due, 6))
        bench.run_until(due)
    return found


def test_nothing_beats_while_there_is_neither_peer_nor_topic() -> None:
    assert gossipsub().pubsub.next_wake() is None


def test_the_first_beat_comes_after_its_delay_and_then_one_each_interval() -> None:
    bench = gossipsub(heartbeat_delay=0.1, heartbeat_interval=1.0)
    bench.now = 50.0
    bench.join("ann")
    assert beats(bench, 53.5) == [50.1, 51.1, 52.1, 53.1]


def test_our_first_topic_starts_it_too() -> None:
    bench = gossipsub(heartbeat_delay=0.5)
    bench.subscribe("t")
    assert bench.router.next_wake() == 0.5


def test_interval_and_delay_are_the_users_choice() -> None:
    bench = gossipsub(heartbeat_delay=0.0, heartbeat_interval=0.25)
    bench.join("ann")
    bench.flush()
    assert beats(bench, 1.0) == [0.25, 0.5, 0.75, 1.0]


def test_beats_that_were_missed_are_not_made_up_for() -> None:
    bench = gossipsub(graft_on_subscribe=False)
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.now = 100.0
    bench.flush()
    assert bench.router.next_wake() == 101.0
    assert len(bench.events(trace.GRAFTED)) == 1


def test_the_rhythm_does_not_drift_when_a_beat_is_a_little_late() -> None:
    bench = gossipsub(heartbeat_delay=0.0)
    bench.join("ann")
    bench.flush()
    bench.now = 1.3
    bench.flush()
    assert bench.router.next_wake() == 2.0


def test_it_goes_on_after_everyone_left() -> None:
    bench = gossipsub()
    bench.join("ann")
    bench.leave("ann")
    assert len(beats(bench, 5.0)) == 5


def test_it_mends_the_mesh_before_it_gossips() -> None:
    """A peer that is taken into the mesh by this beat needs no gossip."""
    bench = gossipsub(graft_on_subscribe=False)
    bench.subscribe("t")
    bench.join("source", "t")
    bench.send_message("source", signed("author", "t", b"rain", 1))
    bench.join("ann", "t")
    bench.forget()
    bench.heartbeat()
    said = {item[0] for rpcs in bench.sent.values() for rpc in rpcs for item in items(rpc)}
    assert said == {"graft"}


def test_it_gossips_before_it_moves_the_windows() -> None:
    """A message just before the beat is told about at that very beat."""
    bench = gossipsub(D=0, D_low=0, D_high=0, D_lazy=3, mcache_gossip=1, mcache_len=1)
    bench.subscribe("t")
    bench.join("ann", "t")
    receipt = bench.publish("t")
    bench.took("ann")
    bench.heartbeat()
    assert bench.took_items("ann") == [("ihave", "t", frozenset([receipt.id]))]
    bench.heartbeat()
    assert bench.took("ann") == []


def test_what_it_has_to_say_to_a_peer_leaves_in_one_rpc() -> None:
    bench = gossipsub(graft_on_subscribe=False, D=1, D_low=1, D_high=1)
    bench.subscribe("a", "b", "c")
    bench.join("ann", "a", "b", "c")
    bench.took("ann")
    bench.heartbeat()
    (rpc,) = bench.took("ann")
    assert sorted(items(rpc)) == [("graft", "a"), ("graft", "b"), ("graft", "c")]
