"""Who has to go when there is no room for one more: those who do nothing, before anybody else.

A stranger costs nothing to be: an attacker makes hundreds of identities in a second. So slots are
not for whoever came first. When those that others may take are full, somebody gives way to the
newcomer; the question is who, if an attacker may come and come again.

Handshakes that are under way (:func:`least_promising`): first those of whom nothing came for a
second, then any; of the network that has the most of them, so that nobody can push out the
handshakes of others by beginning many; of these the oldest.

Connections that stand (:class:`Evictions`): never one that we dialed, or that leads to a peer we
want to keep. Half of the room is for those that nobody pushes out, however often strangers come:
those of the most use, and as many that are of any use and have been there the longest, which
nobody can become in a hurry. Of the others, the least useful, of the network that has the most of
them; of these any, by chance, since any rule could be met on purpose. Whoever has just come is
taken for one that may be of use yet.

How useful a peer is, pubsub says (:meth:`PubsubMachine.usefulness`). The ideas are those of Bitcoin
Core, which protects the best in several ways before it chooses, and of go-libp2p's connection
manager, whose tags and grace period these are.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.table import Link

CONNECTION_EVICTED = "connection_evicted"
"""A trace event: a connection is closed to make room; fields: address, reason (which limit was
met), newcomer (the address that it made room for), usefulness (-1: not even a handshake). What its
closing brings about follows, for the reason "evicted"."""

EVICTED = "evicted"
"""Why the transport of such a connection is closed."""

NO_HANDSHAKE = -1
"""The usefulness of a connection whose handshake is not done."""

SILENT_FOR = 1.0
"""Seconds. Who dials speaks first, and at once: so long a silence is no slow line any more."""

IN_GRACE = 1
"""What a connection that is new counts for: as much as one whose peer shares a topic with us."""


def least_promising(handshakes: Iterable[Link], networks: Sequence[str], now: float) -> Link:
    """The handshake to give up for a newcomer of certain networks.

    There must be one; they come in the order of their age.
    """
    waiting = list(handshakes)
    silent = [
        link
        for link in waiting
        if now - link.opened_at >= SILENT_FOR and not link.connection.progress
    ]
    return crowded(silent or waiting, networks)[0]


def crowded(links: list[Link], networks: Sequence[str]) -> list[Link]:
    """Of the connections, those of the network that has the most of them, and of its address.

    The newcomer counts as one more of its own. Of networks with equally many, all.
    """
    for level in range(2):
        counts = Counter(link.networks[level] for link in links)
        if networks[level] in counts:
            counts[networks[level]] += 1
        most = max(counts.values())
        links = [link for link in links if counts[link.networks[level]] == most]
    return links


class Evictions:
    """Chooses among connections that stand.

    ``usefulness`` says of how much use a peer is, ``kept`` which peers we want to keep.
    """

    def __init__(
        self,
        *,
        parameters: HostParameters,
        random: random.Random,
        usefulness: Callable[[str, float], int],
        kept: Callable[[], Collection[str]],
    ) -> None:
        self._grace = parameters.eviction_grace
        self._protected = parameters.protected_share
        self._random = random
        self._usefulness = usefulness
        self._kept = kept

    def least_useful(
        self, links: Iterable[Link], networks: Sequence[str], room: int, now: float
    ) -> tuple[Link, int] | None:
        """The connection to close for a newcomer, and of how much use its peer was.

        ``room`` is how many such connections there may be: a part of them is protected. None if
        none of ``links`` may be closed.
        """
        kept = self._kept()
        ranks = {
            link: self._usefulness(link.peer, now)
            for link in links
            if not link.outbound and link.peer not in kept
        }
        protected = self._protect(ranks, int(room * self._protected))
        others = {link: rank for link, rank in ranks.items() if link not in protected}
        if not others:
            return None
        for link, rank in others.items():
            if rank < IN_GRACE and now - link.established_at < self._grace:
                others[link] = IN_GRACE
        least = min(others.values())
        candidates = [link for link, rank in others.items() if rank == least]
        victim = self._random.choice(crowded(candidates, networks))
        return victim, ranks[victim]

    def _protect(self, ranks: dict[Link, int], most: int) -> set[Link]:
        """Who is not to be closed: one half by usefulness, the other by age."""
        by_age = sorted(
            (link for link in ranks if ranks[link] > 0),
            key=lambda link: (link.established_at, link.id),
        )
        by_usefulness = sorted(by_age, key=lambda link: -ranks[link])  # and then by age
        protected = set(by_usefulness[: most - most // 2])
        rest = (link for link in by_age if link not in protected)
        return protected.union(itertools.islice(rest, most // 2))
