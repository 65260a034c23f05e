"""Commands about routes, in both forms."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.ndn.forwarder.tables.fib import CAPTURE, CHILD_INHERIT, Origin
from rumormill.ndn.wire.control import ControlParameters, ControlResponse, Form
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import component, name_from_uri
from tests.helpers.ndn.forwarding import World, response

FORMS: list[Form] = ["v0.2", "v0.3"]


@pytest.mark.parametrize("form", FORMS)
def test_a_program_registers_a_prefix_for_itself(form: Form) -> None:
    world = World()
    program, consumer = world.face(), world.face()
    answer = world.command(program, "rib/register", form, name="/alice/msg")
    expected = ControlParameters(
        name=name_from_uri("/alice/msg"), face_id=program.id, origin=0, cost=0, flags=1
    )
    assert answer == ControlResponse(200, "OK", expected)
    assert program.sent[0].token == b"tok"
    world.ask(consumer, "/alice/msg/1")
    assert program.interests == ["/alice/msg/1"]


@pytest.mark.parametrize("form", FORMS)
def test_a_program_takes_its_route_back(form: Form) -> None:
    world = World()
    program, consumer = world.face(), world.face()
    world.command(program, "rib/register", form, name="/a")
    answer = world.command(program, "rib/unregister", form, name="/a")
    expected = ControlParameters(name=name_from_uri("/a"), face_id=program.id, origin=0)
    assert answer == ControlResponse(200, "OK", expected)
    world.ask(consumer, "/a/b")
    assert consumer.nacks == [("/a/b", NackReason.NO_ROUTE)]


def test_taking_back_what_is_not_there_is_no_mistake() -> None:
    world = World()
    program = world.face()
    for face_id in (None, 999):
        answer = world.command(program, "rib/unregister", name="/a", face_id=face_id)
        assert answer is not None and answer.code == 200


def test_face_zero_is_the_face_itself() -> None:
    world = World()
    program = world.face()
    answer = world.command(program, "rib/register", name="/a", face_id=0)
    assert answer is not None and answer.parameters is not None
    assert answer.parameters.face_id == program.id


def test_a_program_may_register_another_face() -> None:
    world = World()
    program, neighbour = world.face(), world.face(local=False)
    world.command(
        program, "rib/register", name="/a", face_id=neighbour.id, cost=10, origin=Origin.STATIC
    )
    (hop,) = world.forwarder.fib.next_hops(name_from_uri("/a/b"))
    assert (hop.face, hop.cost, hop.origin) == (neighbour, 10, Origin.STATIC)


def test_flags_and_the_time_of_a_route_are_kept() -> None:
    world = World()
    program, above = world.face(), world.face("/")
    answer = world.command(
        program, "rib/register", name="/a", flags=CAPTURE | CHILD_INHERIT, expiration=5000
    )
    assert answer is not None and answer.parameters is not None
    assert (answer.parameters.flags, answer.parameters.expiration) == (3, 5000)
    fib = world.forwarder.fib
    assert [hop.face for hop in fib.next_hops(name_from_uri("/a"))] == [program]
    world.advance(5.1)
    assert [hop.face for hop in fib.next_hops(name_from_uri("/a"))] == [above]


@pytest.mark.parametrize("forever", [2**63 - 1, 2**64 - 1])
def test_a_route_may_live_for_ever(forever: int) -> None:
    world = World()
    program = world.face()
    world.command(program, "rib/register", name="/a", expiration=forever)
    world.advance(1e6)
    assert world.sizes["routes"] == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, 400),
        ({"name": "/a", "cost": 2**64 - 1}, 400),
        ({"name": "/a", "face_id": 2**64 - 1}, 410),
        ({"name": "/a" * 33}, 414),
    ],
)
def test_what_cannot_be_registered_is_refused_with_a_code(
    fields: dict[str, Any], code: int
) -> None:
    world = World()
    program = world.face()
    answer = world.command(program, "rib/register", **fields)
    assert answer is not None and answer.code == code
    assert world.sizes["routes"] == 0
    assert world.counted() == {("command", f"status_{code}"): 1}


def test_a_full_table_is_told() -> None:
    world = World(max_fib=1)
    program = world.face("/b")
    answer = world.command(program, "rib/register", name="/a")
    assert answer is not None and answer.code == 503


def test_next_hops_can_be_set_past_the_registered_routes() -> None:
    world = World()
    program = world.face()
    world.command(program, "fib/add-nexthop", name="/a", cost=7)
    (hop,) = world.forwarder.fib.next_hops(name_from_uri("/a"))
    assert (hop.face, hop.cost) == (program, 7)
    world.command(program, "fib/remove-nexthop", name="/a")
    assert world.sizes["routes"] == 0


# ---- from other machines


def test_programs_on_other_machines_have_no_routes_unless_it_is_allowed() -> None:
    world = World()
    stranger = world.face(local=False)
    answer = world.command(stranger, "rib/register", prefix="/localhop/nfd", name="/a")
    assert answer is None
    assert [reason for _, reason in stranger.nacks] == [NackReason.NO_ROUTE]
    assert world.sizes["routes"] == 0


@pytest.mark.parametrize("form", FORMS)
def test_where_it_is_allowed_they_have_routes_to_themselves(form: Form) -> None:
    world = World(localhop_registration=True)
    stranger = world.face(local=False)
    prefix = "/localhop/nfd"
    answer = world.command(stranger, "rib/register", form, prefix, name="/a")
    assert answer is not None and answer.code == 200
    (hop,) = world.forwarder.fib.next_hops(name_from_uri("/a"))
    assert hop.face is stranger
    answer = world.command(stranger, "rib/unregister", form, prefix, name="/a")
    assert answer is not None and answer.code == 200
    assert world.sizes["routes"] == 0


def test_and_to_nobody_else() -> None:
    world = World(localhop_registration=True)
    stranger, other = world.face(local=False), world.face(local=False)
    for verb in ("rib/register", "rib/unregister"):
        answer = world.command(stranger, verb, prefix="/localhop/nfd", name="/a", face_id=other.id)
        assert answer is not None and answer.code == 403
    assert world.sizes["routes"] == 0


@pytest.mark.parametrize(
    "verb", ["faces/create", "faces/destroy", "strategy-choice/set", "fib/add-nexthop", "a/b"]
)
def test_and_nothing_but_routes(verb: str) -> None:
    world = World(localhop_registration=True)
    stranger = world.face(local=False)
    answer = world.command(stranger, verb, prefix="/localhop/nfd", name="/a", uri="tcp://h:1")
    assert answer is not None and answer.code == 403
    world.ask(stranger, "/localhop/nfd/faces/list", can_be_prefix=True)
    answer = response(stranger)
    assert answer is not None and answer.code == 400


# ---- what is no command


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("/localhost/nfd", 400),
        ("/localhost/nfd/rib", 400),
        ("/localhost/nfd/rib/register", 400),
        ("/localhost/nfd/rib/register/x/1/2/3/4", 400),
        ("/localhost/nfd/%FF/%FE", 400),
        ("/localhost/nfd" + "/x" * 250, 400),
    ],
)
def test_what_is_no_command_is_answered_as_such(uri: str, code: int) -> None:
    world = World()
    program = world.face()
    world.ask(program, uri)
    answer = response(program)
    assert answer is not None and answer.code == code


def test_a_name_that_is_too_long_for_any_answer_is_refused() -> None:
    world = World()
    program = world.face()
    world.ask(program, name_from_uri("/localhost/nfd/rib/register") + component(b"x" * 8000))
    assert [reason for _, reason in program.nacks] == [NackReason.NO_ROUTE]
    assert world.counted() == {("command", "too_long"): 1}


def test_a_command_that_we_do_not_know_is_answered_as_such() -> None:
    world = World()
    answer = world.command(world.face(), "rib/announce", name="/a")
    assert answer is not None and answer.code == 501


def test_answers_are_signed_data_of_the_commands_name() -> None:
    world = World()
    program = world.face()
    world.command(program, "rib/register", name="/a")
    data = program.sent[0].packet
    assert isinstance(data, Data)
    assert data.signature.type == 0


# ---- how often


def test_commands_are_bounded_in_their_rate() -> None:
    world = World(command_rate=10, command_burst=5)
    program, other = world.face(), world.face()
    codes = [world.command(program, "rib/register", name=f"/{n}") for n in range(8)]
    assert [code is not None for code in codes] == [True] * 5 + [False] * 3
    assert [reason for _, reason in program.nacks] == [NackReason.CONGESTION]
    assert world.command(other, "rib/register", name="/x") is not None
    world.advance(0.5)
    assert world.command(program, "rib/register", name="/y") is not None
    assert world.counted(dropped=True) == {("command", "too_many"): 3}
    for face in (program, other):
        world.down(face)
    assert world.sizes["managers"] == 0
