"""Networks of nodes over TCP: lines, rings, stars and any graph; nodes crash, lines break."""

from __future__ import annotations

from random import Random

import pytest

from rumormill.core.machine import Shutdown
from rumormill.ndn.routing.events import LEFT_ALONE
from rumormill.ndn.wire.name import name_from_uri
from rumormill.simulate.topology import Pairs, line, random_dials, random_regular, ring, star
from tests.helpers.ndn.nodes import Country

NAMES = [f"n{number}" for number in range(12)]
TOPOLOGIES: dict[str, Pairs] = {
    "line": line(NAMES),
    "ring": ring(NAMES),
    "star": star(NAMES),
    "regular": random_regular(NAMES, 3, Random(7)),
    "random": random_dials(NAMES, 2, Random(7)),
}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_subscriber_is_found_over_any_number_of_hops(topology: str) -> None:
    country = Country(NAMES, TOPOLOGIES[topology])
    for number, name in enumerate(NAMES):
        country.subscribe(f"/topic/{number}", name)
    country.run(10.0)
    tokens = [
        country.publish(publisher, f"/topic/{number}", publisher.encode())
        for publisher in NAMES
        for number, name in enumerate(NAMES)
        if name != publisher
    ]
    country.run(5.0)
    assert [country.outcome(token) for token in tokens] == ["delivered"] * len(tokens)
    for name in NAMES:
        assert sorted(country.got(name)) == sorted(n.encode() for n in NAMES if n != name)


def test_the_nearest_subscriber_gets_a_message() -> None:
    country = Country("abcdefg", line("abcdefg"))
    country.subscribe("/weather", "a", "g")
    country.run(5.0)
    for name in "bcef":
        country.publish(name, "/weather", name.encode())
    country.run(5.0)
    assert (country.got("a"), country.got("g")) == ([b"b", b"c"], [b"f", b"e"])
    assert country.outcomes() == {"delivered": 4}


def test_what_an_application_publishes_goes_to_others_though_it_is_subscribed_itself() -> None:
    country = Country("ab", line("ab"))
    country.subscribe("/weather", "a", "b")
    country.run(1.0)
    country.publish("a", "/weather")
    country.run(5.0)
    assert (len(country.got("a")), len(country.got("b"))) == (0, 1)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_with_multicast_all_subscribers_get_every_message_once(topology: str) -> None:
    country = Country(NAMES, TOPOLOGIES[topology], strategy="multicast")
    subscribers = NAMES[::3]
    country.subscribe("/weather", *subscribers)
    country.run(10.0)
    messages = [f"{name} {number}".encode() for name in NAMES for number in range(5)]
    for message in messages:
        country.publish(message.split()[0].decode(), "/weather", message)
        country.run(0.05)
    country.run(10.0)
    for name in subscribers:
        others = [message for message in messages if message.split()[0].decode() != name]
        assert sorted(country.got(name)) == sorted(others)
    assert country.outcomes() == {"delivered": len(messages)}


def test_a_strategy_may_be_for_some_topics_alone() -> None:
    country = Country("abc", star("abc"), strategies=((name_from_uri("/all"), "multicast"),))
    country.subscribe("/all/news", "b", "c")
    country.subscribe("/one/news", "b", "c")
    country.run(5.0)
    country.publish("a", "/all/news", b"all")
    country.publish("a", "/one/news", b"one")
    country.run(5.0)
    got = sorted(country.got("b") + country.got("c"))
    assert got == [b"all", b"all", b"one"]


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_without_a_subscriber_the_publisher_knows_at_once(topology: str) -> None:
    country = Country(NAMES, TOPOLOGIES[topology])
    country.subscribe("/weather", "n11")
    country.run(10.0)
    assert country["n0"].subscribers("/weather")
    country.unsubscribe("/weather", "n11")
    country.run(2.0)
    assert all(country[name].subscribers("/weather") == () for name in NAMES)
    token = country.publish("n0", "/weather")
    country.run(0.1)
    assert country.outcome(token) == "no_subscriber"


# ---- what breaks


def test_when_a_node_of_a_ring_crashes_messages_go_the_other_way() -> None:
    country = Country("abcdef", ring("abcdef"))
    country.subscribe("/weather", "c")
    country.run(5.0)
    assert country.outcome(country.publish("a", "/weather", b"1")) == ""
    country.run(1.0)
    country.simulation.crash("b")
    country.run(5.0)
    token = country.publish("a", "/weather", b"2")
    country.run(2.0)
    assert (country.outcome(token), country.got("c")) == ("delivered", [b"1", b"2"])
    country.restart("b")
    country.run(10.0)
    token = country.publish("b", "/weather", b"3")
    country.run(2.0)
    assert (country.outcome(token), country.got("c")) == ("delivered", [b"1", b"2", b"3"])


def test_a_node_that_vanishes_without_a_word_is_gone_round_after_three_hellos() -> None:
    country = Country("abcdef", ring("abcdef"))
    country.subscribe("/weather", "c")
    country.run(5.0)
    country.simulation.crash("b", silent=True)
    country.run(18.0)
    token = country.publish("a", "/weather", b"2")
    country.run(5.0)
    assert (country.outcome(token), country.got("c")) == ("delivered", [b"2"])


def test_a_subscriber_that_restarts_is_found_again() -> None:
    country = Country("abcd", line("abcd"))
    country.subscribe("/weather", "d")
    country.run(5.0)
    country.simulation.crash("d")
    country.run(2.0)
    assert country["a"].subscribers("/weather") == ()
    country.restart("d")
    country.subscribe("/weather", "d")
    country.run(15.0)
    token = country.publish("a", "/weather")
    country.run(2.0)
    assert country.outcome(token) == "delivered"


