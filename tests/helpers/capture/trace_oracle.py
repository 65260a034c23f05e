"""go-libp2p-pubsub's trace events in Google's protobuf library: a second opinion on our reader.

The classes are made when this module is loaded; :func:`to_go_json` writes an event as Go's
``encoding/json`` does.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from rumormill.core.protobuf import encode_varint
from tests.helpers.core.protobuf_classes import message_classes

BODIES = (
    "publishMessage", "rejectMessage", "duplicateMessage", "deliverMessage", "onNewOutboundStream",
    "onClosedOutboundStream", "recvRPC", "sendRPC", "dropRPC", "join", "leave", "graft", "prune",
)  # fmt: skip
"""The field of each type, by the type's number."""

OLD_BODIES = {"onNewOutboundStream": "addPeer", "onClosedOutboundStream": "removePeer"}
"""How two of them were spelled until v0.15."""

NAMES = (
    "PUBLISH_MESSAGE", "REJECT_MESSAGE", "DUPLICATE_MESSAGE", "DELIVER_MESSAGE",
    "ON_NEW_OUTBOUND_STREAM", "ON_CLOSED_OUTBOUND_STREAM", "RECV_RPC", "SEND_RPC", "DROP_RPC",
    "JOIN", "LEAVE", "GRAFT", "PRUNE",
)  # fmt: skip
OLD_NAMES = {"ON_NEW_OUTBOUND_STREAM": "ADD_PEER", "ON_CLOSED_OUTBOUND_STREAM": "REMOVE_PEER"}

_SCHEMA: dict[str, list[tuple[str, int, str, bool]]] = {
    # name, number, type, repeated
    "TraceEvent": [
        ("type", 1, "int32", False),
        ("peerID", 2, "bytes", False),
        ("timestamp", 3, "int64", False),
        *((body, 4 + number, body[0].upper() + body[1:], False) for number, body in
          enumerate(BODIES)),
        ("novelty", 17, "bytes", False),
    ],
    "PublishMessage": [("messageID", 1, "bytes", False), ("topic", 2, "string", False)],
    "RejectMessage": [
        ("messageID", 1, "bytes", False),
        ("receivedFrom", 2, "bytes", False),
        ("reason", 3, "string", False),
        ("topic", 4, "string", False),
    ],
    "DuplicateMessage": [
        ("messageID", 1, "bytes", False),
        ("receivedFrom", 2, "bytes", False),
        ("topic", 3, "string", False),
    ],
    "DeliverMessage": [
        ("messageID", 1, "bytes", False),
        ("topic", 2, "string", False),
        ("receivedFrom", 3, "bytes", False),
    ],
    "OnNewOutboundStream": [("peerID", 1, "bytes", False), ("proto", 2, "string", False)],
    "OnClosedOutboundStream": [("peerID", 1, "bytes", False)],
    "RecvRPC": [("receivedFrom", 1, "bytes", False), ("meta", 2, "RPCMeta", False)],
    "SendRPC": [
        ("sendTo", 1, "bytes", False),
        ("meta", 2, "RPCMeta", False),
        ("length", 3, "int64", False),  # of a fork
    ],
    "DropRPC": [("sendTo", 1, "bytes", False), ("meta", 2, "RPCMeta", False)],
    "Join": [("topic", 1, "string", False)],
    "Leave": [("topic", 2, "string", False)],
    "Graft": [("peerID", 1, "bytes", False), ("topic", 2, "string", False)],
    "Prune": [("peerID", 1, "bytes", False), ("topic", 2, "string", False)],
    "RPCMeta": [
        ("messages", 1, "MessageMeta", True),
        ("subscription", 2, "SubMeta", True),
        ("control", 3, "ControlMeta", False),
    ],
    "MessageMeta": [("messageID", 1, "bytes", False), ("topic", 2, "string", False)],
    "SubMeta": [("subscribe", 1, "bool", False), ("topic", 2, "string", False)],
    "ControlMeta": [
        ("ihave", 1, "ControlIHaveMeta", True),
        ("iwant", 2, "ControlIWantMeta", True),
        ("graft", 3, "ControlGraftMeta", True),
        ("prune", 4, "ControlPruneMeta", True),
        ("idontwant", 5, "ControlIDontWantMeta", True),
    ],
    "ControlIHaveMeta": [("topic", 1, "string", False), ("messageIDs", 2, "bytes", True)],
    "ControlIWantMeta": [("messageIDs", 1, "bytes", True)],
    "ControlGraftMeta": [("topic", 1, "string", False)],
    "ControlPruneMeta": [("topic", 1, "string", False), ("peers", 2, "bytes", True)],
    "ControlIDontWantMeta": [("messageIDs", 1, "bytes", True)],
    "TraceEventBatch": [("batch", 1, "TraceEvent", True)],
}  # fmt: skip

_CLASSES = message_classes("trace_oracle", _SCHEMA)
TraceEvent: Any = _CLASSES["TraceEvent"]
TraceEventBatch: Any = _CLASSES["TraceEventBatch"]


def delimited(message: Any) -> bytes:
    """A message behind its length."""
    raw: bytes = message.SerializeToString()
    return encode_varint(len(raw)) + raw


def to_go_json(event: Any, *, old: bool = False, names: bool = False) -> bytes:
    """An event as a line; ``old`` spelling, or with ``names`` as protojson writes types and times.

    Both leave out what is not set. The order of the keys is that of the fields.
    """
    row = _to_json(event)
    if old:
        row = {OLD_BODIES.get(key, key): value for key, value in row.items()}
    if names:
        name = NAMES[row["type"]] if row["type"] < len(NAMES) else "NOVELTY"
        row["type"] = OLD_NAMES.get(name, name) if old else name
        row["timestamp"] = str(row["timestamp"])
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "ListFields"):
        return {field.name: _to_json(found) for field, found in value.ListFields()}
    if isinstance(value, str | bool | int):
        return value
    return [_to_json(each) for each in value]
