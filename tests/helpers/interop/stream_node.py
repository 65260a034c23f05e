"""A node of ours whose streams a test can use: the public API has pubsub only.

It is the host, driver and TCP of every other node, with one more owner of streams: it answers
``/rumormill/echo/1.0.0``, and opens streams that the test writes to and reads from.

    async with StreamNode.start() as node:
        peer = await node.connect(address)
        stream = await node.open_stream(peer, PING)
        await stream.write(thirty_two_bytes)
        assert await stream.read(32) == thirty_two_bytes
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Self

from rumormill.core.machine import Shutdown
from rumormill.core.trace import PEER_IDENTIFIED, TraceEvent
from rumormill.core.transport import Dial, DialEnded, Listening
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.table import Link, Turn
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.live.driver import Driver
from rumormill.live.transports.tcp import Tcp
from tests.helpers.core.machines import AnyInput
from tests.helpers.interop.go_peer import ECHO
from tests.helpers.interop.our_node import LISTEN, PATIENCE

ROOM = 512 * 1024
"""Bytes that may wait for the peer's window before whoever writes has to wait."""


class OpenStream(NamedTuple):
    """The test opens a stream."""

    peer: str
    protocol: str
    answer: asyncio.Future[DrivenStream]


class WriteStream(NamedTuple):
    """The test writes to its stream."""

    link: Link
    stream: int
    data: bytes


class CloseStream(NamedTuple):
    """The test has written everything."""

    link: Link
    stream: int


class StreamLostError(AssertionError):
    """The stream was reset or refused, or its connection ended."""


