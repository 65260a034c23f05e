"""The file in which a node keeps how far each author has come, for ``refuse_replays``.

It is written whole, every few seconds in which something changed, and at the end. A node that is
killed may deliver once more what it delivered in the last of these seconds, and nothing older.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from rumormill.core.errors import ConfigError, RemoteProtocolError
from rumormill.core.protobuf import decode_varint, encode_varint
from rumormill.live.files.private import read_private, replace_whole

KEY = "replay_store"
"""The setting that names the file."""

MAGIC = b"rumormill authors 1\n"
NUMBER = 8
"""Bytes of a sequence number."""
LONGEST_AUTHOR = 1024
"""Bytes of an author's id: nobody's is that long, so that one is not kept."""
LONGEST_ENTRY = 2 + LONGEST_AUTHOR + NUMBER

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes that are read even where ``most`` was more once."""

INTERVAL = 5.0
"""Seconds between two writes."""


class AuthorFile:
    """An :class:`~rumormill.libp2p.pubsub.inbound.replays.AuthorStore` that is a file.

    It keeps no more than ``most`` authors; who was heard longest ago goes first.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._numbers = self._read()
        self._changed = False
        self._keeping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def highest(self, author: bytes) -> int | None:
        """See :class:`AuthorStore`."""
        return self._numbers.get(author)

    def reached(self, author: bytes, number: int) -> None:
        """See :class:`AuthorStore`."""
        if len(author) > LONGEST_AUTHOR:
            return
        self._numbers[author] = number
        self._numbers.move_to_end(author)
        if len(self._numbers) > self._most:
            self._numbers.popitem(last=False)
        self._changed = True

    # ---- the file

    def _read(self) -> OrderedDict[bytes, int]:
        largest = max(LARGEST_FILE, self._most * LONGEST_ENTRY)
        try:
            raw = read_private(self._path, KEY, largest, secret=False)
        except FileNotFoundError:
            return OrderedDict()
        try:
            numbers = decode_authors(raw)
        except ValueError as error:
            raise ConfigError(KEY, f"{self._path} is no file of authors: {error}") from None
        while len(numbers) > self._most:
            numbers.popitem(last=False)
        return numbers

    async def save(self) -> None:
        """Write the file if something changed; raises :class:`OSError`."""
        if not self._changed:
            return
        self._changed = False
        raw = encode_authors(self._numbers)
        try:
            await asyncio.to_thread(replace_whole, self._path, raw)
        except OSError:
            self._changed = True
            raise

    def start(self, failed: Callable[[OSError], None]) -> None:
        """Begin to write; ``failed`` hears of what goes wrong, and it is tried again."""
        self._keeping = asyncio.ensure_future(self._keep(failed))

    async def _keep(self, failed: Callable[[OSError], None]) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                await self.save()
            except OSError as error:
                failed(error)

    async def close(self) -> None:
        """Write for the last time."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        await self.save()


def encode_authors(numbers: OrderedDict[bytes, int]) -> bytes:
    """The file's content: who was heard longest ago comes first.

    >>> encode_authors(OrderedDict({b"ann": 7})).removeprefix(MAGIC)
    b'\\x03ann\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x07'
    """
    entries = [
        encode_varint(len(author)) + author + number.to_bytes(NUMBER, "big")
        for author, number in numbers.items()
    ]
    return MAGIC + b"".join(entries)


def decode_authors(raw: bytes) -> OrderedDict[bytes, int]:
    """What the file says; :class:`ValueError` if it is none, or not whole."""
    if not raw.startswith(MAGIC):
        raise ValueError("it begins otherwise")
    numbers: OrderedDict[bytes, int] = OrderedDict()
    at, size = len(MAGIC), len(raw)
    while at < size:
        try:
            length, at = decode_varint(raw, at, size)
        except RemoteProtocolError as error:
            raise ValueError(str(error)) from None
        end = at + length + NUMBER
        if length > LONGEST_AUTHOR or end > size:
            raise ValueError("an entry is cut short or too long")
        numbers[raw[at : at + length]] = int.from_bytes(raw[at + length : end], "big")
        at = end
    return numbers
