"""Rendezvous: a meeting point by hand, a client by hand, and whole nodes that meet at one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.core.trace import PROTOCOL_ERROR, REJECTED, TraceEvent
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import (
    Answer,
    Answered,
    Ask,
    Asked,
    OwnAddresses,
    PeerConnected,
    Refuse,
    TopicsChanged,
    Unanswered,
)
from rumormill.libp2p.discovery.rendezvous import registrations
from rumormill.libp2p.discovery.rendezvous.message import (
    Discover,
    Discovered,
    Register,
    Registered,
    RendezvousMessage,
    Status,
    Unregister,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.rendezvous.parameters import RendezvousParameters
from rumormill.libp2p.discovery.rendezvous.records import sign_record
from rumormill.libp2p.discovery.rendezvous.registrations import MOST_TOLD, Registrations
from rumormill.libp2p.discovery.rendezvous.rendezvous import RENDEZVOUS_PROTOCOL, Rendezvous
from rumormill.libp2p.stack.multiaddr import Multiaddr
from tests.helpers.libp2p.discovery_net import DiscoveryNet
from tests.helpers.libp2p.host_net import key

ALICE, BOB, CAROL = (key(name).peer for name in ("alice", "bob", "carol"))
POINT = f"/ip4/10.0.0.2/tcp/4001/p2p/{BOB}"
NAMESPACE = "floodsub:weather"


def record(name: str, place: str = "/ip4/10.0.0.9/tcp/4001") -> bytes:
    return sign_record(key(name), 7, [Multiaddr.parse(place)], "rust")


class Town:
    """One topic that lacks peers, or none."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def topics(self) -> list[str]:
        return self.names

    def peers(self, topic: str) -> int:
        return 0

    def wanted(self, topic: str) -> int:
        return 6

    def lacks_mesh(self, topic: str) -> int:
        return 0


class Bench:
    """Alice's discovery with rendezvous alone."""

    def __init__(self, **parameters: Any) -> None:
        self.town = Town()
        self.way = Rendezvous(key("alice"), RendezvousParameters(**parameters))
        self.machine = Discovery(
            node=ALICE, ways=[self.way], census=self.town, random=random.Random(1)
        )
        self.now = 100.0
        self.effects: list[Any] = []

    def feed(self, input: Any) -> list[Any]:
        effects = self.machine.handle(input, self.now)
        self.effects += effects
        return effects

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.machine.next_wake()) is not None and due <= end:
            self.now = max(self.now, due)
            self.effects += self.machine.wake(self.now)
        self.now = end

    def join(self, *topics: str) -> None:
        self.town.names = list(topics)
        self.feed(TopicsChanged())
        self.run(0.0)

    def asks(self, kind: type) -> list[Ask]:
        """The questions of a kind so far; they are taken."""
        found = [
            each
            for each in self.effects
            if isinstance(each, Ask) and isinstance(decode_message(each.message), kind)
        ]
        self.effects = [each for each in self.effects if each not in found]
        return found

    def answer(self, ask: Ask, message: RendezvousMessage) -> list[Any]:
        return self.feed(Answered(ask.request, ask.peer, encode_message(message)))

    def asked(self, peer: str, message: RendezvousMessage) -> RendezvousMessage | None:
        effects = self.feed(Asked(1, peer, RENDEZVOUS_PROTOCOL, encode_message(message)))
        [answer] = [each for each in effects if isinstance(each, Answer)]
        return decode_message(answer.message) if answer.message else None

    def traced(self, event: str) -> list[TraceEvent]:
        return [
            each for each in self.effects if isinstance(each, TraceEvent) and each.event == event
        ]


# ---- the meeting point


def point() -> Bench:
    bench = Bench(rendezvous_server=True)
    assert bench.machine.protocols == (RENDEZVOUS_PROTOCOL,)
    return bench


def names(answer: RendezvousMessage | None) -> list[bytes]:
    assert isinstance(answer, Discovered) and answer.status == Status.OK
    return [each.record for each in answer.registrations]


