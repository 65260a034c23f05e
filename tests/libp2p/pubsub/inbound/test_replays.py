"""A message that is sent once more after its id was forgotten: delivered again, or not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.errors import ConfigError
from rumormill.core.machine import Check
from rumormill.libp2p.pubsub.inbound.replays import Replays
from rumormill.libp2p.pubsub.inbound.seen import SeenCache
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.wire.message import build_message
from rumormill.simulate import Link
from tests.helpers.libp2p import workbench
from tests.helpers.libp2p.pubsub_network import PubsubNetwork
from tests.helpers.libp2p.workbench import Workbench, identity, signed


def node(**parameters: Any) -> Workbench:
    bench = workbench.gossipsub(**parameters)
    bench.subscribe("weather")
    bench.join("ann", "weather")
    bench.join("bob", "weather")
    return bench


def texts(bench: Workbench) -> list[bytes]:
    return [message.data for message in bench.delivered()]


def test_without_the_setting_a_replay_after_seen_ttl_is_delivered_again() -> None:
    bench = node()
    for when in (0.0, 130.0):
        bench.run_until(when)
        bench.send_message("ann", signed("author", "weather", b"rain", 7))
    assert texts(bench) == [b"rain", b"rain"]


@pytest.mark.parametrize("when", [121.0, 130.0, 200.0, 10_000.0])
def test_a_replay_is_ignored_unchecked_not_passed_on_and_traced(when: float) -> None:
    bench = node(refuse_replays=True)
    bench.send_message("ann", signed("author", "weather", b"rain", 7))
    bench.run_until(when)
    bench.forget()
    bench.send_message("bob", signed("author", "weather", b"rain", 7))
    [ignored] = bench.events(trace.IGNORED, reason="replay")
    assert ignored.peer == "bob" and ignored.topic == "weather"
    assert texts(bench) == [] and bench.of(Check) == [] and bench.took_items("ann") == []
    assert not bench.events(trace.REJECTED)


def test_messages_may_overtake_each_other_within_half_of_seen_ttl() -> None:
    bench = node(refuse_replays=True)
    for when, number in ((0.0, 9), (1.0, 8), (59.0, 7), (119.0, 12), (178.0, 11)):
        bench.run_until(when)
        bench.send_message("ann", signed("author", "weather", b"%d" % number, number))
    assert texts(bench) == [b"9", b"8", b"7", b"12", b"11"]
    bench.run_until(300.0)
    bench.send_message("ann", signed("author", "weather", b"10", 10))
    assert len(bench.events(trace.IGNORED, reason="replay")) == 1, "it comes too late"


def test_each_author_has_its_own_numbers() -> None:
    bench = node(refuse_replays=True)
    bench.send_message("ann", signed("author", "weather", b"rain", 1000))
    bench.run_until(500.0)
    bench.send_message("ann", signed("another", "weather", b"sun", 1))
    bench.send_message("ann", signed("author", "weather", b"snow", 1001))
    assert texts(bench) == [b"rain", b"sun", b"snow"]


def test_a_forged_message_with_a_high_number_keeps_no_true_one_out() -> None:
    bench = node(refuse_replays=True)
    forged = signed("author", "weather", b"forged", 2**63)
    forged.raw = forged.raw[:-1] + bytes([forged.raw[-1] ^ 1])
    bench.send_message("ann", forged)
    bench.run_until(500.0)
    bench.send_message("bob", signed("author", "weather", b"rain", 7))
    assert texts(bench) == [b"rain"]


def test_messages_without_an_author_are_let_through() -> None:
    bench = node(refuse_replays=True, signing="StrictNoSign")
    for when in (0.0, 130.0):
        bench.run_until(when)
        bench.send_message("ann", build_message(data=b"rain", topics=("weather",)))
    assert texts(bench) == [b"rain", b"rain"] and bench.pubsub.sizes()["authors"] == 0


def test_authors_are_remembered_up_to_a_number_and_the_rest_is_counted() -> None:
    bench = node(refuse_replays=True, max_authors=3)
    for number in range(5):
        bench.send_message("ann", signed(f"author {number}", "weather", b"rain", 7))
    assert bench.pubsub.sizes()["authors"] == 3
    dropped = bench.events(trace.DROPPED, what="author", reason="authors_full")
    assert sum(int(str(event.fields["count"])) for event in dropped) == 2
    bench.run_until(500.0)
    for number in (2, 3, 4):
        bench.send_message("ann", signed(f"author {number}", "weather", b"rain", 7))
    assert len(bench.events(trace.IGNORED, reason="replay")) == 3


def test_who_was_heard_last_is_forgotten_last() -> None:
    replays = Replays(window=5.0, most=2)
    forgotten = [replays.note(author, 1, 0.0) for author in (b"a", b"b", b"a", b"c")]
    assert forgotten == [0, 0, 0, 1] and len(replays) == 2
    assert replays.old(b"a", 1, 20.0) and not replays.old(b"b", 1, 20.0)


def test_of_an_author_that_never_rests_too_what_is_old_is_known() -> None:
    replays = Replays(window=10.0, most=10)
    for second in range(100):
        now = float(second)
        replays.note(b"author", second, now)
        old = [number for number in range(second + 1) if replays.old(b"author", number, now)]
        assert set(range(second - 19)) <= set(old), "no id is remembered of these"
        assert set(old) <= set(range(max(0, second - 9))), "these may have been overtaken"


class Memory:
    """A store that outlives its node."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}

    def highest(self, author: bytes) -> int | None:
        return self.numbers.get(author)

    def reached(self, author: bytes, number: int) -> None:
        assert number > self.numbers.get(author, -1)
        self.numbers[author] = number