class DrivenStream:
    """A stream that we opened."""

    def __init__(self, feed: Callable[[AnyInput], None], link: Link, number: int) -> None:
        self._feed = feed
        self._link = link
        self._number = number
        self._received = bytearray()
        self._changed = asyncio.Event()
        self._opened = self._ended = False
        self._lost = ""

    async def opened(self) -> Self:
        """Wait until both sides agree on the protocol."""
        await self._until(lambda: self._opened, "the stream is not open")
        return self

    async def write(self, data: bytes) -> None:
        """Write, and wait while much of what was written could not leave."""
        self._feed(WriteStream(self._link, self._number, data))
        unsent = self._link.connection.unsent
        await self._until(lambda: unsent(self._number) <= ROOM, "the peer takes no more")

    async def read(self, size: int) -> bytes:
        """So many bytes; fewer only at the end."""
        received = self._received
        await self._until(
            lambda: len(received) >= size or self._ended, f"{size} bytes did not come"
        )
        data = bytes(received[:size])
        del received[:size]
        return data

    def close(self) -> None:
        """Nothing more will be written."""
        self._feed(CloseStream(self._link, self._number))

    async def _until(self, condition: Callable[[], bool], problem: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    if self._lost:
                        raise StreamLostError(f"the stream is lost: {self._lost}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{problem} after {PATIENCE:.0f} s") from None

    def _happened(self, data: bytes = b"", *, opened: bool = False, ended: bool = False) -> None:
        self._received += data
        self._opened |= opened
        self._ended |= ended
        self._changed.set()

    def _gone(self, reason: str) -> None:
        self._lost = reason
        self._changed.set()


class DrivenStreams:
    """Owner of the streams that a test opens, and of those on which a peer wants an echo."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._streams: dict[tuple[Link, int], DrivenStream] = {}

    def open(self, link: Link, protocol: str, now: float) -> int:
        """Open a stream of ours."""
        number = link.connection.open_stream((protocol,), now)
        link.streams[number] = self
        self._turn.touch(link)
        return number

    def belongs(self, link: Link, number: int, stream: DrivenStream) -> None:
        """Say whose the events of a stream of ours are."""
        self._streams[link, number] = stream

    def write(self, link: Link, number: int, data: bytes) -> None:
        link.connection.write(number, data)
        self._turn.touch(link)

    def close(self, link: Link, number: int) -> None:
        link.connection.close_stream(number)
        self._turn.touch(link)

    # ---- events

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        if not inbound:
            self._streams[link, stream]._happened(opened=True)

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        ours = self._streams.get((link, stream))
        if ours is not None:
            ours._happened(data)
            return
        self.write(link, stream, data)
        # A peer that writes and does not read is to be held back.
        link.connection.hold(stream, link.connection.unsent(stream) > ROOM)

    def drained(self, link: Link, stream: int, now: float) -> None:
        ours = self._streams.get((link, stream))
        if ours is not None:
            ours._happened()
        else:
            link.connection.hold(stream, False)
            self._turn.touch(link)

    def ended(self, link: Link, stream: int, now: float) -> None:
        ours = self._streams.get((link, stream))
        if ours is not None:
            ours._happened(ended=True)
        else:
            self.close(link, stream)

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        link.streams.pop(stream, None)
        ours = self._streams.pop((link, stream), None)
        if ours is not None:
            ours._gone(reason)


class StreamHost(Host):
    """A host that speaks the protocols of the test, too, and takes three more inputs."""

    def __init__(self, feed: Callable[[AnyInput], None], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._feed = feed
        self._driven = DrivenStreams(self._turn)
        self._keeper._owners[ECHO] = self._driven
        self.more_protocols: tuple[str, ...] = (ECHO,)
        """What it speaks besides the protocols of every host."""

    def _protocols(self) -> tuple[str, ...]:
        return (*super()._protocols(), *self.more_protocols)

    def _handle_rare(self, input: AnyInput, now: float) -> None:
        if isinstance(input, OpenStream):
            self._on_open_stream(input, now)
        elif isinstance(input, WriteStream):
            self._driven.write(*input)
        elif isinstance(input, CloseStream):
            self._driven.close(*input)
        else:
            super()._handle_rare(input, now)

    def _on_open_stream(self, input: OpenStream, now: float) -> None:
        link = self._table.of(input.peer)[0]
        number = self._driven.open(link, input.protocol, now)
        stream = DrivenStream(self._feed, link, number)
        self._driven.belongs(link, number, stream)
        input.answer.set_result(stream)


class StreamNode:
    """The node of the module's example."""

    def __init__(self, **limits: Any) -> None:
        key = PrivateKey.generate(random.SystemRandom())
        pubsub = Pubsub(node=key.peer, author=key, router=FloodsubRouter(), random=random.Random(1))
        self._host = StreamHost(
            lambda input: self._driver.feed(input),
            identity=key,
            pubsub=pubsub,
            parameters=HostParameters(**limits),
            random=random.Random(1),
            entropy=random.SystemRandom(),
        )
        self.identity = key
        self.id = key.peer
        self.events: list[TraceEvent] = []
        self._driver: Driver[Any] = Driver(self._host)
        self._tcp = Tcp(self._driver.feed, Multiaddrs())
        self._tcp.attach(self._driver)
        self._driver.on(DialEnded, self._dial_ended)
        self._driver.on_trace(self.events.append)
        self._dials: dict[str, asyncio.Future[DialEnded]] = {}

    @classmethod
    @asynccontextmanager
    async def start(cls, **limits: Any) -> AsyncIterator[Self]:
        """A node that listens; ``limits`` are those of :class:`HostParameters`."""
        node = cls(**limits)
        node._driver.start()
        node._driver.feed(Listening(await node._tcp.listen([LISTEN])))
        try:
            yield node
        finally:
            node._driver.feed(Shutdown())
            node._driver.wake()
            await node._tcp.close()
            node._driver.stop()

    @property
    def address(self) -> str:
        return self._host.addresses[0]

    @property
    def peers(self) -> tuple[str, ...]:
        return self._host.peers()

    def addresses_of(self, peer: str) -> list[str]:
        """Where a peer says that it is, in the signed record that it brought."""
        record = self._host.address_book.get(peer)
        return [] if record is None else [str(each) for each in record.addresses]

    async def connect(self, address: str) -> str:
        """Dial; returns the peer id that answered."""
        dial: asyncio.Future[DialEnded] = asyncio.get_running_loop().create_future()
        self._dials[address] = dial
        self._driver.feed(Dial(address))
        ended = await asyncio.wait_for(dial, PATIENCE)
        assert ended.peer is not None, ended.problem
        return ended.peer

    def _dial_ended(self, effect: DialEnded) -> None:
        self._dials.pop(effect.address).set_result(effect)

    async def open_stream(self, peer: str, protocol: str) -> DrivenStream:
        """Open a stream to a connected peer, and wait until it is ready."""
        answer: asyncio.Future[DrivenStream] = asyncio.get_running_loop().create_future()
        self._driver.feed(OpenStream(peer, protocol, answer))
        stream = await answer
        return await stream.opened()

    def identified(self, peer: str) -> dict[str, str]:
        """What the peer told us of itself; empty if nothing yet."""
        for event in self.events:
            if event.event == PEER_IDENTIFIED and event.peer == peer:
                return {name: str(value) for name, value in event.fields.items()}
        return {}
