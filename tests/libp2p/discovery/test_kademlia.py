"""Kademlia as a way: by hand against peers that the test plays, question by question."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from rumormill.core.machine import Connect
from rumormill.core.trace import IGNORED, PROTOCOL_ERROR, TraceEvent
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import (
    Answer,
    Answered,
    Ask,
    Asked,
    OwnAddresses,
    PeerConnected,
    PeerDisconnected,
    PeerIdentified,
    Refuse,
    TopicsChanged,
    Unanswered,
)
from rumormill.libp2p.discovery.kademlia.kademlia import Kademlia
from rumormill.libp2p.discovery.kademlia.keys import topic_key
from rumormill.libp2p.discovery.kademlia.message import (
    KademliaMessage,
    Kind,
    PeerInfo,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.kademlia.parameters import KAD_PROTOCOL, KademliaParameters
from rumormill.libp2p.discovery.parameters import DiscoveryParameters
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import from_text
from tests.helpers.libp2p.host_net import key

ALICE, BOB, CAROL, DAVE = (key(name).peer for name in ("alice", "bob", "carol", "dave"))
OWN = "/ip4/10.0.0.1/tcp/4001"
PLACES = {BOB: "/ip4/10.0.0.2/tcp/4001", CAROL: "/ip4/10.0.0.3/tcp/4001"}
WEATHER = topic_key("weather")


class Town:
    """One topic, that has as many peers as the test says."""

    def __init__(self) -> None:
        self.topic_names: list[str] = []
        self.count = self.short = 0

    def topics(self) -> list[str]:
        return self.topic_names

    def peers(self, topic: str) -> int:
        return self.count

    def wanted(self, topic: str) -> int:
        return 6

    def lacks_mesh(self, topic: str) -> int:
        return self.short


class Bench:
    """Alice's discovery with Kademlia alone."""

    def __init__(self, mode: str = "client", only_public: bool = False, **more: Any) -> None:
        self.town = Town()
        self.way = Kademlia(KademliaParameters(kademlia_mode=mode, **more))  # type: ignore[arg-type]
        self.machine = Discovery(
            node=ALICE,
            ways=[self.way],
            census=self.town,
            random=random.Random(1),
            parameters=DiscoveryParameters(discovery_only_public=only_public),
        )
        self.now = 100.0
        self.effects: list[Any] = []
        self._exchange = 0

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

    def listen(self, *addresses: str) -> None:
        self.feed(OwnAddresses(addresses or (OWN,), b"record"))

    def join(self, *topics: str) -> None:
        self.town.topic_names = list(topics)
        self.feed(TopicsChanged())
        self.run(0.0)

    def meet(self, peer: str, *protocols: str, address: str = "") -> None:
        """A peer connects and says what it serves."""
        address = address or PLACES.get(peer, "/ip4/10.0.0.9/tcp/4001")
        self.feed(PeerConnected(peer, address))
        self.feed(PeerIdentified(peer, protocols, (address,)))

    def server(self, peer: str, closer: tuple[PeerInfo, ...] = (), address: str = "") -> None:
        """A peer connects that serves Kademlia, and answers when it is asked whether it does."""
        self.meet(peer, KAD_PROTOCOL, address=address)
        self.answer(self.asks(peer)[-1], closer=closer)

    def asks(self, peer: str | None = None) -> list[Ask]:
        return [
            each
            for each in self.effects
            if isinstance(each, Ask) and (peer is None or each.peer == peer)
        ]

    def take_asks(self) -> list[Ask]:
        """What was asked since the last time."""
        asks = self.asks()
        self.effects = [each for each in self.effects if not isinstance(each, Ask)]
        return asks

    def answer(self, ask: Ask, **more: Any) -> None:
        question = decode_message(ask.message)
        answer = KademliaMessage(question.kind, question.key, **more)
        self.feed(Answered(ask.request, ask.peer, encode_message(answer)))

    def asked(self, peer: str, message: KademliaMessage | bytes) -> KademliaMessage | None:
        """What a peer is answered."""
        self._exchange += 1
        raw = message if isinstance(message, bytes) else encode_message(message)
        effects = self.feed(Asked(self._exchange, peer, KAD_PROTOCOL, raw))
        [answer] = [each for each in effects if isinstance(each, Answer | Refuse)]
        if isinstance(answer, Refuse) or not answer.message:
            return None
        return decode_message(answer.message)

    def traced(self, event: str) -> list[TraceEvent]:
        return [
            each for each in self.effects if isinstance(each, TraceEvent) and each.event == event
        ]


