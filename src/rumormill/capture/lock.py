"""One writer for one spool: a lock that ends with the process, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from rumormill.capture.folder import LOCK
from rumormill.capture.log import SpoolLockedError


class Lock:
    """Holds the lock of a spool until it is released; raises :class:`SpoolLockedError`."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = self._holder()
            os.close(self._descriptor)
            raise SpoolLockedError(str(folder), pid) from None
        except BaseException:
            os.close(self._descriptor)
            raise
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)

    def _holder(self) -> int | None:
        """Who has it; unknown in the moment before it has said so."""
        text = os.pread(self._descriptor, 32, 0).strip()
        return int(text) if text.isdigit() else None

    def release(self) -> None:
        """Let others write."""
        os.close(self._descriptor)
