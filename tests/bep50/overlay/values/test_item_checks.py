"""Checks: one for each value, whoever brings it, and what follows from the verdict."""

from __future__ import annotations

import pytest

from rumormill.bep50.overlay.values.acknowledgements import ACKNOWLEDGED
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.core import trace
from rumormill.core.machine import Verdict
from tests.helpers.bep50.overlay_network import KEY, TOPIC, OverlayNetwork, put_packet, token_of

TEXT = TOPIC.text


def test_copies_are_acknowledged_but_neither_checked_nor_passed_on() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(9)
    network.forget()
    network.checks = 0
    network.publish(addresses[0], b"x")
    network.run(3)
    assert network.checks == 8, "one for each who did not write it"
    for address in addresses:
        asked = network.queries(address, "put")
        assert len({each[b"t"] for each in asked}) == len(asked) <= 8
    errors = [each for address in addresses for each in network.sent(address) if b"e" in each]
    assert errors == []


def test_copies_that_come_during_the_check_wait_for_its_verdict() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.hold_checks = True
    network.publish(first, b"x")
    network.run(0.1)
    (original,) = network.queries(first, "put", second)
    entry = network.nodes[third].topic_nodes[TOPIC.target].entry(second)
    assert entry is not None and entry.token is not None
    arguments = {**original[b"a"], b"token": entry.token, b"id": network.nodes[third].id}
    copy = {**original, b"a": arguments}
    network.send(third, second, {**copy, b"t": b"copy"})
    assert len([each for each in network.held if each[0] == second]) == 1
    assert not [each for each in network.sent(second, third) if each.get(b"t") == b"copy"]
    network.hold_checks = False
    network.release()
    assert [each for each in network.sent(second, third) if each.get(b"t") == b"copy"]
    assert network.queries(second, "put", third) == [], "it has it already"
    assert network.texts(second) == ["x"]


def test_a_forged_value_is_refused_and_the_true_one_still_comes_through() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    forger = "10.9.9.9:1"
    item = KEY.item(b"", 1, b"4:true")
    token = token_of(network, second, forger)
    network.send(forger, second, put_packet(item._replace(value=b"4:lies"), token))
    network.run(0.01)
    (answer,) = [each for each in network.sent(second, forger) if b"e" in each]
    assert answer[b"e"][0] == 206
    assert network.texts(second) == []
    network.send(forger, second, put_packet(item, token))
    network.run(0.01)
    assert network.texts(second) == ["true"]
    assert first in network.nodes[second].peers()


@pytest.mark.parametrize(
    "item",
    [KEY.item(b"other", 5, b"1:x"), ItemKey.from_seed(b"o" * 32).item(b"", 5, b"1:x")],
    ids=["another salt", "another key"],
)
def test_a_genuine_item_of_another_topic_is_refused_without_a_check(item: Item) -> None:
    network = OverlayNetwork()
    node = network.add()
    token = token_of(network, node, "10.9.9.9:1")
    network.send("10.9.9.9:1", node, put_packet(item, token))
    assert [each[b"e"][0] for each in network.sent(node) if b"e" in each] == [203]
    assert network.checks == 0
    (rejected,) = network.events(node, trace.REJECTED)
    assert rejected.fields["reason"] == "wrong_item"


def test_who_sends_many_forged_values_is_not_listened_to_for_a_while() -> None:
    network = OverlayNetwork()
    node = network.add(work_burst=0.02)
    forger = "10.9.9.9:1"
    token = token_of(network, node, forger)
    network.checks = 0
    for seq in range(1, 10):
        network.send(
            forger, node, put_packet(KEY.item(b"", seq, b"1:x")._replace(value=b"1:y"), token)
        )
        network.run(0.01)
    assert network.checks == 3
    network.run(66)
    network.send(forger, node, put_packet(KEY.item(b"", 9, b"1:x"), token))
    network.run(0.01)
    assert network.texts(node) == ["x"]


def test_what_a_validator_refuses_is_neither_kept_nor_passed_on_nor_checked_again() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.check = lambda item: Verdict.REJECT
    network.loses = lambda by, to, packet: (by, to) == (first, third)
    network.publish(first, b"x")
    network.run(10)
    assert network.nodes[second].latest(TEXT) is None
    assert network.queries(second, "put", third) == []
    (rejected,) = network.events(second, trace.REJECTED)
    assert rejected.fields["reason"] == "validator"


def test_an_unwanted_value_is_checked_once_however_often_it_comes() -> None:
    network = OverlayNetwork()
    node = network.add()
    network.check = lambda item: Verdict.REJECT
    token = token_of(network, node, "10.9.9.9:1")
    for _ in range(5):
        network.send("10.9.9.9:1", node, put_packet(KEY.item(b"", 1, b"1:x"), token))
        network.run(0.01)
    assert network.checks == 1


def test_a_verdict_that_comes_after_that_of_a_newer_value_changes_nothing() -> None:
    network = OverlayNetwork()
    node = network.add()
    network.hold_checks = True
    token = token_of(network, node, "10.9.9.9:1")
    for seq in (1, 2):
        network.send("10.9.9.9:1", node, put_packet(KEY.item(b"", seq, b"1:%d" % seq), token))
    network.held.reverse()
    network.release()
    item = network.nodes[node].latest(TEXT)
    assert item is not None and item.seq == 2
    assert network.texts(node) == ["2"]
    assert len([each for each in network.sent(node) if each.get(b"t") == b"put"]) == 2
    (ignored,) = network.events(node, trace.IGNORED)
    assert ignored.fields["reason"] == "overtaken"


def test_an_ignored_value_is_acknowledged_but_not_kept() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.check = lambda item: Verdict.IGNORE
    network.publish(first, b"x")
    network.run(1)
    assert network.nodes[second].latest(TEXT) is None
    assert [each.peer for each in network.events(first, ACKNOWLEDGED)] == [second]
