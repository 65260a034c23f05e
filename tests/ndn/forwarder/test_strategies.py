"""To whom Interests go: first, again, and after a Nack."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.forwarding import NotedFace, World


def three(world: World) -> tuple[NotedFace, NotedFace, NotedFace]:
    """Producers at rising cost."""
    first, second, third = (world.face("/a", cost=cost) for cost in (1, 2, 3))
    return first, second, third


def asked(*faces: NotedFace) -> list[int]:
    """How many Interests each was sent since the last time."""
    return [len([sent for sent in face.take() if sent.reason is None]) for face in faces]


# ---- best-route


def test_the_nearest_is_asked_and_the_next_when_the_interest_comes_again() -> None:
    world = World()
    consumer = world.face()
    hops = three(world)
    for expected in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]):
        world.ask(consumer, "/a/b")
        assert asked(*hops) == expected
        world.advance(0.3)


def test_an_interest_that_comes_again_too_soon_is_not_sent_on() -> None:
    world = World()
    consumer = world.face()
    hops = three(world)
    world.ask(consumer, "/a/b")
    assert asked(*hops) == [1, 0, 0]
    world.advance(0.009)
    world.ask(consumer, "/a/b")
    assert asked(*hops) == [0, 0, 0]
    world.advance(0.002)
    world.ask(consumer, "/a/b")
    assert asked(*hops) == [0, 1, 0]


def test_the_time_within_which_it_is_not_sent_on_doubles_up_to_a_quarter_of_a_second() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    sent_at = []
    for _ in range(2000):
        world.ask(consumer, "/a/b", lifetime=60_000)
        if producer.take():
            sent_at.append(world.now)
        world.advance(0.001)
    gaps = [round(b - a, 3) for a, b in pairwise(sent_at)]
    assert gaps[:8] == pytest.approx([0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.25, 0.25], abs=0.0015)


def test_another_face_that_asks_for_the_same_later_makes_it_go_to_the_next() -> None:
    world = World()
    one, other = world.face(), world.face()
    hops = three(world)
    world.ask(one, "/a/b")
    world.ask(other, "/a/b")
    assert asked(*hops) == [1, 0, 0]
    world.advance(0.1)
    world.ask(other, "/a/b")
    assert asked(*hops) == [0, 1, 0]


def test_who_was_asked_and_may_not_answer_any_more_is_asked_anew() -> None:
    world = World()
    one, other = world.face(), world.face()
    hops = three(world)
    world.ask(one, "/a/b", lifetime=100)
    world.ask(other, "/a/b", lifetime=9000)
    world.advance(0.2)
    assert asked(*hops) == [1, 0, 0]
    world.ask(other, "/a/b", lifetime=9000)
    assert asked(*hops) == [1, 0, 0]


def test_what_nobody_could_answer_any_more_begins_with_the_shortest_time_again() -> None:
    world = World()
    one, other, producer = world.face(), world.face(), world.face("/a")
    world.ask(other, "/a/b", lifetime=500)
    for _ in range(3):
        world.advance(0.1)
        world.ask(one, "/a/b", lifetime=100)
    world.ask(other, "/a/b", lifetime=9000)  # too soon
    world.advance(0.2)
    producer.take()
    world.ask(one, "/a/b", lifetime=9000)
    world.advance(0.011)
    world.ask(one, "/a/b", lifetime=9000)
    assert asked(producer) == [2]


def test_a_next_hop_that_knows_no_way_makes_it_go_to_the_next_at_once() -> None:
    world = World()
    consumer = world.face()
    first, second, third = three(world)
    world.ask(consumer, "/a/b")
    for face in (first, second):
        world.refuse(face, NackReason.NO_ROUTE)
        assert consumer.sent == []
    assert asked(first, second, third) == [1, 1, 1]
    world.answer(third, "/a/b")
    assert consumer.data == ["/a/b"]


def test_when_none_of_them_knows_a_way_who_waits_is_told() -> None:
    world = World()
    one, other = world.face(), world.face()
    hops = three(world)
    world.ask(one, "/a/b", b"1", nonce=b"1111")
    world.ask(other, "/a/b", b"2", nonce=b"2222")
    for face in hops:
        world.refuse(face, NackReason.NO_ROUTE)
    assert one.nacks == other.nacks == [("/a/b", NackReason.NO_ROUTE)]
    assert [sent.token for sent in (*one.sent, *other.sent)] == [b"1", b"2"]
    nonces = [getattr(sent.packet, "nonce", None) for sent in (*one.sent, *other.sent)]
    assert nonces == [b"1111", b"2222"]
    assert world.sizes["pit"] == 0
    assert world.forwarder.statistics.unsatisfied == 1


def test_who_has_waited_long_enough_is_told_nothing() -> None:
    world = World()
    one, other, producer = world.face(), world.face(), world.face("/a")
    world.ask(one, "/a/b", lifetime=100)
    world.ask(other, "/a/b", lifetime=1000)
    world.advance(0.5)
    world.refuse(producer, NackReason.NO_ROUTE)
    assert one.sent == []
    assert other.nacks == [("/a/b", NackReason.NO_ROUTE)]


def test_the_reason_that_is_told_is_the_one_that_passes_soonest() -> None:
    world = World()
    consumer = world.face()
    hops = three(world)
    world.ask(consumer, "/a/b")
    world.advance(0.3)
    for face, reason in zip(
        hops, (NackReason.NO_ROUTE, NackReason.DUPLICATE, NackReason.CONGESTION), strict=True
    ):
        world.refuse(face, reason)
    assert consumer.nacks == [("/a/b", NackReason.CONGESTION)]


@pytest.mark.parametrize("reason", [NackReason.CONGESTION, NackReason.NONE, 77])
def test_one_who_has_understood_and_refuses_ends_it(reason: int) -> None:
    world = World()
    consumer = world.face()
    first, second, third = three(world)
    world.ask(consumer, "/a/b")
    world.refuse(first, reason)
    assert consumer.nacks == [("/a/b", reason)]
    assert asked(second, third) == [0, 0]


def test_as_long_as_one_who_was_asked_may_answer_nobody_is_told() -> None:
    world = World()
    consumer = world.face()
    first, second, third = three(world)
    world.ask(consumer, "/a/b")
    world.advance(0.3)
    world.ask(consumer, "/a/b")
    world.refuse(first, NackReason.CONGESTION)
    assert consumer.sent == []
    world.refuse(second, NackReason.CONGESTION)
    assert consumer.nacks == [("/a/b", NackReason.CONGESTION)]
    assert third.sent == []


def test_after_a_nack_the_interest_goes_on_as_it_came_last() -> None:
    world = World()
    consumer = world.face()
    first, second, third = three(world)
    world.ask(consumer, "/a/b", nonce=b"1111")
    world.advance(0.3)
    world.ask(consumer, "/a/b", nonce=b"2222")
    world.refuse(second, NackReason.NO_ROUTE)
    sent = [getattr(face.sent[0].packet, "nonce", None) for face in (first, second, third)]
    assert sent == [b"1111", b"2222", b"2222"]


def test_after_a_nack_the_interest_does_not_go_to_who_waits_for_it() -> None:
    world = World()
    consumer = world.face("/a", cost=2)
    producer = world.face("/a", cost=1)
    world.ask(consumer, "/a/b")
    world.refuse(producer, NackReason.NO_ROUTE)
    assert consumer.interests == []
    assert consumer.nacks == [("/a/b", NackReason.NO_ROUTE)]


# ---- multicast


def test_multicast_asks_all_but_who_asks() -> None:
    world = World(strategy="multicast")
    consumer = world.face("/a")
    hops = three(world)
    world.ask(consumer, "/a/b")
    assert asked(consumer, *hops) == [0, 1, 1, 1]
    world.answer(hops[1], "/a/b")
    assert consumer.data == ["/a/b"]
    world.answer(hops[0], "/a/b")
    assert consumer.data == ["/a/b"]


def test_multicast_asks_all_again_when_it_is_time() -> None:
    world = World(strategy="multicast")
    consumer = world.face()
    hops = three(world)
    world.ask(consumer, "/a/b")
    world.ask(consumer, "/a/b")
    assert asked(*hops) == [1, 1, 1]
    world.advance(0.011)
    world.ask(consumer, "/a/b")
    assert asked(*hops) == [1, 1, 1]


def test_multicast_asks_who_is_new_at_once() -> None:
    world = World(strategy="multicast")
    consumer = world.face()
    hops = three(world)
    world.ask(consumer, "/a/b")
    late = world.face("/a")
    world.ask(consumer, "/a/b")
    assert asked(*hops, late) == [1, 1, 1, 1]


def test_multicast_tells_who_waits_when_all_have_refused() -> None:
    world = World(strategy="multicast")
    consumer = world.face()
    hops = three(world)
    world.ask(consumer, "/a/b")
    for face in hops[:2]:
        world.refuse(face, NackReason.NO_ROUTE)
        assert consumer.sent == []
    world.refuse(hops[2], NackReason.NO_ROUTE)
    assert consumer.nacks == [("/a/b", NackReason.NO_ROUTE)]


# ---- Nacks that nobody waits for


def test_a_nack_that_nobody_waits_for_is_dropped_and_counted() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    interest = world.ask(consumer, "/a/b")
    world.forwarder.nack(consumer, interest, NackReason.NO_ROUTE, b"")
    assert consumer.sent == []
    world.forwarder.nack(producer, interest._replace(nonce=b"zzzz"), NackReason.NO_ROUTE, b"")
    assert consumer.sent == []
    assert world.counted() == {("nack", "unsolicited"): 1, ("nack", "late"): 1}


def test_a_nack_finds_its_interest_by_its_token() -> None:
    world = World(pit_tokens=True)
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.refuse(producer, NackReason.CONGESTION, producer.sent[0].token)
    assert consumer.nacks == [("/a/b", NackReason.CONGESTION)]


# ---- choice


def test_the_strategy_of_the_longest_prefix_is_used() -> None:
    world = World()
    consumer = world.face()
    hops = three(world)
    strategies = world.forwarder.strategies
    strategies.set(name_from_uri("/a/all"), "multicast")
    strategies.set(name_from_uri("/a/all/one"), "best-route")
    for uri, expected in (("/a/x", 1), ("/a/all/x", 3), ("/a/all/one/x", 1)):
        world.ask(consumer, uri)
        assert sum(asked(*hops)) == expected
    strategies.unset(name_from_uri("/a/all/one"))
    world.ask(consumer, "/a/all/one/y")
    assert sum(asked(*hops)) == 3
    strategies.unset(name_from_uri("/a/all"))
    assert strategies.of(name_from_uri("/a/all")) == "best-route"
    assert len(strategies) == 1


def test_the_root_always_has_a_strategy() -> None:
    world = World(strategy="multicast")
    strategies = world.forwarder.strategies
    strategies.set(b"", "best-route")
    assert strategies.of(name_from_uri("/a")) == "best-route"
    strategies.unset(b"")
    assert strategies.of(name_from_uri("/a")) == "multicast"


def test_prefixes_with_a_strategy_are_bounded() -> None:
    world = World(max_strategies=3)
    strategies = world.forwarder.strategies
    found = [strategies.set(name_from_uri(f"/{n}"), "multicast") for n in range(5)]
    assert found == [True] * 3 + [False] * 2
    assert strategies.set(name_from_uri("/1"), "best-route")
    assert strategies.set(b"", "multicast")
    assert world.sizes["strategies"] == 4
