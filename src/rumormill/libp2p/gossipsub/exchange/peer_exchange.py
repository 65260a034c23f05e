"""Peer exchange: whoever is pruned is told who else is there, and may turn to them instead.

What is named to us is hearsay. It is taken only of peers that stand well enough, while the topic
lacks peers, so much at a time; and a signed record counts only if the peer that it names signed it.
A name without a record is of use if we met that peer before: rust sends no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.effects import RouterInput
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.exchange.leads import Lead, Leads
from rumormill.libp2p.gossipsub.features import EXCHANGE, MESH
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.inbound.prices import signature_by
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.stack.peer_record import CertifiedRecord, certify, read_envelope_of
from rumormill.libp2p.stack.reach import Reach, reach_of, reach_of_text
from rumormill.libp2p.wire.gossip import ExchangedPeer

MOST_PRUNES = 8
"""PRUNEs to one peer between two heartbeats that name others. A peer may GRAFT thousands of topics
at once, and must neither learn all our peers by that nor have us send a megabyte."""

MOST_RECORD_BYTES = 8 * 1024
"""Of records in one PRUNE; rust reads 16 KiB of control. Who is beyond it goes without one."""

MOST_ADDRESSES = 8
"""Addresses of one peer that are dialed."""


ExchangeFilter: TypeAlias = Callable[[Peer, tuple[str, ...]], bool]
"""Whether a peer may be named to others; with the addresses of its signed record, if we have one.
What the record says cannot be changed, as the peer has signed it."""


@dataclass(frozen=True, slots=True)
class FilterExchange(RouterInput):
    """Let ``names`` say which peers may be named to others; all of them, if it is None."""

    names: ExchangeFilter | None


class PeerExchange(HeartbeatPart):
    """Chooses whom to name in a PRUNE, and dials whom others name in theirs."""

    def __init__(
        self,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        standing: Standing,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._candidates = candidates
        self._standing = standing
        self._connected: dict[Peer, Reach] = {}
        """Who is there, and how near."""
        self._told: dict[Peer, int] = {}
        """PRUNEs with peers that each got since the last heartbeat."""
        self._heard: dict[Peer, int] = {}
        """Peers that each named since the last heartbeat."""
        self._names: ExchangeFilter | None = None
        pubsub.on_input(FilterExchange, self._filter)
        self._leads = Leads(pubsub, parameters.exchange_dials, self._enough)

    # ---- naming others

    def named_to(self, peer: Peer, topic: str) -> tuple[ExchangedPeer, ...]:
        """Whom a PRUNE to the peer names: nobody, unless it understands that and stands well."""
        if not (
            self._parameters.peer_exchange
            and self._parameters.prune_peers
            and self._candidates.can(peer, EXCHANGE)
            and self._standing.of(peer) >= 0
        ):
            return ()
        if self._told.get(peer, 0) >= MOST_PRUNES:
            self._ignore(topic, peer, "exchange_asked_too_often", 1)
            return ()
        peers = self._chosen(peer, topic)
        if peers:
            self._told[peer] = self._told.get(peer, 0) + 1
            records = sum(1 for each in peers if each.record)
            self._pubsub.emit(
                trace.EXCHANGE_SENT, topic, peer=peer, peers=len(peers), records=records
            )
        return peers

    def _chosen(self, peer: Peer, topic: str) -> tuple[ExchangedPeer, ...]:
        """Some of the topic's peers at random, none of them of bad standing."""
        standing = self._standing.of
        good = [
            each
            for each in self._candidates.of(topic, MESH)
            if each != peer and standing(each) >= 0
        ]
        most = self._parameters.prune_peers
        if self._names is None:
            chosen = self._pubsub.random.sample(good, min(len(good), most))
        else:
            chosen = self._candidates.draw_of(good, most, lambda each: self._may_name(each, topic))
        room = MOST_RECORD_BYTES
        peers: list[ExchangedPeer] = []
        for each in chosen:
            record = self._record_to_pass_on(each)
            if len(record) > room:
                record = b""
            room -= len(record)
            peers.append(ExchangedPeer(self._pubsub.id_of(each), record))
        return tuple(peers)

    def _filter(self, command: FilterExchange, now: float) -> None:
        self._names = command.names

    def _may_name(self, peer: Peer, topic: str) -> bool:
        """What the application says; not, if it cannot."""
        record = self._pubsub.address_book.get(peer)
        addresses = () if record is None else tuple(map(str, record.addresses))
        try:
            named = self._names is None or bool(self._names(peer, addresses))
        except Exception:
            self._ignore(topic, peer, "exchange_filter_failed", 1)
            return False
        if not named:
            self._ignore(topic, peer, "exchange_withheld", 1)
        return named

    def _record_to_pass_on(self, peer: Peer) -> bytes:
        record = self._pubsub.address_book.get(peer)
        if record is None:
            return b""
        if self._parameters.exchange_only_public and not any(
            reach_of(each) is Reach.PUBLIC for each in record.addresses
        ):
            return b""
        return record.raw

    # ---- what others name

    def named_by(
        self, peer: Peer, topic: str, named: tuple[ExchangedPeer, ...], now: float
    ) -> None:
        """A PRUNE of the peer named others: dial them, if there is reason to."""
        reason = self._reason_against(peer, topic)
        if reason:
            self._ignore(topic, peer, reason, len(named))
            return
        heard = self._heard.get(peer, 0)
        room = self._parameters.prune_peers - heard
        if len(named) > room:
            self._ignore(topic, peer, "exchange_too_many", len(named) - room)
            # Which of them is chance, as in go: the first ones may be there to be first.
            named = tuple(self._pubsub.random.sample(named, room))
        if named:
            self._heard[peer] = heard + len(named)
            self._take(peer, topic, named)
            self._leads.dial(now)

    def _reason_against(self, peer: Peer, topic: str) -> str:
        if not self._parameters.peer_exchange:
            return "exchange_off"
        if not self._pubsub.joined(topic):
            return "exchange_unknown_topic"
        if self._standing.of(peer) < self._standing.thresholds.accept_exchange:
            return "exchange_low_score"
        return "exchange_enough_peers" if self._enough(topic) else ""

    def _enough(self, topic: str) -> bool:
        """Whether the topic has as many peers as a mesh can hold: then more are of no use."""
        return len(self._candidates.of(topic, MESH)) >= self._parameters.D_high

    def _take(self, peer: Peer, topic: str, named: tuple[ExchangedPeer, ...]) -> None:
        known = usable = 0
        refused: Counter[str] = Counter()
        rejected: Counter[str] = Counter()
        for each in named:
            try:
                name = self._pubsub.name_of(each.peer_id)
                if self._is_known(name):
                    known += 1
                    continue
                record = self._record_of(peer, name, each)
            except RemoteProtocolError as error:
                rejected[error.reason] += 1
                continue
            addresses = () if record is None else self._dialable(record, peer)
            if addresses:
                usable += 1
                self._leads.add(name, Lead(topic, peer, addresses))
            else:
                refused["exchange_unknown_peer" if record is None else "exchange_no_address"] += 1
        self._pubsub.emit(
            trace.EXCHANGE_RECEIVED, topic, peer=peer, peers=len(named), known=known, usable=usable
        )
        for reason, count in refused.items():
            self._ignore(topic, peer, reason, count)
        if rejected:
            self._reject(topic, peer, rejected)

    def _is_known(self, peer: Peer) -> bool:
        """Whether the peer is there already, or about to be, or ourselves."""
        return peer in self._connected or peer in self._leads or peer == self._pubsub.node

    def _record_of(self, source: Peer, name: Peer, named: ExchangedPeer) -> CertifiedRecord | None:
        """The newest record of a peer, of what was sent and what we have; None if there is none.

        :class:`RemoteProtocolError` if what was sent is not by the peer that it is about.
        """
        ours = self._pubsub.address_book.get(name)
        if not named.record or (ours is not None and ours.raw == named.record):
            return ours
        envelope, record = read_envelope_of(named.record, named.peer_id)
        self._pubsub.charge(source, "records", signature_by(envelope.key))
        sent = certify(envelope, record, named.record)
        return sent if ours is None or sent.sequence > ours.sequence else ours

    def _dialable(self, record: CertifiedRecord, source: Peer) -> tuple[str, ...]:
        """The addresses of a record that we may dial on the word of ``source``.

        Loopback is the machine of whoever says it: ours only if ``source`` is here, too.
        """
        allowed = {Reach.PUBLIC}
        if not self._parameters.exchange_only_public:
            allowed.add(Reach.PRIVATE)
            if self._connected.get(source) is Reach.LOOPBACK:
                allowed.add(Reach.LOOPBACK)
        found = [str(each) for each in record.addresses if reach_of(each) in allowed]
        return tuple(found[:MOST_ADDRESSES])

    def _reject(self, topic: str, peer: Peer, reasons: Counter[str]) -> None:
        """Honest peers pass on what they have checked. Once for the PRUNE: it is no capital crime,
        as the peer may only be careless.
        """
        for reason, count in reasons.items():
            self._pubsub.emit(
                trace.REJECTED, topic, peer=peer, reason=f"exchange_{reason}", count=count
            )
        self._standing.penalise(peer, "bad_exchange")

    def _ignore(self, topic: str, peer: Peer, reason: str, count: int) -> None:
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason=reason, count=count)

    # ---- what happens

    def heartbeat(self, now: float) -> None:
        """New budgets; dial some of those that wait."""
        self._told.clear()
        self._heard.clear()
        self._leads.heartbeat(now)

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """A peer is there; perhaps it was named to us."""
        self._connected[joined.peer] = reach_of_text(joined.address)
        self._leads.arrived(joined.peer)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone. Its budgets stay: it may be back before the next heartbeat."""
        self._connected.pop(peer, None)

    def sizes(self) -> dict[str, int]:
        """How many peers wait to be dialed, or were; and how many spend a budget."""
        return {**self._leads.sizes(), "exchange_budgets": len(self._told) + len(self._heard)}
