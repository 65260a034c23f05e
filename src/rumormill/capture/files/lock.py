"""One writer for one spool."""

from __future__ import annotations

from pathlib import Path

from rumormill.capture.files.folder import LOCK
from rumormill.capture.log import SpoolError, SpoolLockedError
from rumormill.system.lock_file import LockFile, LockHeldError
from rumormill.system.private_files import UnsafeFileError


def lock_spool(folder: Path) -> LockFile:
    """Hold the lock of a spool; :class:`SpoolLockedError` names the process that has it.

    What others put in the place of the lock is refused (:class:`SpoolError`) and left as it is.
    """
    try:
        return LockFile(folder / LOCK)
    except LockHeldError as error:
        raise SpoolLockedError(str(folder), error.pid) from None
    except UnsafeFileError as error:
        raise SpoolError(str(error)) from None
