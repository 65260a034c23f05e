"""Addresses that are dialed, and dialed again."""

from __future__ import annotations

import random
from typing import NamedTuple

from rumormill.core.targets import Targets
from rumormill.core.timers import Alarm
from rumormill.core.trace import CONNECTION_FAILED, DIAL_SCHEDULED, TraceEvent
from rumormill.core.transport import CancelTransport, DialEnded, OpenTransport
from rumormill.core.turn import Turn


class Times(NamedTuple):
    dial_timeout: float = 5.0
    redial_first_delay: float = 1.0
    redial_longest_delay: float = 8.0
    redial_jitter: float = 0.0
    stable_after: float = 10.0


def new_targets() -> tuple[Targets, Turn]:
    turn = Turn("us")
    return Targets(turn, Times(), random.Random(1), Alarm()), turn


def wake(targets: Targets, turn: Turn, now: float) -> list[object]:
    turn.begin(now)
    targets.wake()
    return turn.take()


def delays(effects: list[object]) -> list[object]:
    return [
        effect.fields["delay"]
        for effect in effects
        if isinstance(effect, TraceEvent) and effect.event == DIAL_SCHEDULED
    ]


def test_an_address_to_be_kept_is_dialed_again_with_growing_delays() -> None:
    targets, turn = new_targets()
    targets.want("b", True, None)
    assert turn.take() == [OpenTransport(1, "b")]
    now, found = 0.0, []
    for dial in range(1, 6):
        turn.begin(now)
        targets.transport_failed(dial, "connection_refused")
        found += delays(turn.take())
        due = targets.next_wake()
        assert due is not None
        now = due
        assert wake(targets, turn, now) == [OpenTransport(dial + 1, "b")]
    assert found == [1.0, 2.0, 4.0, 8.0, 8.0]


def test_delays_begin_anew_after_a_connection_that_lasted() -> None:
    targets, turn = new_targets()
    targets.want("b", True, None)
    targets.transport_failed(1, "connection_refused")
    wake(targets, turn, 1.0)
    assert targets.opened(2) == "b"
    targets.reached("b", "peer-b")
    targets.failed("b", "closed", "it closed the connection", lasted=10.0)
    assert delays(turn.take()) == [1.0]


def test_an_address_that_is_not_kept_is_dialed_once() -> None:
    targets, turn = new_targets()
    targets.want("b", False, None)
    targets.transport_failed(1, "connection_refused")
    effects = turn.take()
    assert effects[-1] == DialEnded("b", None, "could not connect to b: connection refused")
    assert isinstance(effects[1], TraceEvent) and effects[1].event == CONNECTION_FAILED
    assert len(targets) == 0
    assert targets.next_wake() is None


def test_a_dial_that_takes_too_long_is_cancelled() -> None:
    targets, turn = new_targets()
    targets.want("b", False, None)
    turn.take()
    effects = wake(targets, turn, 5.0)
    assert effects[0] == CancelTransport(1)
    assert effects[-1] == DialEnded("b", None, "could not connect to b: no answer within 5 s")
    assert targets.opened(1) is None


def test_who_asks_for_what_is_connected_hears_so_at_once() -> None:
    targets, turn = new_targets()
    targets.want("b", True, "peer-b")
    assert turn.take() == [DialEnded("b", "peer-b")]


def test_what_is_forgotten_is_cancelled_and_never_dialed_again() -> None:
    targets, turn = new_targets()
    targets.want("b", True, None)
    targets.want("c", True, None)
    targets.transport_failed(2, "connection_refused")
    turn.take()
    targets.forget("b", "it was taken back")
    targets.forget("c", "it was taken back")
    targets.forget("d", "nobody knows it")
    assert turn.take() == [
        CancelTransport(1),
        DialEnded("b", None, "could not connect to b: it was taken back"),
    ]
    assert len(targets) == 0
    assert targets.next_wake() is None


def test_stopping_ends_all() -> None:
    targets, turn = new_targets()
    targets.want("b", True, None)
    targets.want("c", True, None)
    turn.take()
    targets.stop()
    assert [type(effect) for effect in turn.take()] == 2 * [CancelTransport, DialEnded]
    assert len(targets) == 0
