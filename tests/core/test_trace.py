"""Trace events: one schema, one line each."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.trace import TraceEvent

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
EVENTS = st.builds(
    TraceEvent,
    time=st.floats(0, 1e12),
    node=st.text(max_size=20),
    event=st.sampled_from([trace.DELIVERED, trace.DUPLICATE, trace.PROTOCOL_ERROR]),
    topic=st.none() | st.text(max_size=20),
    message_id=st.none() | st.binary(max_size=40),
    peer=st.none() | st.text(max_size=20),
    fields=st.dictionaries(st.text(min_size=1, max_size=10).map("x_{}".format), VALUES, max_size=3),
)


@given(EVENTS)
def test_an_event_is_one_line_that_holds_all_of_it(event: TraceEvent) -> None:
    line = event.to_json_line()
    assert "\n" not in line
    row = json.loads(line)
    assert list(row)[:6] == ["time", "node", "event", "topic", "message_id", "peer"]
    assert row["time"] == event.time
    assert (row["node"], row["event"], row["topic"], row["peer"]) == (
        event.node,
        event.event,
        event.topic,
        event.peer,
    )
    identity = None if row["message_id"] is None else bytes.fromhex(row["message_id"])
    assert identity == event.message_id
    assert {name: row[name] for name in event.fields} == dict(event.fields)


@given(EVENTS)
def test_equal_events_give_equal_lines(event: TraceEvent) -> None:
    again = event._replace(fields=dict(event.fields))
    assert again == event
    assert again.to_json_line() == event.to_json_line()


def test_text_of_any_language_stays_readable() -> None:
    assert '"node":"Zürich"' in TraceEvent(0.0, "Zürich", trace.DELIVERED).to_json_line()


def test_each_kind_of_event_has_a_name_of_its_own() -> None:
    values = [value for name, value in vars(trace).items() if name.isupper()]
    kinds = [value for value in values if isinstance(value, str)]
    assert len(kinds) == len(set(kinds)) > 20
    assert all(kind == kind.lower() for kind in kinds)


def test_what_is_summed_up_are_kinds_that_a_peer_can_repeat() -> None:
    assert not trace.REPEATABLE & trace.FOLLOWED
    exact = {trace.DELIVERED, trace.PUBLISHED, trace.PEER_JOINED, trace.PEER_LEFT}
    assert not (trace.REPEATABLE | trace.FOLLOWED) & exact
