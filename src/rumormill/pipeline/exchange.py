"""Two folders change places at once, so that no reader ever finds neither or both.

Linux and macOS have a call for it. Where the system or the file system lacks it, two renames do,
with a moment between them when nothing is under the name; whoever calls keeps a journal for the
case that the process ends in that moment.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

AT_FDCWD: Final = -100
RENAME_EXCHANGE: Final = 2
"""``renameat2`` of Linux; ``renamex_np`` of macOS calls the same value RENAME_SWAP."""

CANNOT: Final = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EXDEV}
"""What a file system answers that does not know how."""


def exchange(one: Path, other: Path) -> None:
    """Let two existing folders change places.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     (folder / name).mkdir()
    ...     (folder / name / f"made as {name}").touch()
    >>> exchange(folder / "a", folder / "b")
    >>> [file.name for file in (folder / "a").iterdir()]
    ['made as b']
    """
    call = _find_call()
    if call is not None:
        code = call(os.fsencode(one), os.fsencode(other))
        if code == 0:
            return
        if code not in CANNOT:
            raise OSError(code, os.strerror(code), str(other))
    by_renames(one, other)


def by_renames(one: Path, other: Path) -> None:
    """The same in three steps; after the first, ``other`` is missing until the second."""
    aside = one.with_name(f"{one.name}.aside")
    os.rename(other, aside)
    os.rename(one, other)
    os.rename(aside, one)


def _find_call() -> Callable[[bytes, bytes], int] | None:
    """The system's call, as a function that returns 0 or the number of an error."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            function = library.renamex_np
        else:
            function = library.renameat2
    except (OSError, AttributeError):
        return None

    def call(one: bytes, other: bytes) -> int:
        if sys.platform == "darwin":
            code = function(one, other, RENAME_EXCHANGE)
        else:
            code = function(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
        return ctypes.get_errno() if code else 0

    return call
