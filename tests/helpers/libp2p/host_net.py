"""Hosts on transports made of lists, in virtual time: every byte and every turn is seen."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

from rumormill.core.machine import Check, Checked, Machine, Verdict
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    Dial,
    DialEnded,
    Listening,
    OpenTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.pubsub_feed import PubsubMachine
from rumormill.libp2p.host.seeking import DiscoveryMachine
from rumormill.libp2p.stack.connection import Connection, ConnectionEvent
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.frames import FrameReader
from tests.helpers.core.machines import AnyEffect, AnyInput

FAKE_PROTOCOL = "/fakesub/1.0.0"


def key(name: str) -> PrivateKey:
    """A key of its own for every name."""
    return PrivateKey.from_seed(hashlib.sha256(name.encode()).digest())


class FakePubsub:
    """Writes down what it is told; sends and wants what the test says."""

    def __init__(self, *protocols: str) -> None:
        self.protocols = protocols or (FAKE_PROTOCOL,)
        self.inputs: list[AnyInput] = []
        self.answers: dict[type, Callable[[Any], list[AnyEffect]]] = {}
        """What to want done when an input of that type comes."""
        self.waiting: list[AnyEffect] = []
        """What to want done at the next wake."""
        self.useful: dict[str, int] = {}
        """Of how much use peers are."""
        self.half_read = b""
        """What it has got of an unfinished frame, if somebody asks for it."""

    def handle(self, input: AnyInput, now: float) -> list[AnyEffect]:
        self.inputs.append(input)
        answer = self.answers.get(type(input))
        return [] if answer is None else answer(input)

    def wake(self, now: float) -> list[AnyEffect]:
        effects, self.waiting = self.waiting, []
        return effects

    def next_wake(self) -> float | None:
        return 0.0 if self.waiting else None

    def usefulness(self, peer: str, now: float) -> int:
        return self.useful.get(peer, 0)

    def take_reader(self, peer: str) -> FrameReader:
        reader = FrameReader(1 << 20)
        reader.feed(self.half_read)
        return reader

    def take(self) -> list[AnyInput]:
        inputs, self.inputs = self.inputs, []
        return inputs


class RawPeer:
    """A peer made of one bare connection for each transport, that does only what a test says."""

    def __init__(self, name: str, *protocols: str, expected: str | None = None) -> None:
        self.key = key(name)
        self.peer = self.key.peer
        self.protocols: Sequence[str] = protocols
        self.connections: dict[int, Connection] = {}
        self.events: list[ConnectionEvent] = []
        self._entropy = random.Random(name)
        self._expected = expected

    @property
    def connection(self) -> Connection:
        """The newest one."""
        return list(self.connections.values())[-1]

    def handle(self, input: AnyInput, now: float) -> list[AnyEffect]:
        if isinstance(input, TransportOpened):
            self.connections[input.connection] = Connection(
                identity=self.key,
                dialer=input.dial is not None,
                now=now,
                entropy=self._entropy,
                protocols=lambda: self.protocols,
                expected_peer=self._expected,
            )
        elif isinstance(input, BytesReceived):
            self.events += self.connections[input.connection].receive(input.data, now)
        elif isinstance(input, TransportClosed):
            self.connections.pop(input.connection, None)
        elif isinstance(input, Dial):
            return [OpenTransport(-len(self.connections) - 1, input.address)]
        return self.wake(now)

    def wake(self, now: float) -> list[AnyEffect]:
        out = ((number, each.data_to_send()) for number, each in self.connections.items())
        return [WriteBytes(number, data) for number, data in out if data]

    def next_wake(self) -> float | None:
        return None

    def of(self, kind: type) -> list[Any]:
        """The events of one type so far."""
        return [event for event in self.events if type(event) is kind]


class Seat:
    """One machine in the net, and everything that it wanted done."""

    def __init__(self, machine: Machine[Any, Any], address: str) -> None:
        self.machine = machine
        self.address = address
        self.effects: list[AnyEffect] = []
        self.transports: dict[int, tuple[Seat, int]] = {}
        self.deaf = False
        """What is sent to it is lost, and so is what it sends: its line is cut."""
        self.turns: list[list[AnyEffect]] = []


class HostNet:
    """Carries bytes between machines; nothing happens but what tests and machines want."""

    def __init__(self, latency: float = 0.01) -> None:
        self.now = 0.0
        self.latency = latency
        self.seats: list[Seat] = []
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = itertools.count()
        self._numbers = itertools.count(1)

    # ---- building

    def host(
        self,
        name: str,
        pubsub: PubsubMachine | None = None,
        listen: bool = True,
        discovery: DiscoveryMachine | None = None,
        **parameters: Any,
    ) -> Host:
        """A host with a key and an address of its own."""
        host = Host(
            identity=key(name),
            pubsub=pubsub or FakePubsub(),
            parameters=HostParameters(**parameters),
            random=random.Random(f"{name} random"),
            entropy=random.Random(f"{name} entropy"),
            agent=f"test/{name}",
            discovery=discovery,
        )
        seat = self.add(host)
        if listen:
            self.feed(host, Listening((seat.address,)))
        return host

    def raw(self, name: str, *protocols: str, expected: str | None = None) -> RawPeer:
        """A peer that the test plays."""
        peer = RawPeer(name, *protocols, expected=expected)
        self.add(peer)
        return peer

    def add(self, machine: Machine[Any, Any]) -> Seat:
        """Give a machine a seat and an address."""
        number = len(self.seats)
        seat = Seat(machine, f"/ip4/10.0.{number >> 8}.{number & 255}/tcp/4001")
        self.seats.append(seat)
        return seat

    def seat(self, machine: Machine[Any, Any]) -> Seat:
        """The seat of a machine."""
        return next(seat for seat in self.seats if seat.machine is machine)

    # ---- driving

    def feed(self, machine: Machine[Any, Any], input: AnyInput) -> list[AnyEffect]:
        """Give one input and carry out what follows; returns the effects of that turn."""
        seat = self.seat(machine)
        return self._carry_out(seat, list(machine.handle(input, self.now)))

    def flush(self, machine: Machine[Any, Any]) -> list[AnyEffect]:
        """Wake a machine now."""
        return self._carry_out(self.seat(machine), list(machine.wake(self.now)))

    def run(self, seconds: float = 1.0) -> None:
        """Let time pass, stopping at every arrival and every wake-up."""
        end = self.now + seconds
        for _ in range(200_000):
            due = [(seat.machine.next_wake(), seat) for seat in self.seats]
            wakes = [(when, seat) for when, seat in due if when is not None]
            wake, seat = min(wakes, key=lambda each: each[0], default=(end + 1.0, None))
            arrival = self._queue[0][0] if self._queue else end + 1.0
            if min(wake, arrival) > end:
                self.now = end
                return
            self.now = max(self.now, min(wake, arrival))
            if wake <= arrival and seat is not None:
                self._carry_out(seat, list(seat.machine.wake(self.now)))
            else:
                heapq.heappop(self._queue)[2]()
        raise AssertionError("the net does not come to rest")

    def later(self, action: Callable[[], Any]) -> None:
        """Do something one latency from now."""
        when = self.now + self.latency
        heapq.heappush(self._queue, (when, next(self._sequence), lambda: (action(), None)[1]))

    def _carry_out(self, seat: Seat, effects: list[AnyEffect]) -> list[AnyEffect]:
        seat.effects += effects
        seat.turns.append(effects)
        for effect in effects:
            if isinstance(effect, WriteBytes):
                self._write(seat, effect)
            elif isinstance(effect, CloseTransport):
                self.cut(seat.machine, effect.connection, effect.reason)
            elif isinstance(effect, OpenTransport):
                self._open(seat, effect)
            elif isinstance(effect, Check):
                self.feed(seat.machine, Checked(effect.token, Verdict.ACCEPT))
        return effects

    def _open(self, seat: Seat, effect: OpenTransport) -> None:
        place = effect.address.split("/p2p/")[0]
        other = next((each for each in self.seats if each.address == place), None)
        if other is None:
            self.later(
                lambda: self.feed(seat.machine, TransportFailed(effect.dial, "connection_refused"))
            )
            return
        if not other.deaf and not seat.deaf:
            self.later(lambda: self._meet(seat, effect.dial, other))

    def _meet(self, seat: Seat, dial: int, other: Seat) -> None:
        if CancelTransport(dial) in seat.effects:
            return
        here, there = next(self._numbers), next(self._numbers)
        seat.transports[here] = (other, there)
        other.transports[there] = (seat, here)
        self.feed(other.machine, TransportOpened(there, seat.address))
        self.feed(seat.machine, TransportOpened(here, other.address, dial))

    def _write(self, seat: Seat, effect: WriteBytes) -> None:
        route = seat.transports.get(effect.connection)
        if route is None or seat.deaf or route[0].deaf:
            return
        other, there = route
        self.later(lambda: self._arrive(other, there, effect.data))

    def _arrive(self, seat: Seat, number: int, data: bytes) -> None:
        if number in seat.transports:
            self.feed(seat.machine, BytesReceived(number, data))

    def cut(self, machine: Machine[Any, Any], number: int, reason: str = "closed") -> None:
        """Close a transport; the other end hears of it after what was written."""
        seat = self.seat(machine)
        route = seat.transports.get(number)
        if route is None:
            return
        other, there = route

        def close(which: Seat, id: int) -> None:
            if which.transports.pop(id, None) is not None:
                self.feed(which.machine, TransportClosed(id, reason))

        self.later(lambda: close(other, there))
        self.later(lambda: close(seat, number))

    # ---- looking

    def connect(self, one: Machine[Any, Any], two: Machine[Any, Any], keep: bool = False) -> None:
        """Let ``one`` dial ``two``, and wait for it."""
        self.feed(one, Dial(self.seat(two).address, keep))
        self.run(1.0)

    def transports(self, machine: Machine[Any, Any]) -> list[int]:
        """The numbers of the open transports of a machine."""
        return list(self.seat(machine).transports)

    def traces(self, machine: Machine[Any, Any], event: str | None = None) -> list[TraceEvent]:
        """The trace events of a machine so far, all or of one kind."""
        effects = self.seat(machine).effects
        found = [effect for effect in effects if isinstance(effect, TraceEvent)]
        return [each for each in found if event is None or each.event == event]

    def of(self, machine: Machine[Any, Any], kind: type) -> list[Any]:
        """The effects of one type of a machine so far."""
        return [effect for effect in self.seat(machine).effects if type(effect) is kind]

    def dials(self, machine: Machine[Any, Any]) -> list[DialEnded]:
        """How the dials of a machine went."""
        return self.of(machine, DialEnded)

    def set_ready(self, machine: Machine[Any, Any], number: int, ready: bool) -> None:
        """Let the transport take bytes, or not."""
        self.feed(machine, WriteReady(number, ready))
