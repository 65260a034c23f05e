"""One connection of an attacker: it shakes hands as everybody does, and then floods.

The house's own machine speaks for it (:class:`~rumormill.libp2p.stack.connection.Connection`), so
windows are kept: whoever breaks the rules of yamux is dropped at once, and no danger.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from rumormill.libp2p.stack.connection import (
    Closed,
    Connection,
    ConnectionEvent,
    Established,
    Failed,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.identify import IDENTIFY, IdentifyInfo, encode_identify
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.frames import length_prefixed
from tests.helpers.libp2p.siege_payloads import Payload

MESHSUB = ("/meshsub/1.1.0", "/meshsub/1.0.0")

ROOM = 64 * 1024
"""Bytes that may wait for the window of the node's stream."""
BUFFER = 256 * 1024
"""Bytes that may wait for the socket."""
AT_ONCE = 4
"""Payloads before the other identities of this process have their turn."""

Flood = Iterator[Payload]


class Watcher(Protocol):
    """Who is told what becomes of a connection."""

    def started(self, link: Link) -> None:
        """Its first byte of attack leaves."""
        ...

    def sent(self, payload: Payload) -> None:
        """A payload is on its way."""
        ...

    def ended(self, link: Link, reason: str) -> None:
        """It is over, by the node's will."""
        ...


class Link(asyncio.Protocol):
    """A connection with an identity of its own."""

    def __init__(self, watcher: Watcher, flood: Callable[[], Flood] | None) -> None:
        """Without a ``flood`` it connects, and then does nothing."""
        entropy = random.SystemRandom()
        self.identity = PrivateKey.generate(entropy)
        self.transport: asyncio.Transport | None = None
        self.sent_bytes = self.received_bytes = 0
        self.first = True
        """Of those that the attack began with."""
        self.started = False
        """Whether it came so far."""
        self._watcher = watcher
        self._make_flood = flood
        self._flood: Flood | None = None
        self._stream = 0
        self._full = self._scheduled = self._over = False
        self._entropy = entropy
        self._connection: Connection | None = None
        self._reason = ""

    @property
    def name(self) -> str:
        """What the node should call it in its trace."""
        return self.identity.peer

    # ---- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's own are no subclasses.
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(BUFFER)
        self._begin_handshake()

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        self._take(data)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._soon()

    def connection_lost(self, error: Exception | None) -> None:
        reason = self._reason or ("closed" if error is None else type(error).__name__)
        self._end(reason)

    def close(self) -> None:
        """The attack is over; what has not left the buffer was not sent."""
        self._over = True
        if self.transport is not None:
            self.sent_bytes -= self.transport.get_write_buffer_size()
            self.transport.abort()

    def _write(self, data: bytes) -> None:
        if data and self.transport is not None and not self.transport.is_closing():
            self.sent_bytes += len(data)
            self.transport.write(data)

    def _end(self, reason: str) -> None:
        if not self._over:
            self._over = True
            if self.transport is not None:
                self.sent_bytes -= self.transport.get_write_buffer_size()
                self.transport.abort()
            self._watcher.ended(self, reason)

    # ---- the machine

    def _begin_handshake(self) -> None:
        self._connection = Connection(
            identity=self.identity,
            dialer=True,
            now=time.monotonic(),
            entropy=self._entropy,
            protocols=lambda: (*MESHSUB, IDENTIFY),
        )
        self._write(self._connection.data_to_send())

    def _take(self, data: bytes) -> None:
        connection = self._connection
        assert connection is not None
        for event in connection.receive(data, time.monotonic()):
            self._on_event(connection, event)
        self._write(connection.data_to_send())
        if self._flood is not None:
            self._soon()

    def _on_event(self, connection: Connection, event: ConnectionEvent) -> None:
        if isinstance(event, Established):
            if self._make_flood is None:
                self._watcher.started(self)
            else:
                self._stream = connection.open_stream(MESHSUB, time.monotonic())
        elif isinstance(event, StreamOpened):
            if event.protocol == IDENTIFY:
                self._introduce(connection, event.stream)
            elif event.stream == self._stream and self._make_flood is not None:
                self._watcher.started(self)
                self._flood = self._make_flood()
        elif isinstance(event, StreamReset | StreamRefused):
            if event.stream == self._stream:
                self._reason = event.reason
                self._end(event.reason)
        elif isinstance(event, Failed | Closed):
            self._end(event.reason)

    def _introduce(self, connection: Connection, stream: int) -> None:
        info = IdentifyInfo(
            public_key=self.identity.public_key.to_protobuf(),
            protocols=(*MESHSUB, IDENTIFY),
            protocol_version="ipfs/0.1.0",
            agent_version="siege",
        )
        connection.write(stream, length_prefixed(encode_identify(info)))
        connection.close_stream(stream)

    # ---- the flood

    def _soon(self) -> None:
        if not self._scheduled and not self._over:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._scheduled = False
        connection, flood = self._connection, self._flood
        if self._over or connection is None or flood is None:
            return
        for _ in range(AT_ONCE):
            if self._full or connection.unsent(self._stream) > ROOM:
                return
            payload = next(flood, None)
            if payload is None:
                self._flood = None
                return
            if not payload.data:  # it waits for something: look again in a while
                asyncio.get_running_loop().call_later(0.05, self._soon)
                return
            connection.write(self._stream, payload.data)
            self._watcher.sent(payload)
            self._write(connection.data_to_send())
        self._soon()


class SilentLink(Link):
    """A connection that never says a word: all that is known of it is its address."""

    @property
    def name(self) -> str:
        assert self.transport is not None
        host, port = self.transport.get_extra_info("sockname")[:2]
        return f"/ip{6 if ':' in host else 4}/{host}/tcp/{port}"

    def _begin_handshake(self) -> None:
        self._watcher.started(self)

    def _take(self, data: bytes) -> None:
        pass
