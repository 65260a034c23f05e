"""A file that one process at a time holds: the lock ends with the process, however that ends.

The file says which process that is. It is opened as all our files are (see
:mod:`rumormill.system.private_files`), and is written to only if it is a lock: a file that holds
anything else, or that has a second name, is somebody's, and stays as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

from rumormill.core.errors import RumormillError
from rumormill.system.files import EVERYBODY_READS
from rumormill.system.private_files import UnsafeFileError, open_private

LONGEST: Final = 32
"""Bytes of a lock file: a process number and the end of the line."""


class LockHeldError(RumormillError):
    """Another process holds the lock; ``pid`` is its number, if it is known."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"{path}: {who} holds this lock")
        self.pid = pid


class LockFile:
    """Holds a lock until it is released.

    Raises :class:`LockHeldError`, :class:`UnsafeFileError` and :class:`OSError`.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT, mode=EVERYBODY_READS)
        try:
            self._take(path)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, path: Path) -> None:
        text = os.pread(self._descriptor, LONGEST + 1, 0).strip(b"\0\n ")  # zeros: a power cut
        names = os.fstat(self._descriptor).st_nlink
        if names > 1 or (text and not text.isdigit()) or len(text) > LONGEST:
            raise UnsafeFileError(f"{path} is not the lock that belongs there; move it away")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockHeldError(path, int(text) if text else None) from None
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)

    def is_at(self, path: Path) -> bool:
        """Whether this is still the file at ``path``: a lock that was removed keeps nobody out."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(path))
        except OSError:
            return False

    def release(self) -> None:
        """Let others have it."""
        os.close(self._descriptor)