def info(peer: str, *addresses: str) -> PeerInfo:
    places = addresses or (PLACES[peer],)
    return PeerInfo(from_text(peer), tuple(Multiaddr.parse(each).to_bytes() for each in places))


# ---- the table


def test_a_peer_that_serves_kademlia_is_in_the_table_once_it_has_answered() -> None:
    bench = Bench()
    bench.meet(BOB, KAD_PROTOCOL)
    [ask] = bench.asks(BOB)
    question = decode_message(ask.message)
    assert (question.kind, question.key) == (Kind.FIND_NODE, from_text(ALICE))
    assert ask.protocols == (KAD_PROTOCOL,)
    assert BOB not in bench.way.table
    bench.answer(ask)
    assert BOB in bench.way.table


def test_a_peer_that_does_not_serve_it_is_neither_asked_nor_kept() -> None:
    bench = Bench()
    bench.meet(BOB, "/other/1.0.0")
    assert bench.asks() == []
    bench.server(CAROL)
    bench.feed(PeerIdentified(CAROL, (), ()))
    assert CAROL not in bench.way.table, "it has changed its mind"


def test_a_peer_that_does_not_answer_is_not_in_the_table_and_not_asked_again_at_once() -> None:
    bench = Bench()
    bench.meet(BOB, KAD_PROTOCOL)
    [ask] = bench.take_asks()
    bench.feed(Unanswered(ask.request, BOB, "timeout"))
    bench.feed(PeerIdentified(BOB, (KAD_PROTOCOL,), ()))
    assert bench.take_asks() == [] and BOB not in bench.way.table
    bench.feed(PeerDisconnected(BOB))
    bench.meet(BOB, KAD_PROTOCOL)
    assert len(bench.take_asks()) == 1, "when it comes back, it is"


def test_whoever_is_in_the_table_stays_after_it_has_gone_until_it_fails_to_answer() -> None:
    bench = Bench()
    bench.server(BOB)
    bench.feed(PeerDisconnected(BOB))
    assert BOB in bench.way.table
    bench.take_asks()
    bench.run(0.0)
    [ask] = bench.take_asks()
    assert ask.addresses == (PLACES[BOB],), "it is to be visited"
    bench.feed(Unanswered(ask.request, BOB, "too_many_visits"))
    assert BOB in bench.way.table, "that was our own fault"
    bench.run(60.0)
    ask = bench.take_asks()[0]
    bench.feed(Unanswered(ask.request, BOB, "timeout"))
    assert BOB not in bench.way.table


def test_the_first_peer_is_asked_about_our_neighbours_and_whom_it_names_next() -> None:
    bench = Bench()
    bench.server(BOB)
    bench.take_asks()
    bench.run(0.0)
    [ask] = bench.take_asks()
    assert ask.peer == BOB and decode_message(ask.message).key == from_text(ALICE)
    bench.answer(ask, closer=(info(CAROL), info(ALICE, OWN)))
    [ask] = bench.take_asks()
    assert (ask.peer, ask.addresses) == (CAROL, (PLACES[CAROL],))
    bench.answer(ask)
    [looked] = bench.traced(events.DISCOVERY_LOOKED)
    assert looked.fields["purpose"] == "neighbours" and looked.fields["asked"] == 2
    assert bench.machine.sizes()["kademlia_searches"] == 0
    assert bench.machine.sizes()["kademlia_requests"] == 0


def test_of_what_is_named_only_addresses_are_dialed_that_make_sense_here() -> None:
    bench = Bench()
    bench.server(BOB)
    bench.take_asks()
    bench.run(0.0)
    lies = info(CAROL, "/ip4/127.0.0.1/tcp/22", "/ip4/0.0.0.0/tcp/1")
    nonsense = PeerInfo(b"no peer id", (b"no address",))
    bench.answer(bench.take_asks()[0], closer=(lies, nonsense))
    assert bench.take_asks() == []


