"""What programs may ask the forwarder, in one segment or in many."""

from __future__ import annotations

from rumormill.ndn.forwarder.management import snapshots
from rumormill.ndn.wire import dataset
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import (
    SEGMENT,
    VERSION,
    Name,
    component,
    components,
    name_from_uri,
    type_of,
    value_of,
)
from rumormill.ndn.wire.tlv import number, read_number
from tests.helpers.ndn.forwarding import NotedFace, World


def first_segment(world: World, face: NotedFace, verb: str) -> Data:
    face.take()
    world.ask(face, f"/localhost/nfd/{verb}", can_be_prefix=True, must_be_fresh=True)
    data = face.sent[-1].packet
    assert isinstance(data, Data)
    return data


def fetch(world: World, face: NotedFace, verb: str) -> bytes:
    """All of a list, as programs fetch it."""
    data = first_segment(world, face, verb)
    prefix = b"".join(components(data.name)[:-1])
    assert data.final_block is not None
    content = data.content or b""
    for index in range(1, read_number(value_of(data.final_block)) + 1):
        world.ask(face, prefix + component(number(index), SEGMENT))
        data = face.sent[-1].packet  # type: ignore[assignment]
        assert isinstance(data, Data)
        content += data.content or b""
    return content


def test_the_name_of_a_list_has_a_version_and_a_segment() -> None:
    world = World()
    data = first_segment(world, world.face(), "faces/list")
    *prefix, version, segment = components(data.name)
    assert b"".join(prefix) == name_from_uri("/localhost/nfd/faces/list")
    assert (type_of(version), type_of(segment)) == (VERSION, SEGMENT)
    assert data.final_block == segment
    assert data.freshness == 1000


def test_the_forwarder_tells_how_it_is() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.answer(producer, "/a/b")
    world.ask(consumer, "/a/c")
    world.ask(consumer, "/nowhere")
    world.advance(1.0)
    status = dataset.decode_general_status(fetch(world, consumer, "status/general"))
    assert (status.start, status.now) == (1_000_000_000, 1_000_001_000)
    assert (status.fib_entries, status.pit_entries, status.cs_entries) == (1, 1, 1)
    assert (status.in_interests, status.out_interests) == (4, 2)
    assert (status.in_data, status.out_data, status.out_nacks) == (1, 1, 1)
    assert (status.satisfied, status.unsatisfied) == (1, 0)


def test_faces_are_told() -> None:
    world = World()
    here, far = world.face(), world.face(local=False)
    faces = dataset.decode_faces(fetch(world, here, "faces/list"))
    assert [(face.face_id, face.uri, face.scope) for face in faces] == [
        (here.id, here.uri, dataset.FaceScope.LOCAL),
        (far.id, far.uri, dataset.FaceScope.NON_LOCAL),
    ]


def test_routes_are_told_as_registered_and_as_used() -> None:
    world = World()
    one, other = world.face("/a", cost=3), world.face()
    world.route("/a/b", other, 5, origin=0, flags=3, expires=world.now + 10)
    world.route("/a", other, 1)
    rib = dataset.decode_rib(fetch(world, one, "rib/list"))
    a, b = name_from_uri("/a"), name_from_uri("/a/b")
    assert rib == [
        dataset.RibEntry(
            a, (dataset.Route(one.id, 255, 3, 1), dataset.Route(other.id, 255, 1, 1))
        ),
        dataset.RibEntry(b, (dataset.Route(other.id, 0, 5, 3, 10_000),)),
    ]  # fmt: skip
    fib = dataset.decode_fib(fetch(world, one, "fib/list"))
    assert fib == [
        dataset.FibEntry(a, (dataset.NextHop(other.id, 1), dataset.NextHop(one.id, 3))),
        dataset.FibEntry(b, (dataset.NextHop(other.id, 5),)),
    ]


def test_strategies_and_the_store_are_told() -> None:
    world = World(max_cs_packets=77)
    program, producer = world.face(), world.face("/a")
    world.forwarder.strategies.set(name_from_uri("/a"), "multicast")
    strategy = "/localhost/nfd/strategy/"
    assert dataset.decode_strategies(fetch(world, program, "strategy-choice/list")) == [
        dataset.StrategyChoice(b"", name_from_uri(strategy + "best-route")),
        dataset.StrategyChoice(name_from_uri("/a"), name_from_uri(strategy + "multicast")),
    ]
    world.ask(program, "/a/b")
    world.answer(producer, "/a/b")
    world.ask(program, "/a/b")
    assert dataset.decode_store_info(fetch(world, program, "cs/info")) == dataset.StoreInfo(
        capacity=77, flags=3, entries=1, hits=1, misses=1
    )


def test_an_empty_list_is_one_empty_segment() -> None:
    world = World()
    assert fetch(world, world.face(), "rib/list") == b""


def test_a_long_list_comes_in_segments_and_does_not_change_on_the_way() -> None:
    world = World()
    program, other = world.face(), world.face()
    for count in range(1000):
        world.route(f"/some/prefix/{count}", other)
    data = first_segment(world, program, "rib/list")
    assert len(data.raw) <= 8800
    assert data.final_block is not None
    last = read_number(value_of(data.final_block))
    assert last > 3
    world.down(other)
    prefix = b"".join(components(data.name)[:-1])
    content = data.content or b""
    for index in range(1, last + 1):
        world.ask(program, prefix + component(number(index), SEGMENT))
        segment = program.sent[-1].packet
        assert isinstance(segment, Data)
        content += segment.content or b""
    assert len(dataset.decode_rib(content)) == 1000


def version(data: Data) -> Name:
    return components(data.name)[-2]


def test_the_same_list_is_given_for_a_second() -> None:
    world = World()
    program = world.face()
    first = version(first_segment(world, program, "faces/list"))
    world.face()
    world.advance(0.5)
    assert version(first_segment(world, program, "faces/list")) == first
    world.advance(0.6)
    assert version(first_segment(world, program, "faces/list")) != first


def test_a_list_that_is_gone_or_a_segment_that_never_was_is_refused() -> None:
    world = World()
    program = world.face()
    data = first_segment(world, program, "faces/list")
    prefix = b"".join(components(data.name)[:-1])
    wrong = [
        prefix + component(number(1), SEGMENT),
        prefix + component(b"\0", VERSION),
        prefix + component(bytes(3), SEGMENT),
        name_from_uri("/localhost/nfd/faces/list/54=%00/50=%00"),
    ]
    for name in wrong:
        program.take()
        world.ask(program, name)
        assert [reason for _, reason in program.nacks] == [NackReason.NO_ROUTE]
    world.advance(snapshots.KEPT + 0.1)
    program.take()
    world.ask(program, data.name)
    assert [reason for _, reason in program.nacks] == [NackReason.NO_ROUTE]
    assert world.sizes["snapshots"] == 0


def test_lists_that_are_kept_are_bounded() -> None:
    world = World()
    program = world.face()
    for _ in range(20):
        for verb in ("faces/list", "fib/list", "rib/list"):
            first_segment(world, program, verb)
        world.advance(1.0)
        assert world.sizes["snapshots"] <= snapshots.MOST


def test_who_does_not_allow_a_longer_name_gets_none() -> None:
    world = World()
    program = world.face()
    world.ask(program, "/localhost/nfd/faces/list")
    assert [reason for _, reason in program.nacks] == [NackReason.NO_ROUTE]
