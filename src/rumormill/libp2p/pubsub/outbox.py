"""The way out: what waits for each peer, and the one packet a turn that takes it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Peer, RoomAgain, Send
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.pubsub.queue import NOWHERE, PeerQueue, Place
from rumormill.libp2p.wire.control import ControlKinds, Entry
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.limits import TAKEN_BY_ALL, within
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import message_frame

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

MOST_BYTES_PER_SEND = 256 * 1024
"""How much one peer is handed in one turn: what its flow-control window takes at first."""


class Outbox:
    """Queues for all peers. Nothing leaves before :meth:`flush`, and then all of it together."""

    def __init__(self, pubsub: Pubsub, kinds: ControlKinds) -> None:
        parameters = pubsub.parameters
        self._pubsub = pubsub
        self._peers = pubsub.peers
        self._kinds = kinds
        self._sizes = parameters.max_control_size, parameters.max_rpc_size
        self._limits = within(parameters.rpc_limits, TAKEN_BY_ALL)
        self._dirty: dict[Peer, None] = {}
        self.crowded: dict[Peer, None] = {}
        """Peers whose queue was more than half full: only one of these can be without room."""

    @property
    def waiting(self) -> bool:
        """Whether :meth:`flush` has something to do."""
        return bool(self._dirty)

    # ---- filling

    def message(self, peer: Peer, message: WireMessage) -> Place:
        """Queue a message for a peer; where there was no room, it is counted and traced."""
        return self.message_frame(peer, message, message_frame(message))

    def message_frame(
        self, peer: Peer, message: WireMessage, frame: bytes, source: Peer | None = None
    ) -> Place:
        """The same with the frame made already: it is one for all peers.

        ``source`` is who sent us the message, if it is not our own: whoever sends us more than a
        peer takes loses its own messages, not those of others.
        """
        state = self._peers.get(peer)
        if state is None:
            return NOWHERE
        queue = state.queue
        place = queue.add_message(frame, source)
        if queue.crowded:
            self.crowded[peer] = None
            if evicted := queue.take_evicted():
                self._lost(peer, evicted)
        if place:
            self._dirty[peer] = None
            return place
        self._pubsub.emit(
            trace.DROPPED, message.topics[0], message.id, peer,
            what="message", reason="queue_full", count=1,
        )  # fmt: skip
        return NOWHERE

    def _lost(self, peer: Peer, count: int) -> None:
        """Messages that waited for the peer had to go, so that those of others had room."""
        reason = "queue_full"
        self._pubsub.emit(trace.DROPPED, peer=peer, what="message", reason=reason, count=count)

    def extension(
        self, peer: Peer, number: int, inside: bytes, what: str, topic: str | None = None
    ) -> bool:
        """Queue an RPC of its own with a field of an extension, among the messages; says whether
        there was room. ``what`` it is called in traces.
        """
        state = self._peers.get(peer)
        if state is None:
            return False
        queue = state.queue
        place = queue.add_message(length_prefixed(bytes_field(number, inside)))
        if queue.crowded:
            self.crowded[peer] = None
            if evicted := queue.take_evicted():
                self._lost(peer, evicted)
        if place:
            self._dirty[peer] = None
            return True
        reason = "queue_full"
        self._pubsub.emit(trace.DROPPED, topic, peer=peer, what=what, reason=reason, count=1)
        return False

    def announce(self, peer: Peer, topic: str, subscribe: bool, other: bytes = b"") -> None:
        """Tell a peer that we listen to a topic, or no longer do; ``other`` is said beside it."""
        self._queue_of(peer).announce(topic, subscribe, other)

    def control(self, peer: Peer, entry: Entry) -> None:
        """Tell a peer what a control message says; what finds no room is counted and traced."""
        kind = self._kinds.of(entry)
        lost = self._queue_of(peer).control(kind, entry)
        if lost:
            self._pubsub.emit(
                trace.DROPPED, peer=peer, what=kind.name, reason="queue_full", count=lost
            )

    def _queue_of(self, peer: Peer) -> PeerQueue:
        self._dirty[peer] = None
        return self._pubsub.peers[peer].queue

    def watch_room(self, peer: Peer, size: int) -> None:
        """Say ``RoomAgain`` of a peer that has no room for a frame of this size, once it has."""
        queue = self._peers[peer].queue
        if queue.full(size):
            queue.was_full = queue.crowded = True
            self.crowded[peer] = None

    # ---- emptying

    def writable(self, peer: Peer, ready: bool) -> None:
        """Whether the line to the peer is free."""
        state = self._pubsub.peers.get(peer)
        if state is None:
            return
        state.queue.writable = ready
        if ready and (state.queue.waiting or state.queue.has_control):
            self._dirty[peer] = None

    def forget(self, peer: Peer, state: PeerState) -> None:
        """The peer is gone."""
        self._dirty.pop(peer, None)
        self.discard(peer, state, "peer_left")

    def discard(self, peer: Peer, state: PeerState, reason: str) -> None:
        """The messages that wait for the peer are lost, and whoever waits for room need not."""
        lost = state.queue.discard_messages()
        state.queue.crowded = False
        self.crowded.pop(peer, None)
        if lost:
            self._pubsub.emit(trace.DROPPED, peer=peer, what="message", reason=reason, count=lost)
        if state.queue.was_full:
            state.queue.was_full = False
            self._pubsub.effects.append(RoomAgain(peer))

    def flush(self) -> None:
        """Send what waits, to every peer whose line is free; what is left stays for next time."""
        dirty, self._dirty = self._dirty, {}
        for peer in dirty:
            state = self._pubsub.peers.get(peer)
            # One whose line is not free becomes dirty again when it is.
            if state is not None and state.queue.writable:
                self._send(peer, state.queue)

    def _send(self, peer: Peer, queue: PeerQueue) -> None:
        pubsub = self._pubsub
        packet = queue.take(MOST_BYTES_PER_SEND, *self._sizes, self._limits)
        if packet:
            pubsub.effects.append(Send(peer, packet))
            if pubsub.parameters.trace_packets:
                pubsub.emit(trace.PACKET_SENT, peer=peer, size=len(packet))
        if queue.waiting:
            self._dirty[peer] = None
        if queue.crowded and queue.half_empty():
            queue.crowded = False
            self.crowded.pop(peer, None)
            if queue.was_full:
                queue.was_full = False
                pubsub.effects.append(RoomAgain(peer))
