"""Data: byte for byte as others write them, and as strict as the packet format says."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.data import ContentType, decode_data, encode_data, full_name
from rumormill.ndn.wire.name import (
    MOST_COMPONENTS,
    SEGMENT,
    component,
    name_from_uri,
    name_tlv,
    name_to_uri,
)
from rumormill.ndn.wire.notify import message_name
from rumormill.ndn.wire.signature import SignatureType
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.wire import (
    COMPONENTS,
    DIGEST,
    KEY,
    NAMES,
    NUMBERS,
    SIGNERS,
    NamedKey,
    is_right,
    packet,
)

NAME = "0703 080161"
SIGNED = "16031b0100 1700"


def data(*parts: bytes | str) -> bytes:
    return packet(6, *parts)


def reason(raw: bytes) -> str:
    try:
        decode_data(raw)
    except RemoteProtocolError as error:
        return error.reason
    return ""


# ---- byte for byte


def test_a_message_is_written_as_the_original_writes_it() -> None:
    name = message_name(name_from_uri("/alice"), name_from_uri("/t/x"), bytes.fromhex("0c897094"))
    made = encode_data(name, b"hello", DIGEST)
    covered = bytes.fromhex(
        "0718 0805616c696365 08036d7367 080174 080178 08040c897094"
        "1403180100 150568656c6c6f 16031b0100"
    )
    assert made.raw == packet(6, covered, "1720", sha256(covered).digest())
    assert made.signature.covered == covered and is_right(made.signature)
    assert made.content == b"hello"


def test_an_acknowledgement_has_no_content() -> None:
    made = encode_data(component(b"a"), None, DIGEST)
    assert made.content is None and decode_data(made.raw) == made
    assert made.raw.startswith(bytes.fromhex("0631 0703080161 1403180100 16031b0100 1720"))


def test_an_empty_message_is_not_an_acknowledgement() -> None:
    made = encode_data(component(b"a"), b"", DIGEST)
    assert made.content == b"" == decode_data(made.raw).content
    assert b"\x15\x00" in made.raw


def test_without_a_type_of_the_content_there_may_be_no_meta_info() -> None:
    made = encode_data(component(b"a"), None, DIGEST, content_type=None)
    assert made.raw.startswith(bytes.fromhex("062c 0703080161 16031b0100"))
    assert decode_data(made.raw) == made and made.content_type == ContentType.BLOB


def test_meta_info_is_in_the_order_of_the_packet_format() -> None:
    made = encode_data(
        component(b"a"),
        b"",
        DIGEST,
        content_type=ContentType.KEY,
        freshness=1000,
        final_block=component(b"\x07", SEGMENT),
    )
    assert bytes.fromhex("140c 180102 190203e8 1a03320107") in made.raw


def test_the_full_name_ends_with_the_digest_of_the_packet() -> None:
    made = encode_data(component(b"a"), b"x", DIGEST)
    assert name_to_uri(full_name(made)) == "/a/sha256digest=" + sha256(made.raw).hexdigest()


# ---- there and back


@given(
    NAMES,
    st.none() | st.binary(max_size=300) | st.integers(0, 70_000).map(bytes),
    SIGNERS,
    st.none() | NUMBERS,
    st.none() | NUMBERS,
    st.none() | COMPONENTS,
)
def test_what_was_written_is_read(
    name: bytes,
    content: bytes | None,
    signer: NamedKey,
    content_type: int | None,
    freshness: int | None,
    final_block: bytes | None,
) -> None:
    made = encode_data(
        name,
        content,
        signer,
        content_type=content_type,
        freshness=freshness,
        final_block=final_block,
    )
    found = decode_data(made.raw)
    assert found == made and hash(found) == hash(made)
    assert found[:4] == (name, content_type or 0, freshness, final_block)
    assert found.content == content
    signature = found.signature
    assert signature.value == signer.sign(signature.covered)
    assert (signature.type, signature.key_name) == (signer.type, signer.key_name)


def test_a_signature_covers_all_from_the_name_to_its_info() -> None:
    raw = data(NAME, "1501ff", "f000", "16031b0100", "f000", "1702aaaa", "f000")
    found = decode_data(raw)
    assert found.signature.covered == bytes.fromhex("0703080161 1501ff f000 16031b0100")
    assert found.signature.value == b"\xaa\xaa"


def test_the_content_is_cut_out_only_when_it_is_asked_for() -> None:
    found = decode_data(encode_data(component(b"a"), bytes(1000), DIGEST).raw)
    assert not any(isinstance(part, bytes) and 1000 <= len(part) < len(found.raw) for part in found)
    assert found.signature.packet is found.raw


# ---- what the packet format forbids


def test_what_need_not_be_there_need_not_be_there() -> None:
    found = decode_data(data(NAME, SIGNED))
    assert found.content is None and found.freshness is None and found.final_block is None
    assert found.signature.value == b""
    assert decode_data(data("0700", SIGNED)).name == b""


@pytest.mark.parametrize(
    "parts",
    [
        [NAME, "1500 1400", SIGNED],
        [NAME, "1400 1400", SIGNED],
        [NAME, "1500 1500", SIGNED],
        [NAME, NAME, SIGNED],
        [NAME, "1700 16031b0100"],
        [NAME, SIGNED, "1500"],
        [NAME, SIGNED, "1700"],
        [NAME, "16031b0100", SIGNED],
        [NAME, "f100", SIGNED],
        [NAME, "0a0431323334", SIGNED],
        [NAME, SIGNED, "2100"],
        [NAME, "1406 190100 180100", SIGNED],
        [NAME, "1406 180100 180100", SIGNED],
        [NAME, "1402 f100", SIGNED],
    ],
)
def test_critical_fields_that_are_unknown_or_not_in_their_place_are_refused(
    parts: list[str],
) -> None:
    assert reason(data(*parts)) == "unknown_critical"


def test_a_data_without_a_signature_is_refused() -> None:
    assert reason(data(NAME, "16031b0100")) == "bad_signature"
    assert reason(data(NAME, "1600 1700")) == "bad_signature"
    assert reason(data(NAME)) == "bad_tlv"
    assert reason(data(NAME, "1500")) == "bad_tlv"


@pytest.mark.parametrize(
    "parts",
    [
        ["", SIGNED],
        [SIGNED],
        ["1500", NAME, SIGNED],
        [NAME, "14021a00", SIGNED],
        [NAME, "14061a04 08000800", SIGNED],
        [NAME, "14021800", SIGNED],
        [NAME, "1405 1903010203", SIGNED],
        [NAME, "1605 1b03010203 1700"],
    ],
)
def test_fields_of_another_form_are_refused(parts: list[str]) -> None:
    assert reason(data(*parts)) in ("bad_packet", "bad_number", "bad_name")


@pytest.mark.parametrize("type", [32, 0xF0, 0xFFF0, 0xFFFFF0])
@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_an_unknown_field_that_is_not_critical_is_passed_over(type: int, place: int) -> None:
    parts: list[bytes | str] = [NAME, "1501ff", "16031b0100", "170101"]
    parts.insert(place, tlv(type, b"?"))
    assert decode_data(data(*parts)).content == b"\xff"


@pytest.mark.parametrize(
    "raw", ["", "06", "0600", "0601", "060107", "0602 0701", "0505 0703080161", "fd000600"]
)
def test_what_is_not_whole_is_refused(raw: str) -> None:
    assert reason(bytes.fromhex(raw)) in ("bad_tlv", "bad_packet")


def test_fields_do_not_go_beyond_the_data() -> None:
    for field in ("1502 01", "15fd", "15fd01", "15fd0100", "1402 18", "16041b0100", "fd"):
        assert reason(data(NAME, field)) == "bad_tlv", field
    for field in ("1702 01", "17", "17fd0100"):
        assert reason(data(NAME, "16031b0100", field)) == "bad_tlv", field


def test_bytes_behind_the_data_are_refused() -> None:
    raw = encode_data(component(b"a"), b"x", DIGEST).raw
    assert reason(raw + b"\x00") == "bad_tlv"
    large = encode_data(component(b"a"), bytes(1000), DIGEST).raw
    assert reason(large + b"\x00") == reason(large[:-1]) == "bad_tlv"


def test_lengths_are_in_their_shortest_form() -> None:
    content = bytes(200)
    assert reason(data(NAME, "15fd00c8", content, SIGNED)) == "bad_tlv"
    assert reason(data(NAME, "15c8", content, SIGNED)) == ""
    assert reason(data(NAME, "15fd00fe", bytes(254), SIGNED)) == ""
    assert (
        reason(bytes.fromhex("06fd000d") + bytes.fromhex("070308016116031b01001700")) == "bad_tlv"
    )


def test_a_long_length_of_a_signature_is_not_taken_for_a_short_one() -> None:
    for size in (251, 253):
        wrong = size.to_bytes(2, "big") + bytes(251)
        assert len(wrong) == 253
        assert reason(data(NAME, "16031b0100 17fd", wrong)) == "bad_tlv"


def test_names_of_many_components_are_refused() -> None:
    many = name_tlv(component(b"") * 10_000)
    assert reason(data(many, SIGNED)) == "bad_name"
    assert reason(data(name_tlv(component(b"") * MOST_COMPONENTS), SIGNED)) == ""
    assert decode_data(data(many, SIGNED), most_components=10_000).name
    locator = packet(0x16, "1b0103", tlv(0x1C, many))
    assert reason(data(NAME, locator, "1700")) == "bad_name"


# ---- what is said of the signature


def test_keys_are_named_or_have_a_digest() -> None:
    named = encode_data(component(b"a"), b"", KEY).signature
    assert named.type == SignatureType.ECDSA and named.key_name == KEY.key_name
    found = decode_data(data(NAME, "160c 1b0101 1c07 1d05 0102030405 1700"))
    assert found.signature.key_digest == bytes((1, 2, 3, 4, 5)) and found.signature.key_name is None


@pytest.mark.parametrize(
    ("locator", "expected"),
    [
        ("1c00", ""),
        ("1c02 f000", ""),
        ("1c02 0700", ""),
        ("1c04 0700 f000", ""),
        ("1c04 0700 0700", "unknown_critical"),
        ("1c04 0700 1d00", "unknown_critical"),
        ("1c04 1d00 0700", "unknown_critical"),
        ("1c02 f100", "unknown_critical"),
        ("1c00 1c00", "unknown_critical"),
        ("1c04 0702 0801", "bad_tlv"),
    ],
)
def test_a_key_is_located_in_one_way(locator: str, expected: str) -> None:
    info = packet(0x16, "1b0103", locator)
    assert reason(data(NAME, info, "1700")) == expected


def test_signatures_may_have_a_nonce_a_time_and_a_number() -> None:
    info = packet(0x16, "1b0105 2602aabb 28020102 2a0107 f000")
    signature = decode_data(data(NAME, info, "1700")).signature
    assert (signature.nonce, signature.time, signature.seq) == (b"\xaa\xbb", 0x0102, 7)


def test_certificates_say_how_long_they_are_valid() -> None:
    validity = "fd00fd 26" + "fd00fe 0f 323032333031303154303030303030"
    validity += "fd00ff 0f 323033333031303154303030303030"
    info = packet(0x16, "1b0103", validity, "fd010200")
    assert reason(data(NAME, info, "1700")) == ""
