"""Who is trusted on a topic (``WOT``): those that it lists, and whom a trusted peer trusts.

What counts of an issuer and a subject is the issuer's last word. A peer is trusted if a chain of
words that have not ended leads to it from a listed one; in what order they came does not matter,
and a circle that no listed peer leads into is worth nothing. Whoever was trusted only through a
peer that is revoked is out with it. A listed peer's revocation is a ban: it counts whoever else
trusts the banned. The listed ones themselves cannot be revoked, as they are what the topic is made
of.

Everything is bounded. Words of issuers that nobody trusts (yet: theirs may have come before that
of who trusts them) have a small place of their own, where strangers push out strangers. Past the
other bounds grants are refused, and a revocation takes the place of a grant.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from rumormill.libp2p.descriptor.edges import TrustEdge

MOST_EDGES: Final = 8192
MOST_OF_AN_ISSUER: Final = 128
MOST_OF_A_LISTED: Final = 2048
MOST_UNHEARD: Final = 512
"""Words of issuers that nobody trusts."""
MOST_TRUSTED: Final = 1024
DEEPEST: Final = 16
"""Edges from a listed peer to the last that is trusted by it."""

NEVER: Final = float("inf")

Outcome: TypeAlias = Literal["new", "known", "older", "unheard", "full"]
"""What became of an edge: it counts, it was there, a later word was there, nobody trusts its issuer
(yet), there is no room."""

Pair: TypeAlias = tuple[bytes, bytes]


class TrustLimits(NamedTuple):
    """How much is kept."""

    edges: int = MOST_EDGES
    of_an_issuer: int = MOST_OF_AN_ISSUER
    of_a_listed: int = MOST_OF_A_LISTED
    unheard: int = MOST_UNHEARD
    trusted: int = MOST_TRUSTED
    depth: int = DEEPEST


DEFAULT_LIMITS: Final = TrustLimits()


class TrustGraph:
    """The words of a topic's peers on each other.

    >>> graph = TrustGraph((b"ann",))
    >>> graph.add(TrustEdge(b"bob", b"cid", 1, until=100), now=0)
    'unheard'
    >>> graph.add(TrustEdge(b"ann", b"bob", 1, until=100), now=0)
    'new'
    >>> sorted(graph.trusted(now=0)), sorted(graph.trusted(now=100))
    ([b'ann', b'bob', b'cid'], [b'ann'])
    """

    def __init__(self, listed: Iterable[bytes], limits: TrustLimits = DEFAULT_LIMITS) -> None:
        self._listed = dict.fromkeys(listed)
        self._limits = limits
        self._edges: OrderedDict[Pair, TrustEdge] = OrderedDict()
        self._by_issuer: dict[bytes, dict[bytes, TrustEdge]] = {}
        self._unheard: OrderedDict[Pair, TrustEdge] = OrderedDict()
        self._trusted: dict[bytes, None] = dict(self._listed)
        self._good_from, self._good_until = -NEVER, NEVER
        self.version = 0
        """Grows whenever somebody begins or ceases to be trusted, as far as :meth:`trusted` was
        asked."""
        self.changes = 0
        """Grows with each edge that is kept: for who writes them down."""
        self.pushed_out = 0
        """Edges that were lost for want of room, since this was last set to 0."""

    def __len__(self) -> int:
        """How many edges are kept."""
        return len(self._edges) + len(self._unheard)

    def edges(self) -> Iterator[TrustEdge]:
        """All that count or may come to count, sorted: equal on nodes that know the same."""
        return iter(sorted((*self._edges.values(), *self._unheard.values())))

    def counting(self) -> tuple[TrustEdge, ...]:
        """The edges whose issuers were trusted when they came, sorted: what is told to others."""
        return tuple(sorted(self._edges.values()))

    def last_sequence(self, issuer: bytes, subject: bytes) -> int:
        """The number of an issuer's last word on a subject; 0 if there is none."""
        pair = issuer, subject
        edge = self._edges.get(pair) or self._unheard.get(pair)
        return 0 if edge is None else edge.sequence

    def knows(self, edge: TrustEdge) -> bool:
        """Whether just this edge is there: then its signature was verified."""
        pair = edge.issuer, edge.subject
        return edge in (self._edges.get(pair), self._unheard.get(pair))

    def outdated(self, edge: TrustEdge) -> bool:
        """Whether the issuer has said something later of the subject."""
        pair = edge.issuer, edge.subject
        there = self._edges.get(pair) or self._unheard.get(pair)
        return there is not None and there.weight > edge.weight

    # ---- who is trusted

    def trusts(self, peer: bytes, now: float) -> bool:
        """Whether a peer is trusted at this time."""
        return peer in self.trusted(now)

    def trusted(self, now: float) -> dict[bytes, None]:
        """All who are trusted at this time; not to be changed."""
        if not self._good_from <= now < self._good_until:
            self._work_out(now)
        return self._trusted

    def next_change(self) -> float:
        """When somebody's trust ends by itself, at the earliest."""
        return self._good_until

    def banned(self) -> set[bytes]:
        """Whom a listed peer has revoked."""
        said = [self._by_issuer.get(each, {}) for each in self._listed]
        return {
            subject for words in said for subject, edge in words.items() if edge.revokes
        } - self._listed.keys()

    def _work_out(self, now: float) -> None:
        while True:
            found, until = self._reached(now)
            if not self._hear(found):
                break
        if found != self._trusted:
            self._trusted = found
            self.version += 1
        self._good_from, self._good_until = now, until

    def _reached(self, now: float) -> tuple[dict[bytes, None], float]:
        """Whom a chain leads to, and until when that holds."""
        banned, limits = self.banned(), self._limits
        found, until = dict(self._listed), NEVER
        ring = list(found)
        for _ in range(limits.depth):
            words = [edge for issuer in ring for edge in self._grants(issuer, now)]
            until = min([until, *[edge.until for edge in words]])
            # Sorted, so that where there are too many all nodes leave out the same.
            subjects = {edge.subject for edge in words}.difference(found, banned)
            ring = sorted(subjects)[: max(0, limits.trusted - len(found))]
            found.update(dict.fromkeys(ring))
        return found, until

    def _grants(self, issuer: bytes, now: float) -> list[TrustEdge]:
        words = self._by_issuer.get(issuer, {})
        return [edge for edge in words.values() if now < edge.until]

    def _hear(self, trusted: dict[bytes, None]) -> bool:
        """Let the words of those count who were strangers before; whether there were any."""
        pairs = [pair for pair in self._unheard if pair[0] in trusted]
        for pair in pairs:
            self._keep(self._unheard.pop(pair))
        return bool(pairs)

    # ---- words

    def add(self, edge: TrustEdge, now: float) -> Outcome:
        """Take an edge whose signature is good."""
        pair = edge.issuer, edge.subject
        there = self._edges.get(pair) or self._unheard.get(pair)
        if there is not None and there.weight >= edge.weight:
            return "known" if there == edge else "older"
        if pair in self._edges or self.trusts(edge.issuer, now):
            kept = self._keep(edge)
            self._look_again()
            return "new" if kept else "full"
        self._unheard.pop(pair, None)
        self._unheard[pair] = edge
        if len(self._unheard) > self._limits.unheard:
            self._unheard.popitem(last=False)
            self.pushed_out += 1
        return "unheard"

    def _look_again(self) -> None:
        self._good_from, self._good_until = NEVER, -NEVER

    def _keep(self, edge: TrustEdge) -> bool:
        """Let an edge count, if there is room for it."""
        pair = edge.issuer, edge.subject
        words = self._by_issuer.get(edge.issuer, {})
        most = self._limits.of_an_issuer
        if edge.issuer in self._listed:
            most = self._limits.of_a_listed
        if pair not in self._edges:
            crowded = len(words) >= most and self._make_room(edge, list(words.values()))
            if crowded or (
                len(self._edges) >= self._limits.edges
                and self._make_room(edge, self._edges.values())
            ):
                self.pushed_out += 1
                return False
        self._edges[pair] = edge
        self.changes += 1
        self._by_issuer.setdefault(edge.issuer, {})[edge.subject] = edge
        return True

    def _make_room(self, edge: TrustEdge, among: Iterable[TrustEdge]) -> bool:
        """For a revocation a grant has to go; whether there is no room all the same."""
        grant = next((each for each in among if not each.revokes), None)
        if not edge.revokes or grant is None:
            return True
        self._forget(grant)
        self.pushed_out += 1
        return False

    def _forget(self, edge: TrustEdge) -> None:
        del self._edges[edge.issuer, edge.subject]
        words = self._by_issuer[edge.issuer]
        del words[edge.subject]
        if not words:
            del self._by_issuer[edge.issuer]