def test_another_subscriber_takes_over_when_the_nearest_dies() -> None:
    country = Country("abcde", line("abcde"))
    country.subscribe("/weather", "a", "e")
    country.run(5.0)
    country.publish("b", "/weather", b"1")
    country.run(1.0)
    country.simulation.crash("a")
    country.run(2.0)
    country.publish("b", "/weather", b"2")
    country.run(5.0)
    assert (country.got("a"), country.got("e")) == ([b"1"], [b"2"])


def test_a_partition_heals() -> None:
    country = Country("abcdef", ring("abcdef"))
    country.subscribe("/weather", "f")
    country.run(5.0)
    country.simulation.partition(["abc", "def"])
    country.run(60.0)
    token = country.publish("b", "/weather", b"lost")
    country.run(5.0)
    assert country.outcome(token) == "no_subscriber"
    assert country["e"].subscribers("/weather")
    country.simulation.heal()
    country.run(120.0)
    token = country.publish("b", "/weather", b"found")
    country.run(5.0)
    assert (country.outcome(token), country.got("f")) == ("delivered", [b"found"])


def test_who_shuts_down_is_forgotten_at_once() -> None:
    country = Country("abcd", line("abcd"))
    country.subscribe("/weather", "d")
    country.run(5.0)
    country.simulation.command("d", Shutdown())
    country.run(0.5)
    assert all(country[name].subscribers("/weather") == () for name in "abcd")
    country.run(5.0)
    assert country["d"].peers == ()
    sizes = country["d"].sizes()
    kept = {"dead_nonces", "face_accounts", "strategies", "names"}
    assert {key for key, size in sizes.items() if size} <= kept, sizes


# ---- who is a neighbour


def test_two_that_dial_each_other_have_two_faces_and_deliver_once() -> None:
    country = Country("ab", [("a", "b"), ("b", "a")], strategy="multicast")
    country.subscribe("/weather", "b")
    country.run(5.0)
    assert len(country["a"].peers) == 2
    for number in range(10):
        country.publish("a", "/weather", b"%d" % number)
    country.run(5.0)
    assert sorted(country.got("b")) == sorted(b"%d" % number for number in range(10))


def test_a_forwarder_that_speaks_no_routing_is_left_alone_and_reached_by_hand() -> None:
    country = Country(
        "abc",
        own_keys={
            "a": {"routes": ("/weather=tcp://10.0.0.2:6363,3",)},
            "b": {"announce": False, "routes": ("/weather=tcp://10.0.0.3", "/a=tcp://10.0.0.1")},
            "c": {"routes": ("/a=tcp://10.0.0.2:6363",)},
        },
    )
    # Other addresses than the port that is usual must be spelled out.
    country.subscribe("/weather", "c")
    country.run(5.0)
    assert country["a"].peers == ("tcp://10.0.0.2:6363",)
    left = [each for each in country.simulation.trace if each.event == LEFT_ALONE]
    assert sorted((each.node, each.fields["reason"]) for each in left) == [
        ("/a", "nack"),
        ("/c", "nack"),
    ]
    token = country.publish("a", "/weather")
    country.run(2.0)
    assert (country.outcome(token), len(country.got("c"))) == ("delivered", 1)


def test_a_route_by_hand_stands_while_its_face_is_there_and_comes_again() -> None:
    country = Country(
        "ab",
        announce=False,
        own_keys={
            "a": {"routes": "/weather=tcp://10.0.0.2:6363"},
            "b": {"routes": "/a=tcp://10.0.0.1:6363"},
        },
    )
    country.subscribe("/weather", "b")
    country.run(5.0)
    assert country["a"].subscribers("/weather") == ("tcp://10.0.0.2:6363",)
    country.simulation.crash("b")
    country.run(1.0)
    assert country["a"].subscribers("/weather") == ()
    country.restart("b")
    country.subscribe("/weather", "b")
    country.run(15.0)
    token = country.publish("a", "/weather")
    country.run(2.0)
    assert country.outcome(token) == "delivered"


# ---- the trace


def test_it_is_traced_who_subscribes_to_what_by_the_names_of_nodes() -> None:
    country = Country("abc", line("abc"))
    country.subscribe("/weather", "c")
    country.run(5.0)
    country.unsubscribe("/weather", "c")
    country.run(5.0)
    events = [
        (each.node, each.event, each.topic, each.peer)
        for each in country.simulation.trace
        if each.event.startswith("peer_") and each.event.endswith("subscribed")
    ]
    assert sorted(events) == [
        (node, event, "/weather", "/c")
        for node in ("/a", "/b")
        for event in ("peer_subscribed", "peer_unsubscribed")
    ]


@pytest.mark.parametrize("topology", ["regular", "random"])
def test_equal_seeds_give_equal_traces(topology: str) -> None:
    lines = []
    for _ in range(2):
        country = Country(NAMES, TOPOLOGIES[topology], seed=7, strategy="multicast")
        country.subscribe("/weather", "n3", "n7")
        country.run(3.0)
        country.simulation.crash("n5")
        country.publish("n0", "/weather")
        country.run(5.0)
        country.restart("n5")
        country.publish("n5", "/weather")
        country.run(10.0)
        lines.append(list(country.simulation.trace_lines()))
    assert len(lines[0]) > 500
    assert lines[0] == lines[1]