def test_the_table_is_looked_over_again_and_again_ever_more_seldom() -> None:
    bench = Bench(kademlia_refresh=600.0)
    bench.server(BOB)
    bench.take_asks()
    times: list[float] = []
    for _ in range(3600):
        bench.run(1.0)
        asks = bench.take_asks()
        if asks:
            times.append(bench.now)
        for ask in asks:
            bench.answer(ask)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert gaps[0] < 20 and all(450 <= gap <= 751 for gap in gaps[7:])
    assert 9 <= len(times) <= 14


# ---- finding


def seeking(**more: Any) -> tuple[Bench, Ask]:
    """Alice has joined a topic and asks Bob who provides it."""
    bench = Bench(**more)
    bench.listen()
    bench.server(BOB)
    bench.take_asks()
    bench.join("weather")
    [ask] = [each for each in bench.take_asks() if _kind(each) is Kind.GET_PROVIDERS]
    return bench, ask


def _kind(ask: Ask) -> Kind:
    return decode_message(ask.message).kind


def test_who_provides_a_topic_is_dialed() -> None:
    bench, ask = seeking()
    assert decode_message(ask.message).key == WEATHER
    bench.answer(ask, providers=(info(CAROL), info(ALICE, OWN)))
    assert Connect(CAROL, (PLACES[CAROL],)) in bench.effects
    [found] = bench.traced(events.DISCOVERY_FOUND)
    assert found.fields["way"] == "kademlia" and found.fields["told_by"] == BOB
    [looked] = [
        each for each in bench.traced(events.DISCOVERY_LOOKED) if each.fields["purpose"] == "topic"
    ]
    assert looked.topic == "weather" and looked.fields["found"] == 2


def test_no_more_than_twice_as_many_are_dialed_as_are_lacking() -> None:
    bench, ask = seeking()
    crowd = tuple(
        info(key(f"crowd {each}").peer, f"/ip4/10.1.1.{each}/tcp/1") for each in range(60)
    )
    bench.answer(ask, providers=crowd)
    assert len([each for each in bench.effects if isinstance(each, Connect)]) == 12


def test_nobody_is_dialed_when_the_topic_has_enough_by_then() -> None:
    bench, ask = seeking()
    bench.town.count = 6
    bench.answer(ask, providers=(info(CAROL),))
    assert not [each for each in bench.effects if isinstance(each, Connect)]
    assert bench.traced(events.DISCOVERY_FOUND) == []


def test_without_anybody_in_the_table_nothing_is_asked_and_then_at_once() -> None:
    bench = Bench()
    bench.join("weather")
    bench.run(30.0)
    assert bench.take_asks() == [] and bench.traced(events.DISCOVERY_ASKED) == []
    bench.server(BOB)
    bench.run(0.0)
    assert Kind.GET_PROVIDERS in map(_kind, bench.take_asks())
    assert len(bench.traced(events.DISCOVERY_ASKED)) == 1


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xff", encode_message(KademliaMessage(Kind.FIND_NODE, WEATHER))]
)
def test_an_answer_that_is_none_counts_as_none_and_is_traced(raw: bytes) -> None:
    bench, ask = seeking()
    bench.feed(Answered(ask.request, BOB, raw))
    [error] = bench.traced(PROTOCOL_ERROR)
    assert error.peer == BOB and error.fields["reason"] == "bad_kademlia"
    assert BOB not in bench.way.table
    assert bench.machine.sizes()["kademlia_searches"] <= 1


# ---- being found


