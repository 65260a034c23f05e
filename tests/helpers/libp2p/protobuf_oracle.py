"""The pubsub schema in the protobuf library of Google: a second opinion on what we read and write.

The classes are made when this module is loaded, so that no generated file has to be kept.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from tests.helpers.core.protobuf_classes import message_classes

_SCHEMA: dict[str, list[tuple[str, int, str, bool]]] = {
    # name, number, type, repeated; the seed's repeated topicIDs stand for the single topic too.
    "Message": [
        ("from", 1, "bytes", False),
        ("data", 2, "bytes", False),
        ("seqno", 3, "bytes", False),
        ("topics", 4, "bytes", True),
        ("signature", 5, "bytes", False),
        ("key", 6, "bytes", False),
    ],
    "SubOpts": [("subscribe", 1, "bool", False), ("topicid", 2, "bytes", False)],
    "IHave": [("topic", 1, "bytes", False), ("ids", 2, "bytes", True)],
    "IWant": [("ids", 1, "bytes", True)],
    "Graft": [("topic", 1, "bytes", False)],
    "Prune": [
        ("topic", 1, "bytes", False),
        ("peers", 2, "PeerInfo", True),
        ("backoff", 3, "uint64", False),
    ],
    "PeerInfo": [("peerID", 1, "bytes", False), ("signedPeerRecord", 2, "bytes", False)],
    "Control": [
        ("ihave", 1, "IHave", True),
        ("iwant", 2, "IWant", True),
        ("graft", 3, "Graft", True),
        ("prune", 4, "Prune", True),
    ],
    "RPC": [
        ("subscriptions", 1, "SubOpts", True),
        ("publish", 2, "Message", True),
        ("control", 3, "Control", False),
    ],
}

_CLASSES = message_classes("oracle", _SCHEMA)
Message: Any = _CLASSES["Message"]
SubOpts: Any = _CLASSES["SubOpts"]
IHave: Any = _CLASSES["IHave"]
IWant: Any = _CLASSES["IWant"]
Graft: Any = _CLASSES["Graft"]
Prune: Any = _CLASSES["Prune"]
Control: Any = _CLASSES["Control"]
RPC: Any = _CLASSES["RPC"]


def parse(message_class: Any, raw: bytes) -> Any | None:
    """What the library reads, or None if it takes the bytes for malformed."""
    try:
        return message_class.FromString(raw)
    except DecodeError:
        return None
