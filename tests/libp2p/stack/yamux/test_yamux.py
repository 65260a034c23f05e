from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.events import (
    PongReceived,
    StreamData,
    StreamDrained,
    StreamEnded,
    StreamReset,
)
from rumormill.libp2p.stack.limits import INITIAL_WINDOW, ConnectionLimits
from rumormill.libp2p.stack.yamux.frames import (
    ACK,
    DATA,
    FIN,
    GO_AWAY,
    HEADER,
    PING,
    RST,
    SYN,
    WINDOW_UPDATE,
    encode_header,
)
from rumormill.libp2p.stack.yamux.receiving import GoneAway, StreamArrived, YamuxEvent
from rumormill.libp2p.stack.yamux.session import YamuxSession

Frame = tuple[int, int, int, int]


def session(*, dialer: bool = False, limits: ConnectionLimits | None = None) -> YamuxSession:
    return YamuxSession(dialer=dialer, now=0.0, limits=limits or ConnectionLimits())


def frame(kind: int, flags: int, stream: int, length: int = 0) -> bytes:
    return encode_header(kind, flags, stream, length)


def data(stream: int, payload: bytes, flags: int = 0) -> bytes:
    return encode_header(DATA, flags, stream, len(payload)) + payload


def feed(machine: YamuxSession, *parts: bytes, now: float = 0.0) -> list[YamuxEvent]:
    events: list[YamuxEvent] = []
    machine.receive(b"".join(parts), now, events)
    return events


def fault(machine: YamuxSession, *parts: bytes, now: float = 0.0) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        feed(machine, *parts, now=now)
    return caught.value.reason


def frames(raw: bytes) -> list[Frame]:
    """The headers in ``raw``; payloads are skipped."""
    out: list[Frame] = []
    offset = 0
    while offset < len(raw):
        header = HEADER.unpack_from(raw, offset)
        out.append(header)
        offset += HEADER.size + (header[3] if header[0] == DATA else 0)
    assert offset == len(raw)
    return out


def opened(machine: YamuxSession) -> int:
    stream = machine.open_stream()
    assert stream is not None
    return stream


# ---- opening, writing, ending


def test_a_dialer_opens_odd_streams_and_a_listener_even_ones() -> None:
    assert [opened(session(dialer=True)), opened(session(dialer=False))] == [1, 2]
    machine = session(dialer=True)
    assert [opened(machine), opened(machine)] == [1, 3]


def test_the_first_frame_of_a_stream_carries_syn_and_its_data_at_once() -> None:
    machine = session(dialer=True)
    machine.write(opened(machine), b"hello")
    assert machine.data_to_send() == data(1, b"hello", SYN)


def test_the_first_frame_back_carries_ack_and_later_ones_do_not() -> None:
    machine = session()
    feed(machine, data(1, b"hi", SYN))
    machine.write(1, b"a")
    assert frames(machine.data_to_send()) == [(DATA, ACK, 1, 1)]
    machine.write(1, b"b")
    assert frames(machine.data_to_send()) == [(DATA, 0, 1, 1)]


def test_writes_to_one_stream_leave_as_one_frame() -> None:
    machine = session(dialer=True)
    first, second = opened(machine), opened(machine)
    for _ in range(50):
        machine.write(first, bytes(1024))
    machine.write(second, b"x")
    machine.write(first, b"y")
    assert frames(machine.data_to_send()) == [
        (DATA, SYN, first, 50 * 1024 + 1),
        (DATA, SYN, second, 1),
    ]
    assert machine.data_to_send() == b""


def test_a_stream_begun_by_a_window_update_starts_with_the_larger_window() -> None:
    machine = session()
    assert feed(machine, frame(WINDOW_UPDATE, SYN, 1, 1000)) == [StreamArrived(1)]
    machine.write(1, bytes(INITIAL_WINDOW + 1000))
    assert machine.unsent(1) == 0


def test_the_end_of_a_stream_is_a_frame_of_its_own_behind_the_last_data() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    machine.write(stream, b"bye")
    machine.end(stream)
    # On the data frame, go would lose the data.
    assert machine.data_to_send() == data(stream, b"bye", SYN) + data(stream, b"", FIN)


def test_nothing_is_written_behind_an_end() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    machine.end(stream)
    machine.write(stream, b"late")
    machine.end(stream)
    assert frames(machine.data_to_send()) == [(DATA, SYN | FIN, stream, 0)]
    machine.end(stream)
    assert machine.data_to_send() == b""