def test_those_closest_to_a_topic_are_told_that_we_take_part_and_again_later() -> None:
    bench, ask = seeking(kademlia_advertise=100.0)
    bench.answer(ask)
    [told] = bench.take_asks()
    message = decode_message(told.message)
    assert (message.kind, message.key) == (Kind.ADD_PROVIDER, WEATHER)
    assert message.providers == (info(ALICE, OWN),) and not told.answered
    bench.feed(Answered(told.request, BOB, b""))
    [advertised] = bench.traced(events.DISCOVERY_ADVERTISED)
    assert advertised.topic == "weather" and advertised.fields["peers"] == 1
    bench.town.count = 6
    count = 0
    for _ in range(600):
        bench.run(1.0)
        for ask in bench.take_asks():
            count += _kind(ask) is Kind.ADD_PROVIDER
            bench.answer(ask) if ask.answered else bench.feed(Answered(ask.request, BOB, b""))
    assert 5 <= count <= 9


def test_who_listens_nowhere_tells_nobody_until_it_does() -> None:
    bench = Bench()
    bench.server(BOB)
    bench.join("weather")
    for _ in range(30):
        bench.run(1.0)
        for ask in bench.take_asks():
            assert _kind(ask) is not Kind.ADD_PROVIDER
            bench.answer(ask)
    bench.listen()
    kinds = []
    for _ in range(10):
        bench.run(1.0)
        for ask in bench.take_asks():
            kinds.append(_kind(ask))
            bench.answer(ask) if ask.answered else bench.feed(Answered(ask.request, BOB, b""))
    assert Kind.ADD_PROVIDER in kinds


def test_loopback_is_not_told_to_strangers_elsewhere() -> None:
    bench = Bench()
    bench.listen("/ip4/127.0.0.1/tcp/4001")
    bench.server(BOB)
    bench.join("weather")
    for _ in range(100):
        bench.run(1.0)
        for ask in bench.take_asks():
            assert _kind(ask) is not Kind.ADD_PROVIDER
            bench.answer(ask)


def test_a_topic_that_was_left_is_not_told_any_more() -> None:
    bench, ask = seeking()
    bench.join()
    bench.answer(ask, providers=(info(CAROL),))
    bench.run(1000.0)
    assert Kind.ADD_PROVIDER not in map(_kind, bench.take_asks())
    assert not [each for each in bench.effects if isinstance(each, Connect)]


# ---- the server


def test_a_client_serves_nothing_and_a_server_its_protocol() -> None:
    assert Bench().machine.protocols == ()
    assert Bench("server").machine.protocols == (KAD_PROTOCOL,)
    own = Bench("server", kademlia_protocol="/ipfs/lan/kad/1.0.0")
    assert own.machine.protocols == ("/ipfs/lan/kad/1.0.0",)


def serving(*peers: str, **more: Any) -> Bench:
    bench = Bench("server", **more)
    bench.listen()
    for peer in peers:
        bench.server(peer)
    return bench


def test_find_node_names_those_that_are_closer_but_not_the_asker() -> None:
    bench = serving(BOB, CAROL)
    bench.meet(DAVE)
    answer = bench.asked(DAVE, KademliaMessage(Kind.FIND_NODE, b"anything"))
    assert answer is not None and answer.kind is Kind.FIND_NODE
    assert {each.peer_id for each in answer.closer} == {from_text(BOB), from_text(CAROL)}
    assert all(each.connection == 1 for each in answer.closer)
    answer = bench.asked(BOB, KademliaMessage(Kind.FIND_NODE, b"anything"))
    assert answer is not None and [each.peer_id for each in answer.closer] == [from_text(CAROL)]


def test_a_peer_that_is_looked_for_by_its_id_is_named_first_also_ourselves() -> None:
    bench = serving(BOB)
    bench.meet(DAVE)
    for peer, place in ((ALICE, OWN), (DAVE, "/ip4/10.0.0.9/tcp/4001"), (BOB, PLACES[BOB])):
        answer = bench.asked(CAROL, KademliaMessage(Kind.FIND_NODE, from_text(peer)))
        if answer is None or not answer.closer:
            bench.meet(CAROL)
            answer = bench.asked(CAROL, KademliaMessage(Kind.FIND_NODE, from_text(peer)))
        assert answer is not None
        assert answer.closer[0]._replace(connection=0) == info(peer, place)
        assert [each.peer_id for each in answer.closer].count(from_text(peer)) == 1


