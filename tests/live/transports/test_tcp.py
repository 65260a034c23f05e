from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from rumormill.core.addresses import HostPort
from rumormill.core.errors import ConfigError
from rumormill.core.transport import (
    CancelTransport,
    CloseTransport,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.live.transports import race, tcp_connection, turns
from rumormill.live.transports import tcp as module
from rumormill.live.transports.tcp import Tcp
from rumormill.live.transports.words import own_hosts, reason_of
from tests.helpers.live.names import Names
from tests.helpers.live.transport_ends import Ear


class End(Ear):
    """One end: its sockets, and what they told the machine."""

    def __init__(self, close_timeout: float = 5.0) -> None:
        super().__init__()
        self.tcp = Tcp(self.feed, HostPort(), close_timeout=close_timeout)


@asynccontextmanager
async def ends(**options: Any) -> AsyncIterator[tuple[End, End]]:
    left, right = End(**options), End(**options)
    try:
        yield left, right
    finally:
        await asyncio.gather(left.tcp.close(), right.tcp.close())
        assert left.tcp.sizes()["connections"] == right.tcp.sizes()["connections"] == 0


async def connect(left: End, right: End, address: str = "127.0.0.1:0") -> tuple[int, int]:
    (listening,) = await right.tcp.listen([address])
    left.tcp.open(OpenTransport(7, listening))
    ours, theirs = await left.first(TransportOpened), await right.first(TransportOpened)
    assert (ours.address, ours.dial, theirs.dial) == (listening, 7, None)
    return ours.connection, theirs.connection


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
async def test_bytes_travel_both_ways(address: str) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right, address)
        left.tcp.write(WriteBytes(ours, b"ping"))
        await right.until(lambda: right.received == b"ping")
        right.tcp.write(WriteBytes(theirs, b"pong"))
        await left.until(lambda: left.received == b"pong")


async def test_a_connection_is_told_at_which_service_it_came_in() -> None:
    async with ends() as (left, right):
        (first,) = await right.tcp.listen(["127.0.0.1:0"])
        (second,) = await right.tcp.listen(["127.0.0.1:0"], "channel")
        left.tcp.open(OpenTransport(1, first))
        await right.first(TransportOpened)
        left.tcp.open(OpenTransport(2, second))
        await right.until(lambda: len(right.all(TransportOpened)) == 2)
        opened = [(each.connection, each.service) for each in right.all(TransportOpened)]
        assert opened == [(1, ""), (2, "channel")]
        await left.until(lambda: len(left.all(TransportOpened)) == 2)
        assert [each.service for each in left.all(TransportOpened)] == ["", ""]


async def test_a_connection_that_is_cut_loses_what_was_written() -> None:
    async with ends() as (left, right):
        ours, _ = await connect(left, right)
        left.tcp.write(WriteBytes(ours, bytes(32 << 20)))
        left.tcp.cut(ours)
        left.tcp.cut(99)
        await left.first(TransportClosed)
        await right.first(TransportClosed)
        assert len(right.received) < 32 << 20


async def test_a_name_is_dialed_at_its_address() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["127.0.0.1:0"])
        port = listening.rpartition(":")[2]
        left.tcp.open(OpenTransport(1, f"localhost:{port}"))
        assert (await left.first(TransportOpened)).address == listening


class BlackHole:
    """An address that answers no connection: its backlog is full, and nobody accepts."""

    def __init__(self, host: str, port: int) -> None:
        self.listener = socket.socket()
        self.listener.bind((host, port))
        self.listener.listen(0)
        self.fillers = [socket.socket() for _ in range(4)]
        for filler in self.fillers:
            filler.setblocking(False)
            filler.connect_ex((host, port))

    def close(self) -> None:
        for each in (self.listener, *self.fillers):
            each.close()


