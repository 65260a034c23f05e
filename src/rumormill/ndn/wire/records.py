"""Records of the management protocol: numbers, texts, names and lists of other records.

Each is a named tuple; a :class:`Layout` says which element each of its fields is, in the order in
which they travel. What is read may be in any order, as NFD reads it; of elements that come twice
the first counts, unless they make a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import NAME, scan_name
from rumormill.ndn.wire.tlv import number_tlv, read_head, read_number, skip, tlv

Record = TypeVar("Record")


class Field(NamedTuple):
    """One field of a record."""

    name: str
    """As the record calls it."""
    type: int
    write: Callable[[int, Any], bytes]
    read: Callable[[bytes], Any]
    several: bool = False
    """Whether it is a list, with an element for each."""


class Layout(Generic[Record]):
    """How records of a kind travel."""

    def __init__(self, record: Callable[..., Record], *fields: Field) -> None:
        self._record = record
        self._fields = fields
        self._by_type: Final = {field.type: field for field in fields}

    def write(self, record: Record) -> bytes:
        """The elements of a record, one after another."""
        parts = []
        for name, type, write, _, several in self._fields:
            value = getattr(record, name)
            if several:
                parts += [write(type, each) for each in value]
            elif value is not None:
                parts.append(write(type, value))
        return b"".join(parts)

    def read(self, data: bytes) -> Record:
        """The record that these elements make."""
        found: dict[str, Any] = {}
        for type, value in elements(data):
            field = self._by_type.get(type)
            if field is None:
                skip(type, "a record")
            elif field.several:
                found.setdefault(field.name, []).append(field.read(value))
            elif field.name not in found:
                found[field.name] = field.read(value)
        try:
            return self._record(**{name: _frozen(value) for name, value in found.items()})
        except TypeError:  # a field that must be there is not
            raise RemoteProtocolError("bad_record", "something is missing") from None


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The types and values of elements one after another.

    >>> list(elements(bytes.fromhex("690107 6a0100")))
    [(105, b'\\x07'), (106, b'\\x00')]
    """
    at, end = 0, len(data)
    while at < end:
        type, start, at = read_head(data, at, end)
        yield type, data[start:at]


def number_field(name: str, type: int) -> Field:
    """A field that is a number."""
    return Field(name, type, number_tlv, read_number)


def text_field(name: str, type: int) -> Field:
    """A field that is text."""
    return Field(name, type, _write_text, _read_text)


def name_field(name: str) -> Field:
    """A field that is a name."""
    return Field(name, NAME, tlv, _read_name)


def strategy_field(name: str = "strategy", type: int = 0x6B) -> Field:
    """A field that is a name in an element of its own."""
    return Field(name, type, _write_strategy, _read_strategy)


def list_field(name: str, type: int, layout: Layout[Any]) -> Field:
    """A field that is a list of records."""
    return Field(
        name, type, lambda type, record: tlv(type, layout.write(record)), layout.read, several=True
    )


def _write_text(type: int, text: str) -> bytes:
    return tlv(type, text.encode())


def _read_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise RemoteProtocolError("bad_record", "no UTF-8") from None


def _read_name(value: bytes) -> bytes:
    scan_name(value, 0, len(value))
    return value


def _write_strategy(type: int, name: bytes) -> bytes:
    return tlv(type, tlv(NAME, name))


def _read_strategy(value: bytes) -> bytes:
    for type, inside in elements(value):
        if type == NAME:
            return _read_name(inside)
        skip(type, "a strategy")
    raise RemoteProtocolError("bad_record", "a strategy without a name")
