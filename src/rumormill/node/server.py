"""uvicorn in the event loop of the node: one loop for the networks and for HTTP.

async with serve(NodeParts([network], spool), settings) as address:
    print(address)                     # http://127.0.0.1:7700
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final, cast

import uvicorn

from rumormill.core.errors import ConfigError
from rumormill.live.transports.descriptors import Listener, descriptor_limit
from rumormill.live.transports.turns import Turns
from rumormill.node.app import HttpState, NodeParts, build_app
from rumormill.node.connections import Connections, most_connections
from rumormill.node.http_connection import HttpConnection
from rumormill.node.settings import HttpLimits, HttpSettings
from rumormill.node.tally import CLOSED, Tally

LAST_SECONDS: Final = 2
"""That requests have to finish when the node ends."""


BACKLOG: Final = 1024
"""Connections that may wait for us to take them: one that finds no room comes again after a second,
whoever it belongs to."""

TELL_SECONDS: Final = 1.0
"""Between two times that what happened is traced."""


class _Server(uvicorn.Server):
    """Takes connections within bounds, and leaves the signals to the node: they end more than the
    HTTP side.
    """

    def __init__(self, config: uvicorn.Config, connections: Connections, limits: HttpLimits,
                 tally: Tally) -> None:  # fmt: skip
        super().__init__(config)
        self._connections = connections
        self._turns = Turns()
        self._limits = limits
        self._tally = tally

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, as uvicorn does but for who accepts."""
        await self.lifespan.startup()
        listener = Listener(sockets or [], self._connection, self._short)
        listener.start()
        self.servers = [cast("asyncio.Server", listener)]
        self.started = True

    def _connection(self) -> HttpConnection:
        return HttpConnection(
            self.config,
            self.server_state,
            self._connections,
            self._turns,
            self._limits,
            self._tally,
        )

    def _short(self) -> bool:
        """No descriptor is left: one of ours goes, if there is one that waits for nothing."""
        self._tally.add(CLOSED, "too_many_open_files")
        return self._connections.make_room()


@asynccontextmanager
async def serve(parts: NodeParts, settings: HttpSettings) -> AsyncIterator[str]:
    """Answer requests until the block ends; the value is the address."""
    limits = settings.limits
    tally = Tally(parts.networks[0].emit if parts.networks else None)
    connections = Connections(
        most_connections(descriptor_limit(), limits.max_connections),
        limits.max_connections_per_address,
        limits.max_body_bytes,
        tally,
    )
    listener = listen(settings)
    config = uvicorn.Config(
        build_app(parts, settings, HttpState(tally, connections)),
        http=HttpConnection,
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    server = _Server(config, connections, limits, tally)
    tasks = [
        asyncio.create_task(server.serve(sockets=[listener]), name="http"),
        asyncio.create_task(_tell(tally), name="http-tally"),
    ]
    try:
        yield address_of(listener, settings.host)
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await tasks[0]
        connections.close()
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        tally.tell()
        listener.close()


async def _tell(tally: Tally) -> None:
    while True:
        await asyncio.sleep(TELL_SECONDS)
        tally.tell()


def listen(settings: HttpSettings) -> socket.socket:
    """A socket that listens; :class:`ConfigError` says in words why there is none."""
    where = f"{settings.host}:{settings.port}"
    try:
        found = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError("http", f"cannot listen on {where}: {error.strerror}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise ConfigError("http", f"cannot listen on {where}: {reason}") from error
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """Where others find it: with the port that the system chose, if it was to choose."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
