"""Fuzz the readers of foreign traces: raw bytes, and events that nearly make sense."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.capture.foreign.rows import to_batch
    from rumormill.core.protobuf import bytes_field, varint_field
    from rumormill.libp2p.wire.frames import length_prefixed
    from tests.helpers.capture.foreign_traces import read_rows

import json

FORMS = ["go-json", "go-protobuf", "hermes-json"]
PEER = b"\x00\x24\x08\x01\x12\x20" + bytes(32)
TEXTS = ["alpha", "", "\ud800", "t" * 5000, "AAEC", "12D3Koo", "00ff", "2024-06-20T10:00:00Z"]
KEYS = {
    "go-json": ["type", "peerID", "timestamp", "join", "leave", "recvRPC", "sendRPC", "meta",
                "subscription", "control", "iwant", "messageIDs", "messageID", "topic",
                "receivedFrom", "deliverMessage", "subscribe", "messages"],
    "hermes-json": ["Type", "Topic", "PeerID", "Timestamp", "Data", "MsgID", "MsgSize", "Subs",
                    "Control", "IWant", "MsgIDs", "RemotePeer", "RemoteMaddrs", "Protocol"],
}  # fmt: skip
HERMES_TYPES = ["JOIN", "DELIVER_MESSAGE", "RECV_RPC", "SEND_RPC", "CONNECTED", "PUBLISH_MESSAGE"]


def value(choices: Choices, keys: list[str], depth: int) -> Any:
    kind = choices.number(9 if depth else 6)
    if kind == 0:
        return choices.number(16)
    if kind == 1:
        return TEXTS[choices.number(len(TEXTS))]
    if kind == 2:
        return [None, True, False, 1.5, -1, 1 << 63, 1_794_759_674_325_510_200][choices.number(7)]
    if kind == 3:
        return HERMES_TYPES[choices.number(len(HERMES_TYPES))]
    if kind == 4:
        return "ACQIARIgJ/0r9mtfuu69rpq69WGepw+wsdTnaYwGGYMXDu3Aie0="
    if kind == 5:
        return choices.take(4).decode("latin-1")
    if kind == 6:
        return [value(choices, keys, depth - 1) for _ in range(choices.number(3))]
    return {
        keys[choices.number(len(keys))]: value(choices, keys, depth - 1)
        for _ in range(choices.number(6))
    }


def lines(choices: Choices, form: str) -> bytes:
    found = []
    while choices:
        event = value(choices, KEYS[form], 5)
        if isinstance(event, dict) and choices.number(2):
            event = {**WHOLE[form], **event}
        found.append(json.dumps(event).encode() + b"\n"[: choices.number(8)])
    return b"".join(found)


WHOLE: dict[str, dict[str, Any]] = {
    "go-json": {"type": 9, "peerID": "AAEC", "timestamp": 7, "join": {"topic": "a"}},
    "hermes-json": {"Type": "JOIN", "Topic": "", "PeerID": "12D3Koo",
                    "Timestamp": "2024-06-20T10:00:00Z", "Data": {"Topic": "a"}},
}  # fmt: skip


def message(choices: Choices, depth: int) -> bytes:
    """Fields that a message of a trace may have at some place."""
    parts = []
    for _ in range(choices.number(5)):
        number, kind = 1 + choices.number(6), choices.number(6)
        if kind == 0:
            parts.append(varint_field(number, choices.number(256) << choices.number(60)))
        elif kind == 1:
            parts.append(bytes_field(number, [PEER, b"", b"topic", bytes(5000)][choices.number(4)]))
        elif kind == 2:
            parts.append(choices.take(3))
        elif depth:
            parts.append(bytes_field(number, message(choices, depth - 1)))
    return b"".join(parts)


def frames(choices: Choices) -> bytes:
    found = []
    while choices:
        kind = choices.number(16)
        event = varint_field(1, kind) + bytes_field(2, PEER) + varint_field(3, 1 << 60)
        event += bytes_field(4 + kind, message(choices, 4))
        if not choices.number(3):
            event = bytes_field(1, event) + bytes_field(1, message(choices, 1))
        found.append(length_prefixed(event))
    return b"".join(found)


def target(data: bytes) -> None:
    choices = Choices(data)
    form, piece = FORMS[choices.number(3)], [0, 7, 100, 1000][choices.number(4)]
    if not choices.number(3):
        raw = choices.take(len(data))
    else:
        raw = frames(choices) if form == "go-protobuf" else lines(choices, form)
    rows, findings = read_rows(form, raw, piece)
    assert to_batch(rows).num_rows == len(rows)
    assert findings.bad_events + len(findings.problems) + findings.more_problems >= 0
    assert findings.cut_bytes <= len(raw) + 1
    again, _ = read_rows(form, raw, 0)
    assert again == rows, "the size of the pieces matters"


SEEDS = [
    bytes((0, 0, 0)) + b'{"type":9,"peerID":"AAEC","timestamp":1,"join":{"topic":"a"}}\n',
    bytes((0, 1, 1, 7, 5, 0, 0, 6, 1, 4, 1, 1)),
    bytes((2, 2, 1, 8, 3, 1, 3, 2, 4, 8, 2, 5, 1)),
    bytes((1, 0, 1, 6, 3, 3, 0, 3, 2, 1, 1, 0, 1, 1, 2)),
    bytes((1, 1, 1, 9, 1, 0, 1, 2, 1, 2, 12, 1, 1, 0, 0)),
    bytes((1, 3, 0)) + length_prefixed(varint_field(1, 9) + bytes_field(2, PEER)),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