def test_a_stream_that_we_ended_can_still_be_read() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    machine.end(stream)
    machine.data_to_send()
    assert feed(machine, data(stream, b"answer", ACK)) == [StreamData(stream, b"answer")]


def test_a_stream_that_the_peer_ended_can_still_be_written_to() -> None:
    machine = session()
    assert feed(machine, data(1, b"question", SYN | FIN)) == [
        StreamArrived(1),
        StreamData(1, b"question"),
        StreamEnded(1),
    ]
    machine.write(1, b"answer")
    assert frames(machine.data_to_send()) == [(DATA, ACK, 1, 6)]


def test_a_stream_ended_by_both_sides_is_forgotten() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN | FIN))
    machine.end(1)
    machine.data_to_send()
    assert not machine._streams
    other = session(dialer=True)
    stream = opened(other)
    other.end(stream)
    other.data_to_send()
    feed(other, frame(WINDOW_UPDATE, FIN, stream))
    assert not other._streams


def test_a_second_end_is_ignored_and_data_behind_an_end_is_a_fault() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN | FIN))
    assert feed(machine, frame(DATA, FIN, 1)) == []
    assert fault(machine, data(1, b"more")) == "data_after_end"


def test_the_end_comes_after_the_last_byte_of_its_frame() -> None:
    machine = session()
    raw = data(1, b"abcdef", SYN | FIN)
    events = [event for byte in raw for event in feed(machine, bytes((byte,)))]
    assert events[0] == StreamArrived(1)
    assert events[1:] == [*(StreamData(1, bytes((byte,))) for byte in b"abcdef"), StreamEnded(1)]


# ---- resetting


def test_a_reset_by_the_peer_ends_the_stream_and_drops_what_waited() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    machine.write(1, bytes(1000))
    assert feed(machine, frame(DATA, RST, 1)) == [StreamReset(1, "reset_by_peer")]
    assert machine.queued == 0
    assert machine.data_to_send() == b""


def test_the_code_in_a_reset_is_not_taken_for_credit() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    assert feed(machine, frame(WINDOW_UPDATE, RST, 1, 0xFFFFFFFF)) == [
        StreamReset(1, "reset_by_peer")
    ]


def test_our_reset_tells_the_peer_once() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    machine.reset(1)
    machine.reset(1)
    assert frames(machine.data_to_send()) == [(WINDOW_UPDATE, RST, 1, 0)]


def test_a_stream_reset_before_its_first_frame_left_is_never_mentioned() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    machine.write(stream, b"never mind")
    machine.reset(stream)
    assert machine.data_to_send() == b""
    assert machine.queued == 0


def test_late_frames_for_a_stream_that_is_gone_are_skipped() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN), data(3, b"", SYN))
    machine.reset(1)
    machine.data_to_send()
    late = data(1, b"late"), frame(WINDOW_UPDATE, 0, 1, 5), frame(DATA, FIN, 1)
    assert feed(machine, *late, data(3, b"x")) == [StreamData(3, b"x")]
    assert machine.data_to_send() == b""


def test_a_stream_reset_by_us_in_the_middle_of_a_frame_gives_nothing_more() -> None:
    machine = session()
    raw = data(1, b"abcdef", SYN | FIN)
    feed(machine, raw[:15])
    machine.reset(1)
    assert feed(machine, raw[15:], data(3, b"", SYN)) == [StreamArrived(3)]


def test_frames_for_a_stream_that_never_was_are_answered_with_a_reset() -> None:
    machine = session()
    assert feed(machine, data(5, b"what"), frame(WINDOW_UPDATE, 0, 2, 1)) == []
    assert frames(machine.data_to_send()) == [
        (WINDOW_UPDATE, RST, 5, 0),
        (WINDOW_UPDATE, RST, 2, 0),
    ]


def test_a_reset_of_a_stream_that_never_was_is_ignored() -> None:
    machine = session()
    assert feed(machine, frame(WINDOW_UPDATE, RST, 5), frame(DATA, SYN | RST, 7)) == []
    assert machine.data_to_send() == b""


# ---- numbers


@pytest.mark.parametrize("kind", [DATA, WINDOW_UPDATE])
def test_a_stream_with_a_number_of_ours_is_a_fault(kind: int) -> None:
    assert fault(session(dialer=False), frame(kind, SYN, 2)) == "bad_stream_number"
    assert fault(session(dialer=True), frame(kind, SYN, 1)) == "bad_stream_number"


