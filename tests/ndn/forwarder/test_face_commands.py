"""Commands about faces and strategies."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.ndn.forwarder.management.pending_faces import MOST
from rumormill.ndn.wire.control import ControlParameters, ControlResponse
from rumormill.ndn.wire.dataset import FacePersistency
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.forwarding import World, response


def test_a_face_is_made_and_a_route_to_it() -> None:
    world = World()
    program = world.face()
    answer = world.command(program, "faces/create", uri="tcp4://192.0.2.1:6363")
    assert answer is not None and answer.code == 200
    (made,) = world.directory.faces.values()
    assert made.uri == "tcp://192.0.2.1:6363"
    assert answer.parameters == ControlParameters(
        face_id=made.id, uri=made.uri, persistency=FacePersistency.PERSISTENT, flags=0
    )
    answer = world.command(program, "rib/register", name="/a", face_id=made.id)
    assert answer is not None and answer.code == 200
    world.ask(program, "/a/b")
    assert made.interests == ["/a/b"]


def test_a_face_that_is_there_already_is_named() -> None:
    world = World()
    program = world.face()
    first = world.command(program, "faces/create", uri="tcp://h:1")
    second = world.command(program, "faces/create", uri="tcp4://h:1")
    assert first is not None and second is not None
    assert second.code == 409
    assert first.parameters is not None and second.parameters is not None
    assert second.parameters.face_id == first.parameters.face_id
    assert len(world.directory.faces) == 1


def test_a_face_that_is_to_be_reached_first_is_answered_when_it_is() -> None:
    world = World()
    world.directory.slow.add("tcp://h:1")
    program = world.face()
    assert world.command(program, "faces/create", uri="tcp://h:1") is None
    (made,) = world.directory.faces.values()
    world.advance(0.5)
    world.forwarder.face_up(made)
    answer = response(program)
    assert answer is not None and answer.code == 200
    assert program.sent[0].token == b"tok"
    world.advance(10)
    assert len(program.sent) == 1
    assert world.sizes["pending_faces"] == 0


def test_a_face_that_is_not_reached_in_time_is_answered_too() -> None:
    world = World()
    world.directory.slow.add("tcp://h:1")
    program = world.face()
    assert world.command(program, "faces/create", uri="tcp://h:1") is None
    world.advance(0.95)  # the lifetime of the command is a second
    answer = response(program)
    assert answer is not None and answer.code == 504


def test_faces_that_are_awaited_are_bounded_and_forgotten_with_who_wants_them() -> None:
    world = World()
    program = world.face()
    for number in range(MOST + 1):
        world.directory.slow.add(f"tcp://h:{number}")
        answer = world.command(program, "faces/create", uri=f"tcp://h:{number}")
    assert answer is not None and answer.code == 503
    assert world.sizes["pending_faces"] == MOST
    world.down(program)
    assert world.sizes["pending_faces"] == 0


@pytest.mark.parametrize("fields", [{}, {"uri": "carrier-pigeon://roof"}, {"uri": ""}])
def test_a_face_to_what_is_no_address_is_refused(fields: dict[str, Any]) -> None:
    world = World()
    answer = world.command(world.face(), "faces/create", **fields)
    assert answer is not None and answer.code == 400
    assert world.directory.faces == {}


def test_a_face_is_ended_and_its_routes_with_it() -> None:
    world = World()
    program = world.face()
    world.command(program, "faces/create", uri="tcp://h:1")
    (made,) = world.directory.faces.values()
    world.command(program, "rib/register", name="/a", face_id=made.id)
    answer = world.command(program, "faces/destroy", face_id=made.id)
    assert answer == ControlResponse(200, "OK", ControlParameters(face_id=made.id))
    assert world.directory.closed == [(made.id, "destroyed")]
    assert world.sizes["routes"] == 0


def test_a_face_may_end_itself_and_is_answered_before() -> None:
    world = World()
    world.command(world.face(), "faces/create", uri="unix:///x")
    (made,) = world.directory.faces.values()
    made.local = True
    answer = world.command(made, "faces/destroy", face_id=made.id)
    assert answer is not None and answer.code == 200
    assert world.directory.faces == {}


@pytest.mark.parametrize(("face_id", "code"), [(None, 400), (0, 400), (999, 200)])
def test_ending_what_is_not_there_is_no_mistake(face_id: int | None, code: int) -> None:
    world = World()
    answer = world.command(world.face(), "faces/destroy", face_id=face_id)
    assert answer is not None and answer.code == code


def test_a_face_inside_the_forwarder_cannot_be_ended() -> None:
    world = World()
    inside = world.face()
    answer = world.command(world.face(), "faces/destroy", face_id=inside.id)
    assert answer is not None and answer.code == 403


# ---- strategies


@pytest.mark.parametrize("version", ["", "/%FD%05", "/54=%05"])
def test_a_strategy_is_set_and_unset(version: str) -> None:
    world = World()
    program = world.face()
    wanted = "/localhost/nfd/strategy/multicast" + version
    answer = world.command(program, "strategy-choice/set", name="/a", strategy=wanted)
    assert answer is not None and answer.code == 200
    assert answer.parameters is not None
    assert answer.parameters.strategy == name_from_uri("/localhost/nfd/strategy/multicast")
    assert world.forwarder.strategies.of(name_from_uri("/a/b")) == "multicast"
    answer = world.command(program, "strategy-choice/unset", name="/a")
    assert answer is not None and answer.code == 200
    assert world.forwarder.strategies.of(name_from_uri("/a/b")) == "best-route"


@pytest.mark.parametrize(
    ("verb", "fields", "code"),
    [
        ("set", {"name": "/a"}, 400),
        ("set", {"strategy": "/localhost/nfd/strategy/multicast"}, 400),
        ("set", {"name": "/a", "strategy": "/localhost/nfd/strategy/ncc"}, 404),
        ("set", {"name": "/a", "strategy": "/multicast"}, 404),
        ("set", {"name": "/a" * 33, "strategy": "/localhost/nfd/strategy/multicast"}, 414),
        ("unset", {}, 400),
        ("unset", {"name": "/"}, 400),
    ],
)
def test_what_is_no_strategy_is_refused(verb: str, fields: dict[str, Any], code: int) -> None:
    world = World()
    answer = world.command(world.face(), f"strategy-choice/{verb}", **fields)
    assert answer is not None and answer.code == code
    assert world.sizes["strategies"] == 1


def test_too_many_strategies_are_refused() -> None:
    world = World(max_strategies=1)
    program = world.face()
    codes = []
    for name in ("/a", "/b"):
        answer = world.command(
            program, "strategy-choice/set", name=name, strategy="/localhost/nfd/strategy/multicast"
        )
        codes.append(answer and answer.code)
    assert codes == [200, 503]
