from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from rumormill.core.errors import ConfigError
from rumormill.core.machine import Input
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    OpenTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.live.transports import tcp as module
from rumormill.live.transports.tcp import Tcp
from rumormill.live.transports.words import own_addresses, reason_of

InputType = TypeVar("InputType")


class End:
    """One end: its sockets, and what they told the machine."""

    def __init__(self, close_timeout: float = 5.0) -> None:
        self.inputs: list[Input] = []
        self._news = asyncio.Event()
        self.tcp = Tcp(self._feed, close_timeout=close_timeout)

    def _feed(self, input: Input) -> None:
        self.inputs.append(input)
        self._news.set()

    def all(self, kind: type[InputType]) -> list[InputType]:
        return [each for each in self.inputs if isinstance(each, kind)]

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def first(self, kind: type[InputType]) -> InputType:
        await self.until(lambda: self.all(kind))
        return self.all(kind)[0]

    @property
    def received(self) -> bytes:
        return b"".join(each.data for each in self.all(BytesReceived))


@asynccontextmanager
async def ends(**options: Any) -> AsyncIterator[tuple[End, End]]:
    left, right = End(**options), End(**options)
    try:
        yield left, right
    finally:
        await asyncio.gather(left.tcp.close(), right.tcp.close())
        assert left.tcp.connections == right.tcp.connections == 0


async def connect(left: End, right: End, address: str = "/ip4/127.0.0.1/tcp/0") -> tuple[int, int]:
    (listening,) = await right.tcp.listen([address])
    left.tcp.open(OpenTransport(7, listening))
    ours, theirs = await left.first(TransportOpened), await right.first(TransportOpened)
    assert (ours.address, ours.dial, theirs.dial) == (listening, 7, None)
    return ours.connection, theirs.connection


@pytest.mark.parametrize("address", ["/ip4/127.0.0.1/tcp/0", "/ip6/::1/tcp/0"])
async def test_bytes_travel_both_ways(address: str) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right, address)
        left.tcp.write(WriteBytes(ours, b"ping"))
        await right.until(lambda: right.received == b"ping")
        right.tcp.write(WriteBytes(theirs, b"pong"))
        await left.until(lambda: left.received == b"pong")


async def test_a_name_is_dialed_at_its_address() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["/ip4/127.0.0.1/tcp/0"])
        port = listening.rpartition("/")[2]
        left.tcp.open(OpenTransport(1, f"/dns4/localhost/tcp/{port}"))
        assert (await left.first(TransportOpened)).address == listening


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_dial_that_nobody_answers_fails_in_words() -> None:
    async with ends() as (left, _):
        left.tcp.open(OpenTransport(1, f"/ip4/127.0.0.1/tcp/{free_port()}"))
        assert await left.first(TransportFailed) == TransportFailed(1, "connection_refused")


async def test_a_dial_of_no_address_fails() -> None:
    async with ends() as (left, _):
        left.tcp.open(OpenTransport(1, "localhost:4001"))
        assert await left.first(TransportFailed) == TransportFailed(1, "bad_address")


async def test_a_cancelled_dial_is_not_heard_of() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["/ip4/127.0.0.1/tcp/0"])
        left.tcp.open(OpenTransport(1, listening))
        left.tcp.cancel(CancelTransport(1))
        left.tcp.cancel(CancelTransport(1))
        left.tcp.open(OpenTransport(2, listening))
        assert (await left.first(TransportOpened)).dial == 2
        assert len(left.inputs) == 1


async def test_a_connection_that_comes_after_its_dial_was_cancelled_is_cut() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["/ip4/127.0.0.1/tcp/0"])
        left.tcp.open(OpenTransport(1, listening))
        left.tcp._dials.pop(1)  # as a cancel does that comes a moment before the connection
        await right.first(TransportClosed)
        assert left.inputs == []


async def test_a_socket_that_is_full_says_so_and_says_when_it_is_not() -> None:
    async with ends() as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"/ip4/127.0.0.1/tcp/{server.getsockname()[1]}"))
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
    monkeypatch.setattr(module, "LINGER", 0.05)
    async with ends() as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"/ip4/127.0.0.1/tcp/{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        left.tcp.finish(CloseTransport(number, "shutdown"))
        await left.first(TransportClosed)
        peer.close()
        server.close()


async def test_a_peer_that_reads_nothing_is_cut_off() -> None:
    async with ends(close_timeout=0.05) as (left, _):
        server = socket.create_server(("127.0.0.1", 0))
        left.tcp.open(OpenTransport(1, f"/ip4/127.0.0.1/tcp/{server.getsockname()[1]}"))
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
        address = f"/ip4/127.0.0.1/tcp/{server.getsockname()[1]}"
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
        left.tcp.open(OpenTransport(1, f"/ip4/127.0.0.1/tcp/{server.getsockname()[1]}"))
        number = (await left.first(TransportOpened)).connection
        peer, _ = server.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        assert await left.first(TransportClosed) == TransportClosed(number, "connection_reset")
        server.close()


async def test_writing_to_a_connection_that_is_gone_does_nothing() -> None:
    async with ends() as (left, _):
        left.tcp.write(WriteBytes(99, b"hello"))
        left.tcp.finish(CloseTransport(99, "shutdown"))


async def test_a_port_in_use_is_one_sentence() -> None:
    async with ends() as (left, right):
        (listening,) = await right.tcp.listen(["/ip4/127.0.0.1/tcp/0"])
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
        (listening,) = await right.tcp.listen(["/ip4/127.0.0.1/tcp/0"])
        left.tcp.open(OpenTransport(1, listening))
        await left.tcp.close()
        assert left.inputs == []


def test_listening_everywhere_is_told_as_addresses_that_can_be_dialed() -> None:
    found = own_addresses(("0.0.0.0", 4001))
    assert found[0] == "/ip4/127.0.0.1/tcp/4001"
    assert not any("0.0.0.0" in each for each in found)
    assert own_addresses(("::", 4001, 0, 0))[0] == "/ip6/::1/tcp/4001"


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
