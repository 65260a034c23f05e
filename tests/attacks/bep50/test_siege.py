"""Under siege: floods of datagrams against one node, and its honest neighbours who notice nothing.

Rows A1 and A8 of the adversary's table, in virtual time: a neighbour puts 60 values, twelve a
second, and attackers send 6,000 packets a second meanwhile, or 24,000. What is counted is work:
packets that were read, and signatures that were checked.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from random import Random

import pytest

from rumormill.bep50.overlay import node as node_module
from rumormill.bep50.wire.krpc import Answer, query_packet, read_packet
from rumormill.core import trace
from rumormill.core.gate import LONG_REST
from rumormill.core.machine import Check, Checked, Received, Verdict
from rumormill.core.trace import TraceEvent
from tests.helpers.bep50.siege import TOPIC, Siege, item, node_id, put_arguments

VALUES = 60
INTERVAL = 1 / 12
PACKETS = 500
"""Of the attack, for each value."""
MANY_PACKETS = 2_000

ASKER = "203.0.113.9:6881"
"""An honest stranger: it asks for each value, and the node has never heard of it."""

Attack = Callable[[Siege, str], Iterator[bytes]]


@pytest.fixture
def packets_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many packets the node has read."""
    counted = [0]

    def read(raw: bytes) -> object:
        counted[0] += 1
        return read_packet(raw)

    monkeypatch.setattr(node_module, "read_packet", read)
    yield counted


# ---- the attacks


def nested(siege: Siege, source: str) -> Iterator[bytes]:
    while True:
        yield b"l" * 100


def pings(siege: Siege, source: str) -> Iterator[bytes]:
    raw = query_packet(b"aa", "ping", {b"id": node_id(66)}, TOPIC.target, read_only=True)
    while True:
        yield raw


def distinct_topics(siege: Siege, source: str) -> Iterator[bytes]:
    random = Random(source)
    while True:
        yield query_packet(b"aa", "get", {b"id": node_id(66)}, random.randbytes(20))


def forged_puts(siege: Siege, source: str) -> Iterator[bytes]:
    token = siege.token(source)
    for number in count(1000):
        forged = item(1)._replace(seq=number, signature=number.to_bytes(64, "big"))
        yield query_packet(b"aa", "put", put_arguments(forged, token), TOPIC.target, True)


def puts_without_a_token(siege: Siege, source: str) -> Iterator[bytes]:
    raw = query_packet(b"aa", "put", put_arguments(item(1000), b"x" * 8), TOPIC.target, True)
    while True:
        yield raw


def queries(siege: Siege, source: str) -> Iterator[bytes]:
    raw = query_packet(
        b"aa", "get", {b"id": node_id(66), b"target": TOPIC.target}, TOPIC.target, read_only=True
    )
    while True:
        yield raw


def old_values(siege: Siege, source: str) -> Iterator[bytes]:
    token = siege.token(source)
    raw = query_packet(b"aa", "put", put_arguments(item(0), token), TOPIC.target, True)
    while True:
        yield raw


def unasked_answers(siege: Siege, source: str) -> Iterator[bytes]:
    raw = b"d1:c20:%b1:rd2:id20:%be1:t4:aaaa1:y1:re" % (TOPIC.target, node_id(66))
    while True:
        yield raw


ATTACKS: dict[str, tuple[Attack, int]] = {
    "nested (A1)": (nested, 30),
    "pings (A1)": (pings, 1_300),
    "distinct topics (A8)": (distinct_topics, 1_300),
    "forged puts (A8)": (forged_puts, 30),
    "puts without a token (A8)": (puts_without_a_token, 1_300),
    "queries (A8)": (queries, 1_300),
    "old values": (old_values, 1_300),
    "unasked answers": (unasked_answers, 2_500),
}
"""By name, with the packets of one source that are read at most, of 15,000 or more."""


def assail(siege: Siege, peer: str, raw: bytes) -> None:
    """Let an attacker send a packet, and keep of what follows only what names it."""
    effects = siege.node.handle(Received(peer, raw), siege.now)
    for effect in effects:
        if isinstance(effect, Check):
            siege.checks.append(effect)
            effects = effects + siege.node.handle(Checked(effect.token, Verdict.FORGED), siege.now)
    named = (trace.HELD_BACK, trace.PROTOCOL_ERROR)
    siege.trace += [
        each for each in effects if isinstance(each, TraceEvent) and each.event in named
    ]


def hold_out(
    siege: Siege, floods: list[tuple[str, Iterator[bytes]]], *, asked: bool, rate: int = PACKETS
) -> None:
    """Let the neighbours do their work while the attackers do theirs."""
    giver, taker = list(siege.neighbours.values())[:2]
    token = siege.token(giver.peer)
    siege.forget()
    turn = 0
    for seq in range(1, VALUES + 1):
        for _ in range(rate):
            peer, packets = floods[turn % len(floods)]
            turn += 1
            assail(siege, peer, next(packets))
        fresh = item(seq, f"value {seq}")
        giver.item = fresh
        answer = siege.ask(giver.peer, "put", put_arguments(fresh, token, giver.id))
        assert isinstance(answer, Answer), f"the neighbour is not heard, at value {seq}"
        assert taker.item == fresh, f"value {seq} does not go on"
        if asked:
            arguments = {b"id": node_id(9), b"target": TOPIC.target}
            got = siege.ask(ASKER, "get", {**arguments}, read_only=True)
            assert isinstance(got, Answer) and got.values[b"seq"] == seq
        siege.advance(INTERVAL)
    assert [message.fields["seq"] for message in siege.delivered] == list(range(1, VALUES + 1))


