"""Messages that were accepted lately, found again by the bytes of another copy.

In a mesh most of what arrives has been there before, byte for byte. Such a copy has the shape, the
author and the id of the first one: it need not be taken apart to know that it is a duplicate.
"""

from __future__ import annotations

from collections import deque

from rumormill.libp2p.wire.message import WireMessage

TAIL = 32
"""Bytes at a message's end by which it is looked up: half a signature, nearly always. What is found
is compared as a whole."""

MOST_MESSAGES = 256
"""That are kept. Copies come soon after the first, or hardly any more."""

MOST_BYTES = 1 << 20
"""Of all of them. Gossip keeps the same ones, and more of them."""


class RecentMessages:
    """The newest messages, as many as have room.

    >>> message = WireMessage(b"a message as it came")
    >>> recent = RecentMessages()
    >>> recent.add(message)
    >>> recent.find(b"a message as it came") is message, recent.find(b"another as it came")
    (True, None)
    """

    __slots__ = ("_by_tail", "_bytes", "_in_order", "_most_bytes")

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._by_tail: dict[bytes, WireMessage] = {}
        self._in_order: deque[WireMessage] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._in_order)

    def add(self, message: WireMessage) -> None:
        """Keep a message, in place of the oldest ones if need be."""
        raw = message.raw
        self._by_tail[raw[-TAIL:]] = message
        self._in_order.append(message)
        self._bytes += len(raw)
        while self._bytes > self._most_bytes or len(self._in_order) > MOST_MESSAGES:
            self._forget(self._in_order.popleft())

    def _forget(self, message: WireMessage) -> None:
        raw = message.raw
        self._bytes -= len(raw)
        tail = raw[-TAIL:]
        if self._by_tail.get(tail) is message:  # else another one with this end came later
            del self._by_tail[tail]

    def find(self, raw: bytes) -> WireMessage | None:
        """The message that came in these very bytes."""
        message = self._by_tail.get(raw[-TAIL:])
        return message if message is not None and message.raw == raw else None
