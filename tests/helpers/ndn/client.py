"""A client by hand: its forwarders are what a test says, or scripted ones that take commands."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from rumormill.core.machine import Check, Checked, Received, Send, Verdict
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
from rumormill.ndn.client.machine import ClientMachine
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.effects import NdnInput
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import (
    Command,
    ControlResponse,
    encode_response,
    read_command,
)
from rumormill.ndn.wire.data import DATA, Data, decode_data, encode_data
from rumormill.ndn.wire.interest import Interest, decode_interest
from rumormill.ndn.wire.link import NackReason, decode_link, encode_link
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri
from rumormill.ndn.wire.stream import Packets

Kind = TypeVar("Kind")

FORWARDER = "tcp://127.0.0.1:6363"
ALICE = name_from_uri("/alice")
MESSAGES = name_from_uri("/alice/msg")
"""What /alice registers to be fetched from."""


class ClientBench:
    """A machine, all that it wanted, and the other ends of its connections."""

    def __init__(
        self,
        *,
        seed: int = 1,
        now: float = 1_700_000_000.0,
        faces: FaceParameters | None = None,
        pubsub: PubSubParameters | None = None,
        **client: Any,
    ) -> None:
        self.machine = ClientMachine(
            ALICE, Random(seed), name="client", client=ClientParameters(**client),
            faces=faces or FaceParameters(redial_jitter=0), pubsub=pubsub,
        )  # fmt: skip
        self.now = now
        self.effects: list[object] = []
        """All that it wanted, but what is below."""
        self.written: dict[int, list[bytes]] = {}
        """What it has written, by connection; 0 is for datagrams."""
        self._connections = 0

    # ---- driving

    def feed(self, input: NdnInput) -> None:
        """Give it an input; all messages are accepted."""
        self._take(self.machine.handle(input, self.now))

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake it whenever it wants."""
        end = self.now + seconds
        for _ in range(100_000):
            due = self.machine.next_wake()
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self._take(self.machine.wake(self.now))
        else:
            raise AssertionError("it wants to be woken for ever")
        self.now = end

    def _take(self, effects: list[object]) -> None:
        for effect in effects:
            match effect:
                case WriteBytes(connection, data):
                    self.written.setdefault(connection, []).append(data)
                case Send(_, packet):
                    self.written.setdefault(0, []).append(packet)
                case _:
                    self.effects.append(effect)
        for effect in effects:
            if isinstance(effect, Check):
                self.feed(Checked(effect.token, Verdict.ACCEPT))

    # ---- looking

    def take(self, kind: type[Kind]) -> list[Kind]:
        """All effects of a type since the last look; they are gone then."""
        found = [each for each in self.effects if isinstance(each, kind)]
        self.effects = [each for each in self.effects if not isinstance(each, kind)]
        return found

    def events(self, name: str, **fields: object) -> list[TraceEvent]:
        """The trace events of a kind so far, with such fields."""
        return [
            each
            for each in self.effects
            if isinstance(each, TraceEvent)
            and each.event == name
            and all(each.fields.get(key) == value for key, value in fields.items())
        ]

    def routes(self) -> list[str]:
        """Prefixes whose routes stand, as far as was told, in the order of telling."""
        return [str(event.fields["prefix"]) for event in self.events("route_stands")]

    def problems(self) -> list[str]:
        """What was told of routes that do not."""
        return [str(event.fields["reason"]) for event in self.events("route_refused")]

    # ---- forwarders

    def dial(self, address: str = FORWARDER, keep: bool = True) -> int:
        """Name a forwarder: the number of the dial, or 0 by UDP."""
        self.feed(Dial(address, keep))
        return self.last_dial()

    def last_dial(self) -> int:
        """The number of the last dial."""
        opened = self.take(OpenTransport)
        return opened[-1].dial if opened else 0

    def fail(self, dial: int, reason: str = "connection_refused") -> None:
        """A dial comes to nothing."""
        self.feed(TransportFailed(dial, reason))

    def forwarder(self, address: str = FORWARDER, dial: int | None = None) -> ScriptedForwarder:
        """A forwarder that was dialed, and is connected."""
        number = self.dial(address) if dial is None else dial
        if not address.startswith("udp:"):
            self._connections += 1
            forwarder = ScriptedForwarder(self, address, self._connections)
            self.feed(TransportOpened(self._connections, address, number))
            return forwarder
        return ScriptedForwarder(self, address, 0)


class ScriptedForwarder:
    """The other end of an uplink: reads what the client sends, and says what a test says."""

    def __init__(self, bench: ClientBench, address: str, connection: int) -> None:
        self.bench = bench
        self.address = address
        self.connection = connection
        self._packets = Packets()
        self.routes: dict[Name, None] = {}
        """What it was asked for, and has granted."""

    # ---- what came

    def received(self) -> list[bytes]:
        """Packets of the client since the last look."""
        written = self.bench.written.pop(self.connection, [])
        if not self.connection:
            return written
        return [raw for piece in written for raw in self._packets.feed(piece)]

    def interests(self) -> list[Interest]:
        """Interests of the client since the last look; what else came is gone."""
        links = [decode_link(raw) for raw in self.received()]
        return [
            decode_interest(link.fragment)
            for link in links
            if link.nack is None and link.fragment[0] != DATA
        ]

    def answers(self) -> list[Data]:
        """Data of the client since the last look; what else came is gone."""
        fragments = [decode_link(raw).fragment for raw in self.received()]
        return [decode_data(raw) for raw in fragments if raw[0] == DATA]

    def commands(self) -> list[tuple[Command, Interest]]:
        """Commands of the client since the last look; what else came is gone."""
        return [
            (read_command(each), each)
            for each in self.interests()
            if each.name.startswith((LOCALHOST, LOCALHOP))
        ]

    # ---- what it says

    def send(self, raw: bytes) -> None:
        """Send bytes to the client."""
        if self.connection:
            self.bench.feed(BytesReceived(self.connection, raw))
        else:
            self.bench.feed(Received(self.address, raw))

    def answer(self, interest: Interest, code: int = 200, text: str = "OK") -> None:
        """Answer a command."""
        content = encode_response(ControlResponse(code, text))
        self.send(encode_data(interest.name, content, DigestSigner()).raw)

    def nack(self, interest: Interest, reason: int = NackReason.NO_ROUTE) -> None:
        """Say that an Interest cannot be answered."""
        self.send(encode_link(interest.raw, nack=reason))

    def serve(
        self, allow: Callable[[Command], bool] = lambda command: True, most: int = 100_000
    ) -> list[Command]:
        """Carry out commands, and what comes of that, as long as there are some."""
        served: list[Command] = []
        while len(served) < most and (commands := self.commands()):
            for command, interest in commands:
                served.append(command)
                if not allow(command):
                    self.answer(interest, 403, "Unauthorized")
                    continue
                assert command.parameters.name is not None
                if command.verb == "register":
                    self.routes[command.parameters.name] = None
                else:
                    self.routes.pop(command.parameters.name, None)
                self.answer(interest)
        return served

    def leave(self, reason: str = "closed") -> None:
        """Hang up."""
        self.bench.feed(TransportClosed(self.connection, reason))

    def granted(self) -> list[str]:
        """What it was asked for, and has granted."""
        return [name_to_uri(name) for name in self.routes]


LOCALHOST = name_from_uri("/localhost/nfd")
LOCALHOP = name_from_uri("/localhop/nfd")
