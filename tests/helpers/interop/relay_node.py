"""A node of ours that stands between two peers and writes down what they say to each other.

It says of itself that it speaks a protocol of theirs. What a peer asks it on a stream of that
protocol, it asks the peer behind it, byte by byte, and brings back the answer: so requests and
answers of real peers are recorded in clear, and no code of ours had a part in them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Self

from rumormill.libp2p.host.table import Link
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from tests.helpers.interop.stream_node import DrivenStreams, StreamNode

LARGEST_FRAME = 1024 * 1024


class Said(NamedTuple):
    """One frame on the way through: a request or its answer."""

    request: bool
    frame: bytes
    """With its length prefix."""


class _End:
    """One of the two streams of a conversation; the other one is its partner."""

    def __init__(self, link: Link, number: int, *, request: bool) -> None:
        self.link = link
        self.number = number
        self.request = request
        """Whether what is read here are requests."""
        self.open = False
        self.reader = FrameReader(LARGEST_FRAME)
        self.waiting: list[bytes | None] = []
        """What the partner sent before it was open; None for the end."""
        self.partner: _End


class RelayedStreams(DrivenStreams):
    """Owner of the streams of the relayed protocols."""

    def __init__(self, turn: Any) -> None:
        super().__init__(turn)
        self.said: list[Said] = []
        self.behind: Link | None = None
        """The connection to the peer that is asked."""
        self._ends: dict[tuple[Link, int], _End] = {}

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        if (link, stream) in self._ends:
            self._open(self._ends[link, stream])
        elif not inbound:
            super().opened(link, stream, protocol, inbound, now)
        elif self.behind is None or link.peer == self.behind.peer:
            # The peer behind gets no answers: they would be its own.
            self.close(link, stream)
        else:
            asker = _End(link, stream, request=True)
            number = self.open(self.behind, protocol, now)
            asked = _End(self.behind, number, request=False)
            asker.partner, asked.partner = asked, asker
            self._ends |= {(link, stream): asker, (self.behind, number): asked}
            self._open(asker)

    def _open(self, end: _End) -> None:
        end.open = True
        for data in end.waiting:
            self._pass_to(end, data)

    def _pass_to(self, end: _End, data: bytes | None) -> None:
        if not end.open:
            end.waiting.append(data)
        elif data is None:
            self.close(end.link, end.number)
        else:
            self.write(end.link, end.number, data)

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        end = self._ends.get((link, stream))
        if end is not None:
            frames = end.reader.feed(data)
            self.said += [Said(end.request, length_prefixed(frame)) for frame in frames]
            self._pass_to(end.partner, data)
        elif (link, stream) in self._streams:
            super().data(link, stream, data, now)

    def drained(self, link: Link, stream: int, now: float) -> None:
        if (link, stream) in self._streams:
            super().drained(link, stream, now)

    def ended(self, link: Link, stream: int, now: float) -> None:
        end = self._ends.get((link, stream))
        if end is not None:
            self._pass_to(end.partner, None)
        elif (link, stream) in self._streams:
            super().ended(link, stream, now)

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        end = self._ends.pop((link, stream), None)
        if end is not None:
            link.streams.pop(stream, None)
            self._pass_to(end.partner, None)
        else:
            super().lost(link, stream, reason, now)


class RelayNode(StreamNode):
    """The node of the module's text."""

    @classmethod
    @asynccontextmanager
    async def between(cls, protocol: str, behind: str) -> AsyncIterator[Self]:
        """A node that listens, and relays the protocol to the peer at the address ``behind``."""
        async with cls.start() as node:
            streams = RelayedStreams(node._host._turn)
            node._host._driven = streams
            node._host._keeper._owners[protocol] = streams
            node._host.more_protocols = (protocol,)
            node._streams = streams
            peer = await node.connect(behind)
            streams.behind = node._host._table.of(peer)[0]
            yield node

    _streams: RelayedStreams

    @property
    def said(self) -> list[Said]:
        """Everything that went through it, in the order in which it came."""
        return self._streams.said
