"""The guard of a control topic: takes trust edges, sealed keys and questions, and passes on news.

What can be wrong without any secret (a message that is none, an edge whose signature is bad) is
rejected, and who sent it pays. What brings something new is passed on, whoever wrote it, for edges
prove themselves. What does not is passed on if a trusted peer wrote it, and not too often: others
may lack what we have. All else ends here.
"""

from __future__ import annotations

from typing import Final

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance, Allowances
from rumormill.core.machine import Peer
from rumormill.libp2p.descriptor.control_message import (
    LARGEST_CONTROL,
    EpochKey,
    decode_control,
)
from rumormill.libp2p.descriptor.descriptor import AuthMode
from rumormill.libp2p.descriptor.edges import BAD as BAD_EDGE
from rumormill.libp2p.descriptor.edges import TrustEdge
from rumormill.libp2p.descriptor.events import EDGE_REFUSED, KEY_LEARNED, KEY_REFUSED
from rumormill.libp2p.descriptor.private_topic import PrivateTopic
from rumormill.libp2p.descriptor.telling import Telling
from rumormill.libp2p.pubsub.guard import GuardServices, Refusal, TopicGuard
from rumormill.libp2p.wire.message import WireMessage

STRANGERS: Final = (50.0, 512.0)
"""Edges a second, and at once, of issuers whom nobody trusts: their signatures are verified."""
TRUSTED: Final = (10.0, 256.0)
"""The same for each trusted issuer."""
WORDS: Final = (2.0, 40.0)
"""Messages a second, and at once, of each trusted author that bring nothing new."""
MOST_ACCOUNTS: Final = 1024
VERIFY: Final = 60.0
"""Microseconds of a signature."""

TOO_LARGE: Final = Refusal("bad_trust_message")
NO_NEWS: Final = Refusal("no_news", blame=False)
FLOOD: Final = Refusal("trust_flood", blame=False)


class ControlGuard(TopicGuard):
    """Guards the control topic of a topic."""

    def __init__(self, topic: PrivateTopic, pubsub: GuardServices, telling: Telling) -> None:
        self._topic = topic
        self._pubsub = pubsub
        self._telling = telling
        self._unseal = getattr(pubsub.author, "unseal", None)
        self._strangers = Allowance(*STRANGERS)
        self._issuers = Allowances[bytes](*TRUSTED, MOST_ACCOUNTS)
        self._authors = Allowances[bytes](*WORDS, MOST_ACCOUNTS)
        self._edges_count = topic.descriptor.auth.mode is AuthMode.WOT

    def refuses(self, message: WireMessage, now: float) -> Refusal | None:
        """See :class:`TopicGuard`."""
        return TOO_LARGE if len(message.data) > LARGEST_CONTROL else None

    def admit(self, message: WireMessage, source: Peer, now: float) -> Refusal | None:
        """See :class:`TopicGuard`."""
        try:
            control = decode_control(message.data)
            news = bool(self.take_edges(control.edges, source, now))
        except RemoteProtocolError as error:
            return Refusal(error.reason)
        author = message.sender_id or b""
        trusted = self._topic.trust.trusts(author, now)
        if trusted:
            news = self._take_keys(author, control.keys, now) or news
            for ask in control.asks:
                self._telling.asked(ask, now)
        if control.known:
            self._telling.heard(control.known, now)
        if news:
            return None
        if not trusted:
            return NO_NEWS
        return None if self._authors.take(author, 1.0, now) else FLOOD

    # ---- edges

    def take_edges(
        self, edges: tuple[TrustEdge, ...], source: Peer | None, now: float
    ) -> list[TrustEdge]:
        """Let edges count; those that were new. :class:`RemoteProtocolError` if one is forged."""
        trust, news = self._topic.trust, []
        for edge in edges if self._edges_count else ():
            if trust.knows(edge):
                continue
            if trust.outdated(edge):
                self._refused("older_word", edge, source)
                continue
            if not self._affordable(edge, source, now):
                self._refused("flood", edge, source)
                continue
            if not edge.verify(self._topic.descriptor.digest):
                if source is not None:
                    self._pubsub.charge(source, "signatures", VERIFY)
                self._refused("bad_signature", edge, source)
                raise RemoteProtocolError(BAD_EDGE, "its signature is not the issuer's")
            outcome = trust.add(edge, now)
            if outcome == "new":
                news.append(edge)
            else:
                self._refused("unknown_issuer" if outcome == "unheard" else outcome, edge, source)
        self._topic.look_at_trust(now)
        if news:
            self._telling.learned(now)
        return news

    def _affordable(self, edge: TrustEdge, source: Peer | None, now: float) -> bool:
        if source is None:
            return True  # out of a file of ours
        if self._topic.trust.trusts(edge.issuer, now):
            return self._issuers.take(edge.issuer, 1.0, now)
        return self._strangers.take(1.0, now)

    def _refused(self, reason: str, edge: TrustEdge, source: Peer | None) -> None:
        self._pubsub.emit(EDGE_REFUSED, self._topic.id, peer=source, reason=reason)

    # ---- keys

    def _take_keys(self, author: bytes, keys: EpochKey | None, now: float) -> bool:
        """An author tells the key of its epoch; whether that is news."""
        topic = self._topic
        if keys is None or topic.epochs is None or author == topic.us:
            return False
        taken = topic.epochs.take(author, keys, topic.us, self._unseal, now)
        if taken == "ours":
            self._pubsub.emit(KEY_LEARNED, topic.id)
            topic.key_came((author, keys.id), now)
        elif taken in ("old_epoch", "wrong_key"):
            self._pubsub.emit(KEY_REFUSED, topic.id, reason=taken)
        return taken in ("ours", "not_for_us")
