"""The way of mDNS: asks who is near, answers who asks, and forgets who has gone.

Anybody on the network can say anything, in any name and as often as it likes. So what is read is
bounded, for each sender and for all; whom we heard of is bounded; an address is taken only if it is
of a local network or the sender's own; and whether a peer is really there, its handshake shows.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance, Allowances
from rumormill.core.timers import Timers
from rumormill.core.trace import DROPPED, IGNORED
from rumormill.libp2p.discovery.effects import DatagramReceived, LinkChanged
from rumormill.libp2p.discovery.events import DISCOVERY_LOST
from rumormill.libp2p.discovery.mdns import dns, records
from rumormill.libp2p.discovery.mdns.nearness import dialable
from rumormill.libp2p.discovery.mdns.parameters import MdnsParameters
from rumormill.libp2p.discovery.way import DiscoveryServices, Way
from rumormill.libp2p.stack.multiaddr import Multiaddr

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
    """A peer that is known on one link."""

    __slots__ = ("addresses", "instance", "peer", "told_at")

    def __init__(
        self, peer: str, instance: dns.Name, addresses: tuple[str, ...], now: float
    ) -> None:
        self.peer = peer
        self.instance = instance
        self.addresses = addresses
        self.told_at = now


class _Place:
    """One link of ours."""

    __slots__ = ("addresses", "answered_at", "host", "interval")

    def __init__(self, host: str) -> None:
        self.host = host
        self.addresses: tuple[Multiaddr, ...] = ()
        """Where we can be dialed from it."""
        self.interval = SHORTEST_INTERVAL
        self.answered_at = float("-inf")


class Mdns(Way):
    """One node on its local networks."""

    name: ClassVar[str] = "mdns"

    def __init__(self, parameters: MdnsParameters | None = None) -> None:
        parameters = parameters or MdnsParameters()
        self._interval = parameters.mdns_interval
        self._ttl = max(1, int(2 * parameters.mdns_interval))
        self._links: dict[str, _Place] = {}
        self._nearby: dict[str, _Nearby] = {}
        """By peer and link: on each it may be somewhere else."""
        self._all = Allowance(READ_RATE, READ_BURST)
        self._senders: Allowances[str] = Allowances(SENDER_RATE, SENDER_BURST, MOST_SENDERS)
        self._dropped: Counter[tuple[str, str]] = Counter()
        # Keys: ("ask", link), ("answer", link), ("forget", peer and link), ("report", "").
        self._timers: Timers[tuple[str, str]] = Timers()

    def attach(self, node: DiscoveryServices) -> None:
        """See :class:`Way`; only now there is chance to make up a name."""
        super().attach(node)
        self._own_name = records.random_name(node.random)
        self._own_names = (
            records.SERVICE,
            records.instance_of(self._own_name),
            records.host_of(self._own_name),
        )

    def sizes(self) -> dict[str, int]:
        """See :class:`Way`."""
        return {
            "mdns_nearby": len(self._nearby),
            "mdns_links": len(self._links),
            "mdns_senders": len(self._senders),
            "mdns_dropped": len(self._dropped),
        }

    def wake(self, now: float) -> None:
        """Ask, answer, forget, report: whatever is due."""
        for what, which in self._timers.due(now):
            if what == "ask":
                self._ask(which, now)
            elif what == "answer":
                self._answer(which, now)
            elif what == "forget":
                self._forget(which, "expired")
            else:
                self._report()

    def next_wake(self) -> float | None:
        """See :class:`Way`."""
        return self._timers.next_wake()

    def seek(self, topic: str, lacking: int, now: float) -> bool:
        """Whoever is near may be of the topic; who else there is, is asked anyway."""
        found = [
            self.node.found(self, known.peer, known.addresses) for known in self._nearby.values()
        ]
        return any(found)

    # ---- links, and where we are

    def link_changed(self, change: LinkChanged, now: float) -> None:
        """Who moves says so unasked, and who goes takes leave."""
        link = change.link
        place = self._links.get(link)
        if change.host is None:
            self._link_down(link)
            return
        if place is None:
            if len(self._links) >= MOST_LINKS:
                self.node.emit(self, IGNORED, reason="mdns_too_many_links", link=link)
                return
            place = self._links[link] = _Place(change.host)
            self._timers.set(("ask", link), now + FIRST_DELAY * self.node.random.random())
        before, place.host = place.addresses, change.host
        place.addresses = tuple(Multiaddr.parse(each).without_peer() for each in change.addresses)
        if before and not place.addresses:
            self._say(link, before, ttl=0)
        elif place.addresses != before:
            self._answer_soon(link, now)

    def _link_down(self, link: str) -> None:
        if self._links.pop(link, None) is not None:
            self._timers.cancel(("ask", link))
            self._timers.cancel(("answer", link))

    # ---- asking and answering

    def _ask(self, link: str, now: float) -> None:
        place = self._links[link]
        self.node.send_datagram(self, link, records.QUERY)
        # A little more or less, so that nodes that began together do not go on so.
        delay = place.interval * (1.0 + 0.1 * self.node.random.random())
        self._timers.set(("ask", link), now + delay)
        place.interval = min(2 * place.interval, self._interval)

    def _answer_soon(self, link: str, now: float) -> None:
        """Now, or when a second has passed since the last answer: one serves all who asked."""
        due = self._links[link].answered_at + SHORTEST_INTERVAL
        if due > now:
            self._timers.at_latest(("answer", link), due)
        else:
            self._answer(link, now)

    def _answer(self, link: str, now: float) -> None:
        self._timers.cancel(("answer", link))
        place = self._links[link]
        if place.addresses:  # who cannot be dialed has nothing to say
            place.answered_at = now
            self._say(link, place.addresses, self._ttl)

    def _say(self, link: str, addresses: tuple[Multiaddr, ...], ttl: int) -> None:
        packet = records.node_answer(self._own_name, self.node.node, addresses, ttl)
        self.node.send_datagram(self, link, packet)

    # ---- what others say

    def datagram(self, datagram: DatagramReceived, now: float) -> None:
        """Read what concerns us, if it does not come too often."""
        place, source = self._links.get(datagram.link), datagram.source
        if place is None or not records.concerns_us(datagram.data):
            return
        if not self._senders.take(source, 1.0, now) or not self._all.take(1.0, now):
            self._drop("mdns_too_often", source, now)
            return
        try:
            message = dns.decode_message(datagram.data)
        except RemoteProtocolError as error:
            self._drop(error.reason, source, now)
            return
        if not message.is_response:
            self._heard_questions(message, datagram.link, now)
            return
        for node in records.nodes_in(message):
            self._heard_of(node, datagram, place, now)

    def _heard_questions(self, message: dns.Message, link: str, now: float) -> None:
        names = {question.name for question in message.questions}
        if not names.isdisjoint(self._own_names):
            self._answer_soon(link, now)
        elif records.EVERY_SERVICE in names and self._links[link].addresses:
            self.node.send_datagram(self, link, records.service_answer(self._ttl))

    def _heard_of(
        self, node: records.Nearby, datagram: DatagramReceived, place: _Place, now: float
    ) -> None:
        if node.peer == self.node.node or node.instance in self._own_names:
            return  # our own voice, as everybody on the link hears it
        place_of_it, source = f"{node.peer} {datagram.link}", datagram.source
        known = self._nearby.get(place_of_it)
        if not node.ttl:
            if known is not None and known.instance == node.instance:
                self._forget(place_of_it, "left")
            return
        addresses = dialable(node.addresses, source, place.host, place.addresses)
        if not addresses:
            self._drop("mdns_no_address", source, now)
        elif known is None and len(self._nearby) >= MOST_NEARBY:
            self._drop("mdns_too_many_peers", source, now)
        else:
            texts = tuple(str(each.without_peer()) for each in addresses)
            self._keep(place_of_it, node, texts, now)

    def _keep(
        self, place: str, node: records.Nearby, addresses: tuple[str, ...], now: float
    ) -> None:
        self._timers.set(("forget", place), now + min(node.ttl, LONGEST_TTL))
        known = self._nearby.get(place)
        if known is not None and known.addresses == addresses:
            known.instance = node.instance  # rust has another name in every answer
            if now - known.told_at < TELL_AGAIN:
                return
            known.told_at = now
        else:
            self._nearby[place] = _Nearby(node.peer, node.instance, addresses, now)
        self.node.found(self, node.peer, addresses)

    def _forget(self, place: str, reason: str) -> None:
        self._timers.cancel(("forget", place))
        known = self._nearby.pop(place, None)
        if known is not None:
            self.node.emit(self, DISCOVERY_LOST, peer=known.peer, reason=reason)

    # ---- what is not read or not taken

    def _drop(self, reason: str, source: str, now: float) -> None:
        if len(self._dropped) >= MOST_SENDERS and (reason, source) not in self._dropped:
            source = ""
        self._dropped[reason, source] += 1
        self._timers.at_latest(("report", ""), now + REPORT_INTERVAL)

    def _report(self) -> None:
        for (reason, source), count in self._dropped.items():
            event = DROPPED if reason == "mdns_too_often" else IGNORED
            self.node.emit(self, event, what="datagram", reason=reason, count=count, address=source)
        self._dropped.clear()
