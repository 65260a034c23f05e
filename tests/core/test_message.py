"""A message as the application sees it."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.message import NO_FIELDS, Message


def test_a_message_needs_only_a_topic_and_data() -> None:
    message = Message("weather", b"rain")
    assert (message.sender, message.id, message.received_from) == (None, b"", None)
    assert message.fields is NO_FIELDS


def test_a_message_cannot_be_changed() -> None:
    message = Message("weather", b"rain")
    with pytest.raises(AttributeError):
        message.data = b"sun"  # type: ignore[misc]
    with pytest.raises(TypeError):
        message.fields["seq"] = 1  # type: ignore[index]


def test_text_never_fails() -> None:
    assert Message("t", "Grüße".encode()).text == "Grüße"
    assert Message("t", b"a\xffb").text == "a\ufffdb"


@given(st.binary(max_size=100), st.binary(max_size=20))
def test_the_json_form_holds_all_of_the_data(data: bytes, identity: bytes) -> None:
    line = json.dumps(Message("t", data, sender="s", id=identity, received_at=1.5).to_json())
    found = json.loads(line)
    if "data" in found:
        assert found["data"].encode("utf-8") == data
    else:
        assert base64.b64decode(found["data_base64"]) == data
    assert ("data" in found) != ("data_base64" in found)
    assert bytes.fromhex(found["id"]) == identity


def test_the_json_form_has_what_the_family_adds() -> None:
    row = Message("t", b"d", received_from="p", fields={"sequence": 7}).to_json()
    assert row == {
        "topic": "t",
        "data": "d",
        "sender": None,
        "id": "",
        "received_at": 0.0,
        "received_from": "p",
        "sequence": 7,
    }
