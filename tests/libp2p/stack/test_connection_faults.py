"""What a peer does wrong costs the peer: its stream or its connection, never the node."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.libp2p.stack.connection import (
    Closed,
    Connection,
    ConnectionEvent,
    ConnectionLimits,
    Failed,
    InboundRefused,
    StreamData,
    StreamEnded,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multistream import GREETING, Negotiation, encode_token
from rumormill.libp2p.stack.noise.handshake import LARGEST_NONCE
from rumormill.libp2p.stack.yamux.frames import (
    DATA,
    FIN,
    GO_AWAY,
    HEADER,
    PROTOCOL_ERROR,
    RST,
    SYN,
    WINDOW_UPDATE,
    encode_header,
)
from tests.helpers.libp2p.connection_pair import ECHO, Pair, RawPeer, make_connection

PROPOSAL = Negotiation.dialer([ECHO]).data_to_send()


def data(stream: int, payload: bytes, flags: int = 0) -> bytes:
    return encode_header(DATA, flags, stream, len(payload)) + payload


def failure(events: list[ConnectionEvent]) -> str:
    """The reason why it failed, which must be the last event and the only one of its kind."""
    assert isinstance(events[-1], Failed)
    assert sum(isinstance(event, Failed | Closed) for event in events) == 1
    return events[-1].reason


def headers(raw: bytes) -> list[tuple[int, ...]]:
    out, offset = [], 0
    while offset < len(raw):
        header = HEADER.unpack_from(raw, offset)
        out.append(header)
        offset += HEADER.size + (header[3] if header[0] == DATA else 0)
    return out


# ---- before it is established


@pytest.mark.parametrize("dialer", [True, False])
def test_a_peer_that_says_nothing_is_given_up_on(dialer: bool) -> None:
    connection = make_connection(dialer=dialer, seed=1, now=50.0)
    assert connection.next_wake() == 60.0
    assert connection.wake(59.9) == []
    assert failure(connection.wake(60.0)) == "handshake_timeout"
    assert connection.closed and connection.next_wake() is None


def test_a_handshake_that_never_ends_is_cut_off_however_busy_the_peer_is() -> None:
    connection = make_connection(dialer=False, seed=1)
    wire = encode_token(GREETING)
    events: list[ConnectionEvent] = []
    proposals = iter(encode_token("/tls") * 3)
    for byte in wire:
        events += connection.receive(bytes((byte,)), 0.0)
    now = 0.0
    while not connection.closed:
        now += 1.0
        events += connection.receive(bytes((next(proposals),)), now)
        events += connection.wake(now)
        assert now < 20
    assert failure(events) == "handshake_timeout"


def test_a_peer_that_completes_security_and_stops_is_given_up_on() -> None:
    pair = Pair()
    for _ in range(2):
        pair._move(pair.dialer, pair.listener)
        pair._move(pair.listener, pair.dialer)
    assert pair.dialer.connection.peer is not None
    assert not pair.dialer.connection.established
    assert failure(pair.dialer.connection.wake(10.0)) == "handshake_timeout"


def test_a_peer_that_wants_plaintext_is_refused() -> None:
    connection = make_connection(dialer=False, seed=1)
    wire = encode_token(GREETING) + encode_token("/plaintext/2.0.0")
    assert connection.receive(wire, 0.0) == []
    assert connection.data_to_send() == encode_token(GREETING) + encode_token("na")
    assert failure(connection.receive(encode_token("/plaintext/2.0.0") * 64, 0.0)) == (
        "too_many_proposals"
    )


def test_a_listener_that_has_no_noise_is_given_up_on() -> None:
    connection = make_connection(dialer=True, seed=1)
    events = connection.receive(encode_token(GREETING) + encode_token("na"), 0.0)
    assert failure(events) == "no_common_protocol"


def test_a_browser_that_comes_along_is_sent_away() -> None:
    connection = make_connection(dialer=False, seed=1)
    events = connection.receive(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n" + bytes(60), 0.0)
    assert failure(events) in ("bad_token", "bad_greeting")


def test_the_wrong_peer_at_an_address_is_named() -> None:
    pair = Pair(
        make_connection(dialer=True, seed=1, expected_peer=PrivateKey.from_seed(b"x" * 32).peer)
    )
    pair.pump()
    assert failure(pair.dialer.events) == "wrong_peer"
    assert pair.dialer.connection.peer is None
    assert not pair.dialer.connection.established


def test_a_connection_to_ourselves_fails() -> None:
    key = PrivateKey.from_seed(b"s" * 32)
    pair = Pair(
        make_connection(dialer=True, seed=1, identity=key),
        make_connection(dialer=False, seed=2, identity=key),
    )
    pair.pump()
    assert failure(pair.dialer.events) == "own_identity"


@given(st.binary(max_size=600), st.integers(1, 600), st.booleans(), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_arbitrary_bytes_at_any_stage_are_a_failure_and_nothing_worse(
    junk: bytes, size: int, at_dialer: bool, stage: int
) -> None:
    pair = Pair()
    for step in range(stage):
        sides = (pair.dialer, pair.listener)
        pair._move(sides[step % 2], sides[1 - step % 2])
    connection = (pair.dialer if at_dialer else pair.listener).connection
    events: list[ConnectionEvent] = []
    for start in range(0, len(junk), size):
        events += connection.receive(junk[start : start + size], 0.0)
        connection.data_to_send()
    if connection.closed:
        assert isinstance(failure(events), str)
    else:
        assert failure(connection.wake(1000.0) or connection.wake(2000.0)) in (
            "handshake_timeout",
            "keepalive_timeout",
        )


# ---- once it is established


def test_a_fault_is_reported_and_the_peer_told_before_the_end() -> None:
    peer = RawPeer()
    assert failure(peer.send(b"\xff" * 12)) == "bad_version"
    assert headers(peer.read()) == [(GO_AWAY, 0, 0, PROTOCOL_ERROR)]
    assert peer.connection.data_to_send() == b""
    assert peer.connection.closed and peer.connection.established


def test_what_came_before_a_fault_is_delivered() -> None:
    peer = RawPeer()
    events = peer.send(data(1, PROPOSAL + b"good", SYN) + b"\xff" * 12)
    assert events[:2] == [StreamOpened(1, ECHO, inbound=True), StreamData(1, b"good")]
    assert failure(events) == "bad_version"


def test_an_altered_frame_fails_the_connection() -> None:
    peer = RawPeer()
    sealed = bytearray(peer.transport.encrypt(b"hello"))
    sealed[-1] ^= 1
    assert failure(peer.connection.receive(bytes(sealed), 0.0)) == "decryption_failed"


@pytest.mark.parametrize(
    ("code", "event"),
    [
        (0, Closed("closed_by_peer")),
        (1, Failed("peer_saw_protocol_error", "it went away")),
        (2, Failed("peer_had_internal_error", "it went away")),
        (99, Failed("peer_went_away", "code 99")),
    ],
)
def test_a_peer_that_goes_away_ends_the_connection(code: int, event: ConnectionEvent) -> None:
    peer = RawPeer()
    assert peer.send(encode_header(GO_AWAY, 0, 0, code) + b"\xff" * 50) == [event]
    assert peer.connection.closed
    assert peer.connection.data_to_send() == b""


def test_a_peer_that_stops_answering_is_given_up_on() -> None:
    connection = RawPeer().connection
    assert connection.next_wake() == 30.0
    assert connection.wake(30.0) == []
    assert connection.data_to_send()
    assert connection.next_wake() == 50.0
    assert failure(connection.wake(50.0)) == "keepalive_timeout"


def test_a_flood_of_empty_noise_frames_fails_the_connection() -> None:
    peer = RawPeer(limits=ConnectionLimits(empty_frames_rate=10, empty_frames_burst=50))
    transport = peer.transport
    flood = b""
    for _ in range(51):
        sealed = transport._encrypt(transport_nonce(transport._send_nonce), b"", None)
        transport._send_nonce += 1
        flood += len(sealed).to_bytes(2, "big") + sealed
    assert failure(peer.connection.receive(flood, 0.0)) == "too_many_empty_frames"


def test_empty_noise_frames_before_bytes_of_a_stream_are_counted_too() -> None:
    peer = RawPeer(limits=ConnectionLimits(empty_frames_rate=10, empty_frames_burst=50))
    transport = peer.transport
    peer.send(data(1, PROPOSAL, SYN))
    for number in range(60):
        sealed = transport._encrypt(transport_nonce(transport._send_nonce), b"", None)
        transport._send_nonce += 1
        empty = len(sealed).to_bytes(2, "big") + sealed
        full = transport.encrypt(encode_header(DATA, 0, 1, 1) + b"x")
        events = peer.connection.receive(empty + full, 0.0)
        if peer.connection.closed:
            assert failure(events) == "too_many_empty_frames" and number == 50
            return
    raise AssertionError("nobody counted")


def transport_nonce(number: int) -> bytes:
    return bytes(4) + number.to_bytes(8, "little")


def test_a_flood_of_empty_yamux_frames_fails_the_connection() -> None:
    peer = RawPeer(limits=ConnectionLimits(empty_frames_rate=10, empty_frames_burst=50))
    flood = encode_header(WINDOW_UPDATE, 0, 2, 1) * 51
    assert failure(peer.send(flood)) == "too_many_empty_frames"


def test_a_goodbye_at_the_end_of_a_flood_is_reported_once() -> None:
    peer = RawPeer(limits=ConnectionLimits(empty_frames_rate=10, empty_frames_burst=50))
    flood = encode_header(WINDOW_UPDATE, 0, 2, 1) * 51 + encode_header(GO_AWAY, 0, 0, 0)
    assert peer.send(flood) == [Closed("closed_by_peer")]


def test_writing_past_the_backlog_fails_the_connection_at_the_next_wake() -> None:
    pair = Pair(make_connection(dialer=True, seed=1, limits=ConnectionLimits(send_backlog=1000)))
    pair.establish()
    stream = pair.open()
    connection = pair.dialer.connection
    connection.write(stream, bytes(1001))
    assert connection.closed
    due = connection.next_wake()
    assert due is not None and due <= 0.0
    assert failure(connection.wake(due)) == "send_backlog"
    assert connection.next_wake() is None
    pair.pump()
    assert failure(pair.listener.events) == "peer_saw_protocol_error"


def test_bytes_kept_for_streams_without_a_protocol_count_as_backlog() -> None:
    pair = Pair(make_connection(dialer=True, seed=1, limits=ConnectionLimits(send_backlog=1000)))
    pair.establish()
    connection = pair.dialer.connection
    for _ in range(3):
        connection.write(connection.open_stream([ECHO], 0.0), bytes(400))
    assert failure(connection.wake(0.0)) == "send_backlog"


def test_opening_a_stream_on_a_full_backlog_fails_the_connection_and_raises_nothing() -> None:
    pair = Pair(make_connection(dialer=True, seed=1, limits=ConnectionLimits(send_backlog=1000)))
    pair.establish()
    stream = pair.open()
    pair.dialer.connection.write(stream, bytes(1000))
    pair.dialer.connection.open_stream([ECHO], 0.0)
    assert failure(pair.dialer.connection.wake(0.0)) == "send_backlog"


@pytest.mark.parametrize("direction", ["_send_nonce", "_receive_nonce"])
def test_a_connection_ends_before_its_keys_are_used_up(direction: str) -> None:
    pair = Pair().establish()
    stream = pair.open()
    connection = pair.dialer.connection
    setattr(connection._transport, direction, LARGEST_NONCE - 1)
    if direction == "_send_nonce":
        connection.write(stream, b"x")
        assert connection.data_to_send() == b""
        events = connection.wake(0.0)
    else:
        events = connection.receive(bytes(20), 0.0)
    assert failure(events) == "nonce_exhausted"


# ---- streams


def test_a_stream_that_never_negotiates_is_reset_in_time() -> None:
    peer = RawPeer()
    assert peer.send(data(1, b"", SYN), now=1.0) == []
    assert peer.connection.next_wake() == 11.0
    assert peer.connection.wake(11.0) == [InboundRefused(1, "timed_out")]
    assert headers(peer.read()) == [(WINDOW_UPDATE, RST, 1, 0)]
    assert not peer.connection.closed


def test_a_stream_that_trickles_its_negotiation_is_reset_in_time() -> None:
    peer = RawPeer()
    peer.send(data(1, b"", SYN))
    for second in range(1, 10):
        assert peer.send(data(1, PROPOSAL[second : second + 1]), now=float(second)) == []
    peer.connection.wake(10.0)
    assert headers(peer.read())[-1] == (WINDOW_UPDATE, RST, 1, 0)


def test_our_stream_that_gets_no_answer_is_refused_in_time() -> None:
    peer = RawPeer(dialer=False)
    stream = peer.connection.open_stream([ECHO], 2.0)
    assert headers(peer.read()) == [(DATA, SYN, stream, len(PROPOSAL))]
    assert peer.connection.next_wake() == 12.0
    assert peer.connection.wake(12.0) == [StreamRefused(stream, "timed_out")]
    assert headers(peer.read()) == [(WINDOW_UPDATE, RST, stream, 0)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda stream: encode_header(WINDOW_UPDATE, RST, stream, 0), "reset_by_peer"),
        (lambda stream: encode_header(DATA, FIN, stream, 0), "ended_by_peer"),
        (lambda stream: data(stream, b"\x05junk\n"), "bad_greeting"),
        (lambda stream: data(stream, b"\xff\xff\xff"), "token_too_long"),
        (
            lambda stream: data(stream, encode_token(GREETING) + encode_token("na")),
            "no_common_protocol",
        ),
    ],
)
def test_our_stream_is_refused_with_the_reason(answer: Callable[[int], bytes], reason: str) -> None:
    peer = RawPeer(dialer=False)
    stream = peer.connection.open_stream([ECHO], 0.0)
    peer.read()
    assert peer.send(answer(stream)) == [StreamRefused(stream, reason)]
    assert not peer.connection.closed
    assert peer.connection.next_wake() == 30.0


def test_a_stream_is_refused_once_whatever_else_came_with_the_refusal() -> None:
    peer = RawPeer(dialer=False)
    stream = peer.connection.open_stream([ECHO], 0.0)
    peer.read()
    answer = data(stream, b"\x05junk\n") + data(stream, b"more", FIN) + data(stream, b"", RST)
    assert peer.send(answer) == [StreamRefused(stream, "bad_greeting")]


def test_bytes_kept_for_a_stream_that_is_refused_are_let_go() -> None:
    peer = RawPeer(dialer=False)
    stream = peer.connection.open_stream([ECHO], 0.0)
    peer.connection.write(stream, bytes(1000))
    peer.read()
    assert peer.connection.queued == 1000
    peer.send(encode_header(WINDOW_UPDATE, RST, stream, 0))
    assert peer.connection.queued == 0


def test_a_bad_negotiation_costs_the_stream_and_not_the_connection() -> None:
    peer = RawPeer()
    junk = data(1, b"\x05junk\n", SYN) + data(1, b"more junk") + data(1, b"", FIN)
    assert peer.send(junk + data(3, PROPOSAL, SYN)) == [
        InboundRefused(1, "bad_greeting"),
        StreamOpened(3, ECHO, inbound=True),
    ]
    assert (WINDOW_UPDATE, RST, 1, 0) in headers(peer.read())


def test_a_stream_that_ends_before_it_has_a_protocol_is_reset() -> None:
    peer = RawPeer()
    assert peer.send(data(1, PROPOSAL[:5], SYN | FIN)) == [InboundRefused(1, "ended_by_peer")]
    assert (WINDOW_UPDATE, RST, 1, 0) in headers(peer.read())
    assert peer.connection.next_wake() == 30.0


def test_a_stream_reset_before_it_has_a_protocol_is_no_stream() -> None:
    peer = RawPeer()
    reset = encode_header(DATA, RST, 1, 0)
    refused = [InboundRefused(1, "reset_by_peer")]
    assert peer.send(data(1, PROPOSAL[:5], SYN) + reset) == refused
    assert peer.connection.next_wake() == 30.0


def test_proposal_data_and_end_in_one_frame_are_all_heard() -> None:
    peer = RawPeer()
    assert peer.send(data(1, PROPOSAL + b"all at once", SYN | FIN)) == [
        StreamOpened(1, ECHO, inbound=True),
        StreamData(1, b"all at once"),
        StreamEnded(1),
    ]


def test_a_stream_with_a_protocol_that_is_reset_is_reported() -> None:
    peer = RawPeer()
    peer.send(data(1, PROPOSAL, SYN))
    assert peer.send(encode_header(DATA, RST, 1, 0)) == [StreamReset(1, "reset_by_peer")]


def test_streams_past_the_backlog_are_reset_and_settled_ones_make_room() -> None:
    peer = RawPeer(limits=ConnectionLimits(inbound_backlog=2))
    peer.send(b"".join(data(stream, b"", SYN) for stream in (1, 3, 5)))
    assert headers(peer.read()) == [(WINDOW_UPDATE, RST, 5, 0)]
    peer.send(data(1, PROPOSAL))
    assert peer.send(data(7, PROPOSAL, SYN)) == [StreamOpened(7, ECHO, inbound=True)]


def test_streams_past_the_limit_are_reset() -> None:
    peer = RawPeer(limits=ConnectionLimits(streams_inbound=2))
    for stream in (1, 3):
        peer.send(data(stream, PROPOSAL, SYN))
    peer.read()
    assert peer.send(data(5, PROPOSAL, SYN)) == [InboundRefused(5, "too_many_streams")]
    assert headers(peer.read()) == [(WINDOW_UPDATE, RST, 5, 0)]


def test_streams_of_our_own_past_the_limit_are_refused() -> None:
    peer = RawPeer(dialer=False, limits=ConnectionLimits(streams_outbound=1))
    first = peer.connection.open_stream([ECHO], 3.0)
    second = peer.connection.open_stream([ECHO], 3.0)
    assert second != first
    assert peer.connection.next_wake() == 3.0
    assert peer.connection.wake(3.0) == [StreamRefused(second, "too_many_streams")]


def test_a_hundred_thousand_streams_cost_the_peer_its_connection_and_us_no_memory() -> None:
    peer = RawPeer()
    events: list[ConnectionEvent] = []
    for start in range(1, 200_001, 8000):
        batch = b"".join(data(stream, b"", SYN) for stream in range(start, start + 8000, 2))
        events += peer.send(batch)
        if peer.connection.closed:
            break
    assert failure(events) == "too_many_empty_frames"


# ---- anything at all


def frame(kind: int, flags: int, stream: int, length: int | None, payload: bytes) -> bytes:
    """A frame whose length is that of its payload, or wrong."""
    return encode_header(kind, flags, stream, len(payload) if length is None else length) + payload


frames = st.builds(
    frame,
    st.sampled_from([0, 0, 0, 1, 2, 3]),
    st.sampled_from([0, 0, 1, 2, 3, 4, 5, 8]),
    st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5]),
    st.sampled_from([None, None, None, 0, 1, 65536, 262_144, 2**32 - 1]),
    st.sampled_from([b"", b"x", PROPOSAL, PROPOSAL + b"y", encode_token(ECHO), bytes(300)]),
)


def drive(connection: Connection, source: random.Random) -> None:
    """Use the connection as an owner would, at random."""
    stream = source.choice([1, 2, 3, 4])
    actions: list[Callable[[], object]] = [
        lambda: connection.write(stream, b"some bytes"),
        lambda: connection.close_stream(stream),
        lambda: connection.reset_stream(stream),
        lambda: connection.hold(stream, source.random() < 0.5),
        lambda: connection.open_stream([ECHO], 0.0),
    ]
    source.choice(actions)()


@given(st.lists(frames, max_size=30), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_arbitrary_frames_end_in_events_and_never_raise(
    parts: list[bytes], dialer: bool, seed: int
) -> None:
    source = random.Random(seed)
    peer = RawPeer(dialer=dialer)
    events: list[ConnectionEvent] = []
    for part in parts:
        if source.random() < 0.5:
            drive(peer.connection, source)
        events += peer.send(part)
        if source.random() < 0.7:
            peer.read()
    connection = peer.connection
    assert connection.closed == any(isinstance(event, Failed | Closed) for event in events)
    if connection.closed:
        assert isinstance(events[-1], Failed | Closed)
        assert connection.queued == 0
    opened = [event.stream for event in events if isinstance(event, StreamOpened)]
    assert len(opened) == len(set(opened))
    for event in events:
        if isinstance(event, StreamData | StreamEnded):
            assert event.stream in opened
