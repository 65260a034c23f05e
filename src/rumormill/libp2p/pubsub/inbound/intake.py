"""The way in: from a message on the wire to a delivery, or to the reason why not.

In this order, the cheap before the costly: do we want it, does its shape fit the topic's policy, is
it our own, does the topic's guard refuse it (where it has one), can its data be read (where it has
a transform), have we seen it, is it a replay, is it being checked already. Only then comes the
check, which is an effect: the signature, and what validators the user has. Only a genuine message
marks its id as seen, so a forged copy cannot keep the true one out. Then the guard is asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Check, Checked, CheckedMany, Peer, Verdict
from rumormill.core.trace import DUPLICATE, TraceEvent
from rumormill.core.transport import HoldPeer
from rumormill.libp2p.pubsub.guard import UNREADABLE, Refusal
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.pubsub.inbound.checks import PendingCheck, PendingChecks
from rumormill.libp2p.pubsub.inbound.delivering import Delivering
from rumormill.libp2p.pubsub.inbound.last_seen import LastSeenCache
from rumormill.libp2p.pubsub.inbound.prices import DEAR_SIGNATURE
from rumormill.libp2p.pubsub.inbound.recent import RecentMessages
from rumormill.libp2p.pubsub.inbound.replays import REPLAY, AuthorStore, Replays
from rumormill.libp2p.pubsub.inbound.seen import SeenCache
from rumormill.libp2p.pubsub.inbound.unwanted import Unwanted
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.pubsub.topics.message_id import LONGEST_MESSAGE_ID
from rumormill.libp2p.pubsub.topics.peer_filter import NOT_ALLOWED
from rumormill.libp2p.pubsub.topics.rules import RuleBook, Rules
from rumormill.libp2p.pubsub.topics.transforms import DataTransform, open_message
from rumormill.libp2p.wire.message import WireMessage, decode_message
from rumormill.libp2p.wire.signing import violation

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class Intake:
    """Takes the messages of all peers."""

    def __init__(
        self,
        pubsub: Pubsub,
        network: str,
        rules: RuleBook,
        name_of: Callable[[bytes], Peer],
        author_store: AuthorStore | None = None,
    ) -> None:
        parameters = pubsub.parameters
        self._pubsub = pubsub
        self._rules = rules
        self._transforming = rules.transforming
        self._most_topics = parameters.rpc_limits.topics_per_message
        self._own_id = pubsub.author.peer_id
        self._parameters = parameters
        kind = SeenCache if parameters.seen_from == "first" else LastSeenCache
        self.seen = kind(parameters.seen_ttl, parameters.max_seen)
        self._renew = self.seen.renew
        self.replays: Replays | None = None
        if parameters.refuse_replays:
            window, most = parameters.longest_overtaking, parameters.max_authors
            self.replays = Replays(window, most, author_store)
        self.checks = PendingChecks(
            parameters.max_checks, parameters.max_copies, parameters.max_check_bytes
        )
        self.recent = RecentMessages()
        self.deliver = Delivering(pubsub, network, name_of).deliver
        self._peer_checks = parameters.max_checks_per_peer
        self._peer_bytes = parameters.max_check_bytes // 2
        # Looked up here, not for every message.
        self._tell_arrived = pubsub.listeners.arrived
        self._tell_accepted = pubsub.listeners.accepted
        self._tell_duplicate = pubsub.listeners.duplicate
        unwanted = Unwanted(pubsub)
        self._reject, self._ignore, self._drop = unwanted.reject, unwanted.ignore, unwanted.drop
        self._charge = unwanted.charge
        self._listening = pubsub.listening
        self._blacklisted = pubsub.blacklisted.authors
        self._admittance = pubsub.admittance
        self._guard, self._guards = pubsub.guard, pubsub.guard.topics
        self._hold_checks = parameters.hold_checks_per_peer
        self._hold_bytes = parameters.max_check_bytes // 32

    def receive_raw(self, peer: Peer, state: PeerState, raw: bytes, now: float) -> None:
        """A message came from ``peer`` that nobody has taken apart yet: a copy need not be."""
        known = self.recent.find(raw)
        if known is not None and known.id in self.seen.ids and self._still_wanted(known, peer):
            self._on_copy(known, peer, state, now)
        else:
            self.receive(peer, state, decode_message(raw, self._most_topics), now)

    def _still_wanted(self, message: WireMessage, peer: Peer) -> bool:
        """Whether what let a message in before lets it in now: all else is in its bytes."""
        topics, admittance = message.topics, self._admittance
        if topics[0] not in self._listening or message.sender_id in self._blacklisted:
            return False
        return admittance.allows is None or admittance.admits_all(peer, topics)

    def receive(self, peer: Peer, state: PeerState, message: WireMessage, now: float) -> None:
        """A message came from ``peer``."""
        topics = message.topics
        topic = topics[0]
        if topic not in self._listening and self._listening.keys().isdisjoint(topics):
            self._ignore(message, peer, {peer: None}, "not_subscribed", now)
            return
        rules = self._rules.of(topic)
        reason = violation(message, rules.signing, rules.unsigned_authors)
        if len(message.data) > rules.most_received:
            reason = "too_large"
        if reason is None and len(topics) > 1:
            reason = self._unfit(message, rules)
        if reason is not None:
            self._reject(message, peer, {peer: None}, reason, now)
            return
        if message.sender_id == self._own_id:
            self._ignore(message, peer, {peer: None}, "own_message", now)
            return
        if self._blacklisted and message.sender_id in self._blacklisted:
            # No blame for who passes it on: our list is nobody else's.
            self._ignore(message, peer, {peer: None}, "blacklisted_author", now)
            return
        if self._admittance.allows is not None and not self._admittance.admits_all(peer, topics):
            self._ignore(message, peer, {peer: None}, NOT_ALLOWED, now)
            return
        if self._guards:
            refusal = self._guard.refuses(message, now)
            if refusal is not None:
                self._refuse(message, peer, {peer: None}, refusal, now)
                return
        if self._transforming and rules.transform is not None:
            reason = self._open(message, rules.transform, peer)
            if reason is not None:
                self._reject(message, peer, {peer: None}, reason, now)
                return
        try:
            message.id = message_id = rules.message_id(message)
        except Exception:  # whatever the user's own function raises on strange data: a bad id
            message_id = b""
        # What `usable` says, without a call for every message.
        if type(message_id) is not bytes or not 0 < len(message_id) <= LONGEST_MESSAGE_ID:
            message.id = b""
            self._reject(message, peer, {peer: None}, "bad_message_id", now)
        elif message_id in self.seen.ids:
            self._on_copy(message, peer, state, now)
        elif self.replays is not None and self.replays.is_replay(message, now):
            self._ignore(message, peer, {peer: None}, REPLAY, now)
        else:
            self._check(peer, state, message, now)

    def _on_copy(self, message: WireMessage, peer: Peer, state: PeerState, now: float) -> None:
        """Another copy of a message that was seen before."""
        self._on_duplicate(message, peer, state, now)
        if self._renew is not None:
            self._renew(message.id, now)
        for tell in self._tell_duplicate:
            tell(message, peer, now)

    def _open(self, message: WireMessage, transform: DataTransform, peer: Peer) -> str | None:
        """Let the message hold what the application sees; says why if it cannot."""
        reason = open_message(message, transform)
        if reason is not None:
            vain = prices.vain_inflation(len(message.data), transform.max_size)
            self._charge(peer, "messages", vain)
        return reason

    def _unfit(self, message: WireMessage, first: Rules) -> str | None:
        """Why the message fits one of its further topics not, without any cryptography."""
        for topic in message.topics[1:]:
            rules = self._rules.of(topic)
            if len(message.data) > rules.most_received:
                return "too_large"
            if rules.transform != first.transform:
                return "transforms_differ"
            reason = violation(message, rules.signing, rules.unsigned_authors)
            if reason is not None:
                return reason
        return None

    def _check(self, peer: Peer, state: PeerState, message: WireMessage, now: float) -> None:
        """Begin to check a message, unless one with its id is being checked already."""
        checks = self.checks
        if (
            state.checks >= self._peer_checks
            or state.check_bytes >= self._peer_bytes
            or checks.full
        ):
            self._drop(message, peer, {peer: None}, "checks_full", now)
            return
        cost = 0.0
        if message.signature is not None:
            cost = prices.signature(message)
            if cost > DEAR_SIGNATURE and not state.dear_signatures.take(cost, now):
                self._drop(message, peer, {peer: None}, "signatures_too_dear", now)
                return
        copy = "new" if message.id not in checks.by_id else checks.add_copy(message, peer)
        if copy == "new":
            self._begin(checks.begin(message, peer), cost, now)
            if len(self._pubsub.peers) > 1:
                if self._transforming:
                    price = prices.MESSAGE + prices.inflated(message)
                    self._pubsub.toll.arrived(peer, state, now, price)
                else:
                    self._pubsub.toll.arrived(peer, state, now)
        elif copy == "same":
            self._on_duplicate(message, peer, state, now)
            return
        elif copy == "refused":
            self._drop(message, peer, {peer: None}, "copies_full", now)
            return
        state.checks += 1
        state.check_bytes += message.weight
        if not state.held and (
            state.checks >= self._hold_checks or state.check_bytes >= self._hold_bytes
        ):
            state.held = True
            self._pubsub.effects.append(HoldPeer(peer, True))

    def _begin(self, check: PendingCheck, cost: float, now: float) -> None:
        for tell in self._tell_arrived:
            tell(check.message, check.source, now)
        self._pubsub.effects.append(Check(check.token, check.message, check.source, cost))

    # ---- the verdict

    def checked(self, answer: Checked, now: float) -> None:
        """The verdict on a message came."""
        check = self.checks.end(answer.token)
        if check is None:
            return  # its peer left, and everything of it was forgotten
        self._release(check.source, check.message)
        verdict = answer.verdict
        if verdict == Verdict.ACCEPT:
            self._settle(check, now)
            self._accept(check, now)
            return
        message, source, holders = check.message, check.source, check.holders
        if verdict == Verdict.REJECT:
            self._settle(check, now)
            self._reject(message, source, holders, answer.detail or "validator", now)
        elif verdict == Verdict.IGNORE:
            self._settle(check, now)
            self._ignore(message, source, holders, answer.detail or "validator", now)
        else:
            if verdict == Verdict.FORGED:
                self._charge(source, "signatures", prices.signature(message))
                self._reject(message, source, holders, answer.detail or "bad_signature", now)
            else:
                self._drop(message, source, holders, answer.detail or "overloaded", now)
            retry = self.checks.retry(check)
            if retry is not None:
                self._begin(retry, prices.signature(retry.message), now)

    def checked_many(self, many: CheckedMany, now: float) -> None:
        """Several verdicts came at once."""
        for answer in many.answers:
            self.checked(answer, now)

    def _settle(self, check: PendingCheck, now: float) -> None:
        """The message is genuine: copies of it need no check any more."""
        self.remember(check.message, now)
        for peer, copy in check.copies or ():
            if copy.raw == check.message.raw:
                check.holders[peer] = None
            self._release(peer, copy)
            self._trace_duplicate(copy, peer)

    def remember(self, message: WireMessage, now: float) -> None:
        """Mark the message as seen: any further copy is a duplicate."""
        forgotten = self.seen.add(message.id, now)
        if forgotten:
            self._pubsub.emit(trace.DROPPED, what="seen_id", reason="seen_full", count=forgotten)

    def _accept(self, check: PendingCheck, now: float) -> None:
        message, source, holders = check.message, check.source, check.holders
        refusal = None
        if self._guards:
            refusal = self._guard.admit(message, source, now)
            if refusal is not None and refusal is not UNREADABLE:
                self._refuse(message, source, holders, refusal, now)
                return
        try:
            sender = self.deliver(message, source, now, readable=refusal is None)
        except RemoteProtocolError as error:  # accepted without a look at who wrote it
            self._reject(message, source, holders, error.reason, now)
            return
        if self._transforming or self._guards:
            message.close()
        else:
            self.recent.add(message)
        if self.replays is not None:
            self._note_author(self.replays, message, now)
        if len(holders) > 1:
            self._note_brought(holders, now)
        copies: tuple[tuple[Peer, WireMessage], ...] = ()
        if self._tell_duplicate and (check.copies or len(holders) > 1):
            copies = self._copies(check)
        if sender is not None:
            holders[sender] = None
        for tell in self._tell_accepted:
            tell(message, source, holders, now)
        sent = self._pubsub.forwarding.forward(message, source, holders, now)
        state = self._pubsub.peers.get(source)
        if state is not None:  # it may have left while the message was being checked
            state.brought = now
            if sent:
                self._pubsub.toll.sent(source, state, sent, now)
        for peer, copy in copies:
            for tell_copy in self._tell_duplicate:
                tell_copy(copy, peer, now)

    def _note_brought(self, holders: dict[Peer, None], now: float) -> None:
        """Whoever sent it while it was being checked was as quick as one can ask."""
        for peer in holders:
            state = self._pubsub.peers.get(peer)
            if state is not None:
                state.brought = now

    def _note_author(self, replays: Replays, message: WireMessage, now: float) -> None:
        forgotten = replays.delivered(message, now)
        if forgotten:
            self._pubsub.emit(trace.DROPPED, what="author", reason="authors_full", count=forgotten)

    def _copies(self, check: PendingCheck) -> tuple[tuple[Peer, WireMessage], ...]:
        """Who sent a copy while the message was being checked, and which."""
        differing = tuple(check.copies or ())
        others = {check.source, *[peer for peer, _ in differing]}
        return (
            *[(peer, check.message) for peer in check.holders if peer not in others],
            *differing,
        )

    # ---- what is not delivered

    def _on_duplicate(self, message: WireMessage, peer: Peer, state: PeerState, now: float) -> None:
        """Another copy came: its sender is not to blame, but pays for the look at it."""
        pubsub = self._pubsub
        # Made without `emit`: there are several for each message.
        pubsub.effects.append(
            TraceEvent(now, pubsub.node, DUPLICATE, message.topics[0], message.id, peer)
        )
        price = prices.DUPLICATE
        if self._transforming:
            price += prices.inflated(message)
        pubsub.toll.charge(peer, state, "duplicates", price, blame=False)

    def _trace_duplicate(self, message: WireMessage, peer: Peer) -> None:
        self._pubsub.emit(trace.DUPLICATE, message.topics[0], message.id, peer)

    def _refuse(
        self,
        message: WireMessage,
        source: Peer,
        holders: dict[Peer, None],
        refusal: Refusal,
        now: float,
    ) -> None:
        """A guard wants the message not to be passed on."""
        message.close()
        tell = self._reject if refusal.blame else self._ignore
        tell(message, source, holders, refusal.reason, now)

    def _release(self, peer: Peer, message: WireMessage) -> None:
        """One message of the peer less under check; let it send again if it was held back."""
        state = self._pubsub.peers.get(peer)
        if state is None:
            return
        # It may have left and come back since: then the counts began anew.
        state.checks = state.checks - 1 if state.checks else 0
        state.check_bytes = max(0, state.check_bytes - message.weight)
        if (
            state.held
            and state.checks * 2 <= self._hold_checks
            and state.check_bytes * 2 <= self._hold_bytes
        ):
            state.held = False
            self._pubsub.effects.append(HoldPeer(peer, False))