def test_what_a_peer_provides_is_told_to_who_asks() -> None:
    bench = serving(BOB)
    bench.meet(DAVE)
    place = "/ip4/10.0.0.9/tcp/4001"
    add = KademliaMessage(Kind.ADD_PROVIDER, WEATHER, providers=(info(DAVE, place),))
    assert bench.asked(DAVE, add) is None
    answer = bench.asked(BOB, KademliaMessage(Kind.GET_PROVIDERS, WEATHER))
    assert answer is not None and answer.key == WEATHER
    [provider] = answer.providers
    assert provider == info(DAVE, place)._replace(connection=1)


def test_who_speaks_for_others_provides_nothing_and_pays() -> None:
    bench = serving(BOB)
    bench.meet(DAVE)
    add = KademliaMessage(Kind.ADD_PROVIDER, WEATHER, providers=(info(BOB), info(CAROL)))
    effects = bench.feed(Asked(9, DAVE, KAD_PROTOCOL, encode_message(add)))
    [refusal] = [each for each in effects if isinstance(each, Refuse)]
    assert refusal.reason == "provider_of_other_peer" and refusal.fault
    assert bench.machine.sizes()["kademlia_providers"] == 0


def test_a_provider_that_nobody_could_dial_is_not_kept() -> None:
    bench = serving()
    bench.meet(DAVE)
    lies = info(DAVE, "/ip4/127.0.0.1/tcp/4001")
    bench.asked(DAVE, KademliaMessage(Kind.ADD_PROVIDER, WEATHER, providers=(lies,)))
    assert bench.machine.sizes()["kademlia_providers"] == 0
    assert bench.traced(IGNORED)[-1].fields["reason"] == "provider_without_address"


def test_private_addresses_are_not_told_to_those_who_come_from_outside() -> None:
    bench = serving(BOB)
    bench.server(CAROL, address="/ip4/8.8.8.8/tcp/4001")
    bench.meet(DAVE, address="/ip4/1.1.1.1/tcp/4001")
    answer = bench.asked(DAVE, KademliaMessage(Kind.FIND_NODE, b"anything"))
    assert answer is not None
    assert [each.peer_id for each in answer.closer] == [from_text(CAROL)]


def test_values_are_not_kept_and_that_is_nobodys_fault() -> None:
    bench = serving(BOB)
    bench.meet(DAVE)
    answer = bench.asked(DAVE, KademliaMessage(Kind.GET_VALUE, b"key"))
    assert answer is not None and [each.peer_id for each in answer.closer] == [from_text(BOB)]
    effects = bench.feed(
        Asked(9, DAVE, KAD_PROTOCOL, encode_message(KademliaMessage(Kind.PUT_VALUE, b"key")))
    )
    assert [each.fault for each in effects if isinstance(each, Refuse)] == [False]


def test_a_ping_is_answered_though_nobody_should_send_one() -> None:
    assert serving().asked(DAVE, KademliaMessage(Kind.PING)) == KademliaMessage(Kind.PING)


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xff",
        encode_message(KademliaMessage(Kind.FIND_NODE)),
        encode_message(KademliaMessage(Kind.GET_PROVIDERS, bytes(81))),
        encode_message(KademliaMessage(Kind.ADD_PROVIDER, b"")),
    ],
)
def test_a_question_that_breaks_the_rules_costs_its_peer(raw: bytes) -> None:
    bench = serving()
    bench.meet(DAVE)
    [refusal] = bench.feed(Asked(9, DAVE, KAD_PROTOCOL, raw))
    assert isinstance(refusal, Refuse) and refusal.reason == "bad_kademlia" and refusal.fault


def test_a_flood_of_records_stays_within_bounds() -> None:
    bench = serving()
    for number in range(20):
        peer = key(f"sybil {number}").peer
        place = f"/ip4/10.2.0.{number}/tcp/1"
        bench.meet(peer, address=place)
        for record in range(300):
            add = KademliaMessage(Kind.ADD_PROVIDER, b"%d" % record, providers=(info(peer, place),))
            bench.asked(peer, add)
    assert bench.machine.sizes()["kademlia_providers"] == 20 * 256
    reasons = {each.fields["reason"] for each in bench.traced(IGNORED)}
    assert reasons == {"too_many_keys_of_peer"}
