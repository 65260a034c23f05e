"""What peers say of messages in parts: what they have, and parts that we may lack."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.partial.commands import PartialNews
from rumormill.libp2p.gossipsub.partial.groups import Group, GroupTable
from rumormill.libp2p.gossipsub.partial.message import MakeMessage, PartialMessage
from rumormill.libp2p.gossipsub.partial.options import PartialOptions
from rumormill.libp2p.gossipsub.partial.sender import PartialSender
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.inbound.prices import ANSWERED_BYTE, UNWANTED_MESSAGE
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.extensions import PartialRpc, decode_partial

LONGEST_GROUP_ID = 1024
"""Bytes."""

PARTS_TAKEN = "parts_taken"
"""A trace event: a peer sent parts that were new to us; fields: group (in hex), size."""


class PartialReceiver:
    """Reads what peers say, lets the application's messages take it, and answers."""

    def __init__(
        self,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        standing: Standing,
        options: PartialOptions,
        groups: GroupTable,
        sender: PartialSender,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._standing = standing
        self._options = options
        self._groups = groups
        self._sender = sender
        self.makers: dict[str, MakeMessage | None] = {}
        """By topic, who makes messages for groups that peers begin."""

    def receive(self, peer: Peer, inside: bytes, now: float) -> None:
        """A peer says what it has of a message, sends parts of it, or both."""
        partial = decode_partial(inside)
        if self._unwelcome(peer, partial):
            self._charge(peer, len(inside))
            return
        group = self._groups.heard(partial.topic, partial.group_id, peer)
        if group is None:
            self._charge(peer, len(inside))
            reason = "too_many_groups"
            self._pubsub.emit(
                trace.DROPPED, partial.topic, peer=peer, what="partial", reason=reason, count=1
            )
            return
        try:
            self._take(peer, group, partial, now)
        except Exception as error:
            # In the application's part of it: its messages come from peers, its faults from itself.
            self._sender.failed(group, peer, error)

    def _unwelcome(self, peer: Peer, partial: PartialRpc) -> bool:
        topic = partial.topic
        if not self._options.is_open(topic):
            self._ignore(peer, topic, "partial_unknown_topic")
        elif not self._pubsub.admits(peer, topic):
            self._ignore(peer, topic, "partial_peer_not_allowed")
        elif self._standing.of(peer) < self._standing.thresholds.gossip:
            self._ignore(peer, topic, "partial_low_score")
        elif not 0 < len(partial.group_id) <= LONGEST_GROUP_ID:
            self._sender.reject(peer, topic, "partial_bad_group")
        elif len(partial.metadata or b"") > self._parameters.partial_metadata_bytes:
            self._sender.reject(peer, topic, "partial_metadata_too_large")
        elif partial.data is not None and not self._options.requests(topic):
            self._sender.reject(peer, topic, "partial_unrequested")
        else:
            return False
        return True

    def _take(self, peer: Peer, group: Group, partial: PartialRpc, now: float) -> None:
        make = self.makers.get(group.topic)
        if group.message is None and make is not None:
            group.message = make(group.id)
        message = group.message
        if message is None:
            if partial.metadata is not None:
                self._sender.note(group, peer, partial.metadata, partial.metadata)
            group.view(peer)
            came = partial.data, partial.metadata
            self._pubsub.tell(PartialNews(group.topic, group.id, peer, None, *came))
            return
        if partial.metadata is not None:
            has = message.join(group.view(peer).has, partial.metadata)
            self._sender.note(group, peer, has, partial.metadata)
        if partial.data is not None and self._take_parts(peer, group, message, partial.data):
            self._sender.spread(group, now)
            news = PartialNews(group.topic, group.id, peer, message, None, partial.metadata)
            self._pubsub.tell(news)
        else:
            sent = self._sender.update(group, peer)
            self._pubsub.charge(peer, "answers", sent * ANSWERED_BYTE)

    def _take_parts(self, peer: Peer, group: Group, message: PartialMessage, data: bytes) -> bool:
        """Whether there was anything new among them."""
        taken = message.take(data)
        view = group.view(peer)
        # Who sends a part has it, and knows that we have it from now on.
        has, said = (message.join(known, taken.metadata) for known in (view.has, view.said))
        self._sender.note(group, peer, has, said)
        view.told = message.join(view.told, taken.metadata)
        if taken.new:
            self._groups.prove(group)
            size = len(data)
            self._pubsub.emit(PARTS_TAKEN, group.topic, peer=peer, group=group.id.hex(), size=size)
        else:
            self._charge(peer, len(data))
            self._ignore(peer, group.topic, "partial_known")
        return taken.new

    def _ignore(self, peer: Peer, topic: str, reason: str) -> None:
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason=reason)

    def _charge(self, peer: Peer, size: int) -> None:
        self._pubsub.charge(peer, "messages", UNWANTED_MESSAGE + size * ANSWERED_BYTE)