@pytest.mark.parametrize("number", [2, 3])
async def test_an_address_that_never_answers_does_not_hide_the_next(
    names: Names, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(race, "STAGGER", 0.01)
    async with ends() as (left, right):
        listening, *_ = await right.tcp.listen(["127.0.0.1:0"])
        port = int(listening.rpartition(":")[2])
        holes = [BlackHole(f"127.88.0.{each}", port) for each in range(2, 2 + number)]
        silent = [f"127.88.0.{each}" for each in range(2, 2 + number)]
        names.answer("node.example", *silent, "127.0.0.1")
        left.tcp.open(OpenTransport(7, f"node.example:{port}"))
        opened = await left.first(TransportOpened)
        assert (opened.address, opened.dial) == (listening, 7)
        await asyncio.sleep(0.05)
        assert len(left.inputs) == 1
        assert left.tcp.sizes()["dials"] == 0
        assert left.tcp.sizes()["connections"] == 1
        for hole in holes:
            hole.close()


async def test_of_two_addresses_that_both_answer_one_connection_is_kept(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "STAGGER", 0.0)
    async with ends() as (left, right):
        listening, *_ = await right.tcp.listen(["0.0.0.0:0"])
        names.answer("node.example", "127.0.0.1", "127.0.0.2", "127.0.0.3")
        port = listening.rpartition(":")[2]
        for dial in range(20):
            left.tcp.open(OpenTransport(dial, f"node.example:{port}"))
        await left.until(lambda: len(left.all(TransportOpened)) == 20)
        await asyncio.sleep(0.05)
        assert sorted(each.dial or 0 for each in left.all(TransportOpened)) == list(range(20))
        assert left.all(TransportClosed) == []
        assert left.tcp.sizes() == {"connections": 20, "lingering": 0, "dials": 0, "late_writes": 0}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_dial_that_nobody_answers_fails_in_words() -> None:
    async with ends() as (left, _):
        left.tcp.open(OpenTransport(1, f"127.0.0.1:{free_port()}"))
        assert await left.first(TransportFailed) == TransportFailed(1, "connection_refused")


async def test_a_dial_of_no_address_fails() -> None:
    async with ends() as (left, _):
        left.tcp.open(OpenTransport(1, "no address"))
        assert await left.first(TransportFailed) == TransportFailed(1, "bad_address")


async def test_a_cancelled_dial_is_not_heard_of() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["127.0.0.1:0"])
        left.tcp.open(OpenTransport(1, listening))
        left.tcp.cancel(CancelTransport(1))
        left.tcp.cancel(CancelTransport(1))
        left.tcp.open(OpenTransport(2, listening))
        assert (await left.first(TransportOpened)).dial == 2
        assert len(left.inputs) == 1


async def test_a_connection_that_comes_after_its_dial_was_cancelled_is_cut() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["127.0.0.1:0"])
        left.tcp.open(OpenTransport(1, listening))
        left.tcp._dials.pop(1)  # as a cancel does that comes a moment before the connection
        await right.first(TransportClosed)
        assert left.inputs == []


async def test_a_socket_that_is_full_says_so_and_says_when_it_is_not() -> None:
    async with ends() as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"127.0.0.1:{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        size = 0
        while not left.all(WriteReady):
            left.tcp.write(WriteBytes(number, bytes(1 << 20)))
            size += 1 << 20
            await asyncio.sleep(0)
        assert left.all(WriteReady) == [WriteReady(number, False)]
        loop = asyncio.get_running_loop()
        peer.setblocking(False)
        while size:
            size -= len(await loop.sock_recv(peer, 1 << 20))
        await left.until(lambda: len(left.all(WriteReady)) == 2)
        assert left.all(WriteReady)[1] == WriteReady(number, True)
        peer.close()
        server.close()


async def test_what_was_written_arrives_before_the_close() -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right)
        right.tcp.write(WriteBytes(theirs, b"never read by the other end" * 1000))
        left.tcp.write(WriteBytes(ours, bytes(8 << 20)))
        left.tcp.finish(CloseTransport(ours, "shutdown"))
        closed = await right.first(TransportClosed)
        assert len(right.received) == 8 << 20
        assert closed == TransportClosed(theirs, "closed")
        await left.first(TransportClosed)


