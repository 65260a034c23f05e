"""Fragments: cut, put together, and given up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.ndn.faces.fragments import fragments
from rumormill.ndn.wire.link import NackReason, decode_link, encode_link
from rumormill.ndn.wire.tlv import MOST_PACKET
from tests.helpers.ndn.faces import DATAGRAM, Came, FaceBench, data, interest

LARGE = data("/a", b"x" * 5000)


@given(
    st.integers(1, MOST_PACKET).map(lambda size: (b"0123456789" * 1000)[:size]),
    st.binary(max_size=32),
    st.sampled_from([None, 0, 50, 150, 1 << 40]),
    st.integers(0, (1 << 64) - 1),
    st.integers(256, MOST_PACKET),
)
def test_fragments_hold_the_packet_and_are_no_larger_than_said(
    packet: bytes, token: bytes, nack: int | None, sequence: int, mtu: int
) -> None:
    raws = fragments(packet, token, nack, sequence, mtu)
    assert all(len(raw) <= mtu for raw in raws)
    links = [decode_link(raw) for raw in raws]
    assert b"".join(link.fragment for link in links) == packet
    assert [link.index for link in links] == list(range(len(links)))
    assert {link.count for link in links} == {len(links)}
    assert [link.sequence for link in links] == [
        (sequence + index) % (1 << 64) for index in range(len(links))
    ]
    assert (links[0].token, links[0].nack) == (token, nack)
    assert all(link.token == b"" and link.nack is None for link in links[1:])


def sent_in_fragments(mtu: int) -> list[bytes]:
    bench = FaceBench(mtu=mtu)
    bench.datagram(interest("/a").raw)
    bench.sink.take()
    bench.sink.up[0].send_data(LARGE, b"token")
    bench.end_turn()
    return bench.sent()


def test_a_packet_above_the_mtu_leaves_in_fragments() -> None:
    raws = sent_in_fragments(mtu=1400)
    assert len(raws) == 4
    assert all(len(raw) <= 1400 for raw in raws)


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=6))
def test_fragments_may_come_in_any_order_and_twice(order: list[int], again: list[int]) -> None:
    raws = sent_in_fragments(mtu=1400)
    bench = FaceBench()
    for index in [*order[:2], *again, *order[2:]]:
        bench.datagram(raws[index])
    came = bench.sink.take()
    assert len(came) >= 1
    assert (came[0].packet, came[0].token) == (LARGE, b"token")
    bench.advance(1)
    assert bench.sizes()["reassemblies"] == bench.sizes()["reassembly_bytes"] == 0


def test_a_nack_in_fragments_is_one() -> None:
    bench = FaceBench()
    asked = interest("/a", parameters=b"p" * 2000)
    for raw in fragments(asked.raw, b"t", NackReason.CONGESTION, 7, 1400):
        bench.datagram(raw)
    assert bench.sink.take() == [Came("nack", bench.sink.up[0], asked, b"t", NackReason.CONGESTION)]


def test_fragments_of_two_senders_are_not_mixed() -> None:
    raws = sent_in_fragments(mtu=1400)
    bench = FaceBench()
    for index, raw in enumerate(raws):
        bench.datagram(raw, f"udp://192.0.2.{index}:1")
    assert bench.sink.take() == []
    assert bench.sizes()["reassemblies"] == 4


def test_what_is_not_whole_in_time_is_dropped_and_counted() -> None:
    raws = sent_in_fragments(mtu=1400)
    bench = FaceBench(reassembly_timeout=0.5)
    for raw in raws[:-1]:
        bench.datagram(raw)
    assert bench.sizes()["reassembly_bytes"] > 3000
    bench.advance(0.6)
    (event,) = bench.events("dropped", what="fragments", reason="incomplete")
    assert (event.fields["address"], event.fields["count"]) == (DATAGRAM, 3)
    assert bench.sizes()["reassembly_bytes"] == 0
    bench.datagram(raws[-1])
    assert bench.sink.take() == []
    assert bench.sink.up == []  # nothing that could be read came of it


def test_fragments_that_never_complete_take_no_memory() -> None:
    bench = FaceBench(max_reassemblies=100, max_face_reassemblies=20, max_reassembly_bytes=100_000)
    for number in range(2000):
        raw = encode_link(b"x" * 1000, sequence=number * 10, index=number % 3, count=4)
        bench.datagram(raw, f"udp://192.0.2.{number % 7}:1")
        sizes = bench.sizes()
        assert sizes["reassemblies"] <= 100
        assert sizes["reassembly_bytes"] <= 100_000 + 2000
    dropped = bench.events("dropped", what="fragments", reason="too_many_incomplete")
    assert len(dropped) >= 1000
    bench.advance(120)
    sizes = bench.sizes()
    assert sizes["reassemblies"] == sizes["reassembly_bytes"] == 0


def test_who_leaves_much_incomplete_loses_its_own() -> None:
    bench = FaceBench(max_reassemblies=100, max_face_reassemblies=5)
    honest = sent_in_fragments(mtu=1400)
    bench.datagram(honest[0], "udp://198.51.100.1:1")
    for number in range(300):
        bench.datagram(encode_link(b"x", sequence=number * 10, index=0, count=2))
        assert bench.sizes()["reassemblies"] <= 6
    for raw in honest[1:]:
        bench.datagram(raw, "udp://198.51.100.1:1")
    assert [came.packet for came in bench.sink.take()] == [LARGE]


def test_tiny_fragments_take_no_memory_either() -> None:
    bench = FaceBench(max_reassembly_bytes=64 * 1024)
    for number in range(5000):
        sequence, index = divmod(number, 250)
        bench.datagram(encode_link(b"x", sequence=sequence * 1000 + index, index=index, count=256))
        assert bench.sizes()["reassembly_bytes"] <= 64 * 1024 + 129


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (encode_link(b"x", sequence=1, index=3, count=300), "bad_fragment"),
        (b"\x64\x09\x52\x01\x00\x53\x01\x02\x50\x01x", "bad_fragment"),  # without a sequence
    ],
)
def test_fragments_that_cannot_be_are_refused(raw: bytes, reason: str) -> None:
    bench = FaceBench()
    bench.datagram(raw)
    assert bench.events("protocol_error", reason=reason)
    assert bench.sizes()["reassemblies"] == 0


def test_fragments_that_contradict_each_other_are_dropped() -> None:
    bench = FaceBench()
    bench.datagram(encode_link(b"x", sequence=1, index=0, count=3))
    bench.datagram(encode_link(b"x", sequence=2, index=1, count=4))
    assert bench.events("protocol_error", reason="bad_fragment")
    assert bench.sizes()["reassemblies"] == 0


def test_no_packet_gets_larger_than_it_may_by_fragments() -> None:
    bench = FaceBench()
    for index in range(8):
        bench.datagram(encode_link(b"x" * 1200, sequence=index, index=index, count=8))
    assert bench.events("protocol_error", reason="packet_too_large")
    assert bench.sizes()["reassembly_bytes"] <= 1200 + 128


def test_a_face_that_goes_takes_its_fragments_along() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.write(encode_link(b"x" * 100, sequence=1, index=0, count=3))
    assert bench.sizes()["reassemblies"] == 1
    other.leave()
    assert bench.sizes()["reassemblies"] == 0
