"""The gater: while more messages come than can be checked, whose messages are read at all.

Random early drop, as go has it. Only while checks overflow, and a while after; a peer whose
messages are of use passes nearly always, one that sends what is rejected or known passes seldom.
Control is always read. Peers are told apart by where they come from, so that a new name changes
nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.defence.gater_parameters import GaterParameters
from rumormill.libp2p.gossipsub.gossip.promises import Promises
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.score.decay import decayed
from rumormill.libp2p.pubsub.peers import place_of
from rumormill.libp2p.pubsub.router import Admission, PubsubServices
from rumormill.libp2p.wire.message import WireMessage

THROTTLED = frozenset(("checks_full", "copies_full", "signatures_too_dear", "overloaded"))
"""Reasons of messages that nobody had time or room to check."""

BLAMELESS = frozenset(("not_subscribed", "own_message", "blacklisted_author"))
"""Reasons of messages that are not wanted by us, and may be by others."""

NEARLY_NOTHING = 0.01
"""What is left of a count after its time of decay; what is below counts as nothing."""

MOST_PLACES = 10_000
"""Places without a peer that something is known of: past this, those go first that left first."""


class Source:
    """What came from one place, each count decaying with time."""

    __slots__ = (
        "connected", "delivered", "duplicate", "ignored", "left_at", "place", "rejected",
    )  # fmt: skip

    def __init__(self, place: str) -> None:
        self.place = place
        self.connected = 0
        self.left_at = 0.0
        """When the last peer from there was gone, if none is connected."""
        self.delivered = self.duplicate = self.ignored = self.rejected = 0.0

    def decay(self, factor: float) -> None:
        """Let all counts shrink."""
        self.delivered = decayed(self.delivered, factor, NEARLY_NOTHING)
        self.duplicate = decayed(self.duplicate, factor, NEARLY_NOTHING)
        self.ignored = decayed(self.ignored, factor, NEARLY_NOTHING)
        self.rejected = decayed(self.rejected, factor, NEARLY_NOTHING)


class Gater(HeartbeatPart):
    """Counts what came from where, and draws whose messages are read."""

    def __init__(
        self,
        *,
        pubsub: PubsubServices,
        parameters: GaterParameters,
        heartbeat_interval: float,
        promises: Promises,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._promises = promises
        self._interval = heartbeat_interval
        self._checked = 0.0
        self.throttled = 0.0
        """Messages for which there was no time lately; while there are none, all is read."""
        self._last_throttle = float("-inf")
        self._peers: dict[Peer, Source] = {}
        self._places: dict[str, Source] = {}
        """Where connected peers are."""
        self._left: OrderedDict[str, Source] = OrderedDict()
        """Where others were, in the order of leaving."""

    def sizes(self) -> dict[str, int]:
        """How many places something is known of."""
        return {"gater_places": len(self._places) + len(self._left)}

    # ---- the question

    def admission(self, peer: Peer, now: float) -> Admission:
        """How much of a peer's RPC is read."""
        if not self.throttled or now - self._last_throttle > self._parameters.gater_quiet:
            return "all"
        if self.throttled < self._parameters.gater_threshold * self._checked:
            return "all"
        source = self._peers.get(peer)
        if source is None or self._pubsub.random.random() < self._chance(source):
            return "all"
        self._promises.void(peer)
        return "control"

    def _chance(self, source: Source) -> float:
        """How likely messages from there are read; never 0, and 1 of one that only delivers."""
        weights = self._parameters
        total = (
            source.delivered
            + weights.gater_duplicate_weight * source.duplicate
            + weights.gater_ignore_weight * source.ignored
            + weights.gater_reject_weight * source.rejected
        )
        return (1 + source.delivered) / (1 + total)

    # ---- what happens

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """Somebody came, perhaps from where we know others."""
        place = place_of(joined.address) or joined.peer
        source = self._places.get(place)
        if source is None:
            source = self._places[place] = self._known(place, now)
        source.connected += 1
        self._peers[joined.peer] = source

    def _known(self, place: str, now: float) -> Source:
        """What is known of a place where nobody was connected until now."""
        source = self._left.pop(place, None)
        if source is None or now - source.left_at > self._parameters.gater_retain:
            return Source(place)
        seconds = now - source.left_at
        source.decay(decay_over(seconds, self._parameters.gater_source_decay))
        return source

    def remove_peer(self, peer: Peer, now: float) -> None:
        """What is known of where it came from is kept for a while."""
        source = self._peers.pop(peer, None)
        if source is None:
            return
        source.connected -= 1
        if not source.connected:
            del self._places[source.place]
            source.left_at = now
            self._left[source.place] = source
            if len(self._left) > MOST_PLACES:
                self._left.popitem(last=False)

    def arrived(self, message: WireMessage, source: Peer, now: float) -> None:
        """A message found its check."""
        self._checked += 1

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        """A message was of use."""
        if source is not None and (known := self._peers.get(source)) is not None:
            known.delivered += 1

    def duplicate(self, message: WireMessage, source: Peer, now: float) -> None:
        """A message was of use, but others were faster."""
        if (known := self._peers.get(source)) is not None:
            known.duplicate += 1

    def rejected(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """A message was bad."""
        if (known := self._peers.get(source)) is not None:
            known.rejected += 1

    def ignored(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """A message was of no use, or nobody had time to find out."""
        if reason in THROTTLED:
            self.throttled += 1
            self._last_throttle = now
        elif reason not in BLAMELESS and (known := self._peers.get(source)) is not None:
            known.ignored += 1

    # ---- time

    def heartbeat(self, now: float) -> None:
        """Everything counts a little less, and what is long ago is forgotten."""
        factor = decay_over(self._interval, self._parameters.gater_decay)
        self._checked = decayed(self._checked, factor, NEARLY_NOTHING)
        self.throttled = decayed(self.throttled, factor, NEARLY_NOTHING)
        factor = decay_over(self._interval, self._parameters.gater_source_decay)
        for source in self._places.values():
            source.decay(factor)
        oldest = now - self._parameters.gater_retain
        while self._left and next(iter(self._left.values())).left_at < oldest:
            self._left.popitem(last=False)


def decay_over(seconds: float, decay: float) -> float:
    """What a count is multiplied with after some seconds, if ``decay`` leave nearly nothing.

    >>> round(decay_over(60.0, 120.0), 6)
    0.1
    """
    return float(NEARLY_NOTHING ** (seconds / decay))
