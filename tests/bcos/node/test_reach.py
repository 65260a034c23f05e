"""Reach beyond neighbours: routes, carried packets, and what happens when the net changes."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bcos.effects import Multicast, Unicast, UnicastEnded
from rumormill.bcos.node.reach import MOST_DESTINATIONS, MOST_HOPS, MOST_ROUTES
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket, decode_p2p
from rumormill.bcos.wire.routed import (
    MOST_IN_PACKET,
    ROUTED_MODULE,
    Carried,
    Route,
    RoutedType,
    decode_routes,
    encode_carried,
    encode_routes,
)
from rumormill.core import trace
from rumormill.core.machine import Deliver, Unsubscribe
from rumormill.core.transport import CloseTransport, RestTransport, TransportOpened, WriteBytes
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Nodes, Stranger, id_of, packets_of


def line(names: str = "abcde", **parameters: Any) -> Nodes:
    network = Nodes()
    network.start(names, multi_hop=True, **parameters)
    network.line(names)
    network.subscribe(names[-1], "news")
    network.run_accepting(2.0)
    return network


def unicast(network: Nodes, name: str, topic: str = "news", seconds: float = 2.0) -> UnicastEnded:
    before = len(network.of(name, UnicastEnded))
    network.feed(name, Unicast(1, topic, b"question", 60.0))
    network.run_accepting(seconds)
    ended = network.of(name, UnicastEnded)
    assert len(ended) == before + 1
    return ended[-1]


def test_a_unicast_and_its_answer_go_along_a_line_of_five() -> None:
    network = line()
    assert network.holders("a", "news") == "e"
    ended = unicast(network, "a")
    assert (ended.result, ended.node) == (0, id_of("e"))
    assert [message.message.data for message in network.of("e", Deliver)] == [b"question"]
    (delivered,) = network.of("e", Deliver)
    assert delivered.message.received_from == id_of("a")


def test_a_multicast_goes_along_a_line_of_five() -> None:
    network = line()
    network.subscribe("c", "news")
    network.run_accepting(1.0)
    network.feed("a", Multicast(1, "news", b"hello", 5.0))
    network.run_accepting(1.0)
    counts = {name: len(network.of(name, Deliver)) for name in "bcde"}
    assert counts == {"b": 0, "c": 1, "d": 0, "e": 1}


def test_a_change_of_topics_far_away_is_heard_and_takes_few_bytes() -> None:
    network = line()
    network.own("e", (f"topic-{number}" for number in range(1000)))
    network.run_accepting(2.0)
    assert network.holders("a", "topic-7") == "e"
    network.sent.clear()
    network.feed("e", Unsubscribe("news"))
    network.run_accepting(2.0)
    assert network.holders("a", "news") == ""
    assert network.holders("a", "topic-7") == "e"
    assert max(len(sent.raw) for sent in network.sent) < 300


def test_nothing_is_further_than_the_limit() -> None:
    names = "abcdefghijk"
    network = line(names)
    network.run_accepting(3.0)
    assert network.holders(names[-1 - MOST_HOPS], "news") == "k"
    assert network.holders(names[-2 - MOST_HOPS], "news") == ""


def test_a_node_without_the_setting_hears_one_word_of_it_and_speaks_as_ever() -> None:
    network = Nodes()
    network.start("a", multi_hop=True)
    network.start("b")
    network.start("c", multi_hop=True)
    network.line("abc")
    network.subscribe("c", "news")
    network.run_accepting(30.0)
    routed = [packet for packet in network.written("a", "b") if packet.protocol == ROUTED_MODULE]
    assert routed == [P2PPacket(ROUTED_MODULE, RoutedType.HELLO, 0)]
    assert network.holders("a", "news") == ""
    assert network.holders("b", "news") == "c"


def test_a_partition_ends_what_is_beyond_it_and_its_healing_brings_it_back() -> None:
    network = line()
    network.sever("c", "d", for_good=True)
    network.run_accepting(3.0)
    assert [network.holders(name, "news") for name in "abcd"] == ["", "", "", "e"]
    assert unicast(network, "a").result == 100
    assert network.node("a").sizes()["reach_ways"] == 1
    network.cut.clear()
    network.run_accepting(15.0)
    assert [network.holders(name, "news") for name in "abcd"] == ["e"] * 4
    assert unicast(network, "a").result == 0


def test_a_lost_link_of_a_ring_is_gone_round() -> None:
    network = Nodes()
    network.start("abcdef", multi_hop=True)
    network.line("abcdefa")
    network.subscribe("f", "news")
    network.run_accepting(2.0)
    assert unicast(network, "a").result == 0
    network.sever("a", "f", for_good=True)
    network.run_accepting(2.0)
    assert network.linked("a") == "b"
    assert network.holders("a", "news") == "f"
    assert unicast(network, "a").result == 0


def test_when_a_node_of_a_ring_dies_nobody_reaches_it_and_nothing_goes_round() -> None:
    network = Nodes()
    network.start("abcde", multi_hop=True)
    network.line("abcdea")
    network.subscribe("e", "news")
    network.run_accepting(2.0)
    network.remove("e")
    network.run_accepting(10.0)
    assert [network.holders(name, "news") for name in "abcd"] == [""] * 4
    network.sent.clear()
    network.run_accepting(4.0)
    assert [sent for sent in network.sent if sent.p2p.protocol == ROUTED_MODULE] == []


def test_a_node_that_comes_back_with_other_topics_is_known_by_them() -> None:
    network = line()
    for topic in ("x", "y", "z"):
        network.subscribe("e", topic)
    network.run_accepting(2.0)
    network.remove("e")
    network.start("e", multi_hop=True)
    network.subscribe("e", "fresh")
    network.run_accepting(15.0)
    assert network.holders("a", "fresh") == "e"
    assert network.holders("a", "news") == ""


def test_a_question_ends_when_the_way_is_lost() -> None:
    network = line()
    heard: list[tuple[bytes | None, str]] = []
    peers = network.node("a").peers
    network.silent.add(("d", "e"))
    peers.ask(id_of("e"), 0, b"question", 30.0, lambda *answer: heard.append(answer))
    network.sever("d", "e", for_good=True)
    network.run_accepting(3.0)
    assert heard == [(None, "left")]


def test_a_question_ends_with_the_link_though_there_is_another_way() -> None:
    network = Nodes()
    network.start("abc", multi_hop=True)
    network.mesh("abc")
    network.run_accepting(1.0)
    heard: list[tuple[bytes | None, str]] = []
    network.silent.add(("a", "c"))
    peers = network.node("a").peers
    peers.ask(id_of("c"), 0, b"question", 30.0, lambda *answer: heard.append(answer))
    network.sever("a", "c", for_good=True)
    assert heard == [(None, "left")]
    assert id_of("c") in peers.connected()


# ---- strangers


def routes(*each: Route) -> P2PPacket:
    return P2PPacket(ROUTED_MODULE, RoutedType.ROUTES, 0, encode_routes(each))


def carried(source: str, destination: str, hops_left: int = 8) -> P2PPacket:
    inner = P2PPacket(Module.TOPIC, 2, 7)
    payload = encode_carried(Carried(hops_left, source, destination, inner))
    return P2PPacket(ROUTED_MODULE, RoutedType.CARRIED, 0, payload)


HELLO = P2PPacket(ROUTED_MODULE, RoutedType.HELLO, 0)


def speaking() -> Stranger:
    stranger = Stranger(multi_hop=True)
    stranger.say(HELLO)
    return stranger


def reasons(effects: list[Any], kind: str = trace.DROPPED) -> list[Any]:
    events = [e for e in effects if isinstance(e, trace.TraceEvent) and e.event == kind]
    return [event.fields["reason"] for event in events]


def test_nobody_speaks_for_a_node_that_it_has_not_said_it_reaches() -> None:
    stranger = speaking()
    assert reasons(stranger.say(carried(id_of("q"), id_of("a")))) == ["no_way_back"]
    assert reasons(stranger.say(carried(id_of("a"), id_of("a")))) == ["no_way_back"]
    stranger.say(routes(Route(id_of("q"), 1, 0)))
    (answer,) = packets_of(stranger.say(carried(id_of("q"), id_of("a"))))
    assert (answer.protocol, answer.type) == (ROUTED_MODULE, RoutedType.CARRIED)


def test_what_has_no_hops_left_and_what_would_go_back_is_dropped() -> None:
    stranger = speaking()
    stranger.feed(TransportOpened(2, "y:1", None, "", credentials_of(25)))
    stranger.connection = 2
    stranger.say(HELLO)
    stranger.connection = 1
    assert reasons(stranger.say(carried(id_of("z"), id_of("y"), 1))) == ["too_far"]
    assert reasons(stranger.say(carried(id_of("z"), id_of("z"), 8))) == ["no_way"]
    assert reasons(stranger.say(carried(id_of("z"), id_of("x"), 8))) == ["no_way"]
    effects = stranger.say(carried(id_of("z"), id_of("y"), 2))
    assert len(packets_of(effects)) == 1


def test_nobody_is_told_of_a_way_that_leads_back_to_it_or_is_too_long() -> None:
    stranger = speaking()
    stranger.feed(TransportOpened(2, "y:1", None, "", credentials_of(25)))
    stranger.connection = 2
    stranger.say(HELLO)
    stranger.connection = 1
    far = Route(id_of("r"), MOST_HOPS - 1, 3)
    stranger.say(routes(Route(id_of("q"), 1, 5), far))
    told: dict[int, list[Route]] = {1: [], 2: []}
    for effect in stranger.wait(0.2):
        if isinstance(effect, WriteBytes):
            packet = decode_p2p(effect.data)
            if (packet.protocol, packet.type) == (ROUTED_MODULE, RoutedType.ROUTES):
                told[effect.connection] += decode_routes(packet.payload)
    assert told[1] == [Route(id_of("y"), 1, 0)]
    assert told[2] == [Route(id_of("z"), 1, 0), Route(id_of("q"), 2, 5)]


@pytest.mark.parametrize("hops", [0, MOST_HOPS, 255])
def test_routes_that_are_too_long_are_none(hops: int) -> None:
    stranger = speaking()
    stranger.say(routes(Route(id_of("q"), hops, 5)))
    assert stranger.machine.sizes()["reach_ways"] == 0


def test_routes_to_us_and_to_its_sender_are_left_out() -> None:
    stranger = speaking()
    stranger.say(routes(Route(id_of("a"), 1, 5), Route(id_of("z"), 1, 5)))
    assert stranger.machine.sizes()["reach_ways"] == 0


def test_routes_before_a_hello_are_an_error() -> None:
    stranger = Stranger(multi_hop=True)
    effects = stranger.say(routes(Route(id_of("q"), 1, 5)))
    assert reasons(effects, trace.PROTOCOL_ERROR) == ["no_hello"]


def test_routes_are_bounded() -> None:
    assert MOST_ROUTES < MOST_DESTINATIONS
    stranger = speaking()
    ids = [f"{number:0128x}" for number in range(1, 2 * MOST_ROUTES)]
    each = [Route(name, 1, 0) for name in ids]
    stranger.say(routes(*each[:MOST_IN_PACKET]))
    effects = stranger.say(routes(*each[MOST_IN_PACKET:]))
    assert "too_many" in reasons(effects)
    sizes = stranger.machine.sizes()
    assert sizes["reach_ways"] <= MOST_ROUTES
    assert sizes["topic_states"] <= MOST_ROUTES + 1
    assert sizes["reach_told"] <= 2 * MOST_ROUTES


def test_routes_that_change_without_end_are_held_back_and_dropped_at_last() -> None:
    stranger = speaking()
    flapping = [routes(Route(id_of("q"), 1, 1)), routes(Route(id_of("q"), 0, 0))] * 100
    for _ in range(400):
        for effect in stranger.say(*flapping):
            if isinstance(effect, CloseTransport):
                assert effect.reason == "too_much_work"
                assert stranger.machine.sizes()["reach_ways"] == 0
                return
            if isinstance(effect, RestTransport):
                stranger.wait(effect.seconds)
    raise AssertionError("it goes on for ever")
