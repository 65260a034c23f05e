"""What a peer should get of a message in parts: what it lacks, and what it does not know of us."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.partial.groups import Group, GroupTable, View
from rumormill.libp2p.gossipsub.partial.message import PartialMessage, Parts
from rumormill.libp2p.gossipsub.partial.options import PartialOptions
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.extensions import PARTIAL_MESSAGES, PartialRpc, encode_partial

Partners: TypeAlias = Callable[[str, float], Iterable[Peer]]
"""Whom a message of ours on a topic would be sent to now, were it whole."""

MOST_RPCS = 256
"""RPCs with parts of one message that a peer gets at once."""


class PartialSender:
    """Brings peers up to date, one message and one peer at a time."""

    def __init__(
        self,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        standing: Standing,
        options: PartialOptions,
        groups: GroupTable,
        partners: Partners,
    ) -> None:
        self._pubsub = pubsub
        self._most_bytes = parameters.partial_rpc_bytes
        self._standing = standing
        self._options = options
        self._groups = groups
        self._partners = partners

    def spread(self, group: Group, now: float) -> tuple[Peer, ...]:
        """There is news of a message: bring all up to date who are of the topic's mesh, or spoke of
        it; returns whom that concerned.
        """
        everyone = dict.fromkeys([*self._speaking(group.topic, now), *group.views])
        concerned = tuple([peer for peer in everyone if self.update(group, peer)])
        while (oldest := self._groups.surplus(group.topic)) is not None:
            self._groups.forget(oldest)
            what, reason = "partial_group", "too_many_groups"
            self._pubsub.emit(trace.DROPPED, group.topic, what=what, reason=reason, count=1)
        return concerned

    def catch_up(self, group: Group, now: float) -> None:
        """Update those for whom there was no room, and those who came into the mesh since."""
        late = [peer for peer, view in group.views.items() if view.missed]
        if group.began_by is None:
            late += [peer for peer in self._speaking(group.topic, now) if peer not in group.views]
        for peer in late:
            self.update(group, peer)

    def _speaking(self, topic: str, now: float) -> list[Peer]:
        """Who would get a whole message, and exchanges parts with us."""
        speaks = self._options.speaks
        return [each for each in self._partners(topic, now) if speaks(each, topic)]

    def update(self, group: Group, peer: Peer, eager: bool = True) -> int:
        """Send the peer what it lacks, and what is news to it; returns how many bytes.

        Parts go to those who want parts; unless ``eager``, only if they said what they have.
        """
        message = group.message
        if message is None:
            return 0
        try:
            return self._update(message, group, peer, eager)
        except Exception as error:
            self.failed(group, peer, error)
            return 0

    def failed(self, group: Group, peer: Peer, error: Exception) -> None:
        """The application could make nothing of what a peer said, or has a fault of its own."""
        if isinstance(error, ValueError):
            self.reject(peer, group.topic, "partial_malformed")
            self._groups.forget_view(group, peer)
        else:
            detail = f"{type(error).__name__}: {error}"[:200]
            self._drop(group.topic, peer, "application_failed", detail)

    def reject(self, peer: Peer, topic: str, reason: str) -> None:
        """The peer broke a rule."""
        self._pubsub.emit(trace.REJECTED, topic, peer=peer, reason=reason)
        self._standing.penalise(peer, reason)

    def note(self, group: Group, peer: Peer, has: bytes, said: bytes | None = None) -> bool:
        """Note what the peer has, and ``said`` itself; False if too much is kept of it already."""
        if self._groups.set_has(group, peer, has, said):
            return True
        self._drop(group.topic, peer, "too_many_bytes")
        return False

    # ---- one peer

    def _update(self, message: PartialMessage, group: Group, peer: Peer, eager: bool) -> int:
        view, sent = group.view(peer), 0
        view.missed = False
        metadata = message.metadata()
        tells = view.said is not None or self._options.speaks(peer, group.topic)
        for _ in range(MOST_RPCS):
            parts = self._lacking(message, group, peer, view, eager)
            news = metadata if tells and metadata != view.told else None
            if parts is None and news is None:
                break
            size = self._send(group, peer, None if parts is None else parts.data, news)
            if not size:
                view.missed = True
                break
            sent += size
            view.told = metadata
            if parts is None:
                break
            has = message.join(view.has, parts.metadata)
            if has == view.has or not self.note(group, peer, has):
                break
        return sent

    def _lacking(
        self, message: PartialMessage, group: Group, peer: Peer, view: View, eager: bool
    ) -> Parts | None:
        if not self._options.gives(peer, group.topic) or (view.has is None and not eager):
            return None
        return message.parts_for(view.has, self._most_bytes)

    def _send(self, group: Group, peer: Peer, data: bytes | None, metadata: bytes | None) -> int:
        """How many bytes are on their way; 0 if there was no room."""
        inside = encode_partial(PartialRpc(group.topic, group.id, data, metadata))
        size, most = len(inside), self._pubsub.parameters.max_message_size
        if size > most:
            # As good as sent: it would not be any smaller the next time.
            self._drop(group.topic, peer, "too_large", f"{size} bytes, {most} allowed")
            return size if data is None else self._send(group, peer, None, metadata)
        placed = self._pubsub.outbox.extension(peer, PARTIAL_MESSAGES, inside, group.topic)
        return size if placed else 0

    def _drop(self, topic: str, peer: Peer, reason: str, detail: str = "") -> None:
        self._pubsub.emit(
            trace.DROPPED, topic, peer=peer,
            what="partial", reason=reason, count=1, detail=detail,
        )  # fmt: skip
