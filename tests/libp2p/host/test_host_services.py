"""identify and ping, against a peer that the test plays."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import PeerJoined
from rumormill.core.transport import Dial, Listening, WriteBytes
from rumormill.libp2p.host.keeper import STREAM_REFUSED
from rumormill.libp2p.stack.connection import (
    StreamData,
    StreamEnded,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.identify import (
    IDENTIFY,
    IDENTIFY_PUSH,
    IdentifyInfo,
    decode_identify,
    encode_identify,
)
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.ping import PING
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from tests.helpers.libp2p.host_net import FAKE_PROTOCOL, FakePubsub, HostNet, key

BOB = key("bob").peer
BOB_ADDRESS = "/ip4/10.0.0.1/tcp/4001"


class Scene:
    """A host, and Bob, who does what the test says."""

    def __init__(self, *protocols: str, **parameters: Any) -> None:
        self.net = HostNet()
        self.pubsub = FakePubsub()
        self.host = self.net.host("alice", self.pubsub, **parameters)
        self.bob = self.net.raw("bob", *(protocols or (FAKE_PROTOCOL,)))
        self.net.connect(self.host, self.bob)

    def open(self, protocol: str) -> int:
        stream = self.bob.connection.open_stream((protocol,), self.net.now)
        self.go()
        return stream

    def write(self, stream: int, data: bytes) -> None:
        self.bob.connection.write(stream, data)
        self.go()

    def close(self, stream: int) -> None:
        self.bob.connection.close_stream(stream)
        self.go()

    def go(self, seconds: float = 0.1) -> None:
        self.net.flush(self.bob)
        self.net.run(seconds)

    def asked(self, protocol: str) -> int:
        """The stream on which the host asked Bob for ``protocol`` last."""
        opened = self.bob.of(StreamOpened)
        streams: list[int] = [each.stream for each in opened if each.protocol == protocol]
        return streams[-1]

    def said_on(self, stream: int) -> bytes:
        return b"".join(each.data for each in self.bob.of(StreamData) if each.stream == stream)

    def reset(self, stream: int) -> bool:
        lost = self.bob.of(StreamReset) + self.bob.of(StreamRefused)
        return stream in [each.stream for each in lost]

    def faults(self) -> list[object]:
        events = self.net.traces(self.host, trace.PROTOCOL_ERROR)
        return [event.fields["reason"] for event in events if event.peer == BOB]


def test_identify_tells_who_we_are() -> None:
    scene = Scene()
    stream = scene.open(IDENTIFY)
    [frame] = FrameReader(10_000).feed(scene.said_on(stream))
    info = decode_identify(frame)
    address = scene.net.seat(scene.host).address
    assert info.public_key == key("alice").public_key.to_protobuf()
    assert info.listen_addresses == (Multiaddr.parse(address).to_bytes(),)
    assert info.protocols == (FAKE_PROTOCOL, IDENTIFY, IDENTIFY_PUSH, PING)
    bob_address = scene.net.seat(scene.bob).address
    assert info.observed_address == Multiaddr.parse(bob_address).to_bytes()
    assert (info.protocol_version, info.agent_version) == ("ipfs/0.1.0", "test/alice")


def test_the_end_of_identify_comes_with_the_message_in_a_frame_of_its_own() -> None:
    """go waits for the end; js loses both if they share a frame."""
    scene = Scene()
    stream = scene.open(IDENTIFY)
    events = [each for each in scene.bob.events if getattr(each, "stream", None) == stream]
    assert [type(each) for each in events] == [StreamOpened, StreamData, StreamEnded]
    turns = scene.net.seat(scene.host).turns
    [turn] = [turn for turn in turns if any(isinstance(each, WriteBytes) for each in turn)][-1:]
    assert len([each for each in turn if isinstance(each, WriteBytes)]) == 1, "one write for both"
    scene.close(stream)
    scene.net.run(60.0)
    assert scene.faults() == [] and not scene.reset(stream)


def test_a_peering_is_complete_after_the_round_trips_that_it_takes() -> None:
    """No pause on the way: go, for one, opens no pubsub stream before identify has ended."""
    net = HostNet(latency=0.01)
    hosts = [net.host(name) for name in ("alice", "bob")]
    net.feed(hosts[0], Dial(net.seat(hosts[1]).address))
    net.run(1.0)
    for host in hosts:
        [opened] = net.traces(host, trace.CONNECTION_OPENED)
        [identified] = net.traces(host, trace.PEER_IDENTIFIED)
        assert identified.time - opened.time == pytest.approx(2 * net.latency)


def test_a_peer_that_hears_who_we_are_and_keeps_the_stream_loses_it() -> None:
    scene = Scene(service_timeout=10.0)
    stream = scene.open(IDENTIFY)
    scene.net.run(11.0)
    assert scene.reset(stream) and scene.faults() == ["service_timeout"]


def test_what_a_peer_says_in_two_messages_counts_as_one() -> None:
    scene = Scene(FAKE_PROTOCOL, IDENTIFY)
    stream = scene.asked(IDENTIFY)
    for info in (
        IdentifyInfo(protocols=("/a",), agent_version="kubo"),
        IdentifyInfo(protocols=("/b",)),
    ):
        scene.write(stream, length_prefixed(encode_identify(info)))
    assert scene.net.traces(scene.host, trace.PEER_IDENTIFIED) == [], "there may be more to come"
    scene.close(stream)
    [event] = scene.net.traces(scene.host, trace.PEER_IDENTIFIED)
    assert event.fields == {"agent": "kubo", "protocols": "/a /b"}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "identify_cut_short"),
        (b"\x05abc", "identify_cut_short"),
        (b"\xff\xff\xff\xff\x0f", "frame_too_large"),
        (length_prefixed(b"\x32\x02\xff\xff"), "bad_identify"),
        (length_prefixed(b"\xff"), "bad_protobuf"),
        (length_prefixed(b"\x12\x00" * 200), "identify_too_large"),
        (length_prefixed(bytes(40)) * 3000, "identify_too_large"),
        (length_prefixed(encode_identify(IdentifyInfo(public_key=b"x"))), "identify_other_key"),
    ],
)
def test_nonsense_in_identify_costs_the_stream_and_not_the_connection(
    said: bytes, reason: str
) -> None:
    scene = Scene(FAKE_PROTOCOL, IDENTIFY)
    stream = scene.asked(IDENTIFY)
    scene.write(stream, said)
    scene.close(stream)
    assert scene.faults() == [reason]
    assert scene.host.peers() == (BOB,)
    assert scene.net.traces(scene.host, trace.PEER_IDENTIFIED) == []


def test_a_peer_that_never_stops_talking_of_itself_is_cut_off() -> None:
    scene = Scene(FAKE_PROTOCOL, IDENTIFY)
    stream = scene.asked(IDENTIFY)
    for _ in range(5):
        scene.write(stream, length_prefixed(bytes(8 * 1024)) * 2)
    assert scene.reset(stream) and scene.faults() == ["identify_too_large"]


def test_a_peer_that_says_nothing_of_itself_is_asked_no_longer_than_the_time_out() -> None:
    scene = Scene(FAKE_PROTOCOL, IDENTIFY, service_timeout=10.0)
    scene.net.run(11.0)
    assert scene.reset(scene.asked(IDENTIFY)) and scene.faults() == ["service_timeout"]
    assert scene.host.peers() == (BOB,)


def test_a_push_is_read() -> None:
    scene = Scene()
    stream = scene.open(IDENTIFY_PUSH)
    info = IdentifyInfo(public_key=key("bob").public_key.to_protobuf(), agent_version="bob/2")
    scene.write(stream, length_prefixed(encode_identify(info)))
    scene.close(stream)
    [event] = scene.net.traces(scene.host, trace.PEER_IDENTIFIED)
    assert event.peer == BOB and event.fields["agent"] == "bob/2"


def test_a_push_that_tells_of_pubsub_brings_the_peer_in() -> None:
    scene = Scene("/chess/1.0.0")
    assert scene.pubsub.inputs == []
    scene.bob.protocols = ("/chess/1.0.0", FAKE_PROTOCOL)
    stream = scene.open(IDENTIFY_PUSH)
    info = IdentifyInfo(protocols=tuple(scene.bob.protocols))
    scene.write(stream, length_prefixed(encode_identify(info)))
    scene.close(stream)
    assert scene.pubsub.inputs == [PeerJoined(BOB, FAKE_PROTOCOL, True, BOB_ADDRESS)]


def test_our_own_push_is_written_and_ended() -> None:
    scene = Scene(FAKE_PROTOCOL, IDENTIFY_PUSH)
    scene.net.feed(scene.host, Listening(("/ip4/192.0.2.9/tcp/9",)))
    scene.net.run()
    stream = scene.asked(IDENTIFY_PUSH)
    [frame] = FrameReader(10_000).feed(scene.said_on(stream))
    address = Multiaddr.parse("/ip4/192.0.2.9/tcp/9").to_bytes()
    assert decode_identify(frame).listen_addresses == (address,)
    assert stream in [each.stream for each in scene.bob.of(StreamEnded)]


def test_what_a_peer_says_where_we_are_to_speak_is_a_fault() -> None:
    scene = Scene()
    stream = scene.open(IDENTIFY)
    scene.write(stream, b"let me tell you")
    assert scene.faults() == ["unexpected_data"] and scene.host.peers() == (BOB,)


def test_pings_are_echoed_in_whatever_pieces_they_come() -> None:
    scene = Scene()
    stream = scene.open(PING)
    ping = bytes(range(32))
    scene.write(stream, ping[:5])
    assert scene.said_on(stream) == b""
    scene.write(stream, ping[5:] + ping)
    assert scene.said_on(stream) == ping + ping
    scene.close(stream)
    assert stream in [each.stream for each in scene.bob.of(StreamEnded)]


def test_a_ping_stream_may_stay_open_between_pings_but_not_for_ever() -> None:
    scene = Scene(ping_idle_timeout=60.0)
    stream = scene.open(PING)
    for _ in range(5):
        scene.net.run(50.0)
        scene.write(stream, bytes(32))
        assert not scene.reset(stream)
    scene.net.run(61.0)
    assert scene.reset(stream) and scene.faults() == [], "nobody's fault"


def test_a_peer_that_pings_and_never_reads_loses_the_stream() -> None:
    scene = Scene()
    stream = scene.open(PING)
    scene.bob.connection.hold(stream, True)
    for _ in range(30):
        scene.write(stream, bytes(32 * 1024))
    assert scene.reset(stream) and "pongs_unread" in scene.faults()
    assert scene.host.peers() == (BOB,)


def test_service_streams_are_limited() -> None:
    scene = Scene(max_service_streams=3)
    streams = [scene.open(PING) for _ in range(5)]
    assert [scene.reset(stream) for stream in streams] == [False, False, False, True, True]
    assert scene.faults() == ["too_many_service_streams"] * 2
    scene.close(streams[0])
    assert not scene.reset(scene.open(PING)), "one has ended, there is room again"


def test_a_stream_that_nobody_here_speaks_is_traced_with_the_reason() -> None:
    scene = Scene()
    scene.open("/nobody/speaks/this")
    (refused,) = scene.net.traces(scene.host, STREAM_REFUSED)
    assert (refused.peer, refused.fields) == (BOB, {"reason": "reset_by_peer"})
    assert scene.faults() == []
