from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rumormill.core.addresses import HostPort
from rumormill.core.errors import ConfigError, ConnectError, LocalProtocolError
from rumormill.core.machine import Received, Send
from rumormill.live.transports import udp as module
from rumormill.live.transports.losses import Losses
from rumormill.live.transports.names import MOST_ANSWERS
from rumormill.live.transports.udp import Udp, resolve_all
from tests.helpers.live.names import Names

LOOPBACK = "127.0.0.1:0"
ADDRESSES = HostPort()


class End:
    """One end: its sockets, and what they told the machine."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.lost: list[tuple[str, str | None]] = []
        self._news = asyncio.Event()
        self.udp = Udp(self._feed, ADDRESSES, self._lose)

    def _feed(self, input: Received) -> None:
        self.received.append(input)
        self._news.set()

    def _lose(self, reason: str, peer: str | None, count: int) -> None:
        self.lost += [(reason, peer)] * count
        self._news.set()

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def ends(listen: str = LOOPBACK) -> AsyncIterator[tuple[End, End, str, str]]:
    left, right = End(), End()
    try:
        (ours,) = await left.udp.listen([listen])
        (theirs,) = await right.udp.listen([listen])
        yield left, right, ours, theirs
    finally:
        left.udp.close()
        right.udp.close()


@pytest.mark.parametrize("listen", [LOOPBACK, "[::1]:0"])
async def test_a_datagram_arrives_whole_with_the_address_of_its_sender(listen: str) -> None:
    async with ends(listen) as (left, right, ours, theirs):
        left.udp.send(Send(theirs, b"ping"))
        await right.until(lambda: right.received)
        assert right.received == [Received(ours, b"ping")]
        right.udp.send(Send(right.received[0].peer, b""))
        await left.until(lambda: left.received)
        assert left.received == [Received(theirs, b"")]


async def test_one_node_has_a_socket_for_each_ip_version() -> None:
    both, right = End(), End()
    four, six = await both.udp.listen(["127.0.0.1:0", "[::1]:0"])
    (theirs,) = await right.udp.listen(["[::1]:0"])
    both.udp.send(Send(theirs, b"x"))
    await right.until(lambda: right.received)
    assert right.received[0].peer == six
    assert both.udp.has_family(four) and both.udp.has_family(six)
    assert not right.udp.has_family(four)
    right.udp.send(Send(four, b"x"))
    assert right.lost == [("no_socket_of_that_family", four)]
    both.udp.close()
    right.udp.close()


async def test_a_second_address_of_the_same_version_is_refused() -> None:
    end = End()
    with pytest.raises(ConfigError, match=r"listen: 127\.0\.0\.1:0 is the second IPv4 address"):
        await end.udp.listen([LOOPBACK, LOOPBACK])
    end.udp.close()


async def test_a_port_that_is_taken_is_one_sentence() -> None:
    async with ends() as (_, _, ours, _):
        end = End()
        with pytest.raises(ConfigError) as caught:
            await end.udp.listen([ours])
        assert str(caught.value) == f"listen: cannot listen on {ours}: address already in use"


@pytest.mark.parametrize(
    "address", ["here", "127.0.0.1", "127.0.0.1:99999", "/ip4/127.0.0.1/udp/1"]
)
async def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="listen: cannot use the address"):
        await End().udp.listen([address])


async def test_more_datagrams_than_one_burst_all_arrive_in_order() -> None:
    count = 3 * module.READ_BURST
    async with ends() as (left, right, _, theirs):
        for number in range(count):
            left.udp.send(Send(theirs, b"%d" % number))
        await right.until(lambda: len(right.received) == count)
        assert [each.packet for each in right.received] == [b"%d" % n for n in range(count)]


async def test_a_datagram_that_is_too_large_is_dropped_and_counted() -> None:
    async with ends() as (left, right, _, theirs):
        left.udp.send(Send(theirs, bytes(module.LARGEST_DATAGRAM + 1)))
        left.udp.send(Send(theirs, bytes(module.LARGEST_DATAGRAM)))
        await right.until(lambda: right.received)
        assert [len(each.packet) for each in right.received] == [module.LARGEST_DATAGRAM]
        assert right.lost == [("datagram_too_large", None)]


async def test_a_family_says_how_large_its_datagrams_may_be() -> None:
    async with ends() as (left, right, _, _):
        right.udp.close()
        right.udp = Udp(right._feed, ADDRESSES, right._lose, largest=8800)
        (theirs,) = await right.udp.listen([LOOPBACK])
        left.udp.send(Send(theirs, bytes(8801)))
        left.udp.send(Send(theirs, bytes(8800)))
        await right.until(lambda: right.received)
        assert [len(each.packet) for each in right.received] == [8800]
        assert right.lost == [("datagram_too_large", None)]


async def test_a_datagram_to_nobody_disturbs_nothing() -> None:
    async with ends() as (left, right, _, theirs):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            nobody = f"127.0.0.1:{probe.getsockname()[1]}"
        left.udp.send(Send(nobody, b"anyone?"))
        left.udp.send(Send(theirs, b"x"))
        await right.until(lambda: right.received)
        assert left.lost == []


class FullSocket:
    """A socket whose system takes nothing until it is told to; all else is the real one's."""

    def __init__(self, real: socket.socket) -> None:
        self.real = real
        self.full = True

    def sendto(self, packet: bytes, place: Any) -> int:
        if self.full:
            raise BlockingIOError(errno.EAGAIN, "full")
        return self.real.sendto(packet, place)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


