"""One node: programs on it, neighbours around it, and what it says of itself."""

from __future__ import annotations

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Check, Checked, Deliver, Shutdown, Subscribe, Verdict
from rumormill.core.transport import Dial, DialEnded, Listening, OpenTransport, TransportClosed
from rumormill.ndn.effects import Publication
from rumormill.ndn.forwarder.tables.fib import Origin
from rumormill.ndn.pubsub.events import ROUTE_REFUSED, ROUTE_STANDS
from rumormill.ndn.routing.events import NEIGHBOUR_UP
from rumormill.ndn.routing.messages import Goodbye, Group, Hello, Update
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import ControlParameters, encode_command
from rumormill.ndn.wire.interest import encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri
from rumormill.ndn.wire.notify import NotifyParameters, encode_notify, notify_name
from tests.helpers.ndn.node_bench import STRANGER, NodeBench

APP = "unix:///run/us.sock#1"


def announced(bench: NodeBench) -> list[str]:
    return sorted(map(name_to_uri, bench.machine.routing.announced()))


# ---- its own application


def test_a_new_node_wants_to_be_woken_and_then_announces_its_prefix() -> None:
    bench = NodeBench()
    assert bench.machine.next_wake() == 0.0
    bench.run(0.0)
    assert announced(bench) == ["/us/msg"]
    assert [each.fields["prefix"] for each in bench.events(ROUTE_STANDS)] == ["/us/msg"]
    assert bench.machine.wake(bench.now) == []


def test_any_first_input_starts_it_too() -> None:
    bench = NodeBench()
    bench.feed(Subscribe("/weather"))
    assert announced(bench) == ["/us/msg", "/weather/notify"]
    assert len(bench.events(trace.SUBSCRIBED)) == 1


def test_an_application_without_room_in_the_fib_is_told_so() -> None:
    bench = NodeBench(max_fib=1)
    bench.feed(Subscribe("/weather"))
    assert [each.fields["prefix"] for each in bench.events(ROUTE_REFUSED)] == ["/weather/notify"]
    assert not bench.machine.pubsub.is_ready("/weather")


def test_a_publication_without_any_subscriber_ends_within_its_turn() -> None:
    bench = NodeBench()
    effects = bench.feed(Publication(1, "/weather", b"rain"))
    assert [each.receipt.fields["outcome"] for each in effects if hasattr(each, "receipt")] == [
        "no_subscriber"
    ]


# ---- programs


def test_what_a_program_registers_is_announced_until_it_leaves() -> None:
    bench = NodeBench()
    one, two = bench.connect(), bench.connect("unix:///run/us.sock#2")
    one.register("/app")
    two.register("/app")
    two.register("/app", cost=7)
    assert announced(bench) == ["/app", "/us/msg"]
    one.unregister("/app")
    assert announced(bench) == ["/app", "/us/msg"]
    bench.feed(TransportClosed(two.connection))
    assert announced(bench) == ["/us/msg"]
    assert bench.machine.sizes()["local_prefixes"] == 1


def test_scoped_prefixes_and_routes_by_hand_are_not_announced() -> None:
    bench = NodeBench()
    app = bench.connect()
    app.register("/localhost/app")
    app.register("/static", origin=Origin.STATIC)
    assert announced(bench) == ["/us/msg"]


def test_subscribers_are_programs_and_neighbours_but_not_ourselves() -> None:
    bench = NodeBench()
    bench.feed(Subscribe("/weather"))
    assert bench.machine.subscribers("/weather") == ()
    app = bench.connect()
    app.register("/weather/notify", cost=3)
    app.register("/weather/notify")  # another cost is no other subscriber
    app.register("/")
    assert bench.machine.subscribers("/weather") == (APP,)
    assert bench.machine.subscribers("/else") == ()
    neighbour = bench.datagrams()
    neighbour.become_neighbour()
    prefix = name_from_uri("/weather/notify")
    neighbour.say(Update(STRANGER, 1, True, True, (Group(STRANGER, 0, (prefix,)),)))
    assert bench.machine.subscribers("/weather") == (APP, "udp://192.0.2.7:6363")
    events = bench.events(trace.PEER_SUBSCRIBED)
    assert [(each.topic, each.peer, each.fields["address"]) for each in events] == [
        ("/weather", None, APP),
        ("/weather", "/stranger", None),
    ]


def test_a_program_publishes_to_the_application_of_the_node() -> None:
    bench = NodeBench()
    bench.feed(Subscribe("/weather"))
    app = bench.connect()
    app.register("/app/msg")
    notify = _notify(name_from_uri("/weather"), name_from_uri("/app"), b"k1k2k3k4")
    app.send(notify)
    (asked,) = app.interests
    assert name_to_uri(asked.name) == "/app/msg/weather/k1k2k3k4"
    app.answer(asked.name, b"rain")
    assert [each.message.data for each in _accept_all(bench)] == [b"rain"]
    assert app.data[-1].name.startswith(notify_name(name_from_uri("/weather")))


def _notify(topic: Name, publisher: Name, nonce: bytes) -> bytes:
    return encode_interest(
        notify_name(topic), nonce=b"1234", signer=DigestSigner(),
        parameters=encode_notify(NotifyParameters(publisher, nonce)),
    ).raw  # fmt: skip