async def test_after_the_close_nothing_is_heard_of_the_other_end() -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right)
        left.tcp.finish(CloseTransport(ours, "shutdown"))
        right.tcp.write(WriteBytes(theirs, b"too late"))
        await left.first(TransportClosed)
        assert left.received == b""


async def test_a_peer_that_does_not_close_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_connection, "LINGER", 0.05)
    async with ends() as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"127.0.0.1:{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        left.tcp.finish(CloseTransport(number, "shutdown"))
        await left.first(TransportClosed)
        peer.close()
        server.close()


async def test_a_peer_that_reads_nothing_is_cut_off() -> None:
    async with ends(close_timeout=0.05) as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"127.0.0.1:{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        left.tcp.write(WriteBytes(number, bytes(32 << 20)))
        left.tcp.finish(CloseTransport(number, "shutdown"))
        await left.first(TransportClosed)
        peer.close()
        server.close()


async def test_only_so_many_connections_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINGERING", 1)
    async with ends() as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for dial in (1, 2):
            left.tcp.open(OpenTransport(dial, address))
        await left.until(lambda: len(left.all(TransportOpened)) == 2)
        accepted = [server.accept()[0] for _ in range(2)]
        first, second = [each.connection for each in left.all(TransportOpened)]
        left.tcp.finish(CloseTransport(first, "shutdown"))
        left.tcp.finish(CloseTransport(second, "shutdown"))
        assert (await left.first(TransportClosed)).connection == second
        for peer in accepted:
            peer.close()
        server.close()


async def test_a_reset_is_told_as_one() -> None:
    async with ends() as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"127.0.0.1:{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        assert await left.first(TransportClosed) == TransportClosed(number, "connection_reset")
        server.close()


async def test_writing_to_a_connection_that_is_gone_is_counted_and_nothing_else() -> None:
    async with ends() as (left, right):
        left.tcp.write(WriteBytes(99, b"hello"))
        left.tcp.finish(CloseTransport(99, "shutdown"))
        assert left.tcp.sizes()["late_writes"] == 1
        assert left.inputs == []
        ours, _ = await connect(left, right)
        left.tcp.write(WriteBytes(ours, b"ping"))
        await right.until(lambda: right.received == b"ping")


async def test_writing_to_a_connection_that_we_closed_is_counted_and_nothing_else() -> None:
    async with ends() as (left, right):
        ours, _ = await connect(left, right)
        left.tcp.write(WriteBytes(ours, b"last words"))
        left.tcp.finish(CloseTransport(ours, "shutdown"))
        left.tcp.write(WriteBytes(ours, b"too late"))
        await right.first(TransportClosed)
        assert right.received == b"last words"
        assert left.tcp.sizes()["late_writes"] == 1


async def test_a_later_close_shortens_the_time_that_a_connection_was_given() -> None:
    async with ends(close_timeout=3600.0) as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"127.0.0.1:{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        left.tcp.write(WriteBytes(number, bytes(32 << 20)))
        left.tcp.finish(CloseTransport(number, "shutdown"))
        async with asyncio.timeout(10):
            await left.tcp.close(timeout=0.05)
        assert left.all(TransportClosed)
        peer.close()
        server.close()


async def test_a_port_in_use_is_one_sentence() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["127.0.0.1:0"])
        with pytest.raises(ConfigError) as caught:
            await left.tcp.listen([listening])
        assert str(caught.value) == (
            f"listen: cannot listen on {listening}: address already in use"
        )


async def test_an_address_that_is_none_is_one_sentence() -> None:
    async with ends() as (left, _):
        with pytest.raises(ConfigError, match=r"^listen: cannot use the address '4001'"):
            await left.tcp.listen(["4001"])


async def test_closing_ends_dials_that_are_under_way() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["127.0.0.1:0"])
        left.tcp.open(OpenTransport(1, listening))
        await left.tcp.close()
        assert left.inputs == []


