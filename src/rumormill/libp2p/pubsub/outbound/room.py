"""Room for what is published: in the queues of those who would get it."""

from __future__ import annotations

from collections.abc import Mapping

from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.outbound.outbox import Outbox
from rumormill.libp2p.pubsub.parameters import ENVELOPE, PubsubParameters
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.pubsub.router import Router


class Room:
    """Says whether a message would find room, and watches for it."""

    __slots__ = ("_outbox", "_peers", "_queue_bytes", "_router")

    def __init__(
        self,
        parameters: PubsubParameters,
        router: Router,
        outbox: Outbox,
        peers: Mapping[Peer, PeerState],
    ) -> None:
        self._queue_bytes = parameters.queue_bytes
        self._router = router
        self._outbox = outbox
        self._peers = peers

    def full(self, topics: tuple[str, ...], size: int = 0) -> bool:
        """Whether a message of ``size`` bytes published now would find a queue without room."""
        size += ENVELOPE
        if not self._outbox.crowded and size * 2 <= self._queue_bytes:
            return False  # as nearly always: every queue is half empty
        peers = self._peers
        return any(peers[peer].queue.full(size) for peer in self._router.would_reach(topics))

    def full_for(self, topics: tuple[str, ...], size: int, count: int) -> bool:
        """The same of ``count`` messages at once, of ``size`` bytes together."""
        size += ENVELOPE * count
        peers = self._peers
        return any(
            peers[peer].queue.full(size, None, count) for peer in self._router.would_reach(topics)
        )

    def watch(self, topics: tuple[str, ...], size: int = 0, count: int = 1) -> None:
        """Report by ``RoomAgain``, once it has room, each peer for which :meth:`full` holds."""
        for peer in self._router.would_reach(topics):
            self._outbox.watch_room(peer, size + ENVELOPE * count, count)
