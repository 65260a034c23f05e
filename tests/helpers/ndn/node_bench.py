"""One node by hand: programs and strangers at the other ends are what a test writes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from rumormill.core.machine import Received, Send
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import BytesReceived, TransportOpened, WriteBytes
from rumormill.ndn.node.machine import NodeMachine
from rumormill.ndn.routing.mail import Mail
from rumormill.ndn.routing.messages import PREFIX, Hello, RoutingMessage, node_with_epoch
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import (
    ControlParameters,
    ControlResponse,
    decode_response,
    encode_command,
)
from rumormill.ndn.wire.data import DATA, Data, decode_data, encode_data
from rumormill.ndn.wire.interest import Interest, decode_interest
from rumormill.ndn.wire.link import LINK_PACKET, decode_link
from rumormill.ndn.wire.name import Name, name_from_uri
from rumormill.ndn.wire.stream import Packets
from tests.helpers.ndn.nodes import new_node

Kind = TypeVar("Kind")

STRANGER = node_with_epoch(name_from_uri("/stranger"), b"epoch..1")


class NodeBench:
    """A node called ``/us``."""

    def __init__(self, **keys: Any) -> None:
        self.now = 100.0
        self.effects: list[object] = []
        self.machine: NodeMachine = new_node("us", **keys)
        self._connections = 0
        self.ends: list[End] = []

    def feed(self, input: Any) -> Sequence[object]:
        """One turn."""
        effects = self.machine.handle(input, self.now)
        self._carry_out(effects)
        return effects

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while (when := self.machine.next_wake()) is not None and when <= until:
            self.now = max(self.now, when)
            self._carry_out(self.machine.wake(self.now))
        self.now = until

    def _carry_out(self, effects: Sequence[object]) -> None:
        self.effects += effects
        for effect in effects:
            for end in self.ends:
                end.take(effect)

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The effects of a kind."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def events(self, event: str, **fields: Any) -> list[TraceEvent]:
        """The trace events of a kind, with these fields."""
        return [
            each
            for each in self.of(TraceEvent)
            if each.event == event
            and all(each.fields.get(key) == value for key, value in fields.items())
        ]

    def connect(self, address: str = "unix:///run/us.sock#1", dial: int | None = None) -> StreamEnd:
        """Somebody connects, or what was dialed is reached."""
        self._connections += 1
        end = StreamEnd(self, self._connections)
        self.ends.append(end)
        self.feed(TransportOpened(self._connections, address, dial))
        return end

    def datagrams(self, address: str = "udp://192.0.2.7:6363") -> DatagramEnd:
        """Somebody who may send datagrams."""
        end = DatagramEnd(self, address)
        self.ends.append(end)
        return end


class End:
    """Somebody at the other end of a face."""

    def __init__(self, bench: NodeBench) -> None:
        self.bench = bench
        self.interests: list[Interest] = []
        self.data: list[Data] = []
        self.nacks: list[tuple[Interest, int]] = []
        self._mail = Mail(Random(1))

    def take(self, effect: object) -> None:
        """The node wants something; perhaps it is for us."""

    def send(self, raw: bytes) -> None:
        """Send bytes to the node."""
        raise NotImplementedError

    def packet(self, raw: bytes) -> None:
        """A packet came from the node."""
        nack = None
        if raw[0] == LINK_PACKET:
            link = decode_link(raw)
            raw, nack = link.fragment, link.nack
        if raw[0] == DATA:
            self.data.append(decode_data(raw))
        elif nack is not None:
            self.nacks.append((decode_interest(raw), nack))
        else:
            self.interests.append(decode_interest(raw))

    # ---- programs

    def command(self, verb: str, **parameters: Any) -> ControlResponse:
        """Give a command, and read the answer."""
        interest = encode_command(
            name_from_uri(f"/localhost/nfd/{verb}"), ControlParameters(**parameters), form="v0.3",
            nonce=b"1234", timestamp_ms=round(self.bench.now * 1000) + len(self.data),
            random_bytes=b"12345678", signer=DigestSigner(),
        )  # fmt: skip
        self.send(interest.raw)
        answer = self.data[-1]
        assert answer.name == interest.name
        return decode_response(answer.content or b"")

    def register(self, prefix: str, **parameters: Any) -> None:
        """Want what is below a prefix."""
        response = self.command("rib/register", name=name_from_uri(prefix), **parameters)
        assert response.code == 200, response

    def unregister(self, prefix: str) -> None:
        """Want it no more."""
        assert self.command("rib/unregister", name=name_from_uri(prefix)).code == 200

    def answer(self, name: Name, content: bytes = b"") -> None:
        """Send a Data."""
        self.send(encode_data(name, content, DigestSigner()).raw)

    # ---- neighbours

    def say(self, message: RoutingMessage) -> Interest:
        """Say something as neighbours do."""
        return self._mail.send(self, message)  # type: ignore[arg-type]

    def send_interest(self, interest: Interest) -> None:
        """What :class:`Mail` needs of a face."""
        self.send(interest.raw)

    def answer_routing(self) -> list[RoutingMessage]:
        """Answer all that the node says as neighbours do, and return it."""
        found = [each for each in self.interests if each.name.startswith(PREFIX)]
        self.interests = [each for each in self.interests if each not in found]
        for interest in found:
            self.answer(interest.name)
        return [Mail.read(each) for each in found]

    def become_neighbour(self, node: Name = STRANGER) -> None:
        """Say hello and answer those of the node."""
        self.say(Hello(node, 0, bytes(8)))
        for _ in range(3):
            self.answer_routing()


class StreamEnd(End):
    """At the other end of a connection."""

    def __init__(self, bench: NodeBench, connection: int) -> None:
        super().__init__(bench)
        self.connection = connection
        self._packets = Packets()

    def take(self, effect: object) -> None:
        if isinstance(effect, WriteBytes) and effect.connection == self.connection:
            for raw in self._packets.feed(effect.data):
                self.packet(raw)

    def send(self, raw: bytes) -> None:
        self.bench.feed(BytesReceived(self.connection, raw))


class DatagramEnd(End):
    """Somebody who sends datagrams."""

    def __init__(self, bench: NodeBench, address: str) -> None:
        super().__init__(bench)
        self.address = address

    def take(self, effect: object) -> None:
        if isinstance(effect, Send) and effect.peer == self.address:
            self.packet(effect.packet)

    def send(self, raw: bytes) -> None:
        self.bench.feed(Received(self.address, raw))