def test_a_number_cannot_be_used_again_not_even_after_the_stream_is_gone() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    assert fault(machine, data(1, b"", SYN)) == "stream_number_reused"
    machine = session()
    feed(machine, data(1, b"", SYN), frame(DATA, RST, 1))
    assert fault(machine, data(1, b"", SYN)) == "stream_number_reused"


def test_streams_may_begin_out_of_order() -> None:
    machine = session()
    assert feed(machine, data(5, b"", SYN), data(1, b"", SYN), data(3, b"", SYN)) == [
        StreamArrived(5),
        StreamArrived(1),
        StreamArrived(3),
    ]


# ---- flow control


def test_what_the_peers_window_does_not_allow_waits_for_it() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    payload = random.Random(1).randbytes(INITIAL_WINDOW + 5000)
    machine.write(stream, payload)
    assert machine.unsent(stream) == 5000
    first = machine.data_to_send()
    assert frames(first) == [(DATA, SYN, stream, INITIAL_WINDOW)]
    assert machine.data_to_send() == b""
    assert feed(machine, frame(WINDOW_UPDATE, 0, stream, 3000)) == []
    second = machine.data_to_send()
    assert feed(machine, frame(WINDOW_UPDATE, 0, stream, 9000)) == [StreamDrained(stream)]
    third = machine.data_to_send()
    assert first[12:] + second[12:] + third[12:] == payload
    assert machine.unsent(stream) == 0 and machine.queued == 0


def test_many_writes_are_cut_where_the_window_ends() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    payload = random.Random(1).randbytes(300_000)
    for start in range(0, len(payload), 1000):
        machine.write(stream, payload[start : start + 1000])
    sent = machine.data_to_send()[12:]
    for credit in (1, 999, 1000, 1001, 50_000):
        feed(machine, frame(WINDOW_UPDATE, 0, stream, credit))
        sent += machine.data_to_send()[12:]
    assert sent == payload


def test_a_write_that_fits_the_window_never_says_drained() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    machine.write(stream, bytes(INITIAL_WINDOW))
    machine.data_to_send()
    assert feed(machine, frame(WINDOW_UPDATE, 0, stream, 1000)) == []


def test_an_end_waits_behind_data_that_waits_for_the_window() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    machine.write(stream, bytes(INITIAL_WINDOW + 1))
    machine.end(stream)
    assert frames(machine.data_to_send()) == [(DATA, SYN, stream, INITIAL_WINDOW)]
    feed(machine, frame(WINDOW_UPDATE, 0, stream, 10))
    assert frames(machine.data_to_send()) == [(DATA, 0, stream, 1), (DATA, FIN, stream, 0)]


def test_a_large_window_is_used_in_frames_that_every_peer_takes() -> None:
    machine = session(dialer=True)
    stream = opened(machine)
    feed(machine, frame(WINDOW_UPDATE, 0, stream, 4 * INITIAL_WINDOW))
    machine.write(stream, bytes(4 * INITIAL_WINDOW))
    assert {length for _, _, _, length in frames(machine.data_to_send())} == {INITIAL_WINDOW}


def test_window_updates_past_32_bits_are_a_fault() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    assert fault(machine, frame(WINDOW_UPDATE, 0, 1, 0xFFFFFFFF)) == "window_overflow"


