"""Keeping alive: a ``get`` with our own number to each entry, every few minutes.

One question does three things. It tells whether the neighbour lives, it renews the token that a put
to it needs, and it compares the two newest values: whoever is behind is brought up to date. So a
push that was lost is made good, though nobody noticed the loss.
"""

from __future__ import annotations

from rumormill.bep50.overlay.duties import Common
from rumormill.bep50.overlay.members.joining import Joining
from rumormill.bep50.overlay.members.routing_table import Entry
from rumormill.bep50.overlay.overlay import Overlay, Purpose
from rumormill.bep50.overlay.traffic.transactions import Pending
from rumormill.bep50.overlay.values.forwarding import Forwarding
from rumormill.bep50.overlay.values.item_checks import ItemChecks
from rumormill.bep50.wire.bencode import Dict, encode
from rumormill.bep50.wire.items import LARGEST_SEQ, item_from_get
from rumormill.bep50.wire.krpc import CAS_MISMATCH, SEQ_TOO_LOW, BadArgument
from rumormill.core import trace
from rumormill.core.machine import Peer

LONGEST_TOKEN = 64
"""Bytes of a token that we keep; others give 4 to 20."""

ROUNDS = 8
"""Looks at the table in the time of one interval: neighbours are asked in so many groups."""

RARELY = 1 / ROUNDS
"""The share of these looks at which a node with many neighbours asks one from before."""

CATCHING_ATTEMPTS = 2
"""How often a peer is asked for the value whose number it told without it."""


class Keepalive:
    """Asks the entries of all topics, and takes what they tell."""

    __slots__ = (
        "_checks", "_drops", "_forwarding", "_home_capacity", "_interval", "_joining", "_outbox",
        "_random", "_timers",
    )  # fmt: skip

    def __init__(
        self, common: Common, forwarding: Forwarding, joining: Joining, checks: ItemChecks
    ) -> None:
        parameters = common.parameters
        self._outbox = common.outbox
        self._timers = common.timers
        self._drops = common.drops
        self._random = common.random
        self._forwarding = forwarding
        self._joining = joining
        self._checks = checks
        self._home_capacity = parameters.home_capacity
        self._interval = (
            min(parameters.poll_interval, parameters.keepalive_interval)
            if parameters.read_only
            else parameters.keepalive_interval
        )

    # ---- asking

    def expect(self, overlay: Overlay, now: float) -> None:
        """There is an entry: its turn will come."""
        if overlay.keepalive_at is None:
            self._put_off(overlay, now)

    def due(self, overlay: Overlay, now: float) -> None:
        """Ask the entries that were not asked for an interval."""
        if overlay.keepalive_at is None or overlay.keepalive_at > now:
            return
        before = now - self._interval * (1 - 1 / ROUNDS)
        for entry in overlay.table.entries:
            if entry.token_at <= before and entry.peer not in overlay.asking:
                overlay.get(entry.peer)
        count = len(overlay.table.entries)
        if count:
            # In a large network it is enough if a few look out for those who were here before.
            if count <= self._home_capacity or self._random.random() < RARELY:
                self._joining.probe(overlay)
            self._put_off(overlay, now)
        else:
            overlay.keepalive_at = None

    def _put_off(self, overlay: Overlay, now: float) -> None:
        # Not all nodes at the same time, though they may have begun together.
        wait = self._interval / ROUNDS * (0.5 + self._random.random())
        overlay.keepalive_at = now + wait
        self._timers.at_latest(overlay, overlay.keepalive_at)

    def unanswered(self, overlay: Overlay, pending: Pending[Purpose]) -> bool:
        """A get had no answer; whether the peer is asked once more, for packets get lost."""
        purpose, peer = pending.context, pending.peer
        entry = overlay.table.entry(peer)
        if purpose.lookup is None and purpose.attempt == 0 and (entry or peer in overlay.owed):
            return overlay.get(peer, purpose._replace(attempt=1))
        if entry is not None and entry.puts == 0 and peer not in overlay.asking:
            overlay.topic.acknowledgements.refused(peer, overlay.topic.seq, 0, "no_answer")
        return False

    # ---- what they tell

    def told(
        self,
        overlay: Overlay,
        peer: Peer,
        entry: Entry | None,
        purpose: Purpose,
        values: Dict,
        now: float,
    ) -> None:
        """The answer to a ``get``: who of the two is behind?"""
        token = values.get(b"token")
        if type(token) is not bytes or len(token) > LONGEST_TOKEN:
            token = None
        seq = values.get(b"seq")
        if type(seq) is not int or not 0 <= seq <= LARGEST_SEQ:
            seq = -1
        if entry is not None:
            entry.token, entry.token_at, entry.seq = token, now, seq
        topic = overlay.topic
        if seq > topic.seq:
            self._catch_up(overlay, peer, purpose, values, token, now)
            topic.acknowledgements.refused(
                peer, topic.seq, SEQ_TOO_LOW, f"the newest value has seq {seq}"
            )
        else:
            if purpose.conditional and seq == topic.seq and not self._same(overlay, values):
                topic.acknowledgements.refused(
                    peer, seq, CAS_MISMATCH, f"another value has seq {seq}"
                )
            topic.acknowledgements.taken(peer, seq)
            if seq < topic.seq:
                self._forwarding.behind(overlay, peer, entry, purpose)
        self._joining.introduced(overlay, peer, purpose, values, token, now)

    def _same(self, overlay: Overlay, values: Dict) -> bool:
        """Whether the answer has the value that we have."""
        item = overlay.topic.item
        return item is not None and b"v" in values and encode(values[b"v"]) == item.value

    def _catch_up(
        self,
        overlay: Overlay,
        peer: Peer,
        purpose: Purpose,
        values: Dict,
        token: bytes | None,
        now: float,
    ) -> None:
        """The peer has a newer value: take it, or ask for it if it told only the number.

        It gives the value only to an address that is the sender's own, which its token shows.
        """
        topic = overlay.topic
        try:
            item = item_from_get(values, topic.salt)
        except BadArgument as error:
            self._drops.count("answer", error.reason)
            return
        if item is None:
            if purpose.attempt < CATCHING_ATTEMPTS:
                again = Purpose(attempt=purpose.attempt + 1, catching=True)
                overlay.get(peer, again, token)
        elif item.public_key != topic.public_key:
            self._outbox.emit(trace.REJECTED, topic.text, peer=peer, reason="wrong_key")
        else:
            self._checks.fetched(topic, item, peer, now)
