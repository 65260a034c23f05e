"""Peers come and go, and so do their streams and ours: who is told, and what is said again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Drop, Peer, PeerJoined, PeerLeft
from rumormill.core.timers import NEVER
from rumormill.libp2p.effects import (
    Blacklist,
    HeldBack,
    StreamLost,
    StreamRenewed,
    StreamRestarted,
)
from rumormill.libp2p.pubsub.inbound.inbox import Inbox
from rumormill.libp2p.pubsub.peers import PeerState

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class Membership:
    """Keeps the table of peers, and tells the router and its parts what changes in it."""

    def __init__(self, pubsub: Pubsub, inbox: Inbox) -> None:
        self._pubsub = pubsub
        self._inbox = inbox

    def joined(self, joined: PeerJoined, now: float) -> None:
        """A peer is there: greet it, unless we have nothing to do with it."""
        peer, pubsub = joined.peer, self._pubsub
        if peer in pubsub.peers:
            raise LocalProtocolError(f"{peer} has joined already")
        if peer in pubsub.blacklisted:
            self._turn_away(peer)
            return
        state = pubsub.peers[peer] = PeerState(joined, pubsub.parameters, now)
        pubsub.toll.joined(state, now)
        pubsub.emit(
            trace.PEER_JOINED, peer=peer, protocol=joined.protocol, outbound=joined.outbound
        )
        self._announce_all(peer)
        for tell in pubsub.listeners.add_peer:
            tell(joined, now)
        for begin in pubsub.listeners.begin_stream:
            begin(peer, now)

    def leaves(self, left: PeerLeft, now: float) -> None:
        """A peer is gone; what it said before is still heard."""
        state = self._pubsub.peers.get(left.peer)
        if state is not None and state.reader.unread:
            self._inbox.read_to_end(left.peer, state, now)
        self.left(left, now)

    def left(self, left: PeerLeft, now: float) -> None:
        """To us a peer is gone: forget it, and tell whom it concerns."""
        peer, pubsub = left.peer, self._pubsub
        state = pubsub.peers.pop(peer, None)
        if state is None:
            return
        pubsub.toll.left(state, now)
        pubsub.outbox.forget(peer, state)
        pubsub.table.remove_peer(peer)
        pubsub.admittance.barred.remove_peer(peer)
        for tell in pubsub.listeners.remove_peer:
            tell(peer, now)
        pubsub.emit(trace.PEER_LEFT, peer=peer, reason=left.reason)

    def stream_restarted(self, restarted: StreamRestarted, now: float) -> None:
        """Introduce ourselves again, too: go forgets our topics when its stream towards us dies."""
        state = self._pubsub.peers.get(restarted.peer)
        if state is not None:
            state.reader.part()
            state.fresh = True
            self._introduce_again(restarted.peer)
            for tell in self._pubsub.listeners.peer_stream_began:
                tell(restarted.peer, now)

    def stream_lost(self, lost: StreamLost, now: float) -> None:
        """What waits goes the way of what was sent: the peer may have choked on just that."""
        state = self._pubsub.peers.get(lost.peer)
        if state is not None:
            self._pubsub.outbox.discard(lost.peer, state, "stream_lost")

    def stream_renewed(self, renewed: StreamRenewed, now: float) -> None:
        """Introduce ourselves again: the peer may have forgotten us with the old stream."""
        if renewed.peer in self._pubsub.peers:
            self._introduce_again(renewed.peer)
            for begin in self._pubsub.listeners.begin_stream:
                begin(renewed.peer, now)

    def held_back(self, held: HeldBack, now: float) -> None:
        """The host reads nothing of a peer for a while."""
        if held.peer in self._pubsub.peers:
            for tell in self._pubsub.listeners.held_back:
                tell(held.peer, held.reason, held.seconds, now)

    def _introduce_again(self, peer: Peer) -> None:
        self._announce_all(peer)
        for tell in self._pubsub.listeners.renew_peer:
            tell(peer)

    def _announce_all(self, peer: Peer) -> None:
        pubsub = self._pubsub
        for topic in pubsub.listening:
            pubsub.outbox.announce(peer, topic, True, pubsub.descriptions.get(topic, b""))

    def blacklist(self, command: Blacklist, now: float) -> None:
        """The application wants nothing to do with a peer any more, or again."""
        peer = command.peer
        if not command.listed:
            self._pubsub.blacklisted.remove(peer)
            return
        until = NEVER if command.seconds is None else now + command.seconds
        early = self._pubsub.blacklisted.add(peer, until)
        if early is not None:
            self._pubsub.emit(
                trace.DROPPED, peer=early, what="blacklisted", reason="blacklist_full", count=1
            )
        if peer in self._pubsub.peers:
            self._turn_away(peer)
            self.left(PeerLeft(peer, "blacklisted"), now)

    def _turn_away(self, peer: Peer) -> None:
        self._pubsub.emit(trace.REJECTED, peer=peer, reason="blacklisted_peer")
        self._pubsub.effects.append(Drop(peer, "blacklisted"))
