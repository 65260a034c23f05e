"""The way of memory in virtual time: whom it tries, whom it keeps, whom it forgets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from rumormill.core.machine import Connect
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import (
    PeerConnected,
    PeerDisconnected,
    PeerIdentified,
    PeerUnreached,
)
from rumormill.libp2p.discovery.events import DISCOVERY_LOST
from rumormill.libp2p.discovery.remembered import (
    LONGEST_MEMORY,
    MOST_FAILURES,
    TRIED_AT_ONCE,
    Remembered,
    RememberedPeer,
)
from tests.helpers.libp2p.discovery_bench import Hungry
from tests.helpers.libp2p.host_net import key

NOW = 1_800_000_000.0
PUBSUB = "/meshsub/1.1.0"


def name(number: int) -> str:
    return key(f"peer {number}").peer


def place(number: int) -> str:
    return f"/ip4/10.0.{number >> 8}.{number & 255}/tcp/4001"


def friends(count: int, last_seen: float = NOW - 60) -> list[RememberedPeer]:
    return [RememberedPeer(name(n), (place(n),), last_seen - n) for n in range(count)]


class Bench:
    """Discovery with nothing but a memory."""

    def __init__(self, peers: Sequence[RememberedPeer] = (), **options: Any) -> None:
        self.way = Remembered(peers, useful=[PUBSUB], **options)
        self.machine = Discovery(
            node=key("us").peer, ways=[self.way], census=Hungry(), random=random.Random(1)
        )
        self.now = NOW

    def feed(self, input: Any) -> list[Any]:
        return list(self.machine.handle(input, self.now))

    def run(self, seconds: float = 0.0) -> list[Any]:
        came: list[Any] = []
        end = self.now + seconds
        while (wake := self.machine.next_wake()) is not None and wake <= end:
            self.now = max(self.now, wake)
            came += self.machine.wake(self.now)
        self.now = end
        return came

    def meet(self, number: int, protocol: str = PUBSUB) -> list[Any]:
        came = self.feed(PeerConnected(name(number), place(number)))
        return came + self.feed(PeerIdentified(name(number), (protocol,), (place(number),)))


def dialed(effects: Sequence[Any]) -> list[str]:
    return [each.peer for each in effects if isinstance(each, Connect)]


def lost(effects: Sequence[Any]) -> list[Any]:
    return [
        each.fields["reason"]
        for each in effects
        if isinstance(each, TraceEvent) and each.event == DISCOVERY_LOST
    ]


def test_those_who_were_there_last_are_tried_first_and_a_few_at_a_time() -> None:
    bench = Bench(friends(50))
    assert dialed(bench.run()) == [name(n) for n in range(TRIED_AT_ONCE)]
    came = bench.feed(PeerUnreached(name(0), "refused"))
    assert dialed(came) == [name(TRIED_AT_ONCE)]


def test_the_addresses_of_the_user_come_first() -> None:
    bench = Bench(friends(3), delay=3.0)
    assert dialed(bench.run(2.9)) == []
    assert len(dialed(bench.run(0.2))) == 3


def test_who_has_peers_already_tries_nobody() -> None:
    bench = Bench(friends(3), delay=3.0)
    bench.run(1.0)
    bench.machine.handle(PeerConnected(name(9), place(9)), bench.now)
    assert dialed(bench.run(10.0)) == []


def test_a_memory_full_of_dead_addresses_is_gone_through_and_forgotten_in_the_end() -> None:
    bench = Bench(friends(30))
    waiting = dialed(bench.run())
    tried: dict[str, int] = {}
    for _ in range(30 * MOST_FAILURES):
        if not waiting:
            bench.now += 1000.0
            waiting = dialed(bench.feed(PeerUnreached("", "nobody"))) or dialed(_again(bench))
            if not waiting:
                break
        peer = waiting.pop(0)
        tried[peer] = tried.get(peer, 0) + 1
        waiting += dialed(bench.feed(PeerUnreached(peer, "refused")))
        assert bench.way.sizes()["remembered_tried"] <= TRIED_AT_ONCE
    assert len(tried) == 30 and set(tried.values()) == {MOST_FAILURES}
    assert bench.way.sizes() == {"remembered": 0, "remembered_tried": 0}


def _again(bench: Bench) -> list[Any]:
    bench.way.seek("weather", 6, bench.now)
    return bench.machine._take()


def test_who_was_of_use_is_remembered_with_its_addresses() -> None:
    bench = Bench()
    bench.run()
    bench.meet(1)
    bench.meet(2, protocol="/ipfs/kad/1.0.0")
    assert bench.way.state(NOW + 5) == (RememberedPeer(name(1), (place(1),), NOW + 5),)


def test_who_left_was_there_until_then() -> None:
    bench = Bench()
    bench.run()
    bench.meet(1)
    bench.now += 100
    bench.feed(PeerDisconnected(name(1)))
    assert bench.way.state(NOW + 500)[0].last_seen == NOW + 100


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    bench = Bench(most=16)
    bench.run()
    for number in range(100):
        bench.now += 1.0
        bench.meet(number)
        bench.feed(PeerDisconnected(name(number)))
    assert [each.peer for each in bench.way.state(bench.now)] == [
        name(n) for n in range(99, 83, -1)
    ]


def test_what_is_too_old_is_forgotten_and_what_is_of_the_future_is_of_now() -> None:
    old = RememberedPeer(name(1), (place(1),), NOW - LONGEST_MEMORY - 1)
    future = RememberedPeer(name(2), (place(2),), NOW + 1e6)
    bench = Bench([old, future])
    came = bench.run()
    assert lost(came) == ["expired"] and dialed(came) == [name(2)]
    assert bench.way.state(NOW) == (RememberedPeer(name(2), (place(2),), NOW),)


def test_who_is_reached_is_in_good_standing_again() -> None:
    bench = Bench([RememberedPeer(name(1), (place(1),), NOW - 9, failures=4)])
    bench.run()
    bench.feed(PeerConnected(name(1), place(1)))
    assert bench.way.state(NOW) == (RememberedPeer(name(1), (place(1),), NOW),)
