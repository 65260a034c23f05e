"""Whatever a datagram holds: the node neither raises nor says what is no packet, and goes on."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.wire.bencode import Dict, Value, encode
from rumormill.bep50.wire.krpc import Query, answer_packet, read_packet
from tests.helpers.bep50.siege import (
    KEY,
    TOPIC,
    Neighbour,
    Siege,
    item,
    item_values,
    node_id,
    nodes_at,
    put_arguments,
)

HOSTILE = "192.0.2.66:6666"

VALUES: st.SearchStrategy[Value] = st.recursive(
    st.integers(-3, 2**64) | st.binary(max_size=30) | st.sampled_from([b"n" * 20, TOPIC.target]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.binary(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
METHODS = st.sampled_from([b"ping", b"find_node", b"get", b"put", b"get_peers", b"vote"])

GOOD: dict[bytes, Any] = put_arguments(item(3), b"token", target=TOPIC.target)
GOOD |= {b"nodes": nodes_at("198.51.100.1:1"), b"nodes6": b"", b"want": [b"n4", b"n6"]}
FIELDS: st.SearchStrategy[Dict] = st.fixed_dictionaries(
    {}, optional={key: st.just(each) | VALUES for key, each in [*GOOD.items(), (b"cas", 1)]}
)

ERROR: st.SearchStrategy[Value] = st.just([203, b"no"])
PACKETS = st.fixed_dictionaries(
    {b"t": st.just(b"aa") | VALUES, b"y": st.sampled_from([b"q", b"r", b"e"]) | VALUES},
    optional={
        b"a": FIELDS | VALUES,
        b"c": st.just(TOPIC.target) | VALUES,
        b"e": ERROR | VALUES,
        b"ip": VALUES,
        b"q": METHODS | VALUES,
        b"r": FIELDS | VALUES,
        b"ro": st.integers(0, 2) | VALUES,
        b"v": VALUES,
    },
).map(encode)


def sane(siege: Siege) -> None:
    """All that was sent are packets, none of them large."""
    for each in siege.sent:
        read_packet(each.packet)
        assert len(each.packet) <= 1400


@given(st.lists(st.binary(max_size=60) | PACKETS, min_size=1, max_size=8))
def test_any_datagrams_from_a_stranger_do_no_harm(datagrams: list[bytes]) -> None:
    siege = Siege()
    for raw in datagrams:
        siege.say(HOSTILE, raw)
    siege.advance(30.0)
    sane(siege)
    assert siege.node.latest(TOPIC.text) is None
    siege.goes_on()


class Babbler(Neighbour):
    """A member whose answers have anything in them."""

    def __init__(self, says: list[Dict]) -> None:
        super().__init__(66, family="192.0.2.{}:6666")
        self._says = says
        self._turn = 0

    def answer(self, query: Query) -> list[bytes]:
        said = self._says[self._turn % len(self._says)]
        self._turn += 1
        return [answer_packet(query.transaction, {**said, b"id": self.id}, query.topic)]


@given(st.lists(FIELDS, min_size=1, max_size=6))
def test_any_answers_of_a_neighbour_do_no_harm(says: list[Dict]) -> None:
    siege = Siege()
    siege.befriend(Babbler(says))
    siege.advance(300.0)
    sane(siege)
    latest = siege.node.latest(TOPIC.text)
    assert latest in (None, item(3)), "the owner signed no other"
    siege.goes_on()


@given(st.lists(FIELDS, min_size=1, max_size=6), st.booleans())
def test_any_puts_with_a_good_token_do_no_harm(puts: list[Dict], wait: bool) -> None:
    siege = Siege(answer_checks=not wait)
    token = siege.token(HOSTILE)
    for arguments in puts:
        siege.ask(HOSTILE, "put", {**arguments, b"id": node_id(99), b"token": token})
    sane(siege)
    assert siege.node.latest(TOPIC.text) in (None, item(3))
    siege.goes_on()


@given(VALUES, st.integers(0, 2**62))
def test_any_value_that_the_owner_signed_comes_through_unchanged(value: Value, seq: int) -> None:
    siege = Siege()
    signed = KEY.item(TOPIC.salt, seq, encode(value))
    siege.put(HOSTILE, signed)
    assert siege.node.latest(TOPIC.text) == signed
    for neighbour in siege.neighbours.values():
        assert neighbour.item == signed
    values = item_values(signed)
    arguments: Dict = {b"id": node_id(99), b"target": TOPIC.target, b"token": siege.token(HOSTILE)}
    answer = siege.ask(HOSTILE, "get", arguments)
    assert answer is not None and values.items() <= answer.values.items()  # type: ignore[union-attr]
