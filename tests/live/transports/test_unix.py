from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rumormill.core.addresses import HostPort
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.transport import (
    CloseTransport,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.live.transports.unix import LONGEST_PATH, Streams, unix_path
from tests.helpers.live.transport_ends import Ear


class End(Ear):
    """One end: its sockets, and what they told the machine."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = Streams(self.feed, HostPort())


@asynccontextmanager
async def ends() -> AsyncIterator[tuple[End, End]]:
    left, right = End(), End()
    try:
        yield left, right
    finally:
        await asyncio.gather(left.streams.close(), right.streams.close())
        for each in (left, right):
            assert each.streams.sizes()["connections"] == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a socket may be."""
    return tmp_path / "node.sock"


async def connect(left: End, right: End, path: Path) -> tuple[int, int]:
    (listening,) = await right.streams.listen([f"unix://{path}"])
    left.streams.open(OpenTransport(7, listening))
    ours, theirs = await left.first(TransportOpened), await right.first(TransportOpened)
    assert (ours.address, ours.dial, theirs.dial) == (listening, 7, None)
    return ours.connection, theirs.connection


async def test_bytes_travel_both_ways(path: Path) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right, path)
        left.streams.write(WriteBytes(ours, b"ping"))
        await right.until(lambda: right.received == b"ping")
        right.streams.write(WriteBytes(theirs, b"pong"))
        await left.until(lambda: left.received == b"pong")


async def test_one_object_serves_tcp_and_unix_at_once(path: Path) -> None:
    async with ends() as (left, right):
        listening = await right.streams.listen(["127.0.0.1:0", f"unix://{path}"])
        assert len(listening) == 2 and listening[1] == f"unix://{path}"
        for dial, address in enumerate(listening):
            left.streams.open(OpenTransport(dial, address))
        await left.until(lambda: len(left.all(TransportOpened)) == 2)
        await right.until(lambda: len(right.all(TransportOpened)) == 2)
        assert {each.address for each in left.all(TransportOpened)} == set(listening)
        numbers = {each.connection for each in right.all(TransportOpened)}
        assert numbers == {1, 2}  # one series of numbers for both


async def test_who_comes_by_a_unix_socket_is_told_from_others_that_do(path: Path) -> None:
    async with ends() as (left, right):
        (listening,) = await right.streams.listen([f"unix://{path}"], "local")
        for dial in range(2):
            left.streams.open(OpenTransport(dial, listening))
        await right.until(lambda: len(right.all(TransportOpened)) == 2)
        opened = right.all(TransportOpened)
        assert {each.address for each in opened} == {f"{listening}#1", f"{listening}#2"}
        assert {each.service for each in opened} == {"local"}


async def test_what_was_written_arrives_before_the_close(path: Path) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right, path)
        right.streams.write(WriteBytes(theirs, b"never read by the other end" * 1000))
        left.streams.write(WriteBytes(ours, bytes(8 << 20)))
        left.streams.finish(CloseTransport(ours, "shutdown"))
        closed = await right.first(TransportClosed)
        assert len(right.received) == 8 << 20
        assert closed == TransportClosed(theirs, "closed")


async def test_a_resting_connection_holds_its_other_end_back(path: Path) -> None:
    async with ends() as (left, right):
        ours, theirs = await connect(left, right, path)
        right.streams.rest(RestTransport(theirs, 0.2))
        left.streams.write(WriteBytes(ours, bytes(32 << 20)))
        assert (await left.first(WriteReady)) == WriteReady(ours, False)
        await right.until(lambda: len(right.received) == 32 << 20)
        await left.until(lambda: left.all(WriteReady)[-1].ready)


# ---- the file


async def test_the_file_is_removed_at_the_end(path: Path) -> None:
    async with ends() as (_, right):
        await right.streams.listen([f"unix://{path}"])
        assert stat.S_ISSOCK(path.stat().st_mode)
    assert not path.exists()


