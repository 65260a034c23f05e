"""Frames that carry little are paid for; those that are full, and the few of a quiet peer, not."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.limits import WorkLimits
from rumormill.core.transport import BytesReceived, CloseTransport, RestTransport
from rumormill.libp2p.host.frame_toll import BYTES_PER_FRAME, FRAME, FrameToll
from rumormill.libp2p.host.host import Host
from tests.helpers.libp2p.host_net import FakePubsub, HostNet, RawPeer
from tests.helpers.libp2p.siege_payloads import Payload, one_byte_frames

LIMITS = WorkLimits(share=0.05, burst=0.01, patience=1.0)
FREE = int(LIMITS.burst_cost / FRAME)
"""Frames without anything that may come at once."""


class Turn:
    """Notes what is traced and wanted."""

    def __init__(self) -> None:
        self.effects: list[Any] = []
        self.events: list[tuple[str, str, Any]] = []

    def trace(self, now: float, event: str, peer: str, **fields: Any) -> None:
        self.events.append((event, peer, fields.get("reason")))


class Counted:
    """A connection of which only the number of frames is known."""

    def __init__(self) -> None:
        self.frames = 0


class Link:
    """As much of one as the toll looks at."""

    def __init__(self) -> None:
        self.id, self.peer, self.address = 3, "eve", "/ip4/10.0.0.1/tcp/1"
        self.connection = Counted()
        self.frames = 0
        self.work: Any = None
        self.gone = False


class Bench:
    """A toll with one connection."""

    def __init__(self) -> None:
        self.turn = Turn()
        self.link: Any = Link()
        self.closed: list[str] = []
        turn: Any = self.turn
        self.told: list[tuple[str, str]] = []
        self.toll = FrameToll(turn, LIMITS, self._close, self._tell)

    def _close(self, link: Any, reason: str, now: float) -> None:
        self.closed.append(reason)
        link.gone = True

    def _tell(self, peer: str, reason: str, seconds: float, now: float) -> None:
        self.told.append((peer, reason))

    def came(self, frames: int, size: int, now: float) -> None:
        self.link.connection.frames += frames
        self.toll.charge(self.link, size, now)


def test_frames_that_are_full_cost_nothing_however_many() -> None:
    bench = Bench()
    for second in range(100):
        bench.came(100_000, 100_000 * BYTES_PER_FRAME, float(second))
    assert bench.link.work is None
    assert bench.turn.effects == bench.closed == []


def test_a_few_small_frames_cost_no_rest() -> None:
    bench = Bench()
    bench.came(FREE, 0, 0.0)
    assert bench.turn.effects == []


def test_many_small_frames_mean_a_rest_of_that_connection_and_the_trace_names_the_peer() -> None:
    bench = Bench()
    bench.came(2 * FREE, 0, 0.0)
    (rest,) = bench.turn.effects
    assert rest == RestTransport(3, rest.seconds)
    assert rest.seconds == pytest.approx(FREE * FRAME / 1e6 / LIMITS.share)
    assert bench.turn.events == [(trace.HELD_BACK, "eve", "frames")]
    assert bench.told == [("eve", "frames")]


def test_who_sends_nothing_but_small_frames_is_closed_at_last() -> None:
    bench = Bench()
    for turn in range(100):
        bench.came(FREE, 0, turn * 0.05)
        if bench.closed:
            break
    assert bench.closed == ["too_much_work"]
    assert bench.turn.events[-1] == (trace.PROTOCOL_ERROR, "eve", "too_much_work")
    assert {event[0] for event in bench.turn.events[:-1]} == {trace.HELD_BACK}
    before = len(bench.turn.effects)
    bench.came(FREE, 0, 6.0)
    assert len(bench.turn.effects) == before, "nothing more is said to who is gone"


# ---- on a real connection


def connected() -> tuple[HostNet, Host, RawPeer]:
    net = HostNet()
    host = net.host("host", FakePubsub())
    eve = net.raw("eve", "/fakesub/1.0.0")
    net.connect(eve, host)
    return net, host, eve


def flood(net: HostNet, host: Host, eve: RawPeer, payload: Payload) -> None:
    """Bytes of yamux, sealed as the peer's own."""
    (number,) = net.transports(host)
    transport = eve.connection._transport
    assert transport is not None
    net.feed(host, BytesReceived(number, transport.encrypt(payload.data)))


def test_a_flood_of_frames_is_held_back_and_then_the_connection_closed() -> None:
    """One byte each: those with none have a limit of their own, in yamux."""
    net, host, eve = connected()
    eve.connection.open_stream(("/fakesub/1.0.0",), net.now)
    net.flush(eve)
    net.run(0.5)
    for _ in range(400):
        if not net.transports(host):
            break
        flood(net, host, eve, one_byte_frames(1, 5000))
        net.run(0.01)
    (number,) = {each.connection for each in net.of(host, CloseTransport)}
    held = net.traces(host, trace.HELD_BACK)
    assert {(each.peer, each.fields["reason"]) for each in held} == {(eve.peer, "frames")}
    assert {each.connection for each in net.of(host, RestTransport)} == {number}
    ended = net.traces(host, trace.PROTOCOL_ERROR)
    assert [each.fields["reason"] for each in ended] == ["too_much_work"]
    assert held[0].time < ended[0].time
