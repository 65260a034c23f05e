"""The SDK side of a node without its other side: SDKs speak bytes, the other nodes are made up."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

from rumormill.bcos.amop.amop import Amop
from rumormill.bcos.amop.application import Application, ApplicationInput
from rumormill.bcos.amop.ports import NodeFacts, PayloadDone
from rumormill.bcos.certificates.identity import Identity
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.channel.server import ChannelServer
from rumormill.bcos.node.topic_board import TopicBoard
from rumormill.bcos.wire.channel_packet import (
    ChannelPacket,
    ChannelType,
    decode_channel,
    encode_channel,
)
from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Check, Checked, Verdict
from rumormill.core.timers import Alarm
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import CloseTransport, RestTransport, WriteBytes
from rumormill.core.turn import Turn

Kind = TypeVar("Kind")

OUR_ID = "ab" * 64
ISSUER = "CN=agency,O=fisco-bcos"


def node_id(letter: str) -> str:
    """An id of 128 hex digits."""
    return letter * 128


def seq(number: int) -> bytes:
    """A seq that looks like a uuid in hex."""
    return b"%032x" % (0xABCDEF << 64 | number)


def identify(credentials: bytes) -> Identity:
    """Stands in for the reading of certificates: the credentials are the issuer, and a name."""
    if not credentials:
        raise RemoteProtocolError("no_certificate")
    issuer, _, name = credentials.decode().partition("/")
    return Identity("", name, "agency", issuer)


class Asked(NamedTuple):
    """A question to another node."""

    node: str
    kind: int
    packet: ChannelPacket
    timeout: float
    done: PayloadDone


class MadeUpNodes:
    """Other nodes that do what the test says."""

    def __init__(self) -> None:
        self.topics: dict[str, list[str]] = {}
        self.asked: list[Asked] = []
        self.pushed: list[tuple[str, int, ChannelPacket]] = []
        self.answered: list[tuple[str, P2PPacket, ChannelPacket]] = []
        self.full: set[str] = set()
        self.broken: set[str] = set()
        """Who cannot be sent anything."""
        self.relays = False
        self._seen: set[bytes] = set()

    def holders(self, topic: str) -> Sequence[str]:
        return [node for node, topics in self.topics.items() if topic in topics]

    def connected(self) -> Sequence[str]:
        return list(self.topics)

    def topics_of(self, node: str) -> Sequence[str]:
        return sorted(self.topics.get(node, ()))

    def facts(self, node: str) -> NodeFacts:
        return NodeFacts("127.0.0.1:30300", "agency", "node")

    def free(self, node: str) -> bool:
        return node not in self.full

    def push(self, node: str, kind: int, payload: bytes) -> bool:
        if node in self.broken:
            return False
        self.pushed.append((node, kind, decode_channel(payload)))
        return True

    def ask(self, node: str, kind: int, payload: bytes, timeout: float, done: PayloadDone) -> None:
        if node in self.broken:
            done(None, "not_sent")
        else:
            self.asked.append(Asked(node, kind, decode_channel(payload), timeout, done))

    def answer(self, node: str, packet: P2PPacket, payload: bytes) -> bool:
        if node in self.broken:
            return False
        self.answered.append((node, packet, decode_channel(payload)))
        return True

    def relay_targets(self, topic: str, source: str, everywhere: bool) -> Sequence[str]:
        nodes = self.connected() if everywhere else self.holders(topic)
        return [node for node in nodes if node != source] if self.relays else []

    def first_time(self, message_id: bytes) -> bool:
        known = message_id in self._seen
        self._seen.add(message_id)
        return not self.relays or not known


class Sdk:
    """One SDK that is connected: sends packets, and reads what it is written."""

    def __init__(self, side: SdkSide, connection: int) -> None:
        self.side = side
        self.connection = connection
        self.peer = f"sdk-{connection}"
        """What the node calls it in trace events, unless its certificate has a name."""

    def send(
        self, kind: int, seq: bytes = seq(0), data: bytes = b"", result: int = 0
    ) -> list[ChannelPacket]:
        """Send a packet; returns what it is answered with at once."""
        self.write(encode_channel(ChannelPacket(kind, seq, result, data)))
        return self.take()

    def write(self, raw: bytes) -> None:
        self.side.server.received(self.connection, raw)
        self.side.settle()

    def subscribe(self, *topics: str) -> None:
        written = ",".join(f'"{topic}"' for topic in topics)
        assert self.send(ChannelType.SUBSCRIBE, data=f"[{written}]".encode()) == []

    def unicast(self, topic: str, data: bytes, seq: bytes) -> list[ChannelPacket]:
        return self.send(ChannelType.REQUEST, seq, encode_body(topic, data))

    def multicast(self, topic: str, data: bytes, seq: bytes) -> list[ChannelPacket]:
        return self.send(ChannelType.MULTICAST, seq, encode_body(topic, data))

    def answer(self, to: ChannelPacket, data: bytes = b"") -> list[ChannelPacket]:
        """Answer as SDKs do: with the same topic, and the same seq."""
        body = to.data[: to.data[0]] + data
        return self.send(ChannelType.RESPONSE, to.seq, body)

    def take(self) -> list[ChannelPacket]:
        """What it was written since the last time."""
        written = self.side.written.pop(self.connection, [])
        return [decode_channel(raw) for raw in written]

    @property
    def closed(self) -> str | None:
        """Why its connection was closed."""
        return self.side.closed(self.connection)

    def leave(self) -> None:
        self.side.server.closed(self.connection, "closed")
        self.side.settle()

    def full(self, full: bool) -> None:
        """Its socket takes no more, or does again."""
        self.side.server.write_ready(self.connection, not full)
        self.side.settle()


class SdkSide:
    """The SDK side of one node."""

    def __init__(self, seed: int = 1, accept: bool = True, **parameters: Any) -> None:
        self.now = 0.0
        self.turn = Turn(OUR_ID)
        self.board = TopicBoard()
        self.nodes = MadeUpNodes()
        self.effects: list[Any] = []
        self.written: dict[int, list[bytes]] = {}
        """What each SDK was written and has not read: each packet in a write of its own."""
        self._accept = accept
        self.useful = True
        """Whether the last packet of another node was of use."""
        settings, alarm, random = ChannelParameters(**parameters), Alarm(), Random(seed)
        self.amop = Amop(self.turn, self.board, self.nodes, random, settings)
        self.application = Application(self.turn, self.amop, random, "test", alarm)
        self.server = ChannelServer(self.turn, self.amop, identify, (ISSUER,), settings, alarm)
        self._connections = 0

    def settle(self) -> None:
        """Keep what was wanted; checks of the application are answered at once."""
        effects = self.turn.take()
        self.effects += effects
        for effect in effects:
            if isinstance(effect, WriteBytes):
                self.written.setdefault(effect.connection, []).append(effect.data)
            if isinstance(effect, Check) and self._accept:
                self.application.handle(Checked(effect.token, Verdict.ACCEPT))
                self.settle()

    def sdk(self, *topics: str, credentials: bytes = ISSUER.encode()) -> Sdk:
        """An SDK connects, and listens to topics."""
        self._connections += 1
        sdk = Sdk(self, self._connections)
        self.server.opened(sdk.connection, f"127.0.0.1:{40000 + sdk.connection}", credentials)
        self.settle()
        if topics:
            sdk.subscribe(*topics)
        return sdk

    def feed(self, *inputs: ApplicationInput) -> None:
        """The application says something."""
        for each in inputs:
            self.application.handle(each)
            self.settle()

    def arrives(self, node: str, packet: ChannelPacket, kind: int = 0, seq: int = 7) -> P2PPacket:
        """A packet of AMOP comes from another node."""
        outer = P2PPacket(1, kind, seq, encode_channel(packet))
        self.useful = self.amop.received(node, outer)
        self.settle()
        return outer

    def node_has(self, node: str, *topics: str) -> None:
        """Another node says what it listens to."""
        self.nodes.topics[node] = list(topics)
        self.amop.topics_changed(node)
        self.settle()

    def confirmed(self, node: str) -> None:
        """Another node says that nothing has changed."""
        self.amop.topics_confirmed(node)
        self.settle()

    def node_leaves(self, node: str) -> None:
        self.nodes.topics.pop(node, None)
        self.amop.node_left(node)
        self.settle()

    def replies(self, asked: Asked, packet: ChannelPacket) -> None:
        """Another node answers a question."""
        asked.done(encode_channel(packet), "")
        self.settle()

    def fails(self, asked: Asked, problem: str = "timed_out") -> None:
        """Another node does not."""
        asked.done(None, problem)
        self.settle()

    def passes(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds
        self.turn.begin(self.now)
        self.server.wake(self.now)
        self.application.wake(self.now)
        self.settle()

    def closed(self, connection: int) -> str | None:
        """Why a connection was closed; None if it was not."""
        for effect in self.of(CloseTransport):
            if effect.connection == connection:
                return effect.reason
        return None

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The effects of a kind."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rests(self, sdk: Sdk) -> list[RestTransport]:
        return [each for each in self.of(RestTransport) if each.connection == sdk.connection]

    def traced(self, event: str) -> list[TraceEvent]:
        """The trace events of a kind."""
        return [each for each in self.of(TraceEvent) if each.event == event]

    def reasons(self, event: str) -> list[object]:
        """Why, in the trace events of a kind."""
        return [each.fields.get("reason") for each in self.traced(event)]

    def sizes(self) -> dict[str, int]:
        """All that the SDK side keeps."""
        return {**self.amop.sizes(), **self.application.sizes(), **self.server.sizes()}
