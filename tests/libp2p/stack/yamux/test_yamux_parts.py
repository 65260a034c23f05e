from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError, RemoteProtocolError
from rumormill.libp2p.stack.limits import ConnectionLimits
from rumormill.libp2p.stack.yamux.frames import (
    ACK,
    DATA,
    FIN,
    GO_AWAY,
    PING,
    RST,
    SYN,
    WINDOW_UPDATE,
    check_header,
)
from rumormill.libp2p.stack.yamux.keepalive import KeepAlive
from rumormill.libp2p.stack.yamux.table import SeenNumbers, StreamTable


@pytest.mark.parametrize(
    ("kind", "flags", "stream"),
    [
        (DATA, 0, 1),
        (DATA, SYN | FIN, 2),
        (WINDOW_UPDATE, ACK, 1),
        (WINDOW_UPDATE, RST, 1),
        (PING, SYN, 0),
        (PING, ACK, 0),
        (GO_AWAY, 0, 0),
    ],
)
def test_a_header_that_is_in_order_passes(kind: int, flags: int, stream: int) -> None:
    check_header(kind, flags, stream)


@pytest.mark.parametrize(
    ("kind", "flags", "stream", "reason"),
    [
        (0x0100, 0, 1, "bad_version"),
        (4, 0, 0, "bad_frame"),
        (255, 0, 1, "bad_frame"),
        (DATA, 16, 1, "bad_frame"),
        (WINDOW_UPDATE, 0x8000, 1, "bad_frame"),
        (DATA, 0, 0, "bad_frame"),
        (WINDOW_UPDATE, 0, 0, "bad_frame"),
        (PING, SYN, 1, "bad_frame"),
        (PING, 0, 0, "bad_frame"),
        (PING, SYN | ACK, 0, "bad_frame"),
        (GO_AWAY, 0, 3, "bad_frame"),
        (GO_AWAY, SYN, 0, "bad_frame"),
    ],
)
def test_a_header_that_nobody_may_send_is_refused(
    kind: int, flags: int, stream: int, reason: str
) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        check_header(kind, flags, stream)
    assert caught.value.reason == reason


@given(st.lists(st.integers(0, 2000).map(lambda n: 2 * n + 1), max_size=60))
def test_a_number_is_taken_once_or_counts_as_used_when_far_behind(numbers: list[int]) -> None:
    seen, used, highest = SeenNumbers(), set[int](), -1
    for number in numbers:
        fresh = number not in used and highest - number < 2 * SeenNumbers.MEMORY
        assert seen.add(number) is fresh
        assert number in seen
        used.add(number)
        highest = max(highest, number)


def test_a_huge_leap_of_numbers_costs_no_memory() -> None:
    seen = SeenNumbers()
    seen.add(1)
    assert seen.add(2**32 - 1)
    assert seen._mask.bit_length() <= SeenNumbers.MEMORY
    assert not seen.add(1)


def test_a_table_knows_which_streams_ever_were() -> None:
    table = StreamTable(ConnectionLimits(), dialer=True)
    ours = table.add_ours()
    table.note_theirs(4)
    assert table.existed(ours.number) and table.existed(4)
    assert not table.existed(ours.number + 2) and not table.existed(2)
    table.remove(ours)
    assert table.existed(ours.number)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("handshake_timeout", 0),
        ("streams_inbound", -1),
        ("receive_window", 1024),
        ("receive_window", 1 << 30),
        ("streams_outbound", 257),
        ("keepalive_interval", float("nan")),
    ],
)
def test_a_limit_that_cannot_work_is_refused_by_name(key: str, value: float) -> None:
    with pytest.raises(ConfigError) as caught:
        ConnectionLimits(**{key: value})  # type: ignore[arg-type]
    assert caught.value.key == key


# ---- keep-alive


def test_a_silent_peer_is_pinged_and_given_up_on() -> None:
    keepalive = KeepAlive(ConnectionLimits(), now=100.0)
    assert keepalive.wake_at == 130.0
    assert keepalive.wake(129.9) == b""
    assert keepalive.wake(130.0).hex() == "000200010000000000000001"
    assert keepalive.wake_at == 150.0
    assert keepalive.wake(140.0) == b""
    with pytest.raises(RemoteProtocolError) as caught:
        keepalive.wake(150.0)
    assert caught.value.reason == "keepalive_timeout"


def test_a_peer_that_was_heard_is_not_pinged() -> None:
    keepalive = KeepAlive(ConnectionLimits(), now=0.0)
    keepalive.heard_at = 25.0
    assert keepalive.wake(30.0) == b""
    assert keepalive.wake_at == 55.0


def test_an_answer_gives_the_round_trip_and_puts_the_next_ping_off() -> None:
    keepalive = KeepAlive(ConnectionLimits(), now=0.0)
    keepalive.wake(30.0)
    assert keepalive.on_answer(7, 30.5) is None
    assert keepalive.on_answer(1, 30.5) == 0.5
    assert keepalive.on_answer(1, 30.6) is None
    assert keepalive.wake_at == 60.5


def test_anything_heard_after_a_ping_is_a_sign_of_life() -> None:
    keepalive = KeepAlive(ConnectionLimits(), now=0.0)
    keepalive.wake(30.0)
    keepalive.heard_at = 31.0
    assert keepalive.wake(50.0) == b""
    assert keepalive.wake_at == 61.0


def test_pings_are_answered_up_to_a_rate() -> None:
    limits = ConnectionLimits(pings_rate=1, pings_burst=2)
    keepalive = KeepAlive(limits, now=0.0)
    assert [bool(keepalive.answer(9, 0.0)) for _ in range(3)] == [True, True, False]
    assert keepalive.answer(9, 1.0).hex() == "000200020000000000000009"
