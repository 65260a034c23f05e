"""Two machines of a page each: to try the simulation with, and to see what a machine is.

They are not protocols: nobody else speaks what they speak.
"""

from __future__ import annotations

from typing import TypeAlias

from rumormill.core import trace
from rumormill.core.machine import (
    Check,
    Checked,
    Deliver,
    PeerJoined,
    PeerLeft,
    Publish,
    Received,
    Send,
    Verdict,
)
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    OpenTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
)
from rumormill.simulate.levels.peers import PeerLevelInput
from rumormill.simulate.levels.transports import TransportLevelInput

FloodEffect: TypeAlias = Send | Deliver | Check | TraceEvent
EchoEffect: TypeAlias = OpenTransport | WriteBytes


class Flood:
    """Passes every message on to every peer (level ``"peers"``); ``Publish`` starts one.

    A packet is eight bytes of id, then the data. With ``check`` every new message is checked
    before it is passed on.
    """

    protocols = ("/toy/flood/1",)
    topic = "flood"

    def __init__(self, name: str, *, check: bool = False) -> None:
        self.name = name
        self.peers: dict[str, None] = {}
        self._check = check
        self._seen: dict[bytes, None] = {}
        self._checking: dict[int, tuple[str, bytes]] = {}
        self._tokens = 0

    def handle(self, input: PeerLevelInput | Publish, now: float) -> list[FloodEffect]:
        """Take a packet, a peer event, a verdict or a ``Publish``."""
        if isinstance(input, Received):
            return self._received(input.peer, input.packet, now)
        if isinstance(input, PeerJoined):
            self.peers[input.peer] = None
        elif isinstance(input, PeerLeft):
            self.peers.pop(input.peer, None)
        elif isinstance(input, Checked):
            sender, packet = self._checking.pop(input.token)
            if input.verdict == Verdict.ACCEPT:
                return self._pass_on(sender, packet, now)
        elif isinstance(input, Publish):
            return self._publish(input.data, now)
        return []

    def wake(self, now: float) -> list[FloodEffect]:
        """There are no timers."""
        return []

    def next_wake(self) -> float | None:
        """There are no timers."""
        return None

    def _publish(self, data: bytes, now: float) -> list[FloodEffect]:
        self._tokens += 1
        packet = f"{self.name}{self._tokens:x}".encode()[-8:].rjust(8, b"-") + data
        self._seen[packet[:8]] = None
        effects: list[FloodEffect] = [self._event(now, trace.PUBLISHED, packet, None)]
        effects.extend(Send(peer, packet) for peer in self.peers)
        return effects

    def _received(self, peer: str, packet: bytes, now: float) -> list[FloodEffect]:
        if packet[:8] in self._seen:
            return [self._event(now, trace.DUPLICATE, packet, peer)]
        self._seen[packet[:8]] = None
        if not self._check:
            return self._pass_on(peer, packet, now)
        self._tokens += 1
        self._checking[self._tokens] = peer, packet
        return [Check(self._tokens, packet)]

    def _pass_on(self, sender: str, packet: bytes, now: float) -> list[FloodEffect]:
        effects: list[FloodEffect] = [
            self._event(now, trace.DELIVERED, packet, sender),
            Deliver(Message(self.topic, packet[8:], id=packet[:8], received_from=sender)),
        ]
        effects.extend([Send(peer, packet) for peer in self.peers if peer != sender])
        return effects

    def _event(self, now: float, event: str, packet: bytes, peer: str | None) -> TraceEvent:
        return TraceEvent(now, self.name, event, self.topic, packet[:8], peer)


class Echo:
    """Sends back every byte (level ``"transports"``); a ``Dial`` makes it speak first.

    >>> echo = Echo(b"ping")
    >>> echo.handle(TransportOpened(1, "10.0.0.2:4001", dial=None), 0.0)
    []
    >>> echo.handle(BytesReceived(1, b"hello"), 0.5)
    [WriteBytes(connection=1, data=b'hello')]
    """

    def __init__(self, greeting: bytes = b"") -> None:
        self.greeting = greeting
        """What is written on each connection that we dialed; what comes back is not echoed."""
        self.dialed: dict[int, bytes] = {}
        """What came back, by connection."""
        self.events: list[tuple[float, TransportLevelInput]] = []
        """Every input but bytes."""
        self._dials = 0

    def handle(self, input: TransportLevelInput, now: float) -> list[EchoEffect]:
        """Take bytes, or what happens to a transport."""
        if isinstance(input, BytesReceived):
            return self._received(input)
        self.events.append((now, input))
        if isinstance(input, Dial):
            self._dials += 1
            return [OpenTransport(self._dials, input.address)]
        if isinstance(input, TransportOpened) and input.dial is not None:
            self.dialed[input.connection] = b""
            return [WriteBytes(input.connection, self.greeting)]
        return []

    def wake(self, now: float) -> list[EchoEffect]:
        """There are no timers."""
        return []

    def next_wake(self) -> float | None:
        """There are no timers."""
        return None

    def _received(self, input: BytesReceived) -> list[EchoEffect]:
        if input.connection not in self.dialed:
            return [WriteBytes(input.connection, input.data)]
        self.dialed[input.connection] += input.data
        return []

    def problems(self) -> list[str]:
        """How dials and connections failed or ended, in order."""
        ends = (TransportFailed, TransportClosed)
        return [input.reason for _, input in self.events if isinstance(input, ends)]
