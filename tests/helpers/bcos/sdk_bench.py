"""An SDK machine by hand: its nodes are what a test writes, the time is what a test says."""

from __future__ import annotations

import json
import random
from typing import Any, TypeVar

from rumormill.bcos.effects import SdkInput
from rumormill.bcos.sdk.machine import SdkMachine
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.private_topics import TopicKeys
from rumormill.bcos.wire.channel_packet import (
    HEADER_SIZE,
    ChannelPacket,
    ChannelType,
    decode_channel,
    encode_channel,
)
from rumormill.bcos.wire.frames import FrameReader
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core.machine import Check, Checked, Verdict
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    Dial,
    OpenTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
)

Kind = TypeVar("Kind")

SEQ = b"00112233445566778899aabbccddeeff"


def seq(number: int) -> bytes:
    """A seq of its own for every number."""
    return b"%032x" % number


class SdkBench:
    """A machine, all that it wanted, and the other ends of its connections."""

    def __init__(
        self, keys: TopicKeys | None = None, seed: int = 1, accept: bool = True, **parameters: Any
    ) -> None:
        self.machine = SdkMachine(
            name="sdk", network="bcos-sdk", parameters=SdkParameters(**parameters),
            random=random.Random(seed), keys=keys or TopicKeys(),
        )  # fmt: skip
        self.now = 1000.0
        self.effects: list[object] = []
        self.accept = accept
        """Whether messages are accepted as soon as they are to be checked."""
        self._connections = 0

    # ---- driving

    def feed(self, input: SdkInput) -> None:
        """Give it an input, and carry out what is always the same."""
        self._take(self.machine.handle(input, self.now))

    def wake(self) -> None:
        """What is due now."""
        for _ in range(100):
            due = self.machine.next_wake()
            if due is None or due > self.now:
                return
            self._take(self.machine.wake(self.now))
        raise AssertionError("it wants to be woken for ever")

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake it whenever it wants."""
        end = self.now + seconds
        while (due := self.machine.next_wake()) is not None and due <= end:
            self.now = max(self.now, due)
            self._take(self.machine.wake(self.now))
        self.now = end

    def _take(self, effects: list[object]) -> None:
        self.effects += effects
        if self.accept:
            for effect in effects:
                if isinstance(effect, Check):
                    self.feed(Checked(effect.token, Verdict.ACCEPT))

    # ---- looking

    def take(self, kind: type[Kind]) -> list[Kind]:
        """All effects of a type since the last look; they are gone then."""
        found = [each for each in self.effects if isinstance(each, kind)]
        self.effects = [each for each in self.effects if not isinstance(each, kind)]
        return found

    def events(self, name: str) -> list[TraceEvent]:
        """The trace events of a kind so far."""
        return [e for e in self.effects if isinstance(e, TraceEvent) and e.event == name]

    # ---- nodes

    def dial(self, address: str, keep: bool = True) -> int:
        """Ask for a node: the number of the dial."""
        self.feed(Dial(address, keep))
        return self.take(OpenTransport)[-1].dial

    def opened(self, address: str, dial: int) -> ScriptedNode:
        """The transport of a dial stands."""
        self._connections += 1
        node = ScriptedNode(self, self._connections, address)
        self.feed(TransportOpened(self._connections, address, dial))
        return node

    def node(self, address: str = "127.0.0.1:20200", protocol: int = 3) -> ScriptedNode:
        """A node that has shaken hands; the packets up to then are taken."""
        node = self.opened(address, self.dial(address))
        node.shake(protocol)
        self.wake()
        return node


class ScriptedNode:
    """The other end of a connection: says what a test says."""

    def __init__(self, bench: SdkBench, number: int, address: str) -> None:
        self.bench = bench
        self.number = number
        self.address = address
        self._reader = FrameReader(HEADER_SIZE)
        self._read: list[ChannelPacket] = []

    def packets(self, kind: int | None = None) -> list[ChannelPacket]:
        """What the SDK has sent it since the last look, of one type if it is given."""
        bench = self.bench
        mine = [e for e in bench.effects if isinstance(e, WriteBytes) and e[0] == self.number]
        bench.effects = [
            e for e in bench.effects if not (isinstance(e, WriteBytes) and e[0] == self.number)
        ]
        for write in mine:
            cut = [decode_channel(raw) for raw in self._reader.feed(write.data)]
            assert len(cut) == 1, "a write that is not one packet"
            self._read += cut
        found = [each for each in self._read if kind in (None, each.type)]
        self._read = [each for each in self._read if kind not in (None, each.type)]
        return found

    def packet(self, kind: int) -> ChannelPacket:
        """The one packet of a type that the SDK has sent since the last look."""
        (found,) = self.packets(kind)
        return found

    def topics(self) -> list[str]:
        """The last set of topics that it was told."""
        topics: list[str] = json.loads(self.packets(ChannelType.SUBSCRIBE)[-1].data)
        return topics

    def send(self, kind: int, seq: bytes, data: bytes = b"", result: int = 0) -> None:
        """Say something."""
        raw = encode_channel(ChannelPacket(kind, seq, result, data))
        self.bench.feed(BytesReceived(self.number, raw))

    def raw(self, data: bytes) -> None:
        """Say something that need not be a packet."""
        self.bench.feed(BytesReceived(self.number, data))

    def message(
        self, topic: str, data: bytes, seq: bytes = SEQ, kind: int = ChannelType.MULTICAST
    ) -> None:
        """Pass a message on to the SDK."""
        self.send(kind, seq, encode_body(topic, data))

    def shake(self, protocol: int = 3) -> None:
        """Answer the handshake."""
        asked = self.packet(ChannelType.HANDSHAKE)
        answer = {"nodeVersion": "2.9.1", "protocol": protocol}
        self.send(ChannelType.HANDSHAKE, asked.seq, json.dumps(answer).encode() + b"\n")

    def answer_calls(self, result: object) -> list[dict[str, Any]]:
        """Answer each JSON-RPC question with a result; what was asked."""
        asked = []
        for packet in self.packets(ChannelType.RPC):
            asked.append(json.loads(packet.data))
            reply = {"jsonrpc": "2.0", "id": 1, "result": result}
            self.send(ChannelType.RPC, packet.seq, json.dumps(reply).encode())
        return asked

    def refuse_calls(self) -> list[dict[str, Any]]:
        """Answer each JSON-RPC question with an error; what was asked."""
        asked = []
        for packet in self.packets(ChannelType.RPC):
            asked.append(json.loads(packet.data))
            reply = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "?"}}
            self.send(ChannelType.RPC, packet.seq, json.dumps(reply).encode())
        return asked

    def vanish(self) -> None:
        """The connection is gone."""
        self.bench.feed(TransportClosed(self.number, "connection_reset"))

    @property
    def closed(self) -> list[str]:
        """Why the SDK has closed the connection, if it has."""
        effects = self.bench.effects
        return [e.reason for e in effects if isinstance(e, CloseTransport) and e[0] == self.number]
