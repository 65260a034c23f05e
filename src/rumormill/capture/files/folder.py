"""The folder of a spool: its files, their names, and the two small ones that say how things stand.

SPOOL/spool.json              the spool's id and the version of its format
SPOOL/lock                    held by the writer
SPOOL/messages/marks          which offsets may have been given out; where the last end was
SPOOL/messages/N.arrow        a segment: an Arrow IPC stream whose first record has offset N
SPOOL/messages/N.index        its index
SPOOL/messages/N.topics       which topics each of its batches holds
SPOOL/trace/...               the same for trace events
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from rumormill.capture.log import SpoolError
from rumormill.capture.schema import FORMAT_VERSION
from rumormill.system.files import replace_file
from rumormill.system.private_files import UnsafeFileError, read_regular

IDENTITY: Final = "spool.json"
LOCK: Final = "lock"
MARKS: Final = "marks"
DATA_SUFFIX: Final = ".arrow"
INDEX_SUFFIX: Final = ".index"
TOPICS_SUFFIX: Final = ".topics"
REMOVED_SUFFIX: Final = ".removed"
"""Of an index whose segment is just being removed on purpose."""
LARGEST_NOTE: Final = 64 * 1024
"""Bytes of the small files: more is none of ours."""


@dataclass(frozen=True)
class Segment:
    """One segment, by its name."""

    folder: Path
    first: int
    """Offset of its first record."""

    @property
    def data(self) -> Path:
        """The file with the records."""
        return self.folder / f"{self.first:020d}{DATA_SUFFIX}"

    @property
    def index(self) -> Path:
        """The file that says which of its bytes are whole batches."""
        return self.folder / f"{self.first:020d}{INDEX_SUFFIX}"

    @property
    def topics(self) -> Path:
        """The file that says which topics are in which batch; it may be missing."""
        return self.folder / f"{self.first:020d}{TOPICS_SUFFIX}"


def list_segments(folder: Path, suffix: str = INDEX_SUFFIX) -> list[Segment]:
    """The segments of one kind, oldest first; without an index a segment is not there."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    stems = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
    return [Segment(folder, int(stem)) for stem in sorted(stems) if _is_offset(stem)]


def remove_segment(segment: Segment) -> int:
    """Remove a segment; returns how many bytes that frees.

    Its index gets another name first: without one a segment is not there, so readers never see half
    of it; and if we are killed in between, that it was meant is known from the name.
    """
    size = 0
    doomed = segment.index.with_suffix(REMOVED_SUFFIX)
    with contextlib.suppress(FileNotFoundError):
        os.replace(segment.index, doomed)
    for file in (segment.data, segment.topics, doomed):
        with contextlib.suppress(FileNotFoundError):
            size += file.lstat().st_size
            file.unlink()
    return size


def _is_offset(stem: str) -> bool:
    return len(stem) == 20 and stem.isascii() and stem.isdigit()


class Identity(NamedTuple):
    """What ``spool.json`` says."""

    id: str
    created: float


def read_identity(folder: Path) -> Identity:
    """Which spool this is; :class:`SpoolError` if it is none, or of a newer format."""
    file = folder / IDENTITY
    try:
        found = json.loads(read_regular(file, LARGEST_NOTE))
        identity = Identity(str(found["id"]), float(found["created"]))
        version = int(found["format"])
    except FileNotFoundError:
        raise SpoolError(f"{folder}: there is no spool in this folder") from None
    except UnsafeFileError as error:
        raise SpoolError(str(error)) from None
    except OSError as error:
        raise SpoolError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise SpoolError(f"{file}: this is not what a spool's {IDENTITY} looks like") from None
    if version > FORMAT_VERSION:
        raise SpoolError(
            f"{folder}: a spool of format {version}, this rumormill knows {FORMAT_VERSION}; "
            "a newer one reads it"
        )
    return identity


def write_identity(folder: Path, identity: Identity) -> None:
    """Write ``spool.json``."""
    found = {"format": FORMAT_VERSION, "id": identity.id, "created": identity.created}
    replace_file(folder / IDENTITY, json.dumps(found).encode() + b"\n", alone=True)


class Marks(NamedTuple):
    """Of one kind: what is known of its offsets, even if the newest records were lost."""

    reserved: int
    """No offset from here on has been given out."""
    closed: int | None
    """Where a writer ended that closed the spool; None while one is at work or did not."""


def read_marks(folder: Path) -> Marks | None:
    """The marks of a kind; None if there are none, or not as they were written."""
    try:
        found = json.loads(read_regular(folder / MARKS, LARGEST_NOTE))
        marks = Marks(found["reserved"], found["closed"])
        crc = found["crc"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return marks if crc == _checksum(marks) else None


def write_marks(folder: Path, marks: Marks) -> None:
    """Write the marks; when this returns they are on the disk."""
    found = {**marks._asdict(), "crc": _checksum(marks)}
    replace_file(folder / MARKS, json.dumps(found).encode() + b"\n", alone=True)


def _checksum(marks: Marks) -> int:
    return zlib.crc32(f"{marks.reserved}/{marks.closed}".encode())


def force_to_disk(descriptor: int) -> None:
    """See to it that what was written to a file is on the disk."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has only the latter


def write_all(descriptor: int, content: bytes | memoryview, position: int) -> None:
    """Write all of ``content`` at ``position``; the system may need several calls for it."""
    left = memoryview(content)
    while left.nbytes:
        written = os.pwrite(descriptor, left, position)
        left, position = left[written:], position + written


def read_all(descriptor: int, size: int, position: int) -> bytes:
    """The ``size`` bytes at ``position``, or fewer where the file ends before."""
    found = os.pread(descriptor, size, position)
    while len(found) < size:
        more = os.pread(descriptor, size - len(found), position + len(found))
        if not more:
            break
        found += more
    return found
