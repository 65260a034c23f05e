"""The pubsub schema in the protobuf library of Google: a second opinion on what we read and write.

The classes are made when this module is loaded, so that no generated file has to be kept.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "oracle"

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
        ("peers", 2, "bytes", True),
        ("backoff", 3, "uint64", False),
    ],
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

_TYPES = {"bytes": _Field.TYPE_BYTES, "bool": _Field.TYPE_BOOL, "uint64": _Field.TYPE_UINT64}


def _add_field(message: Any, name: str, number: int, kind: str, repeated: bool) -> None:
    field = message.field.add(name=name, number=number)
    field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    field.type = _TYPES.get(kind, _Field.TYPE_MESSAGE)
    if field.type == _Field.TYPE_MESSAGE:
        field.type_name = f".{_PACKAGE}.{kind}"


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="oracle.proto", package=_PACKAGE)
    for name, schema in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for field in schema:
            _add_field(message, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _SCHEMA
    }


_CLASSES = _classes()
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