@pytest.mark.parametrize("attackers", [1, 8])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_flood_is_dropped_unread_and_the_honest_get_every_value(
    name: str, attackers: int, packets_read: list[int]
) -> None:
    attack, most_read = ATTACKS[name]
    siege = Siege()
    hostile = [f"192.0.2.{number}:6666" for number in range(1, attackers + 1)]
    floods = [(peer, attack(siege, peer)) for peer in hostile]
    honest = 40 * VALUES
    rate = PACKETS if attackers == 1 else MANY_PACKETS
    hold_out(siege, floods, asked=True, rate=rate)
    assert packets_read[0] <= attackers * most_read + honest
    checks = [check for check in siege.checks if check.peer in hostile]
    assert len(checks) <= 12 * attackers, "signatures of the attackers"
    held_back = {event.peer for event in siege.events(trace.HELD_BACK)}
    assert held_back == set(hostile), "the trace names them, and nobody else"
    dropped = siege.events(trace.DROPPED, what="datagram", reason="held_back")
    assert {event.peer for event in dropped} == set(hostile)
    siege.advance(LONG_REST + 5.0)
    told = sum(
        int(event.fields["count"] or 0) for event in siege.events(trace.DROPPED, what="datagram")
    )
    assert told >= 0.9 * (VALUES * rate - attackers * most_read), "every drop is counted"
    assert len(siege.events(trace.HELD_BACK)) <= 10 * attackers, "and summed up"


@pytest.mark.parametrize("attack", [queries, distinct_topics, nested])
def test_a_flood_of_forged_addresses_costs_a_share_and_neighbours_are_served_first(
    attack: Attack, packets_read: list[int]
) -> None:
    siege = Siege(most_addresses=5_000)
    packets = attack(siege, "192.0.2.1:6666")
    strangers = [
        f"198.{18 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}:6881"
        for number in range(50_000)
    ]
    tracemalloc.start()
    try:
        hold_out(siege, [(peer, packets) for peer in strangers], asked=False, rate=MANY_PACKETS)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 8 << 20, f"{held} bytes are held"
    # Twice the burst, and the share of five seconds, at 100 microseconds each (nested: 100, too).
    assert packets_read[0] <= 4_000 + 5_000 * 5 * 1.1 + 40 * VALUES
    sizes = siege.node.sizes()
    assert sizes["accounts"] <= 5_000 and sizes["resting"] <= 5_000
    siege.advance(5.0)
    assert siege.events(trace.DROPPED, what="datagram", reason="strangers")
    assert siege.ask(ASKER, "ping", {b"id": node_id(9)}) is not None, "and it is over"


@pytest.mark.parametrize("attack", [nested, pings, queries, unasked_answers])
def test_who_forges_the_address_of_a_neighbour_cannot_silence_it(
    attack: Attack, packets_read: list[int]
) -> None:
    siege = Siege()
    giver, taker = list(siege.neighbours)[:2]
    floods = [(peer, attack(siege, "192.0.2.1:6666")) for peer in (giver, taker)]
    hold_out(siege, floods, asked=True)
    assert packets_read[0] <= 2 * 2_500 + 40 * VALUES
    siege.advance(10.0)
    assert {giver, taker} <= set(siege.node.subscribers(TOPIC.text)), "their answers came in"


def test_a_neighbour_that_floods_under_its_own_name_is_dropped_unread(
    packets_read: list[int],
) -> None:
    siege = Siege(neighbours=3)
    hostile = list(siege.neighbours)[2]
    siege.neighbours.pop(hostile)
    hold_out(siege, [(hostile, forged_puts(siege, hostile))], asked=True)
    assert packets_read[0] <= 30 + 40 * VALUES
    assert {event.peer for event in siege.events(trace.HELD_BACK)} == {hostile}


def test_who_shares_the_address_of_an_attacker_is_heard_if_it_shows_its_token() -> None:
    siege = Siege()
    token = siege.token("192.0.2.1:7777")
    packets = nested(siege, "192.0.2.1:6666")
    for _ in range(1_000):
        assail(siege, "192.0.2.1:6666", next(packets))
    arguments = {b"id": node_id(9), b"target": TOPIC.target}
    assert siege.ask("192.0.2.1:7777", "get", {**arguments}, read_only=True) is None
    answer = siege.ask("192.0.2.1:7777", "get", {**arguments, b"token": token}, read_only=True)
    assert isinstance(answer, Answer)


def test_a_busy_honest_peer_never_meets_the_gate() -> None:
    """A thousand queries at once, a put of each new value, copies of each, and late answers."""
    siege = Siege(neighbours=3)
    giver, other = list(siege.neighbours.values())[:2]
    tokens = {peer.peer: siege.token(peer.peer) for peer in (giver, other)}
    siege.forget()
    seq = count(1)
    for _ in range(20):
        for _ in range(50):
            fresh = item(next(seq))
            for peer in (giver, other):  # the second brings a copy
                put = put_arguments(fresh, tokens[peer.peer], peer.id)
                assert isinstance(siege.ask(peer.peer, "put", put), Answer)
        for _ in range(150):
            assert siege.ask(giver.peer, "find_node", {b"id": giver.id, b"target": bytes(20)})
        siege.advance(1.0)
    assert not siege.events(trace.HELD_BACK)
    assert len(siege.delivered) == 1_000
