"""IDONTWANT: telling the mesh what we have before it sends us more copies, and heeding it.

A large message is told of when it arrives, before its check: what is checked for long would come
from everyone else meanwhile. So a forged copy keeps the true one away, for a few heartbeats, from
those in the mesh that were told; its sender pays for the forgery, and gossip still brings it.

What peers do not want stands in
:attr:`~rumormill.libp2p.pubsub.outbound.outbox.Outbox.refusals`, where everything that leaves
passes by. There it costs one look for each message, and none while nobody has said anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.features import DONT_WANT
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.mesh.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.pubsub.inbound.prices import QUEUED_MESSAGE
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.pubsub.topics.message_id import usable
from rumormill.libp2p.wire.dont_want import IDONTWANT, IDontWant
from rumormill.libp2p.wire.message import WireMessage

MOST_REFUSALS = 200_000
"""Pairs of peer and message on record, of all peers together. Past this nothing is noted, and the
worst that comes of it are copies that nobody needs."""

MOST_BYTES_PER_ID = 128
"""Bytes that a peer's ids may have on average: so many times ``max_dont_want_ids`` are noted."""

MOST_TOLD = 10_000
"""Ids that we remember to have told of."""


class DontWant(HeartbeatPart):
    """IDONTWANT, both ways, under a budget per peer and heartbeat."""

    def __init__(
        self,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        mesh: Mesh,
    ) -> None:
        self._pubsub = pubsub
        self._candidates = candidates
        self._mesh = mesh
        self._size = parameters.dont_want_size
        self._most_ids = parameters.max_dont_want_ids
        self._refusals = pubsub.outbox.refusals
        self._count = 0
        # One for each heartbeat that a word holds, the newest first.
        self._windows: deque[dict[Peer, _Said]] = deque(
            {} for _ in range(parameters.dont_want_heartbeats)
        )
        self._told: dict[bytes, None] = {}
        """What we told of since the last heartbeat: the next copy of a forged message arrives
        again, under the same id."""
        self.takes_parts: Callable[[Peer, str], bool] | None = None
        """Whether a peer gets messages of a topic in parts: it has no whole one to spare us."""
        pubsub.on_control(IDONTWANT, self.handle)

    def sizes(self) -> dict[str, int]:
        """How many pairs of peer and message are noted, and how many ids we told of."""
        return {"dont_want": self._count, "dont_want_told": len(self._told)}

    # ---- telling

    def arrived(self, message: WireMessage, source: Peer, now: float) -> None:
        """Tell the mesh of a large message, but not who sent it."""
        if len(message.data) >= self._size:
            self._tell(message, source)

    def _tell(self, message: WireMessage, source: Peer | None) -> None:
        message_id, can = message.id, self._candidates.can
        if message_id in self._told:
            return
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told[message_id] = None
        entry = IDontWant((message_id,))
        takes_parts = self.takes_parts
        members = dict.fromkeys(
            [
                peer
                for topic in message.topics
                for peer in self._mesh.peers(topic)
                if takes_parts is None or not takes_parts(peer, topic)
            ]
        )
        for peer in members:
            if peer != source and can(peer, DONT_WANT):
                self._pubsub.outbox.control(peer, entry)

    # ---- heeding

    def handle(self, peer: Peer, entries: tuple[IDontWant, ...], now: float) -> None:
        """Note what the peer does not want, and take it out of its queue if it is there."""
        ids = dict.fromkeys([each for entry in entries for each in entry.message_ids])
        if not ids:
            return
        if not self._candidates.can(peer, DONT_WANT):
            self._ignore(peer, "dont_want_from_older_peer", len(ids))
            return
        usable_ids = list(filter(usable, ids))
        if len(usable_ids) < len(ids):
            self._ignore(peer, "bad_message_id", len(ids) - len(usable_ids))
        noted = self._note_all(peer, usable_ids)
        if noted < len(usable_ids):
            self._ignore(peer, "too_many_dont_want", len(usable_ids) - noted)
        knows = self._pubsub.knows
        known = {each for each in usable_ids[:noted] if knows(each)}
        if known:
            looked_at = self._pubsub.outbox.withdraw(peer, known)
            if looked_at:
                self._pubsub.charge(peer, "dont_want", looked_at * QUEUED_MESSAGE)

    def _ignore(self, peer: Peer, reason: str, count: int) -> None:
        self._pubsub.emit(trace.IGNORED, peer=peer, reason=reason, count=count)

    def _note_all(self, peer: Peer, message_ids: list[bytes]) -> int:
        """Note ids as long as there is room; returns how many need no more than that."""
        said = self._windows[0].get(peer) or _Said()
        for done, message_id in enumerate(message_ids):
            refusing = self._refusals.get(message_id, ())
            if peer in refusing:
                continue
            if not self._has_room(said, message_id):
                return done
            self._windows[0][peer] = said
            said.add(message_id)
            self._refusals[message_id] = (*refusing, peer)
            self._count += 1
        return len(message_ids)

    def _has_room(self, said: _Said, message_id: bytes) -> bool:
        return (
            self._count < MOST_REFUSALS
            and len(said.message_ids) < self._most_ids
            and said.bytes + len(message_id) <= self._most_ids * MOST_BYTES_PER_ID
        )

    # ---- forgetting

    def heartbeat(self, now: float) -> None:
        """Forget what was said long ago; everybody has a new budget."""
        for peer, said in self._windows.pop().items():
            self._forget(peer, said)
        self._windows.appendleft({})
        self._told.clear()

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone, and with it what it said."""
        for window in self._windows:
            if peer in window:
                self._forget(peer, window.pop(peer))

    def _forget(self, peer: Peer, said: _Said) -> None:
        for message_id in said.message_ids:
            others = tuple([each for each in self._refusals[message_id] if each != peer])
            if others:
                self._refusals[message_id] = others
            else:
                del self._refusals[message_id]
        self._count -= len(said.message_ids)


class DontWantOwn(DontWant):
    """The same, and our own messages are told of too, before they are sent."""

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        """Tell the mesh of a large message of ours."""
        if source is None and len(message.data) >= self._size:
            self._tell(message, None)


class _Said:
    """The ids that one peer said it does not want, in one heartbeat."""

    __slots__ = ("bytes", "message_ids")

    def __init__(self) -> None:
        self.message_ids: list[bytes] = []
        self.bytes = 0

    def add(self, message_id: bytes) -> None:
        self.message_ids.append(message_id)
        self.bytes += len(message_id)
