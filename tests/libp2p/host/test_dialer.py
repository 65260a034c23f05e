"""The dialer alone: what it opens, when it comes back, what it reports."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.trace import DIAL_SCHEDULED, TraceEvent
from rumormill.core.transport import CancelTransport, DialEnded, OpenTransport
from rumormill.libp2p.host.dialer import Dialer
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.target import Target
from rumormill.libp2p.stack.keys import PrivateKey
from tests.helpers.core.machines import AnyEffect

US = PrivateKey.from_seed(bytes(32)).peer
BOB = PrivateKey.from_seed(b"\x01" * 32).peer
CAROL = PrivateKey.from_seed(b"\x02" * 32).peer
ADDRESS = "/ip4/192.0.2.1/tcp/4001"
BOB_ADDRESS = f"{ADDRESS}/p2p/{BOB}"


class Desk:
    """A dialer with a table of connected peers that the test writes."""

    def __init__(self, seed: int = 1, **parameters: Any) -> None:
        self.effects: list[AnyEffect] = []
        self.connected: dict[str, None] = {}
        self.dialer = Dialer(
            node=US,
            parameters=HostParameters(**parameters),
            random=random.Random(seed),
            connected=self.connected.__contains__,
            effects=self.effects,
        )

    def take(self) -> list[AnyEffect]:
        effects = self.effects[:]
        self.effects.clear()
        return effects

    def dial(self, address: str = ADDRESS, keep: bool = False, now: float = 0.0) -> list[AnyEffect]:
        self.dialer.dial(address, keep, now)
        return self.take()

    def reach(self, dial: int, peer: str, now: float) -> Target:
        target = self.dialer.opened(dial)
        assert target is not None
        self.connected[peer] = None
        assert self.dialer.established(target, peer, now)
        return target

    def lose(self, peer: str, now: float) -> None:
        del self.connected[peer]
        self.dialer.lost(peer, now)

    def wake_at_next(self) -> float:
        due = self.dialer.next_wake()
        assert due is not None
        self.dialer.wake(due)
        return due


def test_a_dial_opens_a_transport_and_reports_the_peer_once() -> None:
    desk = Desk()
    assert desk.dial() == [OpenTransport(1, ADDRESS)]
    desk.reach(1, BOB, 1.0)
    assert desk.take() == [DialEnded(ADDRESS, BOB)]
    assert len(desk.dialer) == 0 and desk.dialer.next_wake() is None


def test_an_address_that_does_not_parse_is_the_callers_fault() -> None:
    with pytest.raises(LocalProtocolError, match="/ip4/nowhere"):
        Desk().dial("/ip4/nowhere/tcp/1")


def test_a_failed_dial_is_reported_with_a_sentence_that_names_the_address() -> None:
    desk = Desk()
    desk.dial()
    desk.dialer.transport_failed(1, "connection refused", 0.1)
    [ended] = desk.take()
    assert ended == DialEnded(ADDRESS, None, f"could not connect to {ADDRESS}: connection refused")
    assert len(desk.dialer) == 0


def test_a_dial_without_answer_is_cancelled_after_the_time_out() -> None:
    desk = Desk(dial_timeout=10.0)
    desk.dial()
    desk.dialer.wake(9.9)
    assert desk.take() == []
    assert desk.wake_at_next() == 10.0
    cancelled, ended = desk.take()
    assert cancelled == CancelTransport(1)
    assert ended.peer is None and "no answer within 10 s" in ended.problem
    assert desk.dialer.opened(1) is None, "a transport that comes late is not wanted"


def test_an_address_to_keep_is_dialed_again_after_growing_delays_with_jitter() -> None:
    desk = Desk(redial_first_delay=0.5, redial_longest_delay=60.0, redial_jitter=0.5)
    now, delays = 0.0, []
    desk.dial(keep=True)
    for dial in range(1, 21):
        desk.dialer.transport_failed(dial, "connection refused", now)
        event = desk.take()[-1]
        assert isinstance(event, TraceEvent) and event.event == DIAL_SCHEDULED
        assert event.fields["attempt"] == dial
        due = desk.wake_at_next()
        delays.append(due - now)
        now = due
        assert desk.take() == [OpenTransport(dial + 1, ADDRESS)]
    for exponent, delay in enumerate(delays):
        base = min(0.5 * 2**exponent, 40.0)
        assert base * 0.999 <= delay <= base * 1.501
    assert len(set(delays[-8:])) == 8, "no two delays alike"


def test_only_the_first_outcome_is_reported() -> None:
    desk = Desk()
    desk.dial(keep=True)
    desk.dialer.transport_failed(1, "connection refused", 0.0)
    assert isinstance(desk.take()[0], DialEnded)
    desk.wake_at_next()
    desk.dialer.transport_failed(2, "connection refused", 1.0)
    assert not any(isinstance(effect, DialEnded) for effect in desk.take())


def test_equal_seeds_give_equal_delays() -> None:
    def times(seed: int) -> list[float]:
        desk = Desk(seed)
        desk.dial(keep=True)
        due = []
        for dial in range(1, 6):
            desk.dialer.transport_failed(dial, "no", 0.0)
            due.append(desk.wake_at_next())
        return due

    assert times(7) == times(7) != times(8)


def test_a_kept_peer_that_is_lost_is_dialed_again() -> None:
    desk = Desk()
    desk.dial(keep=True)
    desk.reach(1, BOB, 0.0)
    desk.lose(BOB, 5.0)
    assert desk.take()[-1].fields["attempt"] == 1
    due = desk.wake_at_next()
    assert 5.5 <= due <= 5.75
    assert desk.take() == [OpenTransport(2, ADDRESS)]


def test_delays_begin_anew_only_after_a_connection_that_lasted() -> None:
    desk = Desk(stable_after=30.0)
    desk.dial(keep=True)
    for dial, lived, attempt in ((1, 1.0, 1), (2, 1.0, 2), (3, 29.0, 3), (4, 30.0, 1)):
        desk.reach(dial, BOB, 1000.0 * dial)
        desk.lose(BOB, 1000.0 * dial + lived)
        assert desk.take()[-1].fields["attempt"] == attempt
        desk.wake_at_next()


def test_a_peer_that_is_connected_already_is_not_dialed() -> None:
    desk = Desk()
    desk.connected[BOB] = None
    assert desk.dial(BOB_ADDRESS) == [DialEnded(BOB_ADDRESS, BOB)]
    assert len(desk.dialer) == 0


def test_a_peer_that_is_connected_already_is_kept_if_asked_to() -> None:
    desk = Desk()
    desk.connected[BOB] = None
    assert desk.dial(BOB_ADDRESS, keep=True) == [DialEnded(BOB_ADDRESS, BOB)]
    desk.lose(BOB, 50.0)
    desk.wake_at_next()
    assert desk.take()[-1] == OpenTransport(1, BOB_ADDRESS)


def test_a_peer_that_came_back_by_itself_is_not_dialed_when_its_turn_comes() -> None:
    desk = Desk()
    desk.dial(keep=True)
    desk.reach(1, BOB, 0.0)
    desk.lose(BOB, 1.0)
    desk.connected[BOB] = None
    desk.take()
    desk.wake_at_next()
    assert desk.take() == [] and desk.dialer.next_wake() is None
    desk.lose(BOB, 9.0)
    assert desk.dialer.next_wake() is not None, "it is still to be kept"


def test_a_second_dial_of_the_same_address_joins_the_first() -> None:
    desk = Desk()
    desk.dial()
    assert desk.dial(keep=True) == []
    desk.reach(1, BOB, 0.0)
    assert desk.take() == [DialEnded(ADDRESS, BOB)]
    assert len(desk.dialer) == 1, "the second wanted it kept"


def test_dialing_an_address_that_waits_dials_it_now_and_reports_again() -> None:
    desk = Desk()
    desk.dial(keep=True)
    desk.dialer.transport_failed(1, "no", 0.0)
    desk.take()
    assert desk.dial(now=0.1) == [OpenTransport(2, ADDRESS)]
    desk.dialer.transport_failed(2, "no", 0.2)
    assert isinstance(desk.take()[0], DialEnded)


def test_our_own_peer_id_is_not_dialed() -> None:
    [ended] = Desk().dial(f"{ADDRESS}/p2p/{US}", keep=True)
    assert isinstance(ended, DialEnded) and "our own" in ended.problem


def test_a_final_failure_ends_even_a_kept_address() -> None:
    desk = Desk()
    desk.dial(keep=True)
    target = desk.dialer.opened(1)
    assert target is not None
    desk.dialer.failed(target, "that is ourselves", 0.0, final=True)
    assert len(desk.dialer) == 0 and desk.dialer.next_wake() is None


def test_a_peer_that_pubsub_wants_is_dialed_before_its_turn() -> None:
    desk = Desk()
    desk.dial(keep=True)
    desk.reach(1, BOB, 0.0)
    desk.lose(BOB, 1.0)
    desk.take()
    desk.dialer.wanted(CAROL, (), 1.1)
    assert desk.take() == []
    desk.dialer.wanted(BOB, (), 1.1)
    assert desk.take() == [OpenTransport(2, ADDRESS)]


def test_stopping_cancels_everything_and_tells_who_waits() -> None:
    desk = Desk()
    desk.dial(ADDRESS)
    desk.dial(BOB_ADDRESS, keep=True)
    desk.dialer.transport_failed(2, "no", 0.0)
    desk.take()
    desk.dialer.stop()
    cancelled, ended = desk.take()
    assert cancelled == CancelTransport(1) and ended.address == ADDRESS
    assert len(desk.dialer) == 0 and desk.dialer.next_wake() is None