def test_who_has_registered_is_told_to_who_asks() -> None:
    bench = point()
    assert bench.asked(BOB, Register("ns", record("bob"))) == Registered(Status.OK, 7200)
    assert bench.asked(CAROL, Register("other", record("carol"), 9000)) == Registered(0, 9000)
    bench.now += 1000
    answer = bench.asked(CAROL, Discover("ns"))
    assert isinstance(answer, Discovered)
    assert answer.registrations == (Register("ns", record("bob"), 6200),)
    assert names(bench.asked(CAROL, Discover())) == [record("bob"), record("carol")]
    assert names(bench.asked(CAROL, Discover("nowhere"))) == []


def test_a_registration_ends_with_its_time_or_by_a_word() -> None:
    bench = point()
    bench.asked(BOB, Register("ns", record("bob")))
    bench.asked(CAROL, Register("ns", record("carol")))
    assert bench.asked(CAROL, Unregister("ns")) is None
    assert bench.asked(CAROL, Unregister("never heard of")) is None
    assert names(bench.asked(CAROL, Discover("ns"))) == [record("bob")]
    bench.now += 7200
    assert names(bench.asked(CAROL, Discover("ns"))) == []


def test_a_cookie_leads_to_what_came_after_it() -> None:
    bench = point()
    bench.asked(BOB, Register("ns", record("bob")))
    first = bench.asked(CAROL, Discover("ns", 1))
    assert isinstance(first, Discovered) and names(first) == [record("bob")]
    bench.asked(CAROL, Register("ns", record("carol")))
    second = bench.asked(CAROL, Discover("ns", None, first.cookie))
    assert isinstance(second, Discovered) and names(second) == [record("carol")]
    assert names(bench.asked(CAROL, Discover("ns", None, second.cookie))) == []


@pytest.mark.parametrize(
    "cookie", [b"x", bytes(8), bytes(8) + b"ns", b"\xff" * 8 + b"ns", b"\xff" * 400]
)
def test_a_cookie_that_was_made_up_is_refused(cookie: bytes) -> None:
    bench = point()
    answer = bench.asked(BOB, Discover("ns", None, cookie))
    assert isinstance(answer, Discovered) and answer.status == Status.INVALID_COOKIE
    assert bench.traced(REJECTED)[0].fields["reason"] == "bad_cookie"


def test_a_cookie_of_another_namespace_or_of_another_life_is_refused() -> None:
    bench, again = point(), Registrations(random.Random(2))
    first = bench.asked(BOB, Discover("ns"))
    assert isinstance(first, Discovered)
    for namespace in ("other", None):
        answer = bench.asked(BOB, Discover(namespace, None, first.cookie))
        assert isinstance(answer, Discovered) and answer.status == Status.INVALID_COOKIE
    with pytest.raises(Exception, match="bad_cookie"):
        again.of("ns", first.cookie, None, 0.0)


@pytest.mark.parametrize(
    ("message", "status", "traced"),
    [
        (Register("", record("bob")), Status.INVALID_NAMESPACE, None),
        (Register("n" * 256, record("bob")), Status.INVALID_NAMESPACE, None),
        (Register("ns", record("bob"), 60), Status.INVALID_TTL, None),
        (Register("ns", record("bob"), 259_201), Status.INVALID_TTL, None),
        (Register("ns", record("carol")), Status.NOT_AUTHORIZED, "record_of_other_peer"),
        (Register("ns", b""), Status.INVALID_SIGNED_PEER_RECORD, "bad_envelope"),
    ],
)
def test_a_registration_that_breaks_the_rules_is_refused(
    message: Register, status: Status, traced: str | None
) -> None:
    bench = point()
    assert bench.asked(BOB, message) == Registered(status)
    assert [each.fields["reason"] for each in bench.traced(REJECTED)] == [traced] * bool(traced)
    assert bench.machine.sizes()["rendezvous_registrations"] == 0


