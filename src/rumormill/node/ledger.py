"""Which batches were published already, kept over restarts: a replayed batch is recognised.

Each batch has a key, and the digest of what was in it. The same key with the same digest is a
repetition. The same key with another digest is not: whoever replays in another order, or with
other rows, must not lose any, so it is published.

On disk, one line a batch: checksum, digest, key. The newest are kept, up to a bound; the file is
written anew when it has twice as many lines.
"""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from rumormill.core.errors import ConfigError
from rumormill.system.files import EVERYBODY_READS, replace_file
from rumormill.system.private_files import UnsafeFileError, open_private, read_private

LONGEST_KEY: Final = 512
MOST_ENTRIES: Final = 100_000
LARGEST_FILE: Final = 2 * MOST_ENTRIES * (LONGEST_KEY + 100)
"""Bytes that are read of the file; it never has more unless somebody else wrote to it."""


class Ledger:
    """The batches that were published; ``file`` None: of this run only."""

    def __init__(self, file: Path | None, most: int = MOST_ENTRIES) -> None:
        self._file = file
        self._most = most
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._lines = 0
        self._under_way: dict[str, _Turn] = {}
        # Batches of different keys are recorded at the same time, on threads. One lock is held
        # while the file is written, the other for a moment, so that the event loop may take it.
        self._file_lock = threading.Lock()
        self._entries_lock = threading.Lock()
        if file is not None:
            self._load(file)

    @property
    def durable(self) -> bool:
        """Whether it survives the end of the node."""
        return self._file is not None

    def __len__(self) -> int:
        return len(self._entries)

    def knows(self, key: str, digest: bytes) -> bool:
        """Whether just this was published under the key."""
        return self._entries.get(key) == digest

    async def record(self, key: str, digest: bytes) -> None:
        """Write down that it was published; when this returns, it is on the disk."""
        self._remember(key, digest)
        if self._file is not None:
            await asyncio.to_thread(self._append, self._file, _line(key, digest))

    @asynccontextmanager
    async def one_at_a_time(self, key: str) -> AsyncIterator[None]:
        """Let a repetition wait for the first: its sender may just have lost patience."""
        turn = self._under_way.setdefault(key, _Turn())
        turn.waiting += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                del self._under_way[key]

    # ---- the file

    def _load(self, file: Path) -> None:
        try:
            content = read_private(file, LARGEST_FILE, secret=False)
        except FileNotFoundError:
            return
        except UnsafeFileError as error:
            raise ConfigError("spool", str(error)) from None
        for line in content.splitlines():
            entry = _entry(line)
            if entry is not None:  # else torn by a crash: that batch may come again
                self._remember(*entry)
                self._lines += 1
        if content and not content.endswith(b"\n"):
            self._rewrite(file)

    def _remember(self, key: str, digest: bytes) -> None:
        with self._entries_lock:
            self._entries[key] = digest
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def _append(self, file: Path, line: bytes) -> None:
        with self._file_lock:
            self._append_alone(file, line)

    def _append_alone(self, file: Path, line: bytes) -> None:
        if self._lines >= 2 * self._most:
            self._rewrite(file)
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with open(open_private(file, flags, mode=EVERYBODY_READS), "ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        self._lines += 1

    def _rewrite(self, file: Path) -> None:
        with self._entries_lock:
            entries = list(self._entries.items())
        lines = b"".join(_line(key, digest) for key, digest in entries)
        replace_file(file, lines, alone=True)
        self._lines = len(entries)


class _Turn:
    """A lock, and how many hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


def _line(key: str, digest: bytes) -> bytes:
    body = f"{digest.hex()} {key}".encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _entry(line: bytes) -> tuple[str, bytes] | None:
    """What :func:`_line` made; None for anything else."""
    checksum, _, body = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        digest, _, key = body.decode().partition(" ")
        return key, bytes.fromhex(digest)
    except ValueError:
        return None
