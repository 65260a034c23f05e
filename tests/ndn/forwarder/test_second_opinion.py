"""Commands as python-ndn makes them, and answers and lists as it reads them."""

from __future__ import annotations

from typing import Any

import pytest
from ndn.app_support import nfd_mgmt
from ndn.encoding import InterestParam, Name, make_interest, parse_data
from ndn.security import DigestSha256Signer

from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import decode_interest
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.forwarding import NotedFace, World


def command(form: str, module: str, verb: str, **fields: Any) -> bytes:
    """An Interest as its two generations of applications send it."""
    parameter = InterestParam(lifetime=1000, nonce=0x01020304)
    if form == "v0.2":
        name = nfd_mgmt.make_command(module, verb, **fields)
        return bytes(make_interest(name, parameter))
    name = nfd_mgmt.make_command_v2(module, verb, **fields)
    signer = DigestSha256Signer(for_interest=True)
    return bytes(make_interest(name, parameter, b"", signer))


def told(face: NotedFace) -> bytes:
    packet = face.sent[-1].packet
    assert isinstance(packet, Data)
    _, _, content, _ = parse_data(packet.raw)
    return bytes(content or b"")


def give(world: World, face: NotedFace, raw: bytes) -> dict[str, Any]:
    world.bring(face, decode_interest(raw))
    answer: dict[str, Any] = nfd_mgmt.parse_response(told(face))
    return answer


@pytest.mark.parametrize("form", ["v0.2", "v0.3"])
def test_its_applications_register_and_unregister(form: str) -> None:
    world = World()
    program = world.face()
    answer = give(world, program, command(form, "rib", "register", name="/alice/msg"))
    assert (answer["status_code"], answer["face_id"], answer["cost"]) == (200, program.id, 0)
    assert Name.to_str(answer["name"]) == "/alice/msg"
    assert world.forwarder.fib.next_hops(name_from_uri("/alice/msg/1"))
    answer = give(world, program, command(form, "rib", "unregister", name="/alice/msg"))
    assert answer["status_code"] == 200
    assert not world.forwarder.fib.next_hops(name_from_uri("/alice/msg/1"))


@pytest.mark.parametrize("form", ["v0.2", "v0.3"])
def test_its_tools_make_faces_and_set_strategies(form: str) -> None:
    world = World()
    program = world.face()
    answer = give(world, program, command(form, "faces", "create", uri="udp4://192.0.2.1:6363"))
    assert (answer["status_code"], answer["uri"]) == (200, "udp://192.0.2.1:6363")
    raw = command(
        form, "strategy-choice", "set", name="/a", strategy="/localhost/nfd/strategy/multicast"
    )
    assert give(world, program, raw)["status_code"] == 200
    assert world.forwarder.strategies.of(name_from_uri("/a/b")) == "multicast"


def asked(world: World, face: NotedFace, verb: str) -> bytes:
    world.ask(face, f"/localhost/nfd/{verb}", can_be_prefix=True, must_be_fresh=True)
    return told(face)


def test_it_reads_our_lists() -> None:
    world = World()
    program = world.face("/a", cost=7)
    status = nfd_mgmt.GeneralStatus.parse(asked(world, program, "status/general"))
    assert (status.n_fib_entries, status.n_in_interests) == (1, 1)
    faces = nfd_mgmt.FaceStatusMsg.parse(asked(world, program, "faces/list")).face_status
    assert [(face.face_id, face.uri) for face in faces] == [(program.id, program.uri)]
    (entry,) = nfd_mgmt.FibStatus.parse(asked(world, program, "fib/list")).entries
    assert Name.to_str(entry.name) == "/a"
    assert [(hop.face_id, hop.cost) for hop in entry.next_hop_records] == [(program.id, 7)]
    (entry,) = nfd_mgmt.RibStatus.parse(asked(world, program, "rib/list")).entries
    assert [(route.face_id, route.origin) for route in entry.routes] == [(program.id, 255)]
    choices = nfd_mgmt.StrategyChoiceMsg.parse(asked(world, program, "strategy-choice/list"))
    (choice,) = choices.strategy_choices
    assert Name.to_str(choice.strategy.name) == "/localhost/nfd/strategy/best-route"
