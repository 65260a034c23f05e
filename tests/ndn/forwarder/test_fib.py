"""Routes: which next hops a name has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.ndn.forwarder.tables.fib import CAPTURE, CHILD_INHERIT, Origin, RouteChange
from rumormill.ndn.forwarder.tables.prefix_table import FEW, PrefixTable
from rumormill.ndn.wire.name import Name, component, name_from_uri, prefix_ends
from tests.helpers.ndn.forwarding import NotedFace, World


def hops(world: World, uri: str) -> list[tuple[int, int]]:
    return [(hop.face.id, hop.cost) for hop in world.forwarder.fib.next_hops(name_from_uri(uri))]


def test_the_longest_prefix_wins() -> None:
    world = World()
    short, long = world.face("/a"), world.face()
    world.route("/a/b", long, flags=0)
    world.route("/a/b/c/d", short, flags=0)
    assert hops(world, "/a/x") == [(short.id, 0)]
    assert (long.id, 0) in hops(world, "/a/b/c")
    assert hops(world, "/b") == []


def test_a_prefix_is_one_of_whole_components() -> None:
    world = World()
    world.face("/ab")
    assert hops(world, "/a") == hops(world, "/abc") == []
    assert hops(world, "/ab") != []


def test_next_hops_are_sorted_by_cost_and_equal_ones_by_age() -> None:
    world = World()
    dear, first, second = world.face("/a", cost=9), world.face("/a"), world.face("/a")
    assert hops(world, "/a") == [(first.id, 0), (second.id, 0), (dear.id, 9)]


def test_a_face_with_routes_of_several_origins_is_one_hop_of_the_least_cost() -> None:
    world = World()
    face = world.face()
    world.route("/a", face, 7, origin=Origin.ROUTING)
    world.route("/a", face, 3, origin=Origin.STATIC)
    assert hops(world, "/a") == [(face.id, 3)]
    world.forwarder.fib.remove(name_from_uri("/a"), face, Origin.STATIC)
    assert hops(world, "/a") == [(face.id, 7)]


def test_a_route_that_is_inherited_is_used_for_longer_prefixes_too() -> None:
    world = World()
    above, below = world.face(), world.face()
    world.route("/a", above, flags=CHILD_INHERIT)
    world.route("/a/b", below)
    assert hops(world, "/a/b/c") == [(below.id, 0), (above.id, 0)]


def test_a_route_without_the_flag_is_not_inherited() -> None:
    world = World()
    above, below = world.face(), world.face()
    world.route("/a", above, flags=0)
    world.route("/a/b", below)
    assert hops(world, "/a/b/c") == [(below.id, 0)]


def test_a_prefix_that_captures_inherits_nothing_from_above() -> None:
    world = World()
    top, middle, bottom = world.face("/"), world.face(), world.face()
    world.route("/a", middle, flags=CHILD_INHERIT | CAPTURE)
    world.route("/a/b", bottom)
    assert hops(world, "/a/b") == [(bottom.id, 0), (middle.id, 0)]
    assert hops(world, "/a") == [(middle.id, 0)]
    assert hops(world, "/c") == [(top.id, 0)]


def test_the_own_route_of_a_face_counts_and_not_the_one_that_it_would_inherit() -> None:
    world = World()
    face = world.face("/a", cost=1)
    world.route("/a/b", face, 5)
    assert hops(world, "/a/b") == [(face.id, 5)]


def test_routes_expire() -> None:
    world = World()
    face = world.face()
    world.route("/a", face, expires=world.now + 5)
    world.advance(4.9)
    assert hops(world, "/a") == [(face.id, 0)]
    world.advance(0.2)
    assert hops(world, "/a") == []
    assert [event.fields["reason"] for event in world.events if event.event == "route_removed"] == [
        "expired"
    ]


def test_a_route_that_is_added_again_lives_on() -> None:
    world = World()
    face = world.face()
    world.route("/a", face, expires=world.now + 5)
    world.advance(4)
    world.route("/a", face, expires=world.now + 5)
    world.advance(4)
    assert hops(world, "/a") == [(face.id, 0)]
    world.route("/a", face, expires=None)
    world.advance(100)
    assert hops(world, "/a") == [(face.id, 0)]
    assert world.alarm.soonest == float("inf")


def test_routes_vanish_with_their_face() -> None:
    world = World()
    lost, kept = world.face("/a", "/b"), world.face("/a")
    world.down(lost)
    assert hops(world, "/a") == [(kept.id, 0)]
    assert hops(world, "/b") == []
    assert world.sizes["routes"] == world.sizes["prefixes"] == 1


def test_a_route_to_a_face_that_is_not_there_yet_is_used_once_it_is() -> None:
    world = World()
    face = NotedFace(9, "tcp://127.0.0.1:1", local=False)
    world.route("/a", face)
    assert hops(world, "/a") == []
    world.forwarder.face_up(face)
    assert hops(world, "/a") == [(9, 0)]


def test_listeners_hear_of_each_change_once() -> None:
    world = World()
    heard: list[RouteChange] = []
    world.forwarder.on_route_change(heard.append)
    face = world.face("/a")
    world.route("/a", face)
    world.route("/a", face, expires=world.now + 1)
    world.route("/a", face, 3)
    world.down(face)
    assert [(change.route.cost, change.added) for change in heard] == [
        (0, True),
        (3, True),
        (3, False),
    ]


def test_routes_are_bounded_in_all_and_for_each_face() -> None:
    world = World(max_fib=10, max_face_routes=6)
    greedy, other, third = world.face(), world.face(), world.face()
    assert [world.route(f"/a/{number}", greedy) for number in range(8)] == [True] * 6 + [False] * 2
    assert [world.route(f"/b/{number}", other) for number in range(5)] == [True] * 4 + [False]
    assert not world.route("/c", third)
    assert world.route("/a/0", greedy, 5)  # a change needs no room
    world.down(greedy)
    assert world.route("/c", third)
    assert world.sizes["routes"] == 5


NAMES = st.lists(
    st.sampled_from([component(b"a"), component(b"b"), component(b""), component(b"a", 50)]),
    max_size=8,
).map(b"".join)


@given(prefixes=st.lists(NAMES, max_size=30), removed=st.sets(st.integers(0, 29)), name=NAMES)
def test_the_longest_prefix_is_found_however_many_lengths_there_are(
    prefixes: list[Name], removed: set[int], name: Name
) -> None:
    table: PrefixTable[Name] = PrefixTable()
    for prefix in prefixes:
        table.set(prefix, prefix + b"!")
    for place in removed:
        if place < len(prefixes):
            table.remove(prefixes[place])
    left = {each for each in prefixes if table.get(each) is not None}
    fitting = [name[:end] for end in prefix_ends(name) if name[:end] in left]
    assert table.longest(name) == (fitting[-1] + b"!" if fitting else None)
    shorter = [each + b"!" for each in reversed(fitting) if each != name]
    assert list(table.above(name)) == shorter


def test_with_many_lengths_only_ends_of_components_are_tried() -> None:
    table: PrefixTable[int] = PrefixTable()
    for size in range(2 * FEW):
        table.set(component(b"x" * size), size)
    assert table.longest(component(b"x" * 7) + component(b"y")) == 7
    assert table.longest(component(b"y" * 7)) is None
