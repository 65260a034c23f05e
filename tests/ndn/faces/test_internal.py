"""A face between two parts of one process."""

from __future__ import annotations

from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.internal import InternalFace, internal_faces
from rumormill.ndn.wire.interest import Interest
from tests.helpers.ndn.faces import Came, RecordingSink, data, interest


def pair() -> tuple[InternalFace, InternalFace, RecordingSink, RecordingSink]:
    forwarder, application = RecordingSink(), RecordingSink()
    here, there = internal_faces(1, 2, forwarder, application, "internal://pubsub")
    here.open()
    return here, there, forwarder, application


def test_both_ends_hear_of_it_and_are_local() -> None:
    here, there, forwarder, application = pair()
    assert (forwarder.up, application.up) == ([here], [there])
    assert here.local and there.local
    here.close("shutdown")
    here.close("shutdown")
    assert forwarder.down == [(here, "shutdown")]
    assert application.down == [(there, "shutdown")]


def test_packets_wait_until_they_are_passed_on() -> None:
    here, there, forwarder, application = pair()
    here.send_interest(interest("/a"), b"t")
    there.send_data(data("/b"))
    there.send_nack(interest("/c"), 150, b"u")
    assert len(here) == 3
    assert forwarder.came == application.came == []
    there.pump()
    assert application.take() == [Came("interest", there, interest("/a"), b"t")]
    assert forwarder.take() == [
        Came("data", here, data("/b")),
        Came("nack", here, interest("/c"), b"u", 150),
    ]
    assert len(here) == 0


def test_what_comes_of_a_packet_is_passed_on_too_without_recursion() -> None:
    here, _, forwarder, application = pair()
    depths: list[int] = []
    inside = 0

    def answer(face: Face, interest: Interest, token: bytes) -> None:
        nonlocal inside
        inside += 1
        depths.append(inside)
        if len(depths) < 5000:
            face.send_interest(interest, token)
        inside -= 1

    forwarder.interest = application.interest = answer  # type: ignore[method-assign]
    here.send_interest(interest("/a"))
    here.pump()
    assert len(depths) == 5000
    assert max(depths) == 1


def test_nothing_goes_through_what_is_closed() -> None:
    here, there, forwarder, application = pair()
    here.send_interest(interest("/a"))
    here.close("shutdown")
    there.send_data(data("/b"))
    here.pump()
    assert forwarder.came == application.came == []
    assert there
