"""The DNS messages of mDNS: what is written can be read, what is none is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.discovery.mdns import dns

labels = st.binary(min_size=1, max_size=63).map(bytes.lower)
names = st.lists(labels, max_size=3).map(tuple)
strings = st.lists(st.binary(max_size=255), min_size=1, max_size=4)

HEADER = struct.Struct("!6H")


def response(*records: bytes) -> bytes:
    return HEADER.pack(0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


@given(st.binary(max_size=600))
def test_any_bytes_are_a_message_or_refused(raw: bytes) -> None:
    try:
        message = dns.decode_message(raw)
    except RemoteProtocolError as error:
        assert error.reason == "bad_dns"
    else:
        assert len(message.questions) + len(message.records) <= dns.MOST_ENTRIES


@given(names)
def test_a_question_is_read_as_it_was_written(name: dns.Name) -> None:
    message = dns.decode_message(dns.encode_query(name, dns.TXT))
    assert message == dns.Message(False, (dns.Question(name, dns.TXT),), ())


@given(names, names, strings, st.integers(0, 2**32 - 1))
def test_records_are_read_as_they_were_written(
    name: dns.Name, target: dns.Name, texts: list[bytes], ttl: int
) -> None:
    raw = dns.encode_response(
        [dns.encode_record(name, dns.PTR, ttl, dns.encode_name(target), ours=False)],
        [dns.encode_record(target, dns.TXT, ttl, dns.encode_strings(texts))],
    )
    pointer, text = dns.decode_message(raw).records
    assert (pointer.name, pointer.type, pointer.ttl, pointer.target) == (name, 12, ttl, target)
    assert (text.name, text.type, text.ttl, text.strings) == (target, 16, ttl, tuple(texts))


def test_a_name_may_end_in_a_pointer_to_an_earlier_one() -> None:
    first = dns.encode_record((b"_p2p", b"_udp", b"local"), dns.PTR, 9, b"\x03one\xc0\x0c")
    (record,) = dns.decode_message(response(first)).records
    assert record.target == (b"one", b"_p2p", b"_udp", b"local")


@pytest.mark.parametrize("pointer", [b"\xc0\x0c", b"\xc0\x0d", b"\xff\xff", b"\xc0"])
def test_a_pointer_that_does_not_lead_back_is_refused(pointer: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_dns"):
        dns.decode_message(HEADER.pack(0, 0, 1, 0, 0, 0) + pointer + b"\x00\x0c\x00\x01")


def test_pointers_to_pointers_end() -> None:
    chain = b"".join(struct.pack("!H", 0xC000 | at) for at in range(18, 18 + 2 * 400, 2))
    start = dns.encode_record((b"x",), dns.A, 1, b"\x00\x00" + chain)
    last = struct.pack("!H", 0xC000 | (18 + 2 * 399)) + struct.pack("!2HIH", 1, 1, 1, 0)
    with pytest.raises(RemoteProtocolError, match="bad_dns"):
        dns.decode_message(response(start, last))


def test_names_that_grow_by_pointers_are_no_longer_than_a_name_may_be() -> None:
    record = dns.encode_record(
        (b"a" * 63, b"b" * 63, b"c" * 63), dns.PTR, 1, b"\x3f" + b"d" * 63 + b"\xc0\x0c"
    )
    with pytest.raises(RemoteProtocolError, match="too long"):
        dns.decode_message(response(record))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        bytes(11),
        bytes(9001),
        HEADER.pack(0, 0, 200, 100, 0, 0) + bytes(2000),
        HEADER.pack(0, 0x2800, 0, 0, 0, 0),
        dns.encode_query((b"local",)) + b"x",
        dns.encode_query((b"local",))[:-1],
        response(dns.encode_record((b"x",), dns.TXT, 1, b"\x05abc")),
        response(dns.encode_record((b"x",), dns.PTR, 1, b"\x01a\x00\x00")),
        response(dns.encode_record((b"x",), dns.A, 1, b"abcd"))[:-1],
    ],
)
def test_what_is_cut_short_or_too_much_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_dns"):
        dns.decode_message(raw)


def test_names_are_the_same_in_capitals() -> None:
    raw = dns.encode_query((b"_P2P", b"_udp", b"LOCAL"))
    assert dns.decode_message(raw).questions[0].name == (b"_p2p", b"_udp", b"local")


def test_records_of_other_classes_are_passed_over() -> None:
    edns = b"\x00" + struct.pack("!2HIH", 41, 1440, 0, 0)
    assert dns.decode_message(response(edns)).records == ()
