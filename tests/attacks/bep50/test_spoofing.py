"""Forged source addresses: what we send to an address that has not proven itself stays small.

Whoever writes the address of another into a query would have us send the answer to that victim. How
much comes out for what goes in is the factor of amplification; ``python -m bench amplification``
prints it for every query.
"""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bep50.wire.addresses import read_nodes
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.krpc import (
    Answer,
    Query,
    answer_packet,
    bytes_of,
    query_packet,
    read_packet,
)
from tests.helpers.bep50.siege import TOPIC, Neighbour, Siege, nodes_at
from tests.helpers.bep50.spoofed_queries import LARGEST_ITEM, QUERIES, SENDER, loaded_node

VICTIM = "203.0.113.5:4444"

LARGEST_FACTOR = 3.0
"""Bytes that an unproven address gets for one byte of a query."""


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_from_an_unproven_address_brings_little_to_it(name: str) -> None:
    siege = loaded_node()
    raw = QUERIES[name]
    siege.say(VICTIM, raw)
    siege.advance(60.0)
    sent = siege.bytes_to(VICTIM)
    assert sent <= LARGEST_FACTOR * len(raw), f"{sent} bytes for {len(raw)}"


@pytest.mark.parametrize("name", QUERIES)
def test_a_flood_of_queries_with_one_address_brings_less_than_it_costs(name: str) -> None:
    siege = loaded_node()
    raw = QUERIES[name]
    queries = 20_000
    sent = sum(siege.quietly(VICTIM, raw) for _ in range(queries))
    assert sent <= 0.25 * queries * len(raw), "only the burst is answered"
    siege.goes_on()


def test_an_unproven_address_gets_a_number_a_token_and_two_nodes_but_no_value() -> None:
    siege = loaded_node()
    answer = siege.ask(VICTIM, "get", {b"id": SENDER, b"target": TOPIC.target})
    assert isinstance(answer, Answer)
    assert answer.values[b"seq"] == LARGEST_ITEM.seq
    assert answer.values.keys().isdisjoint({b"v", b"k", b"sig"})
    assert len(read_nodes(bytes_of(answer.values, b"nodes"), ipv6=False)) == 2
    assert len(bytes_of(answer.values, b"token")) == 8


def test_a_token_that_was_received_proves_the_address() -> None:
    siege = loaded_node()
    arguments: Dict = {b"id": SENDER, b"target": TOPIC.target, b"token": siege.token(VICTIM)}
    answer = siege.ask(VICTIM, "get", arguments)
    assert isinstance(answer, Answer) and b"v" in answer.values


@pytest.mark.parametrize("token", [b"", bytes(8), b"x" * 100, 7])
def test_a_guessed_token_proves_nothing(token: Any) -> None:
    siege = loaded_node()
    arguments: Dict = {b"id": SENDER, b"target": TOPIC.target, b"token": token}
    answer = siege.ask(VICTIM, "get", arguments)
    assert isinstance(answer, Answer) and b"v" not in answer.values


def test_the_token_of_another_address_proves_nothing() -> None:
    siege = loaded_node()
    token = siege.token("198.51.100.77:1")
    answer = siege.ask(VICTIM, "get", {b"id": SENDER, b"target": TOPIC.target, b"token": token})
    assert isinstance(answer, Answer) and b"v" not in answer.values


def test_who_answers_our_ping_is_proven_for_a_while() -> None:
    siege = loaded_node()
    replies = siege.say(VICTIM, QUERIES["get"])
    (ping,) = [packet for packet in map(read_packet, replies) if isinstance(packet, Query)]
    assert ping.method == "ping"
    siege.say(VICTIM, answer_packet(ping.transaction, {b"id": SENDER}, TOPIC.target))
    answer = siege.ask(VICTIM, "get", {b"id": SENDER, b"target": TOPIC.target}, read_only=True)
    assert isinstance(answer, Answer) and b"v" in answer.values
    siege.advance(3600.0)
    for peer in (VICTIM, "203.0.113.5:5555", "203.0.113.6:4444"):
        answer = siege.ask(peer, "get", {b"id": SENDER, b"target": TOPIC.target}, read_only=True)
        assert isinstance(answer, Answer) and b"v" not in answer.values


def test_who_answers_is_proven_though_there_is_no_place_in_the_table() -> None:
    siege = loaded_node(most_per_ip=1)
    other_port = "10.0.1.1:9999"
    replies = siege.say(other_port, QUERIES["get"])
    (ping,) = [packet for packet in map(read_packet, replies) if isinstance(packet, Query)]
    siege.say(other_port, answer_packet(ping.transaction, {b"id": SENDER}, TOPIC.target))
    assert other_port not in siege.node.subscribers(TOPIC.text)
    answer = siege.ask(other_port, "get", {b"id": SENDER, b"target": TOPIC.target}, read_only=True)
    assert isinstance(answer, Answer) and b"v" in answer.values


