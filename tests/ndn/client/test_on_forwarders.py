"""Clients on forwarders of ours: messages, restarts in the middle, and another that takes over."""

from __future__ import annotations

import pytest

from rumormill.core.machine import Shutdown
from rumormill.simulate import Link
from tests.helpers.ndn.clients import Village


@pytest.mark.parametrize("by", ["tcp", "udp"])
def test_a_message_gets_from_client_to_client(by: str) -> None:
    village = Village(["hub"], ["alice", "bob"], by=by)  # type: ignore[arg-type]
    village.subscribe("/weather", "bob")
    village.run(1)
    token = village.publish("alice", "/weather", b"rain")
    village.run(1)
    assert village.outcome(token) == "delivered"
    assert village.got("bob") == [b"rain"]
    village.unsubscribe("/weather", "bob")
    village.run(1)
    token = village.publish("alice", "/weather", b"sun")
    village.run(1)
    assert village.outcome(token) == "no_subscriber"


def test_clients_of_two_forwarders_reach_each_other() -> None:
    village = Village(["hub", "far"], ["alice", "bob"])
    village.run(3)
    village.crash("hub")  # all go by the other one, and come back to nobody
    village.subscribe("/weather", "bob")
    village.run(3)
    token = village.publish("alice", "/weather", b"rain")
    village.run(2)
    assert village.outcome(token) == "delivered"


def test_a_forwarder_restarts_in_the_middle() -> None:
    village = Village(["hub"], ["alice", "bob"])
    village.subscribe("/weather", "bob")
    village.run(1)
    tokens = []
    for number in range(100):
        if number == 30:
            village.crash("hub")
        if number == 40:
            village.restart("hub")
        tokens.append(village.publish("alice", "/weather", b"%03d" % number))
        village.run(0.05)
    village.run(10)
    got = village.got("bob")
    assert len(got) == len(set(got))  # nothing twice
    outcomes = [village.outcome(token) for token in tokens]
    assert outcomes.count("delivered") == len(got)
    # What found no subscriber was published before it was back, and none of it is unknown.
    assert set(outcomes) == {"delivered", "no_subscriber"}
    assert outcomes[:30] == 30 * ["delivered"]
    assert outcomes[60:] == 40 * ["delivered"]
    assert len(village.routes("bob")) == 4


def test_routes_are_asked_for_again_in_the_order_in_which_they_were_wanted() -> None:
    village = Village(["hub"], ["alice"])
    topics = [f"/topic/{number:03d}" for number in range(100)]
    for topic in topics:
        village.subscribe(topic, "alice")
    village.run(2)
    village.crash("hub")
    village.run(0.5)
    village.restart("hub")
    village.run(3)
    routes = village.routes("alice")
    half = len(routes) // 2
    assert len(routes) == 2 * 101
    expected = [f"{topic}/notify" for topic in topics]
    assert [route for route in routes[half:] if route in expected] == expected


def test_another_forwarder_takes_over_and_messages_go_on() -> None:
    village = Village(["one", "two"], ["alice", "bob"])
    village.subscribe("/weather", "bob")
    village.run(3)
    tokens = []
    for number in range(60):
        if number == 20:
            village.crash("one")
        tokens.append(village.publish("alice", "/weather", b"%02d" % number))
        village.run(0.1)
    village.run(5)
    got = village.got("bob")
    assert len(got) == len(set(got))
    assert {village.outcome(token) for token in tokens} == {"delivered"}
    assert village.client("bob").peers == (village.simulation.address("two"),)


def test_by_udp_a_restart_is_found_out_by_asking_again() -> None:
    village = Village(["hub"], ["alice", "bob"], by="udp", refresh_interval=5)
    village.subscribe("/weather", "bob")
    village.run(2)
    village.crash("hub")
    village.restart("hub")
    village.run(12)
    token = village.publish("alice", "/weather", b"rain")
    village.run(1)
    assert village.outcome(token) == "delivered"


def test_by_udp_with_loss_routes_stand_in_the_end() -> None:
    village = Village(["hub"], ["alice", "bob"], by="udp", link=Link(latency=0.002, loss=0.05))
    village.subscribe("/weather", "bob")
    village.run(30)
    tokens = [village.publish("alice", "/weather", b"%d" % number) for number in range(50)]
    village.run(20)
    got = village.got("bob")
    assert len(got) == len(set(got))
    assert village.routes("bob")[-1] == "/weather/notify"
    assert sum(village.outcome(token) == "delivered" for token in tokens) > 40


def test_a_large_message_goes_by_udp_in_fragments() -> None:
    village = Village(["hub"], ["alice", "bob"], by="udp")
    village.subscribe("/weather", "bob")
    village.run(1)
    village.publish("alice", "/weather", b"x" * 8000)
    village.run(1)
    assert village.got("bob") == [b"x" * 8000]


def test_who_leaves_by_udp_takes_its_routes_along() -> None:
    village = Village(["hub"], ["alice", "bob"], by="udp")
    village.subscribe("/weather", "bob")
    village.run(1)
    village.simulation.command("bob", Shutdown())
    village.run(0.5)
    token = village.publish("alice", "/weather", b"rain")
    village.run(0.5)
    assert village.outcome(token) == "no_subscriber"


def test_two_runs_are_the_same_byte_for_byte() -> None:
    def run() -> list[str]:
        village = Village(["one", "two"], ["alice", "bob", "carol"])
        village.subscribe("/weather", "bob", "carol")
        village.run(2)
        for number in range(10):
            village.publish("alice", "/weather", b"%d" % number)
        village.run(0.1)
        village.crash("one")
        village.run(5)
        return list(village.simulation.trace_lines())

    assert run() == run()


def test_what_is_kept_goes_when_all_is_quiet() -> None:
    village = Village(["hub"], ["alice", "bob"])
    village.subscribe("/weather", "bob")
    village.run(1)
    for number in range(200):
        village.publish("alice", "/weather", b"%d" % number)
    village.run(300)
    for name in ("alice", "bob"):
        sizes = village.client(name).sizes()
        assert sizes["commands"] == sizes["commands_waiting"] == 0
        assert sizes["interests"] == sizes["bytes_waiting"] == 0
        assert sizes["routes"] <= 2
