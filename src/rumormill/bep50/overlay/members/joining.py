"""Joining a topic, and keeping the table filled.

Whoever might be a member is asked for its value: an answer with the topic in it is the proof that
it is one, and brings a token and the newest number. From the first member on we search for our own
id until nobody nearer turns up, then for a random id in each bucket. (The nodes in answers to
``get`` lie near the topic and are the same for everybody; a table of these alone would be
everybody's.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from rumormill.bep50.overlay.duties import Common, Search
from rumormill.bep50.overlay.members.lookup import MOST_PER_HOST, Lookup
from rumormill.bep50.overlay.overlay import FIND, Overlay, Purpose
from rumormill.bep50.overlay.traffic.transactions import Pending
from rumormill.bep50.wire.addresses import NodeInfo, read_nodes
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.node_ids import is_exempt, random_id_with_prefix
from rumormill.core.machine import Peer

MOST_NODES = 16
"""Nodes that are taken from one answer; eight is the custom."""

MOST_AT_ONCE = 64
"""Contacts that are asked at once; the others wait for the next attempt."""

SEARCH_QUERIES = 32
"""Nodes that a search for our own id asks at most."""

PROBE_QUERIES = 8
"""Nodes that a search asks from a node that was gone and is back."""

REFRESH_QUERIES = 3
"""Nodes that a search in one bucket asks: it needs but one."""


class Joining:
    """Finds the members of all topics."""

    __slots__ = ("_book", "_drops", "_id", "_outbox", "_parameters", "_random", "_timers")

    def __init__(self, common: Common) -> None:
        self._id = common.id
        self._parameters = common.parameters
        self._random = common.random
        self._outbox = common.outbox
        self._timers = common.timers
        self._drops = common.drops
        self._book = common.book

    # ---- where to begin

    def contacts(self, overlay: Overlay, peers: Iterable[Peer], now: float) -> None:
        """Ask addresses that may be members."""
        most = self._parameters.most_contacts
        for peer in peers:
            if peer in self._book.own:
                continue
            if peer not in overlay.contacts and len(overlay.contacts) >= most:
                self._drops.count("contact", "too_many")
                continue
            overlay.contacts[peer] = None
            if peer not in overlay.owed:
                overlay.owed[peer] = None
                self._book.expect(peer, overlay)
        if overlay.contacts:
            self.begin(overlay)
        self._ask(overlay, list(overlay.owed))

    def begin(self, overlay: Overlay) -> None:
        """There is somebody to ask: the first search is under way, unless it is over."""
        if overlay.search is not Search.DONE:
            overlay.search = Search.UNDER_WAY

    def _ask(self, overlay: Overlay, peers: list[Peer]) -> None:
        room = MOST_AT_ONCE - len(overlay.asking)
        for peer in peers:
            if room <= 0:
                break
            if peer not in overlay.asking and overlay.get(peer):
                room -= 1

    def alone(self, overlay: Overlay, now: float) -> None:
        """Nobody is left: try the contacts again after a while, and those who were here once."""
        if overlay.search is Search.DONE:
            overlay.search = Search.NOT_BEGUN
        overlay.topic.lost_everybody()
        if overlay.retry_at is None and (overlay.contacts or overlay.former):
            overlay.search = Search.UNDER_WAY
            overlay.retry_at = now + overlay.retry_delay
            most = self._parameters.join_retry_most
            overlay.retry_delay = min(2 * overlay.retry_delay, most)
            self._timers.at_latest(overlay, overlay.retry_at)

    def due(self, overlay: Overlay, now: float) -> None:
        """Try again if it is time, and look through buckets that had no new node for long."""
        if not overlay.table.entries:
            if overlay.retry_at is None:
                if not overlay.asking:
                    self.alone(overlay, now)
            elif overlay.retry_at <= now:
                overlay.retry_at = None
                peers = [*overlay.contacts, *overlay.former]
                if len(peers) > MOST_AT_ONCE:
                    peers = self._random.sample(peers, MOST_AT_ONCE)
                self._ask(overlay, peers)
            return
        overlay.retry_at, overlay.retry_delay = None, self._parameters.join_retry
        if overlay.owed:
            self._ask(overlay, list(overlay.owed))
        stale = overlay.table.buckets_to_refresh(now)
        if stale and overlay.search is Search.DONE:
            overlay.to_refresh = stale
            self._search(overlay, self._id, SEARCH_QUERIES)

    def probe(self, overlay: Overlay) -> None:
        """Ask one of those from before whether it is back.

        Two parts of a network that lost sight of each other find together like this.
        """
        known = [*overlay.contacts, *overlay.former]
        if known:
            peer = self._random.choice(known)
            if peer not in overlay.asking and overlay.table.entry(peer) is None:
                overlay.get(peer, Purpose(probe=True))

    # ---- searching

    def introduced(
        self,
        overlay: Overlay,
        peer: Peer,
        purpose: Purpose,
        values: Dict,
        token: bytes | None,
        now: float,
    ) -> None:
        """A member answered a ``get``: now it can be asked whom it knows."""
        lookup = purpose.lookup
        if lookup is not None and lookup in overlay.lookups:
            if not self._find(overlay, peer, lookup, token):
                lookup.failed(peer)
                self._advance(overlay, lookup)
            return
        if purpose.probe:
            overlay.former.pop(peer, None)
            self._search(overlay, self._id, PROBE_QUERIES, self._info(peer, values))
        elif overlay.search is not Search.DONE:
            self._heard_of(overlay, self._nodes(overlay, values))
            if not overlay.lookups:
                self._search(overlay, self._id, SEARCH_QUERIES)
            else:
                for lookup in list(overlay.lookups):
                    lookup.add(peer, self._info(peer, values).id)
                    self._advance(overlay, lookup)

    def _search(
        self, overlay: Overlay, target: bytes, most_queries: int, also: NodeInfo | None = None
    ) -> None:
        """Search for a target, from the entries next to it and ``also`` from another node."""
        parameters = self._parameters
        lookup = Lookup(
            target,
            closest=parameters.nodes_in_answer,
            width=parameters.lookup_width,
            most_queries=most_queries,
        )
        for entry in overlay.table.closest(target, parameters.nodes_in_answer):
            lookup.add(entry.peer, entry.id)
        if also is not None:
            lookup.add(also.peer, also.id)
        overlay.lookups[lookup] = target
        self._advance(overlay, lookup)

    def _advance(self, overlay: Overlay, lookup: Lookup) -> None:
        """Ask the next nodes; those of whom we have no token yet, for that first."""
        asked = True
        while asked:
            asked = False
            for peer in lookup.to_ask():
                entry = overlay.table.entry(peer)
                if entry is not None and entry.token is not None:
                    sent = self._find(overlay, peer, lookup, entry.token)
                else:
                    sent = overlay.get(peer, Purpose(lookup=lookup))
                if not sent:
                    lookup.failed(peer)
                    asked = True
        if lookup.finished and overlay.lookups.pop(lookup, None) == self._id:
            self._searched(overlay)

    def _find(self, overlay: Overlay, peer: Peer, lookup: Lookup, token: bytes | None) -> bool:
        target = overlay.lookups[lookup]
        return overlay.ask(peer, FIND, {b"target": target}, Purpose(lookup=lookup), token)

    def found(
        self, overlay: Overlay, peer: Peer, purpose: Purpose, values: Dict, now: float
    ) -> None:
        """The answer to ``find_node``."""
        lookup = purpose.lookup
        if lookup is None or lookup not in overlay.lookups:
            return
        lookup.answered(peer, self._info(peer, values).id)
        nodes = self._nodes(overlay, values)
        for node in nodes:
            if node.id != self._id and node.peer not in self._book.own:
                lookup.add(node.peer, node.id)
        self._heard_of(overlay, nodes)
        self._advance(overlay, lookup)
        self._refresh(overlay)

    def silent(self, overlay: Overlay, pending: Pending[Purpose], now: float) -> None:
        """A node that was asked did not answer, or is no member."""
        lookup = pending.context.lookup
        if lookup is not None and lookup in overlay.lookups:
            lookup.failed(pending.peer)
            self._advance(overlay, lookup)
            self._refresh(overlay)
        if not overlay.table.entries and not overlay.asking:
            self.alone(overlay, now)

    def _searched(self, overlay: Overlay) -> None:
        """Our own place is found; on to the buckets, one after the other."""
        first = overlay.search is not Search.DONE
        overlay.search = Search.DONE
        if first:
            overlay.to_refresh = list(range(overlay.table.sizes()["buckets"] - 1))
        self._refresh(overlay)

    def _refresh(self, overlay: Overlay) -> None:
        while overlay.to_refresh and not overlay.lookups:
            bits = overlay.to_refresh.pop()
            target = random_id_with_prefix(self._id, bits, self._random)
            self._search(overlay, target, REFRESH_QUERIES)

    # ---- nodes that others tell of

    @staticmethod
    def _info(peer: Peer, values: Dict) -> NodeInfo:
        return NodeInfo(cast(bytes, values[b"id"]), peer)

    def _nodes(self, overlay: Overlay, values: Dict) -> list[NodeInfo]:
        raw = values.get(b"nodes6" if overlay.ipv6 else b"nodes")
        if type(raw) is not bytes:
            return []
        return read_nodes(raw, overlay.ipv6)[:MOST_NODES]

    def _heard_of(self, overlay: Overlay, nodes: list[NodeInfo]) -> None:
        """Ask the nodes that would get a place in the table."""
        now = self._outbox.now
        hosts: dict[str, int] = {}
        for id, peer in nodes:
            if (
                peer not in overlay.asking
                and peer not in self._book.own
                and overlay.table.wants(id, peer)
                and not overlay.tried.proven(peer, now)
            ):
                host = peer[: peer.rindex(":")].strip("[]")
                hosts[host] = hosts.get(host, 0) + 1
                if hosts[host] > MOST_PER_HOST and not is_exempt(host):
                    self._drops.count("node", "too_many_of_one_host")
                    continue
                overlay.tried.prove(peer, now)
                overlay.get(peer)
