"""What stays on this machine, and what goes one hop far."""

from __future__ import annotations

from rumormill.ndn.wire.link import NackReason
from tests.helpers.ndn.forwarding import World


def test_what_is_of_this_machine_goes_between_its_programs_only() -> None:
    world = World()
    program, producer = world.face(), world.face("/localhost/app")
    world.ask(program, "/localhost/app/x")
    assert producer.interests == ["/localhost/app/x"]
    world.answer(producer, "/localhost/app/x")
    assert program.data == ["/localhost/app/x"]


def test_interests_of_others_for_this_machine_alone_are_dropped_without_a_word() -> None:
    world = World()
    stranger, producer = world.face(local=False), world.face("/localhost/app")
    world.ask(stranger, "/localhost/app/x")
    world.ask(stranger, "/localhost/nfd/faces/list", can_be_prefix=True)
    assert stranger.sent == producer.sent == []
    assert world.counted() == {("interest", "scope"): 2}


def test_interests_for_this_machine_alone_go_to_nobody_else() -> None:
    world = World()
    program, far = world.face(), world.face("/localhost/app", local=False)
    world.ask(program, "/localhost/app/x")
    assert far.sent == []
    assert program.nacks == [("/localhost/app/x", NackReason.NO_ROUTE)]


def test_data_of_this_machine_alone_is_not_taken_of_others() -> None:
    world = World()
    stranger = world.face(local=False)
    world.answer(stranger, "/localhost/app/x")
    assert world.counted() == {("data", "scope"): 1}


def test_what_goes_one_hop_goes_from_programs_here_to_neighbours() -> None:
    world = World()
    program, neighbour = world.face(), world.face("/localhop/x", local=False)
    world.ask(program, "/localhop/x/y")
    assert neighbour.interests == ["/localhop/x/y"]
    world.answer(neighbour, "/localhop/x/y")
    assert program.data == ["/localhop/x/y"]


def test_what_has_gone_one_hop_goes_to_programs_here_only() -> None:
    world = World()
    neighbour, far = world.face(local=False), world.face("/localhop/x", local=False)
    world.ask(neighbour, "/localhop/x/y")
    assert far.sent == []
    assert neighbour.nacks == [("/localhop/x/y", NackReason.NO_ROUTE)]
    program = world.face("/localhop/x", cost=9)
    world.ask(neighbour, "/localhop/x/y")
    assert program.interests == ["/localhop/x/y"]
    assert far.sent == []


def test_after_a_nack_it_does_not_leave_its_scope_either() -> None:
    world = World()
    neighbour, program = world.face(local=False), world.face("/localhop/x")
    far = world.face("/localhop/x", local=False, cost=5)
    world.ask(neighbour, "/localhop/x/y")
    world.refuse(program, NackReason.NO_ROUTE)
    assert far.sent == []
    assert neighbour.nacks == [("/localhop/x/y", NackReason.NO_ROUTE)]


def test_names_that_only_begin_with_the_same_letters_have_no_scope() -> None:
    world = World()
    stranger, far = world.face(local=False), world.face("/localhostess", local=False)
    world.ask(stranger, "/localhostess/x")
    assert far.interests == ["/localhostess/x"]