@pytest.mark.parametrize("raw", [b"\xff", encode_message(Registered(Status.OK))])
def test_what_is_no_question_costs_its_peer(raw: bytes) -> None:
    [refusal] = point().feed(Asked(1, BOB, RENDEZVOUS_PROTOCOL, raw))
    assert isinstance(refusal, Refuse) and refusal.reason == "bad_rendezvous"


def test_registrations_are_bounded_by_peer_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registrations, "MOST_OF_PEER", 5)
    monkeypatch.setattr(registrations, "MOST_IN_ALL", 8)
    bench = point()
    statuses = []
    for name in ("bob", "carol"):
        for number in range(7):
            answer = bench.asked(key(name).peer, Register(f"ns {number}", record(name)))
            assert isinstance(answer, Registered)
            statuses.append(answer.status)
    assert statuses == [0] * 5 + [400] * 2 + [0] * 3 + [400] * 4
    assert bench.asked(BOB, Register("ns 0", record("bob"))) == Registered(Status.OK, 7200)
    bench.now += 10_000
    for number in range(7):
        bench.asked(BOB, Register(f"new {number}", record("bob")))
    assert bench.machine.sizes()["rendezvous_registrations"] <= 8


def test_an_answer_has_so_many_registrations_only() -> None:
    kept = Registrations(random.Random(1))
    for number in range(3 * MOST_TOLD):
        kept.add("ns", f"peer {number}", b"record", 100.0, 0.0)
    found, cookie = kept.of("ns", b"", 10**9, 1.0)
    more, _ = kept.of("ns", cookie, None, 1.0)
    assert [each.number for each in found + more] == list(range(1, 2 * MOST_TOLD + 1))


# ---- the client


def client(**more: Any) -> Bench:
    bench = Bench(rendezvous=[POINT], **more)
    bench.feed(OwnAddresses(("/ip4/10.0.0.1/tcp/4001",), b"record"))
    bench.join("weather")
    return bench


def test_a_topic_is_registered_at_once_and_renewed_before_it_runs_out() -> None:
    bench = client()
    [ask] = bench.asks(Register)
    assert (ask.peer, ask.addresses) == (BOB, ("/ip4/10.0.0.2/tcp/4001",))
    register = decode_message(ask.message)
    assert isinstance(register, Register) and register.namespace == NAMESPACE
    bench.answer(ask, Registered(Status.OK, 7200))
    [told] = bench.traced(events.DISCOVERY_ADVERTISED)
    assert told.topic == "weather" and told.fields["way"] == "rendezvous"
    bench.run(5000.0)
    assert bench.asks(Register) == []
    bench.run(401.0)
    assert len(bench.asks(Register)) == 1


def test_a_registration_that_fails_is_tried_again_ever_more_seldom() -> None:
    bench = client()
    times = []
    for _ in range(1200):
        for ask in bench.asks(Register):
            times.append(bench.now)
            bench.feed(Unanswered(ask.request, BOB, "timeout"))
        bench.run(1.0)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert gaps == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    assert bench.traced(events.DISCOVERY_FAILED)[0].fields["reason"] == "timeout"


def test_who_listens_nowhere_registers_nowhere_until_it_does() -> None:
    bench = Bench(rendezvous=[POINT])
    bench.join("weather")
    bench.run(30.0)
    assert bench.asks(Register) == [] and bench.asks(Discover)
    bench.feed(OwnAddresses(("/ip4/10.0.0.1/tcp/4001",), b"record"))
    bench.run(0.0)
    assert len(bench.asks(Register)) == 1


def test_a_topic_that_is_left_is_unregistered() -> None:
    bench = client()
    [ask] = bench.asks(Register)
    bench.answer(ask, Registered(Status.OK, 7200))
    bench.asks(Discover)
    bench.join()
    [ask] = bench.asks(Unregister)
    assert decode_message(ask.message) == Unregister(NAMESPACE) and not ask.answered
    bench.run(10_000.0)
    assert bench.asks(Register) == bench.asks(Discover) == []