async def test_a_file_that_another_has_put_in_place_of_ours_is_left_alone(path: Path) -> None:
    async with ends() as (_, right):
        await right.streams.listen([f"unix://{path}"])
        path.unlink()
        path.write_text("mine")
    assert path.read_text() == "mine"


async def test_a_socket_that_nobody_answers_at_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with ends() as (left, right):
        await connect(left, right, path)


async def test_a_socket_that_somebody_answers_at_stays(path: Path) -> None:
    async with ends() as (left, right):
        await right.streams.listen([f"unix://{path}"])
        with pytest.raises(ConfigError) as caught:
            await left.streams.listen([f"unix://{path}"])
        assert str(caught.value) == (
            f"listen: cannot listen on unix://{path}: somebody answers there already"
        )
        left.streams.open(OpenTransport(1, f"unix://{path}"))
        await left.first(TransportOpened)


async def test_what_is_no_socket_stays(path: Path) -> None:
    path.write_text("precious")
    async with ends() as (left, _):
        with pytest.raises(ConfigError, match=r"there is something that is no socket$"):
            await left.streams.listen([f"unix://{path}"])
    assert path.read_text() == "precious"


async def test_who_may_write_to_the_file_may_connect_as_the_umask_says(path: Path) -> None:
    before = os.umask(0o027)
    try:
        async with ends() as (_, right):
            await right.streams.listen([f"unix://{path}"])
            assert stat.S_IMODE(path.stat().st_mode) == 0o750
    finally:
        os.umask(before)


# ---- sentences


async def test_a_folder_that_is_not_there_is_one_sentence(path: Path) -> None:
    async with ends() as (left, _):
        with pytest.raises(ConfigError) as caught:
            await left.streams.listen([f"unix://{path.parent}/none/node.sock"])
        assert str(caught.value) == (
            f"listen: cannot listen on unix://{path.parent}/none/node.sock: "
            f"there is no folder {path.parent}/none"
        )


async def test_a_folder_that_may_not_be_written_to_is_one_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(sock: socket.socket, address: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    # Root may write everywhere: what the system says to others is said by hand.
    monkeypatch.setattr(socket.socket, "bind", refuse)
    async with ends() as (left, _):
        with pytest.raises(ConfigError, match=r"unix://\S+: permission denied$"):
            await left.streams.listen([f"unix://{path}"])


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("unix:/run/node.sock", "it must be unix:///PATH"),
        ("unix://run/node.sock", "it must be unix:///PATH"),
        ("unix://", "it must be unix:///PATH"),
        ("unix:///run/", "it must be unix:///PATH"),
        ("unix:///a\0b", "NUL"),
        ("unix:///" + "x" * LONGEST_PATH, f"has {LONGEST_PATH + 1} bytes, the system allows"),
    ],
)
async def test_an_address_that_is_none_is_one_sentence(address: str, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        unix_path(address)
    async with ends() as (left, _):
        with pytest.raises(ConfigError, match=rf"^listen: cannot use the address .*{problem}"):
            await left.streams.listen([address])
        left.streams.open(OpenTransport(1, address))
        assert await left.first(TransportFailed) == TransportFailed(1, "bad_address")


async def test_the_longest_path_can_be_used(path: Path) -> None:
    longest = path.with_name("x" * (LONGEST_PATH - len(str(path.parent)) - 1))
    async with ends() as (left, right):
        await connect(left, right, longest)


@pytest.mark.parametrize(
    ("prepare", "reason"), [("nothing", "no_such_file"), ("dead", "connection_refused")]
)
async def test_a_dial_that_nobody_answers_fails_in_words(
    path: Path, prepare: str, reason: str
) -> None:
    if prepare == "dead":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
    async with ends() as (left, _):
        left.streams.open(OpenTransport(1, f"unix://{path}"))
        assert await left.first(TransportFailed) == TransportFailed(1, reason)
