"""Where to begin: names that are looked up, several addresses for one, and what became of them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rumormill.bep50.effects import Bootstrap, NameResolved, Reached, ResolveName
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Subscribe, Unsubscribe
from rumormill.core.transport import Listening
from tests.helpers.bep50.machine_network import LATE, MachineNetwork
from tests.helpers.bep50.overlay_network import OTHER_TOPIC, TOPIC, value_of

SIX = "[2001:db8::1]:6881"


def asked(network: MachineNetwork, address: str) -> set[str]:
    """Whom a node has sent anything."""
    return {target for _, source, target, _ in network.packets if source == address}


# ---- bootstrap


def test_addresses_are_used_in_their_usual_form_and_our_own_is_nobody() -> None:
    network = MachineNetwork()
    six = network.start("[2001:db8::7]:6881")
    network.feed(six, Bootstrap(("[2001:db8:0::1]:6881", six)))
    assert asked(network, six) == {SIX}


def test_whom_the_user_gave_is_a_member_soon() -> None:
    network = MachineNetwork()
    hub, other = network.start(), network.start()
    network.feed(other, Bootstrap((hub,)))
    network.run(1.0)
    assert network.machine(other).subscribers(TOPIC.text) == (hub,)


def test_a_name_is_looked_up_until_it_is_found_more_and_more_seldom() -> None:
    network = MachineNetwork()
    node = network.start()
    network.feed(node, Bootstrap(("hub.example:6881",)))
    begun = network.now
    lookups: list[float] = []
    while len(lookups) < 9:
        network.run(0.05)
        lookups += [network.now - begun] * (len(network.of_type(node, ResolveName)) - len(lookups))
    gaps = [round(later - earlier) for earlier, later in pairwise(lookups)]
    assert gaps == [1, 2, 4, 8, 16, 32, 60, 60]
    failures = network.events(node, "connection_failed")
    assert failures[0].fields["reason"] == "name_not_found"
    network.names["hub.example"] = ("10.0.9.9",)
    network.run(70.0)
    assert asked(network, node) == {"10.0.9.9:6881"}
    count = len(network.of_type(node, ResolveName))
    network.run(300.0)
    assert len(network.of_type(node, ResolveName)) == count
    assert network.machine(node).sizes()["names"] == 0


def test_a_node_with_ipv4_alone_joins_by_a_name_that_is_ipv6_first() -> None:
    network = MachineNetwork()
    hub, node = network.start(), network.start()
    network.names["hub.example"] = ("[2001:db8::1]", hub.rsplit(":", 1)[0])
    network.feed(node, Bootstrap(("hub.example:6881",)))
    network.run(1.0)
    assert network.machine(node).subscribers(TOPIC.text) == (hub,)
    assert asked(network, node) == {hub}, "there is no socket for the other"


def test_every_address_of_a_name_is_tried_and_one_that_answers_is_enough() -> None:
    network = MachineNetwork()
    hub, node = network.start(), network.start()
    network.names["hub.example"] = ("10.9.9.9", hub.rsplit(":", 1)[0])
    network.feed(node, Bootstrap(("hub.example:6881",)))
    network.run(1.0)
    assert network.machine(node).subscribers(TOPIC.text) == (hub,)


def test_port_0_is_nobodys() -> None:
    network = MachineNetwork()
    node = network.start()
    with pytest.raises(ConfigError, match=r"bootstrap: 127\.0\.0\.1:0 has port 0"):
        network.feed(node, Bootstrap(("127.0.0.1:0",)))
    with pytest.raises(LocalProtocolError, match="port 0 is nobody's"):
        network.reach(node, "127.0.0.1:0")
    assert network.machine(node).sizes()["reaching"] == 0


# ---- an address that somebody waits for


def test_one_topic_in_common_is_enough() -> None:
    network = MachineNetwork()
    hub, node = network.start(), network.start()
    network.feed(node, Subscribe(OTHER_TOPIC.text))
    token = network.reach(node, hub)
    network.run(1.0)
    assert network.reached(node, token) == Reached(token, hub)


def test_the_first_address_of_a_name_that_answers_counts() -> None:
    network = MachineNetwork()
    hub, node = network.start(), network.start()
    network.names["hub.example"] = ("[2001:db8::1]", "10.9.9.9", hub.rsplit(":", 1)[0])
    token = network.reach(node, "hub.example:6881")
    network.run(1.0)
    assert network.reached(node, token) == Reached(token, hub)
    assert network.machine(node).sizes()["reached_peers"] == 0


def test_an_address_is_good_for_nothing_when_it_is_for_no_topic() -> None:
    network = MachineNetwork()
    hub, node = network.start(subscribe=False), network.start()
    network.feed(hub, Subscribe(OTHER_TOPIC.text))
    token = network.reach(node, hub)
    network.run(1.0)
    assert network.reached(node, token) == Reached(token, hub, "unknown_topic")


def test_who_is_silent_is_said_to_be() -> None:
    network = MachineNetwork()
    node = network.start()
    token = network.reach(node, "10.9.9.9:6881")
    network.run(1.0)
    assert network.reached(node, token) is None
    network.run(10.0)
    assert network.reached(node, token) == Reached(token, "10.9.9.9:6881", "no_answer")


def test_a_node_of_the_main_dht_is_no_member() -> None:
    network = MachineNetwork(dht=1)
    node = network.start()
    dht = network.dht.nodes[0]
    # It knows no topics, so its answer has none.
    token = network.reach(node, dht.peer)
    network.run(1.0)
    assert network.reached(node, token) == Reached(token, dht.peer, "not_a_member")


def test_what_one_address_of_a_name_says_is_worth_more_than_the_silence_of_another() -> None:
    network = MachineNetwork()
    hub, node = network.start(subscribe=False), network.start()
    network.names["hub.example"] = (hub.rsplit(":", 1)[0], "10.9.9.9")
    token = network.reach(node, "hub.example:6881")
    network.run(10.0)
    reached = network.reached(node, token)
    assert reached is not None and reached.problem == "unknown_topic"


def test_without_a_topic_nothing_is_waited_for() -> None:
    network = MachineNetwork()
    hub, node = network.start(), network.start(subscribe=False)
    token = network.reach(node, hub)
    assert network.reached(node, token) == Reached(token, hub)
    network.feed(node, Subscribe(TOPIC.text))
    network.run(1.0)
    assert network.machine(node).subscribers(TOPIC.text) == (hub,), "it is used all the same"


def test_a_topic_that_is_left_meanwhile_is_not_waited_for() -> None:
    network = MachineNetwork()
    node = network.start()
    token = network.reach(node, "10.9.9.9:6881")
    network.feed(node, Unsubscribe(TOPIC.text))
    reached = network.reached(node, token)
    assert reached is not None and reached.problem == "no_answer"


def test_our_own_address_and_one_without_a_socket_are_told_at_once() -> None:
    network = MachineNetwork()
    node = network.start()
    for wanted, problem in ((node, "ourselves"), (SIX, "no_socket")):
        token = network.reach(node, wanted)
        assert network.reached(node, token) == Reached(token, wanted, problem)


def test_with_a_socket_of_each_family_both_are_tried() -> None:
    network = MachineNetwork()
    node = network.start()
    network.feed(node, Listening((node, "[2001:db8::7]:6881")))
    network.names["hub.example"] = ("[2001:db8::1]", "10.9.9.9")
    network.reach(node, "hub.example:6881")
    network.run(0.1)
    assert asked(network, node) == {SIX, "10.9.9.9:6881"}


def test_a_name_that_nobody_knows_is_told_and_not_looked_up_again() -> None:
    network = MachineNetwork()
    node = network.start()
    token = network.reach(node, "hub.example:6881")
    network.run(100.0)
    reached = network.reached(node, token)
    assert reached is not None and reached.problem == "name_not_found"
    assert reached.detail == "could not reach hub.example:6881: nobody knows it"
    assert len(network.of_type(node, ResolveName)) == 1


def test_nobody_waits_for_ever() -> None:
    network = MachineNetwork()
    node = network.start()
    token = network.reach(node, f"{LATE}:6881")
    network.run(29.0)
    assert network.reached(node, token) is None
    network.run(1.0)
    reached = network.reached(node, token)
    assert reached is not None and reached.problem == "no_answer"
    network.feed(node, NameResolved(f"{LATE}:6881", ("10.9.9.9:6881",)))
    assert network.machine(node).sizes()["reaching"] == 0


def test_equal_seeds_give_equal_packets() -> None:
    def run() -> list[object]:
        network = MachineNetwork(seed=5)
        nodes = [network.start() for _ in range(6)]
        network.names["hub.example"] = ("10.9.9.9", nodes[0].rsplit(":", 1)[0])
        for node in nodes[1:]:
            network.feed(node, Bootstrap(("hub.example:6881",)))
        network.run(300.0)
        return [[value_of(packet[3]) for packet in network.packets], dict(network.effects)]

    assert run() == run()