async def test_what_the_system_does_not_take_waits_in_order_and_past_a_bound_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    async with ends() as (left, right, _, theirs):
        each = left.udp._sockets[4]
        full = FullSocket(each._socket)
        each._socket = full  # type: ignore[assignment]
        for number in range(5):
            left.udp.send(Send(theirs, b"%d" % number))
        assert left.udp.waiting == 3
        left.udp._losses.report()
        assert left.lost == [("send_buffer_full", theirs)] * 2
        full.full = False
        await right.until(lambda: len(right.received) == 3)
        left.udp.send(Send(theirs, b"5"))
        await right.until(lambda: len(right.received) == 4)
        assert [each.packet for each in right.received] == [b"0", b"1", b"2", b"5"]
        assert left.udp.waiting == 0


async def test_nothing_overtakes_what_waits() -> None:
    async with ends() as (left, right, _, theirs):
        each = left.udp._sockets[4]
        full = FullSocket(each._socket)
        each._socket = full  # type: ignore[assignment]
        left.udp.send(Send(theirs, b"first"))
        full.full = False
        left.udp.send(Send(theirs, b"second"))
        await right.until(lambda: len(right.received) == 2)
        assert [each.packet for each in right.received] == [b"first", b"second"]


async def test_what_waits_at_the_close_is_counted_as_lost() -> None:
    async with ends() as (left, _, _, theirs):
        each = left.udp._sockets[4]
        each._socket = FullSocket(each._socket)  # type: ignore[assignment]
        left.udp.send(Send(theirs, b"x"))
        left.udp.close()
        assert left.lost == [("closed", theirs)]


async def test_an_error_of_the_system_costs_one_datagram() -> None:
    async with ends() as (left, right, _, theirs):
        left.udp.send(Send(theirs, bytes(70_000)))  # more than a datagram can have
        left.udp.send(Send(theirs, b"x"))
        await right.until(lambda: right.received)
        assert [peer for _, peer in left.lost] == [theirs]


async def test_a_node_that_closes_itself_on_a_datagram_reads_no_further() -> None:
    async with ends() as (left, right, _, theirs):
        seen: list[Received] = []

        def feed(input: Received) -> None:
            seen.append(input)
            closing.close()

        closing = Udp(feed, ADDRESSES, right._lose)
        (address,) = await closing.listen([LOOPBACK])
        for _ in range(3):
            left.udp.send(Send(address, b"x"))
        left.udp.send(Send(theirs, b"x"))
        await right.until(lambda: right.received)
        await asyncio.sleep(0)
        assert len(seen) == 1
        assert right.lost == []


async def test_without_an_address_any_port_is_used() -> None:
    end = End()
    peers = await end.udp.listen_anywhere()
    assert peers[0].startswith("127.0.0.1:")
    assert not peers[0].endswith(":0")
    end.udp.close()


async def test_our_address_towards_a_peer_is_what_the_peer_sees() -> None:
    bound, anywhere, right = End(), End(), End()
    (ours,) = await bound.udp.listen(["127.0.0.7:0"])
    await anywhere.udp.listen(["0.0.0.0:0"])
    (theirs,) = await right.udp.listen(["127.0.0.9:0"])
    for end in (bound, anywhere):
        end.udp.send(Send(theirs, b"x"))
        await right.until(lambda: right.received)
        assert end.udp.address_towards(theirs) == right.received.pop().peer
        assert end.udp.address_towards("[::1]:1") is None
    assert bound.udp.address_towards(theirs) == ours
    for end in (bound, anywhere, right):
        end.udp.close()


# ---- addresses


async def test_a_name_is_resolved_to_its_peers() -> None:
    found = await resolve_all("localhost:6881", ADDRESSES)
    assert found and set(found) <= {"127.0.0.1:6881", "[::1]:6881"}
    assert await resolve_all("[::1]:6881", ADDRESSES) == ("[::1]:6881",)


