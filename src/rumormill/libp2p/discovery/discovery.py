"""The discovery of one node: a machine that holds the ways to find peers together.

It knows who is connected and which topics lack peers, tells its ways to look, and decides whether
whom they find is dialed. Inputs and effects are in :mod:`~rumormill.libp2p.discovery.effects`.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import Connect, Peer
from rumormill.core.trace import PROTOCOL_ERROR, TraceEvent, type_of_field
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.addresses import usable
from rumormill.libp2p.discovery.census import Census
from rumormill.libp2p.discovery.effects import (
    Answer,
    Answered,
    Ask,
    Asked,
    DatagramReceived,
    DiscoveryEffect,
    DiscoveryInput,
    LinkChanged,
    OwnAddresses,
    PeerConnected,
    PeerDisconnected,
    PeerIdentified,
    PeersWanted,
    PeerUnreached,
    Refuse,
    SendDatagram,
    TopicsChanged,
    Unanswered,
)
from rumormill.libp2p.discovery.found import FoundPeers
from rumormill.libp2p.discovery.looking import Looking
from rumormill.libp2p.discovery.parameters import DiscoveryParameters
from rumormill.libp2p.discovery.way import Acquaintance, Way

MOST_REQUESTS = 1024
"""Questions whose answer is waited for, of all ways together."""


class Discovery:
    """Finds peers for the topics of one node, by the ways that it is given."""

    def __init__(
        self,
        *,
        node: Peer,
        ways: Sequence[Way],
        census: Census,
        random: random.Random,
        parameters: DiscoveryParameters | None = None,
    ) -> None:
        self.node = node
        self.random = random
        self.parameters = parameters or DiscoveryParameters()
        self.addresses: tuple[str, ...] = ()
        self.record = b""
        self.acquaintances: dict[Peer, Acquaintance] = {}
        self.ways = tuple(ways)
        self._effects: list[DiscoveryEffect] = []
        self._now = 0.0
        self._last_request = 0
        self._requests: OrderedDict[int, Way] = OrderedDict()
        self._looking = Looking(census, self.parameters, random)
        self._found = FoundPeers(random)
        self._served: dict[str, Way] = {}
        for way in self.ways:
            way.attach(self)
            for protocol in way.protocols:
                if protocol in self._served:
                    raise LocalProtocolError(f"two ways of discovery serve {protocol}")
                self._served[protocol] = way
        self._by_name = {way.name: way for way in self.ways}
        self._handlers: Mapping[type, Callable[[Any, float], None]] = {
            PeerConnected: self._on_connected,
            PeerIdentified: self._on_identified,
            PeerDisconnected: self._on_disconnected,
            PeerUnreached: self._on_unreached,
            OwnAddresses: self._on_own_addresses,
            TopicsChanged: lambda _, now: self._looking.soon(now),
            PeersWanted: self._on_peers_wanted,
            Asked: self._on_asked,
            Answered: self._on_answered,
            Unanswered: self._on_unanswered,
            DatagramReceived: self._on_datagram,
            LinkChanged: self._on_link_changed,
        }

    # ---- the machine

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that are served; identify tells them."""
        return tuple(self._served)

    @property
    def topics(self) -> Collection[str]:
        """The topics that we take part in."""
        return self._looking.topics

    def handle(self, input: DiscoveryInput, now: float) -> list[DiscoveryEffect]:
        """Take one input; return what follows from it."""
        self._now = now
        self._handlers[type(input)](input, now)
        return self._take()

    def wake(self, now: float) -> list[DiscoveryEffect]:
        """Look at the topics, and let the ways do what is due."""
        self._now = now
        due = self._looking.next_wake
        if due is not None and due <= now:
            self._look(now)
        for way in self.ways:
            wanted = way.next_wake()
            if wanted is not None and wanted <= now:
                way.wake(now)
        return self._take()

    def next_wake(self) -> float | None:
        """The earliest wish of all ways, and the next look at the topics."""
        times = [self._looking.next_wake, *(way.next_wake() for way in self.ways)]
        return min((time for time in times if time is not None), default=None)

    def _take(self) -> list[DiscoveryEffect]:
        effects, self._effects = self._effects, []
        return effects

    def sizes(self) -> dict[str, int]:
        """How many entries each table has."""
        sizes = {
            "discovery_acquaintances": len(self.acquaintances),
            "discovery_topics": len(self._looking),
            "discovery_requests": len(self._requests),
            **self._found.sizes(),
        }
        for way in self.ways:
            sizes.update(way.sizes())
        return sizes

    # ---- topics

    def _look(self, now: float) -> None:
        joined, left = self._looking.changes()
        for way in self.ways:
            for topic in left:
                way.leave(topic, now)
            for topic in joined:
                way.join(topic, now)
        for topic, lacking in self._looking.due(now):
            began = False
            for way in self.ways:
                if way.seek(topic, lacking, now):
                    began = True
                    self.emit(way, events.DISCOVERY_ASKED, topic, lacking=lacking)
            self._looking.looked(topic, began, now)

    def _on_peers_wanted(self, input: PeersWanted, now: float) -> None:
        self._looking.want(input.topics, now + input.seconds, now)

    def lacks_peers(self, topic: str | None = None) -> bool:
        """See :meth:`DiscoveryServices.lacks_peers`."""
        if topic is not None:
            return self._looking.lacking(topic) > 0
        return not self.acquaintances or any(map(self._looking.lacking, self._looking.topics))

    def plenty(self) -> bool:
        """Whether every topic has far more peers than it wants: then nobody need stay for what it
        might be of use for.
        """
        return all(map(self._looking.has_plenty, self._looking.topics))

    def hurry(self) -> None:
        """See :meth:`DiscoveryServices.hurry`."""
        self._looking.hurry(self._now)

    # ---- whom the ways find

    def found(
        self,
        way: Way,
        peer: Peer,
        addresses: tuple[str, ...],
        *,
        topic: str | None = None,
        told_by: Peer | None = None,
        trusted: bool = False,
    ) -> bool:
        """See :meth:`DiscoveryServices.found`."""
        if peer == self.node or peer in self.acquaintances or self._found.dialing(peer):
            return False
        fields: dict[str, type_of_field] = {"addresses": len(addresses)}
        if told_by is not None:
            fields["told_by"] = told_by
        self.emit(way, events.DISCOVERY_FOUND, topic, peer, **fields)
        reason = "" if trusted else self._reason_against(peer, addresses, topic)
        if reason:
            self.emit(way, events.DISCOVERY_REFUSED, topic, peer, reason=reason)
            return False
        self._found.dialed(peer, way, self._now)
        self._effects.append(Connect(peer, addresses, trusted))
        return True

    def _reason_against(self, peer: Peer, addresses: tuple[str, ...], topic: str | None) -> str:
        if not addresses:
            return "no_address"
        if not self.lacks_peers(topic):
            return "enough_peers"
        if self._found.failed_lately(peer, self._now):
            return "failed_lately"
        return "" if self._found.room(self._now) else "too_many_dials"

    # ---- peers

    def _on_connected(self, input: PeerConnected, now: float) -> None:
        peer = input.peer
        acquaintance = Acquaintance(peer, input.address, input.outbound)
        self.acquaintances[peer] = acquaintance
        way = self._found.arrived(peer)
        if way is not None:
            self.emit(way, events.DISCOVERY_CONNECTED, peer=peer)
        for each in self.ways:
            each.connected(acquaintance, now)

    def _on_identified(self, input: PeerIdentified, now: float) -> None:
        acquaintance = self.acquaintances.get(input.peer)
        if acquaintance is None:
            return
        acquaintance.protocols = input.protocols
        acquaintance.addresses = usable(
            input.peer,
            input.addresses,
            near=acquaintance.reach,
            only_public=self.parameters.discovery_only_public,
        )
        for way in self.ways:
            way.identified(acquaintance, now)

    def _on_disconnected(self, input: PeerDisconnected, now: float) -> None:
        if self.acquaintances.pop(input.peer, None) is not None:
            self._looking.soon(now)
            for way in self.ways:
                way.disconnected(input.peer, now)

    def _on_unreached(self, input: PeerUnreached, now: float) -> None:
        way = self._found.failed(input.peer, now)
        if way is not None:
            self.emit(way, events.DISCOVERY_FAILED, peer=input.peer, reason=input.reason)
            way.unreached(input.peer, input.reason, now)

    def _on_own_addresses(self, input: OwnAddresses, now: float) -> None:
        self.addresses, self.record = input.addresses, input.record
        for way in self.ways:
            way.listening(now)

    # ---- questions and answers

    def ask(
        self,
        way: Way,
        peer: Peer,
        protocols: tuple[str, ...],
        message: bytes,
        *,
        addresses: tuple[str, ...] = (),
        answered: bool = True,
        largest: int = 65_536,
    ) -> int:
        """See :meth:`DiscoveryServices.ask`."""
        self._last_request += 1
        request = self._last_request
        self._requests[request] = way
        if len(self._requests) > MOST_REQUESTS:  # the host answers every one: never, but bounded
            self._requests.popitem(last=False)
        self._effects.append(Ask(request, peer, protocols, message, addresses, answered, largest))
        return request

    def answer(self, exchange: int, message: bytes = b"") -> None:
        """See :meth:`DiscoveryServices.answer`."""
        self._effects.append(Answer(exchange, message))

    def refuse(self, exchange: int, reason: str, detail: str = "", *, fault: bool = True) -> None:
        """See :meth:`DiscoveryServices.refuse`."""
        self._effects.append(Refuse(exchange, reason, detail, fault))

    def send_datagram(self, way: Way, destination: str, data: bytes) -> None:
        """See :meth:`DiscoveryServices.send_datagram`."""
        self._effects.append(SendDatagram(way.name, destination, data))

    def _on_asked(self, input: Asked, now: float) -> None:
        try:
            self._served[input.protocol].asked(input, now)
        except RemoteProtocolError as error:
            self.refuse(input.exchange, error.reason, error.detail)

    def _on_answered(self, input: Answered, now: float) -> None:
        way = self._requests.pop(input.request, None)
        if way is None:
            return
        try:
            way.answered(input, now)
        except RemoteProtocolError as error:
            self._blame(way, error, input.peer)
            way.unanswered(Unanswered(input.request, input.peer, error.reason), now)

    def _on_unanswered(self, input: Unanswered, now: float) -> None:
        way = self._requests.pop(input.request, None)
        if way is not None:
            way.unanswered(input, now)

    def _on_datagram(self, input: DatagramReceived, now: float) -> None:
        way = self._named(input.way)
        try:
            way.datagram(input, now)
        except RemoteProtocolError as error:
            self._blame(way, error, None)

    def _on_link_changed(self, input: LinkChanged, now: float) -> None:
        self._named(input.way).link_changed(input, now)

    def _named(self, name: str) -> Way:
        way = self._by_name.get(name)
        if way is None:
            raise LocalProtocolError(f"there is no way of discovery named {name!r}")
        return way

    def _blame(self, way: Way, error: RemoteProtocolError, peer: Peer | None) -> None:
        self.emit(way, PROTOCOL_ERROR, peer=peer, reason=error.reason, detail=error.detail)

    # ---- trace

    def emit(
        self,
        way: Way,
        event: str,
        topic: str | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """See :meth:`DiscoveryServices.emit`."""
        told: dict[str, type_of_field] = {"way": way.name, **fields}
        self._effects.append(TraceEvent(self._now, self.node, event, topic, None, peer, told))
