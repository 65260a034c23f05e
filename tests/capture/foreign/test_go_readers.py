"""Events of go-libp2p-pubsub, in every spelling, become the trace events that they should."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.foreign.findings import MOST_NAMES, MOST_PROBLEMS
from rumormill.capture.foreign.rows import Row
from rumormill.libp2p.stack.peer_id import to_text
from tests.helpers.capture import trace_oracle as oracle
from tests.helpers.capture.foreign_traces import EVENTS, read_rows

PEER, OTHER = (b"\x00\x24\x08\x01\x12\x20" + bytes([number]) * 32 for number in (1, 2))
NODE, NEIGHBOUR = to_text(PEER), to_text(OTHER)
TIME = 1_794_759_674_325_510_200
ID = OTHER + bytes(8)
KINDS = ("subscriptions", "messages", "ihave", "iwant", "graft", "prune", "idontwant")


def row(event: str, topic: str | None = None, message_id: bytes | None = None,
        peer: str | None = None, *, time: int = TIME, node: str = NODE, count: int | None = None,
        reason: str | None = None, sender: str | None = None,
        fields: dict[str, Any] | None = None) -> Row:  # fmt: skip
    text = json.dumps(fields, separators=(",", ":")) if fields else None
    return (time, node, event, topic, message_id, peer, None, count, reason, sender, text)


def event(number: int, **body: Any) -> Any:
    return oracle.TraceEvent(
        type=number, peerID=PEER, timestamp=TIME, **{oracle.BODIES[number]: body}
    )


META = {
    "messages": [{"messageID": ID, "topic": "alpha"}],
    "subscription": [{"subscribe": True, "topic": "alpha"}, {"subscribe": False, "topic": "beta"}],
    "control": {
        "ihave": [{"topic": "alpha", "messageIDs": [ID, ID]}],
        "iwant": [{"messageIDs": [ID, b"other"]}, {"messageIDs": [b"third"]}],
        "prune": [{"topic": "beta", "peers": [OTHER]}],
        "idontwant": [{"messageIDs": [ID]}],
    },
}
COUNTS = {"subscriptions": 2, "messages": 1, "ihave": 1, "iwant": 2, "prune": 1, "idontwant": 1}

EACH: dict[str, tuple[Any, list[Row]]] = {
    "publish": (event(0, messageID=ID, topic="alpha"), [row("published", "alpha", ID)]),
    "reject": (
        event(1, messageID=ID, receivedFrom=OTHER, reason="validation queue full", topic="alpha"),
        [row("rejected", "alpha", ID, NEIGHBOUR, reason="validation queue full")],
    ),
    "ignore": (
        event(1, messageID=ID, receivedFrom=OTHER, reason="validation ignored", topic="alpha"),
        [row("ignored", "alpha", ID, NEIGHBOUR, reason="validation ignored")],
    ),
    "duplicate": (
        event(2, messageID=ID, receivedFrom=OTHER, topic="alpha"),
        [row("duplicate", "alpha", ID, NEIGHBOUR)],
    ),
    "deliver": (
        event(3, messageID=ID, receivedFrom=OTHER, topic="alpha"),
        [row("delivered", "alpha", ID, NEIGHBOUR, sender=NEIGHBOUR)],
    ),
    "deliver of one's own": (
        event(3, messageID=PEER + bytes(8), receivedFrom=PEER, topic="alpha"),
        [row("delivered", "alpha", PEER + bytes(8), None, sender=NODE)],
    ),
    "deliver with an id of the application's": (
        event(3, messageID=bytes(20), receivedFrom=OTHER, topic="alpha"),
        [row("delivered", "alpha", bytes(20), NEIGHBOUR)],
    ),
    "deliver of 2020, without topic and peer": (
        event(3, messageID=bytes(20)),
        [row("delivered", None, bytes(20), None)],
    ),
    "a peer": (
        event(4, peerID=OTHER, proto="/meshsub/1.3.0"),
        [row("peer_joined", peer=NEIGHBOUR, fields={"protocol": "/meshsub/1.3.0"})],
    ),
    "a peer less": (event(5, peerID=OTHER), [row("peer_left", peer=NEIGHBOUR)]),
    "receive": (
        event(6, receivedFrom=OTHER, meta=META),
        [
            row("packet_received", peer=NEIGHBOUR, fields=COUNTS),
            row("peer_subscribed", "alpha", peer=NEIGHBOUR),
            row("peer_unsubscribed", "beta", peer=NEIGHBOUR),
        ],
    ),
    "receive nothing": (
        event(6, receivedFrom=OTHER, meta={}),
        [row("packet_received", peer=NEIGHBOUR)],
    ),
    "send": (
        event(7, sendTo=OTHER, meta=META),
        [
            row("packet_sent", peer=NEIGHBOUR, fields=COUNTS),
            row("asked", None, ID, NEIGHBOUR),
            row("asked", None, b"other", NEIGHBOUR),
            row("asked", None, b"third", NEIGHBOUR),
        ],
    ),
    "drop": (
        event(8, sendTo=OTHER, meta=META),
        [row("dropped", peer=NEIGHBOUR, count=1, reason="queue_full",
             fields={"what": "packet", **COUNTS})],
    ),
    "join": (event(9, topic="alpha"), [row("subscribed", "alpha")]),
    "leave": (event(10, topic="alpha"), [row("unsubscribed", "alpha")]),
    "graft": (event(11, peerID=OTHER, topic="beta"), [row("grafted", "beta", peer=NEIGHBOUR)]),
    "prune": (event(12, peerID=OTHER, topic="beta"), [row("pruned", "beta", peer=NEIGHBOUR)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EACH)
def test_each_event_becomes_what_it_should_from_every_spelling(name: str) -> None:
    found, expected = EACH[name]
    for old in (False, True):
        for names in (False, True):
            line = oracle.to_go_json(found, old=old, names=names)
            assert read_rows("go-json", line)[0] == expected
    assert read_rows("go-protobuf", oracle.delimited(found))[0] == expected
    batch = oracle.TraceEventBatch(batch=[found, found])
    assert read_rows("go-protobuf", oracle.delimited(batch))[0] == expected * 2


@given(st.lists(EVENTS, max_size=12), st.booleans(), st.booleans(), st.integers(0, 200))
def test_json_and_protobuf_give_the_same_rows_in_pieces_of_any_size(
    events: list[Any], old: bool, names: bool, piece: int
) -> None:
    lines = b"".join(oracle.to_go_json(event, old=old, names=names) for event in events)
    frames = b"".join(map(oracle.delimited, events))
    batch = oracle.delimited(oracle.TraceEventBatch(batch=events)) if events else b""
    from_json, findings = read_rows("go-json", lines, piece)
    assert (findings.events, findings.problems) == (len(events), [])
    for data in (frames, batch):
        rows, findings = read_rows("go-protobuf", data, piece)
        assert rows == from_json
        assert (findings.events, findings.problems) == (len(events), [])
    own = [event for event in from_json if event[2] not in EXTRA]
    assert [row[0] for row in own] == [event.timestamp for event in events]
    assert [row[1] for row in own] == [to_text(event.peerID) for event in events]


EXTRA = ("peer_subscribed", "peer_unsubscribed", "asked")
"""Events that are a part of another one."""


# ---- what we do not know


def with_novelties() -> list[Any]:
    event_of_a_fork = oracle.TraceEvent(type=14, peerID=PEER, timestamp=TIME, novelty=b"?")
    envelope = event(9, topic="alpha")
    envelope.novelty = b"new"
    body = event(7, sendTo=OTHER, meta={})
    body.sendRPC.length = 1000
    return [event_of_a_fork, event_of_a_fork, envelope, body]


def test_unknown_events_and_fields_are_counted_and_kept_out() -> None:
    lines = b"".join(map(oracle.to_go_json, with_novelties()))
    frames = b"".join(map(oracle.delimited, with_novelties()))
    for form, data in (("go-json", lines), ("go-protobuf", frames)):
        rows, findings = read_rows(form, data)
        assert rows == [row("subscribed", "alpha"), row("packet_sent", peer=NEIGHBOUR)]
        assert findings.left_out == {"type 14": 2}
        assert findings.unknown_fields == 2
        assert (findings.events, findings.problems, findings.bad_events) == (4, [], 0)


def test_an_unknown_field_of_a_packet_is_counted_each_time() -> None:
    packet = b"\x0a\x26" + OTHER + b"\x12\x04\x78\x01\x1a\x00"  # field 15 in the meta
    body = b"\x52" + bytes([len(packet)]) + packet
    raw = b"\x08\x06\x12\x26" + PEER + b"\x18\x07" + body
    rows, findings = read_rows("go-protobuf", (bytes([len(raw)]) + raw) * 3)
    assert (len(rows), findings.unknown_fields) == (3, 3)


def test_kinds_of_events_are_counted_by_name_up_to_a_limit() -> None:
    lines = [b'{"type":%d}\n' % number for number in range(100, 100 + MOST_NAMES + 50)]
    _, findings = read_rows("go-json", b"".join(lines))
    assert len(findings.left_out) == MOST_NAMES + 1
    assert findings.left_out["others"] == 50


# ---- events that are none

BAD: dict[str, Callable[[Any], object]] = {
    "no peer": lambda event: event.ClearField("peerID"),
    "no time": lambda event: event.ClearField("timestamp"),
    "no body": lambda event: event.ClearField("deliverMessage"),
    "no message id": lambda event: event.deliverMessage.ClearField("messageID"),
    "a time before 1970": lambda event: setattr(event, "timestamp", -1),
    "a peer id far too long": lambda event: setattr(event, "peerID", bytes(200)),
    "an empty peer id": lambda event: setattr(event, "peerID", b""),
    "a message id far too long": lambda event: setattr(event.deliverMessage, "messageID",
                                                       bytes(5000)),
    "a topic far too long": lambda event: setattr(event.deliverMessage, "topic", "t" * 5000),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_an_event_without_what_it_needs_is_left_out_and_those_around_it_are_not(name: str) -> None:
    good, bad = EACH["deliver"][0], oracle.TraceEvent()
    bad.CopyFrom(good)
    BAD[name](bad)
    lines = b"".join(map(oracle.to_go_json, (good, bad, good)))
    frames = b"".join(map(oracle.delimited, (good, bad, good)))
    for form, data, line in (("go-json", lines, 2), ("go-protobuf", frames, None)):
        rows, findings = read_rows(form, data)
        assert rows == EACH["deliver"][1] * 2
        assert (findings.events, findings.bad_events) == (2, 1)
        (problem,) = findings.problems
        assert (problem.line, problem.events) == (line, 1)
        assert findings.cut_bytes == problem.bytes


@pytest.mark.parametrize(
    "line",
    [b"[]", b"7", b"null", b'"type"', b"{}", b'{"type":[]}', b'{"type":3,"peerID":7}',
     b'{"type":9,"peerID":"!","timestamp":1,"join":{"topic":"a"}}',
     b'{"type":9,"peerID":"AAEC","timestamp":"x","join":{"topic":"a"}}',
     b'{"type":9,"peerID":"AAEC","timestamp":1.5,"join":{"topic":"a"}}',
     b'{"type":9,"peerID":"AAEC","timestamp":9223372036854775808,"join":{"topic":"a"}}',
     b'{"type":9,"peerID":"AAEC","timestamp":1,"join":{"topic":7}}',
     b'{"type":9,"peerID":"AAEC","timestamp":1,"join":"a"}',
     b'{"type":6,"peerID":"AAEC","timestamp":1,"recvRPC":{"receivedFrom":"AAEC","meta":[1]}}',
     b'{"type":6,"peerID":"AAEC","timestamp":1,"recvRPC":{"receivedFrom":"AAEC","meta":'
     b'{"subscription":[7]}}}',
     b'{"type":9,"peerID":"AAEC","timestamp":1,"join":{"topic":"a"}} and more',
     b'{"type":9}{"type":9}', b"[" * 100_000, b"\xff\xfe", b'{"type":9,"peerID":"\xff"}',
     b"1" * 10_000],
)  # fmt: skip
def test_a_line_of_another_shape_is_left_out(line: bytes) -> None:
    good = oracle.to_go_json(EACH["join"][0])
    rows, findings = read_rows("go-json", good + line + b"\n" + good)
    assert rows == EACH["join"][1] * 2
    assert (findings.events, findings.bad_events) == (2, 1)
    (problem,) = findings.problems
    assert (problem.line, problem.byte, problem.bytes) == (2, len(good), len(line) + 1)


def test_half_a_character_in_a_topic_is_replaced_and_breaks_nothing() -> None:
    line = b'{"type":9,"peerID":"AAEC","timestamp":1,"join":{"topic":"a\\ud800"}}\n'
    (found,), _ = read_rows("go-json", line)
    assert found[3] == "a?"


def test_blank_lines_and_spaces_are_nothing() -> None:
    good = oracle.to_go_json(EACH["join"][0])
    rows, findings = read_rows("go-json", b"\n  \n" + good.replace(b"\n", b" \r\n") + b"\n")
    assert (len(rows), findings.events, findings.problems) == (1, 1, [])


def test_of_many_problems_the_first_are_kept_and_all_are_counted() -> None:
    _, findings = read_rows("go-json", b"x\n" * 1000)
    assert len(findings.problems) == MOST_PROBLEMS
    assert findings.more_problems == 1000 - MOST_PROBLEMS
    assert (findings.bad_events, findings.cut_bytes) == (1000, 2000)
    assert [problem.line for problem in findings.problems] == list(range(1, MOST_PROBLEMS + 1))