def test_more_is_granted_only_when_half_of_the_window_is_used() -> None:
    machine = session()
    feed(machine, data(1, bytes(INITIAL_WINDOW // 2 - 1), SYN))
    assert machine.data_to_send() == b""
    feed(machine, data(1, b"x"))
    assert frames(machine.data_to_send()) == [(WINDOW_UPDATE, ACK, 1, INITIAL_WINDOW // 2)]
    feed(machine, data(1, b"x"))
    assert machine.data_to_send() == b""


def test_small_reads_get_no_window_update_each() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    updates = 0
    for _ in range(1024):
        feed(machine, data(1, bytes(1024)))
        updates += len(frames(machine.data_to_send()))
    assert updates == 8


def test_a_peer_that_sends_more_than_its_window_is_at_fault() -> None:
    machine = session()
    feed(machine, data(1, bytes(INITIAL_WINDOW), SYN))
    assert fault(machine, frame(DATA, 0, 1, 1)) == "window_exceeded"


def test_a_frame_larger_than_the_window_is_refused_at_its_header() -> None:
    machine = session()
    assert fault(machine, frame(DATA, SYN, 1, INITIAL_WINDOW + 1)) == "window_exceeded"
    machine = session()
    assert fault(machine, frame(DATA, 0, 77, INITIAL_WINDOW + 1)) == "window_exceeded"


def test_nothing_is_granted_while_a_stream_is_held_and_all_of_it_afterwards() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN))
    machine.hold(1, True)
    assert feed(machine, data(1, bytes(200_000))) == [StreamData(1, bytes(200_000))]
    assert machine.data_to_send() == b""
    machine.hold(1, False)
    assert frames(machine.data_to_send()) == [(WINDOW_UPDATE, ACK, 1, 200_000)]


def test_holding_a_stream_for_a_moment_changes_nothing() -> None:
    machine = session()
    feed(machine, data(1, bytes(1000), SYN))
    machine.hold(1, True)
    machine.hold(1, False)
    assert machine.data_to_send() == b""


def test_bytes_on_held_streams_are_bounded_together() -> None:
    machine = session(limits=ConnectionLimits(held_bytes=300_000))
    feed(machine, data(1, b"", SYN), data(3, b"", SYN))
    machine.hold(1, True)
    machine.hold(3, True)
    feed(machine, data(1, bytes(200_000)))
    assert fault(machine, data(3, bytes(100_001))) == "too_many_held_bytes"


def test_bytes_of_a_held_stream_count_no_more_once_it_is_released_or_gone() -> None:
    machine = session(limits=ConnectionLimits(held_bytes=300_000))
    feed(machine, data(1, b"", SYN), data(3, b"", SYN), data(5, b"", SYN))
    for stream in (1, 3, 5):
        machine.hold(stream, True)
    feed(machine, data(1, bytes(250_000)))
    machine.hold(1, False)
    feed(machine, data(3, bytes(250_000)))
    machine.reset(3)
    feed(machine, data(5, bytes(250_000)))
    assert machine._held_bytes == 250_000


def test_a_larger_window_is_granted_with_the_first_frame() -> None:
    machine = session(dialer=True, limits=ConnectionLimits(receive_window=1 << 20))
    stream = opened(machine)
    machine.write(stream, b"x")
    assert frames(machine.data_to_send()) == [
        (WINDOW_UPDATE, SYN, stream, (1 << 20) - INITIAL_WINDOW),
        (DATA, 0, stream, 1),
    ]
    feed(machine, data(stream, bytes(INITIAL_WINDOW)), data(stream, bytes(INITIAL_WINDOW)))


def test_an_ended_stream_is_granted_nothing_more() -> None:
    machine = session()
    feed(machine, data(1, bytes(200_000), SYN | FIN))
    assert machine.data_to_send() == b""


# ---- reading


def test_data_frames_that_follow_each_other_become_one_event() -> None:
    machine = session()
    feed(machine, data(1, b"", SYN), data(3, b"", SYN))
    burst = [data(1, bytes((n,)) * 1024) for n in range(60)]
    (event,) = feed(machine, *burst)
    assert event == StreamData(1, b"".join(bytes((n,)) * 1024 for n in range(60)))
    assert feed(machine, data(1, b"a"), data(1, b"b"), data(3, b"c"), data(1, b"d")) == [
        StreamData(1, b"ab"),
        StreamData(3, b"c"),
        StreamData(1, b"d"),
    ]


def test_what_came_before_a_fault_is_handed_on() -> None:
    machine = session()
    events: list[YamuxEvent] = []
    with pytest.raises(RemoteProtocolError):
        machine.receive(data(1, b"good", SYN) + data(1, b"too") + b"\xff" * 12, 0.0, events)
    assert events == [StreamArrived(1), StreamData(1, b"goodtoo")]


def test_a_payload_under_way_is_handed_on_and_not_kept() -> None:
    machine = session()
    feed(machine, frame(DATA, SYN, 1, 200_000))
    for _ in range(200):
        assert feed(machine, bytes(1000)) == [StreamData(1, bytes(1000))]
        assert len(machine._partial) == 0 and not machine._pieces


@given(st.data())
@settings(max_examples=60)
def test_any_cut_of_the_bytes_gives_the_same_streams(source: st.DataObject) -> None:
    sends = source.draw(st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=50)), max_size=30))
    sender, receiver = session(dialer=True), session()
    streams = [opened(sender) for _ in range(4)]
    wire, expected = b"", dict.fromkeys(streams, b"")
    for index, payload in sends:
        sender.write(streams[index], payload)
        expected[streams[index]] += payload
        wire += sender.data_to_send()
    for stream in streams:
        sender.end(stream)
    wire += sender.data_to_send()
    got, ended = dict.fromkeys(streams, b""), list[int]()
    while wire:
        size = source.draw(st.integers(1, 64))
        for event in feed(receiver, wire[:size]):
            if isinstance(event, StreamData):
                got[event.stream] += event.data
            elif isinstance(event, StreamEnded):
                ended.append(event.stream)
        wire = wire[size:]
    assert got == expected
    assert sorted(ended) == streams


