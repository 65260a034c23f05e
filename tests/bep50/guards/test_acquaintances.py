"""What shows in an unread packet that its sender is at its own address."""

from __future__ import annotations

from random import Random

from rumormill.bep50.guards.acquaintances import Known
from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.guards.sources import network_of, source_of
from rumormill.bep50.guards.tokens import Tokens
from rumormill.bep50.wire.krpc import answer_packet, failure_packet, query_packet

PEER, OTHER = "10.0.0.1:6881", "10.0.0.2:6881"
TOPIC = b"t" * 20
TOKENS = Tokens(Random(1))
ASKED = {(PEER, TOPIC, b"aaaa"), (PEER, None, b"bbbb")}


def known() -> Known:
    proofs = ProvenAddresses(600.0, 100)
    return Known(lambda peer: False, proofs, TOKENS, lambda *answer: answer in ASKED)


def vouched(packet: bytes, peer: str = PEER) -> bool:
    return known().vouched(peer, packet, 0.0)


def test_a_token_of_the_address_vouches_for_a_query() -> None:
    token = TOKENS.token(PEER, 0.0)
    raw = query_packet(b"zz", "get", {b"id": b"n" * 20, b"token": token}, TOPIC)
    assert vouched(raw)
    assert not vouched(raw, OTHER)
    assert not vouched(query_packet(b"zz", "get", {b"id": b"n" * 20, b"token": bytes(8)}, TOPIC))
    assert not vouched(query_packet(b"zz", "get", {b"id": b"n" * 20}, TOPIC))


def test_the_transaction_of_our_query_vouches_for_an_answer_and_an_error() -> None:
    values = {b"id": b"n" * 20, b"token": b"x" * 8}
    assert vouched(answer_packet(b"aaaa", {**values}, TOPIC, b"\1\2\3\4\5\6"))
    assert vouched(failure_packet(b"aaaa", 203, "no", TOPIC))
    assert vouched(answer_packet(b"bbbb", {**values}))
    assert not vouched(answer_packet(b"aaaa", {**values}, TOPIC), OTHER)
    assert not vouched(answer_packet(b"bbbb", {**values}, TOPIC)), "it is of another table"
    assert not vouched(query_packet(b"aaaa", "ping", {**values}, TOPIC)), "it is no answer"


def test_noise_vouches_for_nothing() -> None:
    for packet in (b"", b"5:token8:", b"5:token8:abc", b"1:t4:1:y1:re", b"1:y1:re", bytes(50)):
        assert not vouched(packet)


def test_ports_and_the_lower_half_of_ipv6_make_no_other_source_but_on_loopback() -> None:
    assert source_of("10.0.0.1:1") == source_of("10.0.0.1:2") != source_of("10.0.0.2:1")
    assert source_of("[2001:db8::1]:1") == source_of("[2001:db8::ffff:2]:2")
    assert source_of("[2001:db8::1]:1") != source_of("[2001:db8:0:1::1]:1")
    assert source_of("127.0.0.1:1") != source_of("127.0.0.1:2")
    assert source_of("[::1]:1") != source_of("[::1]:2")
    assert network_of("127.0.0.1:1") == network_of("127.0.0.1:2")
