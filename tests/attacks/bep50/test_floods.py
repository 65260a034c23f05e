"""Floods: memory stays bounded, strangers are slowed down, and neighbours are still heard."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from rumormill.bep50.effects import Contact, Restore
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.krpc import Answer, answer_packet, failure_packet, query_packet
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Subscribe, Unsubscribe
from tests.helpers.bep50.siege import TOPIC, Siege, item, node_id, put_arguments

HOSTILE = "192.0.2.66:6666"
MIB = 1 << 20

BOUNDED: dict[str, Any] = {
    "most_addresses": 500,
    "most_checks": 100,
    "most_copies": 10,
    "most_queries": 200,
    "most_contacts": 50,
    "most_topics": 20,
}


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """What is allocated inside and still held at the end stays below ``most`` bytes."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < most, f"{after - before} bytes are held"


def stranger(number: int) -> str:
    return f"198.{18 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}:6881"


def within_bounds(siege: Siege) -> None:
    """Every table of the node keeps to its limit."""
    sizes = siege.node.sizes()
    limits = {
        "accounts": BOUNDED["most_addresses"],
        "proofs": BOUNDED["most_addresses"],
        "checks": BOUNDED["most_checks"],
        "waiting": BOUNDED["most_checks"] * BOUNDED["most_copies"],
        "topics": BOUNDED["most_topics"],
        "saved_topics": BOUNDED["most_topics"],
        "contacts": BOUNDED["most_contacts"],
        "overlay_queries": BOUNDED["most_queries"] * 2,
        "overlay_contacts": BOUNDED["most_contacts"] * 2,
        "overlay_owed": BOUNDED["most_contacts"] * 2,
        "overlay_asking": BOUNDED["most_queries"] * 2,
        "overlay_entries": 2 * 176,
        "overlay_buckets": 2 * 160,
        "overlay_spares": 2 * 160 * 4,
        "overlay_candidates": 2 * 512,
        "resting": BOUNDED["most_addresses"],
    }
    for table, limit in limits.items():
        assert sizes[table] <= limit, (table, sizes[table])


QUESTIONS: dict[str, Dict] = {
    "ping": {},
    "find_node": {b"target": b"x" * 20},
    "get": {b"target": TOPIC.target},
    "put": put_arguments(item(3), b"guess"),
    "vote": {},
}


@pytest.mark.parametrize("method", QUESTIONS)
def test_a_flood_from_many_addresses_leaves_bounded_tables(method: str) -> None:
    siege = Siege(**BOUNDED)
    packets = [
        query_packet(b"aa", method, {**QUESTIONS[method], b"id": node_id(number)}, TOPIC.target)
        for number in range(50)
    ]
    with memory_below(3 * MIB):
        for number in range(10_000):
            siege.quietly(stranger(number), packets[number % 50])
            siege.now += 0.001
    within_bounds(siege)
    siege.goes_on()


def test_a_flood_of_unknown_topics_leaves_nothing_behind() -> None:
    siege = Siege(**BOUNDED)
    random = Random(1)
    with memory_below(MIB):
        for number in range(10_000):
            raw = query_packet(b"aa", "get", {b"id": node_id(number)}, random.randbytes(20))
            siege.quietly(stranger(number % 1000), raw)
    within_bounds(siege)
    assert siege.node.topics == (TOPIC.text,)


