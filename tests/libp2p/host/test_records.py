"""Signed records over identify: the one that we tell, and those that peers bring."""

from __future__ import annotations

from typing import Any

from rumormill.core import trace
from rumormill.core.transport import Listening
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.records import RECORDS_BURST
from rumormill.libp2p.stack.connection import StreamData, StreamOpened
from rumormill.libp2p.stack.identify import (
    IDENTIFY,
    IDENTIFY_PUSH,
    IdentifyInfo,
    decode_identify,
    encode_identify,
)
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_record import (
    CertifiedRecord,
    open_peer_record,
    sign_peer_record,
)
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from tests.helpers.libp2p.host_net import FAKE_PROTOCOL, HostNet, RawPeer, key

ALICE, BOB = key("alice"), key("bob")
ELSEWHERE = "/ip4/192.0.2.9/tcp/9"


def own_record(net: HostNet, host: Host, bob: RawPeer) -> CertifiedRecord:
    """What the host tells Bob of itself when he asks."""
    stream = bob.connection.open_stream((IDENTIFY,), net.now)
    net.flush(bob)
    net.run(0.2)
    said = b"".join(each.data for each in bob.of(StreamData) if each.stream == stream)
    (frame,) = FrameReader(10_000).feed(said)
    return open_peer_record(decode_identify(frame).signed_peer_record, ALICE.peer_id)


def push(net: HostNet, bob: RawPeer, record: bytes) -> None:
    """Bob tells of himself."""
    stream = bob.connection.open_stream((IDENTIFY_PUSH,), net.now)
    net.flush(bob)
    net.run(0.1)
    info = IdentifyInfo(protocols=(FAKE_PROTOCOL,), signed_peer_record=record)
    bob.connection.write(stream, length_prefixed(encode_identify(info)))
    bob.connection.close_stream(stream)
    net.flush(bob)
    net.run(0.1)


def scene(**parameters: Any) -> tuple[HostNet, Host, RawPeer]:
    net = HostNet()
    host = net.host("alice", **parameters)
    bob = net.raw("bob", FAKE_PROTOCOL)
    net.connect(host, bob)
    return net, host, bob


def bobs(sequence: int, port: int = 4001) -> bytes:
    return sign_peer_record(BOB, sequence, [Multiaddr("ip4", "192.0.2.7", port)])


def known(host: Host) -> int | None:
    record = host.address_book.get(BOB.peer)
    return None if record is None else record.sequence


# ---- our own


def test_identify_has_our_record_with_our_addresses() -> None:
    net, host, bob = scene()
    record = own_record(net, host, bob)
    assert record.peer == host.peer
    assert [str(each) for each in record.addresses] == [net.seat(host).address]


def test_a_host_that_moves_says_so_with_a_higher_number() -> None:
    net, host, bob = scene()
    before = own_record(net, host, bob)
    net.feed(host, Listening((ELSEWHERE, "/ip4/192.0.2.8/tcp/8")))
    between = open_peer_record(host._records.own, ALICE.peer_id)
    net.feed(host, Listening((ELSEWHERE,)))
    after = own_record(net, host, bob)
    assert [str(each) for each in after.addresses] == [ELSEWHERE]
    assert after.sequence > between.sequence > before.sequence, "at the same moment, too"


def test_the_number_grows_over_a_restart_as_it_begins_with_the_time() -> None:
    net, host, bob = scene()
    before = own_record(net, host, bob).sequence
    net.run(1.0)
    again = net.host("alice", listen=False)
    net.feed(again, Listening((ELSEWHERE,)))
    assert again._records._sequence > before


def test_peers_are_told_by_a_push_where_we_went() -> None:
    net, host, bob = scene()
    bob.protocols = (FAKE_PROTOCOL, IDENTIFY_PUSH)
    net.feed(host, Listening((ELSEWHERE,)))
    net.run()
    (stream,) = [each.stream for each in bob.of(StreamOpened) if each.protocol == IDENTIFY_PUSH]
    said = b"".join(each.data for each in bob.of(StreamData) if each.stream == stream)
    (frame,) = FrameReader(10_000).feed(said)
    record = open_peer_record(decode_identify(frame).signed_peer_record, ALICE.peer_id)
    assert [str(each) for each in record.addresses] == [ELSEWHERE]


def test_who_cannot_be_dialed_has_no_record() -> None:
    net = HostNet()
    host = net.host("alice", listen=False)
    net.feed(host, Listening((ELSEWHERE,)))
    assert host._records.own
    net.feed(host, Listening(()))
    assert host._records.own == b""


# ---- those of others


def test_hosts_that_meet_have_each_others_record() -> None:
    net = HostNet()
    alice, bob = net.host("alice"), net.host("bob")
    net.connect(alice, bob)
    for one, other in ((alice, bob), (bob, alice)):
        record = one.address_book.get(other.peer)
        assert record is not None
        assert [str(each) for each in record.addresses] == [net.seat(other).address]
        assert len(one.address_book) == 1
        assert net.traces(one, trace.PROTOCOL_ERROR) == []


def test_the_newest_record_of_a_peer_holds() -> None:
    net, host, bob = scene()
    for sequence in (5, 7, 6):
        push(net, bob, bobs(sequence))
    assert known(host) == 7
    (ignored,) = net.traces(host, trace.IGNORED)
    assert (ignored.peer, ignored.fields["reason"]) == (BOB.peer, "old_peer_record")


def test_a_record_that_is_not_the_peers_own_is_a_fault_and_the_rest_is_heard() -> None:
    net, host, bob = scene()
    others = sign_peer_record(key("carol"), 1, [])
    forged = bobs(1)[:-1] + b"\x00"
    for raw in (others, forged, b"nonsense"):
        push(net, bob, raw)
    assert known(host) is None and len(host.address_book) == 0
    faults = [each.fields["reason"] for each in net.traces(host, trace.PROTOCOL_ERROR)]
    assert faults == ["record_of_other_peer", "forged_record", "bad_envelope"]
    assert len(net.traces(host, trace.PEER_IDENTIFIED)) == 3 and host.peers() == (BOB.peer,)


def test_a_peer_that_moves_all_the_time_is_not_followed_everywhere() -> None:
    net, host, bob = scene()
    for sequence in range(1, 20):
        push(net, bob, bobs(sequence))
        push(net, bob, bobs(sequence))
    assert known(host) == int(RECORDS_BURST), "what it said before is not looked at again"
    refused = [each.fields["reason"] for each in net.traces(host, trace.IGNORED)]
    assert set(refused) == {"peer_record_too_often"}
    net.run(11.0)
    push(net, bob, bobs(99))
    assert known(host) == 99, "after a while it is"


def test_the_book_has_room_for_so_many() -> None:
    net = HostNet()
    host = net.host("alice", max_peer_records=3)
    for number in range(6):
        other = net.host(f"peer {number}")
        net.connect(other, host)
    assert len(host.address_book) == 3 and len(host.peers()) == 6
