"""What is delivered: a message that passed, for our own subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Deliver, Peer
from rumormill.core.message import Message
from rumormill.core.trace import DELIVERED, TraceEvent
from rumormill.libp2p.wire.message import WireMessage

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class Delivering:
    """Makes of a message on the wire what the application sees."""

    def __init__(self, pubsub: Pubsub, network: str, name_of: Callable[[bytes], Peer]) -> None:
        self._pubsub = pubsub
        self._network = network
        self._name_of = name_of
        self._listening = pubsub.listening
        self._subscribed = pubsub.subscribed

    def deliver(
        self, message: WireMessage, source: Peer | None, now: float, readable: bool = True
    ) -> Peer | None:
        """Hand the message to our own subscriptions of its topics; returns its author's name.

        Of a topic that we only relay, and if it is not ``readable``, somebody else's message is
        traced and nothing more. Raises :class:`~rumormill.core.errors.RemoteProtocolError` if its
        author is none.
        """
        pubsub = self._pubsub
        sender = None
        if message.sender_id is not None and message.signature is not None:
            sender = self._name_of(message.sender_id)  # who is named without proof is not shown
        sequence, data, message_id = message.sequence, message.data, message.id
        fields = {} if sequence is None else {"sequence": int.from_bytes(sequence, "big")}
        for topic in message.topics:
            if topic in self._subscribed and readable:
                delivered = Message(
                    topic, data, sender, message_id, self._network, source, now, fields
                )
                # Made without `emit`: there is one for each message.
                traced = {"size": len(data), "sender": sender}
                pubsub.effects += (
                    Deliver(delivered),
                    TraceEvent(now, pubsub.node, DELIVERED, topic, message_id, source, traced),
                )
            elif topic in self._listening and source is not None:
                size = len(data)
                pubsub.emit(trace.RELAYED, topic, message_id, source, size=size, sender=sender)
        return sender
