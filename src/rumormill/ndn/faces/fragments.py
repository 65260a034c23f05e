"""Packets that are too large for one datagram: cut into fragments, and put together again.

As NDNLPv2 has it: the fragments of a packet have numbers in a row, each says which of how many it
is, and what belongs to the whole packet (its token, or that it is a Nack) stands in the first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.wire.link import LinkPacket, encode_link
from rumormill.ndn.wire.tlv import MOST_PACKET

OVERHEAD: Final = 4 + 10 + 4 + 4 + 4
"""Bytes around a fragment: the link packet's head, the number, the place, the count, the fragment's
head."""

NACK_OVERHEAD: Final = 4 + 4 + 8
TOKEN_OVERHEAD: Final = 2
"""What belongs to the whole packet: a Nack with the largest reason, and the head of a token."""

KEPT: Final = 128
"""Bytes of memory that a fragment takes beside its own."""

SEQUENCES: Final = 1 << 64
"""Numbers of fragments begin again after so many."""


def fragments(
    packet: bytes, token: bytes, nack: int | None, sequence: int, mtu: int
) -> list[bytes]:
    """Link packets of at most ``mtu`` bytes that hold a packet; the first has this number.

    >>> [len(each) for each in fragments(bytes(600), b"", None, 7, 256)]
    [250, 250, 160]
    """
    size = mtu - OVERHEAD
    if token:
        size -= TOKEN_OVERHEAD + len(token)
    if nack is not None:
        size -= NACK_OVERHEAD
    starts = range(0, len(packet), size)
    count = len(starts)
    return [
        encode_link(
            packet[start : start + size],
            b"" if index else token,
            None if index else nack,
            (sequence + index) % SEQUENCES,
            index,
            count,
        )
        for index, start in enumerate(starts)
    ]


class Whole(NamedTuple):
    """A packet that was put together."""

    packet: bytes
    token: bytes
    nack: int | None


class Sender(Protocol):
    """Whoever sends fragments."""

    @property
    def origin(self) -> str | int:
        """What tells it from others."""
        ...


SenderT = TypeVar("SenderT", bound=Sender)


class _Partial(Generic[SenderT]):
    """A packet of which some fragments have come."""

    __slots__ = ("count", "first", "missing", "parts", "sender", "size")

    def __init__(self, sender: SenderT, count: int) -> None:
        self.sender = sender
        self.count = count
        self.missing = count
        self.parts: dict[int, bytes] = {}
        self.size = 0
        self.first: LinkPacket | None = None


_Key = tuple[str | int, int]
"""Who sends it, and the number of its first fragment."""


class Reassembly(Generic[SenderT]):
    """Puts fragments together again: for so many packets at most, each for a short time.

    ``lost`` hears who sent a packet that will never be whole, why, and how many fragments had come.
    """

    __slots__ = (
        "_by_origin", "_lost", "_most", "_most_bytes", "_most_fragments", "_most_of_origin",
        "_partials", "_timeout", "_timers", "bytes",
    )  # fmt: skip

    def __init__(
        self,
        parameters: FaceParameters,
        alarm: Alarm,
        lost: Callable[[SenderT, str, int], None],
    ) -> None:
        self._most = parameters.max_reassemblies
        self._most_bytes = parameters.max_reassembly_bytes
        self._most_of_origin = parameters.max_face_reassemblies
        self._most_fragments = parameters.max_fragments
        self._timeout = parameters.reassembly_timeout
        self._lost = lost
        # The oldest comes first, in all and of each who sends. Not dicts: to find its first key, a
        # dict walks over all places that were emptied.
        self._partials: OrderedDict[_Key, _Partial[SenderT]] = OrderedDict()
        self._by_origin: dict[str | int, OrderedDict[_Key, None]] = {}
        self._timers: Timers[_Key] = Timers(alarm)
        self.bytes = 0
        """Bytes of memory of all fragments that are kept."""

    def __len__(self) -> int:
        """How many packets are not whole yet."""
        return len(self._partials)

    def add(self, sender: SenderT, link: LinkPacket, now: float) -> Whole | None:
        """A fragment came; the packet, if it was the last that was missing.

        Raises :class:`RemoteProtocolError` if it cannot be one.
        """
        index, count = link.index, link.count
        if link.sequence is None or index >= count or count > self._most_fragments:
            raise RemoteProtocolError("bad_fragment", f"number {index} of {count}")
        key = (sender.origin, (link.sequence - index) % SEQUENCES)
        partial = self._partials.get(key)
        if partial is None:
            partial = self._begin(key, sender, count, now)
        elif partial.count != count:
            self._end(key)
            raise RemoteProtocolError("bad_fragment", f"of {partial.count} and of {count}")
        if index in partial.parts:
            return None  # it came twice
        size = len(link.fragment)
        if partial.size + size > MOST_PACKET:
            self._end(key)
            raise RemoteProtocolError("packet_too_large", f"more than {MOST_PACKET} in fragments")
        partial.parts[index] = link.fragment
        partial.size += size
        partial.missing -= 1
        self.bytes += size + KEPT
        if index == 0:
            partial.first = link
        if partial.missing or partial.first is None:
            if self.bytes > self._most_bytes:
                self._give_up(next(iter(self._partials)), "too_many_incomplete")
            return None
        self._end(key)
        packet = b"".join([partial.parts[index] for index in range(count)])
        return Whole(packet, partial.first.token, partial.first.nack)

    def forget(self, sender: SenderT) -> None:
        """Nothing more comes from a sender."""
        for key in list(self._by_origin.get(sender.origin, ())):
            self._end(key)

    def wake(self, now: float) -> None:
        """Give up what has not become whole in time."""
        for key in self._timers.due(now):
            self._give_up(key, "incomplete")

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _begin(self, key: _Key, sender: SenderT, count: int, now: float) -> _Partial[SenderT]:
        mine = self._by_origin.get(key[0])
        if mine is not None and len(mine) >= self._most_of_origin:
            self._give_up(next(iter(mine)), "too_many_incomplete")
        elif len(self._partials) >= self._most:
            self._give_up(next(iter(self._partials)), "too_many_incomplete")
        partial = self._partials[key] = _Partial(sender, count)
        self._by_origin.setdefault(key[0], OrderedDict())[key] = None
        self._timers.set(key, now + self._timeout)
        return partial

    def _give_up(self, key: _Key, reason: str) -> None:
        partial = self._end(key)
        self._lost(partial.sender, reason, len(partial.parts))

    def _end(self, key: _Key) -> _Partial[SenderT]:
        partial = self._partials.pop(key)
        self.bytes -= partial.size + KEPT * len(partial.parts)
        self._timers.cancel(key)
        mine = self._by_origin[key[0]]
        del mine[key]
        if not mine:
            del self._by_origin[key[0]]
        return partial