@given(
    st.lists(st.tuples(st.floats(0.0, 40.0), st.integers(0, 6), st.booleans()), max_size=40),
    st.sampled_from([0.0, 1.0, 3.0, 10.0]),
)
def test_nothing_is_ever_delivered_twice(
    arrivals: list[tuple[float, int, bool]], window: float
) -> None:
    """Whatever comes when: what the ids no longer tell, the numbers do; restarts do not help."""
    store = Memory()
    seen, replays = SeenCache(ttl=20.0, most=1000), Replays(window, most=10, store=store)
    now, delivered = 0.0, set()
    for pause, number, restart in arrivals:
        now += pause
        if restart:
            seen, replays = SeenCache(ttl=20.0, most=1000), Replays(window, most=10, store=store)
        seen.expire(now)
        if b"%d" % number in seen or replays.old(b"author", number, now):
            continue
        assert number not in delivered
        delivered.add(number)
        seen.add(b"%d" % number, now)
        replays.note(b"author", number, now)


# ---- the window


def test_without_a_window_what_was_overtaken_is_ignored_as_in_go() -> None:
    bench = node(refuse_replays=True, replay_window=0)
    for number in (7, 9, 8, 10):
        bench.send_message("ann", signed("author", "weather", b"%d" % number, number))
    assert texts(bench) == [b"7", b"9", b"10"]
    assert len(bench.events(trace.IGNORED, reason="replay")) == 1


def test_a_shorter_window_is_over_sooner() -> None:
    replays = Replays(window=5.0, most=10)
    replays.note(b"author", 7, 0.0)
    assert not replays.old(b"author", 6, 5.0)
    assert replays.old(b"author", 6, 10.0) and not replays.old(b"author", 8, 10.0)


@pytest.mark.parametrize("window", [-1, 61, "long"])
def test_a_window_beyond_half_of_seen_ttl_is_refused(window: Any) -> None:
    with pytest.raises(ConfigError, match="replay_window"):
        PubsubParameters(seen_ttl=120, replay_window=window)


# ---- over a restart


def restarted(store: Memory, **parameters: Any) -> Workbench:
    bench = workbench.gossipsub(refuse_replays=True, author_store=store, **parameters)
    bench.subscribe("weather")
    bench.join("ann", "weather")
    return bench


def test_a_node_that_was_restarted_takes_no_old_message_for_a_new_one() -> None:
    store = Memory()
    before = restarted(store)
    for number in (7, 9, 8):
        before.send_message("ann", signed("author", "weather", b"%d" % number, number))
    assert store.numbers == {identity("author").peer_id: 9}
    after = restarted(store)
    for number in (9, 7, 8, 10):
        after.send_message("ann", signed("author", "weather", b"%d" % number, number))
    assert texts(after) == [b"10"]
    assert len(after.events(trace.IGNORED, reason="replay")) == 3


def test_without_a_store_a_restart_forgets() -> None:
    for _ in range(2):
        bench = node(refuse_replays=True)
        bench.send_message("ann", signed("author", "weather", b"rain", 7))
        assert texts(bench) == [b"rain"]


def test_who_was_forgotten_for_want_of_room_is_known_to_the_store() -> None:
    store = Memory()
    bench = restarted(store, max_authors=1)
    for author in ("author", "another"):
        bench.send_message("ann", signed(author, "weather", b"rain", 7))
    assert bench.pubsub.sizes()["authors"] == 1
    bench.run_until(500.0)
    bench.send_message("ann", signed("author", "weather", b"rain", 7))
    assert len(bench.events(trace.IGNORED, reason="replay")) == 1


def test_a_forged_message_does_not_reach_the_store() -> None:
    store = Memory()
    forged = signed("author", "weather", b"forged", 2**63)
    forged.raw = forged.raw[:-1] + bytes([forged.raw[-1] ^ 1])
    restarted(store).send_message("ann", forged)
    assert store.numbers == {}


# ---- in a network, as go tests its validator


NAMES = [f"node{number}" for number in range(10)]
RING = [(name, NAMES[(at + step) % 10]) for at, name in enumerate(NAMES) for step in (1, 2)]


def network(**parameters: Any) -> PubsubNetwork:
    net = PubsubNetwork(NAMES, RING, refuse_replays=True, **parameters)
    net.subscribe()
    net.run(3.0)
    return net


@pytest.mark.parametrize("window", [None, 0])
def test_every_message_of_many_authors_arrives_everywhere(window: float | None) -> None:
    net = network(replay_window=window)
    receipts = []
    for number in range(50):
        receipts.append(net.publish(NAMES[number % 10]))
        net.run(0.5)
    net.run(3.0)
    assert net.all_got(receipts)


def test_what_circles_for_longer_than_ids_live_is_delivered_once() -> None:
    """A network whose ids are forgotten before a message has gone all the way round."""
    slow = Link(latency=3.0)
    net = network(seen_ttl=1.0, replay_window=0, link=slow)
    net.run(30.0)
    receipts = []
    for number in range(20):
        receipts.append(net.publish(NAMES[number % 10]))
        net.run(30.0)
    assert net.all_got(receipts)
    assert any(event.fields.get("reason") == "replay" for event in net.simulation.trace)


def test_a_peer_that_replays_all_that_it_hears_is_not_heard() -> None:
    bench = node(refuse_replays=True, seen_ttl=1.0, replay_window=0)
    heard = []
    for number in range(20):
        message = signed("author", "weather", b"%d" % number, number)
        heard.append(message)
        bench.send_message("ann", message)
        bench.run_until(bench.now + 2.0)
        for old in heard:
            bench.send_message("bob", old)
    assert texts(bench) == [b"%d" % number for number in range(20)]
    assert len(bench.events(trace.IGNORED, peer="bob", reason="replay")) == 210
