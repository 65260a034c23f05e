"""Two connections wired back to back in memory, and a peer whose every frame a test decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from rumormill.libp2p.stack.connection import (
    Connection,
    ConnectionEvent,
    ConnectionLimits,
    StreamData,
)
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.noise.handshake import NoiseTransport
from rumormill.libp2p.stack.upgrade import Upgrade

ECHO = "/echo/1.0.0"

Cut = Callable[[bytes], Iterable[bytes]]
"""How the bytes of one write reach the other side."""


def whole(data: bytes) -> Iterable[bytes]:
    return (data,)


def in_pieces_of(size: int) -> Cut:
    return lambda data: (data[start : start + size] for start in range(0, len(data), size))


def in_random_pieces(source: random.Random, largest: int) -> Cut:
    def cut(data: bytes) -> Iterable[bytes]:
        start = 0
        while start < len(data):
            size = source.randint(1, largest)
            yield data[start : start + size]
            start += size

    return cut


def make_connection(
    *,
    dialer: bool,
    seed: int,
    protocols: Sequence[str] = (ECHO,),
    expected_peer: str | None = None,
    limits: ConnectionLimits | None = None,
    identity: PrivateKey | None = None,
    now: float = 0.0,
) -> Connection:
    entropy = random.Random(seed)
    return Connection(
        identity=identity or PrivateKey.generate(entropy),
        dialer=dialer,
        now=now,
        entropy=entropy,
        protocols=lambda: protocols,
        expected_peer=expected_peer,
        limits=limits or ConnectionLimits(),
    )


class Side:
    """One end: its connection, all its events, all bytes it wrote."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.events: list[ConnectionEvent] = []
        self.written: list[bytes] = []

    def take(self) -> list[ConnectionEvent]:
        """The events since the last call."""
        events, self.events = self.events, []
        return events

    def data(self, stream: int) -> bytes:
        """Everything that came in on a stream so far."""
        return b"".join(
            event.data
            for event in self.events
            if isinstance(event, StreamData) and event.stream == stream
        )


class Pair:
    """A dialer and a listener; :meth:`pump` moves bytes until both have nothing left to say."""

    def __init__(
        self, dialer: Connection | None = None, listener: Connection | None = None, cut: Cut = whole
    ) -> None:
        self.dialer = Side(dialer or make_connection(dialer=True, seed=1))
        self.listener = Side(listener or make_connection(dialer=False, seed=2))
        self.cut = cut
        self.now = 0.0

    def pump(self) -> None:
        for _ in range(10_000):
            moved = self._move(self.dialer, self.listener)
            moved = self._move(self.listener, self.dialer) or moved
            if not moved:
                return
        raise AssertionError("the two keep talking for ever")

    def establish(self) -> Pair:
        self.pump()
        self.dialer.take()
        self.listener.take()
        return self

    def open(self, protocols: Sequence[str] = (ECHO,)) -> int:
        """A stream of the dialer that both sides agree on."""
        stream = self.dialer.connection.open_stream(protocols, self.now)
        self.pump()
        self.dialer.take()
        self.listener.take()
        return stream

    def advance(self, until: float) -> None:
        """Let time pass, waking both sides whenever they want to be."""
        while True:
            due = [side.connection.next_wake() for side in (self.dialer, self.listener)]
            times = [time for time in due if time is not None and time <= until]
            if not times:
                break
            self.now = max(self.now, min(times))
            for side in (self.dialer, self.listener):
                side.events += side.connection.wake(self.now)
            self.pump()
        self.now = until

    def _move(self, source: Side, target: Side) -> bool:
        data = source.connection.data_to_send()
        if not data:
            return False
        source.written.append(data)
        for piece in self.cut(data):
            target.events += target.connection.receive(piece, self.now)
        return True


class RawPeer:
    """A peer that did the handshake properly and then sends whatever a test tells it to."""

    transport: NoiseTransport

    def __init__(self, *, dialer: bool = True, limits: ConnectionLimits | None = None) -> None:
        entropy = random.Random(7)
        upgrade = Upgrade(PrivateKey.generate(entropy), dialer=dialer, entropy=entropy)
        self.side = Side(make_connection(dialer=not dialer, seed=8, limits=limits))
        self.connection = self.side.connection
        rest: bytes | None = None
        while rest is None or not self.connection.established:
            self.side.events += self.connection.receive(upgrade.data_to_send(), 0.0)
            rest = upgrade.receive(self.connection.data_to_send())
        assert upgrade.transport is not None
        self.transport = upgrade.transport
        self.side.take()

    def send(self, plaintext: bytes, now: float = 0.0) -> list[ConnectionEvent]:
        """Give our connection these bytes under encryption."""
        return self.connection.receive(self.transport.encrypt(plaintext), now)

    def read(self) -> bytes:
        """The plaintext of what our connection wants to send."""
        return self.transport.decrypt(self.connection.data_to_send())
