"""Questions and answers of services beside pubsub, between hosts and against a peer that the test
plays."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Connect
from rumormill.core.transport import Dial
from rumormill.libp2p.discovery.census import Census
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import Answered, Asked, Unanswered
from rumormill.libp2p.discovery.way import Acquaintance, Way
from rumormill.libp2p.host.exchanges import LARGEST_QUESTION, TOO_MANY_FAULTS
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.seeking import VISIT_OVER
from rumormill.libp2p.stack.connection import StreamData, StreamOpened, StreamRefused, StreamReset
from rumormill.libp2p.stack.identify import IDENTIFY, IdentifyInfo, encode_identify
from rumormill.libp2p.wire.frames import length_prefixed
from tests.helpers.libp2p.host_net import FAKE_PROTOCOL, FakePubsub, HostNet, key

ECHO = "/echo/1.0.0"


class NoTopics:
    """A census of nothing."""

    def topics(self) -> list[str]:
        return []

    def peers(self, topic: str) -> int:
        return 0

    def wanted(self, topic: str) -> int:
        return 0

    def lacks_mesh(self, topic: str) -> int:
        return 0


class EchoWay(Way):
    """Answers with what it was asked, and writes everything down."""

    name = "echo"

    def __init__(self, served: bool = True) -> None:
        self.served = served
        self.heard: list[Any] = []
        self.identities: list[Acquaintance] = []

    @property
    def protocols(self) -> tuple[str, ...]:
        return (ECHO,) if self.served else ()

    def asked(self, question: Asked, now: float) -> None:
        self.heard.append(question)
        if question.message == b"bad":
            raise RemoteProtocolError("bad_question", "it is bad")
        if question.message != b"silence":
            self.node.answer(question.exchange, question.message)

    def answered(self, answer: Answered, now: float) -> None:
        self.heard.append(answer)

    def unanswered(self, answer: Unanswered, now: float) -> None:
        self.heard.append(answer)

    def identified(self, acquaintance: Acquaintance, now: float) -> None:
        self.identities.append(acquaintance)


class Scene:
    """A host with an echo service, and whoever else a test wants."""

    def __init__(self, **parameters: Any) -> None:
        self.net = HostNet()
        self.way, self.host = self.add("alice", **parameters)

    def add(self, name: str, served: bool = True, **parameters: Any) -> tuple[EchoWay, Host]:
        way = EchoWay(served)
        census: Census = NoTopics()
        discovery = Discovery(
            node=key(name).peer, ways=[way], census=census, random=random.Random(name)
        )
        host = self.net.host(name, FakePubsub(), discovery=discovery, **parameters)
        return way, host

    def ask(self, peer: str, message: bytes, *, address: str = "", answered: bool = True) -> int:
        """Let Alice ask a peer."""
        addresses = (address,) if address else ()
        way = self.way
        request = way.node.ask(way, peer, (ECHO,), message, addresses=addresses, answered=answered)
        self.kick()
        return request

    def kick(self) -> None:
        """Have carried out what a way wanted outside of a call: any input does it."""
        self.host._seeking._carry_out(self.way.node._take(), self.net.now)  # type: ignore[attr-defined]
        self.net.flush(self.host)
        self.net.run(0.5)

    def faults(self) -> list[object]:
        return [each.fields["reason"] for each in self.net.traces(self.host, trace.PROTOCOL_ERROR)]


def test_a_question_is_answered_on_a_stream_of_its_own() -> None:
    scene = Scene()
    way, bob = scene.add("bob")
    scene.net.connect(scene.host, bob)
    request = scene.ask(bob.peer, b"hello")
    assert scene.way.heard == [Answered(request, bob.peer, b"hello")]
    assert [each.message for each in way.heard] == [b"hello"]
    assert len(scene.host._seeking.exchanges) == 0, "nothing is left of it"


def test_a_peer_that_is_not_connected_is_visited_and_left_again() -> None:
    scene = Scene(visit_lingers=10.0)
    _, bob = scene.add("bob")
    request = scene.ask(bob.peer, b"hello", address=scene.net.seat(bob).address)
    assert scene.way.heard == [Answered(request, bob.peer, b"hello")]
    scene.net.run(5.0)
    assert scene.host.peers() == (bob.peer,), "there may be more to ask"
    scene.net.run(10.0)
    assert scene.host.peers() == ()
    [closed] = scene.net.traces(scene.host, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == VISIT_OVER


def test_a_visited_peer_that_pubsub_finds_of_use_stays() -> None:
    scene = Scene(visit_lingers=10.0)
    _, bob = scene.add("bob")
    scene.host._pubsub.useful[bob.peer] = 2  # type: ignore[attr-defined]
    scene.ask(bob.peer, b"hello", address=scene.net.seat(bob).address)
    scene.net.run(60.0)
    assert scene.host.peers() == (bob.peer,)


def test_visits_take_no_room_from_peers_that_were_named_to_us() -> None:
    scene = Scene(visit_lingers=1000.0, max_told_connections=1)
    for name in ("bob", "carol"):
        _, host = scene.add(name)
        scene.ask(host.peer, b"hello", address=scene.net.seat(host).address)
    _, dave = scene.add("dave")
    scene.host._connect(Connect(dave.peer, (scene.net.seat(dave).address,)), scene.net.now)
    scene.net.flush(scene.host)
    scene.net.run(1.0)
    assert dave.peer in scene.host.peers() and len(scene.host.peers()) == 3


def test_past_the_room_for_visits_who_was_asked_makes_room() -> None:
    scene = Scene(visit_lingers=1000.0, max_visits=2)
    for name in ("bob", "carol", "dave"):
        _, host = scene.add(name)
        scene.ask(host.peer, b"hello", address=scene.net.seat(host).address)
    assert [type(each) for each in scene.way.heard] == [Answered] * 3
    assert scene.host.peers() == (key("carol").peer, key("dave").peer)


def test_a_question_to_nobody_comes_to_nothing_at_once() -> None:
    scene = Scene()
    nobody = key("nobody").peer
    first = scene.ask(nobody, b"hello")
    second = scene.ask(nobody, b"hello", address="/ip4/10.9.9.9/tcp/1")
    assert scene.way.heard == [
        Unanswered(first, nobody, "no_address"),
        Unanswered(second, nobody, "no_address_answers"),
    ]
    assert scene.host._seeking.visits == 0


def test_a_question_in_a_protocol_that_the_peer_does_not_speak_comes_to_nothing() -> None:
    scene = Scene()
    _, bob = scene.add("bob", served=False)
    scene.net.connect(scene.host, bob)
    request = scene.ask(bob.peer, b"hello")
    [answer] = scene.way.heard
    assert isinstance(answer, Unanswered) and answer.request == request


def test_no_answer_within_the_time_counts_as_none() -> None:
    scene = Scene(question_timeout=10.0)
    _, bob = scene.add("bob")
    scene.net.connect(scene.host, bob)
    scene.ask(bob.peer, b"silence")
    scene.net.run(9.0)
    assert scene.way.heard == []
    scene.net.run(2.0)
    assert [each.reason for each in scene.way.heard] == ["timeout"]


def test_a_question_without_an_answer_is_over_when_it_has_left() -> None:
    scene = Scene()
    way, bob = scene.add("bob")
    scene.net.connect(scene.host, bob)
    request = scene.ask(bob.peer, b"silence", answered=False)
    assert scene.way.heard == [Answered(request, bob.peer, b"")]
    scene.net.run(1.0)
    assert [each.message for each in way.heard] == [b"silence"]


def test_questions_of_a_peer_that_goes_come_to_nothing() -> None:
    scene = Scene()
    _, bob = scene.add("bob")
    scene.net.connect(scene.host, bob)
    scene.ask(bob.peer, b"silence")
    scene.net.cut(bob, scene.net.transports(bob)[0])
    scene.net.run(1.0)
    assert [each.reason for each in scene.way.heard] == ["disconnected"]


def test_too_many_questions_to_one_peer_come_to_nothing_at_once() -> None:
    scene = Scene(max_questions=2)
    _, bob = scene.add("bob")
    scene.net.connect(scene.host, bob)
    for _ in range(3):
        scene.ask(bob.peer, b"silence")
    assert [each.reason for each in scene.way.heard] == ["too_many_questions"]


def test_what_is_served_is_told_by_identify_and_what_a_peer_speaks_is_heard() -> None:
    scene = Scene()
    way, bob = scene.add("bob")
    scene.net.connect(scene.host, bob)
    [identity] = way.identities
    assert identity.protocols[-1] == ECHO
    assert identity.addresses == (scene.net.seat(scene.host).address,)


class Rascal:
    """Alice, and Bob, who plays by no rules."""

    def __init__(self, **parameters: Any) -> None:
        self.scene = Scene(**parameters)
        self.net, self.host, self.way = self.scene.net, self.scene.host, self.scene.way
        self.bob = self.net.raw("bob", FAKE_PROTOCOL, ECHO)
        self.net.feed(self.bob, Dial(self.net.seat(self.host).address))
        self.net.run(1.0)

    def open(self) -> int:
        stream = self.bob.connection.open_stream((ECHO,), self.net.now)
        self.go()
        return stream

    def go(self, seconds: float = 0.1) -> None:
        self.net.flush(self.bob)
        self.net.run(seconds)

    def write(self, stream: int, data: bytes) -> None:
        self.bob.connection.write(stream, data)
        self.go()

    def reset(self, stream: int) -> bool:
        lost = self.bob.of(StreamReset) + self.bob.of(StreamRefused)
        return stream in [each.stream for each in lost]

    def said_on(self, stream: int) -> bytes:
        return b"".join(each.data for each in self.bob.of(StreamData) if each.stream == stream)


def test_several_questions_on_one_stream_are_answered_in_turn() -> None:
    rascal = Rascal()
    stream = rascal.open()
    rascal.write(stream, length_prefixed(b"one") + length_prefixed(b"two") + b"\x05th")
    rascal.write(stream, b"ree")
    assert rascal.said_on(stream) == b"\x03one\x03two\x05three"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (length_prefixed(b"bad"), "bad_question"),
        (length_prefixed(bytes(LARGEST_QUESTION + 1)), "frame_too_large"),
        (b"\xff" * 11, "bad_length"),
    ],
)
def test_a_bad_question_costs_its_stream_only(said: bytes, reason: str) -> None:
    rascal = Rascal()
    stream = rascal.open()
    rascal.write(stream, said)
    assert rascal.scene.faults() == [reason] and rascal.reset(stream)
    other = rascal.open()
    rascal.write(other, length_prefixed(b"hello"))
    assert rascal.said_on(other) == b"\x05hello"


def test_who_breaks_the_rules_time_and_again_loses_the_connection() -> None:
    rascal = Rascal()
    for _ in range(9):
        rascal.write(rascal.open(), length_prefixed(b"bad"))
    [closed] = rascal.net.traces(rascal.host, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == TOO_MANY_FAULTS


def test_a_question_that_drips_in_has_to_end_within_the_time() -> None:
    rascal = Rascal(service_timeout=10.0)
    stream = rascal.open()
    rascal.write(stream, b"\x64")
    for _ in range(25):
        rascal.bob.connection.write(stream, b"x")
        rascal.go(0.5)
    assert rascal.reset(stream) and rascal.scene.faults() == ["service_timeout"]


def test_a_stream_on_which_nothing_is_asked_is_closed_without_a_fault() -> None:
    rascal = Rascal(service_timeout=10.0, service_idle_timeout=60.0)
    silent, idle = rascal.open(), rascal.open()
    rascal.write(idle, length_prefixed(b"hello"))
    rascal.go(11.0)
    assert rascal.reset(silent) and not rascal.reset(idle)
    rascal.go(60.0)
    assert rascal.reset(idle) and rascal.scene.faults() == []


def test_too_many_streams_cost_the_last_one() -> None:
    rascal = Rascal(max_service_streams=2)
    streams = [rascal.open() for _ in range(3)]
    assert [rascal.reset(stream) for stream in streams] == [False, False, True]


def test_a_flood_of_questions_is_cut_off() -> None:
    rascal = Rascal(questions_rate=1.0, questions_burst=10.0)
    stream = rascal.open()
    rascal.write(stream, length_prefixed(b"silence") * 100)
    assert len(rascal.way.heard) == 10
    assert rascal.scene.faults() == ["asked_too_often"] and rascal.reset(stream)


def test_an_answer_that_is_too_large_or_no_frame_costs_the_peer_its_stream() -> None:
    rascal = Rascal()
    scene = rascal.scene
    for said, reason in ((b"\xff\xff\x7f", "frame_too_large"), (b"\xff" * 11, "bad_length")):
        scene.ask(rascal.bob.peer, b"hello")
        rascal.go()
        stream = [each.stream for each in rascal.bob.of(StreamOpened) if each.protocol == ECHO][-1]
        rascal.write(stream, said)
        assert scene.way.heard[-1].reason == reason and rascal.reset(stream)


def test_an_answer_that_drips_in_is_not_waited_for_longer_than_any_other() -> None:
    rascal = Rascal(question_timeout=10.0)
    rascal.scene.ask(rascal.bob.peer, b"hello")
    rascal.go()
    stream = [each.stream for each in rascal.bob.of(StreamOpened) if each.protocol == ECHO][-1]
    rascal.write(stream, b"\x64")
    for _ in range(25):
        rascal.bob.connection.write(stream, b"x")
        rascal.go(0.5)
    [answer] = rascal.way.heard
    assert answer.reason == "timeout" and rascal.reset(stream)


def test_what_a_peer_says_of_loopback_is_not_believed_from_elsewhere() -> None:
    scene = Scene()
    bob = scene.net.raw("bob", FAKE_PROTOCOL, IDENTIFY)
    scene.net.connect(scene.host, bob)
    stream = next(each.stream for each in bob.of(StreamOpened) if each.protocol == IDENTIFY)
    addresses = ("/ip4/127.0.0.1/tcp/4001", "/ip4/10.1.2.3/tcp/4001")
    raw = tuple(_binary(address) for address in addresses)
    info = IdentifyInfo(protocols=(ECHO,), listen_addresses=(*raw, b"\xcd\x03nonsense"))
    bob.connection.write(stream, length_prefixed(encode_identify(info)))
    bob.connection.close_stream(stream)
    scene.net.flush(bob)
    scene.net.run(1.0)
    [identity] = scene.way.identities
    assert identity.addresses == ("/ip4/10.1.2.3/tcp/4001",)


def _binary(address: str) -> bytes:
    from rumormill.libp2p.stack.multiaddr import Multiaddr

    return Multiaddr.parse(address).to_bytes()
