"""When peers are looked for, and whether whom the ways find is dialed."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from rumormill.core.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import Connect
from rumormill.core.trace import PROTOCOL_ERROR, TraceEvent
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.addresses import MOST_ADDRESSES, usable
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import (
    Answered,
    Ask,
    Asked,
    DatagramReceived,
    OwnAddresses,
    PeerConnected,
    PeerDisconnected,
    PeerIdentified,
    PeersWanted,
    PeerUnreached,
    Refuse,
    SendDatagram,
    TopicsChanged,
    Unanswered,
)
from rumormill.libp2p.discovery.found import FIRST_REST, MOST_DIALED, MOST_FAILED
from rumormill.libp2p.discovery.looking import MOST_PASSING
from rumormill.libp2p.discovery.parameters import DiscoveryParameters
from rumormill.libp2p.discovery.way import Way
from rumormill.libp2p.stack.reach import Reach
from tests.helpers.libp2p.host_net import key

ALICE, BOB, CAROL = (key(name).peer for name in ("alice", "bob", "carol"))
ADDRESS = "/ip4/10.0.0.2/tcp/4001"


class Town:
    """How many peers topics have, as the test says."""

    def __init__(self, **peers: int) -> None:
        self.counts = peers
        self.short = 0
        self.published: dict[str, int] = {}

    def topics(self) -> list[str]:
        return list(self.counts)

    def peers(self, topic: str) -> int:
        return {**self.published, **self.counts}[topic]

    def wanted(self, topic: str) -> int:
        return 6

    def lacks_mesh(self, topic: str) -> int:
        return self.short


class Notes(Way):
    """Writes down what it is told."""

    name = "notes"

    def __init__(self, *, able: bool = True, serves: tuple[str, ...] = ()) -> None:
        self.able = able
        self.serves = serves
        self.heard: list[Any] = []

    @property
    def protocols(self) -> tuple[str, ...]:
        return self.serves

    def seek(self, topic: str, lacking: int, now: float) -> bool:
        self.heard.append(("seek", topic, lacking, now))
        return self.able

    def join(self, topic: str, now: float) -> None:
        self.heard.append(("join", topic))

    def leave(self, topic: str, now: float) -> None:
        self.heard.append(("leave", topic))

    def unreached(self, peer: str, reason: str, now: float) -> None:
        self.heard.append(("unreached", peer, reason))

    def asked(self, question: Asked, now: float) -> None:
        raise RemoteProtocolError("nonsense", "as I said")

    def answered(self, answer: Answered, now: float) -> None:
        if answer.message == b"nonsense":
            raise RemoteProtocolError("nonsense", "as I said")
        self.heard.append(answer)

    def unanswered(self, answer: Unanswered, now: float) -> None:
        self.heard.append(answer)

    def datagram(self, datagram: DatagramReceived, now: float) -> None:
        raise RemoteProtocolError("nonsense", "as I said")

    def seeks(self) -> list[float]:
        return [each[3] for each in self.heard if each[0] == "seek"]


class Bench:
    """Discovery with one way, by hand."""

    def __init__(self, town: Town | None = None, way: Notes | None = None, **more: Any) -> None:
        self.town = town or Town(weather=0)
        self.way = way or Notes()
        self.now = 100.0
        self.effects: list[Any] = []
        self.machine = Discovery(
            node=ALICE,
            ways=[self.way],
            census=self.town,
            random=random.Random(1),
            parameters=DiscoveryParameters(**more),
        )

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

    def find(self, peer: str = BOB, addresses: tuple[str, ...] = (ADDRESS,), **more: Any) -> bool:
        more.setdefault("topic", "weather")
        self.effects += self.machine.wake(self.now)
        found = self.machine.found(self.way, peer, addresses, **more)
        self.effects += self.machine._take()
        return found

    def traced(self, event: str) -> list[TraceEvent]:
        return [
            each for each in self.effects if isinstance(each, TraceEvent) and each.event == event
        ]


def joined(town: Town | None = None, way: Notes | None = None, **more: Any) -> Bench:
    bench = Bench(town, way, **more)
    bench.feed(TopicsChanged())
    bench.run(0.0)
    return bench


# ---- when


def test_a_topic_that_lacks_peers_is_looked_for_at_once_and_ever_more_seldom() -> None:
    bench = joined(discovery_jitter=0.0, discovery_first_delay=2.0, discovery_longest_delay=30.0)
    bench.run(120.0)
    assert bench.way.heard[:2] == [("join", "weather"), ("seek", "weather", 6, 100.0)]
    seeks = bench.way.seeks()
    gaps = [after - before for before, after in itertools.pairwise(seeks)]
    assert gaps == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    asked = bench.traced(events.DISCOVERY_ASKED)
    assert len(asked) == len(seeks)
    assert asked[0].topic == "weather" and asked[0].fields == {"way": "notes", "lacking": 6}


def test_a_topic_with_enough_peers_is_never_looked_for() -> None:
    bench = joined(Town(weather=6))
    bench.run(1000.0)
    assert bench.way.seeks() == []


def test_a_mesh_that_stays_short_though_there_are_peers_is_a_reason_to_look_for_others() -> None:
    """All that are there may have full meshes."""
    bench = joined(Town(weather=8))
    bench.town.short = 4
    bench.run(1.5)
    assert bench.way.seeks() == [], "it may be about to form"
    assert not bench.machine.plenty()
    bench.run(3.0)
    assert bench.way.heard[-1][:3] == ("seek", "weather", 4) and bench.find()
    bench.town.counts["weather"] = 24
    assert not bench.find(CAROL), "more of them would not help either"
    bench.town.short = 0
    assert bench.machine.plenty()


def test_looking_begins_anew_when_peers_are_lost() -> None:
    bench = joined(discovery_jitter=0.0)
    bench.run(60.0)
    bench.town.counts["weather"] = 6
    bench.run(10.0)
    before = len(bench.way.seeks())
    bench.town.counts["weather"] = 5
    bench.feed(PeerConnected(BOB, ADDRESS))
    bench.feed(PeerDisconnected(BOB))
    bench.run(0.0)
    assert len(bench.way.seeks()) == before + 1, "at once"
    bench.run(1.0)
    assert len(bench.way.seeks()) == before + 2, "and soon again"


def test_while_no_way_can_begin_it_is_tried_without_growing_delays() -> None:
    bench = joined(way=Notes(able=False), discovery_jitter=0.0)
    bench.run(10.0)
    assert len(bench.way.seeks()) == 11
    assert bench.traced(events.DISCOVERY_ASKED) == [], "nobody was asked"
    bench.way.able = True
    bench.machine.hurry()
    bench.run(0.0)
    assert len(bench.way.seeks()) == 12


def test_topics_that_are_left_are_not_looked_for() -> None:
    bench = joined()
    del bench.town.counts["weather"]
    bench.feed(TopicsChanged())
    bench.run(100.0)
    assert bench.way.heard[-1] == ("leave", "weather")
    assert bench.machine.next_wake() is None, "without a topic there is nothing to wake up for"


def test_a_topic_that_is_only_published_on_is_looked_for_while_it_is_waited_for() -> None:
    """Nobody is told that we take part in it."""
    bench = Bench(Town(), discovery_jitter=0.0)
    bench.town.published = {"weather": 0}
    bench.feed(PeersWanted(("weather",), 10.0))
    bench.run(9.0)
    assert [each[0] for each in bench.way.heard] == ["seek"] * 4
    assert bench.find()
    bench.run(100.0)
    assert len(bench.way.heard) == 4 and not bench.find(CAROL)
    assert bench.machine.next_wake() is None


def test_topics_that_are_only_published_on_are_bounded_and_can_be_joined() -> None:
    bench = Bench(Town())
    names = tuple(f"topic {number}" for number in range(300))
    bench.town.published = dict.fromkeys((*names, "weather"), 0)
    bench.feed(PeersWanted((*names, "weather"), 10.0))
    assert bench.machine.sizes()["discovery_topics"] == MOST_PASSING
    bench.town.counts["weather"] = 0
    bench.run(20.0)
    assert ("join", "weather") in bench.way.heard
    assert list(bench.machine.topics) == ["weather"]


def test_two_nodes_of_equal_seed_look_at_equal_times() -> None:
    assert joined().way.seeks() == joined().way.seeks()


# ---- whom


def test_a_peer_that_is_found_is_dialed_and_traced_when_it_comes() -> None:
    bench = joined()
    assert bench.find(told_by=CAROL)
    assert Connect(BOB, (ADDRESS,)) in bench.effects
    [found] = bench.traced(events.DISCOVERY_FOUND)
    assert (found.peer, found.topic) == (BOB, "weather")
    assert found.fields == {"way": "notes", "addresses": 1, "told_by": CAROL}
    assert not bench.find(), "it is being dialed already"
    bench.feed(PeerConnected(BOB, ADDRESS, True))
    [came] = bench.traced(events.DISCOVERY_CONNECTED)
    assert came.peer == BOB and came.fields == {"way": "notes"}
    assert not bench.find() and len(bench.traced(events.DISCOVERY_FOUND)) == 1


@pytest.mark.parametrize(
    ("peers", "addresses", "reason"),
    [(0, (), "no_address"), (6, (ADDRESS,), "enough_peers")],
)
def test_a_peer_of_no_use_is_refused(peers: int, addresses: tuple[str, ...], reason: str) -> None:
    bench = joined(Town(weather=peers))
    assert not bench.find(addresses=addresses)
    [refused] = bench.traced(events.DISCOVERY_REFUSED)
    assert refused.fields == {"way": "notes", "reason": reason}
    assert Connect not in map(type, bench.effects)


def test_we_do_not_dial_ourselves() -> None:
    bench = joined()
    assert not bench.find(ALICE) and not bench.traced(events.DISCOVERY_FOUND)


def test_whom_the_user_named_is_dialed_though_there_are_enough() -> None:
    bench = joined(Town(weather=6))
    assert bench.find(trusted=True)
    assert Connect(BOB, (ADDRESS,), True) in bench.effects


def test_without_a_topic_a_peer_is_dialed_while_anything_is_lacking() -> None:
    bench = joined(Town(weather=6))
    assert bench.find(topic=None), "we have no peers at all"
    bench.feed(PeerConnected(BOB, ADDRESS))
    assert not bench.find(CAROL, topic=None)
    bench.town.counts["weather"] = 5
    assert bench.find(CAROL, topic=None)


def test_a_peer_that_could_not_be_reached_rests_ever_longer() -> None:
    bench = joined()
    for failures in range(4):
        assert bench.find()
        bench.feed(PeerUnreached(BOB, "refused"))
        bench.now += FIRST_REST * 2.0**failures * 0.74
        assert not bench.find()
        bench.now += FIRST_REST * 2.0**failures * 0.6  # a quarter of it is chance
    assert bench.find()
    assert len(bench.traced(events.DISCOVERY_FAILED)) == 4
    assert ("unreached", BOB, "refused") in bench.way.heard


def test_memory_of_peers_that_were_found_is_bounded() -> None:
    bench = joined()
    for number in range(MOST_DIALED + 10):
        bench.find(f"peer {number}")
    assert bench.traced(events.DISCOVERY_REFUSED)[-1].fields["reason"] == "too_many_dials"
    for number in range(MOST_FAILED + 100):
        bench.find(f"peer {number}")
        bench.feed(PeerUnreached(f"peer {number}", "refused"))
    sizes = bench.machine.sizes()
    assert sizes["discovery_dialed"] <= MOST_DIALED
    assert sizes["discovery_failed"] <= MOST_FAILED


# ---- questions and answers


def test_answers_come_back_to_the_way_that_asked() -> None:
    bench = Bench()
    request = bench.machine.ask(bench.way, BOB, ("/echo",), b"hello")
    [ask] = bench.machine._take()
    assert ask == Ask(request, BOB, ("/echo",), b"hello")
    bench.feed(Answered(request, BOB, b"hi"))
    bench.feed(Answered(request, BOB, b"twice"))
    bench.feed(Unanswered(77, BOB, "unknown"))
    assert bench.way.heard == [Answered(request, BOB, b"hi")]


def test_an_answer_that_makes_no_sense_is_traced_and_counts_as_none() -> None:
    bench = Bench()
    request = bench.machine.ask(bench.way, BOB, ("/echo",), b"hello")
    bench.feed(Answered(request, BOB, b"nonsense"))
    assert bench.way.heard == [Unanswered(request, BOB, "nonsense")]
    [error] = bench.traced(PROTOCOL_ERROR)
    assert error.peer == BOB and error.fields["reason"] == "nonsense"


def test_a_question_that_makes_no_sense_is_refused() -> None:
    bench = Bench(way=Notes(serves=("/echo",)))
    assert bench.machine.protocols == ("/echo",)
    assert bench.feed(Asked(3, BOB, "/echo", b"?")) == [Refuse(3, "nonsense", "as I said")]


def test_two_ways_cannot_serve_one_protocol() -> None:
    ways = [Notes(serves=("/echo",)), Notes(serves=("/echo",))]
    with pytest.raises(LocalProtocolError, match="/echo"):
        Discovery(node=ALICE, ways=ways, census=Town(), random=random.Random(1))


def test_datagrams_go_to_their_way_and_from_it() -> None:
    bench = Bench()
    bench.feed(DatagramReceived("notes", "192.0.2.1:5353", b"?"))
    [error] = bench.traced(PROTOCOL_ERROR)
    assert error.peer is None and error.fields["reason"] == "nonsense"
    bench.machine.send_datagram(bench.way, "", b"!")
    assert bench.machine._take() == [SendDatagram("notes", "", b"!")]
    with pytest.raises(LocalProtocolError, match="carrier pigeon"):
        bench.feed(DatagramReceived("carrier pigeon", "", b""))


# ---- addresses


@pytest.mark.parametrize(
    ("near", "only_public", "kept"),
    [
        (Reach.LOOPBACK, False, "lpw"),
        (Reach.PRIVATE, False, "pw"),
        (Reach.PUBLIC, False, "w"),
        (Reach.LOOPBACK, True, "w"),
    ],
)
def test_addresses_are_for_those_who_are_near_enough(
    near: Reach, only_public: bool, kept: str
) -> None:
    all_of_them = {
        "l": "/ip4/127.0.0.1/tcp/1",
        "p": "/ip4/10.0.0.1/tcp/1",
        "w": "/ip4/8.8.8.8/tcp/1",
        "n": "/ip4/0.0.0.0/tcp/1",
    }
    found = usable(BOB, all_of_them.values(), near=near, only_public=only_public)
    assert found == tuple(all_of_them[each] for each in kept)


def test_addresses_of_others_doubles_and_too_many_are_left_out() -> None:
    place = "/ip4/8.8.8.8/tcp/{}"
    given = [place.format(1), f"{place.format(1)}/p2p/{BOB}", f"{place.format(2)}/p2p/{CAROL}"]
    given += ["nonsense", *(place.format(number) for number in range(3, 99))]
    found = usable(BOB, given, near=Reach.PUBLIC, only_public=False)
    assert found[:2] == (place.format(1), place.format(3)) and len(found) == MOST_ADDRESSES


def test_what_a_peer_says_of_itself_is_kept_while_it_is_connected() -> None:
    bench = Bench()
    bench.feed(OwnAddresses((ADDRESS,), b"record"))
    assert (bench.machine.addresses, bench.machine.record) == ((ADDRESS,), b"record")
    bench.feed(PeerIdentified(BOB, ("/echo",), (ADDRESS,)))
    assert not bench.machine.acquaintances, "it is not connected"
    bench.feed(PeerConnected(BOB, "/ip4/10.0.0.9/tcp/5"))
    bench.feed(PeerIdentified(BOB, ("/echo",), (ADDRESS, "/ip4/127.0.0.1/tcp/1")))
    acquaintance = bench.machine.acquaintances[BOB]
    assert (acquaintance.protocols, acquaintance.addresses) == (("/echo",), (ADDRESS,))
    bench.feed(PeerDisconnected(BOB))
    assert not bench.machine.acquaintances


def test_a_wrong_setting_names_its_key() -> None:
    with pytest.raises(ConfigError, match="discovery_first_delay"):
        DiscoveryParameters(discovery_first_delay=100.0)
    with pytest.raises(ConfigError, match=r"discovery\.0"):
        DiscoveryParameters(discovery="telepathy")  # type: ignore[arg-type]
