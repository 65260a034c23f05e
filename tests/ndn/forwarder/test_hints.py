"""Forwarding hints: when they are followed, and when they are taken off."""

from __future__ import annotations

import pytest

from rumormill.ndn.forwarder.hints import without_hint
from rumormill.ndn.forwarder.tables.fib import Origin
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.interest import Interest, decode_interest, encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.forwarding import NotedFace, World


def hint_of(face: NotedFace) -> tuple[bytes, ...]:
    packet = face.sent[-1].packet
    assert isinstance(packet, Interest)
    return decode_interest(packet.raw).forwarding_hint


def test_an_interest_whose_name_has_no_route_goes_where_its_hint_says() -> None:
    world = World()
    consumer, neighbour = world.face(), world.face("/campus", local=False)
    asked = world.ask(consumer, "/alice/msg/1", hint=["/campus/alice"])
    assert [sent.packet.raw for sent in neighbour.sent] == [asked.raw]
    world.answer(neighbour, "/alice/msg/1")
    assert consumer.data == ["/alice/msg/1"]


def test_a_route_of_the_name_itself_comes_before_the_hint() -> None:
    world = World()
    consumer, by_hint, by_name = world.face(), world.face("/campus"), world.face("/alice")
    world.ask(consumer, "/alice/msg/1", hint=["/campus/alice"])
    assert by_name.interests == ["/alice/msg/1"]
    assert by_hint.sent == []


def test_the_hint_comes_before_the_route_for_everything() -> None:
    world = World()
    consumer, by_hint, default = world.face(), world.face("/campus"), world.face("/", cost=0)
    world.route("/campus", by_hint, flags=2)
    world.ask(consumer, "/alice/msg/1", hint=["/campus/alice"])
    assert by_hint.interests == ["/alice/msg/1"]
    world.ask(consumer, "/alice/msg/2", hint=["/unknown"])
    assert default.interests == ["/alice/msg/2"]


def test_the_first_name_of_a_hint_that_has_a_route_is_followed() -> None:
    world = World()
    consumer, second = world.face(), world.face("/second")
    world.ask(consumer, "/alice/msg/1", hint=["/first", "/second"])
    assert second.interests == ["/alice/msg/1"]


def test_without_any_route_it_is_refused() -> None:
    world = World()
    consumer = world.face()
    world.ask(consumer, "/alice/msg/1", hint=["/first", "/second"])
    assert consumer.nacks == [("/alice/msg/1", NackReason.NO_ROUTE)]


@pytest.mark.parametrize("origin", [Origin.APPLICATION, Origin.CLIENT])
def test_the_application_that_the_hint_led_to_gets_the_interest_without_it(origin: int) -> None:
    world = World()
    consumer, producer = world.face(), world.face()
    world.route("/campus/alice", producer, origin=origin)
    world.ask(consumer, "/alice/msg/1", hint=["/campus/alice"])
    assert hint_of(producer) == ()
    world.answer(producer, "/alice/msg/1")
    assert consumer.data == ["/alice/msg/1"]
    assert world.sizes["pit"] == 0


@pytest.mark.parametrize(
    ("origin", "local"),
    [(Origin.APPLICATION, False), (Origin.ROUTING, True), (Origin.STATIC, True)],
)
def test_another_forwarder_gets_it_with_its_hint(origin: int, local: bool) -> None:
    world = World()
    consumer, neighbour = world.face(), world.face(local=local)
    world.route("/campus", neighbour, origin=origin)
    world.ask(consumer, "/alice/msg/1", hint=["/campus/alice"])
    assert hint_of(neighbour) == (name_from_uri("/campus/alice"),)


def test_in_its_own_region_the_hint_is_taken_off_and_the_name_is_looked_up() -> None:
    world = World(regions=("/campus/house",))
    consumer, back, inside = world.face(), world.face("/campus"), world.face("/", local=False)
    world.ask(consumer, "/alice/msg/1", hint=["/campus"])
    assert inside.interests == ["/alice/msg/1"]
    assert back.sent == []
    assert hint_of(inside) == ()
    world.ask(consumer, "/alice/msg/2", hint=["/campus/garden"])
    assert back.interests == ["/alice/msg/2"]


def test_a_nack_of_who_got_it_without_its_hint_is_understood() -> None:
    world = World()
    consumer, producer = world.face(), world.face()
    world.route("/campus", producer, origin=Origin.APPLICATION)
    world.ask(consumer, "/alice/msg/1", hint=["/campus"])
    world.refuse(producer, NackReason.NO_ROUTE)
    assert consumer.nacks == [("/alice/msg/1", NackReason.NO_ROUTE)]
    told = consumer.sent[-1].packet
    assert isinstance(told, Interest)
    assert told.forwarding_hint == (name_from_uri("/campus"),)


def test_without_its_hint_an_interest_is_what_it_would_have_been() -> None:
    fields = {"nonce": b"1234", "parameters": b"hello", "signer": DigestSigner(), "hop_limit": 3}
    name = name_from_uri("/a")
    plain = encode_interest(name, **fields)  # type: ignore[arg-type]
    hinted = encode_interest(name, forwarding_hint=(b"", name_from_uri("/b")), **fields)  # type: ignore[arg-type]
    assert without_hint(hinted) == plain
    assert without_hint(plain) is plain
