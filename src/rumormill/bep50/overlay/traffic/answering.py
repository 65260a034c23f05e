"""Answering queries: ping, find_node, get and put, each in its topic.

The order of the questions makes floods cheap: is the topic known, do the lengths fit, is the token
ours, is it the topic's item, is it newer? Only then comes the check of the signature.

A datagram's source address can be forged, so an answer to an address that has not proven itself is
small: no value, two nodes. It has when it answered a query of ours or brought a token of ours. We
ping such an address, for the sake of those who bring no token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from rumormill.bep50.guards import prices
from rumormill.bep50.guards.tokens import Tokens
from rumormill.bep50.overlay.duties import Common
from rumormill.bep50.overlay.overlay import FIND, GET, PING, PUT, Overlay
from rumormill.bep50.overlay.topic_node import TopicNode, message_id
from rumormill.bep50.overlay.traffic.replies import Replies
from rumormill.bep50.overlay.values.item_checks import ItemChecks
from rumormill.bep50.wire.addresses import ID_SIZE
from rumormill.bep50.wire.bencode import Dict, decode
from rumormill.bep50.wire.items import LARGEST_SEQ, Item, item_from_put
from rumormill.bep50.wire.krpc import (
    CAS_MISMATCH,
    METHOD_UNKNOWN,
    PROTOCOL,
    SEQ_TOO_LOW,
    BadArgument,
    BadQuery,
    Query,
    bytes_of,
    int_of,
)
from rumormill.core import trace
from rumormill.core.limits import Allowance
from rumormill.core.machine import Peer

LARGE_VALUE = 500
"""Bytes of a value beside which an answer has only a few nodes: it is to fit into one frame."""


class Guards(NamedTuple):
    """What keeps the price of a query with who asks."""

    tokens: Tokens
    pings: Allowance
    """Pings to strangers, in all."""


class Answering:
    """Answers the queries of all topics."""

    __slots__ = (
        "_book", "_checks", "_drops", "_guards", "_id", "_outbox", "_own", "_parameters", "_proofs",
        "_replies", "_toll", "_topics",
    )  # fmt: skip

    def __init__(
        self,
        common: Common,
        guards: Guards,
        topics: Mapping[bytes, TopicNode],
        replies: Replies,
        checks: ItemChecks,
    ) -> None:
        self._id = common.id
        self._parameters = common.parameters
        self._outbox = common.outbox
        self._drops = common.drops
        self._book = common.book
        self._proofs = common.proofs
        self._toll = common.toll
        self._guards = guards
        self._topics = topics
        self._replies = replies
        self._checks = checks
        self._own: Dict = {b"id": common.id}

    # ---- queries

    def query(self, peer: Peer, query: Query, now: float) -> None:
        """Answer a query, with an error if need be, or not at all."""
        if query.topic is None:
            self._unwanted(peer, "no_topic")  # we are no node of the main DHT
            return
        if self._parameters.read_only:
            self._unwanted(peer, "read_only")
            return
        id = cast(bytes, query.arguments[b"id"])
        if id == self._id:
            self._unwanted(peer, "own_id")
            return
        topic = self._topics.get(query.topic)
        if topic is not None and query.method == PUT:
            self._put(topic, peer, id, query, now)
            return
        if topic is None:
            self._drops.count("query", "unknown_topic")
            self._toll.charge(peer, prices.UNKNOWN_TOPIC)
            self._replies.fail(peer, query.transaction, query.topic, PROTOCOL, "unknown topic")
            return
        try:
            self._look_up(topic, peer, id, query, now)
        except BadArgument as error:
            self._replies.fail(peer, query.transaction, topic.target, error.code, error.text)

    def bad_query(self, peer: Peer, error: BadQuery, now: float) -> None:
        """Say what is wrong with a query whose form is wrong."""
        self._toll.charge(peer, prices.BAD_QUERY)
        if self._parameters.read_only:
            self._drops.count("query", "read_only")
            return
        self._drops.count("query", error.reason)
        self._replies.fail(peer, error.transaction, error.topic, error.code, error.text)

    def _unwanted(self, peer: Peer, reason: str) -> None:
        """Leave a query without an answer."""
        self._drops.count("query", reason)
        self._toll.charge(peer, prices.UNWANTED_QUERY)

    def _look_up(self, topic: TopicNode, peer: Peer, id: bytes, query: Query, now: float) -> None:
        """Ping, find_node and get."""
        overlay = topic.overlay(peer)
        arguments, method = query.arguments, query.method
        shown = self._shows_token(arguments, peer, now)
        self._toll.charge(peer, prices.ANSWER, proven=shown)
        entry = overlay.table.entry(peer)
        known = entry is not None
        if entry is not None:
            entry.called_at = now
        proven = known or shown or self._proofs.proven(peer, now)
        if method == PING:
            values = dict(self._own)
        elif method == FIND:
            values = self._find_node(topic, overlay, peer, arguments, proven)
        elif method == GET:
            values = self._get(topic, overlay, peer, arguments, proven, shown, now)
        else:
            raise BadArgument(METHOD_UNKNOWN, "method unknown")
        if not known and not query.read_only:
            # Before the answer: who gets both finds the question first.
            self._meet(overlay, peer, id, proven, shown, now)
        elif shown and method == GET:
            self._note_seq(overlay, peer, arguments)
        self._replies.answer(peer, query.transaction, topic.target, values)

    def _shows_token(self, arguments: Dict, peer: Peer, now: float) -> bool:
        """Whether the sender brought a token of ours: then the address is its own."""
        token = arguments.get(b"token")
        if type(token) is not bytes or not self._guards.tokens.valid(token, peer, now):
            return False
        self._proofs.prove(peer, now)
        return True

    def _note_seq(self, overlay: Overlay, peer: Peer, arguments: Dict) -> None:
        """A neighbour that asks with a number has that value; so it needs no put of it."""
        entry = overlay.table.entry(peer)
        seq = arguments.get(b"seq")
        if entry is not None and type(seq) is int and entry.seq < seq <= overlay.topic.seq:
            entry.seq = seq

    def _meet(
        self, overlay: Overlay, peer: Peer, id: bytes, proven: bool, shown: bool, now: float
    ) -> None:
        """A stranger asked: see whether it answers, too. Then it may have a place in the table.

        Once a minute only, or whoever forges its address could have us ask it again and again; but
        who showed a token is at its own address, and may be one that was gone and is back.
        """
        if peer in overlay.asking or peer in self._book.own:
            return
        if not shown and overlay.tried.proven(peer, now):
            return
        if proven:
            if overlay.table.wants(id, peer):
                overlay.tried.prove(peer, now)
                overlay.get(peer)
        elif self._guards.pings.take(1.0, now):
            overlay.tried.prove(peer, now)
            overlay.ping(peer)
        else:
            self._drops.count("ping", "rate_limited")

    # ---- what they are answered

    def _find_node(
        self, topic: TopicNode, overlay: Overlay, peer: Peer, arguments: Dict, proven: bool
    ) -> Dict:
        target = bytes_of(arguments, b"target", ID_SIZE)
        parameters = self._parameters
        count = parameters.nodes_in_answer if proven else parameters.unproven_nodes
        values = dict(self._own)
        self._add_nodes(values, topic, overlay, arguments, target, count, peer)
        return values

    def _get(
        self,
        topic: TopicNode,
        overlay: Overlay,
        peer: Peer,
        arguments: Dict,
        proven: bool,
        shown: bool,
        now: float,
    ) -> Dict:
        if bytes_of(arguments, b"target", ID_SIZE) != topic.target:
            raise BadArgument(PROTOCOL, "target is not the topic")
        known_seq = int_of(arguments, b"seq", 0, LARGEST_SEQ) if b"seq" in arguments else -1
        parameters = self._parameters
        values = dict(self._own)
        values[b"token"] = self._guards.tokens.token(peer, now)
        count = parameters.nodes_in_answer if proven else parameters.unproven_nodes
        item = topic.item
        if item is not None:
            values[b"seq"] = item.seq
            if item.seq > known_seq and proven:
                if not shown:  # it is dear: others may ask in its name
                    self._toll.charge(peer, prices.VALUE)
                values[b"k"], values[b"sig"] = item.public_key, item.signature
                values[b"v"] = decode(item.value)
                if len(item.value) > LARGE_VALUE:
                    count = min(count, parameters.unproven_nodes)
        if count == parameters.nodes_in_answer and b"want" not in arguments:
            values[b"nodes6" if overlay.ipv6 else b"nodes"] = overlay.nodes_near_topic()
        else:
            self._add_nodes(values, topic, overlay, arguments, topic.target, count, peer)
        return values

    def _add_nodes(
        self,
        values: Dict,
        topic: TopicNode,
        overlay: Overlay,
        arguments: Dict,
        target: bytes,
        count: int,
        peer: Peer,
    ) -> None:
        """Nodes of the sender's own family, or of those that it wants (BEP 32)."""
        want = arguments.get(b"want")
        if type(want) is not list:
            values[b"nodes6" if overlay.ipv6 else b"nodes"] = overlay.nodes_near(
                target, count, peer
            )
            return
        for each in topic.overlays:
            if (b"n6" if each.ipv6 else b"n4") in want:
                values[b"nodes6" if each.ipv6 else b"nodes"] = each.nodes_near(target, count, peer)

    # ---- put

    def _put(self, topic: TopicNode, peer: Peer, id: bytes, query: Query, now: float) -> None:
        arguments = query.arguments
        proven = False
        try:
            item = item_from_put(arguments)
            token = arguments.get(b"token")
            if type(token) is not bytes or not self._guards.tokens.valid(token, peer, now):
                raise _refusal("bad_token", "bad token")
            proven = True
            if item.public_key != topic.public_key or item.salt != topic.salt:
                raise _refusal("wrong_item", "not the item of this topic")
            self._proofs.prove(peer, now)
            if item.seq == topic.seq and topic.item is not None and item.value != topic.item.value:
                self._check_cas(topic, arguments)
            if item.seq <= topic.seq or item == topic.refused:
                neighbour = topic.entry(peer) is not None
                price = prices.COPY if neighbour else prices.REFUSED_PUT
                self._toll.charge(peer, price, proven=True)
                self._old(topic, item, peer, query.transaction)
            else:
                self._check_cas(topic, arguments)
                self._checks.put(topic, item, peer, query.transaction)
        except BadArgument as error:
            self._toll.charge(peer, prices.REFUSED_PUT, proven=proven)
            self._outbox.emit(trace.REJECTED, topic.text, peer=peer, reason=error.reason)
            self._replies.fail(peer, query.transaction, topic.target, error.code, error.text)
            return
        if not query.read_only and topic.entry(peer) is None:
            self._meet(topic.overlay(peer), peer, id, True, True, now)

    def _check_cas(self, topic: TopicNode, arguments: Dict) -> None:
        """A publisher may say which value it replaces; nobody passes that on."""
        if b"cas" not in arguments or topic.item is None:
            return
        if int_of(arguments, b"cas", 0, LARGEST_SEQ) != topic.seq:
            raise BadArgument(CAS_MISMATCH, f"the newest value has seq {topic.seq}")

    def _old(self, topic: TopicNode, item: Item, peer: Peer, transaction: bytes) -> None:
        """A copy of what we have, or something older: no signature is looked at."""
        if item.seq < topic.seq:
            self._outbox.emit(
                trace.IGNORED, topic.text, message_id(topic.target, item), peer, reason="old_seq"
            )
            self._replies.fail(
                peer,
                transaction,
                topic.target,
                SEQ_TOO_LOW,
                f"the newest value has seq {topic.seq}",
            )
            return
        if topic.item is not None and item.value == topic.item.value:
            self._outbox.emit(trace.DUPLICATE, topic.text, topic.message_id, peer)
            entry = topic.entry(peer)
            if entry is not None and entry.seq < item.seq:
                entry.seq = item.seq
        else:
            self._outbox.emit(
                trace.IGNORED, topic.text, message_id(topic.target, item), peer, reason="equal_seq"
            )
        self._replies.acknowledge(peer, transaction, topic.target)


def _refusal(reason: str, text: str) -> BadArgument:
    """Error 203 with a name of its own in the trace."""
    error = BadArgument(PROTOCOL, text)
    error.reason = reason
    return error
