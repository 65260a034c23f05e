"""An SDK on a network of machines that says what the test wants, and answers as real ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rumormill.bcos.node.machine import CHANNEL
from rumormill.bcos.wire.channel_packet import (
    HEADER_SIZE,
    ChannelPacket,
    ChannelType,
    decode_channel,
    encode_channel,
)
from rumormill.bcos.wire.frames import FrameReader
from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    OpenTransport,
    TransportOpened,
    WriteBytes,
)
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Nodes, channel_of

Line = tuple[str, str, ChannelPacket | P2PPacket]
"""Who sent what to whom."""


class ScriptedSdk:
    """The machine of an SDK: takes packets to send, and hands those that come to ``hears``."""

    def __init__(self) -> None:
        self._connection = 0
        self._reader = FrameReader(HEADER_SIZE)
        self.got: list[ChannelPacket] = []
        self.hears: Callable[[ChannelPacket], list[ChannelPacket]] = _answer_requests

    def handle(self, input: Any, now: float) -> list[Any]:
        match input:
            case Dial(address):
                return [OpenTransport(1, address)]
            case TransportOpened(connection):
                self._connection = connection
            case ChannelPacket():
                return [WriteBytes(self._connection, encode_channel(input))]
            case BytesReceived(_, data):
                return self._read(data)
        return []

    def wake(self, now: float) -> list[Any]:
        return []

    def next_wake(self) -> float | None:
        return None

    def _read(self, data: bytes) -> list[Any]:
        answers = []
        for raw in self._reader.feed(data):
            packet = decode_channel(raw)
            self.got.append(packet)
            answers += self.hears(packet)
        return [WriteBytes(self._connection, encode_channel(answer)) for answer in answers]


def _answer_requests(packet: ChannelPacket) -> list[ChannelPacket]:
    """What an SDK does by itself: a message is answered with its topic."""
    if packet.type != ChannelType.REQUEST:
        return []
    return [ChannelPacket(ChannelType.RESPONSE, packet.seq, 0, packet.data[: packet.data[0]])]


def add_sdk(network: Nodes, name: str, node: str) -> ScriptedSdk:
    """An SDK that is connected to a node."""
    sdk = ScriptedSdk()
    network.add(name, sdk, credentials=credentials_of(99))
    network.feed(name, Dial(channel_of(node)))
    return sdk


def lines(network: Nodes) -> list[Line]:
    """All packets that were sent since the last time, in order."""
    sent = [
        (
            each.source,
            each.destination,
            decode_channel(each.raw) if each.service == CHANNEL else each.p2p,
        )
        for each in network.sent
    ]
    network.sent.clear()
    return sent


# ---- packets


def seq(number: int) -> bytes:
    """A seq that looks like a uuid in hex."""
    return b"%032x" % (0xFEDCBA << 64 | number)


def subscribe(*topics: str) -> ChannelPacket:
    """What an SDK subscribes with."""
    written = ",".join(f'"{topic}"' for topic in topics)
    return ChannelPacket(ChannelType.SUBSCRIBE, seq(0), 0, f"[{written}]".encode())


def unicast(number: int, topic: str, data: bytes) -> ChannelPacket:
    return ChannelPacket(ChannelType.REQUEST, seq(number), 0, encode_body(topic, data))


def multicast(number: int, topic: str, data: bytes) -> ChannelPacket:
    return ChannelPacket(ChannelType.MULTICAST, seq(number), 0, encode_body(topic, data))


def response(number: int, topic: str, data: bytes) -> ChannelPacket:
    return ChannelPacket(ChannelType.RESPONSE, seq(number), 0, encode_body(topic, data))


def topic_seq(number: int) -> P2PPacket:
    """A node tells the seq of its topics."""
    return P2PPacket(2, 1, 0, b"%d" % number)


def topic_question(packet_seq: int) -> P2PPacket:
    """A node asks for the list."""
    return P2PPacket(2, 2, packet_seq)


def topic_list(packet_seq: int, number: int, *topics: str) -> P2PPacket:
    """The list of a node."""
    return P2PPacket(-2, 3, packet_seq, "\t".join((str(number), *topics)).encode())


def carries(packet_seq: int, packet: ChannelPacket, kind: int = 0) -> P2PPacket:
    """A node passes a message on."""
    return P2PPacket(1, kind, packet_seq, encode_channel(packet))


def carries_back(packet_seq: int, packet: ChannelPacket) -> P2PPacket:
    """A node passes an answer on."""
    return P2PPacket(-1, 0, packet_seq, encode_channel(packet))
