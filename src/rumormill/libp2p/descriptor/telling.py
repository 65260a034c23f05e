"""When a node says something on a topic's control topic: news at once, the rest seldom.

All that a node knows of trust it tells when a peer comes, when it hears from one that knows
something else (a newcomer says that it knows nothing), and otherwise once in a while. Who hears
another say the same keeps quiet. Pauses grow with each telling that brought nothing new, as in
Trickle (RFC 6206): two nodes that never come to agree, for want of room, do not talk for ever.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from rumormill.core.errors import LocalProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.trace import DROPPED
from rumormill.libp2p.descriptor.control_message import (
    MOST_ASKS,
    MOST_EDGES,
    Control,
    KeyAsk,
    encode_control,
    known_digest,
)
from rumormill.libp2p.descriptor.edges import TrustEdge
from rumormill.libp2p.descriptor.private_topic import PrivateTopic
from rumormill.libp2p.pubsub.guard import GuardServices

SHORTEST_PAUSE: Final = 2.0
"""Seconds between two tellings, at least."""
LONGEST_PAUSE: Final = 60.0
"""Seconds after which everything is told again though nobody asked."""
JITTER: Final = 0.5
"""Seconds at most before an answer, so that not all answer at once."""
ASK_AFTER, ASK_AGAIN = 0.3, 2.0
"""Seconds: how long a key may be late before it is asked for, and until it is asked for again."""

TELL, TELL_KEYS, ASK = "tell", "tell_keys", "ask"


class Telling:
    """Tells others what a node knows of one topic."""

    def __init__(
        self,
        topic: PrivateTopic,
        pubsub: GuardServices,
        random: random.Random,
        alarm: Alarm,
        now: float,
    ) -> None:
        """``alarm`` is told when something is to be said."""
        self._topic = topic
        self._pubsub = pubsub
        self._random = random
        self._timers = Timers[str](alarm)
        self._pause = SHORTEST_PAUSE
        self._told_at = self._keys_told_at = -LONGEST_PAUSE
        self._asking = False
        if topic.has_control:
            self._timers.set(TELL, now + self._soon())

    def next_wake(self) -> float | None:
        """When something is to be told."""
        return self._timers.next_wake()

    def wake(self, now: float) -> None:
        """Tell what is due."""
        for what in self._timers.due(now):
            if what == TELL:
                self._tell(now)
            elif what == TELL_KEYS:
                self.tell_keys(now)
            else:
                self._ask(now)

    # ---- trust

    def news(self, edges: Sequence[TrustEdge], now: float) -> None:
        """Tell of new edges at once."""
        for start in range(0, len(edges), MOST_EDGES):
            self._publish(Control(tuple(edges[start : start + MOST_EDGES])), now)

    def peer_came(self, now: float) -> None:
        """A peer listens to the control topic from now on: soon tell what we know."""
        self._tell_soon(now)

    def learned(self, now: float) -> None:
        """Something was new: there may be more."""
        self._pause = SHORTEST_PAUSE

    def heard(self, known: bytes, now: float) -> None:
        """Another told what it knows."""
        if known == known_digest(self._topic.trust.counting()):
            self._timers.set(TELL, now + LONGEST_PAUSE * (1 + self._random.random()))
        else:
            self._tell_soon(now)

    def _tell_soon(self, now: float) -> None:
        self._timers.at_latest(TELL, max(now, self._told_at + self._pause) + self._soon())

    def _tell(self, now: float) -> None:
        """All edges that count; what is known of them all stands in the last message."""
        edges = self._topic.trust.counting()
        known = known_digest(edges)
        rest = len(edges) % MOST_EDGES or min(len(edges), MOST_EDGES)
        self.news(edges[: len(edges) - rest], now)
        self._publish(Control(edges[len(edges) - rest :], known), now)
        if not self._topic.epoch_is_over(now):
            self.tell_keys(now)
        self._told_at = now
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._timers.set(TELL, now + LONGEST_PAUSE * (1 + self._random.random()))

    # ---- keys

    def tell_keys(self, now: float) -> None:
        """Tell the key of our epoch."""
        epochs = self._topic.epochs
        if epochs is not None and epochs.own is not None:
            self._keys_told_at = now
            self._publish(Control(keys=epochs.own.announced), now)

    def asked(self, ask: KeyAsk, now: float) -> None:
        """A reader lacks a key of ours."""
        epochs = self._topic.epochs
        if epochs is None or ask.author != self._topic.us:
            return
        if epochs.begin_above(ask.newest, now):
            self._topic.renew_epoch(now)
        if epochs.own is not None:
            self._timers.at_latest(TELL_KEYS, max(now, self._keys_told_at + 1.0) + self._soon() / 4)

    def key_missing(self, now: float) -> None:
        """A message cannot be read for want of a key: if that does not come by itself, ask."""
        if self._topic.epochs is not None and not self._asking:
            self._asking = True
            self._timers.set(ASK, now + ASK_AFTER)

    def _ask(self, now: float) -> None:
        topic = self._topic
        epochs, keys = topic.epochs, topic.waiting.keys()
        self._asking = bool(keys)
        if epochs is None or not keys or not topic.trust.trusts(topic.us, now):
            self._asking = False
            return
        asks = [KeyAsk(author, key, epochs.newest(author)) for author, key in keys[:MOST_ASKS]]
        self._publish(Control(asks=tuple(asks)), now)
        self._timers.set(ASK, now + ASK_AGAIN)

    # ---- both

    def _soon(self) -> float:
        return JITTER * self._random.random()

    def _publish(self, control: Control, now: float) -> None:
        """Say it; what cannot be said under this node's settings is counted."""
        try:
            self._pubsub.publish_quietly(self._topic.control, encode_control(control), now)
        except LocalProtocolError as error:
            self._pubsub.emit(
                DROPPED, self._topic.control, what="trust_message", reason="not_published",
                detail=str(error), count=1,
            )  # fmt: skip
