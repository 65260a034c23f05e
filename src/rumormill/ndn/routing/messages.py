"""What neighbours tell each other: hellos, changes of their vectors, and goodbyes.

A message is the parameters of an Interest below :data:`PREFIX`, which an empty Data answers::

    hello    81 { node, sequence, digest, [wants all] }
    update   83 { node, sequence, [begin], [end], group* }
    goodbye  85 { node }
    group    93 { node, cost, name* }

A node is a name that ends with its epoch: eight bytes, others in each of its lives. In a group it
is whoever the prefixes are registered at. A cost of 16 takes prefixes back. Elements come in this
order; unknown ones of an even type are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.routing.parameters import UNREACHABLE
from rumormill.ndn.wire.name import NAME, Name, check_name, component, name_from_uri, name_tlv
from rumormill.ndn.wire.tlv import number_tlv, read_head, read_number, skip, tlv

PREFIX: Final[Name] = name_from_uri("/localhop/rumormill")
"""What is below it is between neighbours: no forwarder passes it on."""

ROUTING: Final[Name] = name_from_uri("/localhop/rumormill/routing/1")
"""The name of every message, before the digest of its parameters."""

HELLO: Final = 0x81
UPDATE: Final = 0x83
GOODBYE: Final = 0x85
_NODE: Final = 0x87
_SEQUENCE: Final = 0x89
_DIGEST: Final = 0x8B
_WANTS_ALL: Final = 0x8D
_BEGIN: Final = 0x8F
_END: Final = 0x91
_GROUP: Final = 0x93
_COST: Final = 0x95

EPOCH_SIZE: Final = 8
DIGEST_SIZE: Final = 8
EPOCH_COMPONENT_SIZE: Final = len(component(bytes(EPOCH_SIZE)))

MOST_NODE_BYTES: Final = 512
"""Of the name of a node with its epoch; each group of prefixes has one."""


class Hello(NamedTuple):
    """``node`` is there, and this is what it has told us, if nothing was lost."""

    node: Name
    sequence: int
    """Of the last update that it has sent to us."""
    digest: bytes
    """Of all that it has told us: see :class:`~rumormill.ndn.routing.vector.Vector`."""
    wants_all: bool = False
    """It holds nothing of what we told, and wants to be told all again."""


class Group(NamedTuple):
    """Prefixes that are registered at one node, and the cost to get there."""

    node: Name
    cost: int
    prefixes: tuple[Name, ...]


class Update(NamedTuple):
    """Changes of what ``node`` can reach."""

    node: Name
    sequence: int
    """Higher than that of all updates before it in this life of the node."""
    begin: bool
    """All is told from the beginning: what is not told again until ``end`` is gone."""
    end: bool
    groups: tuple[Group, ...]


class Goodbye(NamedTuple):
    """``node`` leaves, and all that it could reach with it."""

    node: Name


RoutingMessage: TypeAlias = Hello | Update | Goodbye


# ---- writing


def encode_message(message: RoutingMessage) -> bytes:
    """A message as the parameters of its Interest."""
    node = tlv(_NODE, message.node)
    if isinstance(message, Hello):
        fields = number_tlv(_SEQUENCE, message.sequence) + tlv(_DIGEST, message.digest)
        return tlv(HELLO, node + fields + (tlv(_WANTS_ALL, b"") if message.wants_all else b""))
    if isinstance(message, Goodbye):
        return tlv(GOODBYE, node)
    parts = [node, number_tlv(_SEQUENCE, message.sequence)]
    if message.begin:
        parts.append(tlv(_BEGIN, b""))
    if message.end:
        parts.append(tlv(_END, b""))
    parts += map(_encode_group, message.groups)
    return tlv(UPDATE, b"".join(parts))


def _encode_group(group: Group) -> bytes:
    head = tlv(_NODE, group.node) + number_tlv(_COST, group.cost)
    return tlv(_GROUP, head + b"".join(map(name_tlv, group.prefixes)))


GROUP_OVERHEAD: Final = 16
"""Bytes of a group beside its node and its prefixes, at most."""

PREFIX_OVERHEAD: Final = 4
"""Bytes of a prefix beside its name, at most."""


# ---- reading


def decode_message(parameters: bytes) -> RoutingMessage:
    """Read the parameters of an Interest; :class:`RemoteProtocolError` for what is no message."""
    kind, start, end = read_head(parameters, 0, len(parameters))
    reader = _READERS.get(kind)
    if reader is None or end != len(parameters):
        raise RemoteProtocolError("bad_routing_message", f"the type {kind}")
    return reader(parameters, start, end)


_Places: TypeAlias = Mapping[int, int]
"""The place of each element among those around it; one that may come often has a negative one."""

_Reader: TypeAlias = Callable[[bytes, int, int], RoutingMessage]


def _elements(
    data: bytes, at: int, end: int, places: _Places, inside: str
) -> Iterator[tuple[int, int, int]]:
    """The known elements between two places: type, and where the value starts and ends."""
    last = 0
    while at < end:
        kind, start, at = read_head(data, at, end)
        place = places.get(kind, 0)
        if abs(place) < last or place == last or place == 0:
            skip(kind, inside)
            continue
        last = abs(place)
        yield kind, start, at


_HELLO_PLACES: Final = {_NODE: 1, _SEQUENCE: 2, _DIGEST: 3, _WANTS_ALL: 4}
_UPDATE_PLACES: Final = {_NODE: 1, _SEQUENCE: 2, _BEGIN: 3, _END: 4, _GROUP: -5}
_GOODBYE_PLACES: Final = {_NODE: 1}
_GROUP_PLACES: Final = {_NODE: 1, _COST: 2, NAME: -3}


def _read_hello(data: bytes, at: int, end: int) -> Hello:
    node = sequence = digest = None
    wants_all = False
    for kind, start, stop in _elements(data, at, end, _HELLO_PLACES, "a hello"):
        if kind == _NODE:
            node = _read_node(data[start:stop])
        elif kind == _SEQUENCE:
            sequence = read_number(data[start:stop])
        elif kind == _DIGEST:
            digest = data[start:stop]
        else:
            wants_all = True
    if node is None or sequence is None or digest is None or len(digest) != DIGEST_SIZE:
        raise RemoteProtocolError("bad_routing_message", "an incomplete hello")
    return Hello(node, sequence, digest, wants_all)


def _read_update(data: bytes, at: int, end: int) -> Update:
    node = sequence = None
    begin = final = False
    groups = []
    for kind, start, stop in _elements(data, at, end, _UPDATE_PLACES, "an update"):
        if kind == _NODE:
            node = _read_node(data[start:stop])
        elif kind == _SEQUENCE:
            sequence = read_number(data[start:stop])
        elif kind == _BEGIN:
            begin = True
        elif kind == _END:
            final = True
        else:
            groups.append(_read_group(data, start, stop))
    if node is None or not sequence:
        raise RemoteProtocolError("bad_routing_message", "an incomplete update")
    return Update(node, sequence, begin, final, tuple(groups))


def _read_goodbye(data: bytes, at: int, end: int) -> Goodbye:
    for _, start, stop in _elements(data, at, end, _GOODBYE_PLACES, "a goodbye"):
        return Goodbye(_read_node(data[start:stop]))
    raise RemoteProtocolError("bad_routing_message", "a goodbye of nobody")


def _read_group(data: bytes, at: int, end: int) -> Group:
    node = cost = None
    prefixes = []
    for kind, start, stop in _elements(data, at, end, _GROUP_PLACES, "a group"):
        if kind == _NODE:
            node = _read_node(data[start:stop])
        elif kind == _COST:
            cost = read_number(data[start:stop])
        else:
            prefix = data[start:stop]
            check_name(prefix)
            prefixes.append(prefix)
    if node is None or cost is None or cost > UNREACHABLE:
        raise RemoteProtocolError("bad_routing_message", "a group without a node or a cost")
    return Group(node, cost, tuple(prefixes))


def _read_node(name: Name) -> Name:
    if len(name) > MOST_NODE_BYTES:
        raise RemoteProtocolError("bad_node_name", f"{len(name)} bytes")
    check_name(name)
    if len(name) < EPOCH_COMPONENT_SIZE or name[-EPOCH_COMPONENT_SIZE:][:2] != b"\x08\x08":
        raise RemoteProtocolError("bad_node_name", "it ends with no epoch")
    # The two bytes may be the end of a longer component; then the rest in front is no name.
    check_name(name[:-EPOCH_COMPONENT_SIZE])
    return name


_READERS: Final[Mapping[int, _Reader]] = {
    HELLO: _read_hello,
    UPDATE: _read_update,
    GOODBYE: _read_goodbye,
}


def node_with_epoch(name: Name, epoch: bytes) -> Name:
    """What a node calls itself in one of its lives.

    >>> name = node_with_epoch(name_from_uri("/alice"), bytes(8))
    >>> name_without_epoch(name) == name_from_uri("/alice")
    True
    """
    return name + component(epoch)


def name_without_epoch(node: Name) -> Name:
    """The name of a node in all its lives."""
    return node[:-EPOCH_COMPONENT_SIZE]
