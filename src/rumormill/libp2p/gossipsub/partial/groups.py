"""Groups: what we know of each message in parts, and of what each peer has of it.

A group is there from the first word about it, ours or a peer's, until some heartbeats after the
last news. Those that peers began, and that brought nothing of worth yet, are counted, for each peer
and all together: nobody can fill our memory with names of messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.partial.message import PartialMessage

VIEW_COST = 64
"""Bytes that a view counts beside the metadata in it."""


class View:
    """What one peer has of a message, and what it knows of us."""

    __slots__ = ("has", "missed", "said", "told")

    def __init__(self) -> None:
        self.said: bytes | None = None
        """What the peer has by its own word; None if it said nothing."""
        self.has: bytes | None = None
        """The same, and what we sent it."""
        self.told: bytes | None = None
        """What the peer knows that we have."""
        self.missed = False
        """Whether something for it found no room: it is tried again at the heartbeat."""

    @property
    def cost(self) -> int:
        """Bytes that are kept of the peer's metadata, roughly."""
        return 0 if self.has is None else 2 * len(self.has) + VIEW_COST

    def begin_again(self) -> None:
        """What we sent may be lost: only what the peer said itself is certain."""
        self.has = self.said
        self.told = None
        self.missed = True


class Group:
    """One message of one topic."""

    __slots__ = ("began_by", "id", "message", "topic", "ttl", "views")

    def __init__(self, topic: str, group_id: bytes, began_by: Peer | None, ttl: int) -> None:
        self.topic = topic
        self.id = group_id
        self.began_by = began_by
        """The peer that this group counts for; None if it is ours, or has proved its worth."""
        self.ttl = ttl
        """Heartbeats that it has left."""
        self.message: PartialMessage | None = None
        self.views: dict[Peer, View] = {}

    def view(self, peer: Peer) -> View:
        """What the peer has; made if there is none yet."""
        view = self.views.get(peer)
        if view is None:
            view = self.views[peer] = View()
        return view


class BegunGroups:
    """How many groups of a topic were begun by peers.

    >>> counter = BegunGroups(most=3, most_of_one=2)
    >>> counter.add("ann"), counter.add("ann"), counter.add("ann"), counter.add("bob")
    (True, True, False, True)
    >>> counter.add("cyd")
    False
    """

    __slots__ = ("_by_peer", "_most", "_most_of_one", "total")

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._by_peer: dict[Peer, int] = {}
        self.total = 0

    def add(self, peer: Peer) -> bool:
        """One more of a peer; False if that is one too many."""
        count = self._by_peer.get(peer, 0)
        if self.total >= self._most or count >= self._most_of_one:
            return False
        self._by_peer[peer] = count + 1
        self.total += 1
        return True

    def remove(self, peer: Peer) -> None:
        """One less of a peer."""
        count = self._by_peer[peer] - 1
        self.total -= 1
        if count:
            self._by_peer[peer] = count
        else:
            del self._by_peer[peer]


class GroupTable:
    """The groups of all topics."""

    def __init__(self, parameters: GossipsubParameters) -> None:
        self._parameters = parameters
        self._topics: dict[str, dict[bytes, Group]] = {}
        self._begun: dict[str, BegunGroups] = {}
        self._bytes: dict[Peer, int] = {}

    def sizes(self) -> dict[str, int]:
        """How many groups there are, views in them, and bytes of metadata that peers told us."""
        groups = list(self)
        return {
            "partial_groups": len(groups),
            "partial_begun": sum(each.total for each in self._begun.values()),
            "partial_views": sum(len(each.views) for each in groups),
            "partial_bytes": sum(self._bytes.values()),
        }

    def __iter__(self) -> Iterator[Group]:
        for groups in list(self._topics.values()):
            yield from list(groups.values())

    def of(self, topic: str) -> list[Group]:
        """The groups of one topic, oldest news first."""
        return list(self._topics.get(topic, {}).values())

    # ---- coming

    def own(self, topic: str, group_id: bytes) -> Group:
        """The group of a message that we offer: it is ours from now on, whoever began it."""
        group = self._topics.get(topic, {}).get(group_id)
        if group is None:
            group = self._add(Group(topic, group_id, None, self._parameters.partial_group_ttl))
        self.prove(group)
        return group

    def heard(self, topic: str, group_id: bytes, peer: Peer) -> Group | None:
        """The group that a peer speaks of; None if it began too many that we know nothing of."""
        group = self._topics.get(topic, {}).get(group_id)
        if group is not None:
            return group
        begun = self._begun.get(topic)
        if begun is None:
            most = self._parameters.partial_groups_per_topic
            begun = BegunGroups(most, self._parameters.partial_groups_per_peer)
        if not begun.add(peer):
            return None
        self._begun[topic] = begun
        return self._add(Group(topic, group_id, peer, self._parameters.partial_group_ttl))

    def _add(self, group: Group) -> Group:
        self._topics.setdefault(group.topic, {})[group.id] = group
        return group

    def prove(self, group: Group) -> None:
        """There is news that is worth something: the group counts for nobody, and lives on."""
        group.ttl = self._parameters.partial_group_ttl
        groups = self._topics[group.topic]
        groups[group.id] = groups.pop(group.id)  # the last one now, by its news
        self._count_no_longer(group)

    def surplus(self, topic: str) -> Group | None:
        """The group to go if a topic has too many: the one with the oldest news."""
        groups = self._topics.get(topic, {})
        if len(groups) <= self._parameters.partial_groups:
            return None
        return next(iter(groups.values()))

    # ---- what peers have

    def set_has(self, group: Group, peer: Peer, has: bytes, said: bytes | None) -> bool:
        """Note what a peer has, and what it ``said`` itself if it did.

        False if we keep too much of it already.
        """
        view = group.view(peer)
        kept = self._bytes.get(peer, 0) - view.cost + 2 * len(has) + VIEW_COST
        if kept > self._parameters.partial_bytes_per_peer:
            return False
        self._bytes[peer] = kept
        view.has = has
        if said is not None:
            view.said = said
        return True

    def begin_again(self, peer: Peer) -> None:
        """Our stream to the peer broke, perhaps with parts on it."""
        for group in self:
            view = group.views.get(peer)
            if view is not None:
                self._keep(peer, -view.cost)
                view.begin_again()
                self._keep(peer, view.cost)

    def _keep(self, peer: Peer, more: int) -> None:
        kept = self._bytes.pop(peer, 0) + more
        if kept:
            self._bytes[peer] = kept

    # ---- going

    def forget(self, group: Group) -> None:
        """Nothing more is known of the group."""
        for peer in list(group.views):
            self.forget_view(group, peer)
        self._count_no_longer(group)
        groups = self._topics[group.topic]
        del groups[group.id]
        if not groups:
            del self._topics[group.topic]

    def forget_view(self, group: Group, peer: Peer) -> None:
        """What the peer has of the group is not known any more."""
        view = group.views.pop(peer, None)
        if view is not None:
            self._keep(peer, -view.cost)

    def forget_peer(self, peer: Peer, topic: str | None = None) -> None:
        """A peer is gone, from everywhere or from one topic; so are groups with nothing else."""
        for group in self if topic is None else self.of(topic):
            self.forget_view(group, peer)
            if group.message is None and not group.views:
                self.forget(group)

    def _count_no_longer(self, group: Group) -> None:
        if group.began_by is not None:
            begun = self._begun[group.topic]
            begun.remove(group.began_by)
            group.began_by = None
            if not begun.total:
                del self._begun[group.topic]
