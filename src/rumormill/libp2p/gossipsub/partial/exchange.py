"""Partial messages: the extension that sends parts of a message instead of all of it.

On topics that are opened for it (:class:`OpenPartial`) peers tell each other which parts of which
message they have, and send what the other lacks. They use the topic's mesh; peers outside it are
told at the heartbeat, in place of IHAVE. Whoever wants parts gets no whole messages from us.
"""

from __future__ import annotations

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.core.topic import check_topic
from rumormill.libp2p.gossipsub.extensions.extensions import Extension
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.partial.commands import (
    ClosePartial,
    OpenPartial,
    PartialPublished,
    PublishPartial,
)
from rumormill.libp2p.gossipsub.partial.groups import GroupTable
from rumormill.libp2p.gossipsub.partial.options import PartialOptions
from rumormill.libp2p.gossipsub.partial.receiver import LONGEST_GROUP_ID, PartialReceiver
from rumormill.libp2p.gossipsub.partial.sender import PartialSender, Partners
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.extensions import PARTIAL_MESSAGES, decode_options, encode_options

MOST_GOSSIPED = 64
"""Messages of a topic that a peer outside the mesh is told of at once; others at other times."""

PARTS_OFFERED = "parts_offered"
"""A trace event: we offered a message in parts; fields: group (in hex), peers."""


class PartialMessages(Extension):
    """Exchanges parts with peers, on behalf of the application's messages."""

    name = "partial_messages"
    number = field = PARTIAL_MESSAGES

    def __init__(
        self,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        standing: Standing,
        partners: Partners,
    ) -> None:
        super().__init__()
        self._pubsub = pubsub
        self._groups = GroupTable(parameters)
        self.options = PartialOptions(self.agreed_with)
        """Who wants what."""
        self._sender = PartialSender(
            pubsub, parameters, standing, self.options, self._groups, partners
        )
        self._receiver = PartialReceiver(
            pubsub, parameters, standing, self.options, self._groups, self._sender
        )
        pubsub.on_input(OpenPartial, self.open)
        pubsub.on_input(ClosePartial, self.close)
        pubsub.on_input(PublishPartial, self.publish)

    def sizes(self) -> dict[str, int]:
        """How much is kept of groups, and of what peers want."""
        return {**self._groups.sizes(), "partial_options": len(self.options)}

    # ---- the application

    def open(self, command: OpenPartial, now: float) -> None:
        """Exchange parts on a topic."""
        topic = check_topic(command.topic)
        self._receiver.makers[topic] = command.make
        ours = self.options.open(topic, command.request)
        self._pubsub.describe_topic(topic, encode_options(ours))

    def close(self, command: ClosePartial, now: float) -> None:
        """Exchange none any more."""
        topic = command.topic
        self._receiver.makers.pop(topic, None)
        self.options.close(topic)
        self._pubsub.describe_topic(topic, b"")
        for group in self._groups.of(topic):
            self._groups.forget(group)

    def publish(self, command: PublishPartial, now: float) -> None:
        """Offer a message, to those who would get it whole and to all who spoke of it."""
        topic, message = command.topic, command.message
        if not self.options.is_open(topic):
            raise LocalProtocolError(f"the topic {topic!r} is not open for partial messages")
        group_id = message.group_id
        if not 0 < len(group_id) <= LONGEST_GROUP_ID:
            raise LocalProtocolError(f"a group id has 1 to {LONGEST_GROUP_ID} bytes")
        group = self._groups.own(topic, group_id)
        group.message = message
        peers = self._sender.spread(group, now)
        self._pubsub.emit(PARTS_OFFERED, topic, group=group_id.hex(), peers=len(peers))
        self._pubsub.tell(PartialPublished(topic, group_id, peers))

    # ---- peers

    def agreed(self, peer: Peer, now: float) -> None:
        """The peer exchanges parts, and perhaps did so before on a stream that broke."""
        self.options.sort(peer)
        self._groups.begin_again(peer)

    def disagreed(self, peer: Peer, now: float) -> None:
        """The peer exchanges none any more."""
        self.options.sort(peer)
        self._groups.forget_peer(peer)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone."""
        self.options.remove_peer(peer)
        self._groups.forget_peer(peer)

    def subscription_fields(self, peer: Peer, topic: str, fields: bytes, now: float) -> None:
        """What the peer wants on the topic, in place of what it said before."""
        self.options.set(peer, topic, decode_options(fields))

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """It wants nothing of it any more."""
        self.options.set(peer, topic, decode_options(b""))
        self._groups.forget_peer(peer, topic)

    def handle(self, peer: Peer, inside: bytes, now: float) -> None:
        """A peer says something about a message in parts."""
        self._receiver.receive(peer, inside, now)

    # ---- the heartbeat

    def gossip(self, peer: Peer, topic: str) -> bool:
        """Tell a peer outside the mesh which parts we have; False if it should get IHAVE."""
        if not self.options.gives(peer, topic):
            return False
        told = [each for each in self._groups.of(topic) if each.began_by is None]
        if len(told) > MOST_GOSSIPED:
            told = self._pubsub.random.sample(told, MOST_GOSSIPED)
        for group in told:
            self._sender.update(group, peer, eager=False)
        return True

    def heartbeat(self, now: float) -> None:
        """Forget groups without news; tell of the others whom we could not, or did not know yet."""
        for group in self._groups:
            group.ttl -= 1
            if group.ttl <= 0:
                self._groups.forget(group)
            else:
                self._sender.catch_up(group, now)
