"""Commands to a forwarder, in both forms, and what it answers."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.app_support import nfd_mgmt
from ndn.encoding import Component, InterestParam, make_interest
from ndn.encoding import Name as PythonName
from ndn.security import DigestSha256Signer

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.control import (
    V02,
    V03,
    Command,
    ControlParameters,
    ControlResponse,
    Form,
    StatusCode,
    decode_parameters,
    decode_response,
    encode_command,
    encode_parameters,
    encode_response,
    read_command,
)
from rumormill.ndn.wire.interest import decode_interest, encode_interest
from rumormill.ndn.wire.name import MOST_COMPONENTS, component, name_from_uri, name_tlv
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.wire import (
    DIGEST,
    KEY,
    NUMBERS,
    PLAIN_NAMES,
    NamedKey,
    PlainDigest,
    is_right,
    packet,
)

REGISTER = name_from_uri("/localhost/nfd/rib/register")
ALICE = name_from_uri("/alice/msg")
PARAMETERS = ControlParameters(name=ALICE, origin=0, cost=10, flags=1)

TEXTS = st.text(st.characters(codec="ascii"), max_size=40)
"""python-ndn counts characters where it should count bytes."""
ALL_PARAMETERS = st.builds(
    ControlParameters,
    name=st.none() | PLAIN_NAMES,
    strategy=st.none() | PLAIN_NAMES,
    uri=st.none() | TEXTS,
    local_uri=st.none() | TEXTS,
    persistency=st.none() | st.sampled_from([0, 1, 2]),
    **{
        field: st.none() | NUMBERS
        for field in ControlParameters._fields
        if field not in ("name", "strategy", "uri", "local_uri", "persistency")
    },
)

THEIR_FIELDS = {
    "congestion_interval": "base_congestion_mark_interval",
    "congestion_threshold": "default_congestion_threshold",
    "expiration": "expiration_period",
    "persistency": "face_persistency",
}
"""Ours that python-ndn calls by other names."""


def theirs(parameters: ControlParameters) -> dict[str, Any]:
    """The parameters as python-ndn takes them."""
    found: dict[str, Any] = {}
    for field, value in parameters._asdict().items():
        if value is None:
            continue
        if field in ("name", "strategy"):
            value = PythonName.from_bytes(name_tlv(value))
        elif field == "persistency":
            value = nfd_mgmt.FacePersistency(value)
        found[THEIR_FIELDS.get(field, field)] = value
    return found


def command(
    form: Form, parameters: ControlParameters = PARAMETERS, signer: NamedKey | PlainDigest = DIGEST
) -> bytes:
    return encode_command(
        REGISTER,
        parameters,
        form=form,
        nonce=b"1234",
        timestamp_ms=1_700_000_000_000,
        random_bytes=b"12345678",
        signer=signer,
    ).raw


def read(raw: bytes) -> Command:
    return read_command(decode_interest(raw))


def reason(raw: bytes) -> str:
    try:
        read(raw)
    except RemoteProtocolError as error:
        return error.reason
    return ""


# ---- parameters


@given(ALL_PARAMETERS)
def test_parameters_are_written_as_python_ndn_writes_them(parameters: ControlParameters) -> None:
    raw = encode_parameters(parameters)
    name = nfd_mgmt.make_command_v2("rib", "register", **theirs(parameters))
    assert bytes(Component.get_value(name[-1])) == raw
    assert decode_parameters(raw) == parameters


def test_parameters_are_read_in_any_order_and_the_first_of_each_counts() -> None:
    raw = packet(0x68, "6a010a", "690107", "6a0109", "f0021234")
    assert decode_parameters(raw) == ControlParameters(face_id=7, cost=10)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("f100", "unknown_critical"),
        ("0a00", "unknown_critical"),
        ("6900", "bad_number"),
        ("7201ff", "bad_record"),
        ("6b00", "bad_record"),
        ("6b02f100", "unknown_critical"),
        ("6b03070108", "bad_tlv"),
        ("07020801", "bad_tlv"),
        ("69", "bad_tlv"),
        ("0700" + "6b020700", ""),
    ],
)
def test_parameters_of_another_form_are_refused(inside: str, expected: str) -> None:
    try:
        decode_parameters(packet(0x68, inside))
    except RemoteProtocolError as error:
        assert error.reason == expected
    else:
        assert expected == ""


def test_names_of_many_components_are_refused() -> None:
    many = component(b"") * (MOST_COMPONENTS + 1)
    with pytest.raises(RemoteProtocolError, match="bad_name"):
        decode_parameters(encode_parameters(ControlParameters(name=many)))
    with pytest.raises(RemoteProtocolError, match="bad_name"):
        decode_parameters(encode_parameters(ControlParameters(strategy=many)))


def test_only_one_whole_element_is_read() -> None:
    raw = encode_parameters(PARAMETERS)
    for wrong in (raw + b"\x00", raw[:-1], b"\x65" + raw[1:], b""):
        with pytest.raises(RemoteProtocolError):
            decode_parameters(wrong)


# ---- answers


@given(NUMBERS, TEXTS, st.none() | ALL_PARAMETERS)
def test_answers_are_read_by_python_ndn(
    code: int, text: str, parameters: ControlParameters | None
) -> None:
    response = ControlResponse(code, text, parameters)
    raw = encode_response(response)
    assert decode_response(raw) == response
    if parameters is not None:
        found = nfd_mgmt.parse_response(raw)
        assert (found["status_code"], found["status_text"]) == (code, text)
        for field in ("face_id", "cost", "flags", "uri"):
            assert found[field] == getattr(parameters, field)


def test_an_answer_may_have_something_else_in_it() -> None:
    raw = packet(0x65, "660200c8 6702 4f4b 8003690101 f100")
    assert decode_response(raw) == ControlResponse(StatusCode.OK, "OK")
    assert decode_response(packet(0x65, "660200c8 6701ff")).text == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "raw", ["", "6500", "6504 6702 4f4b", "6402 6600", "6502 6600", "65036601"]
)
def test_what_is_no_answer_is_refused(raw: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_response(bytes.fromhex(raw))


# ---- commands


@pytest.mark.parametrize("form", [V02, V03])
def test_a_command_is_read_in_both_forms(form: Form) -> None:
    for signer in (DIGEST, KEY):
        found = read(command(form, signer=signer))
        assert found[:5] == ("rib", "register", PARAMETERS, form, "localhost")
        assert found.signature.value == signer.sign(found.signature.covered)
        assert found.signature.key_name == signer.key_name
        assert found.signature.nonce == b"12345678"
        assert found.signature.time == 1_700_000_000_000
    assert decode_interest(command(form)).lifetime == 1000


def test_the_older_form_is_written_as_python_ndn_writes_it() -> None:
    with (
        mock.patch.object(nfd_mgmt, "timestamp", lambda: 1_700_000_000_000),
        mock.patch.object(nfd_mgmt, "gen_nonce_64", lambda: int.from_bytes(b"12345678", "big")),
    ):
        name = nfd_mgmt.make_command("rib", "register", **theirs(PARAMETERS))
    raw = make_interest(name, InterestParam(nonce=int.from_bytes(b"1234", "big"), lifetime=1000))
    assert command(V02) == raw


def test_commands_of_python_ndn_are_read_in_both_forms() -> None:
    name = nfd_mgmt.make_command("rib", "unregister", **theirs(PARAMETERS))
    older = read(bytes(make_interest(name, InterestParam(lifetime=1000))))
    name = nfd_mgmt.make_command_v2("rib", "unregister", **theirs(PARAMETERS))
    signer = DigestSha256Signer(for_interest=True)
    newer = read(bytes(make_interest(name, InterestParam(), b"", signer=signer)))
    for found, form in ((older, V02), (newer, V03)):
        assert found[:5] == ("rib", "unregister", PARAMETERS, form, "localhost")
        assert is_right(found.signature)
        assert found.signature.nonce is not None and found.signature.time is not None


def test_the_scope_of_a_command_is_told() -> None:
    verb = name_from_uri("/localhop/nfd/rib/register")
    made = encode_command(
        verb, PARAMETERS, form="v0.3", nonce=b"1234", timestamp_ms=1, random_bytes=bytes(8),
        signer=DIGEST,
    )  # fmt: skip
    assert read_command(made).scope == "localhop"


PART = component(encode_parameters(PARAMETERS))
TAIL = (
    component(bytes(8))
    + component(bytes(8))
    + component(bytes.fromhex("16031b0100"))
    + component(tlv(0x17, bytes(32)))
)


def named(name: bytes) -> bytes:
    return encode_interest(name, nonce=b"1234").raw


def test_the_shortest_of_the_older_form_is_a_command() -> None:
    assert reason(named(REGISTER + PART + TAIL)) == ""


@pytest.mark.parametrize(
    "name",
    [
        component(b"a"),
        REGISTER,
        REGISTER + PART,
        REGISTER + PART + TAIL + component(b"more"),
        REGISTER + PART + component(b"more") + TAIL,
        name_from_uri("/localhost/nfd/rib") + PART + TAIL,
        name_from_uri("/elsewhere/nfd/rib/register") + PART + TAIL,
        name_from_uri("/32=localhost/nfd/rib/register") + PART + TAIL,
        name_from_uri("/localhost/nlsr/rib/register") + PART + TAIL,
        name_from_uri("/localhost/nfd/32=rib/register") + PART + TAIL,
        name_from_uri("/localhost/nfd/rib/%ff") + PART + TAIL,
        REGISTER + component(b"") + TAIL,
        REGISTER + component(b"\x68\x01") + TAIL,
        REGISTER + component(bytes.fromhex("6802f100")) + TAIL,
        REGISTER + PART + TAIL.replace(b"\x16\x03\x1b", b"\x16\x03\x1c"),
        REGISTER + PART + TAIL.replace(b"\x16\x03\x1b", b"\x26\x03\x1b"),
        REGISTER + PART + TAIL.replace(b"\x17\x20", b"\x17\x21"),
        REGISTER + PART + component(bytes(7)) + TAIL[10:],
    ],
)
def test_what_is_no_command_is_refused(name: bytes) -> None:
    assert reason(named(name)) == "bad_command"


def test_a_command_of_the_newer_form_must_be_signed() -> None:
    made = encode_interest(REGISTER + PART, nonce=b"1234", parameters=b"")
    assert reason(made.raw) == "bad_command"
    for name in (REGISTER, REGISTER + PART + component(b"more"), component(b"a")):
        made = encode_interest(name, nonce=b"1234", parameters=b"", signer=DIGEST)
        assert reason(made.raw) == "bad_command"


@given(st.binary(max_size=60))
def test_any_parameters_are_read_or_refused(value: bytes) -> None:
    assert reason(named(REGISTER + component(value) + TAIL)) in ("", "bad_command")
