"""IDONTWANT on the wire: as a real go node writes it, and read under the limits of all control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.pubsub.outbound.queue import PeerQueue
from rumormill.libp2p.wire import GOSSIP_KINDS, Control, ControlKinds, Rpc, RpcLimits, decode_rpc
from rumormill.libp2p.wire.control import Budget
from rumormill.libp2p.wire.dont_want import IDONTWANT, MOST_WAITING_ID_BYTES, IDontWant
from rumormill.libp2p.wire.limits import DEFAULT_LIMITS, TAKEN_BY_ALL
from rumormill.libp2p.wire.merging import ID_COST
from tests.helpers.libp2p import wire_vectors
from tests.helpers.libp2p.rpc_encoding import encode_rpc

KINDS = ControlKinds(*GOSSIP_KINDS, IDONTWANT)


def said(rpc: bytes) -> list[IDontWant]:
    control = decode_rpc(rpc, kinds=KINDS).control
    return [] if control is None else list(control.of(IDontWant))


@pytest.mark.parametrize("version", ["meshsub-1.2.0", "meshsub-1.3.0"])
def test_what_go_says_is_read_and_written_byte_for_byte(version: str) -> None:
    frames = [
        frame for probe in "BCD" for frame in wire_vectors.frames(version, "to", probe)
        if said(frame.rpc)
    ]  # fmt: skip
    assert frames
    author = wire_vectors.identity("probe C").peer_id
    for frame in frames:
        (entry,) = said(frame.rpc)
        (message_id,) = entry.message_ids
        assert message_id[:-8] == author
        queue = PeerQueue(10, 1000)
        queue.control(IDONTWANT, entry)
        assert queue.packet(1000, 1000, 1000, TAKEN_BY_ALL) == frame.raw


@pytest.mark.parametrize("version", ["meshsub-1.1.0", "meshsub-1.0.0", "floodsub-1.0.0"])
def test_go_says_it_to_no_older_peer(version: str) -> None:
    frames = [frame for probe in "BCD" for frame in wire_vectors.frames(version, "to", probe)]
    assert frames
    assert [entry for frame in frames for entry in said(frame.rpc)] == []


@given(st.lists(st.lists(st.binary(max_size=60), max_size=5).map(tuple), max_size=5))
def test_what_is_written_reads_back_the_same(groups: list[tuple[bytes, ...]]) -> None:
    entries = tuple(IDontWant(ids) for ids in groups)
    rpc = Rpc(control=Control(entries))
    assert decode_rpc(encode_rpc(rpc, KINDS), kinds=KINDS) == rpc


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_or_refused_and_nothing_else(raw: bytes) -> None:
    try:
        entry = IDONTWANT.decode(raw, Budget(DEFAULT_LIMITS))
    except RemoteProtocolError as error:
        assert error.reason.isidentifier()
    else:
        assert IDONTWANT.decode(IDONTWANT.encode(entry), Budget(DEFAULT_LIMITS)) == entry


def test_unknown_fields_are_kept() -> None:
    later = bytes_field(7, b"later")
    entry = IDONTWANT.decode(bytes_field(1, b"id") + later, Budget(DEFAULT_LIMITS))
    assert entry == IDontWant((b"id",), later)


def test_its_ids_count_with_those_of_all_control() -> None:
    limits = RpcLimits(message_ids=3)
    rpc = encode_rpc(
        Rpc(control=Control((IDontWant((b"a", b"b")), IDontWant((b"c", b"d"))))), KINDS
    )
    with pytest.raises(RemoteProtocolError, match="3 in one RPC"):
        decode_rpc(rpc, limits, KINDS)


def test_what_waits_for_a_peer_is_bounded_and_told_once() -> None:
    queue = PeerQueue(10, 1000)
    ids = [number.to_bytes(40, "big") for number in range(2000)]
    most = MOST_WAITING_ID_BYTES // (40 + ID_COST)
    assert queue.control(IDONTWANT, IDontWant(tuple(ids[:most]))) == 0
    assert queue.control(IDONTWANT, IDontWant(tuple(ids[:most]))) == 0
    assert queue.control(IDONTWANT, IDontWant(tuple(ids[most:]))) == 2000 - most
