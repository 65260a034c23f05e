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
from typing import Final

import uvicorn

from rumormill.core.errors import ConfigError
from rumormill.node.app import NodeParts, build_app
from rumormill.node.settings import HttpSettings

MOST_AT_ONCE: Final = 64
"""Requests; further ones are told to come again."""

IDLE_SECONDS: Final = 30
LAST_SECONDS: Final = 2
"""That requests have to finish when the node ends."""


class _Server(uvicorn.Server):
    """Leaves the signals to the node: they end more than the HTTP side."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def serve(parts: NodeParts, settings: HttpSettings) -> AsyncIterator[str]:
    """Answer requests until the block ends; the value is the address."""
    listener = listen(settings)
    config = uvicorn.Config(
        build_app(parts, settings),
        http="h11",
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    try:
        yield address_of(listener, settings.host)
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task
        listener.close()


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
        listener.listen(128)
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
