"""Types, lengths and numbers: one form for each, and nothing beyond the end."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ndn.encoding import pack_uint_bytes
from ndn.encoding.tlv_var import get_tl_num_size, parse_tl_num, write_tl_num

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.tlv import (
    LARGEST_TYPE,
    is_critical,
    number,
    read_head,
    read_number,
    tlv,
    variable,
)
from tests.helpers.ndn.wire import NUMBERS


@given(NUMBERS)
def test_numbers_of_types_and_lengths_are_written_as_python_ndn_writes_them(value: int) -> None:
    buffer = bytearray(get_tl_num_size(value))
    write_tl_num(value, buffer)
    assert variable(value) == buffer
    assert parse_tl_num(variable(value)) == (value, len(buffer))


@given(NUMBERS)
def test_numbers_as_values_are_written_as_python_ndn_writes_them(value: int) -> None:
    assert number(value) == pack_uint_bytes(value)
    assert read_number(number(value)) == value


@given(st.integers(1, LARGEST_TYPE), st.binary(max_size=300), st.binary(max_size=4))
@example(0xFC, bytes(252), b"")
@example(0xFD, bytes(253), b"")
@example(0xFFFF, b"", b"")
@example(0x10000, b"", b"")
def test_what_was_written_is_read(type: int, value: bytes, more: bytes) -> None:
    raw = tlv(type, value)
    found, start, stop = read_head(raw + more, 0, len(raw + more))
    assert (found, raw[start:stop], stop) == (type, value, len(raw))


@pytest.mark.parametrize("size", [0, 3, 5, 7, 9])
def test_numbers_have_one_two_four_or_eight_bytes(size: int) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_number(bytes(size))
    assert caught.value.reason == "bad_number"


def test_a_number_need_not_be_in_its_shortest_form() -> None:
    assert read_number(bytes(7) + b"\x01") == 1


@pytest.mark.parametrize(
    "raw",
    [
        "fd00fc 00",
        "fe0000ffff 00",
        "ff00000000ffffffff 00",
        "08 fd00fc" + "00" * 252,
        "08 fe00000001 00",
        "08 ff0000000000000001 00",
    ],
)
def test_only_the_shortest_form_of_a_type_or_length_is_read(raw: str) -> None:
    data = bytes.fromhex(raw)
    with pytest.raises(RemoteProtocolError) as caught:
        read_head(data, 0, len(data))
    assert caught.value.reason == "bad_tlv"


@pytest.mark.parametrize("raw", ["00 00", "ff0000000100000000 00", "ffffffffffffffffff 00"])
def test_types_are_from_one_to_the_largest_of_four_bytes(raw: str) -> None:
    data = bytes.fromhex(raw)
    with pytest.raises(RemoteProtocolError, match="the type"):
        read_head(data, 0, len(data))


@pytest.mark.parametrize(
    "raw",
    ["", "08", "fd", "fd03", "fd0320", "08fd", "08fd01", "08fe000100", "0801", "08ff" + "ff" * 8],
)  # fmt: skip
def test_an_element_that_is_not_whole_is_refused(raw: str) -> None:
    data = bytes.fromhex(raw)
    with pytest.raises(RemoteProtocolError) as caught:
        read_head(data, 0, len(data))
    assert caught.value.reason == "bad_tlv"


def test_an_element_does_not_go_beyond_the_one_around_it() -> None:
    data = bytes.fromhex("0802 6869 6a6b")
    assert read_head(data, 0, 4) == (8, 2, 4)
    with pytest.raises(RemoteProtocolError):
        read_head(data, 0, 3)


def test_types_up_to_31_and_odd_ones_are_critical() -> None:
    assert all(is_critical(type) for type in (*range(32), 33, 0xF1, 0xFFFF))
    assert not any(is_critical(type) for type in (32, 0x22, 0x24, 0xF0, 0x10000))
