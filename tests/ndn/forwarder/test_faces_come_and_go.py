"""What happens to what waits when a face is gone."""

from __future__ import annotations

from rumormill.ndn.wire.link import NackReason
from tests.helpers.ndn.forwarding import World


def test_what_a_face_waited_for_is_forgotten_with_it() -> None:
    world = World()
    gone, other, producer = world.face(), world.face(), world.face("/a")
    world.ask(gone, "/a/alone")
    world.ask(gone, "/a/both")
    world.ask(other, "/a/both")
    world.down(gone)
    assert (world.sizes["pit"], world.sizes["pit_waiting"]) == (1, 1)
    world.answer(producer, "/a/alone")
    world.answer(producer, "/a/both")
    assert gone.sent == []
    assert other.data == ["/a/both"]


def test_when_who_was_asked_is_gone_the_next_is_asked_at_once() -> None:
    world = World()
    consumer, near, far = world.face(), world.face("/a"), world.face("/a", cost=5)
    world.ask(consumer, "/a/b")
    world.down(near)
    assert far.interests == ["/a/b"]
    world.answer(far, "/a/b")
    assert consumer.data == ["/a/b"]


def test_when_nobody_is_left_who_could_answer_who_waits_is_told() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", b"token")
    world.down(producer)
    assert consumer.nacks == [("/a/b", NackReason.NO_ROUTE)]
    assert consumer.sent[0].token == b"token"
    assert world.sizes["pit"] == 0


def test_when_one_of_several_who_were_asked_is_gone_the_others_may_answer() -> None:
    world = World(strategy="multicast")
    consumer, one, other = world.face(), world.face("/a"), world.face("/a")
    world.ask(consumer, "/a/b")
    world.down(one)
    assert consumer.sent == []
    world.answer(other, "/a/b")
    assert consumer.data == ["/a/b"]


def test_when_the_others_have_refused_who_waits_is_told() -> None:
    world = World(strategy="multicast")
    consumer, one, other = world.face(), world.face("/a"), world.face("/a")
    world.ask(consumer, "/a/b")
    world.refuse(other, NackReason.CONGESTION)
    world.down(one)
    assert consumer.nacks == [("/a/b", NackReason.CONGESTION)]


def test_a_face_that_goes_while_it_both_waits_and_was_asked_leaves_nothing() -> None:
    world = World()
    one, other = world.face("/a"), world.face("/a")
    world.ask(one, "/a/b")
    world.ask(other, "/a/c")
    world.down(one)
    assert other.nacks == [("/a/c", NackReason.NO_ROUTE)]
    world.down(other)
    sizes = world.sizes
    assert all(not size for name, size in sizes.items() if name.startswith("pit_w")), sizes
    assert sizes["pit"] == sizes["pit_bytes"] == sizes["routes"] == 0


def test_going_twice_does_no_harm() -> None:
    world = World()
    face = world.face("/a")
    world.down(face)
    world.down(face)
    assert world.sizes["forwarder_faces"] == 0
