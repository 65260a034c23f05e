"""Link packets: what neighbours say to each other around a packet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.encoding.ndnlp_v2 import NackReason as PythonNackReason
from ndn.encoding.ndnlp_v2 import make_network_nack, parse_lp_packet

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.interest import encode_interest
from rumormill.ndn.wire.link import (
    LONGEST_TOKEN,
    LinkPacket,
    NackReason,
    decode_link,
    encode_link,
)
from rumormill.ndn.wire.name import component
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.wire import NUMBERS, packet

INTEREST = encode_interest(component(b"a"), nonce=b"1234").raw


def link(*parts: bytes | str) -> bytes:
    return packet(0x64, *parts)


def reason(raw: bytes) -> str:
    try:
        decode_link(raw)
    except RemoteProtocolError as error:
        return error.reason
    return ""


# ---- byte for byte


def test_a_packet_without_fields_goes_as_it_is() -> None:
    assert encode_link(INTEREST) is INTEREST
    assert decode_link(INTEREST) == LinkPacket(INTEREST)
    assert decode_link(INTEREST).fragment is INTEREST


def test_tokens_have_up_to_32_bytes() -> None:
    for size in (1, LONGEST_TOKEN):
        assert decode_link(encode_link(INTEREST, bytes(size))).token == bytes(size)
        assert decode_link(encode_link(INTEREST, bytes(size), nack=1)).token == bytes(size)
    assert reason(encode_link(INTEREST, bytes(LONGEST_TOKEN + 1))) == "bad_link"


def test_a_token_stands_before_the_packet() -> None:
    assert encode_link(b"\x05\x00", b"token!") == bytes.fromhex("640c 6206746f6b656e21 5002 0500")


@pytest.mark.parametrize(
    "why", [NackReason.CONGESTION, NackReason.DUPLICATE, NackReason.NO_ROUTE, 7, 1000]
)
def test_nacks_are_written_and_read_as_python_ndn_does(why: int) -> None:
    ours = encode_link(INTEREST, nack=why)
    assert ours == make_network_nack(INTEREST, why)
    assert decode_link(ours) == LinkPacket(INTEREST, nack=why)
    found, fragment = parse_lp_packet(ours)
    assert found == why and bytes(fragment) == INTEREST


def test_a_nack_need_not_say_why() -> None:
    assert decode_link(link("fd032000", "5000")).nack == NackReason.NONE
    assert decode_link(link("fd032002 f000", "5000")).nack == NackReason.NONE
    # python-ndn would take an empty element for no Nack.
    ours = encode_link(INTEREST, nack=NackReason.NONE)
    assert ours.startswith(bytes.fromhex("641c fd032005 fd03210100 5011"))
    assert parse_lp_packet(ours)[0] == PythonNackReason.NONE


def test_fragments_have_a_sequence_of_eight_bytes() -> None:
    raw = encode_link(b"part", sequence=1, index=2, count=3)
    assert raw == link("5108 0000000000000001 520102 530103 5004", b"part")
    assert decode_link(raw) == LinkPacket(b"part", sequence=1, index=2, count=3)
    assert encode_link(b"all", sequence=1) == link("5108 0000000000000001 5003", b"all")


# ---- there and back


@given(
    st.binary(max_size=300) | st.integers(65_530, 65_540).map(bytes),
    st.binary(max_size=LONGEST_TOKEN),
    st.none() | NUMBERS,
    st.none() | NUMBERS,
    st.tuples(st.integers(0, 1000), st.integers(1, 1000)),
    NUMBERS,
)
def test_what_was_written_is_read(
    fragment: bytes,
    token: bytes,
    nack: int | None,
    sequence: int | None,
    part: tuple[int, int],
    congestion: int,
) -> None:
    index, count = (part[0], part[0] + part[1]) if sequence is not None else (0, 1)
    raw = encode_link(fragment, token, nack, sequence, index, count, congestion)
    if not raw or (raw is fragment and raw[0] == 0x64):
        return
    assert decode_link(raw) == LinkPacket(fragment, token, nack, sequence, index, count, congestion)


def test_all_fields_are_read() -> None:
    raw = link("5108 00000000000000ff 520100 530102 620101 fd032c0107 fd03300108 fd03400101 500105")
    assert decode_link(raw) == LinkPacket(b"\x05", b"\x01", None, 255, 0, 2, 1, 7, 8)


def test_a_packet_may_have_nothing_in_it() -> None:
    assert decode_link(link()) == LinkPacket(b"")
    assert decode_link(link("620101")) == LinkPacket(b"", b"\x01")
    assert decode_link(link("fd03440800000000000000fd")) == LinkPacket(b"")


# ---- what is ignored, and what is not


@pytest.mark.parametrize("type", [800 + 12 + 24, 0x034C, 0x0350, 804, 956])
def test_unknown_fields_that_may_be_ignored_are(type: int) -> None:
    assert decode_link(link("620101", tlv(type, b"?"), "5000")) == LinkPacket(b"", b"\x01")


@pytest.mark.parametrize(
    "type", [1, 5, 0x54, 0x63, 0xF0, 796, 801, 802, 803, 957, 960, 1000, 65536]
)
def test_other_unknown_fields_make_it_unreadable(type: int) -> None:
    assert reason(link(tlv(type, b"?"), "5000")) == "unknown_critical"
    assert reason(link("620101", tlv(type, b"?"), "5000")) == "unknown_critical"


def test_acknowledgements_come_in_any_number() -> None:
    ack = "fd03440800000000000000fd"
    assert decode_link(link("620101", ack, ack, ack, "500105")) == LinkPacket(b"\x05", b"\x01")


@pytest.mark.parametrize(
    "parts",
    [
        "520100 5108 0000000000000001 5000",
        "620101 520100 5000",
        "620101 620101 5000",
        "fd03400101 fd032000 5000",
        "fd032000 620101 5000",
        "520100 520100 5000",
    ],
)
def test_fields_come_in_order_and_once(parts: str) -> None:
    assert reason(link(parts)) == "bad_link"


@pytest.mark.parametrize(
    "parts", ["5000 620101", "5000 5000", "620101 5000 fd03400101", "5000 fd032400"]
)
def test_nothing_comes_behind_the_fragment(parts: str) -> None:
    assert reason(link(parts)) == "bad_link"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("6200 5000", "bad_link"),
        ("6221" + "00" * 33 + "5000", "bad_link"),
        ("520100 6200", "bad_link"),
        ("5104 00000001 5000", "bad_link"),
        ("5200 5000", "bad_number"),
        ("520101 5000", "bad_link"),
        ("530100 5000", "bad_link"),
        ("520102 530102 5000", "bad_link"),
        ("fd032003 fd0321 5000", "bad_tlv"),
        ("fd032004 fd032100 5000", "bad_number"),
        ("fd032004 fd032300 5000", "unknown_critical"),
        ("fd0320 0a fd03210101 fd03210102 5000", "unknown_critical"),
        ("fd034003 010203 5000", "bad_number"),
    ],
)
def test_fields_of_another_form_are_refused(parts: str, expected: str) -> None:
    assert reason(link(parts)) == expected


@pytest.mark.parametrize(
    "raw", ["", "64", "6401", "640150", "64025001", "6403620501", "64016200", "64fd"]
)
def test_what_is_not_whole_is_refused(raw: str) -> None:
    assert reason(bytes.fromhex(raw)) in ("bad_tlv", "bad_link")


def test_lengths_of_fragments_are_in_their_shortest_form() -> None:
    assert decode_link(link("50fd00fe", bytes(254))).fragment == bytes(254)
    assert decode_link(link("50fd0100", bytes(256))).fragment == bytes(256)
    assert reason(link("50fd0004 01020304")) == "bad_tlv"
    assert reason(link("50fd0101", bytes(256))) == "bad_link"
