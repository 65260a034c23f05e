"""Discovery and the connections that there are: what it is told of peers, what it wants of them.

Whom discovery only wants to ask is visited: dialed, asked, and left again after a while, unless
pubsub has found it of use by then, or its topic needs it. Visits have a room of their own, so that
a look around among strangers takes no place from the peers of a topic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Connect, Machine
from rumormill.core.timers import Timers
from rumormill.libp2p.discovery.effects import (
    Answer,
    Ask,
    DiscoveryEffect,
    DiscoveryInput,
    OwnAddresses,
    PeerConnected,
    PeerDisconnected,
    PeerIdentified,
    PeerUnreached,
    Refuse,
    Unanswered,
)
from rumormill.libp2p.host.dialer import Dialer
from rumormill.libp2p.host.exchanges import Exchanges
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.table import ConnectionTable, Link, Turn
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.identify import IdentifyInfo
from rumormill.libp2p.stack.multiaddr import Multiaddr

VISIT_OVER = "visit_over"
"""Why a connection that was made for a question is closed."""


MIGHT_BE_OF_USE = 1
"""How useful a peer is, to pubsub, that shares a topic with us and has done nothing yet."""


class DiscoveryMachine(Machine[DiscoveryInput, DiscoveryEffect], Protocol):
    """What a host needs of discovery."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that it answers questions of."""
        ...

    def plenty(self) -> bool:
        """Whether every topic of ours has far more peers than it wants."""
        ...