def test_a_flood_of_noise_leaves_nothing_behind() -> None:
    siege = Siege(**BOUNDED)
    random = Random(1)
    with memory_below(MIB // 2):
        for number in range(10_000):
            sent = siege.quietly(stranger(number), random.randbytes(random.randrange(100)))
            assert sent == 0
    within_bounds(siege)
    siege.goes_on()


def test_a_flood_of_answers_that_nobody_asked_for_leaves_nothing_behind() -> None:
    siege = Siege(**BOUNDED)
    random = Random(1)
    with memory_below(MIB // 2):
        for number in range(10_000):
            values: Dict = {b"id": random.randbytes(20), b"seq": number}
            raw = answer_packet(random.randbytes(4), values, TOPIC.target)
            siege.quietly(stranger(number), raw)
    within_bounds(siege)
    siege.goes_on()


def test_an_address_that_floods_is_slowed_down_and_another_is_not() -> None:
    siege = Siege(work_share=0.001, work_burst=0.005)
    ping = query_packet(b"aa", "ping", {b"id": node_id(9)}, TOPIC.target, read_only=True)
    answered = sum(siege.quietly(HOSTILE, ping) > 0 for _ in range(5_000))
    assert answered == 51
    assert siege.quietly("192.0.2.67:6666", ping) > 0
    assert siege.quietly("192.0.2.66:1", ping) == 0, "another port is the same address"
    siege.advance(1.0)
    (dropped,) = siege.events("dropped", what="datagram", reason="held_back")
    assert dropped.fields["count"] == 4_949 + 1
    assert siege.quietly(HOSTILE, ping) == 0, "it went on and on, so it is not heard for a minute"
    siege.advance(60.0)
    assert siege.quietly(HOSTILE, ping) > 0
    siege.goes_on()


def test_a_flood_of_checks_is_bounded_and_costs_only_its_sender() -> None:
    siege = Siege(answer_checks=False, **BOUNDED)
    token = siege.token(HOSTILE)
    for number in range(1_000):
        raw = query_packet(b"aa", "put", put_arguments(item(1000 + number), token), TOPIC.target)
        siege.quietly(HOSTILE, raw)
    assert siege.node.sizes()["checks"] <= BOUNDED["most_checks"] // 2
    neighbour = next(iter(siege.neighbours))
    raw = query_packet(b"ab", "put", put_arguments(item(3), siege.token(neighbour)), TOPIC.target)
    siege.say(neighbour, raw)
    assert siege.checks[-1].subject == item(3), "there is room for a neighbour's"
    within_bounds(siege)


def test_checks_are_bounded_in_all_however_many_hosts_want_them() -> None:
    siege = Siege(answer_checks=False, **BOUNDED)
    for number in range(400):
        raw = put_arguments(item(1000 + number), siege.token(stranger(number)))
        siege.quietly(stranger(number), query_packet(b"aa", "put", raw, TOPIC.target, True))
    assert siege.node.sizes()["checks"] == BOUNDED["most_checks"]
    siege.advance(2.0)
    assert siege.events("dropped", what="put", reason="checks_full")


def test_proofs_are_bounded_however_many_addresses_bring_one() -> None:
    siege = Siege(**BOUNDED)
    for number in range(1_500):
        arguments: Dict = {b"id": node_id(number), b"token": siege.token(stranger(number))}
        siege.quietly(stranger(number), query_packet(b"aa", "ping", arguments, TOPIC.target, True))
    within_bounds(siege)


def test_many_ports_of_one_host_do_not_fill_the_checks() -> None:
    siege = Siege(answer_checks=False, **BOUNDED)
    token = siege.token(HOSTILE)
    for number in range(1_000):
        raw = query_packet(b"aa", "put", put_arguments(item(1000 + number), token), TOPIC.target)
        siege.quietly(f"192.0.2.66:{1024 + number}", raw)
    assert siege.node.sizes()["checks"] <= BOUNDED["most_checks"] // 2
    neighbour = next(iter(siege.neighbours))
    siege.put(neighbour, item(3))
    assert siege.checks[-1].subject == item(3), "there is room for a neighbour's"


def test_a_flood_of_copies_under_check_is_bounded() -> None:
    siege = Siege(answer_checks=False, **BOUNDED)
    token = siege.token(HOSTILE)
    for number in range(1_000):
        transaction = number.to_bytes(4, "big")
        raw = query_packet(transaction, "put", put_arguments(item(5), token), TOPIC.target)
        siege.quietly(HOSTILE, raw)
    sizes = siege.node.sizes()
    assert (sizes["checks"], sizes["waiting"]) == (1, BOUNDED["most_copies"])


def test_a_storm_of_genuine_values_is_followed_and_bounded() -> None:
    siege = Siege(neighbours=4, **BOUNDED)
    giver = next(iter(siege.neighbours.values()))
    token = siege.token(giver.peer)
    siege.forget()
    for seq in range(1, 501):
        arguments = put_arguments(item(seq, f"value {seq}"), token, giver.id)
        assert isinstance(siege.ask(giver.peer, "put", arguments), Answer)
    assert [message.fields["seq"] for message in siege.delivered] == list(range(1, 501))
    within_bounds(siege)
    for other in list(siege.neighbours.values())[1:]:
        assert other.item == item(500, "value 500")
    assert not giver.puts


def test_neighbours_that_answer_nothing_do_not_pile_up_what_waits_for_them() -> None:
    siege = Siege(neighbours=4, **BOUNDED)
    siege.neighbours.clear()
    token = siege.token(HOSTILE)
    with memory_below(MIB):
        for seq in range(1, 1_001):
            raw = query_packet(b"aa", "put", put_arguments(item(seq), token), TOPIC.target, True)
            siege.quietly(HOSTILE, raw)
    within_bounds(siege)
    siege.advance(600.0)
    assert siege.node.sizes()["overlay_queries"] == 0


def test_contacts_without_end_are_bounded() -> None:
    siege = Siege(**BOUNDED)
    for first in range(0, 5_000, 100):
        siege.feed(Contact(TOPIC.target, tuple(map(stranger, range(first, first + 100)))))
        siege.feed(Contact(None, tuple(map(stranger, range(first, first + 100)))))
    within_bounds(siege)
    siege.advance(600.0)
    within_bounds(siege)
    siege.goes_on()


def test_topics_past_the_limit_are_refused_in_a_sentence() -> None:
    siege = Siege(**BOUNDED)
    for number in range(BOUNDED["most_topics"] - 1):
        siege.feed(Subscribe(f"{TOPIC.public_key.hex()}:{number}"))
    with pytest.raises(LocalProtocolError, match="most_topics"):
        siege.feed(Subscribe(f"{TOPIC.public_key.hex()}:one more"))
    within_bounds(siege)


@pytest.mark.parametrize(
    "state", [b"", b"noise", b"de", b"d2:id20:" + bytes(20) + b"6:topicsd20:" + bytes(20) + b"leee"]
)
def test_a_state_that_is_none_is_refused_in_a_sentence(state: bytes) -> None:
    siege = Siege()
    with pytest.raises(LocalProtocolError, match="the saved state cannot be used"):
        siege.feed(Restore(state))
    siege.goes_on()


def test_a_state_that_lies_is_not_believed() -> None:
    author = Siege(publisher=True)
    author.put(HOSTILE, item(5))
    state = author.node.state()
    assert state.count(b"4:rain") == 1
    siege = Siege()
    siege.feed(Restore(state.replace(b"4:rain", b"4:lies")))
    siege.advance(60.0)
    assert siege.node.latest(TOPIC.text) is None and siege.data() == []
    siege.goes_on()


def test_a_topic_that_is_left_leaves_nothing_behind() -> None:
    siege = Siege()
    before = siege.node.sizes()
    for number in range(200):
        topic = f"{TOPIC.public_key.hex()}:{number}"
        siege.feed(Subscribe(topic))
        siege.feed(Unsubscribe(topic))
    assert siege.node.sizes() == before
    siege.goes_on()


def test_packets_without_a_topic_do_not_touch_every_topic() -> None:
    siege = Siege(most_topics=300)
    for number in range(200):
        siege.feed(Subscribe(f"{TOPIC.public_key.hex()}:{number}"))
    before = siege.node.sizes()["overlay_buckets"]
    for topic in (None, TOPIC.target):
        values: Dict = {b"id": node_id(9)}
        siege.quietly("[2001:db8::66]:6666", answer_packet(b"aaaa", values, topic))
        siege.quietly("[2001:db8::66]:6666", failure_packet(b"aaaa", 203, "no", topic))
    assert siege.node.sizes()["overlay_buckets"] <= before + 1
