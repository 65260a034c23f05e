"""Interests: byte for byte as others write them, and as strict as the packet format says."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.ndn.wire.interest import (
    DEFAULT_LIFETIME,
    MOST_HINTS,
    decode_interest,
    encode_interest,
    with_hop_limit,
    with_nonce,
)
from rumormill.ndn.wire.name import MOST_COMPONENTS, component, name_from_uri, name_tlv
from rumormill.ndn.wire.notify import (
    NotifyParameters,
    decode_notify,
    encode_notify,
    message_name,
    notify_name,
)
from rumormill.ndn.wire.signature import Signature, SignatureType
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.wire import (
    DIGEST,
    KEY,
    NAMES,
    NUMBERS,
    SIGNERS,
    NamedKey,
    is_right,
    joined,
    packet,
)

NONCE = "0a04 6c6c6901"
NAME = "0703 080161"
NOTIFY = (
    "0574 0730 080174 080178 08066e6f74696679"
    "0220 551e9d9637609b62741c027aff446e9033e50b33b040d08178a7c6975cf6b475"
    "0a046c6c6901 0c020fa0 240f 07070805616c696365 80040c897094 2c031b0100"
    "2e20 1eb1c744c7fbc595dff20d9c3cb021f42e38559470e238c50cada20b36be9432"
)
ALICE, TOPIC = name_from_uri("/alice"), name_from_uri("/t/x")


def interest(*parts: bytes | str) -> bytes:
    return packet(5, *parts)


def with_parameters(*tail: bytes | str, name: bytes = component(b"a")) -> bytes:
    """An Interest that has everything from its parameters on, and the digest of that."""
    rest = joined(*tail)
    name += component(sha256(rest).digest(), 2)
    return interest(name_tlv(name), NONCE, rest)


def reason(raw: bytes) -> str:
    try:
        decode_interest(raw)
    except RemoteProtocolError as error:
        return error.reason
    return ""


# ---- byte for byte


def test_a_notify_is_written_as_the_original_writes_it() -> None:
    made = encode_interest(
        notify_name(TOPIC),
        nonce=bytes.fromhex("6c6c6901"),
        parameters=encode_notify(NotifyParameters(ALICE, bytes.fromhex("0c897094"))),
        signer=DIGEST,
    )
    assert made.raw == bytes.fromhex(NOTIFY)


def test_a_notify_of_the_original_is_read() -> None:
    found = decode_interest(bytes.fromhex(NOTIFY))
    assert found.name[:14] == notify_name(TOPIC)
    assert found.nonce == bytes.fromhex("6c6c6901") and found.lifetime == 4000
    assert not found.can_be_prefix and not found.must_be_fresh
    assert found.forwarding_hint == () and found.hop_limit is None
    assert found.parameters is not None
    assert decode_notify(found.parameters) == (ALICE, bytes.fromhex("0c897094"), None)
    assert found.signature is not None and is_right(found.signature)
    assert found.signature.type == SignatureType.DIGEST and found.signature.key_name is None


def test_a_request_for_a_message_is_written_as_the_original_writes_it() -> None:
    nonce = bytes.fromhex("0c897094")
    made = encode_interest(message_name(ALICE, TOPIC, nonce), nonce=b"1234")
    assert made.raw == bytes.fromhex(
        "0524 0718 0805616c696365 08036d7367 080174 080178 08040c897094 0a0431323334 0c020fa0"
    )


def test_fields_are_in_the_order_of_the_packet_format() -> None:
    made = encode_interest(
        component(b"a"),
        nonce=b"1234",
        lifetime=10,
        can_be_prefix=True,
        must_be_fresh=True,
        forwarding_hint=(component(b"h"), component(b"i")),
        hop_limit=7,
    )
    assert made.raw == interest(
        NAME, "2100 1200 1e0a 0703080168 0703080169 0a0431323334 0c010a 220107"
    )
    assert decode_interest(made.raw) == made


def test_a_signature_of_another_implementation_may_have_a_nonce() -> None:
    found = decode_interest(
        with_parameters("2400 2c0d 1b0100 26080102030405060708", tlv(0x2E, bytes(32)))
    )
    assert found.signature is not None
    assert found.signature.nonce == bytes(range(1, 9)) and found.signature.time is None


# ---- there and back


@given(
    NAMES,
    st.binary(min_size=4, max_size=4),
    NUMBERS,
    st.booleans(),
    st.booleans(),
    st.lists(NAMES, max_size=3).map(tuple),
    st.none() | st.integers(0, 255),
)
def test_what_was_written_is_read(
    name: bytes,
    nonce: bytes,
    lifetime: int,
    can_be_prefix: bool,
    must_be_fresh: bool,
    hint: tuple[bytes, ...],
    hop_limit: int | None,
) -> None:
    made = encode_interest(
        name,
        nonce=nonce,
        lifetime=lifetime,
        can_be_prefix=can_be_prefix,
        must_be_fresh=must_be_fresh,
        forwarding_hint=hint,
        hop_limit=hop_limit,
    )
    assert decode_interest(made.raw) == made
    assert made[:9] == (
        name, nonce, lifetime, can_be_prefix, must_be_fresh, hint, hop_limit, None, None,
    )  # fmt: skip
    assert made.raw[made.nonce_at : made.nonce_at + 4] == nonce
    if hop_limit is not None:
        assert made.raw[made.hop_limit_at] == hop_limit
    assert (made.hop_limit_at == 0) == (hop_limit is None)


@given(NAMES, st.binary(max_size=300), st.none() | SIGNERS, st.none() | NUMBERS)
def test_what_was_written_with_parameters_is_read(
    name: bytes, parameters: bytes, signer: NamedKey | None, time: int | None
) -> None:
    made = encode_interest(
        name,
        nonce=b"1234",
        parameters=parameters,
        signer=signer,
        signature_nonce=None if time is None else b"12345678",
        signature_time=time,
    )
    found = decode_interest(made.raw)
    assert found == made and hash(found) == hash(made)
    assert found.name.startswith(name) and len(found.name) == len(name) + 34
    assert (found.signature is None) == (signer is None)
    if found.signature is not None and signer is not None:
        assert found.signature.value == signer.sign(found.signature.covered)
        assert found.signature.covered.startswith(name + b"\x24")
        assert found.signature.time == time


def test_a_signature_covers_all_components_but_the_digest_wherever_it_stands() -> None:
    rest = tlv(0x24, b"p") + bytes.fromhex("2c031b0100") + tlv(0x2E, bytes(32))
    digest = component(sha256(rest).digest(), 2)
    found = decode_interest(
        interest(name_tlv(component(b"a") + digest + component(b"b")), NONCE, rest)
    )
    assert found.signature is not None
    assert found.signature.covered == component(b"a") + component(b"b") + rest[: 3 + 5]


def test_signatures_are_equal_that_say_the_same() -> None:
    made = decode_interest(bytes.fromhex(NOTIFY)).signature
    assert made is not None
    type, key_name, key_digest, value, *_ = made
    same = Signature(type, key_name, key_digest, value, made.covered)
    assert same == made and hash(same) == hash(made)
    assert Signature(type, key_name, key_digest, value, b"other") != made


# ---- what the packet format forbids


def test_what_need_not_be_there_need_not_be_there() -> None:
    found = decode_interest(interest(NAME))
    assert found.nonce is None and found.nonce_at == 0
    assert found.lifetime == DEFAULT_LIFETIME


@pytest.mark.parametrize(
    "parts",
    [
        [NAME, NONCE, "2100"],
        [NAME, NONCE, "1200"],
        [NAME, "1200 2100"],
        [NAME, "0c01ff", NONCE],
        [NAME, NONCE, NONCE],
        [NAME, "2100 2100"],
        [NAME, "1e00 1e00"],
        [NAME, NONCE, "1e00"],
        [NAME, "0c0101 0c0101"],
        [NAME, "220101", NONCE],
        [NAME, "210100"],
        [NAME, "120100"],
        [NAME, "0a03010203"],
        [NAME, "0a050102030405"],
        [NAME, "0c00"],
        [NAME, "0c03010203"],
        [NAME, "2200"],
        [NAME, "22020101"],
        [NONCE, NAME],
        [NONCE],
        ["0700", NONCE],
    ],
)
def test_fields_that_are_not_in_their_place_or_of_another_size_are_refused(
    parts: list[str],
) -> None:
    assert reason(interest(*parts)) == "bad_packet"


@pytest.mark.parametrize("type", [1, 7, 13, 16, 30 + 1, 33 + 2, 0xF1, 0xFFF1, 0xFFFFFF])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_an_unknown_critical_field_makes_an_interest_unreadable(type: int, place: int) -> None:
    parts: list[bytes | str] = [NAME, NONCE, "0c020fa0"]
    parts.insert(place, tlv(type, b"?"))
    assert reason(interest(*parts)) == "unknown_critical"


@pytest.mark.parametrize("type", [32, 0xF0, 0xFFF0, 0xFFFFF0])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_an_unknown_field_that_is_not_critical_is_passed_over(type: int, place: int) -> None:
    parts: list[bytes | str] = [NAME, NONCE, "0c020fa1"]
    parts.insert(place, tlv(type, b"?"))
    found = decode_interest(interest(*parts))
    assert found.lifetime == 0x0FA1 and found.nonce == bytes.fromhex("6c6c6901")


def test_a_hop_limit_that_comes_too_late_is_passed_over() -> None:
    assert decode_interest(interest(NAME, "220105 220106")).hop_limit == 5
    assert decode_interest(with_parameters("2400 220106")).hop_limit is None


@pytest.mark.parametrize(
    "raw",
    [
        "", "05", "0500", "0501", "050107", "05020701", "0505070308016100", "050407030801",
        "fd000500",
    ],
)  # fmt: skip
def test_what_is_not_whole_is_refused(raw: str) -> None:
    assert reason(bytes.fromhex(raw)) in ("bad_tlv", "bad_packet")


def test_fields_do_not_go_beyond_the_interest() -> None:
    for field in ("0a04 010203", "0c02 01", "2201", "2402 01", "f002", "fd", "1e02 0703"):
        assert reason(interest(NAME, field)) == "bad_tlv", field


def test_an_element_of_type_0_is_refused() -> None:
    assert reason(interest(NAME, "0000")) == "bad_tlv"


def test_a_data_is_no_interest() -> None:
    assert reason(packet(6, NAME)) == "bad_packet"


# ---- names


def test_names_of_many_components_are_refused() -> None:
    many = name_tlv(component(b"") * 10_000)
    assert reason(interest(many)) == "bad_name"
    assert reason(interest(name_tlv(component(b"") * MOST_COMPONENTS))) == ""
    assert decode_interest(interest(many), most_components=10_000).lifetime == DEFAULT_LIFETIME
    assert reason(interest(NAME, tlv(0x1E, many))) == "bad_name"
    assert (
        reason(with_parameters("2400", tlv(0x2C, joined("1b0103", tlv(0x1C, many))))) == "bad_name"
    )


@pytest.mark.parametrize("name", ["0802", "0000", "0100", "021f" + "00" * 31])
def test_an_interest_with_a_bad_name_is_refused(name: str) -> None:
    assert reason(interest(tlv(7, bytes.fromhex(name)))) in ("bad_tlv", "bad_name")


# ---- forwarding hints


def test_a_forwarding_hint_is_a_list_of_names_and_nothing_else() -> None:
    found = decode_interest(interest(NAME, tlv(0x1E, joined("0703080168 f000 0700"))))
    assert found.forwarding_hint == (component(b"h"), b"")
    assert decode_interest(interest(NAME, "1e00")).forwarding_hint == ()
    legacy = "1e0a 1f08 1e0100 0703080168"
    assert reason(interest(NAME, legacy)) == "unknown_critical"


def test_forwarding_hints_are_limited() -> None:
    assert reason(interest(NAME, tlv(0x1E, bytes.fromhex("0700") * MOST_HINTS))) == ""
    assert reason(interest(NAME, tlv(0x1E, bytes.fromhex("0700") * 4000))) == "bad_packet"


# ---- parameters


def test_parameters_and_their_digest_need_each_other() -> None:
    digest = component(bytes(32), 2)
    assert reason(interest(NAME, "2400")) == "wrong_parameters_digest"
    assert reason(interest(name_tlv(digest))) == "wrong_parameters_digest"
    assert reason(interest(name_tlv(digest), "2400")) == "wrong_parameters_digest"
    right = component(sha256(b"\x24\x00").digest(), 2)
    assert decode_interest(interest(name_tlv(right), "2400")).parameters == b""
    assert reason(interest(name_tlv(right + right), "2400")) == "bad_name"


def test_the_digest_covers_all_to_the_end_of_the_interest() -> None:
    for tail in ("2400 f000", "2400 2c031b0100 2e00 f001ff", "2401aa 2400"):
        raw = with_parameters(tail)
        assert reason(raw) == ""
        changed = bytearray(raw)
        changed[-1] ^= 2
        assert reason(bytes(changed)) != ""


@pytest.mark.parametrize(
    "tail",
    [
        "2400 2e00",
        "2400 2c031b0100",
        "2400 2c00 2e00",
        "2400 2c021c00 2e00",
        "2400 2e00 2c031b0100",
    ],
)
def test_half_a_signature_is_refused(tail: str) -> None:
    assert reason(with_parameters(tail)) == "bad_signature"


def test_a_signature_without_parameters_is_refused() -> None:
    assert reason(interest(NAME, "2c031b0100 2e00")) == "bad_signature"
    assert reason(interest(NAME, "2e00")) == "bad_signature"


@pytest.mark.parametrize("field", ["0a0431323334", "0c0101", "2100", "1200", "1e00", "f100"])
def test_no_critical_field_comes_behind_the_parameters(field: str) -> None:
    assert reason(with_parameters("2400", field)) == "unknown_critical"


# ---- what a forwarder changes


@given(NAMES, st.none() | SIGNERS, st.booleans(), st.integers(0, 255))
def test_only_the_nonce_or_the_hop_limit_is_changed(
    name: bytes, signer: NamedKey | None, parameters: bool, hop_limit: int
) -> None:
    made = encode_interest(
        name,
        nonce=b"1234",
        can_be_prefix=True,
        hop_limit=7,
        parameters=b"p" if parameters or signer else None,
        signer=signer,
    )
    for changed, expected in (
        (with_nonce(made, b"5678"), made._replace(nonce=b"5678")),
        (with_hop_limit(made, hop_limit), made._replace(hop_limit=hop_limit)),
    ):
        assert decode_interest(changed.raw) == changed
        assert changed == expected._replace(raw=changed.raw)
        assert len(changed.raw) == len(made.raw)


@pytest.mark.parametrize(
    "fields",
    [
        "", "2100", "1200 1e050703080168", "0c0101", "f000", "0c0101 f000", "2400",
        "0c0101 2400 f000",
    ],
)  # fmt: skip
def test_a_nonce_and_a_hop_limit_are_put_in_where_they_belong(fields: str) -> None:
    name, rest = component(b"a"), bytes.fromhex(fields)
    if b"\x24" in rest:
        name += component(sha256(rest[rest.index(b"\x24") :]).digest(), 2)
    bare = decode_interest(interest(name_tlv(name), rest))
    assert bare.nonce is None and bare.hop_limit is None
    changed = with_hop_limit(with_nonce(bare, b"1234"), 9)
    assert changed == with_nonce(with_hop_limit(bare, 9), b"1234")
    assert changed.nonce == b"1234" and changed.hop_limit == 9
    assert changed[2:6] == bare[2:6] and changed.parameters == bare.parameters
    assert len(changed.raw) == len(bare.raw) + 6 + 3


def test_an_interest_may_grow_beyond_a_length_of_one_byte() -> None:
    bare = decode_interest(interest(name_tlv(component(bytes(245)))))
    assert with_nonce(bare, b"1234").nonce == b"1234"
    assert with_hop_limit(with_nonce(bare, b"1234"), 1).hop_limit == 1


# ---- mistakes of our own


@pytest.mark.parametrize(
    "wrong",
    [
        dict(name=b""),
        dict(nonce=b"123"),
        dict(hop_limit=256),
        dict(hop_limit=-1),
        dict(signer=KEY),
        dict(name=component(bytes(32), 2), parameters=b""),
    ],
)
def test_what_no_interest_can_be_is_not_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        encode_interest(**{"name": component(b"a"), "nonce": b"1234", **wrong})


def test_bytes_that_look_like_a_digest_are_none() -> None:
    made = encode_interest(component(b"\x02\x20"), nonce=b"1234", parameters=b"")
    assert decode_interest(made.raw) == made
