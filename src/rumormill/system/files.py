"""Files that are whole or not there at all, whenever a process is killed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EVERYBODY_READS = 0o644
"""The mode of a new file, less what the user's umask forbids."""

DRAFT_SUFFIX = ".new"


def replace_file(
    path: Path,
    content: bytes,
    *,
    mode: int = EVERYBODY_READS,
    durable: bool = True,
    alone: bool = False,
) -> None:
    """Put ``content`` in place of what the file holds, or where there is none.

    Whoever reads it finds the old content or the new one, also if we are killed. ``durable``: when
    this returns it is on the disk, and a power cut takes it no more. ``alone``: nobody else writes
    this file now (a lock is held), so what we left of it when we were killed can be removed.
    """
    with draft_of(path, alone) as draft:
        _write(draft, content, mode, durable)
    if durable:
        sync_folder(path.parent)


def create_file(
    path: Path, content: bytes, *, mode: int = EVERYBODY_READS, durable: bool = True
) -> None:
    """The same for a file that must not be there yet: :class:`FileExistsError`."""
    with _draft(path) as draft:
        _write(draft, content, mode, durable)
        try:
            os.link(draft, path)
        except FileExistsError:
            raise
        except OSError:
            _write(path, content, mode, durable)  # a file system without links
    if durable:
        sync_folder(path.parent)


@contextmanager
def draft_of(path: Path, alone: bool = False) -> Iterator[Path]:
    """A new name beside ``path``: what the block writes there takes its place at the end.

    If anything fails the draft is removed, and what was at ``path`` still is. A system error names
    ``path``, which the user knows.
    """
    with _draft(path, alone) as draft:
        yield draft
        os.replace(draft, path)


def sync_folder(folder: Path) -> None:
    """See to it that new and renamed files of the folder are on the disk."""
    if os.name != "posix":
        return  # elsewhere a folder cannot be opened, and its names need no asking
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _draft(path: Path, alone: bool = False) -> Iterator[Path]:
    name = "only" if alone else secrets.token_hex(8)  # two may be writing the same file
    draft = path.with_name(f".{path.name}.{name}{DRAFT_SUFFIX}")
    try:
        if alone:
            draft.unlink(missing_ok=True)
        yield draft
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path, content: bytes, mode: int, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