async def test_a_name_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(ConnectError) as caught:
        await resolve_all("no-such-host.invalid:6881", ADDRESSES)
    assert str(caught.value) == "could not reach no-such-host.invalid:6881: name not found"


async def test_port_0_is_nobody() -> None:
    with pytest.raises(LocalProtocolError, match="port 0"):
        await resolve_all("127.0.0.1:0", ADDRESSES)


async def test_all_answers_are_given_in_order_as_far_as_our_sockets_reach(
    names: Names,
) -> None:
    names.answer("both.example", "2001:db8::1", "192.0.2.1", "2001:db8::1", "192.0.2.2")
    names.answer("six.example", "2001:db8::1")
    only_four = End()
    await only_four.udp.listen([LOOPBACK])
    both = "both.example:6881"
    everything = ("[2001:db8::1]:6881", "192.0.2.1:6881", "192.0.2.2:6881")
    assert await resolve_all(both, ADDRESSES) == everything
    # The first answer is out of our reach, and does not hide the others.
    assert await only_four.udp.resolve_all(both) == ("192.0.2.1:6881", "192.0.2.2:6881")
    with pytest.raises(ConnectError, match=r"could not reach six\.example:6881: we have no socket"):
        await only_four.udp.resolve_all("six.example:6881")
    only_four.udp.close()


async def test_a_name_with_very_many_addresses_is_cut_short(names: Names) -> None:
    names.answer("many.example", *[f"192.0.2.{number}" for number in range(200)])
    assert len(await resolve_all("many.example:1", ADDRESSES)) == MOST_ANSWERS


async def test_a_datagram_to_a_name_is_lost_without_a_look_up() -> None:
    async with ends() as (left, _, _, _):
        left.udp.send(Send("localhost:6881", b"x"))
        assert left.lost == [("not_an_ip_address", "localhost:6881")]


# ---- floods


class ClosedTo:
    """A gate that is closed to one peer."""

    def __init__(self, peer: str) -> None:
        self.alert = True
        self.turned_away = 0
        self._peer = peer

    def admits(self, peer: str, packet: bytes, now: float) -> bool:
        if peer != self._peer:
            return True
        self.turned_away += 1
        return False


async def test_who_is_turned_away_at_the_gate_does_not_reach_the_machine_nor_delay_others() -> None:
    async with ends() as (left, right, ours, _):
        gate = ClosedTo(ours)
        end = End()
        end.udp = Udp(end._feed, ADDRESSES, end._lose, gate)
        (address,) = await end.udp.listen([LOOPBACK])
        for _ in range(500):
            left.udp.send(Send(address, b"flood"))
        right.udp.send(Send(address, b"now and then"))
        await end.until(lambda: end.received)
        assert [each.packet for each in end.received] == [b"now and then"]
        assert gate.turned_away == 500
        end.udp.close()


async def test_behind_a_flood_another_source_waits_for_a_burst_and_not_for_all_of_it() -> None:
    async with ends() as (left, right, _, _):
        end = End()
        (address,) = await end.udp.listen([LOOPBACK])
        for _ in range(400):
            left.udp.send(Send(address, b"flood"))
        right.udp.send(Send(address, b"now and then"))
        await end.until(lambda: len(end.received) == 401)
        at = [each.packet for each in end.received].index(b"now and then")
        assert at <= module.READ_BURST + 1
        end.udp.close()


async def test_a_flood_lets_the_rest_of_the_node_have_its_turn_after_a_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    async with ends() as (left, _, _, _):
        end, since, longest = End(), 0, 0

        def feed(input: Received) -> None:
            nonlocal since, longest
            clock[0] += module.SLICE / 4  # so much does each cost
            since += 1
            longest = max(longest, since)
            end._feed(input)

        end.udp = Udp(feed, ADDRESSES, end._lose)
        (address,) = await end.udp.listen([LOOPBACK])
        for _ in range(300):
            left.udp.send(Send(address, b"flood"))
        while len(end.received) < 300:
            await asyncio.sleep(0)  # the rest of the node
            since = 0
        assert longest <= 2 * 5, "a slice of what has come, and one of what waits"
        end.udp.close()


async def test_what_is_lost_again_and_again_is_told_as_a_sum() -> None:
    told: list[tuple[str, str | None, int]] = []
    losses = Losses(lambda *loss: told.append(loss))
    for _ in range(1_000):
        losses.add("datagram_too_large", None)
    losses.report()
    assert told == [("datagram_too_large", None, 1), ("datagram_too_large", None, 999)]
