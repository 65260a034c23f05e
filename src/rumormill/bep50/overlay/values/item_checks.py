"""Items under check: from their arrival to the verdict, and what follows from it.

An item is checked once. Copies that come meanwhile wait for the same verdict and cost nothing; each
of their senders gets its answer then. A put is acknowledged only after the check: whoever hears
that we have the value can rely on it. Everything is bounded, in all and for each sender.
"""

from __future__ import annotations

from rumormill.bep50.guards import prices
from rumormill.bep50.guards.sources import source_of
from rumormill.bep50.overlay.duties import Common
from rumormill.bep50.overlay.topic_node import TopicNode, message_id
from rumormill.bep50.overlay.traffic.replies import Replies
from rumormill.bep50.overlay.values.forwarding import Forwarding
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.krpc import BAD_SIGNATURE, SERVER
from rumormill.core import trace
from rumormill.core.machine import Check, Checked, Peer, Verdict


class ItemCheck:
    """One item under check, and who waits for the verdict."""

    __slots__ = ("culprit", "holders", "item", "restored", "source", "token", "topic", "waiting")

    def __init__(self, token: int, topic: TopicNode, item: Item, source: Peer | None) -> None:
        self.token = token
        self.topic = topic
        self.item = item
        self.source = source
        self.culprit: str | None = None
        """On whose account it is."""
        self.restored = False
        """Whether it is of an earlier run, where it was delivered."""
        self.holders: dict[Peer, None] = {}
        """Who has sent it: none of them needs it from us."""
        self.waiting: list[tuple[Peer, bytes]] = []
        """Puts to be answered, by peer and transaction."""