def test_a_socket_that_listens_everywhere_has_hosts_that_can_be_dialed() -> None:
    found = own_hosts("0.0.0.0")
    assert found[0] == "127.0.0.1"
    assert "0.0.0.0" not in found
    assert own_hosts("::")[0] == "::1"
    assert own_hosts("127.0.0.7") == ["127.0.0.7"]


async def test_listening_everywhere_is_told_as_addresses_that_can_be_dialed() -> None:
    async with ends() as (left, right):
        address, *_ = await right.tcp.listen(["0.0.0.0:0"])
        assert address.startswith("127.0.0.1:")
        left.tcp.open(OpenTransport(1, address))
        assert (await left.first(TransportOpened)).address == address


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EHOSTUNREACH, "x"), "host_unreachable"),
        (TimeoutError(), "timed_out"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "name_not_found"),
        (OSError(errno.ENOSPC, "x"), "enospc"),
        (OSError("no number"), "connection_failed"),
    ],
)
def test_errors_have_short_names(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


# ---- rests


class Rest:
    """A timer that rings when the test says so."""

    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        self.seconds, self.action = seconds, action
        self.cancelled = False

    def when(self) -> float:
        return self.seconds

    def cancel(self) -> None:
        self.cancelled = True


class Timers:
    """As much of an event loop as rests need; no time passes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.call_soon = loop.call_soon
        self.waiting: list[Rest] = []

    def time(self) -> float:
        return 0.0

    def call_later(self, seconds: float, action: Callable[[], None]) -> Rest:
        self.waiting.append(Rest(seconds, action))
        return self.waiting[-1]

    def ring(self) -> None:
        """Let the rests end that were not put off."""
        waiting, self.waiting = self.waiting, []
        for rest in waiting:
            if not rest.cancelled:
                rest.action()


@pytest.fixture
async def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    found = Timers(asyncio.get_running_loop())
    monkeypatch.setattr(turns, "asyncio", SimpleNamespace(get_running_loop=lambda: found))
    return found


async def test_a_resting_connection_is_not_read_until_its_rest_ends_and_others_are(
    timers: Timers,
) -> None:
    async with ends() as (left, right), ends() as (other, _):
        ours, theirs = await connect(left, right)
        (listening,) = {each.address for each in left.all(TransportOpened)}
        other.tcp.open(OpenTransport(8, listening))
        second = (await other.first(TransportOpened)).connection
        right.tcp.rest(RestTransport(theirs, 60.0))
        left.tcp.write(WriteBytes(ours, b"resting"))
        other.tcp.write(WriteBytes(second, b"awake"))
        await right.until(lambda: right.received == b"awake")
        # Both were there: what rests has not even been read.
        assert [rest.seconds for rest in timers.waiting] == [60.0]
        right.tcp.write(WriteBytes(theirs, b"written meanwhile"))
        await left.until(lambda: left.received == b"written meanwhile")
        timers.ring()
        await right.until(lambda: right.received == b"awakeresting")


async def test_who_writes_to_a_resting_connection_has_to_wait_once_the_system_is_full(
    timers: Timers,
) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right)
        right.tcp.rest(RestTransport(theirs, 60.0))
        left.tcp.write(WriteBytes(ours, bytes(32 << 20)))
        assert (await left.first(WriteReady)) == WriteReady(ours, False)
        assert right.received == b""
        timers.ring()
        await right.until(lambda: len(right.received) == 32 << 20)
        await left.until(lambda: left.all(WriteReady)[-1].ready)


async def test_a_rest_of_a_connection_that_is_gone_is_nothing(timers: Timers) -> None:
    async with ends() as (left, right):
        await connect(left, right)
        right.tcp.rest(RestTransport(99, 60.0))
        assert timers.waiting == []


async def test_a_resting_connection_can_be_closed(timers: Timers) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right)
        right.tcp.rest(RestTransport(theirs, 60.0))
        left.tcp.write(WriteBytes(ours, b"unread"))
        right.tcp.finish(CloseTransport(theirs, "done"))
        assert (await left.first(TransportClosed)).connection == ours