def test_values_for_a_proven_address_are_dearer_without_a_token() -> None:
    siege = loaded_node(work_share=0.0001, work_burst=0.01)
    token = siege.token(VICTIM)
    arguments: Dict = {b"id": SENDER, b"target": TOPIC.target, b"token": token}
    siege.ask(VICTIM, "get", arguments)
    del arguments[b"token"]
    answers = [siege.ask(VICTIM, "get", arguments, read_only=True) for _ in range(100)]
    values = sum(isinstance(answer, Answer) and b"v" in answer.values for answer in answers)
    assert 1 <= values <= 25, "others know the address, too, and can forge it"


def test_an_unproven_address_is_pinged_once_however_often_it_seems_to_ask() -> None:
    siege = loaded_node()
    for number in range(50):
        siege.say(VICTIM, query_packet(b"%d" % number, "ping", {b"id": SENDER}, TOPIC.target))
    siege.advance(5.0)
    packets = [read_packet(each.packet) for each in siege.sent if each.peer == VICTIM]
    assert sum(isinstance(packet, Query) for packet in packets) == 1


def test_pings_to_strangers_are_limited_in_all() -> None:
    siege = loaded_node(ping_back_rate=10.0)
    for number in range(2_000):
        siege.say(f"203.0.{number // 250}.{number % 250 + 1}:4444", QUERIES["ping"])
    packets = [read_packet(each.packet) for each in siege.sent]
    assert sum(isinstance(packet, Query) for packet in packets) <= 20
    siege.advance(2.0)
    assert siege.events("dropped", what="ping", reason="rate_limited")
    siege.goes_on()


def test_a_forged_address_never_gets_a_place_in_the_table() -> None:
    siege = loaded_node()
    before = dict(siege.node.subscribers(TOPIC.text))
    for name in QUERIES:
        siege.say(VICTIM, QUERIES[name])
    siege.advance(600.0)
    assert siege.node.subscribers(TOPIC.text) == before


def test_a_read_only_node_is_served_and_neither_pinged_nor_kept() -> None:
    siege = loaded_node()
    for _ in range(3):
        arguments: Dict = {b"id": SENDER, b"target": TOPIC.target}
        answer = siege.ask(VICTIM, "get", arguments, read_only=True)
        assert isinstance(answer, Answer)
    siege.advance(600.0)
    assert VICTIM not in siege.node.subscribers(TOPIC.text)
    packets = [read_packet(each.packet) for each in siege.sent if each.peer == VICTIM]
    assert not any(isinstance(packet, Query) for packet in packets)


def test_a_node_that_is_read_only_itself_answers_nothing() -> None:
    siege = Siege(read_only=True)
    for raw in QUERIES.values():
        assert siege.say(VICTIM, raw) == []
    assert all(b"2:roi1e" in each.packet for each in siege.sent)


def test_an_ipv6_address_is_limited_with_its_whole_network() -> None:
    siege = loaded_node(work_share=0.0001, work_burst=0.001)
    raw = QUERIES["ping"]
    answered = 0
    for number in range(200):
        packets = siege.say(f"[2001:db8:1:2::{number:x}]:4444", raw)
        answered += sum(isinstance(read_packet(packet), Answer) for packet in packets)
    assert answered == 11


def test_answers_to_ipv6_are_as_small() -> None:
    siege = Siege(neighbours=3)
    for number in range(1, 9):
        siege.befriend(Neighbour(number, family="[2001:db8::{}]:6881"))
    siege.put("198.51.100.1:1", LARGEST_ITEM)
    victim = "[2001:db8:9::5]:4444"
    for name, raw in QUERIES.items():
        siege.forget()
        siege.advance(60.0)
        siege.forget()
        siege.say(victim, raw)
        assert siege.bytes_to(victim) <= LARGEST_FACTOR * len(raw), name


def test_what_others_tell_of_does_not_prove_an_address() -> None:
    siege = loaded_node()
    neighbour = next(iter(siege.neighbours.values()))
    neighbour.nodes = nodes_at(VICTIM, first=30)
    siege.advance(300.0)
    answer = siege.ask(VICTIM, "get", {b"id": SENDER, b"target": TOPIC.target}, read_only=True)
    assert isinstance(answer, Answer) and b"v" not in answer.values