def discovering() -> tuple[Bench, Ask]:
    bench = client()
    bench.feed(PeerConnected(BOB, "/ip4/10.0.0.2/tcp/4001"))
    [ask] = bench.asks(Discover)
    assert decode_message(ask.message) == Discover(NAMESPACE, 100)
    return bench, ask


def test_whom_a_point_names_is_dialed_if_the_record_is_its_own() -> None:
    bench, ask = discovering()
    forged = record("dave")[:-1] + bytes([record("dave")[-1] ^ 1])
    told = (Register(NAMESPACE, record("carol"), 60), Register(NAMESPACE, forged, 60))
    bench.answer(ask, Discovered(Status.OK, told, b"cookie"))
    [found] = bench.traced(events.DISCOVERY_FOUND)
    assert (found.peer, found.topic) == (CAROL, "weather")
    assert found.fields == {"way": "rendezvous", "addresses": 1, "told_by": BOB}
    [rejected] = bench.traced(REJECTED)
    assert (rejected.peer, rejected.fields["reason"]) == (BOB, "forged_record")


def test_of_many_only_some_are_looked_at_and_the_next_look_turns_the_page() -> None:
    bench, ask = discovering()
    told = tuple(Register(NAMESPACE, record(f"peer {number}"), 60) for number in range(100))
    bench.answer(ask, Discovered(Status.OK, told, b"page 2"))
    assert len(bench.traced(events.DISCOVERY_FOUND)) == 13
    bench.run(2.0)
    ask = bench.asks(Discover)[0]
    assert decode_message(ask.message) == Discover(NAMESPACE, 100, b"page 2")
    bench.answer(ask, Discovered(Status.INVALID_COOKIE))
    assert bench.traced(events.DISCOVERY_FAILED)[0].fields["reason"] == "point_says_invalid_cookie"
    bench.run(4.0)
    assert decode_message(bench.asks(Discover)[0].message) == Discover(NAMESPACE, 100)


@pytest.mark.parametrize("raw", [b"", encode_message(Registered(Status.OK, 7200))])
def test_an_answer_that_is_none_is_traced(raw: bytes) -> None:
    bench, ask = discovering()
    bench.feed(Answered(ask.request, BOB, raw))
    assert bench.traced(PROTOCOL_ERROR)[0].peer == BOB
    assert bench.machine.sizes()["rendezvous_wishes"] == 1, "that of the registration"


def test_a_topic_that_is_too_long_is_said_to_be() -> None:
    bench = client()
    bench.join("w" * 300)
    assert bench.traced(events.DISCOVERY_FAILED)[-1].fields["reason"] == "topic_too_long"


def test_points_need_a_peer_id() -> None:
    with pytest.raises(ConfigError, match=r"rendezvous: .* must end with /p2p/"):
        RendezvousParameters(rendezvous=("/ip4/10.0.0.1/tcp/1",))
    with pytest.raises(ConfigError, match="rendezvous: cannot use the address"):
        RendezvousParameters(rendezvous=("nowhere",))


# ---- whole nodes


def test_nodes_that_know_a_meeting_point_find_each_other() -> None:
    """The point takes no part in the topic."""
    net = DiscoveryNet()
    guests = [f"node {number}" for number in range(8)]
    server = Rendezvous(key("point"), RendezvousParameters(rendezvous_server=True))
    net.add("point", server, gossipsub={"peer_exchange": False})
    place = f"{net.simulation.address('point')}/p2p/{key('point').peer}"
    for name in guests:
        way = Rendezvous(key(name), RendezvousParameters(rendezvous=(place,)))
        net.add(name, way, gossipsub={"peer_exchange": False})
    net.run(0.01)
    net.subscribe(*guests)
    net.run(15.0)
    assert min(net.meshes(guests)) >= 4
    assert {each.fields["way"] for each in net.events(events.DISCOVERY_CONNECTED)} == {"rendezvous"}
    assert net.simulation.trace_counts[PROTOCOL_ERROR] == 0
