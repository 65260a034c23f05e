"""Extensions of gossipsub 1.3: who has which, and how one is brought in.

Each side says in the first RPC of its stream which extensions it has, and says it once. An
extension is used with a peer when both have said so; those that we do not know are ignored.

One of your own is a class derived from :class:`Extension`, in a file of its own:
:mod:`~rumormill.libp2p.gossipsub.extensions.probe_extension` is the smallest.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.features import EXTENSIONS
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.inbound.prices import UNKNOWN_BYTE
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire import extensions as wire

PENALTY = 10
"""What it counts to announce extensions twice, or too late: as much as with go."""

PEER_EXTENSIONS = "peer_extensions"
"""A trace event: a peer said which extensions it has; fields: agreed, the names of those that we
have as well, and unknown, how many others there are."""


class Extension(HeartbeatPart):
    """The base of every extension: hears what a part hears, and what is said in its own field."""

    name: ClassVar[str]
    """For traces."""
    number: ClassVar[int]
    """Its flag in the control message."""
    field: ClassVar[int]
    """Its field of the RPC."""

    agreed_with: dict[Peer, None]
    """Peers that have it too. Not to be changed by the extension."""

    def __init__(self) -> None:
        self.agreed_with = {}

    def agreed(self, peer: Peer, now: float) -> None:
        """A peer has it too, or our stream to such a peer begins anew."""

    def disagreed(self, peer: Peer, now: float) -> None:
        """A peer that had it is gone, or says that it has it no longer."""

    def handle(self, peer: Peer, inside: bytes, now: float) -> None:
        """A peer that has it too says this.

        Raises :class:`RemoteProtocolError` for what is malformed: the peer is dropped.
        """


class Extensions(Part):
    """Announces our extensions, and keeps those of each peer that we have as well."""

    def __init__(
        self,
        pubsub: PubsubServices,
        candidates: Candidates,
        standing: Standing,
        ours: Iterable[Extension],
    ) -> None:
        self._pubsub = pubsub
        self._candidates = candidates
        self._standing = standing
        self.ours = tuple(sorted(ours, key=lambda each: each.number))
        """What we have."""
        self._heard: dict[Peer, None] = {}
        """Peers that have announced theirs, on the stream that they have now."""
        self._began_again: dict[Peer, None] = {}
        """Peers with more than one stream: on which of them something comes is not told us, so
        what comes first on the newer one need not come first."""
        pubsub.on_control(wire.EXTENSIONS, self.handle)
        for extension in self.ours:
            pubsub.on_extension(extension.field, partial(self._on_field, extension))

    def sizes(self) -> dict[str, int]:
        """How many peers have announced something and how many may do so again, and how often
        something was agreed on.
        """
        return {
            "extensions_heard": len(self._heard),
            "extensions_awaited": len(self._began_again),
            "extensions_agreed": sum(len(each.agreed_with) for each in self.ours),
        }

    # ---- peers and streams

    def begin_stream(self, peer: Peer, now: float) -> None:
        """Announce ours before all else; nothing if there are none, or the peer is too old."""
        if self.ours and self._candidates.can(peer, EXTENSIONS):
            numbers = tuple([each.number for each in self.ours])
            self._pubsub.outbox.control(peer, wire.Extensions(numbers))
            for extension in self.ours:
                if peer in extension.agreed_with:
                    extension.agreed(peer, now)

    def peer_stream_began(self, peer: Peer, now: float) -> None:
        """The peer may announce again. What it said holds until then: rust says it only once."""
        self._heard.pop(peer, None)
        self._began_again[peer] = None

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone."""
        self._heard.pop(peer, None)
        self._began_again.pop(peer, None)
        for extension in self.ours:
            self._disagree(extension, peer, now)

    # ---- what peers say

    def handle(self, peer: Peer, entries: tuple[wire.Extensions, ...], now: float) -> None:
        """A peer announces what it has: in its first RPC, or it pays for it."""
        if not self._candidates.can(peer, EXTENSIONS):
            self._pubsub.emit(trace.IGNORED, peer=peer, reason="extensions_from_older_peer")
            return
        if not self._pubsub.first_rpc(peer) and peer not in self._began_again:
            reason = "extensions_twice" if peer in self._heard else "extensions_too_late"
            self._pubsub.emit(trace.REJECTED, peer=peer, reason=reason)
            self._standing.penalise(peer, reason, PENALTY)
            return
        self._heard[peer] = None
        self._began_again.pop(peer, None)
        # Protobuf merges a message field that comes twice.
        theirs = {number for entry in entries for number in entry.numbers}
        both = [each for each in self.ours if each.number in theirs]
        unknown = len(theirs) - len(both)
        names = ",".join([each.name for each in both])
        self._pubsub.emit(PEER_EXTENSIONS, peer=peer, agreed=names, unknown=unknown)
        self._agree(peer, both, now)

    def _agree(self, peer: Peer, both: list[Extension], now: float) -> None:
        for extension in self.ours:
            if extension not in both:
                self._disagree(extension, peer, now)
            elif peer not in extension.agreed_with:
                extension.agreed_with[peer] = None
                extension.agreed(peer, now)

    def _disagree(self, extension: Extension, peer: Peer, now: float) -> None:
        if peer in extension.agreed_with:
            del extension.agreed_with[peer]
            extension.disagreed(peer, now)

    def _on_field(self, extension: Extension, peer: Peer, inside: bytes, now: float) -> None:
        if peer in extension.agreed_with:
            extension.handle(peer, inside, now)
            return
        self._pubsub.charge(peer, "unknown_fields", len(inside) * UNKNOWN_BYTE)
        reason, name = "extension_not_agreed", extension.name
        self._pubsub.emit(trace.IGNORED, peer=peer, reason=reason, extension=name)
