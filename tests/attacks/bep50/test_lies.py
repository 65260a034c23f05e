"""Lies in answers: an answer counts only if we asked, and what it says is not believed."""

from __future__ import annotations

from collections import Counter

import pytest

from rumormill.bep50.effects import Contact, ContactEnded
from rumormill.bep50.wire.addresses import NodeInfo, compact_nodes
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.items import LARGEST_SEQ
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import (
    CAS_MISMATCH,
    PROTOCOL,
    SEQ_TOO_LOW,
    Query,
    answer_packet,
    failure_packet,
    read_packet,
)
from rumormill.core import trace
from rumormill.core.machine import Received
from tests.helpers.bep50.siege import (
    KEY,
    OWN_ID,
    OWN_PEER,
    TOPIC,
    Neighbour,
    Siege,
    item,
    item_values,
    node_id,
    nodes_at,
)

HOSTILE = "192.0.2.66:6666"
VICTIM = "203.0.113.5"
OTHER_KEY = ItemKey.from_seed(b"o" * 32)


class Liar(Neighbour):
    """A member that says what a test wants: ``says`` is added to its answers to ``get``."""

    says: Dict
    without_topic = False
    error: int | None = None
    """Its answer to every put."""

    def __init__(self, number: int = 66, **says: object) -> None:
        super().__init__(number, family="192.0.2.{}:6666")
        self.says = {key.encode(): each for key, each in says.items()}  # type: ignore[misc]

    def answer(self, query: Query) -> list[bytes]:
        topic = None if self.without_topic else query.topic
        if query.method == "put" and self.error is not None:
            return [failure_packet(query.transaction, self.error, "no", topic)]
        values: Dict = {b"id": self.id, b"token": self.token}
        if query.method in ("get", "find_node"):
            values |= self.says
        return [answer_packet(query.transaction, values, topic)]


def queries_to(siege: Siege, peer: str) -> Counter[str]:
    """What a peer was asked, by method."""
    packets = [read_packet(each.packet) for each in siege.sent if each.peer == peer]
    return Counter(packet.method for packet in packets if isinstance(packet, Query))


# ---- answers that are none


def test_an_answer_that_nobody_asked_for_is_dropped_and_counted() -> None:
    siege = Siege()
    before = siege.node.sizes()
    values = {b"id": node_id(50), **item_values(item(9)), b"token": b"x"}
    for topic in (TOPIC.target, b"o" * 20, None):
        siege.say(HOSTILE, answer_packet(b"aaaa", values, topic))
        siege.say(HOSTILE, failure_packet(b"aaaa", 203, "no", topic))
    assert siege.sent == [] and siege.checks == []
    after = siege.node.sizes()
    changed = ("accounts", "timers")
    assert {key: after[key] for key in before if key not in changed} == {
        key: before[key] for key in before if key not in changed
    }
    siege.advance(2.0)
    assert sum(int(str(event.fields["count"])) for event in siege.events(trace.DROPPED)) == 6
    siege.goes_on()


@pytest.mark.parametrize("source", ["192.0.2.67:6666", "192.0.2.66:6667", "[::ffff:1]:6666"])
def test_an_answer_from_another_address_than_was_asked_does_not_count(source: str) -> None:
    siege = Siege()
    siege.feed(Contact(TOPIC.target, (HOSTILE,)))
    asked = read_packet(siege.sent[-1].packet)
    siege.forget()
    values: Dict = {b"id": node_id(50), **item_values(item(9)), b"token": b"x"}
    siege.say(source, answer_packet(asked.transaction, values, TOPIC.target))
    assert siege.sent == [] and siege.checks == []
    assert {HOSTILE, source}.isdisjoint(siege.node.subscribers(TOPIC.text))


def test_a_second_answer_to_one_query_does_not_count() -> None:
    siege = Siege()
    siege.feed(Contact(TOPIC.target, (HOSTILE,)))
    asked = read_packet(siege.sent[-1].packet)
    for number in (50, 51):
        values: Dict = {b"id": node_id(number), b"token": b"x"}
        siege.say(HOSTILE, answer_packet(asked.transaction, values, TOPIC.target))
    assert HOSTILE in siege.node.subscribers(TOPIC.text)


def test_an_answer_that_comes_too_late_does_not_count() -> None:
    siege = Siege()
    siege.feed(Contact(TOPIC.target, (HOSTILE,)))
    asked = read_packet(siege.sent[-1].packet)
    siege.advance(10.0)
    values: Dict = {b"id": node_id(50), b"token": b"x"}
    siege.say(HOSTILE, answer_packet(asked.transaction, values, TOPIC.target))
    assert HOSTILE not in siege.node.subscribers(TOPIC.text)


