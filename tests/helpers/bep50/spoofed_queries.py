"""Queries of somebody who writes a victim's address into them: as short as they can be.

The node that they are sent to has all that could make an answer long: both IP families with full
tables, and the largest value.
"""

from __future__ import annotations

from typing import Any

from rumormill.bep50.wire.bencode import Dict, encode
from tests.helpers.bep50.siege import (
    KEY,
    SALT,
    TOPIC,
    Neighbour,
    Siege,
    item,
    node_id,
    put_arguments,
)

SENDER = node_id(99)
LARGEST_ITEM = KEY.item(SALT, 7, b"996:" + bytes(996))
NEIGHBOURS = 12
"""Of each IP family."""


def loaded_node(**parameters: Any) -> Siege:
    """The node that is abused."""
    siege = Siege(neighbours=NEIGHBOURS, **parameters)
    for number in range(1, NEIGHBOURS + 1):
        siege.befriend(Neighbour(number, family="[2001:db8::{}]:6881"))
    siege.put("198.51.100.1:1", LARGEST_ITEM)
    siege.forget()
    return siege


def shortest(method: str, arguments: Dict, topic: bytes | None = TOPIC.target) -> bytes:
    """The shortest packet that is such a query; without a topic it is one of the main DHT."""
    packet: Dict = {
        b"a": {b"id": SENDER, **arguments},
        b"q": method.encode(),
        b"t": b"",
        b"y": b"q",
    }
    if topic is not None:
        packet[b"c"] = topic
    return encode(packet)


BOTH: Dict = {b"want": [b"n4", b"n6"]}
ASKED: dict[str, tuple[str, Dict]] = {
    "ping": ("ping", {}),
    "find_node": ("find_node", {b"target": SENDER}),
    "find_node, both families": ("find_node", {b"target": SENDER, **BOTH}),
    "get": ("get", {b"target": TOPIC.target}),
    "get, both families": ("get", {b"target": TOPIC.target, **BOTH}),
    "get, with an old seq": ("get", {b"seq": 0, b"target": TOPIC.target}),
    "get, with the newest seq": ("get", {b"seq": LARGEST_ITEM.seq, b"target": TOPIC.target}),
    "put, without a token": ("put", put_arguments(item(9), b"")),
    "put, empty": ("put", {}),
    "get_peers": ("get_peers", {b"info_hash": TOPIC.target}),
    "unknown method": ("x", {}),
}
"""Methods and arguments, by what the query is."""

QUERIES: dict[str, bytes] = {
    **{name: shortest(*asked) for name, asked in ASKED.items()},
    "ping, unknown topic": shortest("ping", {}, b"o" * 20),
    "ping, bad topic": shortest("ping", {}, b""),
    "no method": encode({b"a": {b"id": SENDER}, b"c": TOPIC.target, b"t": b"", b"y": b"q"}),
    "nothing but a topic": encode({b"c": TOPIC.target, b"t": b"", b"y": b"q"}),
    "noise": b"\0" * 20,
}
"""All queries to a node of an overlay, by what they are."""

MAIN_QUERIES: dict[str, bytes] = {
    name: shortest(*asked, topic=None) for name, asked in ASKED.items()
}
"""The same to a node of the main DHT."""
