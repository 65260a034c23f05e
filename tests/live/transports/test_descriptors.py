from __future__ import annotations

import asyncio
import errno
import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, cast

import pytest

from rumormill.live.transports.descriptors import RECOVERED, Listener, Shortage
from tests.helpers.places import ROOT, program

ROOM = 10
Process = subprocess.Popen[str]


@pytest.fixture(params=["asyncio", "uvloop"])
def listening(request: pytest.FixtureRequest) -> Iterator[Process]:
    """A process with room for a few connections."""
    command = program("tests.helpers.live.few_descriptors", request.param, ROOM)
    with subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield process
        process.kill()


def line(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def until(process: Process, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask until it is so; the test's own time-out ends what never comes."""
    assert process.stdin is not None
    while True:
        process.stdin.write("\n")
        process.stdin.flush()
        if condition(found := line(process)):
            return found


def test_running_out_of_descriptors_is_counted_and_said_once_and_ends_by_itself(
    listening: Process,
) -> None:
    started = line(listening)
    host, port = started["address"].rsplit(":", 1)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection((host, int(port))))
            for _ in range(2 * ROOM)
        ]
        found = until(listening, lambda found: found["short"] >= 3)
        assert found["connections"] == ROOM
        for client in clients[:ROOM]:
            client.close()
        # Those that waited are taken, though they came while there was no room.
        until(listening, lambda found: found["connections"] == ROOM)
        clients[-1].send(b"still there")
    until(listening, lambda found: found["connections"] == 0)
    _, errors = listening.communicate("")
    assert errors.splitlines() == [
        f"all {started['limit']} file descriptors are in use: new connections wait until some are "
        "closed; 'ulimit -n' raises the limit"
    ]


def test_it_is_said_again_only_after_it_has_been_well_for_a_while() -> None:
    now = 0.0
    said: list[str] = []
    shortage = Shortage(said.append, lambda: now, lambda: 64)
    for _ in range(100):
        shortage.happened()
        now += RECOVERED / 2
    assert (len(said), shortage.count) == (1, 100)
    now += RECOVERED
    shortage.happened()
    assert len(said) == 2


class Short(socket.socket):
    """A socket that listens, and has no descriptor for the first connections."""

    failures = 3

    def accept(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.ENFILE, "file table overflow")
        return super().accept()


async def test_who_can_close_something_for_it_is_asked_each_time() -> None:
    asked = 0

    def free_one() -> bool:
        nonlocal asked
        asked += 1
        return True

    made = asyncio.Event()

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.set()
            cast("asyncio.Transport", transport).abort()  # in the same turn

    sock = Short(fileno=socket.create_server(("127.0.0.1", 0)).detach())
    listener = Listener([sock], Protocol, free_one, Shortage(lambda _: None))
    listener.start()
    with socket.create_connection(sock.getsockname()):
        await made.wait()
    listener.close()
    await listener.wait_closed()
    assert asked == 3