@pytest.mark.parametrize("topic", [None, b"o" * 20])
def test_a_node_that_answers_without_the_topic_is_no_member(topic: bytes | None) -> None:
    siege = Siege()
    siege.feed(Contact(TOPIC.target, (HOSTILE,)))
    asked = read_packet(siege.sent[-1].packet)
    values: Dict = {b"id": node_id(50), **item_values(item(9)), b"token": b"x"}
    siege.say(HOSTILE, answer_packet(asked.transaction, values, topic))
    siege.advance(60.0)
    assert HOSTILE not in siege.node.subscribers(TOPIC.text)
    assert siege.node.latest(TOPIC.text) is None
    (ended,) = [each for each in siege.told if isinstance(each, ContactEnded)]
    assert ended.problem in ("not_a_member", "no_answer")


@pytest.mark.parametrize("id", [b"", b"short", b"n" * 21, 7])
def test_an_answer_without_a_good_id_gives_no_place(id: object) -> None:
    siege = Siege()
    siege.feed(Contact(TOPIC.target, (HOSTILE,)))
    asked = read_packet(siege.sent[-1].packet)
    values: Dict = {b"id": id, b"token": b"x"}  # type: ignore[dict-item]
    siege.say(HOSTILE, answer_packet(asked.transaction, values, TOPIC.target))
    assert HOSTILE not in siege.node.subscribers(TOPIC.text)


def test_a_node_with_our_own_id_gets_no_place() -> None:
    siege = Siege()
    liar = Liar()
    liar.id = OWN_ID
    siege.befriend(liar)
    assert liar.peer not in siege.node.subscribers(TOPIC.text)


def test_a_node_cannot_take_the_place_of_one_that_lives_by_claiming_its_id() -> None:
    siege = Siege()
    honest = next(iter(siege.neighbours.values()))
    liar = Liar()
    liar.id = honest.id
    siege.befriend(liar)
    siege.advance(60.0)
    assert honest.peer in siege.node.subscribers(TOPIC.text)
    assert liar.peer not in siege.node.subscribers(TOPIC.text)


# ---- values that are none


@pytest.mark.parametrize(
    "lie",
    [
        item(9)._replace(signature=bytes(64)),
        item(9)._replace(seq=10),
        item(9)._replace(value=b"3:lie"),
        KEY.item(b"another salt", 9, b"3:lie"),
        OTHER_KEY.item(b"weather", 9, b"3:lie"),
        item(9)._replace(value=b"997:" + bytes(997)),
        item(9)._replace(public_key=b"short"),
        item(9)._replace(signature=b"short"),
    ],
)
def test_a_value_that_the_owner_did_not_sign_is_not_taken_from_an_answer(lie: object) -> None:
    siege = Siege()
    liar = Liar()
    liar.says = item_values(lie)  # type: ignore[arg-type]
    siege.befriend(liar)
    siege.advance(60.0)
    assert siege.node.latest(TOPIC.text) is None and siege.data() == []
    assert len(siege.checks) <= 6
    siege.goes_on()


@pytest.mark.parametrize("seq", [-1, LARGEST_SEQ + 1, 2**64, b"9", [9], 10**300])
def test_a_number_that_cannot_be_is_not_believed(seq: object) -> None:
    siege = Siege()
    liar = siege.befriend(Liar(seq=seq))
    siege.advance(300.0)
    assert siege.node.joined(TOPIC.text)
    siege.goes_on()
    assert "put" in queries_to(siege, liar.peer), "it gets what it claims to have"


def test_a_number_without_its_value_is_asked_for_a_few_times_only() -> None:
    siege = Siege()
    liar = siege.befriend(Liar(seq=LARGEST_SEQ))
    siege.advance(5.0)
    assert queries_to(siege, liar.peer)["get"] <= 6
    assert siege.node.joined(TOPIC.text), "nobody waits for what does not come"
    siege.forget()
    siege.advance(600.0)
    assert queries_to(siege, liar.peer)["get"] <= 24
    siege.goes_on()


@pytest.mark.parametrize("token", [b"x" * 65, b"x" * 3000, 7, [b"x"], None])
def test_a_token_that_cannot_be_is_not_sent_back(token: object) -> None:
    siege = Siege()
    liar = Liar()
    liar.says = {} if token is None else {b"token": token}  # type: ignore[dict-item]
    siege.befriend(liar)
    siege.goes_on()
    for each in siege.sent:
        if each.peer == liar.peer:
            packet = read_packet(each.packet)
            assert isinstance(packet, Query)
            sent = packet.arguments.get(b"token", b"")
            assert isinstance(sent, bytes) and len(sent) <= 64


# ---- puts that are never taken


@pytest.mark.parametrize("error", [PROTOCOL, SEQ_TOO_LOW, CAS_MISMATCH, 201, 204, 205, 206, 0, 999])
def test_a_neighbour_that_refuses_every_put_is_not_put_to_for_ever(error: int) -> None:
    siege = Siege()
    liar = Liar()
    liar.error = error
    siege.befriend(liar)
    siege.forget()
    siege.put("198.51.100.1:1", item(1))
    siege.advance(10.0)
    asked = queries_to(siege, liar.peer)
    assert asked["put"] <= 3 and asked["get"] <= 4
    siege.goes_on()


