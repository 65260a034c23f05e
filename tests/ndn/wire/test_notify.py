"""What a notify says: the three fields in their order, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.encoding import BytesField, DecodeError, ModelField, NameField, TlvModel

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import MOST_COMPONENTS, component, name_from_uri, name_tlv, name_to_uri
from rumormill.ndn.wire.notify import (
    NotifyParameters,
    decode_notify,
    encode_notify,
    message_name,
    notify_name,
)
from tests.helpers.ndn.wire import NAMES, joined

PREFIX, NONCE, HINT = "0703 080161", "8004 31323334", "d305 0703 080168"


class Hint(TlvModel):  # type: ignore[misc]  # python-ndn comes without types
    name = NameField()


class Notify(TlvModel):  # type: ignore[misc]
    """As the seed describes it."""

    publisher_prefix = NameField()
    notify_nonce = BytesField(128)
    publisher_fwd_hint = ModelField(211, Hint)


def reason(*parts: bytes | str) -> str:
    try:
        decode_notify(joined(*parts))
    except RemoteProtocolError as error:
        return error.reason
    return ""


@given(NAMES, st.binary(max_size=300), st.none() | NAMES)
def test_python_ndn_reads_what_we_write(publisher: bytes, nonce: bytes, hint: bytes | None) -> None:
    parameters = NotifyParameters(publisher, nonce, hint)
    raw = encode_notify(parameters)
    assert decode_notify(raw) == parameters
    theirs = Notify.parse(raw)
    assert b"".join(map(bytes, theirs.publisher_prefix)) == publisher
    assert bytes(theirs.notify_nonce) == nonce
    found = theirs.publisher_fwd_hint
    assert (None if found is None else b"".join(map(bytes, found.name))) == hint
    assert bytes(theirs.encode()) == raw


def test_the_hint_comes_last() -> None:
    made = encode_notify(NotifyParameters(component(b"a"), b"1234", component(b"h")))
    assert made == joined(PREFIX, NONCE, HINT)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], "bad_notify"),
        ([PREFIX], "bad_notify"),
        ([NONCE], "bad_notify"),
        ([HINT], "bad_notify"),
        ([PREFIX, HINT], "bad_notify"),
        ([NONCE, PREFIX], "unknown_critical"),
        ([PREFIX, PREFIX, NONCE], "unknown_critical"),
        ([PREFIX, NONCE, HINT, HINT], "unknown_critical"),
        ([HINT, PREFIX, NONCE], "unknown_critical"),
        ([PREFIX, NONCE, "f100"], "unknown_critical"),
        ([PREFIX, NONCE, "d30a 0703080168 0703080169"], "unknown_critical"),
        ([PREFIX, NONCE, "d302 f100"], "unknown_critical"),
        (["0702 0801", NONCE], "bad_tlv"),
        ([PREFIX, "8005 31323334"], "bad_tlv"),
        ([PREFIX, NONCE, "d304 0703 0801"], "bad_tlv"),
    ],
)
def test_what_is_no_notify_is_refused_as_python_ndn_refuses_it(
    parts: list[str], expected: str
) -> None:
    assert reason(*parts) == expected
    if expected == "unknown_critical":
        with pytest.raises(DecodeError):
            Notify.parse(joined(*parts))


def test_unknown_even_types_are_passed_over_as_python_ndn_does() -> None:
    parts = ("f000", PREFIX, "f001ff", NONCE, "8001ff", "d307 f000 0703080168", "f000")
    assert decode_notify(joined(*parts)) == (component(b"a"), b"1234", component(b"h"))
    assert bytes(Notify.parse(joined(*parts)).notify_nonce) == b"1234"


def test_a_hint_without_a_name_is_none() -> None:
    assert decode_notify(joined(PREFIX, NONCE, "d300")).hint is None


def test_names_of_many_components_are_refused() -> None:
    many = name_tlv(component(b"") * (MOST_COMPONENTS + 1))
    assert reason(many, NONCE) == "bad_name"


def test_names_of_pubsub() -> None:
    topic, alice = name_from_uri("/weather/berlin"), name_from_uri("/alice")
    assert name_to_uri(notify_name(topic)) == "/weather/berlin/notify"
    assert name_to_uri(message_name(alice, topic, b"1234")) == "/alice/msg/weather/berlin/1234"
    assert name_to_uri(message_name(b"", topic, b"")) == "/msg/weather/berlin/..."


@given(st.binary(max_size=60))
def test_any_parameters_are_read_or_refused(value: bytes) -> None:
    reason(value)
    reason(PREFIX, NONCE, value)
