"""Publishing: a new value is signed, kept, delivered to ourselves and passed on."""

from __future__ import annotations

from collections.abc import Mapping

from rumormill.bep50.effects import CasMismatch, Publish
from rumormill.bep50.overlay.topic_node import TopicNode, content
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.overlay.values.acknowledgements import Publication
from rumormill.bep50.overlay.values.forwarding import SENT, WAITS, Forwarding
from rumormill.bep50.wire.bencode import DEEPEST_VALUE, decode
from rumormill.bep50.wire.items import LARGEST_PUBLISHED, LARGEST_PUBLISHED_SEQ, Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError, RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.core.receipt import Receipt


class Publishing:
    """Publishes on the topics that we have the keys of."""

    __slots__ = ("_deliver_own", "_forwarding", "_keys", "_outbox")

    def __init__(
        self,
        keys: Mapping[bytes, ItemKey],
        outbox: Outbox,
        forwarding: Forwarding,
        deliver_own: bool,
    ) -> None:
        self._keys = keys
        self._outbox = outbox
        self._forwarding = forwarding
        self._deliver_own = deliver_own

    def publish(self, topic: TopicNode, command: Publish, now: float) -> Publication:
        """Publish a value; :class:`LocalProtocolError` for what no peer would take."""
        item = self._next_item(topic, command)
        topic.hold(item, None, own=True)
        receipt = _receipt(topic, self._forwarding.publish(topic, command.cas))
        publication = Publication(receipt, item.seq)
        topic.acknowledgements.expect(publication, receipt.peers)
        data, _ = content(item)
        self._outbox.emit(
            trace.PUBLISHED, topic.text, topic.message_id,
            size=len(data), peers=len(receipt.peers), dropped=len(receipt.dropped), seq=item.seq,
        )  # fmt: skip
        if self._deliver_own:
            topic.deliver(now)
        else:
            topic.delivered_seq = item.seq
        return publication

    def _next_item(self, topic: TopicNode, command: Publish) -> Item:
        key = self._keys.get(topic.public_key)
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
        return key.item(topic.salt, seq, command.value)


def _receipt(topic: TopicNode, outcome: Mapping[Peer, str]) -> Receipt:
    return Receipt(
        topic.message_id,
        topic.text,
        tuple(peer for peer, what in outcome.items() if what == SENT),
        tuple(peer for peer, what in outcome.items() if what == WAITS),
        {peer: what for peer, what in outcome.items() if what not in (SENT, WAITS)},
    )


def _check_value(value: bytes) -> None:
    if len(value) > LARGEST_PUBLISHED:
        raise MessageTooLargeError(len(value), LARGEST_PUBLISHED)
    try:
        decode(value, DEEPEST_VALUE)
    except RemoteProtocolError as error:
        raise LocalProtocolError(f"the value is not bencoded: {error.detail}") from None
