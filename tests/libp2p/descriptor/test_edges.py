"""Trust edges: signed for one topic, in one encoding, later words before earlier ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.descriptor.edges import TrustEdge, decode_edge, sign_edge
from tests.helpers.libp2p.private_network import id_of, key_of

TOPIC, OTHER = bytes(32), b"\1" * 32
EDGE = sign_edge(key_of("ann"), TOPIC, id_of("bob"), sequence=7, until=2_000_000_000)


def test_an_edge_is_worth_something_on_its_own_topic_alone() -> None:
    assert EDGE.verify(TOPIC) and not EDGE.verify(OTHER)


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": id_of("cid")},
        {"subject": id_of("cid")},
        {"sequence": 8},
        {"until": 2_000_000_001},
        {"until": 0},
        {"signature": bytes(64)},
        {"signature": b""},
        {"issuer": b"\x12\x20" + bytes(32)},
    ],
)
def test_nothing_of_an_edge_can_be_changed(change: dict[str, object]) -> None:
    assert not EDGE._replace(**change).verify(TOPIC)  # type: ignore[arg-type]


def test_a_message_of_pubsub_is_no_edge() -> None:
    """The signature covers a domain: what a peer publishes proves no trust."""
    unsigned = EDGE.signed_payload(TOPIC).removeprefix(b"libp2p-topic-trust:")
    signature = key_of("ann").sign(b"libp2p-pubsub:" + unsigned)
    assert not EDGE._replace(signature=signature).verify(TOPIC)


@given(st.integers(1, (1 << 63) - 1), st.integers(0, (1 << 63) - 1))
def test_what_is_encoded_decodes_to_the_same(sequence: int, until: int) -> None:
    edge = TrustEdge(id_of("ann"), id_of("bob"), sequence, until, bytes(64))
    assert decode_edge(edge.encode()) == edge


@given(st.binary(max_size=250))
def test_any_bytes_are_an_edge_or_refused(raw: bytes) -> None:
    try:
        assert decode_edge(raw).encode() == raw
    except RemoteProtocolError as error:
        assert error.reason == "bad_trust_edge"


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_spoilt_edge_is_refused_or_not_signed(place: int, value: int) -> None:
    raw = bytearray(EDGE.encode())
    raw[place % len(raw)] = value
    try:
        edge = decode_edge(bytes(raw))
    except RemoteProtocolError:
        return
    assert edge == EDGE or not edge.verify(TOPIC)


def test_of_two_words_with_one_number_the_revocation_counts_then_the_one_that_ends_first() -> None:
    short, long = (EDGE._replace(until=until) for until in (100, 200))
    revoked = EDGE._replace(until=0)
    assert revoked.weight > short.weight > long.weight
    assert EDGE._replace(sequence=8, until=200).weight > revoked.weight


def test_nobody_trusts_itself() -> None:
    with pytest.raises(LocalProtocolError):
        sign_edge(key_of("ann"), TOPIC, id_of("ann"), sequence=1, until=1)
    with pytest.raises(RemoteProtocolError):
        decode_edge(EDGE._replace(subject=EDGE.issuer).encode())


@pytest.mark.parametrize(("sequence", "until"), [(0, 1), (1 << 63, 1), (1, 1 << 63), (1, -1)])
def test_numbers_out_of_range_are_refused(sequence: int, until: int) -> None:
    with pytest.raises(LocalProtocolError):
        sign_edge(key_of("ann"), TOPIC, id_of("bob"), sequence=sequence, until=until)
