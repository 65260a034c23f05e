from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.stack.connection import (
    Closed,
    ConnectionLimits,
    Established,
    InboundRefused,
    PongReceived,
    StreamData,
    StreamDrained,
    StreamEnded,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.limits import INITIAL_WINDOW
from tests.helpers.libp2p.connection_pair import (
    ECHO,
    Pair,
    in_pieces_of,
    in_random_pieces,
    make_connection,
)

ALICE, BOB = PrivateKey.from_seed(b"a" * 32), PrivateKey.from_seed(b"b" * 32)


def pair_of_alice_and_bob() -> Pair:
    return Pair(
        make_connection(dialer=True, seed=1, identity=ALICE, expected_peer=BOB.peer),
        make_connection(dialer=False, seed=2, identity=BOB),
    )


# ---- coming about


def test_both_sides_are_established_and_know_each_other() -> None:
    pair = pair_of_alice_and_bob()
    pair.pump()
    assert pair.dialer.events == [Established(BOB.peer)]
    assert pair.listener.events == [Established(ALICE.peer)]
    assert pair.dialer.connection.public_key == BOB.public_key
    assert pair.listener.connection.peer == ALICE.peer
    assert pair.dialer.connection.established and not pair.dialer.connection.closed


def test_coming_about_costs_three_round_trips() -> None:
    pair = pair_of_alice_and_bob()
    pair.pump()
    # The listener greets while the dialer's proposal is under way; then security, handshake, muxer.
    assert len(pair.dialer.written) == 3
    assert len(pair.listener.written) == 3


def test_the_dialer_proposes_the_muxer_together_with_its_last_handshake_message() -> None:
    pair = pair_of_alice_and_bob()
    pair.pump()
    last = pair.dialer.written[-1]
    first_frame = 2 + int.from_bytes(last[:2], "big")
    assert len(last) > first_frame


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_size_of_the_pieces_does_not_matter(size: int) -> None:
    pair = Pair(cut=in_pieces_of(size))
    pair.establish()
    stream = pair.open()
    pair.dialer.connection.write(stream, b"hello" * 100)
    pair.pump()
    assert pair.listener.data(stream) == b"hello" * 100


def test_no_stream_can_be_opened_before_the_connection_is_established() -> None:
    with pytest.raises(LocalProtocolError):
        make_connection(dialer=True, seed=1).open_stream([ECHO], 0.0)


def test_an_expected_peer_that_is_no_peer_id_is_the_callers_fault() -> None:
    with pytest.raises(LocalProtocolError):
        make_connection(dialer=True, seed=1, expected_peer="nobody")


# ---- streams


def test_a_stream_is_opened_in_both_directions() -> None:
    pair = Pair().establish()
    stream = pair.dialer.connection.open_stream(["/other", ECHO], 0.0)
    pair.pump()
    assert pair.dialer.take() == [StreamOpened(stream, ECHO, inbound=False)]
    assert pair.listener.take() == [StreamOpened(stream, ECHO, inbound=True)]
    back = pair.listener.connection.open_stream([ECHO], 0.0)
    pair.pump()
    assert pair.listener.take() == [StreamOpened(back, ECHO, inbound=False)]
    assert pair.dialer.take() == [StreamOpened(back, ECHO, inbound=True)]
    assert back != stream


def test_a_stream_whose_first_proposal_is_taken_costs_one_round_trip() -> None:
    pair = Pair().establish()
    before = len(pair.dialer.written)
    pair.dialer.connection.open_stream([ECHO], 0.0)
    pair.pump()
    assert len(pair.dialer.written) == before + 1


def test_the_protocols_are_asked_for_at_each_negotiation() -> None:
    known = [ECHO]
    pair = Pair(listener=make_connection(dialer=False, seed=2, protocols=known)).establish()
    assert pair.dialer.connection.open_stream(["/late"], 0.0)
    pair.pump()
    assert isinstance(pair.dialer.take()[0], StreamRefused)
    known.append("/late")
    assert pair.dialer.connection.open_stream(["/late"], 0.0)
    pair.pump()
    assert isinstance(pair.dialer.take()[0], StreamOpened)


def test_a_stream_without_a_common_protocol_is_refused_and_the_connection_lives() -> None:
    pair = Pair().establish()
    stream = pair.dialer.connection.open_stream(["/x", "/y"], 0.0)
    pair.pump()
    assert pair.dialer.take() == [StreamRefused(stream, "no_common_protocol")]
    assert pair.listener.take() == [InboundRefused(stream, "reset_by_peer")]
    assert pair.open() > stream


def test_opening_with_nothing_to_propose_is_the_callers_fault() -> None:
    pair = Pair().establish()
    with pytest.raises(LocalProtocolError):
        pair.dialer.connection.open_stream([], 0.0)
    assert pair.open() == 1


def test_bytes_written_before_the_protocol_is_agreed_on_follow_it() -> None:
    pair = Pair().establish()
    connection = pair.dialer.connection
    stream = connection.open_stream([ECHO], 0.0)
    connection.write(stream, b"early ")
    connection.write(stream, b"bird")
    connection.close_stream(stream)
    connection.write(stream, b"too late")
    assert connection.unsent(stream) == 10 < connection.queued
    pair.pump()
    assert pair.dialer.take() == [
        StreamOpened(stream, ECHO, inbound=False),
        StreamDrained(stream),
    ]
    assert pair.listener.take() == [
        StreamOpened(stream, ECHO, inbound=True),
        StreamData(stream, b"early bird"),
        StreamEnded(stream),
    ]
    assert connection.unsent(stream) == connection.queued == 0


def test_a_stream_reset_before_it_was_agreed_on_leaves_nothing_behind() -> None:
    pair = Pair().establish()
    connection = pair.dialer.connection
    stream = connection.open_stream([ECHO], 0.0)
    connection.write(stream, b"never")
    connection.reset_stream(stream)
    assert connection.queued == 0
    assert connection.data_to_send() == b""
    assert connection.unsent(stream) == 0


def test_data_goes_both_ways_and_each_side_ends_for_itself() -> None:
    pair = Pair().establish()
    stream = pair.open()
    pair.dialer.connection.write(stream, b"question")
    pair.dialer.connection.close_stream(stream)
    pair.pump()
    assert pair.listener.take() == [StreamData(stream, b"question"), StreamEnded(stream)]
    pair.listener.connection.write(stream, b"answer")
    pair.listener.connection.close_stream(stream)
    pair.pump()
    assert pair.dialer.take() == [StreamData(stream, b"answer"), StreamEnded(stream)]


def test_a_reset_reaches_the_other_side() -> None:
    pair = Pair().establish()
    stream = pair.open()
    pair.dialer.connection.reset_stream(stream)
    pair.pump()
    assert pair.dialer.take() == []
    assert pair.listener.take() == [StreamReset(stream, "reset_by_peer")]


def test_calls_for_a_stream_that_is_gone_do_nothing() -> None:
    connection = Pair().establish().dialer.connection
    connection.write(99, b"x")
    connection.close_stream(99)
    connection.reset_stream(99)
    connection.hold(99, True)
    assert connection.unsent(99) == 0
    assert connection.data_to_send() == b""


def test_many_writes_become_one_frame_in_one_piece() -> None:
    pair = Pair().establish()
    stream = pair.open()
    for _ in range(50):
        pair.dialer.connection.write(stream, bytes(1024))
    sealed = pair.dialer.connection.data_to_send()
    assert len(sealed) == 2 + 12 + 50 * 1024 + 16
    assert pair.listener.connection.receive(sealed, 0.0) == [StreamData(stream, bytes(50 * 1024))]


def test_sixty_messages_that_came_in_frames_of_their_own_are_one_event() -> None:
    pair = Pair().establish()
    stream = pair.open()
    burst = b""
    for number in range(60):
        pair.dialer.connection.write(stream, bytes((number,)) * 1024)
        burst += pair.dialer.connection.data_to_send()
    (event,) = pair.listener.connection.receive(burst, 0.0)
    assert event == StreamData(stream, b"".join(bytes((n,)) * 1024 for n in range(60)))


@given(st.integers(0, 2**32), st.sampled_from([1, 30, 5000, 100_000]))
@settings(max_examples=25, deadline=None)
def test_everything_arrives_in_order_on_every_stream_whatever_the_pieces(
    seed: int, largest: int
) -> None:
    source = random.Random(seed)
    pair = Pair(cut=in_random_pieces(source, max(largest, 1))).establish()
    streams = [pair.open() for _ in range(3)]
    sent = dict.fromkeys(streams, b"")
    for _ in range(20):
        stream = source.choice(streams)
        payload = source.randbytes(source.choice([1, 100, 3000]))
        pair.dialer.connection.write(stream, payload)
        sent[stream] += payload
        if source.random() < 0.5:
            pair.pump()
    for stream in streams:
        pair.dialer.connection.close_stream(stream)
    pair.pump()
    assert {stream: pair.listener.data(stream) for stream in streams} == sent
    ended = [event.stream for event in pair.listener.events if isinstance(event, StreamEnded)]
    assert sorted(ended) == streams


def test_equal_seeds_give_equal_bytes() -> None:
    def run(seed: int) -> list[bytes]:
        pair = Pair(make_connection(dialer=True, seed=seed)).establish()
        stream = pair.open()
        pair.dialer.connection.write(stream, b"the same")
        pair.advance(100.0)
        return pair.dialer.written + pair.listener.written

    assert run(1) == run(1)
    assert run(1) != run(3)


# ---- flow control


def test_a_large_write_goes_through_as_the_peer_grants_room() -> None:
    pair = Pair().establish()
    stream = pair.open()
    payload = random.Random(5).randbytes(3_000_000)
    pair.dialer.connection.write(stream, payload)
    assert pair.dialer.connection.unsent(stream) > 2_700_000
    pair.pump()
    assert pair.listener.data(stream) == payload
    assert pair.dialer.take() == [StreamDrained(stream)]
    assert pair.dialer.connection.unsent(stream) == pair.dialer.connection.queued == 0


def test_a_held_stream_stops_the_sender_after_one_window_and_others_go_on() -> None:
    pair = Pair().establish()
    held, free = pair.open(), pair.open()
    pair.listener.connection.hold(held, True)
    pair.dialer.connection.write(held, bytes(1_000_000))
    pair.dialer.connection.write(free, bytes(1_000_000))
    pair.pump()
    room = len(pair.listener.data(held))
    assert INITIAL_WINDOW - 100 <= room <= INITIAL_WINDOW
    assert len(pair.listener.data(free)) == 1_000_000
    assert pair.dialer.connection.unsent(held) == 1_000_000 - room
    pair.listener.connection.hold(held, False)
    pair.pump()
    assert len(pair.listener.data(held)) == 1_000_000


def test_a_stalled_stream_keeps_memory_bounded_at_both_ends() -> None:
    limits = ConnectionLimits(send_backlog=2_000_000)
    pair = Pair(make_connection(dialer=True, seed=1, limits=limits)).establish()
    stream = pair.open()
    pair.listener.connection.hold(stream, True)
    writes = 0
    while not pair.dialer.connection.closed:
        pair.dialer.connection.write(stream, bytes(50_000))
        writes += 1
        pair.pump()
        assert writes < 100
    assert len(pair.listener.data(stream)) <= INITIAL_WINDOW
    (event,) = pair.dialer.connection.wake(0.0)
    assert event[0] == "send_backlog"


def test_a_window_update_is_not_sent_for_every_message() -> None:
    pair = Pair().establish()
    stream = pair.open()
    before = len(pair.listener.written)
    for _ in range(1000):
        pair.dialer.connection.write(stream, bytes(1024))
        pair.pump()
    assert len(pair.listener.written) - before <= 9


# ---- time


def test_a_quiet_connection_is_kept_alive_by_pings() -> None:
    pair = Pair().establish()
    pair.advance(200.0)
    pongs = [event for event in pair.dialer.events if isinstance(event, PongReceived)]
    assert 3 <= len(pongs) <= 7
    assert not pair.dialer.connection.closed


def test_a_busy_connection_sends_no_pings() -> None:
    pair = Pair().establish()
    stream = pair.open()
    for second in range(1, 100):
        pair.now = float(second)
        for side in (pair.dialer, pair.listener):
            side.connection.write(stream, b"x")
            side.events += side.connection.wake(pair.now)
        pair.pump()
    assert not any(isinstance(event, PongReceived) for event in pair.dialer.events)


def test_waking_early_is_harmless() -> None:
    connection = Pair().establish().dialer.connection
    before = connection.next_wake()
    assert connection.wake(1.0) == []
    assert connection.next_wake() == before
    assert connection.data_to_send() == b""


# ---- going away


def test_a_close_reaches_the_other_side_behind_everything_written() -> None:
    pair = Pair().establish()
    stream = pair.open()
    pair.dialer.connection.write(stream, b"last words")
    pair.dialer.connection.close("shutting down")
    assert pair.dialer.connection.closed
    assert pair.dialer.connection.close_reason == "shutting down"
    pair.pump()
    assert pair.listener.take() == [StreamData(stream, b"last words"), Closed("closed_by_peer")]
    assert pair.listener.connection.closed
    assert pair.dialer.take() == []


def test_after_the_end_every_call_is_void() -> None:
    pair = Pair().establish()
    stream = pair.open()
    connection = pair.dialer.connection
    connection.close()
    connection.data_to_send()
    connection.close()
    connection.write(stream, b"x")
    connection.close_stream(stream)
    connection.reset_stream(stream)
    connection.hold(stream, True)
    assert connection.open_stream([ECHO], 1.0) == 0
    assert connection.receive(b"anything", 1.0) == []
    assert connection.wake(1000.0) == []
    assert connection.next_wake() is None
    assert connection.data_to_send() == b""
    assert connection.unsent(stream) == connection.queued == 0


def test_a_connection_closed_before_it_was_established_says_nothing() -> None:
    connection = make_connection(dialer=False, seed=2)
    connection.data_to_send()
    connection.close()
    assert connection.closed and not connection.established
    assert connection.data_to_send() == b""
