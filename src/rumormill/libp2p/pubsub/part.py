"""A part: something that hears what happens to peers, topics and messages.

A router is one, and may be made of others: a mesh, a gossip, a score. Each overrides what it wants
to hear. Who hears what is found out once, when the router is attached, so an event that nobody
overrides costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.wire.message import WireMessage


class Part:
    """The base of every part: hears nothing.

    The life of a message: :meth:`arrived`, then one of :meth:`accepted`, :meth:`rejected` and
    :meth:`ignored`, then :meth:`duplicate` for every copy of an accepted one. ``source`` is who
    sent it to us first, ``holders`` are all who have sent us these very bytes by the time of the
    verdict (and its author). Neither is to be changed.
    """

    keeps_messages: ClassVar[bool] = False
    """Whether :meth:`accepted` keeps messages for peers that ask later: it is not told of those
    that their author wants to be sent and forgotten."""

    # ---- messages

    def arrived(self, message: WireMessage, source: Peer, now: float) -> None:
        """A message whose id is new came; its check is about to begin."""

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        """A message is valid and is about to be passed on; without ``source`` it is our own."""

    def rejected(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """A message is bad, and whoever sent it is to blame.

        What was refused before its check has not :meth:`arrived`, and may have no id yet.
        """

    def ignored(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """A message is not passed on, and nobody is to blame: unwanted, or there was no time.

        What was ignored before its check has not :meth:`arrived`, and may have no id yet.
        """

    def duplicate(self, message: WireMessage, source: Peer, now: float) -> None:
        """``source`` sent a copy of a message that was decided on.

        One that came while the first was being checked is told after its verdict, if that was to
        accept it.
        """

    # ---- peers

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """A peer is there."""

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone."""

    def renew_peer(self, peer: Peer) -> None:
        """A peer may have forgotten what we told it: tell it again."""

    def begin_stream(self, peer: Peer, now: float) -> None:
        """Our stream to the peer begins, its first or another one: nothing was said on it yet."""

    def peer_stream_began(self, peer: Peer, now: float) -> None:
        """A peer that was there began another stream: it may tell us again what it has told us."""

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer began to listen."""

    def subscription_fields(self, peer: Peer, topic: str, fields: bytes, now: float) -> None:
        """A peer says that it listens, news or not, and this beside the topic: fields that pubsub
        does not know, as they came. Told before :meth:`peer_subscribed`.
        """

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer no longer listens."""

    def peer_barred(self, peer: Peer, topic: str, now: float) -> None:
        """A peer that listens may no longer take part in the topic, by the application's word: say
        to it what is to be said. Told before :meth:`peer_unsubscribed`.
        """

    def held_back(self, peer: Peer, reason: str, seconds: float, now: float) -> None:
        """A peer made us do so much for nothing that nothing is read of it for a while.

        ``reason`` is the kind of work that was most of it.
        """

    def other_fields(self, peer: Peer, fields: bytes, now: float) -> None:
        """A peer's RPC had fields that pubsub does not know, as they came, tags included.

        :func:`rumormill.core.protobuf.fields` walks them. Extensions of the protocol are there.
        """

    # ---- topics

    def join(self, topic: str, now: float) -> None:
        """We begin to listen."""

    def leave(self, topic: str, quietly: bool, now: float) -> None:
        """We no longer listen; ``quietly``: tell nobody, we are about to shut down."""

    # ---- bookkeeping

    def sizes(self) -> dict[str, int]:
        """How many entries each table of this part has."""
        return {}


class Listeners:
    """Of every event, the methods that want to hear it, in the order of the parts."""

    def __init__(self, parts: Iterable[Part]) -> None:
        everyone = tuple(parts)
        self.arrived = [each.arrived for each in everyone if hears(each, "arrived")]
        self.accepted = [each.accepted for each in everyone if hears(each, "accepted")]
        self.accepted_unkept = [
            each.accepted
            for each in everyone
            if hears(each, "accepted") and not each.keeps_messages
        ]
        """Those of them that hear of a message that is not to be kept."""
        self.rejected = [each.rejected for each in everyone if hears(each, "rejected")]
        self.ignored = [each.ignored for each in everyone if hears(each, "ignored")]
        self.duplicate = [each.duplicate for each in everyone if hears(each, "duplicate")]
        self.add_peer = [each.add_peer for each in everyone if hears(each, "add_peer")]
        self.remove_peer = [each.remove_peer for each in everyone if hears(each, "remove_peer")]
        self.renew_peer = [each.renew_peer for each in everyone if hears(each, "renew_peer")]
        self.begin_stream = [each.begin_stream for each in everyone if hears(each, "begin_stream")]
        self.peer_stream_began = [
            each.peer_stream_began for each in everyone if hears(each, "peer_stream_began")
        ]
        self.subscription_fields = [
            each.subscription_fields for each in everyone if hears(each, "subscription_fields")
        ]
        self.peer_subscribed = [
            each.peer_subscribed for each in everyone if hears(each, "peer_subscribed")
        ]
        self.peer_unsubscribed = [
            each.peer_unsubscribed for each in everyone if hears(each, "peer_unsubscribed")
        ]
        self.peer_barred = [each.peer_barred for each in everyone if hears(each, "peer_barred")]
        self.held_back = [each.held_back for each in everyone if hears(each, "held_back")]
        self.other_fields = [each.other_fields for each in everyone if hears(each, "other_fields")]
        self.join = [each.join for each in everyone if hears(each, "join")]
        self.leave = [each.leave for each in everyone if hears(each, "leave")]
        self.sizes = [each.sizes for each in everyone if hears(each, "sizes")]


def hears(part: Part, event: str, base: type = Part) -> bool:
    """Whether the part overrides what ``base`` does at an event.

    >>> hears(Part(), "arrived")
    False
    """
    return getattr(type(part), event, None) is not getattr(base, event)
