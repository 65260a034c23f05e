"""Messages that do not fit into one packet, between nodes of our own make.

At the message's name there is a manifest instead of the message: how many segments it has, how many
bytes, and their SHA-256. It is signed as the message would be. The segments, below the message's
name, are covered by that digest and need no signature worth a key. They are made when somebody
asks for them, so that a large message takes no more memory than itself.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias

from rumormill.core.turn import Turn
from rumormill.ndn.pubsub import events
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pending import Flight, Pending
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import encode_interest
from rumormill.ndn.wire.manifest import Manifest, segment_name
from rumormill.ndn.wire.name import SEGMENT, Name

DIGEST: Final = DigestSigner()

SEGMENT_HEADS: Final = 64
"""Bytes of a segment's packet beside its content and the message's name, and some to spare."""

NUMBER_WIDTHS: Final = (1, 2, 4)


def segment_of(name: Name) -> tuple[Name, int] | None:
    """Which message's segment a name may be of, and which one it is.

    >>> segment_of(segment_name(b"\\x08\\x01a", 700))
    (b'\\x08\\x01a', 700)
    >>> segment_of(b"\\x08\\x01a")
    """
    for width in NUMBER_WIDTHS:
        if name[-width - 2 : -width] == bytes((SEGMENT, width)):
            return name[: -width - 2], int.from_bytes(name[-width:], "big")
    return None


class SegmentSource:
    """A message of ours, cut into segments."""

    __slots__ = ("_data", "_handed_out", "_name", "_segment_size", "manifest", "progress", "size")

    def __init__(self, name: Name, data: bytes, parameters: PubSubParameters) -> None:
        room = parameters.largest_data - len(name) - SEGMENT_HEADS - 34
        self._name = name
        self._data = data
        self._segment_size = max(1, min(parameters.segment_size, room))
        self.size = len(data)
        count = -(-len(data) // self._segment_size)
        self.manifest = Manifest(count, len(data), sha256(data).digest())
        self._handed_out = bytearray(count)
        self.progress = 0
        """Segments that somebody has asked for, each counted once."""

    def segment(self, index: int) -> Data | None:
        """The packet of a segment; None if there is none of that number."""
        if index >= self.manifest.segments:
            return None
        if not self._handed_out[index]:
            self._handed_out[index] = 1
            self.progress += 1
        start = index * self._segment_size
        content = self._data[start : start + self._segment_size]
        return encode_data(segment_name(self._name, index), content, DIGEST)


Done: TypeAlias = Callable[[bytes, str], None]
"""Called with the message, or with b"" and the reason why there is none."""


class _Segment(Flight):
    """One segment that is being fetched."""

    __slots__ = ("fetch", "index", "timeouts")

    def __init__(self, fetch: SegmentFetch, index: int, nonce: bytes) -> None:
        lifetime = round(fetch.parameters.fetch_lifetime * 1000)
        super().__init__(
            encode_interest(
                segment_name(fetch.name, index), nonce=nonce, lifetime=lifetime,
                forwarding_hint=fetch.hint,
            )
        )  # fmt: skip
        self.fetch = fetch
        self.index = index
        self.timeouts = 0

    def answered(self, data: Data) -> None:
        self.fetch.came(self, data)

    def refused(self, reason: int) -> None:
        self.fetch.lost(self, "nack")

    def due(self) -> None:
        if self.sent:
            self.fetch.lost(self, "timed_out")
        else:
            self.fetch.again(self)


class SegmentFetch:
    """All segments of one message: so many asked for at once, fewer after losses."""

    __slots__ = (
        "_deadline", "_done", "_flights", "_left", "_next", "_parts", "_pending", "_turn",
        "_window", "hint", "manifest", "name", "parameters",
    )  # fmt: skip

    def __init__(
        self,
        turn: Turn,
        pending: Pending,
        parameters: PubSubParameters,
        name: Name,
        hint: tuple[Name, ...],
        manifest: Manifest,
        done: Done,
    ) -> None:
        self._turn = turn
        self._pending = pending
        self.parameters = parameters
        self.name = name
        self.hint = hint
        self.manifest = manifest
        self._done = done
        self._deadline = turn.now + parameters.segments_timeout
        self._window = min(4.0, parameters.segment_window)
        self._next = 0
        self._left = manifest.size
        """Bytes that are missing."""
        self._parts: dict[int, bytes] = {}
        self._flights: dict[int, _Segment] = {}

    def begin(self) -> None:
        """Ask for the first ones."""
        while self._next < self.manifest.segments and len(self._flights) < int(self._window):
            segment = _Segment(self, self._next, self._pending.new_nonce())
            self._flights[self._next] = segment
            self._next += 1
            last = self.parameters.fetch_attempts == 1
            self._pending.send(segment, self.parameters.fetch_lifetime, last=last)

    def stop(self) -> None:
        """Nobody wants the message any more."""
        for segment in self._flights.values():
            self._pending.end(segment)
        self._flights.clear()
        self._parts.clear()

    def came(self, segment: _Segment, data: Data) -> None:
        """One is there."""
        content = data.content or b""
        del self._flights[segment.index]
        self._parts[segment.index] = content
        self._left -= len(content)
        if self._left < 0 or not content:
            self._fail("wrong_size")
        elif self._turn.now > self._deadline:
            self._fail("timed_out")
        elif len(self._parts) == self.manifest.segments:
            self._finish()
        else:
            self._window = min(self.parameters.segment_window, self._window + 1 / self._window)
            self.begin()

    def lost(self, segment: _Segment, reason: str) -> None:
        """One did not come, or a forwarder could not bring it."""
        segment.timeouts += 1
        self._window = max(1.0, self._window / 2)
        parameters = self.parameters
        if segment.timeouts >= parameters.fetch_attempts or self._turn.now > self._deadline:
            self._fail(reason)
        elif segment.sent:
            self.again(segment)
        else:
            delay = min(
                parameters.nack_delay * 2.0 ** (segment.nacks - 1), parameters.longest_nack_delay
            )
            self._pending.pause(segment, self._pending.jitter(delay))

    def again(self, segment: _Segment) -> None:
        """Send one once more."""
        self._turn.trace(events.RETRIED, what="segment", attempt=segment.sends + 1)
        last = segment.timeouts + 1 >= self.parameters.fetch_attempts
        self._pending.send(segment, self.parameters.fetch_lifetime, last=last)

    def _finish(self) -> None:
        parts = self._parts
        data = b"".join([parts[index] for index in range(self.manifest.segments)])
        self.stop()
        if self._left:
            self._done(b"", "wrong_size")
        elif sha256(data).digest() != self.manifest.digest:
            self._done(b"", "wrong_digest")
        else:
            self._done(data, "")

    def _fail(self, reason: str) -> None:
        self.stop()
        self._done(b"", reason)
