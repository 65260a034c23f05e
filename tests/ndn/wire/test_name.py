"""Names: as bytes, as text, and what none is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.encoding import Component as PythonComponent
from ndn.encoding import Name as PythonName

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.ndn.wire.name import (
    IMPLICIT_DIGEST,
    MOST_COMPONENTS,
    PARAMETERS_DIGEST,
    SEGMENT,
    check_name,
    component,
    components,
    is_prefix,
    name_from_uri,
    name_tlv,
    name_to_uri,
    prefix_ends,
    type_of,
    value_of,
)
from tests.helpers.ndn.wire import NAMES, PLAIN_NAMES

DIGEST = bytes(range(32))


def reason(name: bytes, most: int = MOST_COMPONENTS) -> str:
    try:
        check_name(name, most)
    except RemoteProtocolError as error:
        return error.reason
    return ""


# ---- bytes


@given(NAMES)
def test_python_ndn_reads_our_names_and_writes_them_the_same(name: bytes) -> None:
    theirs = PythonName.from_bytes(name_tlv(name))
    assert [bytes(part) for part in theirs] == components(name)
    assert PythonName.to_bytes(theirs) == name_tlv(name)
    for part, their in zip(components(name), theirs, strict=True):
        assert type_of(part) == PythonComponent.get_type(their)
        assert value_of(part) == bytes(PythonComponent.get_value(their))


@given(NAMES)
def test_prefixes_end_where_components_do(name: bytes) -> None:
    check_name(name)
    ends = prefix_ends(name)
    assert ends[0] == 0 and ends[-1] == len(name)
    assert b"".join(components(name)) == name
    for end in ends:
        check_name(name[:end])
        assert is_prefix(name[:end], name)


@given(PLAIN_NAMES, PLAIN_NAMES)
def test_a_prefix_by_bytes_is_a_prefix_by_components(first: bytes, second: bytes) -> None:
    by_components = components(second)[: len(components(first))] == components(first)
    assert is_prefix(first, second) == by_components
    assert PythonName.is_prefix(
        PythonName.from_bytes(name_tlv(first)), PythonName.from_bytes(name_tlv(second))
    ) == is_prefix(first, second)


def test_the_root_is_the_empty_name_and_a_prefix_of_all() -> None:
    assert name_from_uri("/") == b"" == name_from_uri("ndn:/")
    assert name_to_uri(b"") == "/"
    assert prefix_ends(b"") == [0] and components(b"") == []
    assert is_prefix(b"", name_from_uri("/a"))


# ---- what is no name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("0000", "bad_tlv"),
        ("0801", "bad_tlv"),
        ("08", "bad_tlv"),
        ("080161 0805", "bad_tlv"),
        ("fd000800", "bad_tlv"),
        ("08fd000161", "bad_tlv"),
        ("fe0001000000", "bad_name"),
        ("0100", "bad_name"),
        ("0200", "bad_name"),
        ("011f" + "00" * 31, "bad_name"),
        ("0221" + "00" * 33, "bad_name"),
        ("0220" + "00" * 32 + "0220" + "00" * 32, "bad_name"),
    ],
)
def test_what_is_no_name_is_refused(name: str, expected: str) -> None:
    assert reason(bytes.fromhex(name)) == expected


@pytest.mark.parametrize(
    "name",
    ["", "0800", "fdffff00", "0120" + "00" * 32, "0220" + "00" * 32 + "0800", "2000", "360101"],
)
def test_names_of_all_types_of_components_are_taken(name: str) -> None:
    assert reason(bytes.fromhex(name)) == ""


def test_names_of_too_many_components_are_refused() -> None:
    assert reason(component(b"") * MOST_COMPONENTS) == ""
    assert reason(component(b"") * (MOST_COMPONENTS + 1)) == "bad_name"
    assert reason(component(b"") * 10_000) == "bad_name"
    assert reason(component(b"a") * 3, most=3) == ""
    assert reason(component(b"a") * 3, most=2) == "bad_name"


# ---- text


@given(NAMES)
def test_a_name_is_found_again_from_its_text(name: bytes) -> None:
    uri = name_to_uri(name)
    assert uri.startswith("/") and uri.isascii() and " " not in uri
    assert name_from_uri(uri) == name == name_from_uri("ndn:" + uri)
    assert name_to_uri(name_from_uri(uri)) == uri


@given(NAMES)
def test_python_ndn_reads_the_text_as_the_same_name(name: bytes) -> None:
    uri = name_to_uri(name)
    if "..." not in uri:  # it does not know that rule
        assert PythonName.to_bytes(PythonName.from_str(uri)) == name_tlv(name)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("/weather/berlin", "0807 77656174686572 0806 6265726c696e"),
        ("/a/", "080161"),
        ("/8=a", "080161"),
        ("/...", "0800"),
        ("/....", "08012e"),
        ("/54=...", "3600"),
        ("/54=%01", "360101"),
        ("/v=1", "360101"),
        ("/seg=256", "32020100"),
        ("/off=0", "340100"),
        ("/t=1", "380101"),
        ("/seq=18446744073709551615", "3a08" + "ff" * 8),
        ("/32=metadata", "2008 6d65746164617461"),
        ("/65535=a", "fdffff0161"),
        ("/%00%ff", "080200ff"),
        ("/%3d%2F", "08023d2f"),
        ("/ä", "0802c3a4"),
        ("/a b+c", "08056120622b63"),
    ],
)
def test_text_stands_for_a_name(uri: str, name: str) -> None:
    assert name_from_uri(uri) == bytes.fromhex(name)


def test_digests_have_texts_of_their_own() -> None:
    for type, text in ((IMPLICIT_DIGEST, "sha256digest"), (PARAMETERS_DIGEST, "params-sha256")):
        name = component(DIGEST, type)
        assert name_to_uri(name) == f"/{text}={DIGEST.hex()}"
        assert name_from_uri(name_to_uri(name)) == name
        assert name_from_uri(f"/{text}={DIGEST.hex().upper()}") == name


def test_the_text_of_a_name_is_always_the_same() -> None:
    assert name_to_uri(name_from_uri("ndn:/%61/8=b/v=1/")) == "/a/b/54=%01"
    assert name_to_uri(component(b"~-._") + component(b".a") + component(b"..")) == "/~-._/.a/....."
    assert name_to_uri(component(b"\0", SEGMENT)) == "/50=%00"


@pytest.mark.parametrize(
    "uri",
    [
        "", "a", "a/b", "ndn:", "ndn:a", "http://a", "//", "/a//b", "/a//", "/.", "/a/..", "/8=..",
        "/%", "/%4", "/%zz", "/a%", "/x=1", "/=a", "/0=a", "/65536=a", "/08=a", "/-1=a", "/8=",
        "/v=", "/v=a", "/v=-1", "/v=01", "/v=18446744073709551616", "/v=" + "9" * 5000,
        "/sha256digest=", "/sha256digest=00", "/params-sha256=" + "0" * 63, "/1=a", "/2=a",
        "/params-sha256=" + "g" * 64, "/\ud800",
    ],
)  # fmt: skip
def test_text_that_is_no_name_is_refused_with_a_sentence(uri: str) -> None:
    with pytest.raises(LocalProtocolError, match="is no name: "):
        name_from_uri(uri)


@given(st.text())
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        name = name_from_uri("/" + text)
    except LocalProtocolError:
        return
    assert name_from_uri(name_to_uri(name)) == name
