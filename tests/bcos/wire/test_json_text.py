"""JSON of others: what is read, and what is refused before it costs anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.wire.json_text import (
    DEEPEST,
    MOST_BYTES,
    number_of,
    read_json,
    read_object,
    text_of,
    write_json,
)
from rumormill.core.errors import RemoteProtocolError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(VALUES)
def test_what_was_written_is_read(value: Any) -> None:
    try:
        assert read_json(write_json(value) + b"\n") == value
    except RemoteProtocolError as error:
        assert error.reason in ("json_too_deep", "bad_json")  # keys of half a pair


@given(st.binary(max_size=200))
def test_anything_else_is_refused_and_nothing_else_happens(data: bytes) -> None:
    try:
        value = read_json(data)
    except RemoteProtocolError:
        return
    assert json.loads(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"NaN",
        b"[-Infinity]",
        b"[-1e999]",
        b"\xff",
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf[]",
        '["a"]'.encode("utf-16"),
        b"[] []",
        b"9" * 5000,
        b'"\\ud800"',
        b'{"\\uDFFF":1}',
        b"[" * 60_000,
        b'{"a":' * 12_000,
    ],
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_json"):
        read_json(data)


def test_a_whole_pair_of_surrogates_is_a_text() -> None:
    assert read_json(b'"\\ud83d\\uDE00"') == "\N{GRINNING FACE}"


@pytest.mark.parametrize(("first", "last"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("inmost", [b"1", b"[]"])
def test_how_deep_it_may_be_does_not_depend_on_the_interpreter(
    first: bytes, last: bytes, inmost: bytes
) -> None:
    levels = DEEPEST - (inmost == b"[]")
    read_json(first * levels + inmost + last * levels)
    with pytest.raises(RemoteProtocolError, match="json_too_deep"):
        read_json(first * (levels + 1) + inmost + last * (levels + 1))


def test_much_beside_each_other_is_not_deep() -> None:
    assert read_json(b"[" + b"[]," * 1000 + b"{}]") == [*[[]] * 1000, {}]
    assert read_json(b'"' + b"[" * 1000 + b'"') == "[" * 1000


def test_what_is_too_long_is_not_looked_at() -> None:
    assert read_json(b'"' + b"a" * (MOST_BYTES - 2) + b'"')
    with pytest.raises(RemoteProtocolError, match="json_too_large: 65537 bytes, 65536 allowed"):
        read_json(b"?" * (MOST_BYTES + 1))
    with pytest.raises(RemoteProtocolError, match="json_too_large"):
        read_json(b"[1,2]", most_bytes=4)


@pytest.mark.parametrize("data", [b"[]", b"1", b'"a"', b"null", b"true"])
def test_an_object_is_nothing_else(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="no object"):
        read_object(data)


def test_fields_have_their_types() -> None:
    found = read_object(b'{"text":"a","number":7,"flag":true,"part":1.0,"none":null}')
    assert text_of(found, "text") == "a"
    assert number_of(found, "number") == 7
    for key in ("number", "flag", "none", "absent"):
        with pytest.raises(RemoteProtocolError, match=f"{key} is no text"):
            text_of(found, key)
    for key in ("text", "flag", "part", "none", "absent"):
        with pytest.raises(RemoteProtocolError, match=f"{key} is no number"):
            number_of(found, key)
