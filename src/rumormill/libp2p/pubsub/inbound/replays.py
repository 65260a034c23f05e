"""Replays: old messages, genuine and signed, that somebody sends once more.

Ids of messages are forgotten after ``seen_ttl``. From then on whoever has kept a message can have
it delivered again, since its signature is as good as ever. What cannot be forged is its sequence
number, and the numbers of an author grow: a message whose number is not above what its author had
reached by the time that ids are forgotten is old, and is ignored.

go-libp2p-pubsub has this as ``BasicSeqnoValidator``, which ignores whatever is not above the
highest number so far, and with it every message that was overtaken on its way. Here the number to
be above is the highest that was delivered a good while ago, so messages may overtake each other
within a window (``replay_window``: half of ``seen_ttl`` unless it is set shorter); closer than
that, the ids tell a replay. With a window of 0 it is go's rule.

A message of an author whose numbers do not grow cannot be told from a replay: js chose them at
random until 2026, rust until 2023. That is why this is off unless it is asked for
(``refuse_replays``). Messages without a signature have no author to go by, and are not looked at.

All this is in memory. So that a node that was restarted does not take old messages for new ones, it
may have an :class:`AuthorStore`, go's ``PeerMetadataStore``: it is told how far each author came,
and asked for authors that are not in memory. Of what it tells no number may come again: no id is
left of that time.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol, runtime_checkable

from rumormill.libp2p.wire.message import WireMessage

REPLAY = "replay"
"""Why such a message is ignored."""


@runtime_checkable
class AuthorStore(Protocol):
    """Keeps how far each author has come, over a restart.

    Both are called in the midst of the work on a message, :meth:`highest` before its signature is
    checked: a store that writes to a disk or asks another machine does so later, elsewhere.
    """

    def highest(self, author: bytes) -> int | None:
        """The highest number of the author that it was told; None if it knows none."""
        ...

    def reached(self, author: bytes, number: int) -> None:
        """A message of the author with a higher number than before was delivered."""
        ...


class Replays:
    """Remembers of each author how far it has come.

    Time is cut into spans of one window each. What was delivered two spans ago or earlier may be
    forgotten by its id, so the highest number of that time is the limit; an id lives for two spans
    or longer, so nothing falls between the two.

    >>> replays = Replays(window=60.0, most=1000)
    >>> replays.note(b"author", 7, now=0.0)
    0
    >>> replays.old(b"author", 6, now=59.0)
    False
    >>> replays.old(b"author", 7, now=120.0), replays.old(b"author", 8, now=120.0)
    (True, False)
    """

    __slots__ = ("_authors", "_most", "_store", "_window")

    def __init__(self, window: float, most: int, store: AuthorStore | None = None) -> None:
        self._window = window
        self._most = most
        self._store = store
        # Not a dict: to find its first key, it walks over all places that were emptied.
        self._authors: OrderedDict[bytes, tuple[int, int, int, int]] = OrderedDict()
        """Who was heard last is last. Of each: a span, the highest number delivered up to it, up to
        the one before it, and up to the one before that; -1 if there was none."""

    def __len__(self) -> int:
        """How many authors are remembered."""
        return len(self._authors)

    def is_replay(self, message: WireMessage, now: float) -> bool:
        """Whether the message is an old one."""
        author, sequence = message.sender_id, message.sequence
        if author is None or sequence is None or message.signature is None:
            return False
        return self.old(author, int.from_bytes(sequence, "big"), now)

    def delivered(self, message: WireMessage, now: float) -> int:
        """A genuine message is delivered; returns how many authors had to be forgotten for it."""
        author, sequence = message.sender_id, message.sequence
        if author is None or sequence is None or message.signature is None:
            return 0
        return self.note(author, int.from_bytes(sequence, "big"), now)

    def old(self, author: bytes, number: int, now: float) -> bool:
        """Whether the author had come as far as this number by the time that ids are forgotten."""
        if author not in self._authors and self._store is None:
            return False
        return number <= self._reached(author, now)[3]

    def note(self, author: bytes, number: int, now: float) -> int:
        """The author has come as far; returns how many authors had to be forgotten."""
        span, highest, before, earlier = self._reached(author, now)
        self._authors[author] = span, max(highest, number), before, earlier
        self._authors.move_to_end(author)
        if self._store is not None and number > highest:
            self._store.reached(author, number)
        if len(self._authors) <= self._most:
            return 0
        self._authors.popitem(last=False)
        return 1

    def _reached(self, author: bytes, now: float) -> tuple[int, int, int, int]:
        """What is known of the author, seen from the span of this time."""
        if author not in self._authors:
            return self._recalled(author, now)
        then, highest, before, earlier = self._authors[author]
        if not self._window:
            return 0, highest, highest, highest
        span = self._span(now)
        if span <= then:
            return then, highest, before, earlier
        if span == then + 1:
            return span, highest, highest, before
        return span, highest, highest, highest

    def _recalled(self, author: bytes, now: float) -> tuple[int, int, int, int]:
        """What the store knows of an author that is not in memory."""
        known = None if self._store is None else self._store.highest(author)
        highest = -1 if known is None else known
        return self._span(now), highest, highest, highest

    def _span(self, now: float) -> int:
        return int(now // self._window) if self._window else 0