def test_a_neighbour_that_acknowledges_and_forgets_is_brought_up_to_date_in_measure() -> None:
    siege = Siege()
    liar = siege.befriend(Liar(seq=0))
    siege.put("198.51.100.1:1", item(5))
    siege.forget()
    siege.advance(600.0)
    asked = queries_to(siege, liar.peer)
    assert asked["put"] <= asked["get"] <= 24


# ---- nodes that are none


def test_nodes_that_do_not_answer_get_no_place_and_are_not_asked_again_and_again() -> None:
    siege = Siege()
    peers = [f"198.51.100.{number}:6881" for number in range(1, 17)]
    siege.befriend(Liar(nodes=nodes_at(*peers, first=30)))
    siege.advance(600.0)
    assert len(siege.node.subscribers(TOPIC.text)) == 3
    for peer in peers:
        assert sum(queries_to(siege, peer).values()) <= 4


def test_of_one_answer_only_some_nodes_are_taken() -> None:
    siege = Siege(neighbours=0)
    peers = [f"198.51.{number}.1:6881" for number in range(100)]
    # Each in a bucket of its own: there would be a place for all of them.
    named = [
        NodeInfo((1 << number + 9).to_bytes(20, "big"), peer) for number, peer in enumerate(peers)
    ]
    siege.befriend(Liar(nodes=compact_nodes(named)))
    siege.advance(60.0)
    assert 1 <= len({each.peer for each in siege.sent} & set(peers)) <= 16


def test_our_own_address_and_id_are_not_asked() -> None:
    siege = Siege()
    nodes = compact_nodes([NodeInfo(node_id(40), OWN_PEER), NodeInfo(OWN_ID, "198.51.100.9:1")])
    siege.befriend(Liar(nodes=nodes))
    siege.advance(600.0)
    assert {OWN_PEER, "198.51.100.9:1"}.isdisjoint(each.peer for each in siege.sent)


@pytest.mark.parametrize(
    "peer", ["0.0.0.0:6881", "255.255.255.255:6881", "224.0.0.251:5353", "10.0.0.9:0"]
)
def test_an_address_that_is_no_machines_is_not_sent_to(peer: str) -> None:
    siege = Siege()
    siege.befriend(Liar(nodes=nodes_at(peer, first=30)))
    siege.advance(60.0)
    assert peer not in {each.peer for each in siege.sent}


def test_liars_cannot_have_us_flood_a_victim() -> None:
    siege = Siege(neighbours=3)
    ports = iter(range(1024, 65536))
    for number in range(60, 70):
        liar = Liar(number)
        victims = [f"{VICTIM}:{next(ports)}" for _ in range(40)]
        # Ids near our own: there is always a place for them.
        liar.says = {
            b"nodes": compact_nodes(
                [
                    NodeInfo(bytes(10) + number.to_bytes(5, "big") + at.to_bytes(5, "big"), peer)
                    for at, peer in enumerate(victims, 1)
                ]
            )
        }
        siege.befriend(liar)
    siege.advance(600.0)
    packets = sum(each.peer.startswith(VICTIM) for each in siege.sent)
    told = sum(each.peer.startswith("192.0.2.") for each in siege.sent)
    assert packets <= 2 * told, f"{packets} packets to the victim for {told} questions"
    siege.goes_on()


@pytest.mark.parametrize("nodes", [b"x" * 3000, b"x" * 25, 7, [b"x" * 26], {b"x": b""}, b""])
def test_nodes_that_are_no_nodes_do_no_harm(nodes: object) -> None:
    siege = Siege()
    siege.befriend(Liar(nodes=nodes, nodes6=nodes, values=nodes))
    siege.advance(60.0)
    siege.goes_on()


def test_a_crowd_of_liars_near_our_id_does_not_make_the_table_endless() -> None:
    siege = Siege(neighbours=3)
    for number in range(600):
        liar = Neighbour(number + 1)
        liar.peer = f"198.51.{number // 200}.{number % 200 + 1}:6881"
        liar.id = (1 << number % 158 | number).to_bytes(20, "big")
        siege.befriend(liar)
    sizes = siege.node.sizes()
    assert sizes["overlay_entries"] <= 160 + 16
    assert sizes["overlay_spares"] <= 160 * 4
    siege.feed(Received(HOSTILE, b""))


# ---- silence


def test_neighbours_that_fall_silent_leave_and_the_rest_goes_on() -> None:
    siege = Siege(neighbours=4)
    silent = list(siege.neighbours)[2:]
    for peer in silent:
        del siege.neighbours[peer]
    siege.put("198.51.100.1:1", item(1))
    siege.advance(600.0)
    assert set(silent).isdisjoint(siege.node.subscribers(TOPIC.text))
    siege.goes_on()
