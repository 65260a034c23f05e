"""Kademlia as a way to find the peers of a topic.

Who takes part in a topic tells the peers closest to the topic's key that it provides it, and asks
them who else does. So do nodes of go-libp2p-pubsub with a routing discovery, under the same keys.

How the table fills: a peer that says, by identify, that it serves the protocol is asked who is
close to us. If it answers it is in the table, and whom it named is asked next.
"""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.core.timers import Timers
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.addresses import usable
from rumormill.libp2p.discovery.effects import Answered, Asked, Unanswered
from rumormill.libp2p.discovery.kademlia.advertising import Advertising
from rumormill.libp2p.discovery.kademlia.keys import place_of, topic_key
from rumormill.libp2p.discovery.kademlia.lookup import Candidate, Lookup
from rumormill.libp2p.discovery.kademlia.message import (
    LARGEST_ANSWER,
    KademliaMessage,
    Kind,
    PeerInfo,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.kademlia.parameters import KademliaParameters
from rumormill.libp2p.discovery.kademlia.providers import ProviderStore
from rumormill.libp2p.discovery.kademlia.search import NEIGHBOURS, TOPIC, Search
from rumormill.libp2p.discovery.kademlia.server import KademliaServer
from rumormill.libp2p.discovery.kademlia.table import RoutingTable
from rumormill.libp2p.discovery.way import Acquaintance, DiscoveryServices, Way
from rumormill.libp2p.stack.peer_id import check_peer_id, from_text, to_text
from rumormill.libp2p.stack.reach import Reach

MOST_SEARCHES = 32
"""Lookups under way at a time; what is due beyond it comes later."""

FIRST_REFRESH = 15.0
"""Seconds from the first peer of the table to the next look around; doubles up to the refresh."""


OUR_LIMITS = frozenset(("too_many_questions", "too_many_visits", "too_many_dials"))
"""Why a question was not put that is no fault of the peer."""


class Kademlia(Way):
    """Looks for providers of topics in a DHT, provides our own, and answers others as a server."""

    name = "kademlia"

    def __init__(self, parameters: KademliaParameters | None = None) -> None:
        self.parameters = parameters or KademliaParameters()
        self._protocol = (self.parameters.kademlia_protocol,)
        self._searches: dict[str, Search] = {}
        """By topic, or by what else they are for."""
        self._requests: dict[int, Search | None] = {}
        """To which search a question belongs; None if only whether it is answered matters."""
        self._checked: dict[Peer, bool] = {}
        """Connected peers that were asked whether they answer, and whether they did."""
        self._timers: Timers[str] = Timers()
        self._refresh = FIRST_REFRESH

    def attach(self, node: DiscoveryServices) -> None:
        """Make the table, now that it is known who we are."""
        super().attach(node)
        parameters = self.parameters
        self.table = RoutingTable(node.node, parameters.kademlia_bucket_size)
        self._own_id = from_text(node.node)
        self.server: KademliaServer | None = None
        if parameters.kademlia_mode == "server":
            store = ProviderStore(node.random, parameters.kademlia_provider_ttl)
            size = parameters.kademlia_bucket_size
            self.server = KademliaServer(self, node, self.table, store, size)
        self._advertising = Advertising(self, parameters)

    @property
    def protocols(self) -> tuple[str, ...]:
        """A client answers nobody."""
        return self._protocol if self.parameters.kademlia_mode == "server" else ()

    def sizes(self) -> dict[str, int]:
        """How many peers, searches, questions and records there are."""
        store = None if self.server is None else self.server.providers
        return {
            "kademlia_table": len(self.table),
            "kademlia_searches": len(self._searches),
            "kademlia_requests": len(self._requests),
            "kademlia_providers": 0 if store is None else len(store),
        }

    # ---- peers

    def identified(self, acquaintance: Acquaintance, now: float) -> None:
        """A server is asked whether it answers, if the table would take it."""
        peer = acquaintance.peer
        if self._protocol[0] not in acquaintance.protocols:
            self.table.remove(peer)
        elif peer in self.table or self._checked.get(peer):
            self._learn(peer, now)
        elif peer not in self._checked and not self.table.takes(peer, acquaintance.address):
            self._checked[peer] = False
            self._ask(None, Candidate(peer, 0, ()), Kind.FIND_NODE, self._own_id)

    def disconnected(self, peer: Peer, now: float) -> None:
        """It may be back; what was known of it in the table stays."""
        self._checked.pop(peer, None)

    def _learn(self, peer: Peer, now: float) -> None:
        """A server has answered: it belongs into the table."""
        acquaintance = self.node.acquaintances.get(peer)
        if acquaintance is None:
            return
        self._checked[peer] = True
        if self._protocol[0] not in acquaintance.protocols:
            return  # not identified yet: it is looked at again then
        first = not len(self.table)
        self.table.answered(peer, acquaintance.address, acquaintance.addresses, now)
        if first and len(self.table):
            self._refresh = FIRST_REFRESH
            self._timers.set(NEIGHBOURS, now)
            self._advertising.moved(now)
            self.node.hurry()

    # ---- looking

    def seek(self, topic: str, lacking: int, now: float) -> bool:
        """Ask those closest to the topic who provides it."""
        search = self._searches.get(topic)
        if search is not None:
            search.lacking = max(search.lacking, lacking)
            return True
        return self.search(topic, topic_key(topic), TOPIC, lacking, now)

    def search(self, name: str, key: bytes, purpose: str, lacking: int, now: float) -> bool:
        """Begin a lookup; False if there is nobody to ask, or too much under way."""
        if not len(self.table) or len(self._searches) >= MOST_SEARCHES:
            return False
        parameters = self.parameters
        place = place_of(key)
        seeds = [
            Candidate(each.peer, each.place, each.addresses)
            for each in self.table.closest(place, parameters.kademlia_bucket_size)
        ]
        lookup = Lookup(
            place,
            seeds,
            own=self.node.node,
            concurrency=parameters.kademlia_concurrency,
            resilience=parameters.kademlia_resilience,
        )
        search = self._searches[name] = Search(name, key, purpose, lookup, lacking, now)
        self._go_on(search, now)
        return True

    def _go_on(self, search: Search, now: float) -> None:
        for candidate in search.lookup.next():
            self._ask(search, candidate, search.kind, search.key)
        if search.lookup.over and self._searches.get(search.name) is search:
            del self._searches[search.name]
            self._end(search, now)

    def _ask(self, search: Search | None, candidate: Candidate, kind: Kind, key: bytes) -> None:
        request = self.node.ask(
            self,
            candidate.peer,
            self._protocol,
            encode_message(KademliaMessage(kind, key)),
            addresses=candidate.addresses,
            largest=LARGEST_ANSWER,
        )
        self._requests[request] = search

    # ---- what comes back

    def answered(self, answer: Answered, now: float) -> None:
        """Go on with whom it names."""
        if answer.request not in self._requests:
            return  # we have told it something
        search = self._requests[answer.request]
        message = decode_message(answer.message)
        if message.kind is not (Kind.FIND_NODE if search is None else search.kind):
            raise RemoteProtocolError("bad_kademlia", f"{message.kind.name} as an answer")
        self._requests.pop(answer.request, None)
        peer = answer.peer
        self._learn(peer, now)
        if search is None:
            return
        near = self._reach(peer)
        if search.purpose == TOPIC:
            for info in message.providers:
                known = self._named(info, peer, near)
                if known is not None:
                    search.found(known)
        named = [self._named(info, peer, near) for info in message.closer]
        search.lookup.answered(
            peer, [each for each in named if each is not None and each.addresses]
        )
        self._go_on(search, now)

    def unanswered(self, answer: Unanswered, now: float) -> None:
        """Go on without it."""
        search = self._requests.pop(answer.request, None)
        if answer.reason not in OUR_LIMITS:
            self.table.remove(answer.peer)
        if search is not None:
            search.lookup.failed(answer.peer)
            self._go_on(search, now)

    def _reach(self, peer: Peer) -> Reach:
        acquaintance = self.node.acquaintances.get(peer)
        return Reach.PUBLIC if acquaintance is None else acquaintance.reach

    def _named(self, info: PeerInfo, source: Peer, near: Reach) -> Candidate | None:
        """A peer that another one names, with the addresses that we may believe of it."""
        try:
            peer = to_text(check_peer_id(info.peer_id))
        except RemoteProtocolError:
            return None
        addresses = usable(
            peer, info.addresses, near=near,
            only_public=self.node.parameters.discovery_only_public,
        )  # fmt: skip
        return Candidate(peer, place_of(info.peer_id), addresses, source)

    def _end(self, search: Search, now: float) -> None:
        lookup = search.lookup
        topic = search.name if search.purpose == TOPIC else None
        self.node.emit(
            self, events.DISCOVERY_LOOKED, topic, purpose=search.purpose, asked=lookup.asked,
            failed=lookup.failures, found=len(search.providers), seconds=now - search.began,
        )  # fmt: skip
        if topic is None or topic not in self.node.topics:
            return
        if self.node.lacks_peers(topic):
            self._meet(search.chosen(self.node.random), topic)
        self._advertising.looked(topic, lookup.closest(self.parameters.kademlia_bucket_size), now)

    def _meet(self, providers: Iterable[Candidate], topic: str) -> None:
        for each in providers:
            entry = self.table.get(each.peer)
            addresses = each.addresses or (() if entry is None else entry.addresses)
            self.node.found(self, each.peer, addresses, topic=topic, told_by=each.named_by)

    # ---- being found

    def join(self, topic: str, now: float) -> None:
        """Provide a topic from now on."""
        self._advertising.join(topic, now)

    def leave(self, topic: str, now: float) -> None:
        """Do so no longer: what was told runs out."""
        self._advertising.leave(topic)

    def listening(self, now: float) -> None:
        """We are to be found elsewhere: say so."""
        self._advertising.moved(now)

    def tell(self, key: bytes, candidate: Candidate) -> bool:
        """Tell a peer that we provide a key; False if we have no address that it could pass on."""
        addresses = self._advertising.addresses_for(self._reach_of(candidate))
        if not addresses:
            return False
        info = PeerInfo(self._own_id, addresses)
        message = KademliaMessage(Kind.ADD_PROVIDER, key, providers=(info,))
        self.node.ask(
            self, candidate.peer, self._protocol, encode_message(message),
            addresses=candidate.addresses, answered=False,
        )  # fmt: skip
        return True

    def _reach_of(self, candidate: Candidate) -> Reach:
        """How near a peer is that may not be connected: by the nearest of its addresses."""
        acquaintance = self.node.acquaintances.get(candidate.peer)
        if acquaintance is not None:
            return acquaintance.reach
        return self._advertising.nearest(candidate.addresses)

    # ---- questions of others

    def asked(self, question: Asked, now: float) -> None:
        """Only a server is asked."""
        if self.server is not None:
            self.server.asked(question, now)

    # ---- time

    def wake(self, now: float) -> None:
        """Look around, and tell again what we provide."""
        for name in self._timers.due(now):
            if name == NEIGHBOURS:
                self._look_around(now)
        self._advertising.wake(now)

    def _look_around(self, now: float) -> None:
        """Our own neighbourhood, later a random place, too: the table must not grow old."""
        if len(self.table):
            self.search(f"{NEIGHBOURS} near", self._own_id, NEIGHBOURS, 0, now)
            if self._refresh > FIRST_REFRESH:
                key = self.node.random.randbytes(32)
                self.search(f"{NEIGHBOURS} far", key, NEIGHBOURS, 0, now)
        self._timers.set(NEIGHBOURS, now + self._refresh * (0.75 + 0.5 * self.node.random.random()))
        self._refresh = min(2 * self._refresh, self.parameters.kademlia_refresh)

    def next_wake(self) -> float | None:
        """The next look around, or what is to be told."""
        times = (self._timers.next_wake(), self._advertising.next_wake())
        return min((time for time in times if time is not None), default=None)
