"""Passing a value on: to every entry that is not known to have it.

A small value is put at once, if the entry's token is fresh; for a large one the entry is asked
first whether it lacks it (which of the two is up to the parameters). What is on its way to whom is
in the entry: one that is slow to answer gets no more than so many puts, and then only the newest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rumormill.bep50.overlay.members.routing_table import Entry
from rumormill.bep50.overlay.overlay import PUT, Overlay, Purpose
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.traffic.drops import Drops, Wakeable
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.wire.arguments import error_name
from rumormill.bep50.wire.krpc import CAS_MISMATCH, PROTOCOL, SEQ_TOO_LOW, Failure
from rumormill.core.machine import Peer
from rumormill.core.timers import Timers

if TYPE_CHECKING:
    from rumormill.bep50.overlay.topic_node import TopicNode

SENT, WAITS, FULL = "sent", "waits", "queries_full"
"""What became of a value for an entry: it was put, it will be, it will not."""


class Forwarding:
    """Puts the newest values of all topics to those who lack them."""

    __slots__ = (
        "_at_once", "_drops", "_fresh", "_in_flight", "_outbox", "_retries", "_timeout", "_timers",
    )  # fmt: skip

    def __init__(
        self,
        parameters: OverlayParameters,
        outbox: Outbox,
        timers: Timers[Wakeable],
        drops: Drops,
    ) -> None:
        self._outbox = outbox
        self._timers = timers
        self._drops = drops
        self._timeout = parameters.query_timeout
        self._retries = parameters.put_retries
        self._in_flight = parameters.most_in_flight
        self._fresh = parameters.token_rotation
        self._at_once = {
            "put": 1 << 30,
            "get_first": -1,
            "adaptive": parameters.put_at_once_bytes,
        }[parameters.forward]

    # ---- out

    def spread(self, topic: TopicNode, holders: Iterable[Peer]) -> None:
        """Pass the newest value on to all entries but the ``holders``, who gave it to us."""
        seq = topic.seq
        for peer in holders:
            entry = topic.entry(peer)
            if entry is not None and entry.seq < seq:
                entry.seq = seq
        purpose = Purpose(None, seq)
        for overlay in topic.overlays:
            for entry in overlay.table.entries:
                if entry.seq < seq:
                    self._pass_on(overlay, entry, purpose)

    def publish(self, topic: TopicNode, cas: int | None) -> dict[Peer, str]:
        """Pass our own new value on; says what became of it for each entry."""
        purpose = Purpose(None, topic.seq)
        outcomes = {}
        for overlay in topic.overlays:
            for entry in overlay.table.entries:
                condition = cas if entry.seq >= 0 else None
                outcomes[entry.peer] = self._pass_on(overlay, entry, purpose, condition)
        return outcomes

    def behind(self, overlay: Overlay, peer: Peer, entry: Entry | None, cause: Purpose) -> None:
        """The peer has just said that it lacks the newest value."""
        topic = overlay.topic
        if entry is None or entry.token is None:
            topic.acknowledgements.refused(peer, topic.seq, 0, "no_token" if entry else "no_answer")
            return
        # One who has refused the value as too old, and says now that it lacks it, gets it no more.
        if entry.put_seq >= topic.seq and (entry.puts or cause.catching):
            return
        if self._put(overlay, entry, Purpose(None, topic.seq, cause.attempt), None) == FULL:
            topic.acknowledgements.refused(peer, topic.seq, 0, FULL)

    def _pass_on(
        self, overlay: Overlay, entry: Entry, purpose: Purpose, cas: int | None = None
    ) -> str:
        item = overlay.topic.item
        assert item is not None
        fresh = entry.token is not None and self._outbox.now - entry.token_at < self._fresh
        # With a condition it is put in any case: only a put can carry it.
        if fresh and (len(item.value) <= self._at_once or cas is not None):
            return self._put(overlay, entry, purpose, cas)
        if entry.peer in overlay.asking:
            return WAITS  # its answer will show that it is behind
        return WAITS if overlay.get(entry.peer, purpose) else FULL

    def _put(self, overlay: Overlay, entry: Entry, purpose: Purpose, cas: int | None) -> str:
        if entry.puts >= self._in_flight:
            return WAITS
        peer, token = entry.peer, entry.token
        assert token is not None
        deadline = self._outbox.now + self._timeout
        transaction = overlay.transactions.begin(peer, PUT, purpose, deadline)
        if transaction is None:
            self._drops.count("put", FULL)
            return FULL
        entry.puts += 1
        entry.put_seq = purpose.seq
        self._outbox.send(peer, overlay.topic.put_template().packet(transaction, token, cas), PUT)
        self._timers.at_latest(overlay, deadline)
        return SENT

    # ---- how a put ends

    def acknowledged(
        self, overlay: Overlay, peer: Peer, entry: Entry | None, purpose: Purpose
    ) -> None:
        """The peer has the value now, or one with the same number."""
        topic = overlay.topic
        if topic.acknowledgements:
            topic.acknowledgements.taken(peer, purpose.seq)
        if entry is not None:
            if entry.puts:
                entry.puts -= 1
            if entry.seq < purpose.seq:
                entry.seq = purpose.seq
            if entry.put_seq < topic.seq and entry.seq < topic.seq:  # there was no room for it
                self._pass_on(overlay, entry, Purpose(None, topic.seq))
        elif topic.acknowledgements:
            topic.acknowledgements.refused(peer, topic.seq, 0, "no_answer")

    def refused(
        self,
        overlay: Overlay,
        peer: Peer,
        entry: Entry | None,
        purpose: Purpose,
        failure: Failure,
    ) -> None:
        """The peer does not take the value: our token is stale, or it knows better."""
        code = failure.code
        if entry is not None and entry.puts:
            entry.puts -= 1
        if code == SEQ_TOO_LOW:
            if entry is not None:
                entry.seq = max(entry.seq, purpose.seq)
            overlay.get(peer, Purpose(catching=True))
        elif code in (PROTOCOL, CAS_MISMATCH) and purpose.attempt == 0 and entry is not None:
            # A fresh token, and no condition: what we lack or it lacks comes out by asking.
            entry.put_seq = -1
            if code == PROTOCOL:
                entry.token = None
            overlay.get(peer, purpose._replace(attempt=1, conditional=code == CAS_MISMATCH))
            return
        else:
            self._drops.count("put", error_name(code))
        overlay.topic.acknowledgements.refused(peer, purpose.seq, code, failure.text)

    def unanswered(self, overlay: Overlay, peer: Peer, purpose: Purpose) -> None:
        """A put had no answer: once more, if the peer still lacks the value."""
        entry, topic = overlay.table.entry(peer), overlay.topic
        if entry is None:
            topic.acknowledgements.refused(peer, topic.seq, 0, "no_answer")
            return  # it was one time too many
        if entry.puts:
            entry.puts -= 1
        if entry.seq >= topic.seq or entry.token is None:
            return
        if purpose.seq == topic.seq:
            if purpose.attempt < self._retries:
                again = purpose._replace(attempt=purpose.attempt + 1)
                self._put(overlay, entry, again, None)
            else:
                topic.acknowledgements.refused(peer, topic.seq, 0, "no_answer")
        elif entry.put_seq < topic.seq:
            self._pass_on(overlay, entry, Purpose(None, topic.seq))