class Seeking:
    """Feeds discovery, and carries out what it wants; without a machine it does nothing.

    ``connect`` tries to get a connection, ``close`` closes one, ``usefulness`` is pubsub's.
    """

    def __init__(
        self,
        *,
        machine: DiscoveryMachine | None,
        parameters: HostParameters,
        table: ConnectionTable,
        turn: Turn,
        dialer: Dialer,
        book: AddressBook,
        connect: Callable[[Connect, float], None],
        close: Callable[[Link, str, float], None],
        usefulness: Callable[[str, float], int],
    ) -> None:
        self._machine = machine
        self._parameters = parameters
        self._table = table
        self._turn = turn
        self._dialer = dialer
        self._book = book
        self._connect = connect
        self._close = close
        self._usefulness = usefulness
        self.exchanges = Exchanges(
            protocols=() if machine is None else machine.protocols,
            parameters=parameters,
            turn=turn,
            heard=self.feed,
            close=close,
        )
        self._inputs: deque[DiscoveryInput] = deque()
        self._feeding = False
        self._waiting: dict[str, list[tuple[Ask, float]]] = {}
        """Questions to peers that are being dialed, each with its deadline."""
        self._visits: dict[Link, None] = {}
        self._timers: Timers[str | Link] = Timers(turn.alarm)
        self._arm()

    @property
    def visits(self) -> int:
        """How many peers are visited, or dialed for it."""
        return len(self._visits) + len(self._waiting)

    # ---- discovery

    def feed(self, input: DiscoveryInput, now: float) -> None:
        """Give discovery an input and see to what it wants done; one after the other."""
        machine = self._machine
        if machine is None:
            return
        self._inputs.append(input)
        if self._feeding:
            return  # what follows from an input comes after it
        self._feeding = True
        try:
            while self._inputs:
                self._carry_out(machine.handle(self._inputs.popleft(), now), now)
        finally:
            self._feeding = False
        self._arm()

    def _carry_out(self, effects: object, now: float) -> None:
        assert isinstance(effects, list)
        for effect in effects:
            if isinstance(effect, Ask):
                self._ask(effect, now)
            elif isinstance(effect, Answer):
                self.exchanges.answer(effect, now)
            elif isinstance(effect, Refuse):
                self.exchanges.refuse(effect, now)
            elif isinstance(effect, Connect):
                self._wanted(effect, now)
            else:
                self._turn.effects.append(effect)

    def _arm(self) -> None:
        due = None if self._machine is None else self._machine.next_wake()
        if due is not None and due < self._turn.alarm.soonest:
            self._turn.alarm.soonest = due

    # ---- questions

    def _ask(self, ask: Ask, now: float) -> None:
        deadline = now + self._parameters.question_timeout
        links = self._table.of(ask.peer)
        if links:
            self.exchanges.ask(ask, links[0], deadline, now)
        elif ask.peer in self._waiting:
            self._waiting[ask.peer].append((ask, deadline))
        elif not ask.addresses:
            self.feed(Unanswered(ask.request, ask.peer, "no_address"), now)
        elif not self._room_for_visit(now):
            self.feed(Unanswered(ask.request, ask.peer, "too_many_visits"), now)
        else:
            self._waiting[ask.peer] = [(ask, deadline)]
            self._timers.set(ask.peer, deadline)
            self._dialer.wanted(ask.peer, ask.addresses, now)

    def _room_for_visit(self, now: float) -> bool:
        """Whether one more peer may be visited; who was asked what we wanted makes room."""
        if self.visits < self._parameters.max_visits:
            return True
        for link in self._visits:
            if not self.exchanges.busy(link) and not self._is_wanted(link.peer, now):
                self._close(link, VISIT_OVER, now)
                return True
        return False

    def _give_up(self, peer: str, reason: str, now: float) -> None:
        self._timers.cancel(peer)
        for ask, _ in self._waiting.pop(peer, ()):
            self.feed(Unanswered(ask.request, peer, reason), now)

    def _wanted(self, effect: Connect, now: float) -> None:
        """The peer is to stay: it is no visit any more."""
        for link in self._table.of(effect.peer):
            self._stays(link)
        self._connect(effect, now)

    def _stays(self, link: Link) -> None:
        if link in self._visits:
            del self._visits[link]
            self._timers.cancel(link)
            assert link.target is not None
            link.target.visit = False

    # ---- connections

    def connected(self, link: Link, now: float) -> None:
        """A connection stands."""
        if self._machine is None:
            return
        peer, target = link.peer, link.target
        waiting = self._waiting.pop(peer, [])
        self._timers.cancel(peer)
        if waiting and target is not None and target.hearsay:
            target.visit = True
            self._visits[link] = None
            self._timers.set(link, now + self._parameters.visit_lingers)
        if len(self._table.of(peer)) == 1:
            self.feed(PeerConnected(peer, link.address, link.outbound), now)
        for ask, deadline in waiting:
            self.exchanges.ask(ask, link, deadline, now)

    def disconnected(self, link: Link, now: float) -> None:
        """A connection is gone."""
        self._visits.pop(link, None)
        self._timers.cancel(link)
        self.exchanges.disconnected(link, now)
        if link.peer and not self._table.connected(link.peer):
            self.feed(PeerDisconnected(link.peer), now)

    def identified(self, link: Link, info: IdentifyInfo, now: float) -> None:
        """A peer has told of itself; where it is, its signed record says best."""
        if self._machine is None:
            return
        record = self._book.get(link.peer)
        if record is not None:
            addresses = tuple(map(str, record.addresses))
        else:
            addresses = tuple(_readable(info.listen_addresses))
        self.feed(PeerIdentified(link.peer, info.protocols, addresses), now)

    def unreached(self, peer: str, reason: str, now: float) -> None:
        """None of a peer's addresses led to it, or it was not tried."""
        if self._machine is None:
            return
        self._give_up(peer, reason, now)
        self.feed(PeerUnreached(peer, reason), now)

    def listening(self, addresses: tuple[Multiaddr, ...], record: bytes, now: float) -> None:
        """We are to be found elsewhere."""
        self.feed(OwnAddresses(tuple(map(str, addresses)), record), now)

    # ---- time

    def wake(self, now: float) -> None:
        """Let discovery do what is due; end visits, and waits for a connection."""
        self.exchanges.wake(now)
        for key in self._timers.due(now):
            if isinstance(key, str):
                self._give_up(key, "timeout", now)
            else:
                self._end_visit(key, now)
        machine = self._machine
        if machine is not None:
            due = machine.next_wake()
            if due is not None and due <= now:
                self._carry_out(machine.wake(now), now)

    def _end_visit(self, link: Link, now: float) -> None:
        if self.exchanges.busy(link):
            self._timers.set(link, now + self._parameters.visit_lingers)
        elif self._is_wanted(link.peer, now):
            self._stays(link)
        else:
            self._close(link, VISIT_OVER, now)

    def _is_wanted(self, peer: str, now: float) -> bool:
        """Whether a peer that was visited may stay: it does something for us, or could and is
        needed.
        """
        use = self._usefulness(peer, now)
        assert self._machine is not None
        return use > MIGHT_BE_OF_USE or (use > 0 and not self._machine.plenty())

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        times = [self.exchanges.next_wake(), self._timers.next_wake()]
        if self._machine is not None:
            times.append(self._machine.next_wake())
        return min((time for time in times if time is not None), default=None)


def _readable(addresses: tuple[bytes, ...]) -> list[str]:
    found = []
    for raw in addresses:
        try:
            found.append(str(Multiaddr.from_bytes(raw).without_peer()))
        except RemoteProtocolError:
            continue  # of another transport
    return found