headers = st.builds(
    encode_header,
    st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 256]),
    st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 8, 9, 16]),
    st.sampled_from([0, 1, 2, 3, 4, 5, 2**32 - 1]),
    st.sampled_from([0, 1, 2, 30, 262_144, 262_145, 2**32 - 1]),
)


@given(
    st.lists(st.one_of(headers, st.binary(max_size=40)), max_size=40),
    st.integers(1, 100),
    st.booleans(),
)
def test_arbitrary_frames_raise_nothing_but_remote_protocol_errors(
    parts: list[bytes], size: int, dialer: bool
) -> None:
    machine = session(dialer=dialer)
    stream = opened(machine)
    machine.write(stream, b"x")
    raw = b"".join(parts)
    try:
        for start in range(0, len(raw), size):
            feed(machine, raw[start : start + size])
            frames(machine.data_to_send())
            assert len(machine._partial) < HEADER.size
    except RemoteProtocolError:
        pass


# ---- limits


def test_streams_past_the_limit_are_reset_and_cost_nothing_but_that() -> None:
    machine = session(limits=ConnectionLimits(streams_inbound=2))
    for number in (1, 3, 5):
        feed(machine, data(number, b"hello", SYN))
        machine.accept(number)
    assert frames(machine.data_to_send()) == [(WINDOW_UPDATE, RST, 5, 0)]
    machine.reset(1)
    assert feed(machine, data(7, b"", SYN)) == [StreamArrived(7)]


def test_streams_that_nobody_accepted_are_bounded() -> None:
    machine = session(limits=ConnectionLimits(inbound_backlog=2))
    feed(machine, *(data(number, b"", SYN) for number in (1, 3, 5)))
    assert frames(machine.data_to_send()) == [(WINDOW_UPDATE, RST, 5, 0)]
    machine.accept(1)
    assert feed(machine, data(7, b"", SYN)) == [StreamArrived(7)]
    feed(machine, frame(DATA, RST, 3))
    assert feed(machine, data(9, b"", SYN)) == [StreamArrived(9)]


def test_streams_of_our_own_are_bounded() -> None:
    machine = session(dialer=True, limits=ConnectionLimits(streams_outbound=2))
    first = opened(machine)
    opened(machine)
    assert machine.open_stream() is None
    machine.reset(first)
    assert machine.open_stream() is not None


def test_our_numbers_run_out_without_coming_round() -> None:
    machine = session(dialer=True)
    machine._table._next = 2**32 - 1
    assert opened(machine) == 2**32 - 1
    assert machine.open_stream() is None


def test_bytes_queued_for_a_peer_that_does_not_read_are_bounded() -> None:
    machine = session(dialer=True, limits=ConnectionLimits(send_backlog=1000))
    stream = opened(machine)
    machine.write(stream, bytes(1000))
    with pytest.raises(RemoteProtocolError) as caught:
        machine.write(stream, b"x")
    assert caught.value.reason == "send_backlog"


def test_answers_that_nobody_fetches_are_bounded() -> None:
    machine = session(limits=ConnectionLimits(send_backlog=1000))
    reasons = set()
    for number in range(1001, 1401, 2):
        try:
            feed(machine, data(number, b""))
        except RemoteProtocolError as error:
            reasons.add(error.reason)
            break
    assert reasons == {"send_backlog"}


@pytest.mark.parametrize(
    "empty",
    [
        frame(DATA, 0, 1),
        frame(WINDOW_UPDATE, 0, 1, 1),
        frame(PING, ACK, 0, 5),
        frame(PING, SYN, 0, 5),
        frame(WINDOW_UPDATE, RST, 99),
        frame(DATA, RST, 99),
        data(2, b"late"),
    ],
)
def test_a_flood_of_frames_without_payload_ends_the_session(empty: bytes) -> None:
    machine = session(limits=ConnectionLimits(empty_frames_rate=100, empty_frames_burst=200))
    opened(machine)
    machine.write(2, b"x")
    machine.data_to_send()
    machine.reset(2)
    feed(machine, data(1, b"", SYN))
    feed(machine, empty * 199)
    assert fault(machine, empty) == "too_many_empty_frames"


