"""Pubsub's two streams per peer, against a peer that the test plays."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import Drop, Hold, PeerJoined, PeerLeft, Received, Send, Writable
from rumormill.core.transport import Dial, HoldPeer, WriteBytes
from rumormill.libp2p.effects import StreamLost, StreamRenewed, StreamRestarted
from rumormill.libp2p.host.pubsub_streams import PUBSUB_UNAVAILABLE, STREAM_LOST
from rumormill.libp2p.stack.connection import (
    Failed,
    StreamData,
    StreamEnded,
    StreamOpened,
    StreamReset,
)
from rumormill.libp2p.wire.frames import length_prefixed
from tests.helpers.libp2p.host_net import FAKE_PROTOCOL, FakePubsub, HostNet, RawPeer, key

BOB = key("bob").peer
BOB_ADDRESS = "/ip4/10.0.0.1/tcp/4001"
KIB = 1024


class Scene:
    """A host, and Bob, who does what the test says."""

    def __init__(
        self,
        *protocols: str,
        dialed_by_bob: bool = False,
        keep: bool = False,
        **parameters: Any,
    ) -> None:
        self.net = HostNet()
        self.pubsub = FakePubsub()
        self.host = self.net.host("alice", self.pubsub, **parameters)
        self.bob = self.net.raw("bob", *(protocols or (FAKE_PROTOCOL,)))
        dialer, dialed = (self.bob, self.host) if dialed_by_bob else (self.host, self.bob)
        self.net.connect(dialer, dialed, keep)

    @property
    def our_stream(self) -> int:
        """The number of the pubsub stream that the host opened to Bob last."""
        opened = [each for each in self.bob.of(StreamOpened) if each.protocol == FAKE_PROTOCOL]
        streams: list[int] = [each.stream for each in opened if each.inbound]
        return streams[-1]

    def bob_opens(self) -> int:
        """Bob opens his pubsub stream."""
        stream = self.bob.connection.open_stream((FAKE_PROTOCOL,), self.net.now)
        self.net.flush(self.bob)
        self.net.run(0.1)
        return stream

    def bob_writes(self, stream: int, data: bytes) -> None:
        self.bob.connection.write(stream, data)
        self.net.flush(self.bob)
        self.net.run(0.1)

    def send(self, *packets: bytes) -> None:
        self.pubsub.waiting += [Send(BOB, packet) for packet in packets]
        self.net.flush(self.host)


def test_our_stream_is_opened_at_once_and_makes_the_peer_known() -> None:
    scene = Scene()
    assert scene.pubsub.inputs == [PeerJoined(BOB, FAKE_PROTOCOL, True, BOB_ADDRESS)]
    scene.bob_opens()
    assert len(scene.pubsub.inputs) == 1, "the peer's own stream is no news then"


def test_the_peers_stream_makes_it_known_but_not_writable() -> None:
    scene = Scene("/other/1.0.0", dialed_by_bob=True)
    scene.net.latency = 0.2
    scene.bob.protocols = (FAKE_PROTOCOL,)
    scene.bob.connection.open_stream((FAKE_PROTOCOL,), scene.net.now)
    scene.net.flush(scene.bob)
    scene.net.run(0.3)
    assert scene.pubsub.take() == [
        PeerJoined(BOB, FAKE_PROTOCOL, False, BOB_ADDRESS),
        Writable(BOB, False),
    ]
    scene.net.run(1.0)
    assert scene.pubsub.take() == [Writable(BOB, True)], "our own stream is open now"


def test_bytes_of_the_peers_stream_go_to_pubsub_and_those_on_ours_to_nobody() -> None:
    scene = Scene()
    stream = scene.bob_opens()
    scene.bob_writes(stream, b"hello")
    scene.bob_writes(scene.our_stream, b"you do not read this")
    assert scene.pubsub.inputs[-1] == Received(BOB, b"hello")


def test_a_second_stream_of_the_peer_replaces_the_first() -> None:
    scene = Scene()
    first = scene.bob_opens()
    scene.bob_writes(first, b"half a fra")
    second = scene.bob_opens()
    assert scene.pubsub.inputs[-1] == StreamRestarted(BOB)
    assert [each.stream for each in scene.bob.of(StreamReset)] == [first]
    scene.bob_writes(second, b"whole frame")
    assert scene.pubsub.inputs[-1] == Received(BOB, b"whole frame")


def test_a_stream_that_the_peer_ends_and_begins_again_is_a_restart() -> None:
    scene = Scene()
    first = scene.bob_opens()
    scene.bob.connection.close_stream(first)
    scene.net.flush(scene.bob)
    scene.net.run(0.1)
    assert not any(isinstance(each, PeerLeft) for each in scene.pubsub.inputs)
    scene.bob_opens()
    assert scene.pubsub.inputs[-1] == StreamRestarted(BOB)


def test_when_our_stream_is_reset_a_peer_whose_own_stream_lives_has_not_left() -> None:
    scene = Scene()
    theirs = scene.bob_opens()
    scene.pubsub.take()
    scene.bob.connection.reset_stream(scene.our_stream)
    scene.net.flush(scene.bob)
    scene.net.run(0.1)
    assert scene.pubsub.take() == [Writable(BOB, False), StreamLost(BOB)]
    assert scene.bob.of(StreamReset) == [], "it would not tell its subscriptions again"
    scene.net.run(1.0)
    assert scene.pubsub.take() == [StreamRenewed(BOB), Writable(BOB, True)]
    scene.bob_writes(theirs, b"still there")
    assert scene.pubsub.take() == [Received(BOB, b"still there")]
    [event] = scene.net.traces(scene.host, STREAM_LOST)
    assert event.peer == BOB and event.fields["reason"] == "reset_by_peer"


def test_when_no_new_stream_comes_about_the_peer_has_left_after_all() -> None:
    scene = Scene(stream_attempts=3)
    theirs = scene.bob_opens()
    for _ in range(3):
        scene.bob.connection.reset_stream(scene.our_stream)
        scene.net.flush(scene.bob)
        scene.net.run(5.0)
    kinds = [type(each) for each in scene.pubsub.take()]
    assert kinds == [PeerJoined, *(Writable, StreamLost, StreamRenewed, Writable) * 2, PeerLeft]
    assert theirs in [each.stream for each in scene.bob.of(StreamReset)]


def test_when_both_streams_are_gone_so_is_the_peer() -> None:
    scene = Scene()
    theirs = scene.bob_opens()
    scene.pubsub.take()
    scene.bob.connection.close_stream(theirs)
    scene.bob.connection.reset_stream(scene.our_stream)
    scene.net.flush(scene.bob)
    scene.net.run(2.0)
    left, joined = [each for each in scene.pubsub.take() if isinstance(each, PeerLeft | PeerJoined)]
    assert isinstance(left, PeerLeft) and left.peer == BOB
    assert joined == PeerJoined(BOB, FAKE_PROTOCOL, True, BOB_ADDRESS)


def test_when_the_peer_ends_our_stream_it_is_of_no_use() -> None:
    scene = Scene()
    scene.bob.connection.close_stream(scene.our_stream)
    scene.net.flush(scene.bob)
    scene.net.run(2.0)
    kinds = [type(each) for each in scene.pubsub.inputs]
    assert kinds == [PeerJoined, PeerLeft, PeerJoined]


def test_a_peer_that_keeps_resetting_our_stream_is_left_alone_in_the_end() -> None:
    scene = Scene(stream_attempts=3)
    for _ in range(20):
        scene.bob.connection.reset_stream(scene.our_stream)
        scene.net.flush(scene.bob)
        scene.net.run(5.0)
    joined = [each for each in scene.pubsub.inputs if isinstance(each, PeerJoined)]
    assert len(joined) == 3
    assert scene.host.peers() == (BOB,), "connected, without pubsub"
    [event] = scene.net.traces(scene.host, PUBSUB_UNAVAILABLE)
    assert event.peer == BOB and event.fields["reason"] == "reset_by_peer"


def test_tries_begin_anew_after_a_stream_that_lasted() -> None:
    scene = Scene(stream_attempts=3, stable_after=30, streams_per_connection=20)
    for _ in range(10):
        scene.net.run(31.0)
        scene.bob.connection.reset_stream(scene.our_stream)
        scene.net.flush(scene.bob)
        scene.net.run(5.0)
    assert isinstance(scene.pubsub.inputs[-1], PeerJoined)
    assert scene.net.traces(scene.host, PUBSUB_UNAVAILABLE) == []


def test_a_connection_on_which_our_stream_broke_too_often_is_made_anew() -> None:
    """rust goes deaf with the fifth stream on one connection, in both directions."""
    scene = Scene(keep=True)
    [first] = scene.net.transports(scene.host)
    for _ in range(4):
        assert scene.net.transports(scene.host) == [first]
        scene.bob_opens()
        scene.bob.connection.reset_stream(scene.our_stream)
        scene.net.flush(scene.bob)
        scene.net.run(31.0)
    opened = [each for each in scene.bob.of(StreamOpened) if each.protocol == FAKE_PROTOCOL]
    assert len([each for each in opened if each.inbound]) == 4 + 1, "the fifth is on another one"
    [closed] = scene.net.traces(scene.host, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == "pubsub_streams_used_up"
    assert first not in scene.net.transports(scene.host)
    assert scene.pubsub.inputs[-1] == PeerJoined(BOB, FAKE_PROTOCOL, True, BOB_ADDRESS)
    scene.send(b"here I am again")
    scene.net.run()
    assert scene.bob.of(StreamData)[-1].data == b"here I am again"


def test_a_stream_that_is_lost_says_how_much_may_be_lost_with_it() -> None:
    scene = Scene()
    scene.bob_opens()
    stop_reading(scene)
    scene.send(bytes(300 * KIB))
    scene.net.run(0.1)
    scene.bob.connection.reset_stream(scene.our_stream)
    scene.net.flush(scene.bob)
    scene.net.run(0.1)
    [event] = scene.net.traces(scene.host, STREAM_LOST)
    negotiated = 256 * KIB - window_left()
    assert event.fields == {"reason": "reset_by_peer", "unconfirmed": 300 * KIB + negotiated}


def test_a_peer_without_pubsub_stays_connected() -> None:
    scene = Scene("/chess/1.0.0")
    scene.net.run(100.0)
    assert scene.host.peers() == (BOB,) and scene.pubsub.inputs == []
    [event] = scene.net.traces(scene.host, PUBSUB_UNAVAILABLE)
    assert event.fields["reason"] == "no_common_protocol"


def test_a_peer_without_pubsub_that_learns_it_is_joined_when_it_speaks() -> None:
    scene = Scene("/chess/1.0.0")
    scene.bob.protocols = (FAKE_PROTOCOL,)
    scene.bob_opens()
    assert PeerJoined(BOB, FAKE_PROTOCOL, True, BOB_ADDRESS) in scene.pubsub.inputs
    assert scene.pubsub.inputs[-1] == Writable(BOB, True)


def test_a_peer_that_speaks_pubsub_but_does_not_listen_is_not_joined_for_long() -> None:
    scene = Scene("/chess/1.0.0")
    for _ in range(3):
        stream = scene.bob_opens()
        scene.net.run(1.0)
        assert scene.pubsub.take()[-1] == PeerLeft(BOB, "no_common_protocol")
        assert stream in [each.stream for each in scene.bob.of(StreamReset)]


# ---- two connections


def two_connections() -> tuple[Scene, int]:
    """Bob, connected twice; our pubsub stream is on the first connection."""
    scene = Scene()
    first = scene.net.transports(scene.host)[0]
    scene.net.feed(scene.bob, Dial(scene.net.seat(scene.host).address))
    scene.net.run()
    assert len(scene.net.transports(scene.host)) == 2
    return scene, first


def test_two_connections_to_one_peer_are_one_peer() -> None:
    scene, _ = two_connections()
    assert scene.host.peers() == (BOB,)
    assert len(scene.pubsub.inputs) == 1


def test_when_the_used_connection_dies_the_other_takes_over_and_the_peer_has_not_left() -> None:
    scene, first = two_connections()
    scene.pubsub.take()
    scene.send(b"under way when it dies")
    scene.net.cut(scene.host, first)
    scene.net.run()
    assert scene.pubsub.take() == [
        Writable(BOB, False),
        StreamLost(BOB),
        StreamRenewed(BOB),
        Writable(BOB, True),
    ]
    [event] = scene.net.traces(scene.host, STREAM_LOST)
    written = 256 * KIB - window_left() + len(b"under way when it dies")
    assert event.fields == {"reason": "closed", "unconfirmed": written}
    scene.send(b"over the other one")
    scene.net.run()
    assert scene.bob.of(StreamData)[-1].data == b"over the other one"


def test_when_the_other_connection_takes_no_stream_the_peer_has_left() -> None:
    scene, first = two_connections()
    scene.bob.protocols = ("/chess/1.0.0",)
    scene.net.cut(scene.host, first)
    scene.net.run()
    assert scene.pubsub.inputs[-1] == PeerLeft(BOB, "no_common_protocol")
    assert scene.host.peers() == (BOB,)


def test_a_peer_whose_stream_dies_with_its_connection_begins_a_new_one_on_the_other() -> None:
    scene = Scene()
    scene.bob_opens()
    scene.net.feed(scene.bob, Dial(scene.net.seat(scene.host).address))
    scene.net.run()
    scene.net.cut(scene.host, scene.net.transports(scene.host)[0])
    scene.net.run()
    scene.pubsub.take()
    stream = scene.bob_opens()
    assert scene.pubsub.take() == [StreamRestarted(BOB)], "it may have forgotten what we said"
    scene.bob_writes(stream, b"hello again")
    assert scene.pubsub.take() == [Received(BOB, b"hello again")]


def test_when_the_unused_connection_dies_nothing_happens() -> None:
    scene, first = two_connections()
    other = next(each for each in scene.net.transports(scene.host) if each != first)
    scene.pubsub.take()
    scene.net.cut(scene.host, other)
    scene.net.run()
    assert scene.pubsub.take() == [] and scene.host.peers() == (BOB,)


def test_when_both_die_the_peer_leaves_once() -> None:
    scene, _ = two_connections()
    scene.pubsub.take()
    for transport in scene.net.transports(scene.host):
        scene.net.cut(scene.host, transport)
    scene.net.run()
    left = [each for each in scene.pubsub.take() if isinstance(each, PeerLeft)]
    assert len(left) == 1 and scene.host.peers() == ()


def pings(scene: Scene, seconds: float) -> int:
    """How many writes of ours reach Bob in this time, while nothing else happens."""
    before = len(scene.net.of(scene.host, WriteBytes))
    scene.net.run(seconds)
    return len(scene.net.of(scene.host, WriteBytes)) - before


def test_a_peer_that_lost_its_stream_with_a_connection_is_nudged_until_it_opens_another() -> None:
    """rust sees that it has something to say only when something comes in."""
    scene = Scene(nudge_interval=0.5)
    scene.bob_opens()
    scene.net.feed(scene.bob, Dial(scene.net.seat(scene.host).address))
    scene.net.run(10.0)
    assert pings(scene, 10.0) == 0
    scene.net.cut(scene.host, scene.net.transports(scene.host)[0])
    scene.net.run(1.1)
    assert pings(scene, 10.0) == 20
    assert scene.bob.of(Failed) == [] and scene.net.traces(scene.host, trace.PROTOCOL_ERROR) == []
    scene.bob_opens()
    assert pings(scene, 10.0) == 0


def test_a_peer_that_begins_anew_on_another_connection_is_followed_there() -> None:
    """It was restarted, say, and the host has not noticed yet that the old line is dead."""
    scene = Scene()
    scene.bob_opens()
    first, old = scene.bob.connection, scene.our_stream
    scene.net.feed(scene.bob, Dial(scene.net.seat(scene.host).address))
    scene.net.run()
    scene.pubsub.take()
    scene.send(b"written before")
    scene.bob_opens()
    assert scene.pubsub.take() == [
        StreamRestarted(BOB),
        Writable(BOB, False),
        StreamRenewed(BOB),
        Writable(BOB, True),
    ]
    assert scene.bob.connection is not first
    assert StreamData(old, b"written before") in scene.bob.events, "if it lives it still arrives"
    assert StreamEnded(old) in scene.bob.events and scene.bob.of(StreamReset) == []
    [event] = scene.net.traces(scene.host, STREAM_LOST)
    assert event.fields["reason"] == "moved"


def frame(text: bytes) -> bytes:
    return length_prefixed(text)


def test_a_peer_may_write_on_two_connections_in_turns() -> None:
    """As rust does: whichever of its connections comes first takes the next message."""
    scene = Scene()
    first, one = scene.bob.connection, scene.bob_opens()
    long, half = frame(bytes(5000)), 1234
    first.write(one, frame(b"first") + long[:half])
    scene.net.flush(scene.bob)
    scene.net.run(0.1)
    assert scene.pubsub.take()[1:] == [Received(BOB, frame(b"first") + long[:half])]
    scene.pubsub.half_read = long[:half]
    scene.net.feed(scene.bob, Dial(scene.net.seat(scene.host).address))
    scene.net.run()
    second, two = scene.bob.connection, scene.bob_opens()
    scene.pubsub.take()
    second.write(two, frame(b"second") + frame(b"third")[:3])
    scene.net.flush(scene.bob)
    scene.net.run(0.1)
    first.write(one, long[half:])
    second.write(two, frame(b"third")[3:])
    scene.net.flush(scene.bob)
    scene.net.run(0.1)
    assert scene.pubsub.take() == [
        Received(BOB, each) for each in (frame(b"second"), long, frame(b"third"))
    ]
    scene.bob_writes(two, b"\xff\xff\xff\xff\x7f")
    assert scene.pubsub.inputs[-1] == PeerLeft(BOB, "frame_too_large")


# ---- back-pressure


def stop_reading(scene: Scene) -> None:
    """Bob grants no more room on our stream."""
    scene.bob.connection.hold(scene.our_stream, True)


def resume_reading(scene: Scene) -> None:
    scene.bob.connection.hold(scene.our_stream, False)
    scene.net.flush(scene.bob)
    scene.net.run(0.1)


def test_pubsub_waits_above_the_high_water_mark_and_goes_on_when_drained() -> None:
    scene = Scene(send_high_water=100 * KIB)
    stop_reading(scene)
    scene.pubsub.take()
    scene.send(bytes(300 * KIB))
    assert scene.pubsub.take() == [], "44 KiB above the window, below the mark"
    scene.send(bytes(100 * KIB))
    assert scene.pubsub.take() == [Writable(BOB, False)]
    scene.net.run(1.0)
    assert scene.pubsub.take() == []
    resume_reading(scene)
    assert scene.pubsub.take() == [Writable(BOB, True)]
    scene.net.run()
    assert sum(len(each.data) for each in scene.bob.of(StreamData)) == 400 * KIB


def test_the_host_tells_how_much_waits_for_its_peers() -> None:
    scene = Scene()
    assert scene.host.queued == 0
    stop_reading(scene)
    scene.send(bytes(300 * KIB))
    assert 300 * KIB - 256 * KIB <= scene.host.queued <= 300 * KIB - window_left()
    resume_reading(scene)
    scene.net.run()
    assert scene.host.queued == 0


def test_pubsub_waits_while_the_transport_is_full() -> None:
    scene = Scene()
    [transport] = scene.net.transports(scene.host)
    scene.pubsub.take()
    scene.net.set_ready(scene.host, transport, False)
    assert scene.pubsub.take() == [Writable(BOB, False)]
    scene.net.set_ready(scene.host, transport, False)
    scene.net.set_ready(scene.host, transport, True)
    assert scene.pubsub.take() == [Writable(BOB, True)]


def test_nothing_is_written_to_a_transport_that_is_full() -> None:
    scene = Scene()
    [transport] = scene.net.transports(scene.host)
    scene.net.set_ready(scene.host, transport, False)
    scene.pubsub.waiting.append(Send(BOB, b"late"))
    assert scene.net.flush(scene.host) == []
    scene.net.set_ready(scene.host, transport, True)
    scene.net.run()
    assert scene.bob.of(StreamData)[-1].data == b"late"


def test_a_peer_that_takes_nothing_is_dropped_as_stalled() -> None:
    scene = Scene(stall_timeout=30)
    stop_reading(scene)
    scene.send(bytes(257 * KIB))
    scene.net.run(29.0)
    assert scene.host.peers() == (BOB,)
    scene.net.run(2.0)
    assert scene.host.peers() == ()
    assert scene.pubsub.inputs[-1] == PeerLeft(BOB, "stalled")


def test_a_slow_peer_that_takes_something_is_kept_until_it_takes_nothing() -> None:
    scene = Scene(stall_timeout=30)
    stop_reading(scene)
    scene.send(bytes(1000 * KIB))
    for _ in range(2):
        scene.net.run(20.0)
        # Room for one window more, and no further.
        scene.bob.connection.hold(scene.our_stream, False)
        scene.net.flush(scene.bob)
        stop_reading(scene)
    scene.net.run(49.0)
    assert scene.host.peers() == (BOB,), "there was progress before each look"
    scene.net.run(2.0)
    assert scene.host.peers() == ()


def test_a_transport_that_takes_nothing_is_closed_as_stalled() -> None:
    scene = Scene(stall_timeout=30)
    [transport] = scene.net.transports(scene.host)
    scene.net.set_ready(scene.host, transport, False)
    scene.net.run(29.5)
    assert scene.host.peers() == (BOB,)
    scene.net.run(1.0)
    [closed] = scene.net.traces(scene.host, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == "stalled"


def test_a_packet_for_nobody_is_counted() -> None:
    scene = Scene()
    scene.pubsub.waiting.append(Send(key("carol").peer, b"anyone?"))
    scene.net.flush(scene.host)
    [event] = scene.net.traces(scene.host, trace.DROPPED)
    assert event.fields == {"what": "packet", "reason": "no_stream"}


# ---- holding peers back


def window_left() -> int:
    """What the negotiation of a stream leaves of its first window."""
    return 256 * KIB - sum(len(token) + 2 for token in ("/multistream/1.0.0", FAKE_PROTOCOL))


def fill(scene: Scene, stream: int) -> int:
    """Bob writes two windows full; how much of it pubsub has got."""
    before = sum(len(each.packet) for each in scene.pubsub.inputs if isinstance(each, Received))
    scene.bob_writes(stream, bytes(512 * KIB))
    after = sum(len(each.packet) for each in scene.pubsub.inputs if isinstance(each, Received))
    return after - before


def test_while_paused_peers_get_no_more_room_and_it_is_traced_once() -> None:
    scene = Scene()
    stream = scene.bob_opens()
    scene.net.feed(scene.host, Hold(True))
    scene.net.feed(scene.host, Hold(True))
    assert fill(scene, stream) == window_left()
    scene.net.feed(scene.host, Hold(False))
    scene.net.run(0.2)
    assert fill(scene, stream) == 512 * KIB
    assert len(scene.net.traces(scene.host, trace.SOURCE_PAUSED)) == 1
    assert len(scene.net.traces(scene.host, trace.SOURCE_RESUMED)) == 1


def test_a_stream_that_is_opened_while_paused_is_held_too() -> None:
    scene = Scene()
    scene.net.feed(scene.host, Hold(True))
    assert fill(scene, scene.bob_opens()) <= 256 * KIB


def test_pubsub_can_hold_one_peer_back() -> None:
    scene = Scene()
    stream = scene.bob_opens()
    scene.pubsub.waiting.append(HoldPeer(BOB, True))
    scene.net.flush(scene.host)
    assert fill(scene, stream) == window_left()
    scene.net.feed(scene.host, Hold(True))
    scene.pubsub.waiting.append(HoldPeer(BOB, False))
    scene.net.flush(scene.host)
    scene.net.run(0.2)
    assert fill(scene, stream) == 0, "the other reason to hold it remains"


def test_pubsub_may_drop_a_peer_the_moment_it_joins() -> None:
    net = HostNet()
    pubsub = FakePubsub()
    pubsub.answers[PeerJoined] = lambda each: [Drop(each.peer, "unwelcome")]
    host, bob = net.host("alice", pubsub), net.raw("bob", FAKE_PROTOCOL)
    net.connect(host, bob)
    assert host.peers() == () and pubsub.inputs[-1] == PeerLeft(BOB, "unwelcome")
    assert isinstance(bob, RawPeer)


@pytest.mark.parametrize("connections", [1, 2])
@pytest.mark.parametrize("what", ["transport", "stream"])
def test_pubsub_may_drop_a_peer_when_told_that_it_left_or_that_a_stream_is_lost(
    connections: int, what: str
) -> None:
    scene = Scene() if connections == 1 else two_connections()[0]
    ours = scene.our_stream
    first = next(iter(scene.bob.connections.values()))
    for told in (PeerLeft, StreamLost):
        scene.pubsub.answers[told] = lambda each: [Drop(each.peer, "unwelcome")]
    if what == "transport":
        scene.net.cut(scene.host, scene.net.transports(scene.host)[0])
    else:
        first.reset_stream(ours)
        scene.net.flush(scene.bob)
    scene.net.run(0.1)
    assert scene.host.peers() == ()
    assert len(scene.host._streams) == len(scene.host._streams._timers) == 0
    scene.net.run(10.0)
    assert not any(isinstance(each, PeerJoined) for each in scene.pubsub.inputs[1:])


def test_pubsub_may_drop_a_peer_that_restarts_its_stream() -> None:
    scene = Scene()
    scene.bob_opens()
    scene.pubsub.answers[StreamRestarted] = lambda each: [Drop(each.peer, "unwelcome")]
    scene.bob_opens()
    assert scene.host.peers() == () and len(scene.host._streams) == 0


@pytest.mark.parametrize("told", [StreamRestarted, Writable])
def test_pubsub_may_drop_a_peer_that_moves_to_another_connection(told: type) -> None:
    scene = Scene()
    scene.bob_opens()
    scene.net.feed(scene.bob, Dial(scene.net.seat(scene.host).address))
    scene.net.run()
    scene.pubsub.answers[told] = lambda each: [Drop(each.peer, "unwelcome")]
    scene.bob_opens()
    assert scene.pubsub.inputs[-1] == PeerLeft(BOB, "unwelcome")
    assert scene.host.peers() == () and len(scene.host._streams) == 0
