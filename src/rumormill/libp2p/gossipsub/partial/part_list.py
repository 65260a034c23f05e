"""A message that is a list of parts, with a bitmap to say which of them one has.

Metadata is a bitmap: the bit ``1 << i % 8`` of byte ``i // 8`` stands for part ``i``. Parts travel
as the bitmap of those that come, then each of them, in order, with its length before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import decode_varint, encode_varint
from rumormill.libp2p.gossipsub.partial.message import Parts, Taken

CheckPart: TypeAlias = Callable[[int, bytes], bool]
"""Whether a part that a peer sent is the true one of this number."""


class PartList:
    """A message of ``count`` parts.

    >>> whole = PartList.whole(b"block 7", [b"rain", b"at", b"noon"])
    >>> half = PartList(b"block 7", 3)
    >>> half.take(whole.parts_for(half.metadata(), most_bytes=1000).data)
    Taken(new=True, metadata=b'\\x07')
    >>> half.complete, half.data
    (True, b'rainatnoon')

    ``check`` looks at each part that a peer sends: whoever sends a wrong one pays for it. Without
    it everything is believed that comes first. ``eager``: send parts even to those who have not
    said what they have.
    """

    def __init__(
        self,
        group_id: bytes,
        count: int,
        *,
        check: CheckPart | None = None,
        eager: bool = False,
        largest_part: int = 1 << 20,
    ) -> None:
        if count < 1:
            raise ValueError(f"a message has at least one part, not {count}")
        self._group_id = group_id
        self._parts: list[bytes | None] = [None] * count
        self._check = check
        self._eager = eager
        self._largest = largest_part
        self._bits = 0

    @classmethod
    def whole(
        cls,
        group_id: bytes,
        parts: Sequence[bytes],
        *,
        check: CheckPart | None = None,
        eager: bool = False,
    ) -> PartList:
        """A message of which we have all parts."""
        message = cls(group_id, len(parts), check=check, eager=eager)
        for index, part in enumerate(parts):
            message.add(index, part)
        return message

    # ---- for the application

    @property
    def parts(self) -> tuple[bytes | None, ...]:
        """The parts; None where one is missing."""
        return tuple(self._parts)

    @property
    def missing(self) -> tuple[int, ...]:
        """The numbers of the parts that we lack."""
        return tuple([index for index, part in enumerate(self._parts) if part is None])

    @property
    def complete(self) -> bool:
        """Whether we have all parts."""
        return self._bits == (1 << len(self._parts)) - 1

    @property
    def data(self) -> bytes:
        """All parts one behind the other; raises :class:`ValueError` while one is missing."""
        if not self.complete:
            raise ValueError(f"{len(self.missing)} of {len(self._parts)} parts are missing")
        return b"".join([part for part in self._parts if part is not None])

    def add(self, index: int, part: bytes) -> bool:
        """Put a part of our own in its place; False if there is one. Publish the message again
        to let others know.
        """
        if self._parts[index] is not None:
            return False
        self._parts[index] = part
        self._bits |= 1 << index
        return True

    # ---- for the machine: see PartialMessage

    @property
    def group_id(self) -> bytes:
        """What stands for the whole message."""
        return self._group_id

    def metadata(self) -> bytes:
        """Which parts we have."""
        return self._bitmap(self._bits)

    def join(self, known: bytes | None, more: bytes) -> bytes:
        """Both together."""
        return self._bitmap(self._read(known) | self._read(more))

    def parts_for(self, known: bytes | None, most_bytes: int) -> Parts | None:
        """What is not in ``known``, in the order of their numbers, until it is enough."""
        if known is None and not self._eager:
            return None
        wanted = self._bits & ~self._read(known)
        chosen: list[tuple[int, bytes]] = []
        size = 0
        while wanted:
            index = (wanted & -wanted).bit_length() - 1
            wanted &= wanted - 1
            part = self._parts[index]
            assert part is not None
            if chosen and size + len(part) > most_bytes:
                break
            chosen.append((index, part))
            size += len(part)
        return self._packed(chosen) if chosen else None

    def take(self, data: bytes) -> Taken:
        """Unpack parts, and keep those that we lack."""
        metadata, parts = self._unpacked(data)
        lacking = [(index, part) for index, part in parts if self._parts[index] is None]
        check = self._check
        if check is not None and not all(check(index, part) for index, part in lacking):
            raise ValueError("a part is not the true one")
        for index, part in lacking:
            self.add(index, part)
        return Taken(bool(lacking), metadata)

    # ---- bits and bytes

    @property
    def _bitmap_size(self) -> int:
        return (len(self._parts) + 7) // 8

    def _bitmap(self, bits: int) -> bytes:
        return bits.to_bytes(self._bitmap_size, "little")

    def _read(self, bitmap: bytes | None) -> int:
        """Shorter ones, even empty ones, stand for zeros at the end."""
        bits = int.from_bytes(bitmap or b"", "little")
        if bits >> len(self._parts):
            raise ValueError(f"a bitmap of more than {len(self._parts)} parts")
        return bits

    def _packed(self, chosen: Iterable[tuple[int, bytes]]) -> Parts:
        bits, packed = 0, []
        for index, part in chosen:
            bits |= 1 << index
            packed += [encode_varint(len(part)), part]
        bitmap = self._bitmap(bits)
        return Parts(bitmap + b"".join(packed), bitmap)

    def _unpacked(self, data: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
        offset = self._bitmap_size
        bitmap = data[:offset]
        bits = self._read(bitmap)
        if len(data) < offset or not bits:
            raise ValueError("parts without any part")
        parts: list[tuple[int, bytes]] = []
        while bits:
            try:
                length, start = decode_varint(data, offset, len(data))
            except RemoteProtocolError as error:
                raise ValueError(error.detail) from None
            offset = start + length
            if offset > len(data) or length > self._largest:
                raise ValueError("a part that is cut short, or too large")
            parts.append(((bits & -bits).bit_length() - 1, data[start:offset]))
            bits &= bits - 1
        if offset != len(data):
            raise ValueError("something behind the last part")
        return bitmap, parts
