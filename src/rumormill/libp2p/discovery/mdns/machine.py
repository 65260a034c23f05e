"""The mDNS machine: asks who is near, answers who asks, and forgets who has gone.

Anybody on the network can say anything, in any name and as often as it likes. So what is read is
bounded, for each sender and for all; whom we heard of is bounded; an address is taken only if it is
of a local network or the sender's own; and whether a peer is really there, its handshake shows.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import Sequence

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.limits import Allowance, Allowances
from rumormill.core.machine import Shutdown
from rumormill.core.timers import Timers
from rumormill.core.trace import DROPPED, IGNORED, TraceEvent, type_of_field
from rumormill.core.transport import Listening
from rumormill.libp2p.discovery.mdns import dns, records
from rumormill.libp2p.discovery.mdns.effects import (
    FoundNearby,
    Heard,
    Link,
    LinkDown,
    LinkUp,
    MdnsEffect,
    MdnsInput,
    Say,
)
from rumormill.libp2p.discovery.mdns.nearness import announced, dialable
from rumormill.libp2p.discovery.mdns.parameters import MdnsParameters
from rumormill.libp2p.stack.multiaddr import Multiaddr

NEARBY_FOUND = "nearby_found"
"""A trace event: mDNS told of a peer, or of other addresses of it; fields: addresses, link."""
NEARBY_LOST = "nearby_lost"
"""A trace event: nothing was heard of such a peer for as long as it said, or it took its leave."""

FIRST_DELAY = 0.12
"""Seconds until the first question, at most: nodes that start together must not shout together."""
SHORTEST_INTERVAL = 1.0
"""Seconds from the first question to the second, and between two answers on a link (RFC 6762)."""

MOST_LINKS = 64
MOST_NEARBY = 256
"""Peers that are known at a time; one more is not taken, and counted."""
LONGEST_TTL = 3600
"""Seconds that a peer may be remembered, whatever it says."""
TELL_AGAIN = 10.0
"""Seconds after which a peer that is heard again is told again: its connection may be lost."""

READ_RATE, READ_BURST = 50.0, 200.0
"""Messages for or of libp2p that are read: so many a second of all, so many at once."""
SENDER_RATE, SENDER_BURST, MOST_SENDERS = 10.0, 50.0, 256
"""The same for each sender."""
REPORT_INTERVAL = 1.0
"""Seconds between two reports of what was dropped: a flood must not become one of events."""


class _Nearby:
    """A peer that is known."""

    __slots__ = ("addresses", "instance", "told_at")

    def __init__(self, node: records.Nearby, addresses: tuple[str, ...], now: float) -> None:
        self.instance = node.instance
        self.addresses = addresses
        self.told_at = now


class _Place:
    """One link of ours."""

    __slots__ = ("answered_at", "host", "interval")

    def __init__(self, host: str) -> None:
        self.host = host
        self.interval = SHORTEST_INTERVAL
        self.answered_at = float("-inf")


class Mdns:
    """One node on its local networks. ``chance`` makes its name and its delays."""

    def __init__(self, *, peer: str, chance: random.Random, parameters: MdnsParameters) -> None:
        self._peer = peer
        self._chance = chance
        self._interval = parameters.mdns_interval
        self._ttl = max(1, int(2 * parameters.mdns_interval))
        self._name = records.random_name(chance)
        self._own_names = (
            records.SERVICE, records.instance_of(self._name), records.host_of(self._name),
        )  # fmt: skip
        self._listening: tuple[Multiaddr, ...] = ()
        self._links: dict[Link, _Place] = {}
        self._nearby: OrderedDict[str, _Nearby] = OrderedDict()
        self._all = Allowance(READ_RATE, READ_BURST)
        self._senders: Allowances[str] = Allowances(SENDER_RATE, SENDER_BURST, MOST_SENDERS)
        self._dropped: Counter[tuple[str, str]] = Counter()
        # Keys: ("ask", link), ("answer", link), ("forget", peer), ("report", "").
        self._timers: Timers[tuple[str, str]] = Timers()
        self._effects: list[MdnsEffect] = []

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "nearby": len(self._nearby),
            "mdns_links": len(self._links),
            "mdns_senders": len(self._senders),
            "mdns_dropped": len(self._dropped),
        }

    # ---- the machine

    def handle(self, input: MdnsInput, now: float) -> Sequence[MdnsEffect]:
        """Take one input; return what follows from it."""
        if isinstance(input, Heard):
            self._heard(input, now)
        elif isinstance(input, LinkUp):
            self._link_up(input, now)
        elif isinstance(input, LinkDown):
            self._link_down(input.link)
        elif isinstance(input, Listening):
            self._on_listening(input, now)
        elif isinstance(input, Shutdown):
            self._say_goodbye()
        else:
            raise LocalProtocolError(f"mDNS has no use for {type(input).__name__}")
        return self._taken()

    def wake(self, now: float) -> Sequence[MdnsEffect]:
        """Ask, answer, forget, report: whatever is due."""
        for what, which in self._timers.due(now):
            if what == "ask":
                self._ask(which, now)
            elif what == "answer":
                self._answer(which, now)
            elif what == "forget":
                self._forget(which, "expired", now)
            else:
                self._report(now)
        return self._taken()

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _taken(self) -> list[MdnsEffect]:
        effects, self._effects = self._effects, []
        return effects

    # ---- links, and where we are

    def _link_up(self, input: LinkUp, now: float) -> None:
        if input.link not in self._links and len(self._links) >= MOST_LINKS:
            self._trace(now, IGNORED, reason="mdns_too_many_links", link=input.link)
            return
        self._links[input.link] = _Place(input.host)
        self._timers.set(("ask", input.link), now + FIRST_DELAY * self._chance.random())

    def _link_down(self, link: Link) -> None:
        if self._links.pop(link, None) is not None:
            self._timers.cancel(("ask", link))
            self._timers.cancel(("answer", link))

    def _on_listening(self, input: Listening, now: float) -> None:
        """We are elsewhere: whoever knows us is told at once, unasked."""
        self._listening = tuple(Multiaddr.parse(each).without_peer() for each in input.addresses)
        for link in self._links:
            self._answer_soon(link, now)

    def _say_goodbye(self) -> None:
        for link, place in self._links.items():
            addresses = announced(self._listening, place.host)
            if addresses:
                packet = records.node_answer(self._name, self._peer, addresses, ttl=0)
                self._effects.append(Say(link, packet))
        for link in list(self._links):
            self._link_down(link)

    # ---- asking and answering

    def _ask(self, link: Link, now: float) -> None:
        place = self._links[link]
        self._effects.append(Say(link, records.QUERY))
        # A little more or less, so that nodes that began together do not go on so.
        delay = place.interval * (1.0 + 0.1 * self._chance.random())
        self._timers.set(("ask", link), now + delay)
        place.interval = min(2 * place.interval, self._interval)

    def _answer_soon(self, link: Link, now: float) -> None:
        """Now, or when a second has passed since the last answer: one serves all who asked."""
        due = max(now, self._links[link].answered_at + SHORTEST_INTERVAL)
        if due > now:
            self._timers.at_latest(("answer", link), due)
        else:
            self._answer(link, now)

    def _answer(self, link: Link, now: float) -> None:
        self._timers.cancel(("answer", link))
        place = self._links[link]
        addresses = announced(self._listening, place.host)
        if addresses:  # who cannot be dialed has nothing to say
            place.answered_at = now
            packet = records.node_answer(self._name, self._peer, addresses, self._ttl)
            self._effects.append(Say(link, packet))

    # ---- what others say

    def _heard(self, input: Heard, now: float) -> None:
        place = self._links.get(input.link)
        if place is None or not records.concerns_us(input.packet):
            return
        if not self._senders.take(input.host, 1.0, now) or not self._all.take(1.0, now):
            self._drop("mdns_too_often", input.host, now)
            return
        try:
            message = dns.decode_message(input.packet)
        except RemoteProtocolError as error:
            self._drop(error.reason, input.host, now)
            return
        if message.is_response:
            for node in records.nodes_in(message):
                self._heard_of(node, input, place, now)
        else:
            self._heard_questions(message, input.link, now)

    def _heard_questions(self, message: dns.Message, link: Link, now: float) -> None:
        names = {question.name for question in message.questions}
        if not names.isdisjoint(self._own_names):
            self._answer_soon(link, now)
        elif records.EVERY_SERVICE in names and announced(self._listening, self._links[link].host):
            self._effects.append(Say(link, records.service_answer(self._ttl)))

    def _heard_of(self, node: records.Nearby, input: Heard, place: _Place, now: float) -> None:
        if node.peer == self._peer or node.instance in self._own_names:
            return  # our own voice, as everybody on the link hears it
        if not node.ttl:
            known = self._nearby.get(node.peer)
            if known is not None and known.instance == node.instance:
                self._forget(node.peer, "left", now)
            return
        addresses = dialable(node.addresses, input.host, place.host)
        if not addresses:
            self._drop("mdns_no_address", input.host, now)
            return
        self._keep(node, tuple(map(str, addresses)), input, now)

    def _keep(
        self, node: records.Nearby, addresses: tuple[str, ...], input: Heard, now: float
    ) -> None:
        known = self._nearby.get(node.peer)
        if known is None and len(self._nearby) >= MOST_NEARBY:
            self._drop("mdns_too_many_peers", input.host, now)
            return
        ttl = min(node.ttl, LONGEST_TTL)
        self._timers.set(("forget", node.peer), now + ttl)
        if known is not None and known.addresses == addresses:
            known.instance = node.instance  # rust has another name in every answer
            if now - known.told_at < TELL_AGAIN:
                return
            known.told_at = now
        else:
            self._nearby[node.peer] = _Nearby(node, addresses, now)
            fields = {"addresses": " ".join(addresses), "link": input.link}
            self._trace(now, NEARBY_FOUND, node.peer, **fields)
        self._effects.append(FoundNearby(node.peer, addresses))

    def _forget(self, peer: str, reason: str, now: float) -> None:
        self._timers.cancel(("forget", peer))
        if self._nearby.pop(peer, None) is not None:
            self._trace(now, NEARBY_LOST, peer, reason=reason)

    # ---- what is not read or not taken

    def _drop(self, reason: str, host: str, now: float) -> None:
        if len(self._dropped) >= MOST_SENDERS and (reason, host) not in self._dropped:
            host = ""
        self._dropped[reason, host] += 1
        self._timers.at_latest(("report", ""), now + REPORT_INTERVAL)

    def _report(self, now: float) -> None:
        for (reason, host), count in self._dropped.items():
            event = DROPPED if reason == "mdns_too_often" else IGNORED
            fields = {"what": "datagram", "reason": reason, "count": count, "address": host}
            self._trace(now, event, **fields)
        self._dropped.clear()

    def _trace(
        self, now: float, event: str, peer: str | None = None, **fields: type_of_field
    ) -> None:
        self._effects.append(TraceEvent(now, self._peer, event, peer=peer, fields=fields))
