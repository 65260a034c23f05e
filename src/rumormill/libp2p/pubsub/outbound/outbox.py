"""The way out: what waits for each peer, and the one packet a turn that takes it there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Peer, RoomAgain, Send
from rumormill.core.protobuf import bytes_field
from rumormill.core.timers import NEVER
from rumormill.libp2p.pubsub.outbound.lane import Parcel
from rumormill.libp2p.pubsub.outbound.queue import BEHIND, NEXT, NOWHERE, PeerQueue, Place
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.wire.contents import contents_of
from rumormill.libp2p.wire.control import ControlKinds, Entry
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.limits import TAKEN_BY_ALL, within
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import message_frame

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

MOST_BYTES_PER_SEND = 256 * 1024
"""How much one peer is handed in one turn: what its flow-control window takes at first."""

MOST_TOGETHER = 16 * 1024
"""Bytes of an RPC that carries control and a message. A peer hears nothing of an RPC before the
last byte of it came, so control does not ride on a large message; nor does it make an RPC too large
for a peer that would take the message alone, as rust takes 64 KiB."""


class Outbox:
    """Queues for all peers. Nothing leaves before :meth:`flush`, and then all of it together."""

    def __init__(self, pubsub: Pubsub, kinds: ControlKinds) -> None:
        parameters = pubsub.parameters
        self._pubsub = pubsub
        self._peers = pubsub.peers
        self._kinds = kinds
        self._sizes = (
            parameters.max_control_size,
            min(parameters.max_rpc_size, max(MOST_TOGETHER, parameters.max_control_size)),
        )
        self._limits = within(parameters.rpc_limits, TAKEN_BY_ALL)
        self._lifetimes = parameters.publish_queue_seconds, parameters.forward_queue_seconds
        self._trace_packets = parameters.trace_packets
        self.dirty: dict[Peer, None] = {}
        """Peers for which something waits: :meth:`flush` has something to do."""
        self._behind: dict[Peer, None] = {}
        """Peers whose line was not free when messages should have left."""
        self._losses: dict[Peer, int] = {}
        self.expires = NEVER
        """When :meth:`expire` has something to do."""
        self.refusals: dict[bytes, tuple[Peer, ...]] = {}
        """By message id, the peers that want no copy of it. Filled by whoever speaks IDONTWANT."""
        self.crowded: dict[Peer, None] = {}
        """Peers whose queue was more than half full: only one of these can be without room."""

    def sizes(self) -> dict[str, int]:
        """How many peers are behind, and how many have lost something lately."""
        return {"behind": len(self._behind), "losing": len(self._losses)}

    # ---- filling

    def message(self, peer: Peer, message: WireMessage) -> Place:
        """Queue a message that a peer asked for, unless it said that it does not want it.

        It waits among what this peer asked for: who asks for much delays nothing of others.
        """
        topic, message_id = message.topics[0], message.id
        if self.refusals and peer in self.refusals.get(message_id, ()):
            self._pubsub.emit(trace.SPARED, topic, message_id, peer, reason="not_answered")
            return NOWHERE
        return self.send(peer, (message_frame(message), message_id, topic), peer)

    def send(self, peer: Peer, parcel: Parcel, source: Peer | None = None) -> Place:
        """Queue a message for a peer; where there was no room, it is counted and traced.

        ``source`` is who sent us the message, if it is not our own: whoever sends us more than a
        peer takes loses its own messages, not those of others.
        """
        state = self._peers.get(peer)
        if state is None:
            return NOWHERE
        queue = state.queue
        waiting = queue.add(parcel, source)
        if queue.crowded:
            self.crowded[peer] = None
            if evicted := queue.take_evicted():
                self._lose(peer, "message", "queue_full", evicted)
        if waiting is None:
            self._lose_each(peer, [parcel], "queue_full")
            return NOWHERE
        self.dirty[peer] = None
        return BEHIND if waiting or not queue.writable else NEXT

    def extension(self, peer: Peer, number: int, inside: bytes, topic: str = "") -> bool:
        """Queue an RPC of its own with a field of an extension, among the messages; says whether
        there was room.
        """
        frame = length_prefixed(bytes_field(number, inside))
        return self.send(peer, (frame, b"", topic)) is not NOWHERE

    def announce(self, peer: Peer, topic: str, subscribe: bool, other: bytes = b"") -> None:
        """Tell a peer that we listen to a topic, or no longer do; ``other`` is said beside it."""
        self._queue_of(peer).announce(topic, subscribe, other)

    def control(self, peer: Peer, entry: Entry) -> None:
        """Tell a peer what a control message says; what finds no room is counted and traced."""
        kind = self._kinds.of(entry)
        lost = self._queue_of(peer).control(kind, entry)
        if lost:
            self._lose(peer, kind.name, "queue_full", lost)

    def control_to_all(self, peers: Sequence[Peer], entry: Entry) -> None:
        """Tell several peers the same: of a heartbeat's gossip there is much."""
        kind, states, dirty = self._kinds.of(entry), self._peers, self.dirty
        for peer in peers:
            dirty[peer] = None
            lost = states[peer].queue.control(kind, entry)
            if lost:
                self._lose(peer, kind.name, "queue_full", lost)

    def _queue_of(self, peer: Peer) -> PeerQueue:
        self.dirty[peer] = None
        return self._pubsub.peers[peer].queue

    def watch_room(self, peer: Peer, size: int, count: int = 1) -> None:
        """Say ``RoomAgain`` of a peer that has no room for frames of this size, once it has."""
        queue = self._peers[peer].queue
        if queue.full(size, None, count):
            queue.was_full = queue.crowded = True
            self.crowded[peer] = None

    # ---- losing

    def _lose(self, peer: Peer, what: str, reason: str, count: int) -> None:
        self._losses[peer] = self._losses.get(peer, 0) + count
        self._pubsub.emit(trace.DROPPED, peer=peer, what=what, reason=reason, count=count)

    def _lose_each(self, peer: Peer, parcels: list[Parcel], reason: str) -> None:
        self._losses[peer] = self._losses.get(peer, 0) + len(parcels)
        for _, message_id, topic in parcels:
            what = "message" if message_id else "extension"
            self._pubsub.emit(
                trace.DROPPED, topic or None, message_id or None, peer,
                what=what, reason=reason, count=1,
            )  # fmt: skip

    def take_losses(self) -> dict[Peer, int]:
        """How much each peer has lost since the last time, because it takes less than it is sent:
        messages, and ids and words of control.
        """
        losses, self._losses = self._losses, {}
        return losses

    def withdraw(self, peer: Peer, message_ids: Collection[bytes]) -> int:
        """Take out of a peer's queue what has not left and it no longer wants.

        Returns how many messages were looked at.
        """
        state = self._peers.get(peer)
        if state is None or not state.queue.count:
            return 0
        queue = state.queue
        waiting = queue.count
        for _, message_id, topic in queue.remove(message_ids):
            self._pubsub.emit(trace.SPARED, topic, message_id, peer, reason="removed_from_queue")
        self._look_for_room(peer, queue)
        return waiting

    def expire(self, now: float) -> None:
        """Lose the messages that have waited for too long."""
        own, other = self._lifetimes
        self.expires = NEVER
        for peer in list(self._behind):
            queue = self._peers[peer].queue
            expired = queue.expire(now - own, now - other)
            if expired:
                self._lose_each(peer, expired, "expired")
                self._look_for_room(peer, queue)
            expiry = queue.expiry(own, other)
            self.expires = min(self.expires, expiry)
            if expiry == NEVER:
                del self._behind[peer]

    # ---- emptying

    def writable(self, peer: Peer, ready: bool) -> None:
        """Whether the line to the peer is free."""
        state = self._pubsub.peers.get(peer)
        if state is None:
            return
        state.queue.writable = ready
        if ready and (state.queue.count or state.queue.has_control):
            self.dirty[peer] = None

    def forget(self, peer: Peer, state: PeerState) -> None:
        """The peer is gone."""
        self.dirty.pop(peer, None)
        self._behind.pop(peer, None)
        self._losses.pop(peer, None)
        self.discard(peer, state, "peer_left")

    def discard(self, peer: Peer, state: PeerState, reason: str) -> None:
        """The messages that wait for the peer are lost, and whoever waits for room need not."""
        lost = state.queue.clear()
        if lost:
            self._pubsub.emit(trace.DROPPED, peer=peer, what="message", reason=reason, count=lost)
        self.crowded.pop(peer, None)
        self._tell_room(peer, state.queue)

    def flush(self, now: float) -> None:
        """Send what waits, to every peer whose line is free; what is left stays for next time."""
        dirty, self.dirty = self.dirty, {}
        for peer in dirty:
            state = self._pubsub.peers.get(peer)
            if state is None:
                continue
            if state.queue.writable:
                self._send(peer, state.queue)
            else:  # it becomes dirty again when its line is free
                self._put_off(peer, state.queue, now)

    def _put_off(self, peer: Peer, queue: PeerQueue, now: float) -> None:
        if queue.count:
            queue.put_off(now)
            self._behind[peer] = None
            self.expires = min(self.expires, queue.expiry(*self._lifetimes))

    def _send(self, peer: Peer, queue: PeerQueue) -> None:
        pubsub = self._pubsub
        packet = queue.packet(MOST_BYTES_PER_SEND, *self._sizes, self._limits)
        if packet:
            pubsub.effects.append(Send(peer, packet))
            if self._trace_packets:
                held = contents_of(packet, self._kinds)
                pubsub.emit(trace.PACKET_SENT, None, None, peer, size=len(packet), **held)
        if queue.count:
            self.dirty[peer] = None
        if queue.crowded:
            self._look_for_room(peer, queue)

    def _look_for_room(self, peer: Peer, queue: PeerQueue) -> None:
        if queue.crowded and queue.half_empty():
            queue.crowded = False
            self.crowded.pop(peer, None)
            self._tell_room(peer, queue)

    def _tell_room(self, peer: Peer, queue: PeerQueue) -> None:
        if queue.was_full:
            queue.was_full = False
            self._pubsub.effects.append(RoomAgain(peer))