class ItemChecks:
    """All items under check."""

    __slots__ = (
        "_by_item", "_by_sender", "_by_token", "_drops", "_forwarding", "_next_token", "_outbox",
        "_parameters", "_replies", "_toll",
    )  # fmt: skip

    def __init__(self, common: Common, replies: Replies, forwarding: Forwarding) -> None:
        self._parameters = common.parameters
        self._outbox = common.outbox
        self._drops = common.drops
        self._toll = common.toll
        self._replies = replies
        self._forwarding = forwarding
        self._next_token = 0
        self._by_token: dict[int, ItemCheck] = {}
        self._by_item: dict[Item, ItemCheck] = {}
        self._by_sender: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_token)

    def of_topic(self, topic: TopicNode) -> bool:
        """Whether an item of the topic is under check."""
        return any(check.topic is topic for check in self._by_token.values())

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "checks": len(self._by_token),
            "waiting": sum(len(check.waiting) for check in self._by_token.values()),
        }

    # ---- in

    def put(self, topic: TopicNode, item: Item, peer: Peer, transaction: bytes) -> None:
        """A put brought a newer item; it is answered after the check."""
        check = self._begin(topic, item, peer)
        if check is not None:
            check.waiting.append((peer, transaction))

    def fetched(self, topic: TopicNode, item: Item, peer: Peer, now: float) -> None:
        """The answer to a ``get`` brought a newer item."""
        check = self._begin(topic, item, peer)
        if check is not None and check.source == peer:
            self._outbox.emit(trace.ASKED, topic.text, message_id(topic.target, item), peer)

    def offered(self, topic: TopicNode, item: Item, restored: bool = False) -> None:
        """A newer item was found outside the overlay, or in the state of an earlier run."""
        check = self._begin(topic, item, None)
        if check is not None:
            check.restored = restored

    def _begin(self, topic: TopicNode, item: Item, peer: Peer | None) -> ItemCheck | None:
        parameters = self._parameters
        check = self._by_item.get(item)
        if check is not None:
            if len(check.waiting) >= parameters.most_copies:
                self._drops.count("put", "copies_full")
                return None
        else:
            culprit = None if peer is None else self._culprit(topic, peer)
            if peer is not None and culprit is not None and not self._may_check(culprit):
                self._toll.charge(peer, prices.REFUSED_PUT, proven=True)
                return None
            check = ItemCheck(self._next_token, topic, item, peer)
            check.culprit = culprit
            self._next_token += 1
            self._by_token[check.token] = self._by_item[item] = check
            self._outbox.effects.append(Check(check.token, item, peer))
        if peer is not None:
            check.holders[peer] = None
        return check

    def _may_check(self, culprit: str) -> bool:
        """Whether there is room for one more item, and for one of this sender."""
        most = self._parameters.most_checks
        count = self._by_sender.get(culprit, 0)
        if len(self._by_token) >= most or count >= max(1, most // 2):
            self._drops.count("put", "checks_full")
            return False
        self._by_sender[culprit] = count + 1
        return True

    # ---- the verdict

    def checked(self, answer: Checked, now: float) -> TopicNode | None:
        """The verdict on an item came; returns its topic, None if that was left."""
        check = self._by_token.pop(answer.token, None)
        if check is None:
            return None
        self._forget(check)
        verdict = answer.verdict
        if verdict == Verdict.ACCEPT:
            self._accept(check, now)
        elif verdict == Verdict.OVERLOADED:
            self._drops.count("put", answer.detail or "overloaded")
        elif verdict == Verdict.IGNORE:
            self._unwanted(check, trace.IGNORED, answer.detail or "validator")
            self._acknowledge(check)
        elif verdict == Verdict.REJECT:
            self._unwanted(check, trace.REJECTED, answer.detail or "validator")
            for peer, transaction in check.waiting:
                self._replies.fail(peer, transaction, check.topic.target, SERVER, "not wanted")
        else:
            self._forged(check, answer.detail or "bad_signature", now)
        if not self._by_token:
            check.topic.tell_joined()
        return check.topic

    def _forget(self, check: ItemCheck) -> None:
        del self._by_item[check.item]
        culprit = check.culprit
        if culprit is not None:
            left = self._by_sender.get(culprit, 1) - 1
            if left:
                self._by_sender[culprit] = left
            else:
                self._by_sender.pop(culprit, None)

    def _accept(self, check: ItemCheck, now: float) -> None:
        topic, item, source = check.topic, check.item, check.source
        if item.seq <= topic.seq:  # another was faster
            if item != topic.item:
                self._outbox.emit(
                    trace.IGNORED, topic.text, message_id(topic.target, item), source,
                    reason="overtaken",
                )  # fmt: skip
            self._acknowledge(check)
            return
        topic.hold(item, source)
        if check.restored:
            topic.delivered_seq = item.seq
        self._acknowledge(check)
        topic.deliver(now)
        if len(check.holders) > 1:
            for peer in check.holders:
                if peer != source:
                    self._outbox.emit(trace.DUPLICATE, topic.text, topic.message_id, peer)
        self._forwarding.spread(topic, check.holders)

    def _acknowledge(self, check: ItemCheck) -> None:
        for peer, transaction in check.waiting:
            self._replies.acknowledge(peer, transaction, check.topic.target)

    def _unwanted(self, check: ItemCheck, event: str, reason: str) -> None:
        """Genuine, but a validator of the user does not want it: nor its copies, then."""
        topic, item = check.topic, check.item
        if topic.refused is None or topic.refused.seq < item.seq:
            topic.refused = item
        for peer in check.holders:
            self._toll.charge(peer, prices.UNWANTED_ITEM, proven=True)
        self._outbox.emit(
            event, topic.text, message_id(topic.target, item), check.source, reason=reason
        )

    def _forged(self, check: ItemCheck, reason: str, now: float) -> None:
        topic = check.topic
        for peer in check.holders:
            self._toll.charge(peer, prices.FORGED_ITEM, proven=True)
            self._outbox.emit(
                trace.REJECTED, topic.text, message_id(topic.target, check.item), peer,
                reason=reason,
            )  # fmt: skip
        for peer, transaction in check.waiting:
            self._replies.fail(peer, transaction, topic.target, BAD_SIGNATURE, "bad signature")

    def leave(self, topic: TopicNode) -> None:
        """The topic is left: nobody waits for its verdicts any more."""
        for check in [each for each in self._by_token.values() if each.topic is topic]:
            del self._by_token[check.token]
            self._forget(check)

    def _culprit(self, topic: TopicNode, peer: Peer) -> str:
        """A neighbour answers for itself; of others all that share an IP address do."""
        if topic.entry(peer) is not None:
            return peer
        return source_of(peer)
