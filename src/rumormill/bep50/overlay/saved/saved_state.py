"""What a node takes along from one run to the next: its id, and of each topic nodes and item.

One bencoded dict. Nothing in it is trusted: items are checked by their signature, nodes have to
answer, and what cannot be read is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rumormill.bep50.wire.addresses import ID_SIZE, NodeInfo, compact_nodes, read_nodes
from rumormill.bep50.wire.bencode import DEEPEST_VALUE, Dict, Value, decode, encode
from rumormill.bep50.wire.items import Item, item_from_get
from rumormill.bep50.wire.krpc import bytes_of
from rumormill.core.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rumormill.bep50.overlay.topic_node import TopicNode

VERSION = 1

DEEPEST_STATE = DEEPEST_VALUE + 4
"""A value stands in the dict of its item, of its topic, of the topics, and of the state."""


class SavedTopic(NamedTuple):
    """One topic of an earlier run."""

    nodes: list[NodeInfo]
    item: Item | None


class SavedState(NamedTuple):
    """An earlier run; topics by their target."""

    id: bytes
    topics: dict[bytes, SavedTopic]


def dump(own_id: bytes, topics: Iterable[TopicNode], waiting: dict[bytes, SavedTopic]) -> bytes:
    """The state as bytes; ``waiting`` are topics of an earlier run that were not joined since."""
    saved: Dict = {target: _topic(*each) for target, each in waiting.items()}
    for topic in topics:
        nodes = [node for overlay in topic.overlays for node in overlay.table.dump()]
        saved[topic.target] = _topic(nodes, topic.item)
    return encode({b"id": own_id, b"topics": saved, b"version": VERSION})


def _topic(nodes: list[NodeInfo], item: Item | None) -> Dict:
    topic: Dict = {
        b"nodes": compact_nodes([node for node in nodes if node.peer[0] != "["]),
        b"nodes6": compact_nodes([node for node in nodes if node.peer[0] == "["]),
    }
    if item is not None:
        topic[b"item"] = {
            b"k": item.public_key,
            b"salt": item.salt,
            b"seq": item.seq,
            b"sig": item.signature,
            b"v": decode(item.value),
        }
    return topic


def load(state: bytes) -> SavedState:
    """Read a state; :class:`RemoteProtocolError` if it is none of ours."""
    saved = decode(state, DEEPEST_STATE)
    if type(saved) is not dict or saved.get(b"version") != VERSION:
        raise RemoteProtocolError("bad_state", f"it is not a state of version {VERSION}")
    own_id = bytes_of(saved, b"id", ID_SIZE)
    topics = saved.get(b"topics")
    if type(topics) is not dict:
        raise RemoteProtocolError("bad_state", "topics is missing")
    return SavedState(
        own_id,
        {
            target: _read_topic(topic)
            for target, topic in topics.items()
            if len(target) == ID_SIZE and type(topic) is dict
        },
    )


def _read_topic(topic: Dict) -> SavedTopic:
    nodes: list[NodeInfo] = []
    for key, ipv6 in ((b"nodes", False), (b"nodes6", True)):
        raw = topic.get(key)
        if type(raw) is bytes:
            nodes += read_nodes(raw, ipv6)
    return SavedTopic(nodes, _read_item(topic.get(b"item")))


def _read_item(saved: Value | None) -> Item | None:
    if type(saved) is not dict:
        return None
    try:
        salt = bytes_of(saved, b"salt")
        return item_from_get(saved, salt)
    except RemoteProtocolError:
        return None


def saved_id(state: bytes) -> bytes | None:
    """The node id in a saved state, to give the new node; None if the state cannot be read."""
    try:
        return load(state).id
    except RemoteProtocolError:
        return None