def test_frames_without_payload_at_a_fair_rate_are_welcome_for_ever() -> None:
    machine = session(limits=ConnectionLimits(empty_frames_rate=100, empty_frames_burst=200))
    feed(machine, data(1, b"", SYN))
    for second in range(1, 100):
        feed(machine, frame(WINDOW_UPDATE, 0, 1, 1) * 100, now=float(second))
    # The window has grown by every one of them, and the session still serves.
    machine.data_to_send()
    machine.write(1, bytes(INITIAL_WINDOW + 99 * 100 + 1))
    sent = [size for kind, _, _, size in frames(machine.data_to_send()) if kind == DATA]
    assert sum(sent) == INITIAL_WINDOW + 99 * 100


# ---- pings and going away


def test_a_ping_is_answered_with_its_own_value() -> None:
    machine = session()
    feed(machine, frame(PING, SYN, 0, 0xCAFE))
    assert frames(machine.data_to_send()) == [(PING, ACK, 0, 0xCAFE)]


def test_only_so_many_pings_are_answered() -> None:
    machine = session(limits=ConnectionLimits(pings_rate=1, pings_burst=3))
    feed(machine, frame(PING, SYN, 0, 1) * 100)
    assert len(frames(machine.data_to_send())) == 3


def test_our_ping_and_its_answer_give_a_round_trip() -> None:
    machine = session()
    machine.wake(machine.next_wake())
    ((kind, flags, stream, value),) = frames(machine.data_to_send())
    assert (kind, flags, stream) == (PING, SYN, 0)
    assert feed(machine, frame(PING, ACK, 0, value), now=30.25) == [PongReceived(0.25)]


def test_the_peer_goes_away_and_nothing_behind_it_is_read() -> None:
    for code in (0, 1, 2, 4711):
        machine = session()
        assert feed(machine, frame(GO_AWAY, 0, 0, code), b"\xff" * 100) == [GoneAway(code)]
        assert machine.gone


# ---- the shorter way for what is usual


usual_and_not = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.integers(0, 4), st.integers(0, 60_000)),
        st.tuples(st.just("end"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("reset"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("grant"), st.integers(0, 4), st.integers(0, 1000)),
        st.tuples(st.just("hold"), st.integers(0, 4), st.integers(0, 1)),
        st.tuples(st.just("cut"), st.integers(0, 4), st.integers(1, 40)),
    ),
    max_size=40,
)


@given(usual_and_not)
def test_the_shorter_way_for_plain_data_makes_no_difference(
    script: list[tuple[str, int, int]],
) -> None:
    short, long = session(), session()
    for machine in (short, long):
        feed(machine, *(data(number, b"", SYN) for number in (1, 3, 5)))
    for what, stream, size in script:
        number = 2 * stream + 1
        if what == "hold":
            for machine in (short, long):
                machine.hold(number, bool(size))
            continue
        raw = {
            "data": data(number, bytes(size)),
            "end": frame(WINDOW_UPDATE, FIN, number),
            "reset": frame(WINDOW_UPDATE, RST, number),
            "grant": frame(WINDOW_UPDATE, 0, number, size),
            "cut": data(number, bytes(range(40)))[: HEADER.size + size],
        }[what]
        results = []
        for machine in (short, long):
            plain = machine.plain_data(raw, 1.0) if machine is short else None
            try:
                results.append((feed(machine, raw, now=1.0) if plain is None else [plain], ""))
            except RemoteProtocolError as error:
                results.append(([], error.reason))
        assert results[0] == results[1]
        assert short.data_to_send() == long.data_to_send()
        if results[0][1]:
            return


def test_what_the_peer_may_not_have_read_is_known_until_it_makes_room() -> None:
    machine = session(dialer=True)
    stream = machine.open_stream()
    assert stream is not None and machine.unconfirmed(stream) == 0
    machine.write(stream, bytes(INITIAL_WINDOW + 10))
    machine.data_to_send()
    assert machine.unconfirmed(stream) == INITIAL_WINDOW + 10
    feed(machine, frame(WINDOW_UPDATE, ACK, stream, 1000))
    machine.data_to_send()
    assert machine.unconfirmed(stream) == INITIAL_WINDOW + 10 - 1000
    feed(machine, frame(WINDOW_UPDATE, RST, stream))
    assert machine.unconfirmed(stream) == INITIAL_WINDOW + 10 - 1000, "just reset"
    feed(machine, frame(WINDOW_UPDATE, 0, stream, 1))
    assert machine.unconfirmed(stream) == 0
