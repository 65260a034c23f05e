"""Rendezvous as a way to find the peers of a topic: register at meeting points, and ask them.

A point is trusted to say who is there, and with nothing else: each registration is signed by its
peer, and where that is is tried as any hearsay.
"""

from __future__ import annotations

from collections.abc import Sequence

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.core.timers import Timers
from rumormill.core.trace import REJECTED
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.addresses import usable
from rumormill.libp2p.discovery.effects import Answered, Asked, Unanswered
from rumormill.libp2p.discovery.rendezvous.message import (
    LONGEST_NAMESPACE,
    Discover,
    Discovered,
    Register,
    Registered,
    RendezvousMessage,
    Status,
    Unregister,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.rendezvous.parameters import RendezvousParameters
from rumormill.libp2p.discovery.rendezvous.records import open_record, sign_record
from rumormill.libp2p.discovery.rendezvous.server import RendezvousServer
from rumormill.libp2p.discovery.way import DiscoveryServices, Way
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import to_text

RENDEZVOUS_PROTOCOL = "/rendezvous/1.0.0"

TOPIC_PREFIX = "floodsub:"
"""What stands before a topic in its namespace, as with every discovery of go-libp2p-pubsub."""

ASKED_FOR = 100
"""Registrations that we ask for at once."""

LARGEST_ANSWER = 1024 * 1024
"""Bytes, as in rust."""

DIALED_FOR_EACH = 2
"""Peers that are dialed for each that is lacking: some are gone, some will not have us."""

RENEWED_AFTER = 0.75
"""Part of its time after which a registration is renewed."""

FIRST_RETRY, LONGEST_RETRY = 5.0, 300.0
"""Seconds until a registration that failed is tried again; doubles each time."""

NANOSECONDS = 1_000_000_000


class _Wish:
    """A question under way."""

    __slots__ = ("lacking", "registers", "topic")

    def __init__(self, topic: str, registers: bool, lacking: int = 0) -> None:
        self.topic = topic
        self.registers = registers
        self.lacking = lacking


class Rendezvous(Way):
    """Registers our topics at meeting points, asks them for others, and may be one itself."""

    name = "rendezvous"

    def __init__(
        self, identity: PrivateKey, parameters: RendezvousParameters | None = None
    ) -> None:
        self.parameters = parameters or RendezvousParameters()
        self._identity = identity
        self._points: dict[Peer, tuple[str, ...]] = {}
        for text in self.parameters.rendezvous:
            address = Multiaddr.parse(text)
            assert address.peer is not None
            known = self._points.get(address.peer, ())
            self._points[address.peer] = (*known, str(address.without_peer()))
        self._record = b""
        self._wishes: dict[int, _Wish] = {}
        self._cookies: dict[tuple[Peer, str], bytes] = {}
        self._retries: dict[tuple[Peer, str], float] = {}
        self._timers: Timers[tuple[Peer, str]] = Timers()

    def attach(self, node: DiscoveryServices) -> None:
        """Open the meeting point, if we are one."""
        super().attach(node)
        self.server = RendezvousServer(self, node) if self.parameters.rendezvous_server else None

    @property
    def protocols(self) -> tuple[str, ...]:
        """Only a meeting point is asked."""
        return (RENDEZVOUS_PROTOCOL,) if self.parameters.rendezvous_server else ()

    def sizes(self) -> dict[str, int]:
        """How many questions, cookies and registrations there are."""
        return {
            "rendezvous_wishes": len(self._wishes),
            "rendezvous_cookies": len(self._cookies),
            "rendezvous_registrations": 0
            if self.server is None
            else len(self.server.registrations),
        }

    # ---- being found

    def join(self, topic: str, now: float) -> None:
        """Register at every point, at once."""
        if len(namespace_of(topic).encode("utf-8")) > LONGEST_NAMESPACE:
            self.node.emit(self, events.DISCOVERY_FAILED, topic, reason="topic_too_long")
            return
        for point in self._points:
            self._timers.set((point, topic), now)

    def leave(self, topic: str, now: float) -> None:
        """Be found no longer."""
        for point in self._points:
            self._timers.cancel((point, topic))
            self._cookies.pop((point, topic), None)
            if self._retries.pop((point, topic), None) is not None:
                self._ask(point, Unregister(namespace_of(topic)), None)

    def listening(self, now: float) -> None:
        """We are to be found elsewhere: register anew."""
        addresses = [Multiaddr.parse(each) for each in self.node.addresses]
        self._record = b""
        if addresses:
            form = self.parameters.rendezvous_record
            self._record = sign_record(self._identity, int(now * NANOSECONDS), addresses, form)
        for topic in self.node.topics:
            self.join(topic, now)

    def wake(self, now: float) -> None:
        """Register, and renew registrations."""
        for point, topic in self._timers.due(now):
            retry = self._retries.get((point, topic), FIRST_RETRY)
            self._timers.set((point, topic), now + retry)
            self._retries[point, topic] = min(2 * retry, LONGEST_RETRY)
            if self._record:
                register = Register(
                    namespace_of(topic), self._record, self.parameters.rendezvous_ttl
                )
                self._ask(point, register, _Wish(topic, registers=True))

    def next_wake(self) -> float | None:
        """When something is to be registered."""
        return self._timers.next_wake()

    # ---- looking

    def seek(self, topic: str, lacking: int, now: float) -> bool:
        """Ask every point who is there."""
        namespace = namespace_of(topic)
        if not self._points or len(namespace.encode("utf-8")) > LONGEST_NAMESPACE:
            return False
        for point in self._points:
            cookie = self._cookies.get((point, topic), b"")
            discover = Discover(namespace, ASKED_FOR, cookie)
            self._ask(point, discover, _Wish(topic, registers=False, lacking=lacking))
        return True

    def _ask(self, point: Peer, message: RendezvousMessage, wish: _Wish | None) -> None:
        request = self.node.ask(
            self, point, (RENDEZVOUS_PROTOCOL,), encode_message(message),
            addresses=self._points[point], answered=wish is not None, largest=LARGEST_ANSWER,
        )  # fmt: skip
        if wish is not None:
            self._wishes[request] = wish

    # ---- what comes back

    def answered(self, answer: Answered, now: float) -> None:
        """A point has answered."""
        wish = self._wishes.get(answer.request)
        if wish is None:
            return
        message = decode_message(answer.message)
        if not isinstance(message, Registered if wish.registers else Discovered):
            raise RemoteProtocolError("bad_rendezvous", f"{type(message).__name__} as an answer")
        del self._wishes[answer.request]
        key = (answer.peer, wish.topic)
        if message.status != Status.OK:
            self._cookies.pop(key, None)
            self._failed(wish, answer.peer, _status_name(message.status))
        elif isinstance(message, Registered):
            self._registered(key, message.ttl, now)
        elif wish.topic in self.node.topics:
            self._discovered(key, wish, message)

    def _registered(self, key: tuple[Peer, str], ttl: int, now: float) -> None:
        point, topic = key
        if topic not in self.node.topics:
            return
        self._retries[key] = FIRST_RETRY
        ttl = min(ttl or self.parameters.rendezvous_ttl, self.parameters.rendezvous_ttl)
        self._timers.set(key, now + max(FIRST_RETRY, ttl * RENEWED_AFTER))
        self.node.emit(self, events.DISCOVERY_ADVERTISED, topic, peer=point, peers=1, ttl=ttl)

    def _discovered(self, key: tuple[Peer, str], wish: _Wish, message: Discovered) -> None:
        """Dial some of them by chance; after a whole page, the next look turns it."""
        self._cookies.pop(key, None)
        if len(message.registrations) >= ASKED_FOR and message.cookie:
            self._cookies[key] = message.cookie
        count = min(len(message.registrations), 1 + DIALED_FOR_EACH * wish.lacking)
        chosen = self.node.random.sample(message.registrations, count)
        self._meet(key[0], wish.topic, chosen)

    def _meet(self, point: Peer, topic: str, registrations: Sequence[Register]) -> None:
        acquaintance = self.node.acquaintances.get(point)
        if acquaintance is None:
            return
        for each in registrations:
            try:
                record = open_record(each.record)
            except RemoteProtocolError as error:
                self.node.emit(self, REJECTED, topic, point, reason=error.reason)
                continue
            peer = to_text(record.peer_id)
            addresses = usable(
                peer, record.addresses, near=acquaintance.reach,
                only_public=self.node.parameters.discovery_only_public,
            )  # fmt: skip
            self.node.found(self, peer, addresses, topic=topic, told_by=point)

    def unanswered(self, answer: Unanswered, now: float) -> None:
        """A point did not answer; it is asked again when it is time to."""
        wish = self._wishes.pop(answer.request, None)
        if wish is not None:
            self._failed(wish, answer.peer, answer.reason)

    def _failed(self, wish: _Wish, point: Peer, reason: str) -> None:
        self.node.emit(self, events.DISCOVERY_FAILED, wish.topic, point, reason=reason)

    # ---- questions of others

    def asked(self, question: Asked, now: float) -> None:
        """Only a meeting point is asked."""
        if self.server is not None:
            self.server.asked(question, now)


def namespace_of(topic: str) -> str:
    """The namespace that a topic is found under.

    >>> namespace_of("weather")
    'floodsub:weather'
    """
    return TOPIC_PREFIX + topic


def _status_name(status: int) -> str:
    try:
        return f"point_says_{Status(status).name.lower()}"
    except ValueError:
        return f"point_says_{status}"
