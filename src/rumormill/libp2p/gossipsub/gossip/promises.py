"""Promises: who told us of a message has to send it when we ask.

Of every IWANT one id, chosen by chance, is watched: a peer cannot know which, so it cannot keep
only the promises that count. It is enough that the message is known in time, whoever brought it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.message import WireMessage


class Promises(HeartbeatPart):
    """Remembers what peers owe us, for a few seconds each."""

    def __init__(
        self, pubsub: PubsubServices, parameters: GossipsubParameters, standing: Standing
    ) -> None:
        self._pubsub = pubsub
        self._seconds = parameters.iwant_followup
        self._standing = standing
        self._owed: dict[Peer, deque[tuple[float, bytes]]] = {}
        """Until when, and what; oldest first. No more than a peer may send IHAVE in that time."""

    def sizes(self) -> dict[str, int]:
        """How many promises stand."""
        return {"promises": sum(map(len, self._owed.values()))}

    def add(self, peer: Peer, asked: Sequence[bytes], now: float) -> None:
        """We have asked the peer for these."""
        watched = self._pubsub.random.choice(asked)
        self._owed.setdefault(peer, deque()).append((now + self._seconds, watched))

    def void(self, peer: Peer) -> None:
        """The peer owes us nothing any more: we may be the ones who did not listen."""
        self._owed.pop(peer, None)

    # ---- what makes promises void

    def ignored(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """The peer has sent it, and we had no room or no use for it."""
        owed = self._owed.get(source)
        if owed and message.id:
            self._owed[source] = deque(each for each in owed if each[1] != message.id)

    def held_back(self, peer: Peer, reason: str, seconds: float, now: float) -> None:
        """Nothing is read of the peer: what we asked for may be there already."""
        self.void(peer)

    def renew_peer(self, peer: Peer) -> None:
        """A stream broke, and perhaps what we asked for was lost with it."""
        self.void(peer)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone."""
        self.void(peer)

    # ---- what breaks them

    def heartbeat(self, now: float) -> None:
        """Whoever did not send in time what it told of is punished for it."""
        for peer in list(self._owed):
            broken = self._overdue(self._owed[peer], now)
            if not self._owed[peer]:
                del self._owed[peer]
            if broken:
                self._pubsub.emit(
                    trace.REJECTED, None, broken[0], peer, reason="broken_promise",
                    count=len(broken),
                )  # fmt: skip
                self._standing.penalise(peer, "broken_promise", len(broken))

    def _overdue(self, owed: deque[tuple[float, bytes]], now: float) -> list[bytes]:
        """Take out what is past its time; returns what of it has not come from anybody."""
        broken: list[bytes] = []
        while owed and owed[0][0] <= now:
            _, message_id = owed.popleft()
            if not self._pubsub.knows(message_id):
                broken.append(message_id)
        return broken
