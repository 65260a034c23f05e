"""What is said of signatures, in packets of both kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.encoding import SignatureInfo as PythonSignatureInfo

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.signature import (
    INTEREST_SIGNATURE_INFO,
    SIGNATURE_INFO,
    Signature,
    SignatureInfo,
    info_tlv,
    plain_info,
    read_info,
)
from rumormill.ndn.wire.tlv import read_head
from tests.helpers.ndn.wire import NAMES, NUMBERS, joined

KEYS = st.tuples(st.none() | NAMES, st.just(None)) | st.tuples(
    st.just(None), st.none() | st.binary(max_size=40)
)


def read(raw: bytes) -> SignatureInfo:
    _, start, stop = read_head(raw, 0, len(raw))
    return read_info(raw, start, stop)


@given(NUMBERS, KEYS, st.none() | st.binary(max_size=20), st.none() | NUMBERS, st.none() | NUMBERS)
def test_what_was_written_is_read(
    type: int,
    key: tuple[bytes | None, bytes | None],
    nonce: bytes | None,
    time: int | None,
    seq: int | None,
) -> None:
    info = SignatureInfo(type, *key, nonce, time, seq)
    for element in (SIGNATURE_INFO, INTEREST_SIGNATURE_INFO):
        assert read(info_tlv(element, info)) == info
        assert read_head(info_tlv(element, info), 0, 1 << 20)[0] == element
    if nonce is None and time is None and seq is None and key[1] is None:
        assert plain_info(SIGNATURE_INFO, type, key[0]) == info_tlv(SIGNATURE_INFO, info)


@given(st.integers(0, 255), NAMES, NUMBERS, NUMBERS, NUMBERS)
def test_python_ndn_reads_it(type: int, key: bytes, nonce: int, time: int, seq: int) -> None:
    raw = info_tlv(
        SIGNATURE_INFO, SignatureInfo(type, key, None, nonce.to_bytes(8, "big"), time, seq)
    )
    _, start, _ = read_head(raw, 0, len(raw))
    theirs = PythonSignatureInfo.parse(raw[start:])
    assert (theirs.signature_type, theirs.signature_nonce) == (type, nonce)
    assert (theirs.signature_time, theirs.signature_seq_num) == (time, seq)
    assert b"".join(map(bytes, theirs.key_locator.name)) == key


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("1b0100", ""),
        ("f000 1b0100 f000", ""),
        ("1b0100 280101 2600", ""),
        ("1b0100 fd00fd00 2a0101", ""),
        ("", "bad_signature"),
        ("1c00", "bad_signature"),
        ("1c00 1b0100", "unknown_critical"),
        ("1b0100 1b0100", "unknown_critical"),
        ("1b0100 280101 1c00", "unknown_critical"),
        ("1b0100 fd00fd00 fd00fd00", "unknown_critical"),
        ("1b0100 f100", "unknown_critical"),
        ("1b00", "bad_number"),
        ("1b0100 2800", "bad_number"),
        ("1b0100 2a03010203", "bad_number"),
        ("1b0100 28", "bad_tlv"),
    ],
)
def test_fields_are_in_their_order_or_may_be_ignored(fields: str, expected: str) -> None:
    raw = joined(fields)
    try:
        found = read_info(raw, 0, len(raw))
    except RemoteProtocolError as error:
        assert error.reason == expected
    else:
        assert expected == "" and found == SignatureInfo(0, time=found.time)


def test_what_is_covered_is_put_together_from_its_parts() -> None:
    whole = Signature(0, None, None, b"", b"covered")
    assert whole.covered == b"covered"
    in_parts = whole._replace(packet=b"co..ver..ed", spans=(0, 2, 4, 7, 9, 11))
    assert in_parts.covered == b"covered" and in_parts == whole
    assert hash(in_parts) == hash(whole)
    assert whole._replace(seq=1) != whole
