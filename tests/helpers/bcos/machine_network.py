"""Machines of this family in virtual time: transports between them, and each packet on record.

A machine has addresses that it listens at, each with the name of a service, and credentials that
the other end of its connections is shown, as TLS would. What a machine writes arrives in order,
after ``latency`` seconds, as one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

from rumormill.bcos.certificates.identity import Identity
from rumormill.bcos.wire.p2p_packet import P2PPacket, decode_p2p
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
)

Kind = TypeVar("Kind")


def node_id(number: int) -> str:
    """An id that looks like one: 128 hex digits, sorted as the numbers are."""
    return f"{number:02x}" * 64


def credentials_of(number: int) -> bytes:
    """What :func:`identify` reads."""
    return node_id(number).encode()


def identify(credentials: bytes) -> Identity:
    """Stands in for the reading of certificates: the credentials are the node id."""
    if not credentials:
        raise RemoteProtocolError("no_certificate")
    text = credentials.decode()
    return Identity(text, "node-" + text[:2], "agency", "CN=agency")


class AnyMachine(Protocol):
    """What is driven here."""

    def handle(self, input: Any, now: float) -> Any: ...
    def wake(self, now: float) -> Any: ...
    def next_wake(self) -> float | None: ...


class Sent(NamedTuple):
    """A packet, or more than one, as it was written."""

    time: float
    source: str
    destination: str
    service: str
    raw: bytes

    @property
    def p2p(self) -> P2PPacket:
        """As a packet between nodes."""
        return decode_p2p(self.raw)


class End:
    """One end of a connection."""

    def __init__(self, connection: int, owner: str, other: str, service: str) -> None:
        self.connection = connection
        self.owner = owner
        self.other = other
        self.service = service
        self.open = True
        self.told = False
        """Its machine knows of it."""
        self.rests_until = 0.0
        self.peer: End


class MachineNetwork:
    """Machines by name."""

    def __init__(self, latency: float = 0.01) -> None:
        self.now = 0.0
        self.latency = latency
        self.machines: dict[str, AnyMachine] = {}
        self.sent: list[Sent] = []
        """All that was written, in order."""
        self.effects: dict[str, list[Any]] = {}
        """What each machine wanted, apart from what is carried out here."""
        self.cut: set[frozenset[str]] = set()
        """Pairs that cannot open connections to each other."""
        self.silent: set[tuple[str, str]] = set()
        """From whom to whom bytes vanish."""
        self.dials: list[tuple[float, str, str]] = []
        """When, who, where."""
        self._credentials: dict[str, Mapping[str, bytes]] = {}
        self._listeners: dict[str, tuple[str, str]] = {}
        self._ends: dict[tuple[str, int], End] = {}
        self._dialing: set[tuple[str, int]] = set()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count(1)
        self._connections = count(1)

    # ---- building

    def add(
        self,
        name: str,
        machine: AnyMachine,
        listen: Mapping[str, str] | None = None,
        credentials: bytes | Mapping[str, bytes] = b"",
    ) -> None:
        """A machine; ``listen``: the service of each of its addresses. It may have credentials by
        service, else they are the same for all."""
        self.machines[name] = machine
        self.effects.setdefault(name, [])
        each = {"": credentials} if isinstance(credentials, bytes) else credentials
        self._credentials[name] = each
        for address, service in (listen or {}).items():
            self._listeners[address] = (name, service)
        self._arm(name)

    def remove(self, name: str, *, quietly: bool = False) -> None:
        """The machine is gone; quietly: nobody hears of it."""
        for end in [end for end in self._ends.values() if end.owner == name]:
            end.open = False
            del self._ends[name, end.connection]
            if not quietly and end.peer.open:
                self._later(self.latency, self._ended, end.peer, "reset")
        del self.machines[name]
        self._listeners = {at: who for at, who in self._listeners.items() if who[0] != name}

    # ---- running

    def feed(self, name: str, *inputs: Any) -> None:
        """Give inputs to a machine, and carry out what follows."""
        for each in inputs:
            self._carry_out(name, self.machines[name].handle(each, self.now))
        self._arm(name)

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        until = self.now + seconds
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heappop(self._queue)
            action()
        self.now = until

    def of(self, name: str, kind: type[Kind]) -> list[Kind]:
        """The effects of a kind."""
        return [effect for effect in self.effects[name] if isinstance(effect, kind)]

    def traced(self, name: str, event: str) -> list[TraceEvent]:
        """The trace events of a kind."""
        return [each for each in self.of(name, TraceEvent) if each.event == event]

    def between(self, source: str, destination: str, service: str = "") -> list[Sent]:
        """What one wrote to another."""
        return [s for s in self.sent if s[1:4] == (source, destination, service)]

    def links(self, name: str) -> list[str]:
        """Who is at the other ends of a machine's open connections."""
        return [end.other for end in self._ends.values() if end.owner == name and end.told]

    def connection(self, name: str, other: str) -> int:
        """The number of the first connection between two, on the side of the first."""
        ends = self._ends.values()
        return next(end.connection for end in ends if (end.owner, end.other) == (name, other))

    def sever(self, name: str, other: str, *, for_good: bool = False) -> None:
        """Reset all connections between two; for good: new ones fail, too."""
        if for_good:
            self.cut.add(frozenset((name, other)))
        for end in list(self._ends.values()):
            if (end.owner, end.other) == (name, other):
                self._ended(end, "reset")
                self._ended(end.peer, "reset")

    # ---- carrying out

    def _carry_out(self, name: str, effects: Any) -> None:
        for effect in effects:
            match effect:
                case OpenTransport():
                    self._dialing.add((name, effect.dial))
                    self.dials.append((self.now, name, effect.address))
                    self._later(2 * self.latency, self._connect, name, effect)
                case CancelTransport():
                    self._dialing.discard((name, effect.dial))
                case WriteBytes():
                    self._write(name, effect)
                case CloseTransport():
                    end = self._ends.get((name, effect.connection))
                    if end is not None:
                        self._later(0, self._ended, end, effect.reason)
                        self._later(self.latency, self._ended, end.peer, "closed")
                case RestTransport():
                    end = self._ends.get((name, effect.connection))
                    if end is not None:
                        end.rests_until = self.now + effect.seconds
                        nothing = BytesReceived(effect.connection, b"")
                        self._later(effect.seconds, self._tell, end, nothing)
                    self.effects[name].append(effect)
                case _:
                    self.effects[name].append(effect)

    def _connect(self, name: str, effect: OpenTransport) -> None:
        if (name, effect.dial) not in self._dialing or name not in self.machines:
            return
        listener = self._listeners.get(effect.address)
        if listener is not None and (name, listener[0]) in self.silent:
            return  # no answer, until it is cancelled
        self._dialing.discard((name, effect.dial))
        if listener is None or frozenset((name, listener[0])) in self.cut:
            self.feed(name, TransportFailed(effect.dial, "connection refused"))
            return
        other, service = listener
        near = End(next(self._connections), name, other, service)
        far = End(next(self._connections), other, name, service)
        near.peer, far.peer = far, near
        self._ends[name, near.connection] = near
        self._ends[other, far.connection] = far
        near.told = True
        self._later(self.latency, self._accept, far)
        credentials = self._shown(other, service)
        self.feed(
            name,
            TransportOpened(near.connection, effect.address, effect.dial, "", credentials),
        )

    def _accept(self, end: End) -> None:
        if end.open:
            end.told = True
            address = f"{end.other}:{40000 + end.connection}"
            service = end.service
            credentials = self._shown(end.other, service)
            opened = TransportOpened(end.connection, address, None, service, credentials)
            self.feed(end.owner, opened)

    def _shown(self, name: str, service: str) -> bytes:
        each = self._credentials[name]
        return each.get(service, each.get("", b""))

    def _write(self, name: str, effect: WriteBytes) -> None:
        end = self._ends.get((name, effect.connection))
        if end is None or not end.open:
            return
        self.sent.append(Sent(self.now, name, end.other, end.service, effect.data))
        if (name, end.other) not in self.silent:
            self._later(self.latency, self._deliver, end.peer, effect.data)

    def _deliver(self, end: End, data: bytes) -> None:
        if end.open and self.now < end.rests_until:
            self._later(end.rests_until - self.now, self._deliver, end, data)
        else:
            self._tell(end, BytesReceived(end.connection, data))

    def _tell(self, end: End, input: Any) -> None:
        if end.open and end.told:
            self.feed(end.owner, input)

    def _ended(self, end: End, reason: str) -> None:
        if not end.open:
            return
        end.open = False
        del self._ends[end.owner, end.connection]
        if end.told and end.owner in self.machines:
            self.feed(end.owner, TransportClosed(end.connection, reason))

    def _arm(self, name: str) -> None:
        when = self.machines[name].next_wake()
        if when is not None:
            machine = self.machines[name]
            self._at(max(self.now, when), self._wake, name, machine, when)

    def _wake(self, name: str, machine: AnyMachine, when: float) -> None:
        if self.machines.get(name) is machine and machine.next_wake() == when:
            self._carry_out(name, machine.wake(self.now))
            self._arm(name)

    def _later(self, delay: float, action: Callable[..., None], *arguments: Any) -> None:
        self._at(self.now + delay, action, *arguments)

    def _at(self, when: float, action: Callable[..., None], *arguments: Any) -> None:
        call: Callable[[], None] = partial(action, *arguments)
        heappush(self._queue, (when, next(self._order), call))
