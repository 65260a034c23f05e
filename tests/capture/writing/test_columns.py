"""Records become columns with nothing lost or invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.envelope import encode
from rumormill.capture.schema import MESSAGE_SCHEMA, TRACE_SCHEMA
from rumormill.capture.writing.columns import (
    batch_times,
    converted,
    mend_message,
    mend_trace,
    messages_batch,
    trace_batch,
)
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent
from tests.helpers.capture.spool_records import BEGIN, NODE, event, message

texts = st.text(max_size=12)
times = st.floats(0, 4e9, allow_nan=False)
field_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    texts,
    st.floats(allow_nan=False, allow_infinity=False),
)
field_names = st.sampled_from(["size", "count", "reason", "sender", "what", "peers", "per%cent"])
events = st.builds(
    TraceEvent,
    times, texts, texts, st.none() | texts, st.none() | st.binary(max_size=9), st.none() | texts,
    st.dictionaries(field_names, field_values, max_size=7),
)  # fmt: skip
messages = st.builds(
    Message,
    topic=texts,
    data=st.binary(max_size=20),
    sender=st.none() | texts,
    id=st.binary(max_size=9),
    network=texts,
    received_from=st.none() | texts,
    received_at=times,
    fields=st.dictionaries(texts, st.integers() | texts, max_size=3),
)


def test_a_message_has_every_column() -> None:
    (row,) = messages_batch([(message(7), NODE)]).batch.to_pylist()
    assert row.pop("timestamp").timestamp() == BEGIN + 7
    assert row == {
        "key": None,
        "value": b"7",
        "topic": "weather",
        "headers": [{"key": "sequence", "value": b"7"}],
        "sender": "12D3KooWsender",
        "message_id": bytes(7) + b"\x07",
        "network": "gossipsub",
        "node": NODE,
        "received_from": "12D3KooWpeer",
    }


@given(st.lists(messages, min_size=1, max_size=8))
def test_messages_come_out_as_they_went_in(given_messages: list[Message]) -> None:
    found = messages_batch([(each, NODE) for each in given_messages])
    assert found.batch.schema == MESSAGE_SCHEMA
    found.batch.validate(full=True)
    for row, sent in zip(found.batch.to_pylist(), given_messages, strict=True):
        assert row["value"] == sent.data
        assert (row["topic"], row["network"]) == (sent.topic, sent.network)
        assert row["sender"] == sent.sender
        assert (row["message_id"], row["received_from"]) == (sent.id or None, sent.received_from)
        headers = {each["key"]: each["value"].decode() for each in row["headers"] or []}
        assert headers == {key: str(value) for key, value in sent.fields.items()}
    assert found.times == batch_times(found.batch)


def test_an_envelope_is_opened_and_its_headers_come_first() -> None:
    packed = message(1)._replace(data=encode(b"rain", b"Bern", [("unit", b"mm"), ("none", None)]))
    plain, opened = messages_batch([(message(0), NODE), (packed, NODE)]).batch.to_pylist()
    assert (plain["key"], plain["value"]) == (None, b"0")
    assert (opened["key"], opened["value"]) == (b"Bern", b"rain")
    assert opened["headers"] == [
        {"key": "unit", "value": b"mm"},
        {"key": "none", "value": None},
        {"key": "sequence", "value": b"1"},
    ]


def test_a_value_of_null_and_no_headers_are_null() -> None:
    packed = message(1)._replace(data=encode(None, b"Bern"), fields={})
    (row,) = messages_batch([(packed, NODE)]).batch.to_pylist()
    assert (row["key"], row["value"], row["headers"]) == (b"Bern", None, None)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, b"true"), (1.5, b"1.5"), (b"\x01\xff", b"01ff"), (None, None), ([1, 2], b"[1,2]")],
)
def test_fields_of_a_family_become_headers_as_text(value: Any, text: bytes | None) -> None:
    (row,) = messages_batch([(message(0)._replace(fields={"f": value}), NODE)]).batch.to_pylist()
    assert row["headers"] == [{"key": "f", "value": text}]


@given(st.lists(events, min_size=1, max_size=8))
def test_events_come_out_as_they_went_in(given_events: list[TraceEvent]) -> None:
    found = trace_batch([(each, "gossipsub") for each in given_events])
    assert found.batch.schema == TRACE_SCHEMA
    found.batch.validate(full=True)
    own = {"size": int, "count": int, "reason": str, "sender": str}
    for row, sent in zip(found.batch.to_pylist(), given_events, strict=True):
        assert (row["node"], row["event"], row["topic"]) == (sent.node, sent.event, sent.topic)
        assert (row["message_id"], row["peer"]) == (sent.message_id, sent.peer)
        expected = dict(sent.fields)
        for key in own:
            if expected.get(key, 0) is None:
                del expected[key]
        for key, kind in own.items():
            fits = type(expected.get(key)) is kind
            assert row[key] == (expected.pop(key) if fits else None)
        others = {} if row["fields"] is None else json.loads(row["fields"])
        assert others == expected
        assert [type(value) for value in others.values()] == [type(expected[key]) for key in others]


def test_times_are_rounded_to_the_nearest_microsecond() -> None:
    made = [event(0)._replace(time=time) for time in (0.000498, 1_098_554_253.192844, 12.5)]
    found = trace_batch([(each, "gossipsub") for each in made])
    micros = found.batch.column("time").cast("int64").to_pylist()
    assert micros == [498, 1_098_554_253_192_844, 12_500_000]
    assert found.times == (498, 1_098_554_253_192_844)


def test_numbers_that_are_none_do_not_spoil_the_json() -> None:
    strange = event(0)._replace(fields={"delay": float("inf"), "score": float("nan")})
    (row,) = trace_batch([(strange, "gossipsub")]).batch.to_pylist()
    assert json.loads(row["fields"]) == {"delay": "inf", "score": "nan"}


def test_text_that_is_no_unicode_is_mended_and_costs_no_other_record() -> None:
    strange = message(1)._replace(sender="\ud800", topic="a\udfffb", fields={"\ud800": "\ud800"})
    found, unfit = converted(
        [(message(0), NODE), (strange, NODE), (message(2), NODE)], messages_batch, mend_message
    )
    assert found is not None and unfit == 0
    assert found.batch.column("topic").to_pylist() == ["weather", "a?b", "weather"]
    assert found.batch.column("value").to_pylist() == [b"0", b"1", b"2"]


def test_an_event_with_too_large_a_number_is_mended() -> None:
    strange = event(1)._replace(fields={"size": 2**70, "agent": "\ud800"})
    found, unfit = converted([(event(0), "n"), (strange, "n")], trace_batch, mend_trace)
    assert found is not None and unfit == 0
    assert json.loads(found.batch.to_pylist()[1]["fields"]) == {"size": str(2**70), "agent": "?"}


def test_what_cannot_be_mended_is_left_out_and_counted() -> None:
    impossible = message(1)._replace(data=17)  # type: ignore[arg-type]
    found, unfit = converted([(message(0), NODE), (impossible, NODE)], messages_batch, mend_message)
    assert found is not None and unfit == 1
    assert found.batch.column("value").to_pylist() == [b"0"]
    assert converted([(impossible, NODE)], messages_batch, mend_message) == (None, 1)
