"""Nothing grows without a bound, whatever strangers send; who sends most loses first."""

from __future__ import annotations

import pytest

from rumormill.ndn.forwarder.tables.expiries import MOST_AT_ONCE
from rumormill.ndn.forwarder.tables.pit import EVICTED_AT_ONCE
from rumormill.ndn.forwarder.tally import MOST_ROWS
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import component, name_from_uri
from tests.helpers.ndn.forwarding import NotedFace, World


def flood(world: World, face: NotedFace, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        world.ask(face, f"/a/flood/{face.id}/{number}")


def test_a_face_keeps_to_its_share_and_its_oldest_interests_give_way() -> None:
    world = World(max_face_pit=50)
    flooder, _ = world.face(), world.face("/a")
    flood(world, flooder, 500)
    assert world.sizes["pit"] == 50
    assert len(flooder.nacks) == 450
    assert flooder.nacks[0] == (f"/a/flood/{flooder.id}/0", NackReason.CONGESTION)
    assert world.counted(dropped=True) == {("interest", "too_many"): 450}


def test_who_floods_does_not_push_out_who_does_not() -> None:
    world = World(max_pit=100, max_face_pit=100)
    flooder, honest, producer = world.face(), world.face(), world.face("/a")
    for number in range(10):
        world.ask(honest, f"/a/honest/{number}")
    flood(world, flooder, 1000)
    assert world.sizes["pit_waiting"] <= 100
    assert honest.nacks == []
    for number in range(10):
        world.answer(producer, f"/a/honest/{number}")
    assert len(honest.data) == 10


def test_who_comes_late_into_a_full_table_gets_room() -> None:
    world = World(max_pit=100, max_face_pit=100)
    flooder, honest, producer = world.face(), world.face(), world.face("/a")
    flood(world, flooder, 1000)
    for number in range(20):
        world.ask(honest, f"/a/honest/{number}")
        flood(world, flooder, 10, start=1000 + 10 * number)
    assert honest.nacks == []
    for number in range(20):
        world.answer(producer, f"/a/honest/{number}")
    assert len(honest.data) == 20


def test_many_flooders_together_keep_to_the_bound() -> None:
    world = World(max_pit=200, max_face_pit=100)
    _, flooders = world.face("/a"), [world.face() for _ in range(10)]
    for round in range(30):
        for face in flooders:
            flood(world, face, 5, start=5 * round)
            assert world.sizes["pit_waiting"] <= 200
    shares = [150 - len(face.nacks) for face in flooders]
    assert sum(shares) == world.sizes["pit_waiting"] > 200 - EVICTED_AT_ONCE
    assert min(shares) > 0


def test_very_many_interests_that_end_at_once_end_in_several_turns() -> None:
    world = World()
    flooder, _ = world.face(), world.face("/a")
    flood(world, flooder, 2 * MOST_AT_ONCE + 10)
    world.turn.begin(world.now + 5)
    left = []
    for _ in range(4):
        world.forwarder.wake(world.now + 5)
        left.append(world.sizes["pit"])
    assert left == [MOST_AT_ONCE + 10, 10, 0, 0]
    assert world.sizes["pit_buckets"] == 0


def test_long_names_are_bounded_by_the_bytes_that_they_take() -> None:
    world = World(max_pit_bytes=200_000)
    flooder, honest, producer = world.face(), world.face(), world.face("/a")
    world.ask(honest, "/a/honest")
    for number in range(300):
        name = name_from_uri(f"/a/{number}") + component(b"x" * 8000)
        world.ask(flooder, name)
        assert world.sizes["pit_bytes"] <= 200_000 + 20_000
    assert honest.nacks == []
    world.answer(producer, "/a/honest")
    assert honest.data == ["/a/honest"]


def test_names_of_very_many_components_cost_little() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    name = name_from_uri("/a") + component(b"") * 255
    world.ask(consumer, name, can_be_prefix=True)
    world.answer(producer, name)
    assert len(consumer.data) == 1
    assert world.sizes["pit"] == 0


def test_many_who_wait_for_the_same_are_bounded_too() -> None:
    world = World(max_pit=50)
    world.face("/a")
    for _ in range(20):
        face = world.face()
        for number in range(10):
            world.ask(face, f"/a/{number}")
    assert world.sizes["pit_waiting"] <= 50


def test_an_interest_that_gives_way_to_its_own_like_is_sent_anew() -> None:
    world = World(max_pit=1)
    one, other, producer = world.face(), world.face(), world.face("/a")
    world.ask(one, "/a/b")
    world.ask(other, "/a/b")
    assert one.nacks == [("/a/b", NackReason.CONGESTION)]
    assert producer.interests == ["/a/b", "/a/b"]
    world.answer(producer, "/a/b")
    assert other.data == ["/a/b"]


def test_variants_of_one_name_are_bounded_and_cost_no_search() -> None:
    world = World(max_face_pit=200)
    flooder, producer = world.face(), world.face("/a")
    for number in range(1000):
        world.ask(flooder, "/a/b", hint=[f"/hint/{number}"])
    assert world.sizes["pit"] == 200
    world.refuse(producer, NackReason.CONGESTION)
    world.answer(producer, "/a/b")
    assert world.sizes["pit"] == world.sizes["pit_names"] == 0


def test_many_who_are_asked_count_for_what_they_take() -> None:
    world = World(strategy="multicast", max_pit_bytes=100_000)
    consumer = world.face()
    for _ in range(100):
        world.face("/a")
    for number in range(100):
        world.ask(consumer, f"/a/{number}")
    # 100 faces for each of at most so many
    assert world.sizes["pit"] <= 8


def test_data_that_nobody_asked_for_fills_nothing() -> None:
    world = World()
    stranger = world.face("/a")
    before = world.sizes
    for number in range(1000):
        world.answer(stranger, f"/a/{number}")
    assert {**world.sizes, "tally": 0} == before
    assert world.counted() == {("data", "unsolicited"): 1000}


def test_interests_that_go_round_fill_nothing() -> None:
    world = World(max_dead_nonces=100)
    one, other = world.face("/a", local=False), world.face("/a", local=False, cost=1)
    for number in range(1000):
        asked = world.ask(other, f"/a/{number}", lifetime=100)
        world.bring(one, asked)
        if number % 10 == 0:
            world.advance(0.1)
    assert world.sizes["dead_nonces"] <= 100
    assert len(one.nacks) == 1000
    world.advance(20)
    assert world.sizes["pit"] == world.sizes["dead_nonces"] == 0


def test_a_loop_of_forwarders_ends_at_once() -> None:
    """Three forwarders that think each of the next: the Interest goes round once."""
    worlds = [World(seed) for seed in range(3)]
    # Each has a face to the one before and one to the next, which it has a route by.
    before = [world.face(local=False) for world in worlds]
    after = [world.face("/a", local=False) for world in worlds]
    consumer = worlds[0].face()
    worlds[0].ask(consumer, "/a/b")
    hops = 0
    moved = True
    while moved:
        moved = False
        for place, world in enumerate(worlds):
            following = (place + 1) % 3
            for sent in after[place].take():
                hops += 1
                moved = True
                if sent.reason is None:
                    worlds[following].bring(before[following], sent.packet, sent.token)  # type: ignore[arg-type]
            preceding = (place - 1) % 3
            for sent in before[place].take():
                moved = True
                assert sent.reason is not None
                worlds[preceding].forwarder.nack(
                    after[preceding],
                    sent.packet,  # type: ignore[arg-type]
                    sent.reason,
                    sent.token,
                )
            assert world.sizes["pit"] <= 1
    assert hops == 3
    assert consumer.nacks == [("/a/b", NackReason.DUPLICATE)]
    assert all(world.sizes["pit"] == 0 for world in worlds)


def test_what_is_dropped_is_summed_up() -> None:
    world = World()
    face = world.face()
    for number in range(1000):
        world.ask(face, f"/{number}")
    assert [event for event in world.events if event.event == "ignored"] == []
    world.advance(1.1)
    (event,) = [event for event in world.events if event.event == "ignored"]
    assert (event.fields["address"], event.fields["reason"]) == (face.peer, "no_route")
    assert event.fields["count"] == 1000
    assert world.alarm.soonest == float("inf")


def test_what_is_summed_up_is_bounded_too() -> None:
    world = World()
    for number in range(2 * MOST_ROWS):
        face = world.face()
        world.ask(face, "/a")
        world.down(face)
        assert world.sizes["tally"] <= MOST_ROWS + 1, number
    assert world.counted() == {("interest", "no_route"): 2 * MOST_ROWS}


@pytest.mark.parametrize("local", [True, False])
def test_what_is_of_no_use_is_charged(local: bool) -> None:
    world = World(max_face_pit=1)
    charged: list[tuple[int, str, bool]] = []
    world.forwarder.charge = lambda face, kind, cost, blame: charged.append((face.id, kind, blame))
    face, producer = world.face(local=local), world.face("/a")
    world.ask(face, "/nowhere")
    world.answer(producer, "/a/unasked")
    world.ask(face, "/a/1")
    world.ask(face, "/a/2")
    world.advance(5)
    expected = [
        (face.id, "no_route", False),
        (producer.id, "unsolicited", False),
        (face.id, "too_many", False),
        (face.id, "timed_out", False),
    ]
    assert charged == expected
    charged.clear()
    world.ask(face, "/localhost/x")
    assert ((face.id, "scope", True) in charged) is not local
