"""One topic in one IP family: the table, the queries on their way, and what their ends mean.

What is asked and why is up to the duties, one a file: joining, keeping alive, forwarding. This is
what they share.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple, cast

from rumormill.bep50.guards import prices
from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.overlay.duties import Common, Duties, Search
from rumormill.bep50.overlay.members.lookup import Lookup
from rumormill.bep50.overlay.members.routing_table import Entry, RoutingTable
from rumormill.bep50.overlay.traffic.transactions import Pending, Transactions
from rumormill.bep50.wire.addresses import NodeInfo, compact_nodes, parse_peer
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.krpc import PROTOCOL, Answer, Failure, query_packet
from rumormill.bep50.wire.node_ids import is_valid_id
from rumormill.core import trace
from rumormill.core.machine import Peer

if TYPE_CHECKING:
    from rumormill.bep50.overlay.topic_node import TopicNode

PING, GET, FIND, PUT = "ping", "get", "find_node", "put"

MOST_FORMER = 32
"""Former entries that are kept in mind."""

MOST_TRIED = 1024
TRIED_LIFETIME = 60.0
"""Nodes that others told of, and the seconds for which one is not asked again."""


class Purpose(NamedTuple):
    """Why a query was sent: what to do when it ends."""

    lookup: Lookup | None = None
    """The search that it is part of."""
    seq: int = -1
    """The number of the value that was put."""
    attempt: int = 0
    """How often the same was tried before."""
    catching: bool = False
    """The peer has a newer value, and we asked for it."""
    conditional: bool = False
    """The peer has another value than the one that ours was to replace: which?"""
    probe: bool = False
    """The peer is one from before, that may be back: perhaps with a part of the network."""


PLAIN = Purpose()


class Overlay:
    """The other nodes of a topic, as far as we deal with them."""

    __slots__ = (
        "_common", "_duties", "_outbox", "asking", "catching", "contacts", "former", "ipv6",
        "keepalive_at", "lookups", "near", "owed", "retry_at", "retry_delay", "search", "table",
        "to_refresh", "topic", "transactions", "tried",
    )  # fmt: skip

    def __init__(self, common: Common, duties: Duties, topic: TopicNode, ipv6: bool) -> None:
        parameters = common.parameters
        self._common = common
        self._duties = duties
        self._outbox = common.outbox
        self.topic = topic
        self.ipv6 = ipv6
        self.table = RoutingTable(common.id, parameters, common.random, common.outbox.now)
        self.transactions: Transactions[Purpose] = Transactions(
            common.entropy, parameters.most_queries
        )
        self.asking: dict[Peer, int] = {}
        """Whom we asked for its value, and how often, without an answer yet."""
        self.catching = 0
        """How many of these are known to have a newer one."""
        self.contacts: dict[Peer, None] = {}
        """Where to begin, and to begin again."""
        self.former: OrderedDict[Peer, None] = OrderedDict()
        """Entries that stopped to answer, the latest last: when all are gone, they may be back."""
        self.tried = ProvenAddresses(TRIED_LIFETIME, MOST_TRIED)
        """Nodes that we asked because others told of them: not again at once."""
        self.owed: dict[Peer, None] = {}
        """Contacts of which nobody was told yet what became of them."""
        self.lookups: dict[Lookup, bytes] = {}
        """Searches under way, with what they search for."""
        self.to_refresh: list[int] = []
        """Buckets that wait to be looked through."""
        self.search = Search.NOT_BEGUN
        self.retry_at: float | None = None
        self.retry_delay = parameters.join_retry
        self.keepalive_at: float | None = None
        self.near: tuple[int, bytes] = (-1, b"")
        """The nodes nearest to the topic, packed, and the version of the table they are of."""

    # ---- asking

    def ask(
        self, peer: Peer, method: str, arguments: Dict, purpose: Purpose, token: bytes | None = None
    ) -> bool:
        """Send a query; False if too many are on their way."""
        common, outbox = self._common, self._outbox
        deadline = outbox.now + common.parameters.query_timeout
        transaction = self.transactions.begin(peer, method, purpose, deadline)
        if transaction is None:
            common.drops.count("query", "queries_full")
            return False
        arguments[b"id"] = common.id
        if token is None and (entry := self.table.entry(peer)) is not None:
            token = entry.token
        if token is not None:  # shows the peer that our address is ours; others pass it over
            arguments[b"token"] = token
        packet = query_packet(
            transaction, method, arguments, self.topic.target, common.parameters.read_only
        )
        outbox.send(peer, packet, method)
        common.timers.at_latest(self, deadline)
        return True

    def get(self, peer: Peer, purpose: Purpose = PLAIN, token: bytes | None = None) -> bool:
        """Ask for the peer's value, if it is newer than ours."""
        arguments: Dict = {b"target": self.topic.target}
        if self.topic.item is not None:
            # One less asks for the value even if it has the same number.
            arguments[b"seq"] = self.topic.seq - purpose.conditional
        if not self.ask(peer, GET, arguments, purpose, token):
            return False
        self.asking[peer] = self.asking.get(peer, 0) + 1
        if purpose.catching:
            self.catching += 1
        return True

    def ping(self, peer: Peer) -> None:
        """Ask whether the address is the sender's own."""
        self.ask(peer, PING, {}, PLAIN)

    # ---- how it ends

    def answered(self, peer: Peer, answer: Answer, now: float) -> None:
        """An answer came; only if we asked this very peer it is one."""
        common, duties = self._common, self._duties
        pending = self.transactions.finish(peer, answer.transaction)
        if pending is None:
            common.drops.count("answer", "unasked")
            common.toll.charge(peer, prices.UNASKED_ANSWER)
            return
        common.proofs.prove(peer, now)
        version = self.table.version
        entry = self._heard(cast(bytes, answer.values[b"id"]), peer, now)
        if pending.kind == PUT:
            duties.forwarding.acknowledged(self, peer, entry, pending.context)
            if version == self.table.version:
                return
        else:
            if self.owed:
                self.contact_ended(peer, "")
            if pending.kind == GET:
                self._no_longer_asking(pending)
                duties.keepalive.told(self, peer, entry, pending.context, answer.values, now)
            elif pending.kind == FIND:
                duties.joining.found(self, peer, pending.context, answer.values, now)
        self.table_changed(now)
        self.topic.tell_joined()

    def failed(self, peer: Peer, failure: Failure, now: float) -> None:
        """An error came in place of an answer: the peer lives, at least."""
        common = self._common
        pending = self.transactions.finish(peer, failure.transaction)
        if pending is None:
            common.drops.count("answer", "unasked")
            common.toll.charge(peer, prices.UNASKED_ANSWER)
            return
        common.proofs.prove(peer, now)
        if pending.kind == PUT:
            entry = self.table.entry(peer)
            if entry is not None:
                entry.answered_at, entry.failures = now, 0
            self._duties.forwarding.refused(self, peer, entry, pending.context, failure)
        elif failure.code == PROTOCOL:
            self.not_a_member(pending, "unknown_topic", now)
        else:
            self._unanswered(pending, now)
        self.table_changed(now)

    def not_a_member(self, pending: Pending[Purpose], problem: str, now: float) -> None:
        """The peer is none of this topic, or no longer."""
        peer = pending.peer
        if pending.kind == GET:
            self._no_longer_asking(pending)
        self.table.remove(peer, now)
        self.contacts.pop(peer, None)
        if self.owed:
            self.contact_ended(peer, problem)
        self._duties.joining.silent(self, pending, now)
        self.table_changed(now, problem)

    def _unanswered(self, pending: Pending[Purpose], now: float) -> None:
        """No answer, or a useless one."""
        duties = self._duties
        peer = pending.peer
        entry = self.table.entry(peer)
        asked_at = pending.deadline - self._common.parameters.query_timeout
        # What was asked before its latest answer says nothing about how it is now.
        if entry is None or entry.answered_at <= asked_at:
            lost = self.table.failed(peer, now)
            if lost and entry is not None and entry.called_at > asked_at:
                self.get(peer)  # it has called since: it may have been gone and be back
        if pending.kind == PUT:
            duties.forwarding.unanswered(self, peer, pending.context)
            return
        if pending.kind == GET:
            self._no_longer_asking(pending)
            if duties.keepalive.unanswered(self, pending):
                return
        if self.owed:
            self.contact_ended(peer, "no_answer")
        duties.joining.silent(self, pending, now)

    def _no_longer_asking(self, pending: Pending[Purpose]) -> None:
        left = self.asking.get(pending.peer, 1) - 1
        if left:
            self.asking[pending.peer] = left
        else:
            self.asking.pop(pending.peer, None)
        if pending.context.catching:
            self.catching -= 1

    def contact_ended(self, peer: Peer, problem: str) -> None:
        """Tell what became of a contact, if that was not told yet."""
        if peer in self.owed:
            del self.owed[peer]
            self._common.book.settle(peer, self)
            self._outbox.contact_ended(peer, self.topic.target, problem)

    # ---- the table

    def _heard(self, id: bytes, peer: Peer, now: float) -> Entry | None:
        common = self._common
        if common.parameters.enforce_bep42 and not is_valid_id(id, parse_peer(peer)[0]):
            common.drops.count("node", "id_against_bep42")
            return None
        return self.table.heard(id, peer, now)

    def table_changed(self, now: float, reason: str = "no_answer") -> None:
        """Tell who came and who left, and ask those who might take a place."""
        table = self.table
        for entry, joined in table.take_changes():
            if joined:
                self._came(entry, now)
            else:
                failures = self._common.parameters.most_failures
                gone = reason != "no_answer" or entry.failures >= failures
                self._left(entry, reason if gone else "replaced")
        for candidate in table.candidates_to_verify():
            if candidate.peer not in self.asking:
                self.get(candidate.peer)

    def _came(self, entry: Entry, now: float) -> None:
        outbox, topic, peer = self._outbox, self.topic.text, entry.peer
        if self._common.book.count(peer, 1) == 1:
            outbox.emit(trace.PEER_JOINED, peer=peer, protocol="bep50", outbound=True)
        outbox.emit(trace.PEER_SUBSCRIBED, topic, peer=peer)
        outbox.emit(trace.GRAFTED, topic, peer=peer, by="us")
        if entry.token is None and peer not in self.asking:
            self.get(peer)
        self._duties.keepalive.expect(self, now)

    def _left(self, entry: Entry, reason: str) -> None:
        outbox, topic, peer = self._outbox, self.topic.text, entry.peer
        outbox.emit(trace.PRUNED, topic, peer=peer, by="us", reason=reason)
        outbox.emit(trace.PEER_UNSUBSCRIBED, topic, peer=peer)
        former = self.former
        if reason == "no_answer":
            former.pop(peer, None)
            if len(former) >= MOST_FORMER:
                former.popitem(last=False)
            former[peer] = None
        if entry.puts == 0:
            self.topic.acknowledgements.refused(peer, self.topic.seq, 0, "no_answer")
        if self._common.book.count(peer, -1) == 0:
            outbox.emit(trace.PEER_LEFT, peer=peer, reason=reason)

    def nodes_near_topic(self) -> bytes:
        """The nodes nearest to the topic, packed: every answer to ``get`` has them."""
        version, packed = self.near
        if version != self.table.version:
            packed = self.nodes_near(self.topic.target, self._common.parameters.nodes_in_answer)
            self.near = self.table.version, packed
        return packed

    def nodes_near(self, target: bytes, count: int, without: Peer = "") -> bytes:
        """The ``count`` nodes nearest to ``target``, packed, without the one that asks."""
        found = self.table.closest(target, count + 1)
        nodes = [NodeInfo(each.id, each.peer) for each in found if each.peer != without]
        return compact_nodes(nodes[:count])

    # ---- time

    def wake(self, now: float) -> None:
        """Give up on what is overdue, and do what is due."""
        for pending in self.transactions.expired(now):
            self._unanswered(pending, now)
        self.table_changed(now)
        self._duties.joining.due(self, now)
        self._duties.keepalive.due(self, now)
        self.topic.tell_joined()
        refresh = self.table.next_refresh() if self.table.entries else None
        times = (self.transactions.next_deadline(), self.retry_at, self.keepalive_at, refresh)
        due = [each for each in times if each is not None]
        if due:
            self._common.timers.set(self, min(due))

    def leave(self, now: float) -> None:
        """Forget everybody: the topic is left."""
        self.transactions.clear()
        self._common.timers.cancel(self)
        for peer in self.owed:
            self._common.book.settle(peer, self)
        for entry in self.table.entries:
            self._left(entry, "unsubscribed")

    # ---- questions

    @property
    def busy(self) -> bool:
        """Whether the first search is under way and somebody is still to answer."""
        return self.search is Search.UNDER_WAY and bool(self.owed or self.asking or self.lookups)

    @property
    def pending(self) -> int:
        """Entries that lack the newest item and that we wait for, to put it to them."""
        seq = self.topic.seq
        asking = self.asking
        return sum(
            each.seq < seq and (each.puts > 0 or each.peer in asking) for each in self.table.entries
        )

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            **self.table.sizes(),
            "queries": len(self.transactions),
            "asking": len(self.asking),
            "contacts": len(self.contacts),
            "former": len(self.former),
            "tried": len(self.tried),
            "owed": len(self.owed),
            "lookups": len(self.lookups),
            "lookup_nodes": sum(map(len, self.lookups)),
        }
