"""ping: both sides."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack.ping import PING_SIZE, PingEcho, Pinger


@given(st.lists(st.binary(max_size=100)))
def test_the_echo_gives_whole_pings_back_however_they_are_cut(pieces: list[bytes]) -> None:
    echo, sent, answered = PingEcho(), b"", b""
    for piece in pieces:
        sent += piece
        answered += echo.receive(piece)
        assert len(answered) % PING_SIZE == 0
        assert echo.pending == len(sent) - len(answered) < PING_SIZE
        assert sent.startswith(answered)


def test_an_answer_gives_the_round_trip() -> None:
    pinger, echo = Pinger(random.Random(1)), PingEcho()
    ping = pinger.ask(now=100.0)
    assert len(ping) == PING_SIZE
    assert pinger.waiting
    assert pinger.receive(echo.receive(ping), now=100.5) == 0.5
    assert not pinger.waiting
    assert pinger.next_wake() is None


def test_an_answer_may_come_in_pieces() -> None:
    pinger = Pinger(random.Random(1))
    ping = pinger.ask(now=0.0)
    assert pinger.receive(ping[:5], now=1.0) is None
    assert pinger.receive(b"", now=1.5) is None
    assert pinger.waiting
    assert pinger.receive(ping[5:], now=2.0) == 2.0


def test_each_ping_has_other_bytes_and_the_seed_decides_them() -> None:
    first, again = Pinger(random.Random(7)), Pinger(random.Random(7))
    ping = first.ask(now=0.0)
    assert again.ask(now=0.0) == ping
    first.receive(ping, now=1.0)
    assert first.ask(now=2.0) != ping


@pytest.mark.parametrize("place", [0, 31])
def test_other_bytes_than_ours_are_refused(place: int) -> None:
    pinger = Pinger(random.Random(1))
    answer = bytearray(pinger.ask(now=0.0))
    answer[place] ^= 1
    with pytest.raises(RemoteProtocolError) as caught:
        pinger.receive(bytes(answer), now=1.0)
    assert caught.value.reason == "bad_pong"


def test_more_bytes_than_ours_are_refused() -> None:
    pinger = Pinger(random.Random(1))
    ping = pinger.ask(now=0.0)
    with pytest.raises(RemoteProtocolError):
        pinger.receive(ping + b"x", now=1.0)


def test_an_answer_that_nobody_asked_for_is_refused() -> None:
    pinger = Pinger(random.Random(1))
    with pytest.raises(RemoteProtocolError):
        pinger.receive(bytes(32), now=1.0)
    pinger.receive(pinger.ask(now=2.0), now=3.0)
    with pytest.raises(RemoteProtocolError):
        pinger.receive(b"x", now=4.0)


def test_only_one_ping_is_under_way_at_a_time() -> None:
    pinger = Pinger(random.Random(1))
    pinger.ask(now=0.0)
    with pytest.raises(LocalProtocolError):
        pinger.ask(now=1.0)


def test_an_answer_that_does_not_come_is_overdue_at_the_time_that_was_told() -> None:
    pinger = Pinger(random.Random(1), timeout=10.0)
    assert pinger.next_wake() is None
    assert not pinger.overdue(1e9)
    ping = pinger.ask(now=5.0)
    assert pinger.next_wake() == 15.0
    assert not pinger.overdue(14.9)
    assert pinger.overdue(15.0)
    pinger.receive(ping[:31], now=14.0)
    assert pinger.overdue(15.0)


def test_a_clock_set_back_makes_no_negative_round_trip() -> None:
    pinger = Pinger(random.Random(1))
    assert pinger.receive(pinger.ask(now=5.0), now=4.0) == 0.0


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_arbitrary_answers_raise_nothing_but_a_remote_protocol_error(pieces: list[bytes]) -> None:
    pinger = Pinger(random.Random(1))
    pinger.ask(now=0.0)
    try:
        for piece in pieces:
            pinger.receive(piece, now=1.0)
    except RemoteProtocolError as error:
        assert error.reason == "bad_pong"
