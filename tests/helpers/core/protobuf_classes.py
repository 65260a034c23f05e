"""Message classes of Google's protobuf library, made from a table: no generated file is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Schema = Mapping[str, Sequence[tuple[str, int, str, bool]]]
"""The fields of each message: name, number, type, repeated."""

_Field = descriptor_pb2.FieldDescriptorProto

_TYPES = {
    "bytes": _Field.TYPE_BYTES,
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint64": _Field.TYPE_UINT64,
}


def message_classes(package: str, schema: Schema) -> dict[str, Any]:
    """A class for each message; a type that is none of protobuf's is another message."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto2"
    )
    for name, fields in schema.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind, repeated in fields:
            field = message.field.add(name=field_name, number=number, json_name=field_name)
            field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
            field.type = _TYPES.get(kind, _Field.TYPE_MESSAGE)
            if field.type == _Field.TYPE_MESSAGE:
                field.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in schema
    }
