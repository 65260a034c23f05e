"""What nodes of the DHT say to each other: KRPC, items, topics, addresses."""

from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.topics import TopicName, parse_topic

__all__ = ["Item", "ItemKey", "TopicName", "parse_topic"]
