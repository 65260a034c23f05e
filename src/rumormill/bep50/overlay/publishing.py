"""Publishing: a new value is signed, kept, delivered to ourselves and passed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.bep50.effects import CasMismatch, Publish
from rumormill.bep50.overlay.forwarding import SENT, WAITS
from rumormill.bep50.overlay.topic_node import TopicNode, content
from rumormill.bep50.wire.bencode import decode
from rumormill.bep50.wire.items import LARGEST_PUBLISHED, LARGEST_PUBLISHED_SEQ
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError, RemoteProtocolError
from rumormill.core.machine import Published
from rumormill.core.receipt import Receipt

if TYPE_CHECKING:
    from rumormill.bep50.overlay.node import Node


def publish(node: Node, topic: TopicNode, command: Publish, now: float) -> None:
    """Publish a value; :class:`LocalProtocolError` for what no peer would take."""
    key = node.keys.get(topic.public_key)
    if key is None:
        raise LocalProtocolError(
            f"we do not have the secret key of {topic.text}: only its owner can publish there"
        )
    _check_value(command.value)
    if command.cas is not None and command.cas != topic.seq:
        raise CasMismatch(command.cas, None if topic.item is None else topic.seq)
    seq = max(topic.seq, 0) + 1
    if seq > LARGEST_PUBLISHED_SEQ:
        raise LocalProtocolError(f"{topic.text} has used up its sequence numbers ({topic.seq})")
    item = key.item(topic.salt, seq, command.value)
    topic.hold(item, None, own=True)
    outcome = node.forwarding.publish(topic, command.cas)
    receipt = Receipt(
        topic.message_id,
        topic.text,
        tuple(peer for peer, what in outcome.items() if what == SENT),
        tuple(peer for peer, what in outcome.items() if what == WAITS),
        {peer: what for peer, what in outcome.items() if what not in (SENT, WAITS)},
    )
    data, _ = content(item)
    node.emit(
        trace.PUBLISHED, topic.text, topic.message_id,
        size=len(data), peers=len(receipt.peers), dropped=len(receipt.dropped), seq=seq,
    )  # fmt: skip
    if node.parameters.deliver_own:
        topic.deliver(now)
    else:
        topic.delivered_seq = seq
    node.effects.append(Published(receipt))


def _check_value(value: bytes) -> None:
    if len(value) > LARGEST_PUBLISHED:
        raise MessageTooLargeError(len(value), LARGEST_PUBLISHED)
    try:
        decode(value)
    except RemoteProtocolError as error:
        raise LocalProtocolError(f"the value is not bencoded: {error.detail}") from None