def _accept_all(bench: NodeBench) -> list[Deliver]:
    for check in bench.of(Check):
        bench.feed(Checked(check.token, Verdict.ACCEPT))
    return bench.of(Deliver)


def test_management_dials_and_what_was_dialed_is_asked_whether_it_is_a_neighbour() -> None:
    bench = NodeBench()
    app = bench.connect()
    assert app.command("faces/create", uri="udp4://192.0.2.7:6363").code == 200
    neighbour = bench.datagrams()
    bench.run(1.0)
    (hello,) = neighbour.answer_routing()
    assert isinstance(hello, Hello)
    neighbour.say(Hello(STRANGER, 0, bytes(8)))
    assert len(bench.events(NEIGHBOUR_UP)) == 1
    assert bench.machine.peers == ("udp://192.0.2.7:6363",)


# ---- dialing


def test_who_was_dialed_gets_a_hello_and_is_a_peer() -> None:
    bench = NodeBench()
    bench.feed(Dial("tcp://192.0.2.7:6363", True))
    (opening,) = bench.of(OpenTransport)
    assert not bench.machine.peers
    peer = bench.connect("tcp://192.0.2.7:6363", opening.dial)
    assert bench.machine.peers == ("tcp://192.0.2.7:6363",)
    assert [type(each) for each in peer.answer_routing()] == [Hello]
    assert bench.of(DialEnded) == [DialEnded("tcp://192.0.2.7:6363", "tcp://192.0.2.7:6363")]


def test_programs_that_connect_get_no_hellos() -> None:
    bench = NodeBench()
    app = bench.connect()
    bench.run(100.0)
    assert app.interests == []
    assert bench.machine.peers == ()


def test_a_stranger_of_datagrams_that_is_dialed_later_is_a_peer_from_then_on() -> None:
    bench = NodeBench()
    stranger = bench.datagrams()
    stranger.send(encode_interest(name_from_uri("/x"), nonce=b"1234").raw)
    assert not bench.machine.peers
    bench.feed(Dial("udp://192.0.2.7:6363", True))
    assert bench.machine.peers == ("udp://192.0.2.7:6363",)
    assert [type(each) for each in stranger.answer_routing()] == [Hello]


def test_a_wrong_address_is_the_callers_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        NodeBench().feed(Dial("nowhere", True))


def test_a_route_by_hand_by_udp_stands_at_once() -> None:
    bench = NodeBench(routes="/far=udp://192.0.2.7:6363,3")
    bench.feed(Listening(()))
    hops = bench.machine.forwarder.fib.next_hops(name_from_uri("/far/away"))
    assert [(hop.face.uri, hop.cost) for hop in hops] == [("udp://192.0.2.7:6363", 3)]


# ---- neighbours


def test_a_message_that_cannot_be_read_is_charged_to_its_face() -> None:
    bench = NodeBench()
    stranger = bench.datagrams()
    name = name_from_uri("/localhop/rumormill/routing/1")
    stranger.send(encode_interest(name, nonce=b"1234", parameters=b"junk").raw)
    assert len(bench.events(trace.PROTOCOL_ERROR, reason="bad_signature")) == 1


def test_a_later_version_of_routing_is_answered_with_a_nack() -> None:
    bench = NodeBench()
    stranger = bench.datagrams()
    name = name_from_uri("/localhop/rumormill/routing/2")
    stranger.send(encode_interest(name, nonce=b"1234").raw)
    assert [reason for _, reason in stranger.nacks] == [NackReason.NO_ROUTE]


def test_shutdown_says_goodbye_and_closes_all() -> None:
    bench = NodeBench()
    neighbour = bench.datagrams()
    neighbour.become_neighbour()
    bench.feed(Subscribe("/weather"))
    bench.feed(Shutdown())
    assert isinstance(neighbour.answer_routing()[-1], Goodbye)
    bench.feed(Shutdown())
    with pytest.raises(LocalProtocolError):
        bench.feed(Subscribe("/more"))
    bench.run(1000.0)
    assert bench.machine.next_wake() is None
    assert bench.machine.sizes()["faces"] == 0
    assert announced(bench) == []


def test_a_face_that_management_wants_by_tcp_is_answered_when_it_is_there() -> None:
    bench = NodeBench()
    app = bench.connect()
    command = encode_command(
        name_from_uri("/localhost/nfd/faces/create"),
        ControlParameters(uri="tcp4://192.0.2.7:6363"), form="v0.2", nonce=b"1234",
        timestamp_ms=1000, random_bytes=b"12345678", signer=DigestSigner(),
    )  # fmt: skip
    app.send(command.raw)
    (opening,) = bench.of(OpenTransport)
    assert app.data == []
    peer = bench.connect("tcp://192.0.2.7:6363", opening.dial)
    assert [each.name for each in app.data] == [command.name]
    assert [type(each) for each in peer.answer_routing()] == [Hello]
    face = next(each for each in bench.machine.faces.all() if each.uri == "tcp://192.0.2.7:6363")
    assert app.command("faces/destroy", face_id=face.id).code == 200
    assert bench.machine.peers == ()
